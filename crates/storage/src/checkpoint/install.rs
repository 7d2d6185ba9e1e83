//! Installing a group's records into pages: the inner loop of the checkpointer's update phase and
//! of the redo pass.
//!
//! Its cost is cache misses, one per record at a random address. So records pass through a short
//! window: a record's place is prefetched when it enters and written when it leaves, some records
//! later. The window is first in, first out, so records are installed in log order (I3).
//!
//! Source: TPK paper, section 2 ("installing changes or applying a log").

use crate::log::record::{Body, RecordError, Records};
use crate::log::split::Write;
use crate::page::{PAGE_SIZE, PageId};
use crate::prefetch::prefetch;
use crate::store::{PageStore, StoreError};
use sardonyx_base::waiting::let_others_run;

/// Records between the prefetch of a place and the write to it; a power of two. Enough to cover a
/// miss to memory at a few nanoseconds a record, few enough to stay in the first-level cache.
const WINDOW: usize = 32;

/// Records between two looks if other threads may run: some tens of microseconds. Threads that answer clients do not wait
/// for the end of a large group then.
const BETWEEN_YIELDS: usize = 1024;

/// The contents of a group's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Installed {
    pub transactions: u64,
    pub writes: u64,
    pub journal_rows: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Installs the payload's writes in order into a store of the whole database, growing the store as needed. Each
/// encoded journal record goes to `journal`. After an error part of the payload may be installed.
pub(crate) fn install(
    store: &mut PageStore,
    payload: &[u8],
    mut journal: impl FnMut(&[u8]),
) -> Result<Installed, InstallError> {
    let mut window: [(usize, &[u8]); WINDOW] = [(0, &[]); WINDOW];
    let mut entered = 0usize;
    let mut installed = Installed::default();
    let mut records = Records::new(payload);
    let mut store_bytes = store.bytes().len();
    loop {
        let start = records.offset();
        let Some(record) = records.next() else { break };
        let record = record?;
        installed.transactions += u64::from(record.ends_transaction);
        match record.body {
            Body::Write { address, bytes } => {
                let at = address.0 as usize;
                if at + bytes.len() > store_bytes {
                    store.grow_to(PageId((at / PAGE_SIZE) as u64).0 + 1)?;
                    store_bytes = store.bytes().len();
                }
                prefetch(store.bytes(), at);
                let leaving = std::mem::replace(&mut window[entered % WINDOW], (at, bytes));
                put(store.bytes_mut(), leaving);
                entered += 1;
                installed.writes += 1;
                if entered.is_multiple_of(BETWEEN_YIELDS) {
                    let_others_run();
                }
            }
            Body::Journal { .. } => {
                journal(&payload[start..records.offset()]);
                installed.journal_rows += 1;
            }
            Body::Version { .. } => {}
        }
    }
    for k in 0..WINDOW {
        put(store.bytes_mut(), window[(entered + k) % WINDOW]);
    }
    Ok(installed)
}

/// Hands the payload's journal records to `journal` as [`install`] does, and installs nothing.
pub(crate) fn pass_over(
    payload: &[u8],
    mut journal: impl FnMut(&[u8]),
) -> Result<Installed, InstallError> {
    let mut passed = Installed::default();
    let mut records = Records::new(payload);
    loop {
        let start = records.offset();
        let Some(record) = records.next() else {
            return Ok(passed);
        };
        let record = record?;
        passed.transactions += u64::from(record.ends_transaction);
        if let Body::Journal { .. } = record.body {
            journal(&payload[start..records.offset()]);
            passed.journal_rows += 1;
        }
    }
}

/// Installs one stripe's writes of a group, as [`install`] does.
pub(crate) fn install_split(
    store: &mut PageStore,
    payload: &[u8],
    writes: &[Write],
) -> Result<(), StoreError> {
    let end = |write: &Write| write.place as usize + write.bytes(payload).len();
    let needed = writes.iter().map(end).max().unwrap_or(0);
    if needed > store.bytes().len() {
        store.grow_to(needed.div_ceil(PAGE_SIZE) as u64)?;
    }
    for (n, write) in writes.iter().enumerate() {
        if n % BETWEEN_YIELDS == BETWEEN_YIELDS - 1 {
            let_others_run();
        }
        if let Some(coming) = writes.get(n + WINDOW) {
            prefetch(store.bytes(), coming.place as usize);
        }
        put(
            store.bytes_mut(),
            (write.place as usize, write.bytes(payload)),
        );
    }
    Ok(())
}

#[inline(always)]
fn put(store: &mut [u8], (at, bytes): (usize, &[u8])) {
    // Most records are one 8-byte field: a single store instead of a call to copy memory.
    if let Ok(word) = <&[u8; 8]>::try_from(bytes) {
        store[at..at + 8].copy_from_slice(word);
    } else {
        store[at..at + bytes.len()].copy_from_slice(bytes);
    }
}
