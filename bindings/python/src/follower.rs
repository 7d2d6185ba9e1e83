//! Tables that another program has open, for reading: `with sardonyx.follow(path) as reader:
//! reader.snapshot()`.

use crate::error::Failure;
use crate::lent::lock;
use crate::table_snapshot::TablesSnapshot;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sardonyx::Options;
use sardonyx::journals::JournalPosition;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Follows the database of tables in a directory, which another program has open: its commits are read here,
/// usually some milliseconds later. Read-only; the program does not notice it. ``memory_bytes_max`` bounds
/// the tables, ``snapshot_bytes_max`` the pages that are kept for snapshots.
#[pyfunction]
#[pyo3(signature = (path, *, memory_bytes_max = None, snapshot_bytes_max = None))]
pub fn follow(
    py: Python<'_>,
    path: PathBuf,
    memory_bytes_max: Option<u64>,
    snapshot_bytes_max: Option<u64>,
) -> PyResult<Follower> {
    let mut options = Options::new();
    if let Some(bytes) = memory_bytes_max {
        options = options.memory_bytes_max(bytes);
    }
    if let Some(bytes) = snapshot_bytes_max {
        options = options.snapshot_bytes_max(bytes);
    }
    let followed = py.detach(|| options.follow_tables(&path));
    let follower = followed.map_err(Failure::from)?;
    Ok(Follower {
        path,
        follower: Mutex::new(Some(Arc::new(follower))),
    })
}

/// The tables of a database that another program has open, from ``sardonyx.follow(path)``. If following
/// fails, such as by damage, each call raises that from then on: follow again when the cause is removed. Any
/// thread may use it.
#[pyclass(frozen, module = "sardonyx")]
pub struct Follower {
    path: PathBuf,
    /// `None` when it was closed.
    follower: Mutex<Option<Arc<sardonyx::Follower>>>,
}

impl Follower {
    fn open(&self) -> Result<Arc<sardonyx::Follower>, Failure> {
        lock(&self.follower).clone().ok_or(Failure::Closed)
    }
}

/// A time in seconds from a program.
fn seconds(name: &str, seconds: f64) -> PyResult<Duration> {
    let wait = Duration::try_from_secs_f64(seconds);
    wait.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

#[pymethods]
impl Follower {
    /// All tables at one commit, to read for as long as you like: ``with reader.snapshot() as s:``. With
    /// ``within`` it is at most so many seconds behind the last commit, or ``Error`` is raised.
    #[pyo3(signature = (*, within = None))]
    fn snapshot(&self, py: Python<'_>, within: Option<f64>) -> PyResult<TablesSnapshot> {
        let follower = self.open()?;
        let within = within.map(|within| seconds("within", within)).transpose()?;
        let snapshot = py.detach(|| match within {
            Some(lag_max) => follower.snapshot_within(lag_max),
            None => follower.snapshot(),
        });
        Ok(TablesSnapshot::new(snapshot.map_err(Failure::from)?))
    }

    /// The position up to which this has read; the writer's ``Tables.position()`` is usually some
    /// milliseconds ahead.
    fn position(&self, py: Python<'_>) -> PyResult<String> {
        let follower = self.open()?;
        let position = py.detach(|| follower.position());
        Ok(position.map_err(Failure::from)?.to_string())
    }

    /// Waits until a snapshot has everything before a position, from ``Tables.position()`` of the program
    /// that writes; ``Error`` is raised if that takes more than ``timeout`` seconds.
    #[pyo3(signature = (position, timeout = 10.0))]
    fn wait_for(&self, py: Python<'_>, position: &str, timeout: f64) -> PyResult<()> {
        let follower = self.open()?;
        let position: JournalPosition = position
            .parse()
            .map_err(|error| PyValueError::new_err(format!("position: {error}")))?;
        let patience = seconds("timeout", timeout)?;
        let waited = py.detach(|| follower.wait_for(position, patience));
        Ok(waited.map_err(Failure::from)?)
    }

    /// The seconds by which a snapshot may be behind the last commit; ``None`` if that is not known.
    fn lag(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let follower = self.open()?;
        let lag = py.detach(|| follower.lag()).map_err(Failure::from)?;
        Ok((lag < Duration::MAX).then_some(lag.as_secs_f64()))
    }

    fn __repr__(&self) -> String {
        let closed = if lock(&self.follower).is_none() {
            ", closed"
        } else {
            ""
        };
        format!("<sardonyx.Follower {:?}{closed}>", self.path)
    }

    /// Ends following. Snapshots stay readable.
    fn close(&self, py: Python<'_>) {
        let follower = lock(&self.follower).take();
        if let Some(follower) = follower {
            py.detach(|| follower.close());
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: Bound<'_, PyAny>) -> bool {
        self.close(py);
        false
    }
}
