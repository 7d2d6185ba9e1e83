//! Functions and triggers of users as SQL, in the words of PostgreSQL's catalogue.

use super::{Returns, RoutineDefinition, numbered};
use crate::error::SqlError;
use crate::names::{is_wrapped, quoted, quoted_literal};
use crate::path::{kept, written, written_whole};
use crate::relation::{Relation, TriggerNotes};
use crate::search_path::names_in;
use crate::source::Source;
use crate::types::TypeSpec;
use crate::user_types::UserTypes;

/// The names in a definition, as its reader finds them.
pub(crate) trait Naming {
    /// The name of a type.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn type_name(&self, number: u32) -> Result<String, SqlError>;

    /// The name of a table, whose rows a function gives.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn table_name(&self, kept: &str) -> Result<String, SqlError>;

    /// An expression.
    ///
    /// # Errors
    /// An error of reading the tables.
    fn expression(&self, text: &str) -> Result<String, SqlError>;
}

/// Names of `public` without their schema.
pub(crate) struct OfPublic<'s>(pub &'s dyn Source);

impl Naming for OfPublic<'_> {
    fn type_name(&self, number: u32) -> Result<String, SqlError> {
        let types = UserTypes::of(self.0)?;
        let kind = types.numbered(number);
        Ok(kind.map_or_else(|| "???".to_string(), |kind| TypeSpec::plain(kind).to_sql()))
    }

    fn table_name(&self, kept: &str) -> Result<String, SqlError> {
        Ok(written(kept))
    }

    fn expression(&self, text: &str) -> Result<String, SqlError> {
        Ok(text.to_string())
    }
}

impl RoutineDefinition {
    /// Its parameters, with their defaults if they are wanted.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn parameters_as_sql(
        &self,
        naming: &dyn Naming,
        with_defaults: bool,
    ) -> Result<String, SqlError> {
        let mut defaults = self.parameters.iter().map(|one| one.default.as_ref());
        let mut parameters = Vec::new();
        for (name, kind, mode) in self.all_arguments() {
            let mut text = naming.type_name(kind)?;
            if !name.is_empty() {
                text = format!("{} {text}", quoted(name));
            }
            text = match mode {
                "b" => format!("INOUT {text}"),
                "o" => format!("OUT {text}"),
                "t" => continue,
                _ if self.is_procedure() => format!("IN {text}"),
                _ => text,
            };
            let default = if mode == "o" {
                None
            } else {
                defaults.next().flatten()
            };
            if let (Some(default), true) = (default, with_defaults) {
                text = format!("{text} DEFAULT {}", naming.expression(default)?);
            }
            parameters.push(text);
        }
        Ok(parameters.join(", "))
    }

    /// The type of its result.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn result_as_sql(&self, naming: &dyn Naming) -> Result<String, SqlError> {
        Ok(match &self.returns {
            Returns::Void => "void".into(),
            Returns::Trigger => "trigger".into(),
            Returns::Value(kind) | Returns::RowOfType(kind) => naming.type_name(*kind)?,
            Returns::Rows(kind) | Returns::RowsOfType(kind) => {
                format!("SETOF {}", naming.type_name(*kind)?)
            }
            Returns::RowsOf(table) => format!("SETOF {}", naming.table_name(table)?),
            Returns::RowOf(table) => naming.table_name(table)?,
            Returns::Row(_) => "record".into(),
            Returns::Table(_) if !self.outs.is_empty() => "SETOF record".into(),
            Returns::Table(columns) => {
                let mut written = Vec::with_capacity(columns.len());
                for (name, kind) in columns {
                    written.push(format!("{} {}", quoted(name), naming.type_name(*kind)?));
                }
                format!("TABLE({})", written.join(", "))
            }
        })
    }

    /// The statement that creates it, or replaces it.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn as_sql(&self, naming: &dyn Naming) -> Result<String, SqlError> {
        let name = written_whole(&kept(&self.schema, &self.name));
        let volatility = match self.volatility {
            'i' => " IMMUTABLE",
            's' => " STABLE",
            _ => "",
        };
        let strict = if self.is_strict { " STRICT" } else { "" };
        let definer = match self.is_definer {
            true => " SECURITY DEFINER",
            false => "",
        };
        let mut line = format!("{volatility}{strict}{definer}");
        if !line.is_empty() {
            line.push('\n');
        }
        if let Some(path) = &self.path {
            let names = names_in(path);
            let names: Vec<String> = names.iter().map(|name| quoted_literal(name)).collect();
            line.push_str(&format!(" SET search_path TO {}\n", names.join(", ")));
        }
        // The quotes differ from all of the body.
        let mut quote = "$function$".to_string();
        while self.body.contains(&quote) {
            quote.insert(quote.len() - 1, 'x');
        }
        if self.is_procedure() {
            return Ok(format!(
                "CREATE OR REPLACE PROCEDURE {name}({})\n LANGUAGE {}\nAS {quote}{}{quote}\n",
                self.parameters_as_sql(naming, true)?,
                self.language.name(),
                self.body
            ));
        }
        Ok(format!(
            "CREATE OR REPLACE FUNCTION {name}({})\n RETURNS {}\n LANGUAGE {}\n{line}AS {quote}{}{quote}\n",
            self.parameters_as_sql(naming, true)?,
            self.result_as_sql(naming)?,
            self.language.name(),
            self.body
        ))
    }
}

/// The statement that creates a trigger; `None` if its function is not there. The table has its schema if `is_whole`.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn trigger_as_sql(
    source: &dyn Source,
    relation: &Relation,
    (name, notes): (&str, &TriggerNotes),
    is_whole: bool,
) -> Result<Option<String>, SqlError> {
    let Some(function) = numbered(source, notes.function)? else {
        return Ok(None);
    };
    let of = match notes.columns.is_empty() {
        true => String::new(),
        false => {
            let columns = notes.columns.iter();
            let columns = columns.filter_map(|number| relation.numbered_column(*number));
            let columns: Vec<String> = columns.map(|column| quoted(&column.name)).collect();
            format!(" OF {}", columns.join(", "))
        }
    };
    let all = notes.events();
    let events = [
        (all.inserts, "INSERT".to_string()),
        (all.deletes, "DELETE".to_string()),
        (all.updates, format!("UPDATE{of}")),
        (all.truncates, "TRUNCATE".to_string()),
    ];
    let events = events.into_iter().filter(|(is_there, _)| *is_there);
    let events: Vec<String> = events.map(|(_, word)| word).collect();
    let when = notes.condition.as_ref();
    let when = when.map_or(String::new(), |text| match is_wrapped(text) {
        true => format!("WHEN ({text}) "),
        false => format!("WHEN (({text})) "),
    });
    let table = match is_whole {
        true => written_whole(&relation.name),
        false => written(&relation.name),
    };
    let each = match notes.statement {
        Some(_) => "STATEMENT",
        None => "ROW",
    };
    let arguments = notes.arguments.iter().map(|one| quoted_literal(one));
    let arguments: Vec<String> = arguments.collect();
    Ok(Some(format!(
        "CREATE TRIGGER {} {} {} ON {table} FOR EACH {each} {when}EXECUTE FUNCTION {}({})",
        quoted(name),
        if notes.is_before { "BEFORE" } else { "AFTER" },
        events.join(" OR "),
        written(&kept(&function.schema, &function.name)),
        arguments.join(", ")
    )))
}
