//! Snapshots, which are read-only, and tickets, to wait for durability.

use crate::boundary::{call, check_place, store};
use crate::handle::{Kind, Pool, issue, shared};
use crate::segment::{sdx_segment, state};
use crate::status::sdx_status;
use sardonyx::Tables;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_mapped::memory::Memory;
use sardonyx_mapped::{Snapshot, Ticket};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;

/// The segment as it was at one moment. Any number of threads may read it.
pub struct sdx_snapshot {
    _private: [u8; 0],
}

/// A committed transaction's claim to be on stable storage.
pub struct sdx_ticket {
    _private: [u8; 0],
}

impl Kind for sdx_snapshot {
    type State = Snapshot;
    const MARK: u32 = u32::from_le_bytes(*b"sdxN");
    const NAME: &'static str = "snapshot";

    fn pool() -> &'static Pool<Snapshot> {
        static POOL: Pool<Snapshot> = Mutex::new(VecDeque::new());
        &POOL
    }
}

impl Kind for sdx_ticket {
    type State = Claim;
    const MARK: u32 = u32::from_le_bytes(*b"sdxT");
    const NAME: &'static str = "ticket";

    fn pool() -> &'static Pool<Claim> {
        static POOL: Pool<Claim> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// The event that a ticket waits for.
#[derive(Clone)]
pub(crate) enum Claim {
    /// A transaction on a segment.
    Segment(Ticket),
    /// Everything that has run on tables: earlier commits are durable before it.
    Tables(Arc<Tables>),
}

pub(crate) fn issue_ticket(claim: Claim) -> *mut sdx_ticket {
    issue(claim)
}

/// Opens a snapshot of the committed state. It never fails because of others and never blocks them. But old
/// versions are kept for it: a writer without room for more waits, and gets `SDX_SLOW_READER` in the end.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_snapshot_open(
    segment: *mut sdx_segment,
    snapshot: *mut *mut sdx_snapshot,
) -> sdx_status {
    call(|| {
        check_place("the snapshot", snapshot)?;
        // SAFETY: the header's promise.
        let opened = unsafe { state(segment)? }.segment.snapshot()?;
        // SAFETY: the header's promise.
        unsafe { store("the snapshot", snapshot, issue(opened)) }
    })
}

/// The address of the snapshot's first byte, until it is closed. The memory is read-only: a store is a
/// SIGSEGV, or lost.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_snapshot_address(
    snapshot: *mut sdx_snapshot,
    address: *mut *const c_void,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let found = unsafe { shared(snapshot)? }.address().cast();
        // SAFETY: the header's promise.
        unsafe { store("the address", address, found) }
    })
}

/// Bytes of the snapshot.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_snapshot_length(
    snapshot: *mut sdx_snapshot,
    length: *mut u64,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let found = unsafe { shared(snapshot)? }.bytes().len() as u64;
        // SAFETY: the header's promise.
        unsafe { store("the length", length, found) }
    })
}

/// Closes a snapshot. Its memory must not be used any more.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_snapshot_close(snapshot: *mut sdx_snapshot) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { shared(snapshot)? };
        drop(used.close::<sdx_snapshot>());
        Ok(())
    })
}

/// Returns when the transaction is on stable storage. May be called any number of times, from any thread.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_ticket_wait(ticket: *mut sdx_ticket) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let claim = unsafe { shared(ticket)? }.clone();
        match claim {
            Claim::Segment(ticket) => Ok(ticket.wait()?),
            Claim::Tables(tables) => Ok(tables.flush()?),
        }
    })
}

/// Closes a ticket, waited for or not. The transaction becomes durable anyway.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_ticket_close(ticket: *mut sdx_ticket) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { shared(ticket)? };
        drop(used.close::<sdx_ticket>());
        Ok(())
    })
}
