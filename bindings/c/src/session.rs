//! Sessions: a view of the segment at an address of its own, and one transaction at a time on it.

use crate::boundary::{call, check_place, store};
use crate::handle::{Kind, Pool, Used, alone, issue};
use crate::segment::{SegmentState, sdx_segment, state};
use crate::status::Failure;
use crate::status::sdx_status::{self, SDX_WRONG_THREAD};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_mapped::{Begin, Savepoint, SegmentError, Session};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::thread::ThreadId;

/// A session. One thread at a time uses it: a concurrent call of a second one gets `SDX_BUSY`, and that
/// thread must not use the memory either.
pub struct sdx_session {
    _private: [u8; 0],
}

pub(crate) struct SessionState {
    pub session: Session,
    pub home: SegmentState,
    /// The running transaction.
    pub running: Option<Running>,
    /// The heap's arena from which it allocates.
    pub arena: u64,
    /// Counts savepoints: each gets a number of its own.
    next_savepoint: u64,
}

/// A running transaction.
pub(crate) struct Running {
    pub begin: Begin,
    thread: ThreadId,
    savepoints: Vec<(u64, Savepoint)>,
}

impl Kind for sdx_session {
    type State = SessionState;
    const MARK: u32 = u32::from_le_bytes(*b"sdxS");
    const NAME: &'static str = "session";

    fn pool() -> &'static Pool<SessionState> {
        static POOL: Pool<SessionState> = Mutex::new(VecDeque::new());
        &POOL
    }
}

impl SessionState {
    /// Begins a transaction; `checked`: undoes stores that were made while none was running.
    pub fn begin(&mut self, begin: Begin, checked: bool) -> Result<(), Failure> {
        match checked {
            true => self.session.begin_checked(begin)?,
            false => self.session.begin(begin)?,
        }
        self.running = Some(Running {
            begin,
            thread: std::thread::current().id(),
            savepoints: Vec::new(),
        });
        Ok(())
    }

    /// Checks that this thread may end the running transaction.
    pub fn ending(&self) -> Result<(), Failure> {
        let running = self.running.as_ref().ok_or(SegmentError::NoTransaction)?;
        if running.begin.exclusive && running.thread != std::thread::current().id() {
            let message = "the thread that begins an exclusive transaction must end it";
            return Err(Failure::new(SDX_WRONG_THREAD, message));
        }
        Ok(())
    }

    /// Ends the transaction. It is over with any outcome.
    pub fn commit(&mut self) -> Result<Option<u64>, Failure> {
        self.ending()?;
        self.running = None;
        let ended = self.session.commit();
        self.home.count(ended.as_ref().map(|_| ()));
        Ok(ended?)
    }

    /// Ends the transaction without effect.
    pub fn abort(&mut self) -> Result<(), Failure> {
        self.ending()?;
        self.running = None;
        self.home.totals.aborts.fetch_add(1, Ordering::Relaxed);
        Ok(self.session.abort()?)
    }

    /// The running transaction, if it may write.
    pub fn writing(&mut self) -> Result<&mut Running, Failure> {
        match &mut self.running {
            None => Err(SegmentError::NoTransaction.into()),
            Some(running) if running.begin.read_only => Err(Failure::read_only()),
            Some(running) => Ok(running),
        }
    }

    pub fn savepoint(&mut self) -> Result<u64, Failure> {
        self.writing()?;
        let savepoint = self.session.savepoint()?;
        self.next_savepoint += 1;
        let number = self.next_savepoint;
        self.writing()?.savepoints.push((number, savepoint));
        Ok(number)
    }

    /// The position of a savepoint among the running transaction's.
    fn place_of(&mut self, number: u64) -> Result<usize, Failure> {
        let savepoints = &self.writing()?.savepoints;
        let found = savepoints.iter().position(|(known, _)| *known == number);
        found.ok_or_else(|| {
            let message = format!(
                "the running transaction has no savepoint {number}; going back to one ends those \
                 that were made after it"
            );
            Failure::new(sdx_status::SDX_NOT_FOUND, message)
        })
    }

    /// Rolls back to a savepoint, which stays; later ones are removed.
    pub fn rollback_to(&mut self, number: u64) -> Result<(), Failure> {
        let at = self.place_of(number)?;
        self.writing()?.savepoints.truncate(at + 1);
        let savepoints = &self.running.as_ref().expect("it is running").savepoints;
        Ok(self.session.rollback_to(&savepoints[at].1)?)
    }

    /// Removes a savepoint and later ones.
    pub fn release(&mut self, number: u64) -> Result<(), Failure> {
        let at = self.place_of(number)?;
        self.writing()?.savepoints.truncate(at);
        Ok(())
    }
}

pub(crate) fn open(home: SegmentState) -> Result<SessionState, Failure> {
    let session = home.segment.session()?;
    let arena = home.totals.sessions.fetch_add(1, Ordering::Relaxed);
    Ok(SessionState {
        session,
        // Sessions of different processes should start with different arenas, too.
        arena: arena + u64::from(std::process::id()),
        home,
        running: None,
        next_savepoint: 0,
    })
}

/// The session behind a handle, for this thread alone.
///
/// # Safety
/// As for [`crate::handle::alone`].
pub(crate) unsafe fn used(session: *mut sdx_session) -> Result<Used<SessionState>, Failure> {
    // SAFETY: the caller's promise.
    unsafe { alone(session) }
}

/// Opens a session. Each takes address space for the whole segment; keep it for many transactions.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_session_open(
    segment: *mut sdx_segment,
    session: *mut *mut sdx_session,
) -> sdx_status {
    call(|| {
        check_place("the session", session)?;
        // SAFETY: the header's promise.
        let opened = open(unsafe { state(segment)? })?;
        // SAFETY: the header's promise.
        unsafe { store("the session", session, issue(opened)) }
    })
}

/// Closes a session; a running transaction is aborted. Its memory is unmapped.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_session_close(session: *mut sdx_session) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let mut used = unsafe { used(session)? };
        if used.running.is_some() {
            used.abort()?;
        }
        drop(used.close::<sdx_session>());
        Ok(())
    })
}

/// The address of the segment's first byte in this session. It stays the same until the session is closed,
/// also when the segment grows. Other sessions have other addresses, so stored links must be offsets.
///
/// The memory may be used by ordinary loads and stores while a transaction is running. Outside of one, loads
/// find some committed state of each page, and the next `sdx_begin` undoes stores and reports them.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_session_address(
    session: *mut sdx_session,
    address: *mut *mut c_void,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let found = unsafe { used(session)? }.session.address().cast();
        // SAFETY: the header's promise.
        unsafe { store("the address", address, found) }
    })
}

/// Sets `doomed` to 1 if the running transaction can no longer commit, and to 0 otherwise. Its snapshot kept
/// old versions for too long; end it, and run it again. Other conflicts are found at the commit.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_session_doomed(
    session: *mut sdx_session,
    doomed: *mut u32,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let found = unsafe { used(session)? };
        let session = &found.session;
        let is_doomed = session.is_running() && session.is_doomed();
        // SAFETY: the header's promise.
        unsafe { store("whether it is doomed", doomed, u32::from(is_doomed)) }
    })
}

/// Bytes that may be used at the session's address, also before its first transaction. Growth by others is
/// added when a transaction begins.
///
/// # Safety
/// As for `sdx_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sdx_session_length(
    session: *mut sdx_session,
    length: *mut u64,
) -> sdx_status {
    call(|| {
        // SAFETY: the header's promise.
        let found = unsafe { used(session)? }.session.length();
        // SAFETY: the header's promise.
        unsafe { store("the length", length, found) }
    })
}
