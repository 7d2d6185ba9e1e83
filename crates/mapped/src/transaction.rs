//! A running transaction, and a snapshot that is only read.

use crate::error::SegmentError;
use crate::mechanism::Access;
use crate::memory::{GrowError, Memory};
use crate::session::{Begin, Savepoint, Session};
use std::mem::ManuallyDrop;
use std::ops::Range;

/// A running transaction: the segment's memory, to be read and written by ordinary loads and stores. No other
/// transaction sees its writes until it commits, and the data that it reads does not change meanwhile.
///
/// It is a [`Memory`], so places are read and written by [`MemoryAccess`](crate::MemoryAccess), and
/// code that is written on plain memory runs in it.
///
/// The guarantees of a reference into it: it is exclusive or shared as its borrow says, within this transaction, as for
/// any Rust memory. The view is this session's alone, and no other process or thread writes to it. A reference cannot
/// outlive the transaction. It does *not* guarantee that the bytes are those that this program wrote, since other
/// programs write segments, too. That is why only types for which any bytes are a value may live here
/// ([`Resident`](crate::Resident)).
#[derive(Debug)]
pub struct Transaction<'a> {
    session: &'a mut Session,
}

impl<'a> Transaction<'a> {
    /// Borrows the session, which so has one transaction at a time.
    pub fn begin(session: &'a mut Session, begin: Begin) -> Result<Self, SegmentError> {
        session.begin(begin)?;
        Ok(Transaction { session })
    }

    /// The one that was begun in a session by [`Session::begin`], for as long as it is looked at. It
    /// is ended there; dropping this does not end it.
    ///
    /// # Errors
    /// [`SegmentError::NoTransaction`], [`SegmentError::Forked`].
    pub fn of(session: &'a mut Session) -> Result<ManuallyDrop<Self>, SegmentError> {
        session.running()?;
        Ok(ManuallyDrop::new(Transaction { session }))
    }

    /// Ends it and makes its changes visible to all. See [`Session::commit`].
    pub fn commit(self) -> Result<Option<u64>, SegmentError> {
        self.session.commit()
    }

    /// Says that a range is going to be touched: cheaper than finding out page by page. The LIBXAC thesis'
    /// advisory function `setPageAccess` (section 4.2.2).
    pub fn touch(&mut self, range: Range<u64>, access: Access) -> Result<(), SegmentError> {
        self.session.touch(range, access)
    }

    /// Runs a part that can fail alone: if it returns an error, its changes are undone, and the transaction goes on as
    /// if the part had not been.
    pub fn nested<R, E>(
        &mut self,
        part: impl FnOnce(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<Result<R, E>, SegmentError> {
        let savepoint = self.savepoint()?;
        let mut inner = Transaction {
            session: &mut *self.session,
        };
        let outcome = part(&mut inner);
        // Its end is this one's.
        std::mem::forget(inner);
        if outcome.is_err() {
            self.rollback_to(&savepoint)?;
        }
        Ok(outcome)
    }

    /// A place to go back to.
    pub fn savepoint(&mut self) -> Result<Savepoint, SegmentError> {
        self.session.savepoint()
    }

    /// Goes back: the changes since are undone. Savepoints made since must not be used any more.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<(), SegmentError> {
        self.session.rollback_to(savepoint)
    }

    /// True if it can no longer commit in any case, because its snapshot kept versions for too long. It sees its
    /// snapshot still.
    pub fn is_doomed(&self) -> bool {
        self.session.is_doomed()
    }

    /// Bytes of the segment.
    pub fn length(&self) -> u64 {
        self.session.length()
    }

    /// The mechanism that detects the pages that it touches.
    pub fn mechanism(&self) -> &'static str {
        self.session.mechanism()
    }
}

impl Session {
    /// Lends the running transaction to a part of it, for programs that begin and end it by hand. It goes on
    /// afterwards.
    ///
    /// # Errors
    /// [`SegmentError::NoTransaction`], [`SegmentError::Forked`].
    pub fn with_running<R>(
        &mut self,
        part: impl FnOnce(&mut Transaction<'_>) -> R,
    ) -> Result<R, SegmentError> {
        self.running()?;
        // Not dropped, since that would end it.
        Ok(part(&mut ManuallyDrop::new(Transaction { session: self })))
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.session.is_running() && self.session.abort().is_err() {
            tracing::error!("a transaction could not be undone in its view");
        }
    }
}

impl Memory for Transaction<'_> {
    /// The whole view. The [explicit](crate::mechanism::Explicit) mechanism does not see reads through it.
    #[inline]
    fn bytes(&self) -> &[u8] {
        bytes(self.session)
    }

    /// The whole view, to change; nothing, if the transaction was begun to read only. The
    /// [explicit](crate::mechanism::Explicit) mechanism does not see writes through it, and such stores are lost.
    #[inline]
    fn bytes_mut(&mut self) -> &mut [u8] {
        if self.session.is_read_only() {
            return &mut [];
        }
        let length = self.session.length() as usize;
        // SAFETY: the view is mapped for so many bytes and private to the session, which is borrowed exclusively. The
        // fault handler makes a page accessible that may not be touched yet, before the access is done. Any bytes are
        // bytes.
        unsafe { std::slice::from_raw_parts_mut(self.session.address(), length) }
    }

    fn grow_to(&mut self, bytes: u64) -> Result<(), GrowError> {
        self.session.grow_to(bytes).map_err(|error| match error {
            SegmentError::AddressSpaceFull {
                asked_bytes,
                limit_bytes,
            } => GrowError::Full {
                asked_bytes,
                limit_bytes,
            },
            source => GrowError::Refused {
                asked_bytes: bytes,
                source: Box::new(source),
            },
        })
    }

    #[inline]
    fn range(&self, start: u64, length: u64) -> Option<&[u8]> {
        let end = start.checked_add(length)?;
        let found = bytes(self.session).get(start as usize..usize::try_from(end).ok()?)?;
        self.session.note_read(start, length as usize);
        Some(found)
    }

    #[inline]
    fn range_mut(&mut self, start: u64, length: u64) -> Option<&mut [u8]> {
        let end = start.checked_add(length)?;
        if end > self.session.length() || self.session.is_read_only() {
            return None;
        }
        self.session.note_write(start, length as usize);
        self.bytes_mut()
            .get_mut(start as usize..usize::try_from(end).ok()?)
    }
}

fn bytes(session: &Session) -> &[u8] {
    // SAFETY: as in `bytes_mut`; the view is not written while the session is borrowed.
    unsafe { std::slice::from_raw_parts(session.address(), session.length() as usize) }
}

/// The segment as it was at one moment, to be read for as long as it is kept. It never fails for the acts of others,
/// and delays no other, except that old versions are kept for it: see
/// [`Options::versions_bytes`](crate::Options::versions_bytes).
#[derive(Debug)]
pub struct Snapshot {
    session: Option<Session>,
    home: crate::segment::Segment,
}

impl Snapshot {
    pub(crate) fn new(
        mut session: Session,
        home: crate::segment::Segment,
    ) -> Result<Self, SegmentError> {
        session.begin(Begin {
            read_only: true,
            exclusive: false,
        })?;
        Ok(Snapshot {
            session: Some(session),
            home,
        })
    }

    fn session(&self) -> &Session {
        self.session
            .as_ref()
            .expect("a snapshot has its session until it is dropped")
    }

    /// The first byte's address in this process.
    pub fn address(&self) -> *const u8 {
        self.session().address()
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if let Some(mut session) = self.session.take()
            && session.abort().is_ok()
        {
            self.home.give_back(session);
        }
    }
}

impl Memory for Snapshot {
    #[inline]
    fn bytes(&self) -> &[u8] {
        bytes(self.session())
    }

    /// Nothing: a snapshot is not written.
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut []
    }

    fn grow_to(&mut self, bytes: u64) -> Result<(), GrowError> {
        let limit_bytes = self.session().length();
        match bytes <= limit_bytes {
            true => Ok(()),
            false => Err(GrowError::Refused {
                asked_bytes: bytes,
                source: Box::new(SegmentError::ReadOnly),
            }),
        }
    }
}
