//! A database of tables: opening, making tables, reading the committed state.

use crate::definition::{Change, Definitions};
use crate::error::Failure;
use crate::lent::lock;
use crate::row::{dictionary_of, found, values};
use crate::segment::Segment;
use crate::table_snapshot::TablesSnapshot;
use crate::table_transaction::{TableTransaction, unless_raised};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use sardonyx::low_level::Inside;
use sardonyx::rows::Rows;
use sardonyx::schema::Migrating;
use sardonyx::{Durability, Error, Options, View};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Opens the database of tables in a directory, or makes it. (Arrays live in a segment:
/// ``sardonyx.segment``.) ``wait_for_lock`` is the number of seconds to wait for another process that has it
/// open. With ``create`` it is made if there is none. ``memory_bytes_max`` and ``log_bytes_max`` are its
/// bounds.
#[pyfunction]
#[pyo3(signature = (
    path, *, wait_for_lock = None, create = true, memory_bytes_max = None, log_bytes_max = None, **options
))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    wait_for_lock: Option<f64>,
    create: bool,
    memory_bytes_max: Option<u64>,
    log_bytes_max: Option<u64>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<Tables>> {
    if let Some(options) = options
        && !options.is_empty()
    {
        return Err(PyTypeError::new_err(format!(
            "sardonyx.open opens tables and has no options {}, but wait_for_lock, create, memory_bytes_max and \
             log_bytes_max; a segment with arrays is opened by \
             sardonyx.segment(path, ...)",
            options.keys()
        )));
    }
    let mut options = Options::new().create(create);
    if let Some(seconds) = wait_for_lock {
        let wait = Duration::try_from_secs_f64(seconds);
        let wait =
            wait.map_err(|error| PyValueError::new_err(format!("wait_for_lock: {error}")))?;
        options = options.wait_for_lock(wait);
    }
    if let Some(bytes) = memory_bytes_max {
        options = options.memory_bytes_max(bytes);
    }
    if let Some(bytes) = log_bytes_max {
        options = options.log_bytes_max(bytes);
    }
    open_with(py, path, options)
}

/// Opens the database of tables in a directory, as ``open``.
#[pyfunction]
pub fn tables(py: Python<'_>, path: PathBuf) -> PyResult<Py<Tables>> {
    open_with(py, path, Options::new())
}

fn open_with(py: Python<'_>, path: PathBuf, options: Options) -> PyResult<Py<Tables>> {
    let opened = py.detach(|| options.open_tables(&path));
    let tables = match opened {
        Ok(tables) => tables,
        Err(error) if is_segment(&error) => Err(Failure::IsSegment { path: path.clone() })?,
        Err(error) => Err(Failure::from(error))?,
    };
    let tables = Tables {
        path,
        tables: Mutex::new(Some(Arc::new(tables))),
        inside: Inside::default(),
    };
    Py::new(py, Definitions::of(tables))
}

/// Returns true if the directory has a segment with arrays.
fn is_segment(error: &Error) -> bool {
    error.to_string().contains("heap of a mapped segment")
}

/// A database that is open as tables. A transaction is on stable storage when its block has ended.
#[pyclass(extends = Definitions, frozen, module = "sardonyx")]
pub struct Tables {
    path: PathBuf,
    /// `None` when it was closed.
    tables: Mutex<Option<Arc<sardonyx::Tables>>>,
    /// The thread that is inside of a transaction.
    inside: Inside,
}

impl Tables {
    fn open(&self) -> Result<Arc<sardonyx::Tables>, Failure> {
        lock(&self.tables).clone().ok_or(Failure::Closed)
    }

    /// The tables, for calls that would wait for this thread's own transaction.
    fn outside(&self) -> Result<Arc<sardonyx::Tables>, Failure> {
        self.inside.check_outside()?;
        self.open()
    }

    /// Changes tables' definitions, in a transaction of its own.
    pub(crate) fn define(&self, py: Python<'_>, change: impl Change) -> PyResult<()> {
        let tables = self.outside()?;
        unless_raised(py, |waits| {
            let turn = tables.turn_while(waits)?;
            turn.map(|turn| turn.run(Durability::Durable, change))
                .transpose()
        })
    }

    /// Reads the committed state.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(View<'_>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let tables = self.outside()?;
        unless_raised(py, |waits| {
            let turn = tables.turn_while(waits)?;
            turn.map(|turn| read(turn.view())).transpose()
        })
    }

    /// Reads the committed state of a table.
    fn read_rows<T: Send>(
        &self,
        py: Python<'_>,
        table: &str,
        read: impl FnOnce(Rows<View<'_>>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        self.read(py, |view| read(view.rows(table)?))
    }
}

#[pymethods]
impl Tables {
    /// Begins a transaction where the ``with`` block begins; its end commits it, an exception undoes it. It
    /// blocks no other transaction, however long it takes: it sees the state of its begin and its own
    /// changes. If data that it read was changed meanwhile, the block's end raises ``Conflict``, and the
    /// transaction had no effect: see ``retry``.
    fn transaction(&self, py: Python<'_>) -> PyResult<Py<TableTransaction>> {
        let transaction = TableTransaction::new(self.open()?, self.inside.clone());
        Py::new(py, Definitions::of(transaction))
    }

    /// Calls ``function(tx)`` in a transaction, again after each conflict, and returns its result when the
    /// transaction is on stable storage. It is also called again if it was ended at a bound
    /// (``TransactionEnded``). After five times it is called once more in the serial stage, where it cannot
    /// conflict. An exception undoes the transaction and is raised.
    fn retry<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tables = self.outside()?;
        TableTransaction::retry(py, &tables, &self.inside, function)
    }

    /// Brings the database to the program's schema: ``db.migrate([("customers", add_customers), ...])`` calls
    /// the functions that have not run in it yet, in their order. Each has a transaction of its own, which
    /// also records it. Give all migrations that the program ever had; one that ran keeps its name and its
    /// place. Returns the schema version: their number.
    fn migrate(&self, py: Python<'_>, migrations: &Bound<'_, PyAny>) -> PyResult<u32> {
        let tables = self.outside()?;
        let (names, bodies) = migrations_of(migrations)?;
        let begin = || Migrating::begin(&tables, names);
        let migrating = Arc::new(py.detach(begin).map_err(Failure::from)?);
        for (number, body) in bodies.iter().enumerate() {
            let transaction = TableTransaction::new(self.open()?, self.inside.clone());
            let transaction = Bound::new(py, Definitions::of(transaction))?;
            TableTransaction::migrate(transaction, &migrating, number, body)?;
        }
        Ok(migrating.known())
    }

    /// The number of migrations that have run in the database.
    fn schema_version(&self, py: Python<'_>) -> PyResult<u32> {
        let tables = self.outside()?;
        Ok(py
            .detach(|| tables.schema_version())
            .map_err(Failure::from)?)
    }

    /// Writes a backup, a database of its own, into a directory that is absent or empty, while transactions
    /// continue.
    fn backup(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let tables = self.outside()?;
        let written = py.detach(|| tables.backup(path).map(drop));
        Ok(written.map_err(Failure::from)?)
    }

    /// Takes a checkpoint and waits for it, so that the next opening is short.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let tables = self.outside()?;
        Ok(py.detach(|| tables.checkpoint()).map_err(Failure::from)?)
    }

    fn __repr__(&self) -> String {
        let closed = if lock(&self.tables).is_none() {
            ", closed"
        } else {
            ""
        };
        format!("<sardonyx.Tables {:?}{closed}>", self.path)
    }

    /// The tables' names, and their columns with their types.
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let schemas = self.read(py, |view| {
            let names = view.definitions().iter().map(|definition| &definition.name);
            let tables = names.filter(|name| !name.starts_with("sardonyx."));
            let tables = tables.filter_map(|name| {
                let rows = view.rows(name).ok()?;
                Some((name.clone(), rows.schema().clone()))
            });
            Ok(tables.collect::<Vec<_>>())
        })?;
        let all = PyDict::new(py);
        for (name, schema) in schemas {
            let columns = PyDict::new(py);
            for (_, column) in schema.own_columns() {
                let nullable = if column.is_nullable() { "?" } else { "" };
                columns.set_item(&column.name, format!("{}{nullable}", column.kind))?;
            }
            all.set_item(name, columns)?;
        }
        Ok(all)
    }

    /// The committed row with a key: a dictionary, or ``None``.
    #[pyo3(signature = (table, *key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let key = values(key)?;
        let row = self.read_rows(py, table, move |rows| found(rows.schema(), rows.get(&key)?))?;
        dictionary_of(py, row)
    }

    /// All tables at the last commit, to read for as long as you like: ``with tables.snapshot() as s:``.
    fn snapshot(&self, py: Python<'_>) -> PyResult<TablesSnapshot> {
        let tables = self.outside()?;
        let snapshot = unless_raised(py, |waits| {
            let turn = tables.turn_while(waits)?;
            turn.map(|turn| turn.snapshot()).transpose()
        });
        snapshot.map(|(snapshot, _)| TablesSnapshot::new(snapshot))
    }

    /// The end of what is durable now, for ``Follower.wait_for`` of another program.
    fn position(&self) -> PyResult<String> {
        let position = self.open()?.position().map_err(Failure::from)?;
        Ok(position.to_string())
    }

    /// The number of rows of a table.
    fn count(&self, py: Python<'_>, table: &str) -> PyResult<u64> {
        self.read_rows(py, table, |rows| rows.count())
    }

    /// Closes the database.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let tables = self.outside()?;
        *lock(&self.tables) = None;
        Ok(py.detach(|| tables.close()).map_err(Failure::from)?)
    }

    /// Older programs, for which ``open`` opened a segment, get an error that says so.
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

/// The names of migrations, and their functions.
fn migrations_of<'py>(
    migrations: &Bound<'py, PyAny>,
) -> PyResult<(Vec<String>, Vec<Bound<'py, PyAny>>)> {
    let (mut names, mut bodies) = (Vec::new(), Vec::new());
    for migration in migrations.try_iter()? {
        let (name, body): (String, Bound<'py, PyAny>) = migration?.extract().map_err(|_| {
            PyTypeError::new_err("a migration is a pair: its name and a function of a transaction")
        })?;
        if !body.is_callable() {
            return Err(PyTypeError::new_err(format!(
                "migration {name:?} has no function of a transaction"
            )));
        }
        names.push(name);
        bodies.push(body);
    }
    Ok((names, bodies))
}
