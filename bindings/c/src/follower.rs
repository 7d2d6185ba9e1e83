//! Followers: the tables of a database that another process of this host has open, to read.
//!
//! A follower gives views, which are read as those of the program that writes. Its own thread reads that program's log;
//! no call of a follower costs the writer anything.

use crate::boundary::{call, check_place, store, text};
use crate::handle::{Kind, Pool, issue, shared};
use crate::status::{Failure, sdx_status};
use crate::tables::{outside, sdx_tables};
use crate::view::sdx_view;
use sardonyx::journals::JournalPosition;
use sardonyx::{Follower, Options};
use sardonyx_base::sync::futex::Mutex;
use std::collections::VecDeque;
use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

/// A lag without a bound, and one that is not known.
pub const SDX_ANY_LAG: u64 = u64::MAX;

/// The tables of a database that another process has open, to read. Any number of threads may use it.
pub struct sdx_follower {
    _private: [u8; 0],
}

impl Kind for sdx_follower {
    type State = Arc<Follower>;
    const MARK: u32 = u32::from_le_bytes(*b"sdxF");
    const NAME: &'static str = "follower";

    fn pool() -> &'static Pool<Arc<Follower>> {
        static POOL: Pool<Arc<Follower>> = Mutex::new(VecDeque::new());
        &POOL
    }
}

/// The follower of a handle, which other threads may use meanwhile.
///
/// # Safety
/// As for [`shared`].
unsafe fn following(follower: *mut sdx_follower) -> Result<Arc<Follower>, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { shared(follower)? }.clone())
}

/// Follows the database in a directory, which another process of this host has open or will open. The follower is
/// read-only, and has all tables in its own memory: at most `memory_bytes_max` bytes of them, and `snapshot_bytes_max`
/// bytes of older pages for views; 0 is the default of either. `SDX_NOT_FOUND` if there is no database; none is made.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_follow(
    directory: *const c_char,
    memory_bytes_max: u64,
    snapshot_bytes_max: u64,
    follower: *mut *mut sdx_follower,
) -> sdx_status {
    call(|| {
        check_place("the follower", follower)?;
        // SAFETY: the header's promise.
        let directory = unsafe { text("the directory", directory)? };
        let mut options = Options::new();
        if memory_bytes_max > 0 {
            options = options.memory_bytes_max(memory_bytes_max);
        }
        if snapshot_bytes_max > 0 {
            options = options.snapshot_bytes_max(snapshot_bytes_max);
        }
        let opened = Arc::new(options.follow_tables(directory)?);
        // SAFETY: the header's promise.
        unsafe { store("the follower", follower, issue(opened)) }
    })
}

/// Opens a view of the newest commit that the follower has read. `SDX_UNAVAILABLE` if that may be more than `lag_max`
/// microseconds behind the last commit, or if the lag is not known; with `SDX_ANY_LAG` it may be any. The view may be
/// read after the follower was closed.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_follower_view(
    follower: *mut sdx_follower,
    lag_max: u64,
    view: *mut *mut sdx_view,
) -> sdx_status {
    call(|| {
        check_place("the view", view)?;
        // SAFETY: the header's promise.
        let found = unsafe { following(follower)? };
        let taken = match lag_max {
            SDX_ANY_LAG => found.snapshot()?,
            lag_max => found.snapshot_within(Duration::from_micros(lag_max))?,
        };
        // SAFETY: the header's promise.
        unsafe { store("the view", view, issue(Arc::new(taken))) }
    })
}

/// The most microseconds by which a view would be behind the last commit now; `SDX_ANY_LAG` if that is not known.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_follower_lag(
    follower: *mut sdx_follower,
    microseconds: *mut u64,
) -> sdx_status {
    call(|| {
        check_place("the lag", microseconds)?;
        // SAFETY: the header's promise.
        let lag = unsafe { following(follower)? }.lag()?;
        // A part of a microsecond counts as one: it is an upper bound.
        let lag = u64::try_from(lag.as_nanos().div_ceil(1000)).unwrap_or(SDX_ANY_LAG);
        // SAFETY: the header's promise.
        unsafe { store("the lag", microseconds, lag) }
    })
}

/// The position up to which a view would have every commit now. Positions grow; `sdx_tables_position` has the
/// writing program's.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_follower_position(
    follower: *mut sdx_follower,
    position: *mut u64,
) -> sdx_status {
    call(|| {
        check_place("the position", position)?;
        // SAFETY: the header's promise.
        let reached = unsafe { following(follower)? }.position()?;
        // SAFETY: the header's promise.
        unsafe { store("the position", position, reached.group) }
    })
}

/// Waits until a view would have every commit before a position of `sdx_tables_position`. `SDX_UNAVAILABLE` if that
/// takes longer than so many microseconds. A close of the follower ends the wait with `SDX_CLOSED`.
/// A wait that begins after the close is `SDX_INVALID_HANDLE`.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_follower_wait(
    follower: *mut sdx_follower,
    position: u64,
    microseconds: u64,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let found = unsafe { following(follower)? };
        let position = JournalPosition {
            group: position,
            row: 0,
        };
        Ok(found.wait_for(position, Duration::from_micros(microseconds))?)
    })
}

/// Ends following, and closes the follower. Its views stay readable.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_follower_close(follower: *mut sdx_follower) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let used = unsafe { shared(follower)? };
        used.close::<sdx_follower>().close();
        Ok(())
    })
}

/// The end of the durable log now, for `sdx_follower_wait` in another process: every transaction that was committed
/// with `SDX_COMMIT_WAIT` is before it.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_tables_position(
    tables: *mut sdx_tables,
    position: *mut u64,
) -> sdx_status {
    call(|| {
        check_place("the position", position)?;
        // SAFETY: the header's promise.
        let end = unsafe { outside(tables)? }.tables.position()?;
        // SAFETY: the header's promise.
        unsafe { store("the position", position, end.group) }
    })
}
