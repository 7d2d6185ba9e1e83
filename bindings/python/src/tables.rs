//! A database of tables: opening, making tables, reading what is committed.

use crate::error::Failure;
use crate::lent::lock;
use crate::row::{dictionary_of, found, names, values};
use crate::segment::Segment;
use crate::table_snapshot::TablesSnapshot;
use crate::table_transaction::TableTransaction;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use sardonyx::open_transaction::Inside;
use sardonyx::schema::{Schema, Type};
use sardonyx::{Error, RowsView};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Opens the database of tables in a directory, or makes it. (Arrays live in a segment: ``sardonyx.segment``.)
#[pyfunction]
#[pyo3(signature = (path, **options))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Tables> {
    if let Some(options) = options
        && !options.is_empty()
    {
        return Err(PyTypeError::new_err(format!(
            "sardonyx.open opens tables and has no options {}; a segment with arrays is opened by \
             sardonyx.segment(path, ...)",
            options.keys()
        )));
    }
    tables(py, path)
}

/// The same.
#[pyfunction]
pub fn tables(py: Python<'_>, path: PathBuf) -> PyResult<Tables> {
    let opened = py.detach(|| sardonyx::Tables::open(&path));
    let tables = opened.map_err(|error| match is_segment(&error) {
        true => Failure::IsSegment { path },
        false => error.into(),
    })?;
    Ok(Tables {
        tables: Mutex::new(Some(Arc::new(tables))),
        inside: Inside::default(),
    })
}

/// Whether what stands there is a segment with arrays.
fn is_segment(error: &Error) -> bool {
    error.to_string().contains("heap of a mapped segment")
}

/// A database that is open as tables. Transactions run one at a time, each on stable storage when its block
/// has ended.
#[pyclass(frozen, module = "sardonyx")]
pub struct Tables {
    /// `None` when it was closed.
    tables: Mutex<Option<Arc<sardonyx::Tables>>>,
    /// Which thread is inside of a transaction.
    inside: Inside,
}

impl Tables {
    fn open(&self) -> Result<Arc<sardonyx::Tables>, Failure> {
        lock(&self.tables).clone().ok_or(Failure::Closed)
    }

    /// For what would wait for the transaction of this very thread.
    fn outside(&self) -> Result<Arc<sardonyx::Tables>, Failure> {
        self.inside.check_outside()?;
        self.open()
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
        Ok(TableTransaction::new(self.open()?, self.inside.clone()))
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
        let row = self.read(py, table, move |rows| found(rows.schema(), rows.get(&key)?))?;
        dictionary_of(py, row)
    }

    /// All tables as they are committed now, to read for as long as you like: ``with tables.snapshot() as s:``.
    fn snapshot(&self, py: Python<'_>) -> PyResult<TablesSnapshot> {
        let tables = self.outside()?;
        let snapshot = py.detach(|| tables.snapshot()).map_err(Failure::from)?;
        Ok(TablesSnapshot::new(snapshot))
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

    /// Programs of before, when ``open`` opened a segment, are told so.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let of_segment = PyType::new::<Segment>(py).hasattr(name)?;
        let hint = match of_segment {
            true => format!(
                "; arrays live in a segment, which sardonyx.segment(path) opens, and has {name:?}"
            ),
            false => String::new(),
        };
        Err(PyAttributeError::new_err(format!(
            "tables have no attribute {name:?}{hint}"
        )))
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

fn type_named(name: &str) -> PyResult<Type> {
    name.parse::<Type>()
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
