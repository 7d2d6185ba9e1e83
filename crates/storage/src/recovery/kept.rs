//! Recovery without reading. A process that followed the log, and now takes over, has the pages in memory already, in
//! DB' of the checkpointers. DB is a copy of them. Log and backup have not changed, since the directory stayed locked.
//!
//! Invariants: I2 (the content of DB' is durable here).

use super::{Recovered, RecoveryError, RecoveryOptions, RecoveryReport, WORKERS_MAX};
use crate::checkpoint::{Checkpointer, Checkpoints};
use crate::log::LogPosition;
use crate::page::PAGE_SIZE;
use crate::store::PageStore;
use std::time::{Duration, Instant};

/// Makes DB from the checkpointers of all stripes, which have everything before this end of the log.
///
/// # Errors
/// [`RecoveryError`] if there is no memory for it.
pub fn recover_kept(
    end: LogPosition,
    options: RecoveryOptions,
    mut checkpointers: Vec<Checkpointer>,
) -> Result<Recovered, RecoveryError> {
    let started = Instant::now();
    let workers = options.workers.clamp(1, WORKERS_MAX);
    let mut store = PageStore::reserve(options.memory_max_bytes)?;
    let shadows = || checkpointers.iter().filter_map(Checkpointer::shadow);
    let bytes = shadows().map(|shadow| shadow.end_in_whole()).max();
    store.grow_to(bytes.unwrap_or(0) / PAGE_SIZE as u64)?;
    shadows().for_each(|shadow| shadow.copy_to(&mut store, workers));
    if options.checkpoints == Checkpoints::FromSnapshots {
        let pages = store.pages();
        checkpointers.iter_mut().for_each(|c| c.drop_copy(pages));
    }
    let report = RecoveryReport {
        stripes: Vec::new(),
        load_time: Duration::ZERO,
        redo_start: end,
        redo_end: end,
        groups: 0,
        transactions: 0,
        writes: 0,
        record_bytes: 0,
        journal_rows: 0,
        redo_time: Duration::ZERO,
        end_check_time: Duration::ZERO,
        stable_time: Duration::ZERO,
        copy_time: Some(started.elapsed()),
        database_bytes: store.bytes().len() as u64,
    };
    Ok(Recovered {
        store,
        checkpointers,
        end,
        last_incarnation: end.incarnation,
        report,
    })
}
