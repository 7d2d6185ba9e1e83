//! Reads by another reader: what joins, groups and looks at whole tables, on a snapshot, by an engine for such statements.
//!
//! This crate knows the interface only: [`AnalyticReader`], which a program [sets](Database::set_analytic_reader). A
//! statement goes there if the own planner does not know it, or if it is large by its form: tables that are joined or
//! grouped whole. It reads a snapshot without what its transaction wrote, and what it tells is not compared at COMMIT. So
//! it is asked for statements by themselves, and in `BEGIN READ ONLY`, only: whatever was told is then of one committed
//! state. Everywhere else the own planner reads, or the statement is refused.

use crate::blocking::waited;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::plan::{Plan, Planned, ResultColumn};
use crate::relation::Relation;
use crate::relation::table_oid;
use crate::rights::{Access, Rights};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use sardonyx::Snapshot;
use sardonyx::schema::{Schema, Value};
use sardonyx_base::waiting::Interrupt;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// So many rows together make tables large: for fewer the own planner is done before another one has begun.
const LARGE_ROWS: u64 = 10_000;

/// What is awaited of a reader.
pub type AnalyticFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SqlError>> + Send + 'a>>;

/// Reads statements that join, group and look at whole tables.
pub trait AnalyticReader: fmt::Debug + Send + Sync {
    /// The types of a query's parameters, and its columns.
    ///
    /// # Errors
    /// What is wrong with it; `0A000` for what this reader does not know.
    fn describe(&self, query: AnalyticQuery) -> Result<AnalyticDescription, SqlError>;

    /// How the query would be run, a line each. Nobody's thread is held up while that is found out.
    ///
    /// # Errors
    /// Those of [`AnalyticReader::describe`].
    fn explain(&self, query: AnalyticQuery) -> AnalyticFuture<'static, Vec<String>>;

    /// Begins to run a query. It is ready when the query is planned; the rows are computed as they are taken.
    ///
    /// # Errors
    /// Those of [`AnalyticReader::describe`]: what cannot be computed is said by the rows.
    fn run(&self, query: AnalyticQuery) -> AnalyticFuture<'static, Box<dyn AnalyticRows>>;
}

/// Rows of a query that runs. Who drops them ends it.
pub trait AnalyticRows: fmt::Debug + Send {
    /// What the values are.
    fn columns(&self) -> &Arc<[ResultColumn]>;

    /// The next rows, value after value; `None` at the end.
    ///
    /// # Errors
    /// What cannot be computed; `57014` if it was cancelled, `53200` at the bound of memory.
    fn next(&mut self) -> AnalyticFuture<'_, Option<Vec<Value>>>;
}

/// A query with all that it is run with.
#[derive(Clone, Debug)]
pub struct AnalyticQuery {
    /// Its text: one statement.
    pub text: String,
    /// The types of its parameters, as far as they are known.
    pub types: Vec<Option<SqlType>>,
    /// Their values, if it is to be run.
    pub parameters: Vec<Value>,
    /// The columns that its client was told, if it was.
    pub columns: Option<Arc<[ResultColumn]>>,
    /// The state that it reads.
    pub snapshot: Snapshot,
    /// When its transaction began, in microseconds since 1970.
    pub transaction_started: i64,
    /// When it began itself.
    pub statement_started: i64,
    /// Says when it is to end.
    pub interrupt: Arc<Interrupt>,
    /// What its session may do.
    pub(crate) rights: Arc<Rights>,
}

/// What is known of a query.
#[derive(Clone, Debug)]
pub struct AnalyticDescription {
    /// The types of its parameters.
    pub parameters: Vec<SqlType>,
    /// Its columns.
    pub columns: Arc<[ResultColumn]>,
}

/// A table as a query may read it.
#[derive(Clone, Debug)]
pub struct AnalyticTable {
    /// Its number in the catalogue of the engine.
    pub number: u16,
    /// Its number in `pg_class`.
    pub oid: u32,
    /// Its rows as the engine has them.
    pub schema: Arc<Schema>,
    /// Its columns, in order.
    pub columns: Vec<AnalyticColumn>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct AnalyticColumn {
    /// Its name.
    pub name: String,
    /// Its number in the engine's schema.
    pub number: usize,
    /// Its type.
    pub spec: TypeSpec,
    /// Whether it has a value in each row.
    pub not_null: bool,
}

impl AnalyticQuery {
    /// The table of a name, in the state that is read.
    ///
    /// # Errors
    /// `42P01` if there is none, `42501` if the session may not read it.
    pub fn table(&self, name: &str) -> Result<AnalyticTable, SqlError> {
        let relation = Relation::named(&Source::Frozen(self.snapshot.space()), name)?;
        self.rights.check(&relation.name, Access::Read)?;
        let columns = relation.columns.iter().map(|column| AnalyticColumn {
            name: column.name.clone(),
            number: column.number,
            spec: column.spec,
            not_null: column.not_null,
        });
        Ok(AnalyticTable {
            number: relation.number,
            oid: table_oid(relation.number),
            columns: columns.collect(),
            schema: relation.schema,
        })
    }
}

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
