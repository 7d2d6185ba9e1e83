//! The interface of another reader, and what it is asked.

use crate::column::ResultColumn;
use crate::error::SqlError;
use crate::relation::{Relation, table_oid};
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
