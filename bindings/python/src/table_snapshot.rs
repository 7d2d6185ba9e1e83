//! Tables at one commit: `with tables.snapshot() as snapshot: snapshot["orders"].numpy()`.

use crate::error::Failure;
use crate::lent::lock;
use crate::row::{dictionary_of, found, key, no_row, values};
use crate::table_index::{Got, Index, Range, Rows, Source, Want};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};
use sardonyx::rows::{Rows as Reading, SpaceSnapshot};
use sardonyx::{Error, Snapshot};
use std::sync::Mutex;

/// All tables at one commit, from ``tables.snapshot()``. It blocks no transaction; old versions are kept for
/// it until it is closed. Any thread may read it.
#[pyclass(frozen, module = "sardonyx")]
pub struct TablesSnapshot {
    /// `None` when it was closed.
    snapshot: Mutex<Option<Snapshot>>,
}

impl TablesSnapshot {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        TablesSnapshot {
            snapshot: Mutex::new(Some(snapshot)),
        }
    }

    fn read<T: Send>(
        &self,
        py: Python<'_>,
        table: &str,
        read: impl FnOnce(Reading<&SpaceSnapshot>) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let snapshot = lock(&self.snapshot).clone();
        let snapshot = snapshot.ok_or(Failure::SnapshotOver)?;
        let result = py.detach(|| read(snapshot.rows(table)?));
        Ok(result.map_err(Failure::OfSnapshot)?)
    }

    pub(crate) fn read_range(
        &self,
        py: Python<'_>,
        table: &str,
        range: &Range,
        want: &Want,
    ) -> PyResult<Got> {
        self.read(py, table, |rows| range.of_rows(&rows, want))
    }
}

fn table_of(slf: &Bound<'_, TablesSnapshot>, name: &str) -> SnapshotTable {
    SnapshotTable {
        snapshot: slf.clone().unbind(),
        name: name.to_string(),
    }
}

#[pymethods]
impl TablesSnapshot {
    fn __repr__(&self) -> &'static str {
        match *lock(&self.snapshot) {
            Some(_) => "<sardonyx.TablesSnapshot>",
            None => "<sardonyx.TablesSnapshot, closed>",
        }
    }

    /// The table of a name.
    fn __getitem__(slf: Bound<'_, Self>, table: &str) -> PyResult<SnapshotTable> {
        slf.get().read(slf.py(), table, |_| Ok(()))?;
        Ok(table_of(&slf, table))
    }

    /// The row with a key: a dictionary, or ``None``.
    #[pyo3(signature = (table, *key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let key = values(key)?;
        let row = self.read(py, table, |rows| found(rows.schema(), rows.get(&key)?))?;
        dictionary_of(py, row)
    }

    /// The number of rows of a table.
    fn count(&self, py: Python<'_>, table: &str) -> PyResult<u64> {
        self.read(py, table, |rows| rows.count())
    }

    /// The columns of a table as a dictionary of NumPy arrays, all in the same order of rows.
    #[pyo3(signature = (table, columns = None))]
    fn numpy<'py>(
        slf: Bound<'py, Self>,
        table: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        table_of(&slf, table).rows(py).numpy(py, columns)
    }

    /// A table as a ``pyarrow.Table``.
    #[pyo3(signature = (table, columns = None))]
    fn arrow<'py>(
        slf: Bound<'py, Self>,
        table: &str,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        table_of(&slf, table).rows(py).arrow(py, columns)
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

/// A table in a snapshot, from ``snapshot[name]``.
#[pyclass(frozen, module = "sardonyx")]
pub struct SnapshotTable {
    snapshot: Py<TablesSnapshot>,
    name: String,
}

#[pymethods]
impl SnapshotTable {
    /// The row with a key as a dictionary, or ``None``.
    #[pyo3(signature = (*key))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.snapshot.get().get(py, &self.name, key)
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
        format!("<sardonyx.SnapshotTable {:?}>", self.name)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.snapshot.get().count(py, &self.name)? as usize)
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
    fn index(&self, py: Python<'_>, name: &str) -> PyResult<Index> {
        let snapshot = self.snapshot.get();
        snapshot.read(py, &self.name, |rows| rows.index(name).map(drop))?;
        Ok(Index {
            source: Source::Snapshot(self.snapshot.clone_ref(py)),
            table: self.name.clone(),
            name: name.to_string(),
        })
    }

    /// All rows, in no particular order.
    fn rows(&self, py: Python<'_>) -> Rows {
        Rows {
            source: Source::Snapshot(self.snapshot.clone_ref(py)),
            table: self.name.clone(),
            range: Range::all(),
        }
    }
}
