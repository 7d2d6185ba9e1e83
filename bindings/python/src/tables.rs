//! Tables: `with tables.transaction() as tx: tx["accounts"].update(1, balance=70)`.

use crate::columns;
use crate::error::Failure;
use crate::lent::lock;
use crate::open_transaction::OpenTransaction;
use crate::value::{from_python, to_python};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use sardonyx::schema::{Schema, Type, Value};
use sardonyx::{Error, Rows, RowsView, Snapshot, SnapshotRows, Transaction as Running};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// Opens the database in a directory as tables, or makes it.
#[pyfunction]
pub fn tables(py: Python<'_>, path: PathBuf) -> PyResult<Tables> {
    let opened = py.detach(|| sardonyx::Tables::open(&path));
    let tables = Arc::new(opened.map_err(Failure::from)?);
    Ok(Tables {
        tables: Mutex::new(Some(tables)),
        inside: Arc::default(),
    })
}

/// A database that is open as tables. Transactions run one at a time, each on stable storage when its block
/// has ended.
#[pyclass(frozen, module = "sardonyx")]
pub struct Tables {
    /// `None` when it was closed.
    tables: Mutex<Option<Arc<sardonyx::Tables>>>,
    /// The thread that is inside of a transaction.
    inside: Arc<Mutex<Option<ThreadId>>>,
}

impl Tables {
    fn open(&self) -> Result<Arc<sardonyx::Tables>, Failure> {
        lock(&self.tables).clone().ok_or(Failure::Closed)
    }

    /// For what would wait for the transaction of this very thread.
    fn outside(&self) -> Result<Arc<sardonyx::Tables>, Failure> {
        match *lock(&self.inside) == Some(std::thread::current().id()) {
            true => Err(Failure::Inside),
            false => self.open(),
        }
    }

    /// Reads what is committed now.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        table: &str,
        read: impl FnOnce(RowsView<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let tables = self.outside()?;
        let result = py.detach(|| tables.read(|view| read(view.rows(table)?)));
        Ok(result.and_then(|result| result).map_err(Failure::from)?)
    }
}

#[pymethods]
impl Tables {
    /// Begins a transaction where the ``with`` block begins; its end commits it, an exception undoes it.
    fn transaction(&self) -> PyResult<TableTransaction> {
        Ok(TableTransaction {
            tables: self.open()?,
            inside: self.inside.clone(),
            open: Mutex::default(),
        })
    }

    /// Makes a table: ``create_table("accounts", {"id": "u64", "owner": "text?"}, key="id")``. A type with
    /// a question mark may be ``None``. Indexes are ``{"by_owner": ["owner", "id desc"]}``, ordered.
    #[pyo3(signature = (name, columns, *, key, ordered = false, indexes = None, unique = None, checks = None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn create_table(
        &self,
        py: Python<'_>,
        name: &str,
        columns: &Bound<'_, PyDict>,
        key: &Bound<'_, PyAny>,
        ordered: bool,
        indexes: Option<&Bound<'_, PyDict>>,
        unique: Option<&Bound<'_, PyDict>>,
        checks: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let mut schema = Schema::new();
        for (column, kind) in columns {
            let kind: String = kind.extract()?;
            let (kind, nullable) = match kind.strip_suffix('?') {
                Some(kind) => (kind, true),
                None => (&*kind, false),
            };
            schema = schema.column(&column.extract::<String>()?, type_named(kind)?);
            if nullable {
                schema = schema.nullable();
            }
        }
        let key = names(key)?;
        schema = schema.primary_key(key.iter().map(String::as_str));
        if ordered {
            schema = schema.ordered();
        }
        for (definitions, unique) in [(indexes, false), (unique, true)] {
            for (index, columns) in definitions.into_iter().flatten() {
                let columns = names(&columns)?;
                let index: String = index.extract()?;
                schema = schema.index(&index, columns.iter().map(String::as_str));
                schema = schema.ordered();
                if unique {
                    schema = schema.unique();
                }
            }
        }
        for (check, condition) in checks.into_iter().flatten() {
            schema = schema.check(&check.extract::<String>()?, &condition.extract::<String>()?);
        }
        let tables = self.outside()?;
        let made = py.detach(|| tables.create_table(name, schema));
        made.map_err(Failure::from)?;
        Ok(())
    }

    /// The tables' names, and their columns with their types.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = self.outside()?;
        let schemas = py.detach(|| {
            tables.read(|view| {
                let names = view.definitions().iter().map(|definition| &definition.name);
                let tables = names.filter(|name| !name.starts_with("sardonyx."));
                let tables = tables.filter_map(|name| {
                    let rows = view.rows(name).ok()?;
                    Some((name.clone(), rows.schema().clone()))
                });
                tables.collect::<Vec<_>>()
            })
        });
        let all = PyDict::new(py);
        for (name, schema) in schemas.map_err(Failure::from)? {
            let columns = PyDict::new(py);
            for (_, column) in schema.live_columns() {
                let nullable = if column.is_nullable() { "?" } else { "" };
                columns.set_item(&column.name, format!("{}{nullable}", column.kind))?;
            }
            all.set_item(name, columns)?;
        }
        Ok(all)
    }

    /// The row with a key, as it is committed now: a dictionary, or ``None``.
    #[pyo3(signature = (table, *key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let key = values(key)?;
        let row = self.read(py, table, move |rows| {
            let row = rows.get(&key)?;
            let values = row.map(|row| row.to_values()).transpose()?;
            Ok(values.map(|values| (rows.schema().clone(), values)))
        })?;
        row.map(|(schema, values)| to_dictionary(py, &schema, &values))
            .transpose()
    }

    /// All tables as they are committed now, to read for as long as you like: ``with tables.snapshot() as s:``.
    fn snapshot(&self, py: Python<'_>) -> PyResult<TablesSnapshot> {
        let tables = self.outside()?;
        let snapshot = py.detach(|| tables.snapshot()).map_err(Failure::from)?;
        Ok(TablesSnapshot {
            snapshot: Mutex::new(Some(snapshot)),
        })
    }

    /// How many rows a table has.
    fn count(&self, py: Python<'_>, table: &str) -> PyResult<u64> {
        self.read(py, table, |rows| Ok(rows.count()))
    }

    /// Closes the database.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let tables = self.outside()?;
        *lock(&self.tables) = None;
        Ok(py.detach(|| tables.close()).map_err(Failure::from)?)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: Bound<'_, PyAny>) -> PyResult<bool> {
        if lock(&self.tables).is_some() {
            self.close(py)?;
        }
        Ok(false)
    }
}

/// All tables at one commit, from ``tables.snapshot()``. Nobody waits for it; what changes meanwhile is kept
/// for it until it is closed.
#[pyclass(frozen, module = "sardonyx")]
pub struct TablesSnapshot {
    /// `None` when it was closed.
    snapshot: Mutex<Option<Snapshot>>,
}

impl TablesSnapshot {
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        table: &str,
        read: impl FnOnce(SnapshotRows<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let snapshot = lock(&self.snapshot).clone();
        let snapshot = snapshot.ok_or(Failure::SnapshotOver)?;
        let result = py.detach(|| read(snapshot.rows(table)?));
        Ok(result.map_err(Failure::from)?)
    }

    fn columns<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        names: Option<Vec<String>>,
        function: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let buffers = self.read(py, table, |rows| columns::read(&rows, names.as_deref()))?;
        let parts = buffers.into_iter().map(|buffers| buffers.into_parts(py));
        let parts: Vec<columns::Parts<'py>> = parts.collect();
        py.import("sardonyx._columns")?
            .getattr(function)?
            .call1((parts,))
    }
}

#[pymethods]
impl TablesSnapshot {
    /// The row with a key: a dictionary, or ``None``.
    #[pyo3(signature = (table, *key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let key = values(key)?;
        let row = self.read(py, table, move |rows| {
            let row = rows.get(&key)?;
            let values = row.map(|row| row.to_values()).transpose()?;
            Ok(values.map(|values| (rows.schema().clone(), values)))
        })?;
        row.map(|(schema, values)| to_dictionary(py, &schema, &values))
            .transpose()
    }

    /// How many rows a table has.
    fn count(&self, py: Python<'_>, table: &str) -> PyResult<u64> {
        self.read(py, table, |rows| Ok(rows.count()))
    }

    /// The columns of a table as a dictionary of NumPy arrays, all in the same order of rows.
    #[pyo3(signature = (table, columns = None))]
    fn numpy<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.columns(py, table, columns, "to_numpy")
    }

    /// A table as a ``pyarrow.Table``.
    #[pyo3(signature = (table, columns = None))]
    fn arrow<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.columns(py, table, columns, "to_arrow")
    }

    /// Ends it.
    fn close(&self) {
        drop(lock(&self.snapshot).take());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: Bound<'_, PyAny>) -> bool {
        self.close();
        false
    }
}

/// A transaction on tables, from ``tables.transaction()``.
#[pyclass(frozen, module = "sardonyx")]
pub struct TableTransaction {
    tables: Arc<sardonyx::Tables>,
    inside: Arc<Mutex<Option<ThreadId>>>,
    open: Mutex<Option<OpenTransaction>>,
}

impl TableTransaction {
    fn step<T: Send + 'static>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Running<'_>) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let result = py.detach(|| match &*lock(&self.open) {
            Some(open) => open.step(step),
            None => Err(Failure::NotRunning),
        });
        Ok(result?.map_err(Failure::from)?)
    }
}

#[pymethods]
impl TableTransaction {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let this = slf.get();
        let own = std::thread::current().id();
        if *lock(&this.inside) == Some(own) {
            return Err(Failure::Inside.into());
        }
        let open = slf.py().detach(|| OpenTransaction::begin(&this.tables))?;
        *lock(&this.inside) = Some(own);
        *lock(&this.open) = Some(open);
        Ok(slf)
    }

    #[pyo3(signature = (kind, value, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        value: Option<Bound<'_, PyAny>>,
        traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let _ = (value, traceback);
        let open = lock(&self.open).take().ok_or(Failure::NotRunning)?;
        *lock(&self.inside) = None;
        let failed = kind.is_some();
        py.detach(|| match failed {
            true => open.abort(),
            false => open.commit(),
        })?;
        Ok(false)
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

impl Drop for TableTransaction {
    fn drop(&mut self) {
        if let Some(open) = lock(&self.open).take() {
            *lock(&self.inside) = None;
            // There is nobody to tell.
            let _ = open.abort();
        }
    }
}

/// A table in a transaction.
#[pyclass(frozen, module = "sardonyx")]
pub struct Table {
    transaction: Py<TableTransaction>,
    name: String,
}

impl Table {
    fn rows<T: Send + 'static>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(Rows<'_, '_>) -> Result<T, Error> + Send + 'static,
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
        self.rows(py, move |mut rows| rows.insert(&borrowed(&columns)))
    }

    /// Inserts many rows, each a dictionary; returns how many.
    fn insert_many(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut all = Vec::new();
        for row in rows.try_iter()? {
            all.push(named(Some(row?.cast::<PyDict>()?))?);
        }
        self.rows(py, move |mut rows| {
            all.iter().try_for_each(|row| rows.insert(&borrowed(row)))?;
            Ok(all.len() as u64)
        })
    }

    /// Puts a row in the place of the one with its key; returns whether there was one.
    #[pyo3(signature = (**columns))]
    fn put(&self, py: Python<'_>, columns: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
        let columns = named(columns)?;
        self.rows(py, move |mut rows| rows.put(&borrowed(&columns)))
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
        let there = self.rows(py, move |mut rows| {
            rows.update(&wanted, &borrowed(&columns))
        })?;
        there.then_some(()).ok_or_else(|| no_row(key))
    }

    /// Deletes the row with a key; returns whether there was one.
    #[pyo3(signature = (*key))]
    fn delete(&self, py: Python<'_>, key: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let key = values(key)?;
        self.rows(py, move |mut rows| rows.delete(&key))
    }

    /// The row with a key as a dictionary, or ``None``.
    #[pyo3(signature = (*key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let key = values(key)?;
        let row = self.rows(py, move |rows| {
            let row = rows.get(&key)?;
            let values = row.map(|row| row.to_values()).transpose()?;
            Ok(values.map(|values| (rows.schema().clone(), values)))
        })?;
        row.map(|(schema, values)| to_dictionary(py, &schema, &values))
            .transpose()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let key = match key.cast::<PyTuple>() {
            Ok(key) => key.clone(),
            Err(_) => PyTuple::new(py, [key])?,
        };
        self.get(py, &key)?.ok_or_else(|| no_row(&key))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.rows(py, |rows| Ok(rows.count()))? as usize)
    }

    /// All rows, as dictionaries, in no particular order.
    fn scan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (schema, all) = self.rows(py, |rows| {
            let all = rows.scan().map(|row| row?.to_values());
            Ok((
                rows.schema().clone(),
                all.collect::<Result<Vec<_>, Error>>()?,
            ))
        })?;
        let all = all.iter().map(|row| to_dictionary(py, &schema, row));
        PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
    }
}

fn no_row(key: &Bound<'_, PyTuple>) -> PyErr {
    PyKeyError::new_err(key.clone().unbind())
}

fn to_dictionary<'py>(
    py: Python<'py>,
    schema: &Schema,
    values: &[Value],
) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    for ((_, column), value) in schema.live_columns().zip(values) {
        row.set_item(&column.name, to_python(py, value.as_ref())?)?;
    }
    Ok(row)
}

fn values(key: &Bound<'_, PyTuple>) -> PyResult<Vec<Value>> {
    key.iter().map(|part| from_python(&part)).collect()
}

fn named(columns: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, Value)>> {
    let columns = columns.into_iter().flatten();
    columns
        .map(|(name, value)| Ok((name.extract()?, from_python(&value)?)))
        .collect()
}

fn borrowed(columns: &[(String, Value)]) -> Vec<(&str, Value)> {
    let columns = columns.iter();
    columns
        .map(|(name, value)| (&**name, value.clone()))
        .collect()
}

/// One name, or several.
fn names(names: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match names.extract::<String>() {
        Ok(name) => Ok(vec![name]),
        Err(_) => names.extract(),
    }
}

fn type_named(name: &str) -> PyResult<Type> {
    name.parse::<Type>()
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
