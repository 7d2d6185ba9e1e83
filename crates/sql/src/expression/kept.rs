//! Results of queries inside a statement, kept while it runs: answers, rows that are read once, and their memory.

use super::Lists;
use crate::hashing::HashTable;
use crate::memory::Spent;
use crate::rows::Table;
use crate::source::Source;
use sardonyx::schema::Value;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A state of the tables with the kept results of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub source: &'a dyn Source,
    pub kept: &'a Kept,
}

/// The results of subqueries, kept while a statement runs.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub spent: Spent,
    /// The sets of lists.
    pub lists: Lists,
    pub semi_joins: RefCell<HashMap<usize, Progress<SemiRows>>>,
    /// The values of subqueries by their arguments.
    pub keyed_values: RefCell<HashMap<usize, Progress<KeyedAnswers>>>,
    pub answers: RefCell<HashMap<usize, Asked>>,
    pub tables: RefCell<HashMap<usize, Rc<Table>>>,
    /// The rows of the previous round of running recursive queries.
    pub last_rounds: RefCell<HashMap<usize, Rc<Table>>>,
    /// The rows of tables of the catalogue, by the functions that compute them: a subquery asks for them with each row.
    pub catalogue: RefCell<HashMap<usize, Rc<Vec<Vec<Value>>>>>,
}

impl Kept {
    /// The same results, for a run whose own ones are dropped after it.
    pub fn branch(&self) -> Kept {
        Kept {
            spent: Spent {
                bytes: self.spent.bytes.clone(),
                ..Spent::default()
            },
            lists: Lists::default(),
            semi_joins: self.semi_joins.clone(),
            keyed_values: self.keyed_values.clone(),
            answers: self.answers.clone(),
            tables: self.tables.clone(),
            last_rounds: self.last_rounds.clone(),
            catalogue: self.catalogue.clone(),
        }
    }
}

/// An answer with its arguments.
pub(crate) type Asked = (Vec<Value>, Rc<Answer>);

#[derive(Debug)]
pub(crate) enum Answer {
    Value(Value),
    /// The only row; without values, if there is none.
    Row(Vec<Value>),
    Rows(Found),
}

/// The values with which others are compared.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub count: usize,
    /// Rows without nulls, each once, for tests of equality.
    pub table: HashTable,
    /// The same in their order; all rows, if a hash does not suffice.
    pub values: Vec<Value>,
    /// Rows of several values with nulls, for tests of equality.
    pub with_nulls: Vec<Value>,
    pub has_null: bool,
    pub bytes: usize,
}

/// The rows of a subquery, by their values.
#[derive(Debug)]
pub(crate) struct SemiRows {
    pub values: Vec<Value>,
    pub width: usize,
    /// The places of rows without nulls, by the sought and the compared values.
    pub whole: (HashTable, Vec<usize>),
    /// The rows with nulls in the compared values, by the sought ones.
    pub with_nulls: (HashTable, Vec<usize>),
    /// All rows by the sought values, once a question needs it.
    pub all: OnceCell<HashTable>,
}

/// The values of a subquery, each after its keys.
#[derive(Debug, Default)]
pub(crate) struct KeyedAnswers {
    pub values: Vec<Value>,
    pub width: usize,
    pub table: HashTable,
}

/// The progress of a running statement with the index of a subquery.
#[derive(Debug)]
pub(crate) enum Progress<T> {
    /// The subquery was asked this many times.
    Asked(u32),
    Read(Rc<T>),
    /// It takes too much memory, or cannot be computed.
    NotKept,
}

impl<T> Clone for Progress<T> {
    fn clone(&self) -> Self {
        match self {
            Progress::Asked(times) => Progress::Asked(*times),
            Progress::Read(kept) => Progress::Read(kept.clone()),
            Progress::NotKept => Progress::NotKept,
        }
    }
}
