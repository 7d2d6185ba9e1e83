//! `UPDATE` and `DELETE` whose new row depends on the old one only. The number of rows that they take decides how they
//! run.

use super::made::{Came, Made, Ran};
use super::pace::Pace;
use super::whole::Whole;
use crate::database::{BesideLimits, Database};
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::memory::Memory;
use crate::plan::rewriting::Rewriting;
use crate::plan::{Plan, Planned};
use crate::result::{Complete, Tag};
use crate::running::Read;
use crate::session::execute::check_parameters;
use crate::session::given::Given;
use crate::source::Source;
use sardonyx::Snapshot;
use sardonyx::low_level::Committed;
use sardonyx::schema::Value;
use std::sync::Arc;

/// An attempt to run `UPDATE` or `DELETE`.
pub(super) struct Trying<'t> {
    pub database: &'t Arc<Database>,
    pub planned: &'t Planned,
    pub rewriting: Rewriting<'t>,
    pub limits: BesideLimits,
    /// The snapshot in which it looks at the table.
    pub snapshot: Snapshot,
    pub with: Environment<'t>,
}

/// Tries once, on the state at its beginning.
pub(super) fn rewrite(
    database: &Arc<Database>,
    begun: Committed,
    limits: &BesideLimits,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    check_parameters(given)?;
    let source = &**begun.snapshot.space();
    let planned = given.statement.planned(begun.version, &source)?;
    let Some(rewriting) = Rewriting::of(&planned.plan).filter(|_| planned.is_rewriting) else {
        return Ok(Came::Open);
    };
    // The number of rows that it changes does not follow from those that it finds.
    if planned.plan.changes_others() {
        return Ok(Came::Open);
    }
    let rows = Source::count(&source, rewriting.table())?;
    if rows < limits.from && !limits.is_of_many_bytes(&source, rewriting.table()) {
        return Ok(Came::InStage);
    }
    database.memory().check()?;
    let is_alone = rewriting.is_alone(&source);
    let trying = Trying {
        database,
        planned: &planned,
        rewriting,
        limits: limits.clone(),
        snapshot: begun.snapshot,
        with: *with,
    };
    match trying.sought(rows)? {
        // The memory of the keys is held until they are used.
        Sought::Few(keys, _memory) => trying.change_few(keys),
        Sought::Many if is_alone => trying.change_many(begun.version),
        Sought::Many => Ok(Came::Open),
        Sought::Short => Ok(Came::InStage),
    }
}

/// The rows that a statement takes.
enum Sought<'m> {
    /// Their keys.
    Few(Vec<Vec<Value>>, Memory<'m>),
    Many,
    /// The statement looked at few rows: the stage is as fast.
    Short,
}

/// Ends a walk over rows that are many.
#[cold]
fn enough() -> SqlError {
    SqlError::syntax("there are enough of them")
}

impl<'t> Trying<'t> {
    /// The keys of the snapshot's rows that the statement takes, unless these are many of the table's.
    fn sought(&self, rows: u64) -> Result<Sought<'t>, SqlError> {
        let kept = Kept::default();
        let source = &**self.snapshot.space();
        let with = &self.with.over(&source, &kept);
        let few_max = self.limits.few;
        let (mut keys, mut is_many) = (Vec::new(), false);
        let mut memory = self.with.memory();
        let looked_at = with.context.looked_at.get();
        let walked = self.rewriting.walk(&source, with, &mut |row| {
            let key = self.rewriting.key_of(row)?;
            memory.take(&key)?;
            keys.push(key);
            is_many = self.limits.makes_content(keys.len() as u64, rows, false);
            match is_many {
                true => Err(enough()),
                false => Ok(()),
            }
        });
        if !is_many {
            walked?;
        }
        let looked_at = with.context.looked_at.get().wrapping_sub(looked_at);
        if !is_many && u64::from(looked_at) < few_max.min(self.limits.from) {
            self.planned.was_short(true);
            return Ok(Sought::Short);
        }
        self.limits.pause(with)?;
        Ok(match is_many {
            true => Sought::Many,
            false => Sought::Few(keys, memory),
        })
    }

    /// Makes the table's next content from the next forms of its rows.
    fn change_many(self, version: u64) -> Result<Came<Ran<Read>>, SqlError> {
        let schema = Source::schema(&&**self.snapshot.space(), self.rewriting.table());
        let Some(schema) = schema else {
            return Ok(Came::Again);
        };
        // The content is made from newer states: no page is copied for this one any more.
        drop(self.snapshot);
        let whole = Whole {
            database: self.database,
            limits: &self.limits,
            with: self.with,
            made: Made::Rewritten(self.rewriting),
            schema,
            version: Some(version),
            other: None,
            kept: Kept::default(),
            pace: Pace::default(),
        };
        let word = match self.planned.plan {
            Plan::Delete(_) => "DELETE",
            _ => "UPDATE",
        };
        whole.make(|_, taken| {
            let rows = u64::try_from(taken).unwrap_or_default();
            Ok((Complete::of(Tag::rows(word, rows)), None))
        })
    }
}
