//! Tables, and NumPy arrays that live in a segment.
//!
//! An array handed out is an ordinary `numpy.ndarray` whose memory is the view of the calling thread's
//! session. NumPy uses ordinary loads and stores, which the engine detects by itself. It is writable only
//! inside of a transaction of that thread.
//!
//! | module | what |
//! | --- | --- |
//! | `segment` | what a program opens |
//! | `thread_session` | the session of a Python thread, and the arrays handed out on it |
//! | `transaction` | `with segment.transaction()`, `with segment.nested()` |
//! | `snapshot` | `with segment.snapshot()` |
//! | `lent` | the memory of a session, and the buffers on it |
//! | `directory` | arrays by name in the segment's heap |
//! | `tables` | a database of tables |
//! | `follower` | one that another program has open |
//! | `table_transaction`, `table_snapshot` | tables in a transaction, and at one commit |
//! | `definition` | changes of what tables are |
//! | `defining` | a transaction that makes them |
//! | `table_index` | rows in a range of an index |
//! | `row` | rows and keys as dictionaries and tuples |
//! | `columns` | a table's columns as buffers for NumPy and Arrow |
//! | `value` | values of columns as Python's objects |

mod columns;
mod defining;
mod definition;
mod directory;
mod error;
mod follower;
mod lent;
mod record;
mod row;
mod segment;
mod snapshot;
mod table_index;
mod table_snapshot;
mod table_transaction;
mod tables;
mod thread_session;
mod ticket;
mod transaction;
mod value;

use pyo3::prelude::*;

/// The compiled part of `sardonyx`.
#[pymodule(gil_used = false)]
mod _native {
    /// The process evaluates SQL's expressions from then on: conditions of tables, and generated columns.
    // The macro calls it in any case: a `cfg` of the function itself is not seen by it.
    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        #[cfg(feature = "sql")]
        sardonyx_sql::enforce_checks();
        Ok(())
    }

    #[pymodule_export]
    use crate::definition::Definitions;
    #[pymodule_export]
    use crate::follower::{Follower, follow};
    #[pymodule_export]
    use crate::segment::{Segment, private, segment, volatile};
    #[pymodule_export]
    use crate::snapshot::Snapshot;
    #[pymodule_export]
    use crate::table_index::{Index, Rows};
    #[pymodule_export]
    use crate::table_snapshot::{SnapshotTable, TablesSnapshot};
    #[pymodule_export]
    use crate::table_transaction::{Table, TableTransaction};
    #[pymodule_export]
    use crate::tables::{Tables, open, tables};
    #[pymodule_export]
    use crate::ticket::Ticket;
    #[pymodule_export]
    use crate::transaction::{Nested, Transaction};
}
