//! Functions of users, as the database keeps them and as statements find them. Each is an object of its own, whose name is
//! that of the function with the numbers of its arguments' types: functions of one name take different arguments.

mod written;

pub(crate) use written::trigger_as_sql;

use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::lexer::tokens;
use crate::path::kept;
use crate::relation::{delete_object, kind, objects, parsed, printed, put_object};
use crate::search_path::SearchPath;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use sqlparser::tokenizer::Token;

/// The first number of functions in the catalogue.
const FIRST_OID: u32 = 10 << 24;

/// A function as the database keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RoutineDefinition {
    /// Its number in `pg_proc`.
    pub number: u32,
    pub schema: String,
    pub name: String,
    pub parameters: Vec<RoutineParameter>,
    pub returns: Returns,
    pub language: Language,
    pub body: String,
    /// `i` for immutable, `s` for stable, `v` for volatile.
    pub volatility: char,
    /// True if it is null without a call when an argument is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_strict: bool,
    /// The user that created it.
    #[serde(default)]
    pub owner: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RoutineParameter {
    /// Empty if it has none.
    pub name: String,
    /// The number of its type.
    pub kind: u32,
    /// An expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// The language of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    Sql,
    Plpgsql,
}

impl Language {
    pub fn name(self) -> &'static str {
        match self {
            Language::Sql => "sql",
            Language::Plpgsql => "plpgsql",
        }
    }

    /// Its number in `pg_language`.
    pub fn oid(self) -> u32 {
        match self {
            Language::Sql => 14,
            Language::Plpgsql => 13_556,
        }
    }
}

/// The result of a function. Types are numbers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Returns {
    Void,
    /// It is a trigger's.
    Trigger,
    Value(u32),
    /// `SETOF` a type.
    Rows(u32),
    /// `TABLE (…)`
    Table(Vec<(String, u32)>),
    /// `SETOF` the rows of the table with this kept name.
    RowsOf(String),
}

impl Returns {
    /// True if it gives rows.
    pub fn gives_rows(&self) -> bool {
        matches!(
            self,
            Returns::Rows(_) | Returns::Table(_) | Returns::RowsOf(_)
        )
    }
}

impl RoutineDefinition {
    /// The name of its object.
    fn key(&self) -> String {
        let kinds = self.parameters.iter().map(|one| one.kind.to_string());
        let kinds: Vec<String> = kinds.collect();
        format!("{}({})", kept(&self.schema, &self.name), kinds.join(","))
    }

    /// True if a word of its code may be the function that notifies.
    fn notifies(&self) -> bool {
        let defaults = self
            .parameters
            .iter()
            .filter_map(|one| one.default.as_ref());
        let mut texts = defaults.chain([&self.body]);
        texts.any(|text| match tokens(text) {
            Ok(tokens) => tokens.iter().any(|token| match &token.token {
                Token::Word(word) => word.value.to_ascii_lowercase().contains("notify"),
                _ => false,
            }),
            Err(_) => true,
        })
    }

    /// Stores it.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn store(&self, tx: &mut dyn DefineTarget) -> Result<(), SqlError> {
        put_object(tx, kind::FUNCTION, &self.key(), &printed(self)?)
    }

    /// Removes it.
    ///
    /// # Errors
    /// An error of the engine.
    pub fn remove(&self, tx: &mut dyn DefineTarget) -> Result<(), SqlError> {
        delete_object(tx, kind::FUNCTION, &self.key()).map(drop)
    }
}

/// All functions of users.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn all(source: &dyn Source) -> Result<Vec<RoutineDefinition>, SqlError> {
    let found = objects(source, kind::FUNCTION)?;
    found.iter().map(|(_, body)| parsed(body)).collect()
}

/// The functions of a name in a schema, or else in the first schema of a path that has some.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn named(
    source: &dyn Source,
    path: &SearchPath,
    schema: Option<&str>,
    name: &str,
) -> Result<Vec<RoutineDefinition>, SqlError> {
    let objects = objects(source, kind::FUNCTION)?;
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let schemas = match schema {
        Some(schema) => vec![schema.to_string()],
        None => path.all(source, false)?,
    };
    for schema in schemas {
        let prefix = format!("{}(", kept(&schema, name));
        let mut found = Vec::new();
        for (key, body) in &objects {
            if key.starts_with(&prefix) {
                let definition: RoutineDefinition = parsed(body)?;
                if definition.schema == schema && definition.name == name {
                    found.push(definition);
                }
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The function with a number.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn numbered(
    source: &dyn Source,
    number: u32,
) -> Result<Option<RoutineDefinition>, SqlError> {
    Ok(all(source)?.into_iter().find(|one| one.number == number))
}

/// True if a function may notify sessions: then the statements that may call one do so in the stage. Comments and texts
/// of a body call nothing.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn notify(source: &dyn Source) -> Result<bool, SqlError> {
    let objects = objects(source, kind::FUNCTION)?;
    for (_, object) in &objects {
        if object.to_ascii_lowercase().contains("notify")
            && parsed::<RoutineDefinition>(object)?.notifies()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Has the functions follow a table that has another name: those that give its rows.
///
/// # Errors
/// An error of the engine.
pub(crate) fn follow_table(
    tx: &mut dyn DefineTarget,
    from: &str,
    to: &str,
) -> Result<(), SqlError> {
    for mut definition in all(tx.view())? {
        if matches!(&definition.returns, Returns::RowsOf(table) if table == from) {
            definition.returns = Returns::RowsOf(to.to_string());
            definition.store(tx)?;
        }
    }
    Ok(())
}

/// Has the functions of a schema follow it to another name.
///
/// # Errors
/// An error of the engine.
pub(crate) fn follow_schema(
    tx: &mut dyn DefineTarget,
    from: &str,
    to: &str,
) -> Result<(), SqlError> {
    for mut definition in all(tx.view())? {
        if definition.schema == from {
            definition.remove(tx)?;
            definition.schema = to.to_string();
            definition.store(tx)?;
        }
    }
    Ok(())
}

/// A number that no function has.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn free_number(source: &dyn Source) -> Result<u32, SqlError> {
    let last = all(source)?.iter().map(|one| one.number).max();
    Ok(last.map_or(FIRST_OID, |last| last + 1))
}
