//! Transactions: begin, commit, abort, savepoints, and advice.

use crate::boundary::{call, check_place, store};
use crate::session::{SessionState, sdx_session, used};
use crate::snapshot::{Claim, issue_ticket, sdx_ticket};
use crate::status::{Failure, sdx_status};
use sardonyx_mapped::memory::Memory;
use sardonyx_mapped::{Access, Begin, SegmentError, Transaction};
use std::ffi::c_void;

/// No other transaction commits while it runs, so that it cannot conflict. The same thread must end it.
pub const SDX_BEGIN_EXCLUSIVE: u32 = 1;
/// Read-only. It never conflicts and never blocks others.
pub const SDX_BEGIN_READ_ONLY: u32 = 2;
/// Stores that were made while no transaction was running are not searched, which saves a little. Such a
/// store then becomes part of the transaction, or is lost.
pub const SDX_BEGIN_UNCHECKED: u32 = 4;

/// The commit returns when the transaction is on stable storage.
pub const SDX_COMMIT_WAIT: u32 = 0;
/// The commit returns when the transaction is visible to all, with a ticket for its durability.
pub const SDX_COMMIT_LATER: u32 = 1;

/// The pages are going to be read.
pub const SDX_READ: u32 = 0;
/// The pages are going to be read and written.
pub const SDX_READ_WRITE: u32 = 1;

/// Calls `body` with a session.
///
/// # Safety
/// As for [`used`].
unsafe fn with(
    session: *mut sdx_session,
    body: impl FnOnce(&mut SessionState) -> Result<(), Failure>,
) -> sdx_status {
    // SAFETY: the caller's promise.
    call(|| body(&mut *unsafe { used(session)? }))
}

/// Begins a transaction. It reads the state of this moment, which does not change, even if it cannot commit
/// any more. `flags`: `SDX_BEGIN_...`, or 0.
///
/// `SDX_WRITTEN_OUTSIDE` if the program wrote to the session's memory while no transaction was running: that
/// was undone now, and the next call begins one.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_begin(session: *mut sdx_session, flags: u32) -> sdx_status {
    let begin = Begin {
        exclusive: flags & SDX_BEGIN_EXCLUSIVE != 0,
        read_only: flags & SDX_BEGIN_READ_ONLY != 0,
    };
    // SAFETY: the header's promise.
    unsafe {
        with(session, |session| {
            let known = SDX_BEGIN_EXCLUSIVE | SDX_BEGIN_READ_ONLY | SDX_BEGIN_UNCHECKED;
            if flags & !known != 0 || begin.exclusive && begin.read_only {
                let message = format!("sdx_begin has no flags {flags:#x}");
                return Err(Failure::argument(message));
            }
            session.begin(begin, flags & SDX_BEGIN_UNCHECKED == 0)
        })
    }
}

/// Ends the transaction and makes its changes visible to all.
///
/// `flags`: `SDX_COMMIT_WAIT` or `SDX_COMMIT_LATER`. With the latter, `ticket` may be given to wait for
/// durability later, or null. With the former it must be null.
///
/// Unless the error is about the call itself (`SDX_INVALID_ARGUMENT`, `SDX_INVALID_HANDLE`, `SDX_BUSY`,
/// `SDX_WRONG_THREAD`, `SDX_FORKED`, `SDX_NO_TRANSACTION`) the transaction is over. It then had no effect,
/// except with `SDX_POISONED`: its changes are visible, and it is not known if they survive a restart. After
/// `SDX_CONFLICT`, run it again.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_commit(
    session: *mut sdx_session,
    flags: u32,
    ticket: *mut *mut sdx_ticket,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(session, |session| {
            if flags > SDX_COMMIT_LATER {
                let message = format!("sdx_commit has no flags {flags:#x}");
                return Err(Failure::argument(message));
            }
            if !ticket.is_null() {
                check_place("the ticket", ticket)?;
                if flags != SDX_COMMIT_LATER {
                    let message = "only a commit with SDX_COMMIT_LATER has a ticket";
                    return Err(Failure::argument(message));
                }
            }
            let position = session.commit()?;
            let claim = session.home.segment.ticket(position);
            if flags == SDX_COMMIT_WAIT {
                return Ok(claim.wait()?);
            }
            match ticket.is_null() {
                true => Ok(()),
                false => store("the ticket", ticket, issue_ticket(Claim::Segment(claim))),
            }
        })
    }
}

/// Ends the transaction without effect.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_abort(session: *mut sdx_session) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe { with(session, SessionState::abort) }
}

/// Makes a savepoint in the running transaction. It costs a copy of each page written so far.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_savepoint(
    session: *mut sdx_session,
    savepoint: *mut u64,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(session, |session| {
            check_place("the savepoint", savepoint)?;
            store("the savepoint", savepoint, session.savepoint()?)
        })
    }
}

/// Undoes all writes since a savepoint. The savepoint stays, so that it can be used again; later ones are
/// removed.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_rollback_to(session: *mut sdx_session, savepoint: u64) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe { with(session, |session| session.rollback_to(savepoint)) }
}

/// Removes a savepoint and later ones. Writes since then stay.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_release(session: *mut sdx_session, savepoint: u64) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe { with(session, |session| session.release(savepoint)) }
}

/// Enlarges the segment to at least so many bytes; the new ones are zero. It stays enlarged even if the
/// transaction aborts.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_grow(session: *mut sdx_session, bytes: u64) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(session, |session| {
            session.writing()?;
            Ok(session.session.grow_to(bytes)?)
        })
    }
}

/// Announces that a range is going to be touched, which is cheaper than detecting it page by page. `access`:
/// `SDX_READ` or `SDX_READ_WRITE`. Only advice: other pages may be touched, too.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_touch(
    session: *mut sdx_session,
    offset: u64,
    length: u64,
    access: u32,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(session, |session| {
            let access = match access {
                SDX_READ => Access::Read,
                SDX_READ_WRITE => Access::Write,
                other => return Err(Failure::argument(format!("there is no access {other}"))),
            };
            session.session.check(offset, length)?;
            Ok(session.session.touch(offset..offset + length, access)?)
        })
    }
}

/// Copies bytes out of the segment, as the transaction sees it.
///
/// # Safety
/// As for `sdx_open`; `to` is memory for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_read(
    session: *mut sdx_session,
    offset: u64,
    to: *mut c_void,
    length: usize,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(session, |session| {
            check_data("the place for the bytes", to, length)?;
            let transaction = Transaction::of(&mut session.session)?;
            let found = transaction.range(offset, length as u64);
            let found = found.ok_or_else(|| outside(offset, length, transaction.length()))?;
            std::ptr::copy(found.as_ptr(), to.cast(), length);
            Ok(())
        })
    }
}

/// Copies bytes into the segment: with the explicit mechanism the way to write, with the others the same as
/// storing them at the session's address.
///
/// # Safety
/// As for `sdx_open`; `data` is memory of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_write(
    session: *mut sdx_session,
    offset: u64,
    data: *const c_void,
    length: usize,
) -> sdx_status {
    // SAFETY: the header's promise.
    unsafe {
        with(session, |session| {
            check_data("the bytes", data, length)?;
            session.writing()?;
            let mut transaction = Transaction::of(&mut session.session)?;
            let bytes = transaction.length();
            let place = transaction.range_mut(offset, length as u64);
            let place = place
                .ok_or_else(|| outside(offset, length, bytes))?
                .as_mut_ptr();
            // The source may itself be in the segment.
            std::ptr::copy(data.cast(), place, length);
            Ok(())
        })
    }
}

fn check_data(what: &str, data: *const c_void, length: usize) -> Result<(), Failure> {
    match data.is_null() && length > 0 {
        true => Err(Failure::argument(format!("{what} is null"))),
        false => Ok(()),
    }
}

fn outside(offset: u64, length: usize, bytes: u64) -> Failure {
    let length = length as u64;
    let outside = SegmentError::Outside {
        offset,
        length,
        bytes,
    };
    outside.into()
}
