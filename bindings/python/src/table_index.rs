//! Rows of a table in a range of an index: `tx["orders"].index("by_customer").prefix("Ada", limit=10)`, in
//! transactions and in snapshots; as dictionaries, NumPy arrays or an Arrow table.

use crate::columns::{self, Buffers};
use crate::row::{dictionary_of, key, to_dictionaries, values, values_of};
use crate::table_snapshot::TablesSnapshot;
use crate::table_transaction::TableTransaction;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use sardonyx::Error;
use sardonyx::low_level::IndexEntries;
use sardonyx::rows::{ReadRow, ReadRows};
use sardonyx::schema::{Schema, Value};
use std::ops::Bound as Edge;
use std::sync::Arc;

/// The source of rows.
pub enum Source {
    /// A transaction, in its state at the time of reading.
    Transaction(Py<TableTransaction>),
    Snapshot(Py<TablesSnapshot>),
}

impl Source {
    fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Source::Transaction(transaction) => Source::Transaction(transaction.clone_ref(py)),
            Source::Snapshot(snapshot) => Source::Snapshot(snapshot.clone_ref(py)),
        }
    }
}

/// An ordered index of a table, from ``table.index(name)``. Keys are values of its columns, or of the first ones.
#[pyclass(frozen, module = "sardonyx")]
pub struct Index {
    pub(crate) source: Source,
    pub(crate) table: String,
    pub(crate) name: String,
}

/// Rows of a table, from an index's ``range`` and similar methods. They are read on demand.
#[pyclass(frozen, module = "sardonyx")]
pub struct Rows {
    pub(crate) source: Source,
    pub(crate) table: String,
    pub(crate) range: Range,
}

/// The selection of rows.
#[derive(Clone)]
pub struct Range {
    /// `None`: in no particular order.
    index: Option<String>,
    keys: Keys,
    reverse: bool,
    limit: usize,
}

#[derive(Clone)]
enum Keys {
    Between(Edge<Vec<Value>>, Edge<Vec<Value>>),
    Prefix(Vec<Value>),
    StartsWith(Vec<Value>),
}

/// The form of the result.
#[derive(Clone)]
pub enum Want {
    /// One by one.
    Rows,
    /// Columns: all if none are named.
    Columns(Option<Vec<String>>),
    Count,
}

/// The result.
pub enum Got {
    /// Values of the columns that are not dropped.
    Rows(Arc<Schema>, Vec<Vec<Value>>),
    Columns(Vec<Buffers>),
    Count(u64),
}

impl Range {
    /// All rows, in no particular order.
    pub fn all() -> Self {
        Range {
            index: None,
            keys: Keys::Between(Edge::Unbounded, Edge::Unbounded),
            reverse: false,
            limit: usize::MAX,
        }
    }

    /// The index in whose order they come.
    pub fn index(&self) -> Option<&str> {
        self.index.as_deref()
    }

    /// Reads the selected rows of an index.
    pub fn of_index<E: IndexEntries>(
        &self,
        schema: &Arc<Schema>,
        index: &sardonyx::rows::Index<E>,
        want: &Want,
    ) -> Result<Got, Error> {
        let rows = match &self.keys {
            Keys::Between(from, to) => {
                let range = (from.clone(), to.clone());
                if matches!(want, Want::Count) {
                    let count = index.count_range(range)?;
                    return Ok(Got::Count(count.min(self.limit as u64)));
                }
                index.range(range)?
            }
            Keys::Prefix(key) => index.prefix(key)?,
            Keys::StartsWith(key) => index.starts_with(key)?,
        };
        match self.reverse {
            true => want.collect(schema, 0, rows.rev().take(self.limit)),
            false => want.collect(schema, 0, rows.take(self.limit)),
        }
    }

    /// Reads the selected rows of a table.
    pub fn of_rows<S: ReadRows>(
        &self,
        rows: &sardonyx::rows::Rows<S>,
        want: &Want,
    ) -> Result<Got, Error> {
        match self.index() {
            Some(name) => self.of_index(rows.schema(), &rows.index(name)?, want),
            None => want.collect(rows.schema(), rows.count()?, rows.scan()),
        }
    }
}

impl Want {
    /// Reads about so many rows.
    pub fn collect<W: ReadRow>(
        &self,
        schema: &Arc<Schema>,
        about: u64,
        rows: impl Iterator<Item = Result<W, Error>>,
    ) -> Result<Got, Error> {
        Ok(match self {
            Want::Rows => {
                let rows = rows.map(|row| values_of(schema, &row?));
                Got::Rows(schema.clone(), rows.collect::<Result<_, Error>>()?)
            }
            Want::Columns(names) => {
                Got::Columns(columns::read(schema, names.as_deref(), about, rows)?)
            }
            Want::Count => {
                let counted = rows.map(|row| row.map(|_| 1));
                Got::Count(counted.sum::<Result<u64, Error>>()?)
            }
        })
    }
}

impl Index {
    fn rows(
        &self,
        py: Python<'_>,
        keys: Keys,
        reverse: bool,
        limit: Option<usize>,
    ) -> PyResult<Rows> {
        Ok(Rows {
            source: self.source.clone_ref(py),
            table: self.table.clone(),
            range: Range {
                index: Some(self.name.clone()),
                keys,
                reverse,
                limit: limit.unwrap_or(usize::MAX),
            },
        })
    }
}

#[pymethods]
impl Index {
    /// The rows whose keys are between two, in the index's order: ``range(3, 7)``, ``range(("Ada", 3))``.
    /// ``None`` is no bound; a bound of fewer values than the index has columns means all keys that begin
    /// with them. ``inclusive`` names the included bounds: ``"both"``, ``"left"``, ``"right"`` or
    /// ``"neither"``.
    #[pyo3(signature = (first = None, last = None, *, inclusive = "both", reverse = false, limit = None))]
    fn range(
        &self,
        py: Python<'_>,
        first: Option<&Bound<'_, PyAny>>,
        last: Option<&Bound<'_, PyAny>>,
        inclusive: &str,
        reverse: bool,
        limit: Option<usize>,
    ) -> PyResult<Rows> {
        let (left, right) = match inclusive {
            "both" => (true, true),
            "left" => (true, false),
            "right" => (false, true),
            "neither" => (false, false),
            other => {
                return Err(PyValueError::new_err(format!(
                    "inclusive is {other:?}; it can be \"both\", \"left\", \"right\" or \"neither\""
                )));
            }
        };
        let edge = |bound: Option<&Bound<'_, PyAny>>, included| match bound {
            None => Ok(Edge::Unbounded),
            Some(bound) => {
                let key = values(&key(bound)?)?;
                Ok::<_, PyErr>(match included {
                    true => Edge::Included(key),
                    false => Edge::Excluded(key),
                })
            }
        };
        let keys = Keys::Between(edge(first, left)?, edge(last, right)?);
        self.rows(py, keys, reverse, limit)
    }

    /// The rows whose keys begin with these values: ``prefix("Ada", limit=10)``.
    #[pyo3(signature = (*key, reverse = false, limit = None))]
    fn prefix(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyTuple>,
        reverse: bool,
        limit: Option<usize>,
    ) -> PyResult<Rows> {
        self.rows(py, Keys::Prefix(values(key)?), reverse, limit)
    }

    /// The rows whose keys begin with these values, the last of which, a text or bytes, is a prefix:
    /// ``starts_with("Ad")``.
    #[pyo3(signature = (*key, reverse = false, limit = None))]
    fn starts_with(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyTuple>,
        reverse: bool,
        limit: Option<usize>,
    ) -> PyResult<Rows> {
        self.rows(py, Keys::StartsWith(values(key)?), reverse, limit)
    }

    /// The first row with this key, or whose key begins with these values, as a dictionary, or ``None``.
    #[pyo3(signature = (*key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.rows(py, Keys::Prefix(values(key)?), false, Some(1))?
            .first(py)
    }
}

impl Rows {
    fn read(&self, py: Python<'_>, range: Range, want: Want) -> PyResult<Got> {
        match &self.source {
            Source::Transaction(transaction) => {
                transaction.get().read(py, &self.table, range, want)
            }
            Source::Snapshot(snapshot) => snapshot.get().read_range(py, &self.table, &range, &want),
        }
    }

    fn columns<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
        function: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let buffers = match self.read(py, self.range.clone(), Want::Columns(names))? {
            Got::Columns(buffers) => buffers,
            _ => Vec::new(),
        };
        let parts = buffers.into_iter().map(|buffers| buffers.into_parts(py));
        let parts: Vec<columns::Parts<'py>> = parts.collect();
        py.import("sardonyx._columns")?
            .getattr(function)?
            .call1((parts,))
    }

    fn dictionaries<'py>(&self, py: Python<'py>, range: Range) -> PyResult<Bound<'py, PyList>> {
        match self.read(py, range, Want::Rows)? {
            Got::Rows(schema, rows) => to_dictionaries(py, &schema, &rows),
            _ => Ok(PyList::empty(py)),
        }
    }
}

#[pymethods]
impl Rows {
    /// The rows as a list of dictionaries.
    pub(crate) fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.dictionaries(py, self.range.clone())
    }

    pub fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.list(py)?.try_iter()
    }

    /// The first row as a dictionary, or ``None``.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let mut range = self.range.clone();
        range.limit = range.limit.min(1);
        match self.read(py, range, Want::Rows)? {
            Got::Rows(schema, mut rows) => dictionary_of(py, rows.pop().map(|row| (schema, row))),
            _ => Ok(None),
        }
    }

    /// The number of rows.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        match self.read(py, self.range.clone(), Want::Count)? {
            Got::Count(count) => Ok(count),
            _ => Ok(0),
        }
    }

    /// Their columns as a dictionary of NumPy arrays, without an object for each row.
    #[pyo3(signature = (columns = None))]
    pub(crate) fn numpy<'py>(
        &self,
        py: Python<'py>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.columns(py, columns, "to_numpy")
    }

    /// The rows as a ``pyarrow.Table``, without an object for each row.
    #[pyo3(signature = (columns = None))]
    pub(crate) fn arrow<'py>(
        &self,
        py: Python<'py>,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.columns(py, columns, "to_arrow")
    }
}
