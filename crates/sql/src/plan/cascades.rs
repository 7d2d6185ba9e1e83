//! `ON UPDATE CASCADE`, `SET NULL` and `SET DEFAULT`: changes of rows whose referenced key changes.
//!
//! The engine has no such action: without SQL, a key to which rows refer cannot be changed. A statement first changes
//! its own rows, while the check of references is postponed. Then one `UPDATE` changes all rows that referred to one of
//! the old keys. It finds all of them before it changes one, so keys may be exchanged. The rows that it changes are
//! cascaded in the same way.
//!
//! Invariant: no row is changed twice for one statement, since each `UPDATE` looks for old keys only once.

use super::planning::Planning;
use super::target::Among;
use super::triggers::StatementTriggers;
use super::write::plan_update;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Parameters};
use crate::names::quoted;
use crate::parse::parse_kept;
use crate::path::written_whole;
use crate::relation::{Relation, UpdateAction};
use crate::rights::Rights;
use crate::source::Source;
use crate::types::SqlType;
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use sqlparser::ast::Statement;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// Makes changes, with the triggers of the statement around them.
pub(crate) type Around = fn(
    &mut dyn WriteTarget,
    &[Vec<StatementTriggers<'_>>],
    &Environment<'_>,
    &mut dyn FnMut(&mut dyn WriteTarget) -> Result<(), SqlError>,
) -> Result<(), SqlError>;

/// The runner of plans gives it when a database is opened: it is above this room.
pub(crate) static AROUND: OnceLock<Around> = OnceLock::new();

/// The most key values that one statement may change: each is a parameter.
const VALUES_MAX: usize = 60_000;
/// The most levels of cascades.
const DEPTH_MAX: u32 = 32;

thread_local! {
    /// The number of nested cascading statements.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A statement that runs inside of another one, until it is dropped: by a panic, too, as the thread goes on to others.
struct Deeper {
    before: u32,
}

impl Deeper {
    /// Goes one level deeper.
    ///
    /// # Errors
    /// `54001` if that is too deep.
    fn enter() -> Result<Deeper, SqlError> {
        let before = DEPTH.get();
        if before >= DEPTH_MAX {
            return Err(SqlError::new(
                code::TOO_COMPLEX,
                format!(
                    "rows that ON UPDATE changes have others follow them more than {DEPTH_MAX} times"
                ),
            ));
        }
        DEPTH.set(before + 1);
        Ok(Deeper { before })
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        DEPTH.set(self.before);
    }
}

/// A foreign key whose rows follow changes of the referenced key.
#[derive(Clone, Debug)]
pub(crate) struct Cascade {
    /// The stored name of the referencing table.
    table: String,
    action: UpdateAction,
    /// The referencing columns by name, and the referenced columns by number, with their types.
    columns: Vec<(String, usize, SqlType)>,
}

impl Cascade {
    /// The cascades of a table of which some columns are changed.
    ///
    /// # Errors
    /// Read errors.
    pub fn all(
        source: &dyn Source,
        relation: &Relation,
        changing: &BTreeSet<usize>,
    ) -> Result<Vec<Cascade>, SqlError> {
        let mut found = Vec::new();
        for number in source.referring(relation.number) {
            let Some(schema) = source.schema(number) else {
                continue;
            };
            let concerns = |key: &&sardonyx::schema::ForeignKey| {
                let mut columns = key.referenced.iter();
                key.table == relation.number
                    && !key.unchecked.referenced
                    && columns.any(|column| changing.contains(column))
            };
            let mut keys = schema.foreign_keys.iter().filter(concerns).peekable();
            if keys.peek().is_none() {
                continue;
            }
            let by = Relation::numbered(source, number)?;
            for key in keys {
                let Some(action) = by.reference_notes(&key.name).on_update else {
                    continue;
                };
                let columns = key.columns.iter().zip(&key.referenced);
                let columns = columns.filter_map(|(own, there)| {
                    let name = by.numbered_column(*own)?.name.clone();
                    let kind = relation.numbered_column(*there)?.spec.kind;
                    Some((name, *there, kind))
                });
                found.push(Cascade {
                    table: by.name.clone(),
                    action,
                    columns: columns.collect(),
                });
            }
        }
        Ok(found)
    }

    /// Changes the rows that refer to old keys. `rows` are pairs of a row before and after its change.
    ///
    /// # Errors
    /// Write errors; `54000` for too many keys.
    pub fn follow<'r>(
        &self,
        tx: &mut dyn WriteTarget,
        changes: impl Iterator<Item = (&'r [Value], &'r [Value])>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let mut parameters = Vec::new();
        let mut rows = 0;
        for (before, after) in changes {
            let key = |row: &[Value]| -> Vec<Value> {
                let values = self.columns.iter().map(|(_, place, _)| row.get(*place));
                values
                    .map(|value| value.cloned().unwrap_or_default())
                    .collect()
            };
            let (old, new) = (key(before), key(after));
            // No row refers to a null.
            if old == new || old.contains(&Value::Null) {
                continue;
            }
            rows += 1;
            parameters.extend(old);
            if self.action == UpdateAction::Cascade {
                parameters.extend(new);
            }
        }
        if rows == 0 {
            return Ok(());
        }
        if parameters.len() > VALUES_MAX {
            return Err(SqlError::new(
                code::PROGRAM_LIMIT,
                format!("a statement changes at most {VALUES_MAX} values of keys to which rows refer with ON UPDATE"),
            )
            .hint("Change fewer rows in each statement."));
        }
        self.update(tx, &parameters, rows, with)
    }

    /// Runs the statement that changes the rows.
    fn update(
        &self,
        tx: &mut dyn WriteTarget,
        parameters: &[Value],
        rows: usize,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let (text, types) = self.statement(rows);
        let Some(Statement::Update(update)) = parse_kept(&text)?.pop() else {
            return Err(SqlError::new(code::INTERNAL, "an UPDATE was expected"));
        };
        let mut known = Parameters::given(&types);
        let source: &dyn Source = &*tx;
        let mut planning = Planning::new(source, &mut known, &Arc::new(Rights::default()))?;
        let plan = plan_update(&mut planning, &update)?;
        let within = Environment::new(parameters, with.context);
        let _deeper = Deeper::enter()?;
        let triggers = [plan.changes.statement_triggers().collect()];
        let around = AROUND.get().ok_or_else(|| {
            SqlError::new(code::INTERNAL, "triggers of a statement have no runner")
        })?;
        around(tx, &triggers, &within, &mut |tx| {
            plan.run(tx, &within, Among::All).map(drop)
        })
    }

    /// The statement's text and the types of its parameters: for each row the old values, and the new ones if they are
    /// set.
    fn statement(&self, rows: usize) -> (String, Vec<Option<SqlType>>) {
        let count = self.columns.len();
        let has_new = self.action == UpdateAction::Cascade;
        let names = |letter: char| {
            let names = (0..count).map(move |at| format!("{letter}{at}"));
            names.collect::<Vec<_>>()
        };
        let set = self.columns.iter().enumerate().map(|(at, (name, ..))| {
            let value = match self.action {
                UpdateAction::Cascade => format!("keys.n{at}"),
                UpdateAction::SetNull => "null".into(),
                UpdateAction::SetDefault => "default".into(),
            };
            format!("{} = {value}", quoted(name))
        });
        let set: Vec<String> = set.collect();
        let on = self.columns.iter().enumerate();
        let on = on.map(|(at, (name, ..))| format!("own.{} = keys.o{at}", quoted(name)));
        let on: Vec<String> = on.collect();
        let mut columns = names('o');
        if has_new {
            columns.extend(names('n'));
        }
        let mut values = String::new();
        let mut number = 0;
        for row in 0..rows {
            values.push_str(if row == 0 { "(" } else { ", (" });
            for at in 0..columns.len() {
                number += 1;
                let _ = write!(values, "{}${number}", if at == 0 { "" } else { ", " });
            }
            values.push(')');
        }
        let kinds = self.columns.iter().map(|(.., kind)| Some(*kind));
        let of_row: Vec<Option<SqlType>> = match has_new {
            true => kinds.clone().chain(kinds).collect(),
            false => kinds.collect(),
        };
        let text = format!(
            "update {} own set {} from (values {values}) keys ({}) where {}",
            written_whole(&self.table),
            set.join(", "),
            columns.join(", "),
            on.join(" and ")
        );
        let types = of_row.iter().copied().cycle();
        (text, types.take(number).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_leaves_no_depth() {
        for _ in 0..=DEPTH_MAX {
            let panicked = std::panic::catch_unwind(|| {
                let _deeper = Deeper::enter().expect("it is not deep");
                std::panic::resume_unwind(Box::new(()));
            });
            assert!(panicked.is_err());
        }
        let all: Result<Vec<_>, _> = (0..DEPTH_MAX).map(|_| Deeper::enter()).collect();
        assert!(all.is_ok() && Deeper::enter().is_err());
    }
}
