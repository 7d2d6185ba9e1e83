//! Transactions on tables: `with tables.transaction() as tx: tx["accounts"].update(1, balance=70)`.

use crate::error::Failure;
use crate::lent::lock;
use crate::row::{borrowed, dictionary_of, failed, found, key, named, no_row, values};
use crate::table_index::{Got, Index, Range, Rows, Source, Want};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use sardonyx::open_transaction::{Inside, OpenTransaction};
use sardonyx::{Durability, Error, Rows as Running, Transaction};
use std::sync::{Arc, Mutex};

/// A transaction on tables, from ``tables.transaction()``.
#[pyclass(frozen, module = "sardonyx")]
pub struct TableTransaction {
    tables: Arc<sardonyx::Tables>,
    inside: Inside,
    open: Mutex<Option<OpenTransaction>>,
}

impl TableTransaction {
    pub(crate) fn new(tables: Arc<sardonyx::Tables>, inside: Inside) -> Self {
        TableTransaction {
            tables,
            inside,
            open: Mutex::default(),
        }
    }

    fn step<T: Send + 'static>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let result = py.detach(|| match &*lock(&self.open) {
            Some(open) => Ok(open.step(step)??),
            None => Err(Failure::NotRunning),
        });
        Ok(result?)
    }

    /// Reads a range.
    pub(crate) fn read(
        &self,
        py: Python<'_>,
        table: &str,
        range: Range,
        want: Want,
    ) -> PyResult<Got> {
        let table = table.to_string();
        self.step(py, move |transaction| {
            let rows = transaction.rows(&table)?;
            match range.index() {
                Some(name) => range.of_index(rows.schema(), &rows.index(name)?, &want),
                None => want.collect(rows.schema(), rows.count(), rows.scan()),
            }
        })
    }
}

#[pymethods]
impl TableTransaction {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let this = slf.get();
        // A signal's handler, such as that of Ctrl-C, ends the waiting by what it raises.
        let mut raised = None;
        let waits = || {
            let checked = Python::attach(|py| py.check_signals());
            checked.map_err(|error| raised = Some(error)).is_ok()
        };
        let begin =
            || OpenTransaction::begin_while(&this.tables, &this.inside, Durability::Durable, waits);
        let begun = slf.py().detach(begin).map_err(Failure::from)?;
        match (begun, raised) {
            (Some(open), None) => {
                *lock(&this.open) = Some(open);
                Ok(slf)
            }
            (_, Some(error)) => Err(error),
            (None, None) => Err(Failure::NotRunning)?,
        }
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: Bound<'_, PyTuple>) -> PyResult<bool> {
        let open = lock(&self.open).take().ok_or(Failure::NotRunning)?;
        let failed = failed(&exception);
        let ended = py.detach(|| match failed {
            true => open.abort(),
            false => open.commit(),
        });
        ended.map_err(Failure::from)?;
        Ok(false)
    }

    fn __repr__(&self) -> &'static str {
        match *lock(&self.open) {
            Some(_) => "<sardonyx.TableTransaction, running>",
            None => "<sardonyx.TableTransaction, not running>",
        }
    }

    /// The table of a name.
    fn __getitem__(slf: Bound<'_, Self>, table: String) -> PyResult<Table> {
        let name = table.clone();
        slf.get().step(slf.py(), move |transaction| {
            transaction.rows(&name).map(drop)
        })?;
        Ok(Table {
            transaction: slf.unbind(),
            name: table,
        })
    }
}

/// A table in a transaction.
#[pyclass(frozen, module = "sardonyx")]
pub struct Table {
    transaction: Py<TableTransaction>,
    name: String,
}

impl Table {
    fn step<T: Send + 'static>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(Running<'_, '_>) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let name = self.name.clone();
        let transaction = self.transaction.get();
        transaction.step(py, move |transaction| step(transaction.rows(&name)?))
    }
}

#[pymethods]
impl Table {
    /// Inserts a row; columns that are not named get their defaults.
    #[pyo3(signature = (**columns))]
    fn insert(&self, py: Python<'_>, columns: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let columns = named(columns)?;
        self.step(py, move |mut rows| rows.insert(&borrowed(&columns)))
    }

    /// Inserts many rows, each a dictionary; returns how many.
    fn insert_many(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut all = Vec::new();
        for row in rows.try_iter()? {
            all.push(named(Some(row?.cast::<PyDict>()?))?);
        }
        self.step(py, move |mut rows| {
            all.iter().try_for_each(|row| rows.insert(&borrowed(row)))?;
            Ok(all.len() as u64)
        })
    }

    /// Puts a row in the place of the one with its key; returns whether there was one.
    #[pyo3(signature = (**columns))]
    fn put(&self, py: Python<'_>, columns: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
        let columns = named(columns)?;
        self.step(py, move |mut rows| rows.put(&borrowed(&columns)))
    }

    /// Changes columns of the row with a key; ``KeyError`` if there is none.
    #[pyo3(signature = (*key, **columns))]
    fn update(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyTuple>,
        columns: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (wanted, columns) = (values(key)?, named(columns)?);
        let there = self.step(py, move |mut rows| {
            rows.update(&wanted, &borrowed(&columns))
        })?;
        there.then_some(()).ok_or_else(|| no_row(key))
    }

    /// Deletes the row with a key; returns whether there was one.
    #[pyo3(signature = (*key))]
    fn delete(&self, py: Python<'_>, key: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let key = values(key)?;
        self.step(py, move |mut rows| rows.delete(&key))
    }

    /// The row with a key as a dictionary, or ``None``.
    #[pyo3(signature = (*key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let key = values(key)?;
        let row = self.step(py, move |rows| found(rows.schema(), rows.get(&key)?))?;
        dictionary_of(py, row)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        wanted: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let wanted = key(wanted)?;
        self.get(py, &wanted)?.ok_or_else(|| no_row(&wanted))
    }

    fn __repr__(&self) -> String {
        format!("<sardonyx.Table {:?}>", self.name)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.step(py, |rows| Ok(rows.count()))? as usize)
    }

    /// ``True`` if the table has a row with this key.
    fn __contains__(&self, py: Python<'_>, wanted: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.get(py, &key(wanted)?)?.is_some())
    }

    /// All rows as dictionaries, in no particular order.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.rows(py).__iter__(py)
    }

    /// An ordered index of the table; ``"primary"`` is that of an ordered key.
    fn index(&self, py: Python<'_>, name: String) -> PyResult<Index> {
        let index = name.clone();
        self.step(py, move |rows| rows.index(&index).map(drop))?;
        Ok(Index {
            source: Source::Transaction(self.transaction.clone_ref(py)),
            table: self.name.clone(),
            name,
        })
    }

    /// All rows, in no particular order: they are read when they are asked for.
    fn rows(&self, py: Python<'_>) -> Rows {
        Rows {
            source: Source::Transaction(self.transaction.clone_ref(py)),
            table: self.name.clone(),
            range: Range::all(),
        }
    }

    /// All rows, as dictionaries, in no particular order.
    fn scan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.rows(py).list(py)
    }
}
