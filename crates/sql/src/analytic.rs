//! Reads by another reader: what joins, groups and looks at whole tables, on a snapshot, by an engine for such statements.
//!
//! This crate knows the interface only: [`AnalyticReader`], which a program [sets](Database::set_analytic_reader). A
//! statement goes there if the own planner does not know it, or if it is large by its form: tables that are joined or
//! grouped whole. It reads a snapshot without what its transaction wrote, and what it tells is not compared at COMMIT. So
//! it is asked for statements by themselves, and in `BEGIN READ ONLY`, only: whatever was told is then of one committed
//! state. Everywhere else the own planner reads, or the statement is refused.

pub(crate) mod reader;

pub use reader::{
    AnalyticColumn, AnalyticDescription, AnalyticFuture, AnalyticQuery, AnalyticReader,
    AnalyticRows, AnalyticTable,
};

use crate::blocking::waited;
use crate::column::ResultColumn;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::plan::{Plan, Planned};
use crate::source::Source;
use sardonyx::schema::Value;
use std::sync::Arc;

/// So many rows together make tables large: for fewer the own planner is done before another one has begun.
const LARGE_ROWS: u64 = 10_000;

/// Whether a statement is read by the reader, where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Suits {
    /// Only by it.
    Only,
    /// By it, unless it does not know the statement.
    Better,
    /// By the own planner.
    Not,
}

/// Who is to read a planned statement.
pub(crate) fn suits(planned: &Planned, source: &Source<'_>) -> Suits {
    let rows = || {
        let counts = planned.table_numbers();
        counts
            .map(|table| source.count(table).unwrap_or(0))
            .sum::<u64>()
    };
    match &planned.plan {
        Plan::Elsewhere(_) => Suits::Only,
        Plan::Select(plan) if plan.reads_whole() && rows() >= LARGE_ROWS => Suits::Better,
        _ => Suits::Not,
    }
}

/// Whether a reader may know what the own planner does not: something that is not supported, or a function that is not
/// there. (An operator that is not there has the same code, and is an error.)
pub(crate) fn may_know(error: &SqlError) -> bool {
    match error.code {
        _ if error.is_for_all_readers() => false,
        code::FEATURE_NOT_SUPPORTED => true,
        code::UNKNOWN_FUNCTION => error.message.starts_with("function "),
        _ => false,
    }
}

/// That a statement for the reader is met where it cannot read, or that there is no reader.
pub(crate) fn refused(database: &Database, why: &SqlError) -> SqlError {
    if database.analytic_reader().is_none() {
        return why.clone();
    }
    SqlError::new(
        why.code,
        format!(
            "{}, but by an analytic read, which sees a snapshot: not in a transaction that may write, nor in a text with other statements",
            why.message
        ),
    )
    .hint("Send it by itself, or in BEGIN READ ONLY.")
}

/// Rows of a reader, in the portions that are asked for.
#[derive(Debug)]
pub(crate) struct AnalyticStream {
    rows: Box<dyn AnalyticRows>,
    held: std::vec::IntoIter<Value>,
    ended: bool,
    failed: Option<SqlError>,
}

impl AnalyticStream {
    pub fn of(rows: Box<dyn AnalyticRows>) -> AnalyticStream {
        AnalyticStream {
            rows,
            held: Vec::new().into_iter(),
            ended: false,
            failed: None,
        }
    }

    pub fn columns(&self) -> &Arc<[ResultColumn]> {
        self.rows.columns()
    }

    /// Waits for rows, or the end. What fails is said by [`AnalyticStream::next`].
    pub async fn ready(&mut self) {
        while self.held.as_slice().is_empty() && !self.ended {
            match self.rows.next().await {
                Ok(Some(values)) => self.held = values.into_iter(),
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    self.failed = Some(error);
                }
            }
        }
    }

    /// Adds the next rows, at most so many. Returns how many, and whether there may be more.
    ///
    /// # Errors
    /// Those of [`AnalyticRows::next`].
    pub fn next(&mut self, most: u64, out: &mut Vec<Value>) -> Result<(u64, bool), SqlError> {
        waited(self.ready());
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let width = self.rows.columns().len().max(1);
        let there = self.held.as_slice().len() / width;
        let taken = usize::try_from(most).map_or(there, |most| most.min(there));
        out.extend(self.held.by_ref().take(taken * width));
        let more = !self.ended || taken < there;
        Ok((taken as u64, more))
    }
}
