//! Functions of users, as the database keeps them and as statements find them. Each is an object of its own, whose name is
//! that of the function with the numbers of its arguments' types: functions of one name take different arguments.

mod written;

pub(crate) use written::{Naming, OfPublic, trigger_as_sql};

use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::lexer::tokens;
use crate::parse::ProcedureDefinition;
use crate::path::{PUBLIC, kept};
use crate::relation::{delete_object, kind, objects, parsed, printed, put_object};
use crate::search_path::SearchPath;
use crate::source::Source;
use serde::{Deserialize, Serialize};
use sqlparser::tokenizer::Token;
use std::collections::{BTreeMap, BTreeSet};

/// The first number of functions in the catalogue.
const FIRST_OID: u32 = 10 << 24;
/// The first number of users that own functions.
const FIRST_OWNER: u32 = 12 << 24;
/// The first number of procedures.
const FIRST_PROCEDURE: u32 = 11 << 24;

/// A function as the database keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RoutineDefinition {
    /// Its number in `pg_proc`.
    pub number: u32,
    pub schema: String,
    pub name: String,
    pub parameters: Vec<RoutineParameter>,
    /// The parameters that are results: `OUT` and `INOUT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outs: Vec<OutParameter>,
    pub returns: Returns,
    pub language: Language,
    pub body: String,
    /// `i` for immutable, `s` for stable, `v` for volatile.
    pub volatility: char,
    /// True if it is null without a call when an argument is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_strict: bool,
    /// The user that created it, or replaced it last.
    #[serde(default)]
    pub owner: String,
    /// True for `SECURITY DEFINER`: it has the rights of that user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_definer: bool,
    /// The schemas in which its body looks up names, as `SET search_path` has them; without the clause, those of the user
    /// that created a function with `SECURITY DEFINER`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
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

/// A parameter that is a result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct OutParameter {
    /// Empty if it has none.
    pub name: String,
    /// The number of its type.
    pub kind: u32,
    /// Its place among all parameters.
    pub at: usize,
    /// True for `INOUT`: it is a parameter of calls, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in: bool,
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
    /// One row of the table with this kept name.
    RowOf(String),
    /// One row of several `OUT` parameters.
    Row(Vec<(String, u32)>),
    /// A row of a composite type, or several.
    RowOfType(u32),
    RowsOfType(u32),
}

impl Returns {
    /// True for `RETURNS SETOF` and `RETURNS TABLE`.
    pub fn gives_rows(&self) -> bool {
        matches!(
            self,
            Returns::Rows(_) | Returns::Table(_) | Returns::RowsOf(_) | Returns::RowsOfType(_)
        )
    }

    /// True if it gives one row, which may have several columns.
    pub fn is_row(&self) -> bool {
        matches!(
            self,
            Returns::RowOf(_) | Returns::Row(_) | Returns::RowOfType(_)
        )
    }

    /// True if each of its values in an expression is a row.
    pub fn is_composite(&self) -> bool {
        match self {
            Returns::Table(columns) => columns.len() != 1,
            Returns::RowsOf(_) | Returns::RowsOfType(_) => true,
            returns => returns.is_row(),
        }
    }

    /// The table whose rows it gives.
    pub fn table_mut(&mut self) -> Option<&mut String> {
        match self {
            Returns::RowsOf(table) | Returns::RowOf(table) => Some(table),
            _ => None,
        }
    }
}

impl RoutineDefinition {
    /// True for a procedure, as the catalogue sees it.
    pub fn is_procedure(&self) -> bool {
        self.number >= FIRST_PROCEDURE
    }

    /// The name of its object.
    fn key(&self) -> String {
        let kinds = self.parameters.iter().map(|one| one.kind.to_string());
        let kinds: Vec<String> = kinds.collect();
        format!("{}({})", kept(&self.schema, &self.name), kinds.join(","))
    }

    /// All of its arguments with their types and modes, as the catalogue has them: also the columns of `TABLE`.
    pub fn all_arguments(&self) -> Vec<(&str, u32, &'static str)> {
        let mut given = self.parameters.iter();
        let only_out = self.outs.iter().filter(|out| !out.is_in).count();
        let mut all = Vec::with_capacity(self.parameters.len() + only_out);
        for at in 0..self.parameters.len() + only_out {
            let out = self.outs.iter().find(|out| out.at == at);
            match out {
                Some(out) if !out.is_in => all.push((&*out.name, out.kind, "o")),
                _ => all.extend(given.next().map(|one| {
                    let mode = if out.is_some() { "b" } else { "i" };
                    (&*one.name, one.kind, mode)
                })),
            }
        }
        if let (Returns::Table(columns), true) = (&self.returns, self.outs.is_empty()) {
            all.extend(columns.iter().map(|(name, kind)| (&**name, *kind, "t")));
        }
        all
    }

    /// The default of the argument at a place among all.
    pub fn default_at(&self, place: usize) -> Option<&str> {
        let arguments = self.all_arguments();
        let (.., mode) = arguments.get(place)?;
        let before = arguments.iter().take(place);
        let given = before
            .filter(|(.., mode)| matches!(*mode, "i" | "b"))
            .count();
        let parameter = self.parameters.get(given);
        parameter
            .filter(|_| matches!(*mode, "i" | "b"))?
            .default
            .as_deref()
    }

    /// The numbers of the types of its parameters and results.
    pub fn types(&self) -> impl Iterator<Item = u32> + '_ {
        let returned = match &self.returns {
            Returns::Value(kind) | Returns::Rows(kind) => Some(*kind),
            Returns::RowOfType(kind) | Returns::RowsOfType(kind) => Some(*kind),
            _ => None,
        };
        let columns = match &self.returns {
            Returns::Table(columns) | Returns::Row(columns) => columns.as_slice(),
            _ => &[],
        };
        let parameters = self.parameters.iter().map(|one| one.kind);
        let outs = self.outs.iter().map(|one| one.kind);
        let columns = columns.iter().map(|(_, kind)| *kind);
        parameters.chain(outs).chain(returned).chain(columns)
    }

    /// True if a parameter or a result has a type, or is an array of it.
    pub fn has_type(&self, oid: u32) -> bool {
        self.types().any(|kind| kind == oid || kind == oid + 1)
    }

    /// The path in which its body looks up names, if that is another one than its caller's. A function with the rights of
    /// its creator never looks in its caller's schemas, nor in the temporary one unless it names that: a caller could give
    /// it other tables and functions.
    pub fn own_path(&self, callers: &SearchPath, user: &str) -> Option<SearchPath> {
        let (text, user) = match (&self.path, self.is_definer) {
            (None, false) => return None,
            (path, true) => (path.as_deref().unwrap_or(PUBLIC), &*self.owner),
            (Some(path), false) => (&**path, user),
        };
        Some(callers.naming(text, user, !self.is_definer))
    }

    /// The table whose rows it gives, by its kept name.
    pub fn table(&self) -> Option<&str> {
        match &self.returns {
            Returns::RowsOf(table) | Returns::RowOf(table) => Some(table),
            _ => None,
        }
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

/// All procedures of SQL, as the catalogue sees them beside functions.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn procedures(source: &dyn Source) -> Result<Vec<RoutineDefinition>, SqlError> {
    let found = objects(source, kind::PROCEDURE)?.into_iter().zip(0..);
    let found = found.map(|((name, body), place)| {
        let definition: ProcedureDefinition = parsed(&body)?;
        let parameters = definition.parameters.into_iter();
        let parameters = parameters.map(|(name, kind, _)| RoutineParameter {
            name,
            kind,
            default: None,
        });
        Ok(RoutineDefinition {
            number: FIRST_PROCEDURE + place,
            schema: PUBLIC.to_string(),
            name,
            parameters: parameters.collect(),
            returns: Returns::Void,
            language: Language::Sql,
            body: definition.body,
            volatility: 'v',
            is_strict: false,
            is_definer: false,
            outs: Vec::new(),
            owner: String::new(),
            path: None,
        })
    });
    found.collect()
}

/// The users other than the session's whose rights functions have, with their numbers in `pg_roles`. A dump names them as
/// owners: these functions would have the rights of the user that loads it.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn other_owners(
    source: &dyn Source,
    user: &str,
) -> Result<BTreeMap<String, u32>, SqlError> {
    let functions = all(source)?.into_iter();
    let owners = functions.filter(|one| one.is_definer).map(|one| one.owner);
    let others: BTreeSet<String> = owners
        .filter(|owner| !owner.is_empty() && *owner != user)
        .collect();
    Ok(others.into_iter().zip(FIRST_OWNER..).collect())
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

/// The function or procedure with a number.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn numbered(
    source: &dyn Source,
    number: u32,
) -> Result<Option<RoutineDefinition>, SqlError> {
    let all = match number >= FIRST_PROCEDURE {
        true => procedures(source)?,
        false => all(source)?,
    };
    Ok(all.into_iter().find(|one| one.number == number))
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
        if let Some(table) = definition
            .returns
            .table_mut()
            .filter(|table| *table == from)
        {
            *table = to.to_string();
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
