//! Transactions on tables: `with tables.transaction() as tx: tx["accounts"].update(1, balance=70)`.

use crate::definition::{self, Change, Reference, schema_of};
use crate::error::Failure;
use crate::lent::lock;
use crate::row::{borrowed, dictionary_of, failed, found, key, named, names, no_row, values};
use crate::table_index::{Got, Index, Range, Rows, Source, Want};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use sardonyx::open_transaction::{Inside, OpenTransaction};
use sardonyx::{Durability, Error, Migrating, Rows as Running, Transaction};
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

    /// Changes what tables are.
    fn define(&self, py: Python<'_>, change: impl Change) -> PyResult<()> {
        self.step(py, change)
    }

    /// Calls a migration's function with this transaction, which begins and ends here, unless it has run.
    pub(crate) fn migrate(
        slf: Bound<'_, Self>,
        migrating: &Arc<Migrating>,
        number: usize,
        body: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        let this = Self::__enter__(slf)?;
        let run = || {
            let known = migrating.clone();
            if !this.get().step(py, move |tx| known.is_to_run(tx, number))? {
                return Ok(());
            }
            let returned = body.call1((&this,))?;
            if returned.hasattr("__await__")? || returned.hasattr("__next__")? {
                return Err(PyTypeError::new_err(
                    "a migration's function is neither a coroutine nor a generator: nothing of it ran",
                ));
            }
            let known = migrating.clone();
            this.get().step(py, move |tx| known.note(tx, number))
        };
        let ran = run();
        // The function itself may have ended the transaction.
        let open = lock(&this.get().open).take().ok_or(Failure::NotRunning);
        match (ran, open) {
            (Ok(()), open) => {
                let open = open?;
                Ok(py.detach(|| open.commit()).map_err(Failure::from)?)
            }
            (Err(error), open) => {
                if let Ok(open) = open {
                    py.detach(|| open.abort()).map_err(Failure::from)?;
                }
                Err(error)
            }
        }
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

    /// Makes a table: ``create_table("accounts", {"id": "u64", "owner": "text?"}, key="id")``. A type with
    /// a question mark may be ``None``. Indexes are ``{"by_owner": ["owner", "id desc"]}``, ordered.
    #[pyo3(signature = (name, columns, *, key, ordered = false, indexes = None, unique = None, checks = None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn create_table(
        &self,
        py: Python<'_>,
        name: String,
        columns: &Bound<'_, PyDict>,
        key: &Bound<'_, PyAny>,
        ordered: bool,
        indexes: Option<&Bound<'_, PyDict>>,
        unique: Option<&Bound<'_, PyDict>>,
        checks: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let schema = schema_of(columns, key, ordered, [indexes, unique, checks])?;
        self.define(py, definition::create_table(name, schema))
    }

    /// Adds a column to a table: rows that are there have the default, or ``None`` (``"text?"``).
    #[pyo3(signature = (table, column, kind, *, default = None))]
    fn add_column(
        &self,
        py: Python<'_>,
        table: String,
        column: String,
        kind: &str,
        default: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.define(py, definition::add_column(table, column, kind, default)?)
    }

    /// Drops a column of a table.
    fn drop_column(&self, py: Python<'_>, table: String, column: String) -> PyResult<()> {
        self.define(py, move |tx| tx.drop_column(&table, &column))
    }

    /// Gives a column another name.
    fn rename_column(
        &self,
        py: Python<'_>,
        table: String,
        column: String,
        to: String,
    ) -> PyResult<()> {
        self.define(py, move |tx| tx.rename_column(&table, &column, &to))
    }

    /// Gives a table an ordered index: ``create_index("orders", "by_customer", ["customer", "id desc"])``.
    #[pyo3(signature = (table, name, columns, *, unique = false))]
    fn create_index(
        &self,
        py: Python<'_>,
        table: String,
        name: String,
        columns: &Bound<'_, PyAny>,
        unique: bool,
    ) -> PyResult<()> {
        self.define(
            py,
            definition::create_index(table, name, names(columns)?, unique),
        )
    }

    /// Takes an index from a table.
    fn drop_index(&self, py: Python<'_>, table: String, name: String) -> PyResult<()> {
        self.define(py, definition::drop_index(table, name))
    }

    /// Lets columns of a table refer to rows of another, by its key or by columns of a unique index:
    /// ``add_foreign_key("orders", "of_customer", "customer", "customers")``. ``on_delete`` is ``"restrict"``,
    /// ``"cascade"``, ``"set null"`` or ``"set default"``.
    #[pyo3(signature = (table, name, columns, references, to = None, *, on_delete = "restrict"))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn add_foreign_key(
        &self,
        py: Python<'_>,
        table: String,
        name: String,
        columns: &Bound<'_, PyAny>,
        references: String,
        to: Option<&Bound<'_, PyAny>>,
        on_delete: &str,
    ) -> PyResult<()> {
        let reference = Reference {
            name,
            columns: names(columns)?,
            to: (references, to.map(names).transpose()?),
            on_delete: definition::on_delete(on_delete)?,
        };
        self.define(py, definition::add_reference(table, reference))
    }

    /// Takes a foreign key from a table.
    fn drop_foreign_key(&self, py: Python<'_>, table: String, name: String) -> PyResult<()> {
        self.define(py, definition::drop_reference(table, name))
    }

    /// Drops a table with all its rows.
    fn drop_table(&self, py: Python<'_>, table: String) -> PyResult<()> {
        self.define(py, move |tx| tx.drop_table(&table))
    }

    /// Gives a table another name.
    fn rename_table(&self, py: Python<'_>, table: String, to: String) -> PyResult<()> {
        self.define(py, move |tx| tx.rename_table(&table, &to))
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
        step: impl FnOnce(Running<&mut Transaction<'_>>) -> Result<T, Error> + Send + 'static,
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
