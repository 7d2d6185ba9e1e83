//! Transactions on tables: `with tables.transaction() as tx: tx["accounts"].update(1, balance=70)`.

use crate::defining::Defining;
use crate::definition::{Change, Definitions};
use crate::error::{Failure, is_to_run_again};
use crate::lent::lock;
use crate::row::{Names, borrowed, failed, found, key, named, no_row, values};
use crate::table_index::{Got, Index, Range, Rows, Source, Want};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};
use sardonyx::low_level::Inside;
use sardonyx::schema::Migrating;
use sardonyx::{Error, OpenTransaction, Tables, Transaction};
use std::sync::{Arc, Mutex};

/// A transaction on tables, from ``tables.transaction()``.
#[pyclass(extends = Definitions, frozen, module = "sardonyx")]
pub struct TableTransaction {
    tables: Arc<Tables>,
    inside: Inside,
    running: Mutex<Option<Running>>,
}

enum Running {
    /// It blocks no other transaction.
    Open(OpenTransaction),
    /// It has the serial stage: it has changed tables' definitions, or is the last run of a call that
    /// conflicted every time before.
    Defining(Defining),
}

/// Calls a method on the rows of a table, in either kind of transaction.
macro_rules! in_rows {
    ($this:expr, $py:ident, $table:expr, |$rows:pat_param| $act:expr) => {{
        let table: String = $table.to_string();
        let done: Result<_, Failure> = $py.detach(|| match &mut *lock(&$this.running) {
            Some(Running::Open(open)) => open
                .rows(&table)
                .and_then(|rows| {
                    let $rows = rows;
                    $act
                })
                .map_err(Failure::from),
            Some(Running::Defining(defining)) => {
                let done = defining.step(move |transaction: &mut Transaction<'_>| {
                    let done: Result<_, Error> = transaction.rows(&table).and_then(|rows| {
                        let $rows = rows;
                        $act
                    });
                    done
                });
                done.and_then(|done| done).map_err(Failure::from)
            }
            None => Err(Failure::NotRunning),
        });
        done
    }};
}

/// The same for a step on one row and no others, a read or an insertion. In an open transaction, it takes less time than
/// releasing the interpreter and having it back would. A changed or deleted row may have any number of rows that refer to
/// it, so that other threads run meanwhile.
macro_rules! in_row {
    ($this:expr, $py:ident, $table:expr, |$rows:pat_param| $act:expr) => {{
        let mut running = $this.running.try_lock().ok();
        match running.as_deref_mut() {
            Some(Some(Running::Open(open))) => open
                .rows(&$table)
                .and_then(|rows| {
                    let $rows = rows;
                    $act
                })
                .map_err(Failure::from),
            // Another thread has it, or it has the stage: it is waited for without the interpreter.
            _ => {
                drop(running);
                in_rows!($this, $py, $table, |$rows| $act)
            }
        }
    }};
}

/// Asks if it should wait longer: the exception of a signal's handler, such as that of Ctrl-C, ends the
/// waiting.
pub(crate) fn unless_raised<T>(
    py: Python<'_>,
    wait: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<Option<T>, Error> + Send,
) -> PyResult<T>
where
    T: Send,
{
    let mut raised = None;
    let waited = py.detach(|| {
        let mut waits = || {
            let checked = Python::attach(|py| py.check_signals());
            checked.map_err(|error| raised = Some(error)).is_ok()
        };
        wait(&mut waits)
    });
    match (waited.map_err(Failure::from)?, raised) {
        (_, Some(error)) => Err(error),
        (Some(value), None) => Ok(value),
        (None, None) => Err(Failure::NotRunning)?,
    }
}

/// Calls a program's function with a transaction.
fn called<'py>(
    function: &Bound<'py, PyAny>,
    transaction: &Bound<'py, TableTransaction>,
) -> PyResult<Bound<'py, PyAny>> {
    let returned = function.call1((transaction,))?;
    if returned.hasattr("__await__")? || returned.hasattr("gi_frame")? {
        return Err(PyTypeError::new_err(
            "the function of a transaction is neither a coroutine nor a generator: nothing of it ran",
        ));
    }
    Ok(returned)
}

impl TableTransaction {
    pub(crate) fn new(tables: Arc<Tables>, inside: Inside) -> Self {
        TableTransaction {
            tables,
            inside,
            running: Mutex::default(),
        }
    }

    /// A transaction that runs already.
    fn running(tables: &Arc<Tables>, inside: &Inside, running: Running) -> Self {
        let this = TableTransaction::new(Arc::clone(tables), inside.clone());
        *lock(&this.running) = Some(running);
        this
    }

    /// Runs a function in the serial stage, which it keeps from the first time on.
    fn step<T: Send + 'static>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let open = {
            let mut running = lock(&self.running);
            match running.take() {
                Some(Running::Open(open)) => Some(open),
                other => {
                    *running = other;
                    None
                }
            }
        };
        if let Some(open) = open {
            let (tables, inside) = (&self.tables, &self.inside);
            let defining = unless_raised(py, |waits| {
                Defining::begin_while(tables, inside, Some(open), waits)
            })?;
            *lock(&self.running) = Some(Running::Defining(defining));
        }
        let result = py.detach(|| match &*lock(&self.running) {
            Some(Running::Defining(defining)) => Ok(defining.step(step)??),
            _ => Err(Failure::NotRunning),
        });
        Ok(result?)
    }

    pub(crate) fn define(&self, py: Python<'_>, change: impl Change) -> PyResult<()> {
        self.step(py, change)
    }

    /// Ends it. A thread that has the stage for another transaction must not wait for it here.
    fn end(&self, py: Python<'_>, commits: bool) -> PyResult<()> {
        let running = lock(&self.running).take().ok_or(Failure::NotRunning)?;
        let (tables, inside) = (&self.tables, &self.inside);
        unless_raised(py, |waits| match (running, commits) {
            (Running::Open(open), true) => open.commit_while(tables, inside, waits),
            (Running::Open(open), false) => {
                open.rollback();
                Ok(Some(()))
            }
            (Running::Defining(defining), true) => defining.commit().map(Some),
            (Running::Defining(defining), false) => defining.abort().map(Some),
        })
    }

    /// Undoes it, unless it has ended.
    fn give_up(&self, py: Python<'_>) -> PyResult<()> {
        if lock(&self.running).is_none() {
            return Ok(());
        }
        self.end(py, false)
    }

    /// Calls a function with a transaction until it does not conflict.
    pub(crate) fn retry<'py>(
        py: Python<'py>,
        tables: &Arc<Tables>,
        inside: &Inside,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let run = |running| {
            let transaction = Self::running(tables, inside, running);
            let transaction = Bound::new(py, Definitions::of(transaction))?;
            let ended = called(function, &transaction).and_then(|value| {
                transaction.get().end(py, true)?;
                Ok(value)
            });
            if ended.is_err() {
                transaction.get().give_up(py)?;
            }
            ended
        };
        for _ in 0..Tables::RETRIES_ASIDE {
            let open = unless_raised(py, |waits| tables.begin_while(waits))?;
            match run(Running::Open(open)) {
                Err(raised) if is_to_run_again(py, &raised) => {}
                ended => return ended,
            }
        }
        let stage = unless_raised(py, |waits| {
            Defining::begin_while(tables, inside, None, waits)
        })?;
        run(Running::Defining(stage))
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
            called(body, &this)?;
            let known = migrating.clone();
            this.get().step(py, move |tx| known.note(tx, number))
        };
        match run() {
            Ok(()) => this.get().end(py, true),
            Err(error) => {
                this.get().give_up(py)?;
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
        Ok(in_rows!(self, py, table, |rows| range.of_rows(&rows, &want))?)
    }
}

#[pymethods]
impl TableTransaction {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let this = slf.get();
        this.inside.check_outside().map_err(Failure::from)?;
        if lock(&this.running).is_some() {
            return Err(Failure::RunsAlready.into());
        }
        let open = unless_raised(slf.py(), |waits| this.tables.begin_while(waits))?;
        *lock(&this.running) = Some(Running::Open(open));
        Ok(slf)
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: Bound<'_, PyTuple>) -> PyResult<bool> {
        match failed(&exception) {
            // The exception may have ended it.
            true => self.give_up(py)?,
            false => self.end(py, true)?,
        }
        Ok(false)
    }

    fn __repr__(&self) -> &'static str {
        match *lock(&self.running) {
            Some(_) => "<sardonyx.TableTransaction, running>",
            None => "<sardonyx.TableTransaction, not running>",
        }
    }

    /// The table of a name.
    fn __getitem__(slf: Bound<'_, Self>, table: String) -> PyResult<Table> {
        let py = slf.py();
        let this = slf.get();
        in_row!(this, py, table, |_| Ok(()))?;
        Ok(Table {
            transaction: slf.unbind(),
            name: table,
            names: Names::default(),
        })
    }
}

/// A table in a transaction.
#[pyclass(frozen, module = "sardonyx")]
pub struct Table {
    transaction: Py<TableTransaction>,
    name: String,
    names: Names,
}

#[pymethods]
impl Table {
    /// Inserts a row; missing columns get their defaults.
    #[pyo3(signature = (**columns))]
    fn insert(&self, py: Python<'_>, columns: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let columns = named(columns)?;
        let transaction = self.transaction.get();
        Ok(in_row!(transaction, py, self.name, |mut rows| {
            rows.insert(&borrowed(&columns))
        })?)
    }

    /// Inserts many rows, each a dictionary; returns their number.
    fn insert_many(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<u64> {
        let mut all = Vec::new();
        for row in rows.try_iter()? {
            all.push(named(Some(row?.cast::<PyDict>()?))?);
        }
        let transaction = self.transaction.get();
        Ok(in_rows!(transaction, py, self.name, |mut rows| {
            all.iter().try_for_each(|row| rows.insert(&borrowed(row)))?;
            Ok(all.len() as u64)
        })?)
    }

    /// Inserts a row, or replaces the one with its key; returns ``True`` if there was one.
    #[pyo3(signature = (**columns))]
    fn put(&self, py: Python<'_>, columns: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
        let columns = named(columns)?;
        let transaction = self.transaction.get();
        Ok(in_rows!(transaction, py, self.name, |mut rows| {
            rows.put(&borrowed(&columns))
        })?)
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
        let transaction = self.transaction.get();
        let there = in_rows!(transaction, py, self.name, |mut rows| {
            rows.update(&wanted, &borrowed(&columns))
        })?;
        there.then_some(()).ok_or_else(|| no_row(key))
    }

    /// Deletes the row with a key; returns ``True`` if there was one.
    #[pyo3(signature = (*key))]
    fn delete(&self, py: Python<'_>, key: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let key = values(key)?;
        let transaction = self.transaction.get();
        Ok(in_rows!(transaction, py, self.name, |mut rows| rows.delete(&key))?)
    }

    /// The row with a key as a dictionary, or ``None``.
    #[pyo3(signature = (*key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let key = values(key)?;
        let transaction = self.transaction.get();
        let row = in_row!(transaction, py, self.name, |rows| {
            found(rows.schema(), rows.get(&key)?)
        })?;
        self.names.dictionary_of(py, row)
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
        let transaction = self.transaction.get();
        let count = in_rows!(transaction, py, self.name, |rows| rows.count())?;
        Ok(count as usize)
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
        let (transaction, index) = (self.transaction.get(), name.clone());
        in_rows!(transaction, py, self.name, |rows| rows
            .index(&index)
            .map(drop))?;
        Ok(Index {
            source: Source::Transaction(self.transaction.clone_ref(py)),
            table: self.name.clone(),
            name,
        })
    }

    /// All rows, in no particular order, read on demand.
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
