//! The detection of the pages that a transaction touched.
//!
//! | mechanism | what tells | a page read, written |
//! | --- | --- | --- |
//! | [`Asynchronous`] | the page tables: what is mapped was read, what lost its write protection was written | a fault in the kernel each; no signal unless others changed the page |
//! | [`Signal`] | SIGSEGV and changes of protection, as in the LIBXAC thesis | one signal; two signals |
//! | [`Explicit`] | the program itself | a few nanoseconds; ordinary stores are not seen |
//!
//! The duties of a mechanism: every page written is reported, and every page read is known when another transaction's
//! change of it must be judged. Reporting more than was touched is allowed: it costs a transaction that need not have
//! been repeated, and nothing else.

pub mod asynchronous;
pub mod explicit;
pub mod signal;

pub use asynchronous::Asynchronous;
pub use explicit::Explicit;
pub use signal::Signal;

use crate::error::SegmentError;
use crate::shared::ring::Change;
use crate::view::{View, ViewKind, linux};
use std::fmt::Debug;
use std::ops::Range;

/// A transaction's planned use of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The transaction is validated against later changes of the page.
    Read,
    /// Read and write it.
    Write,
}

/// The mechanism of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum MechanismKind {
    /// The best that the kernel offers: [`Asynchronous`], else [`Signal`].
    #[default]
    Best,
    /// [`Asynchronous`].
    Asynchronous,
    /// [`Signal`].
    Signal,
    /// [`Explicit`].
    Explicit,
}

impl MechanismKind {
    /// The mechanism that is meant on this machine.
    ///
    /// # Errors
    /// [`SegmentError::MechanismUnavailable`] if one was named that the kernel does not offer.
    pub fn resolve(self) -> Result<MechanismKind, SegmentError> {
        match (self, linux::kernel()) {
            (MechanismKind::Best, Ok(_)) if linux::pages_may_vanish() && !linux::can_lock() => {
                Ok(MechanismKind::Signal)
            }
            (MechanismKind::Best, Ok(_)) => Ok(MechanismKind::Asynchronous),
            (MechanismKind::Best, Err(_)) => Ok(MechanismKind::Signal),
            (MechanismKind::Asynchronous, Err(reason)) => Err(SegmentError::MechanismUnavailable {
                mechanism: "asynchronous",
                reason: reason.into(),
            }),
            (named, _) => Ok(named),
        }
    }

    /// The mechanisms that can be used on this machine.
    pub fn available() -> Vec<MechanismKind> {
        let all = [
            MechanismKind::Asynchronous,
            MechanismKind::Signal,
            MechanismKind::Explicit,
        ];
        all.into_iter()
            .filter(|kind| kind.resolve().is_ok())
            .collect()
    }

    /// The view that it needs, and the mechanism. The kind is a [resolved](Self::resolve) one.
    pub(crate) fn make(self) -> (ViewKind, Box<dyn Mechanism>) {
        match self {
            MechanismKind::Best | MechanismKind::Asynchronous => {
                (ViewKind::Asynchronous, Box::new(Asynchronous::default()))
            }
            MechanismKind::Signal => (ViewKind::Signal, Box::new(Signal)),
            MechanismKind::Explicit => (ViewKind::Explicit, Box::new(Explicit::default())),
        }
    }
}

/// A mechanism, for one session. See the [module](self).
///
/// `mapped`, `refresh` and `reset` are called with the turn to change the view's pages; the others take
/// it where they need it.
pub trait Mechanism: Debug + Send {
    /// As options and reports have it.
    fn name(&self) -> &'static str;

    /// Pages were added to the view.
    fn mapped(&mut self, view: &View, pages: Range<u64>) -> Result<(), SegmentError>;

    /// The transaction that begins sees a change that the view may not show: `end` is where its
    /// record's frame ends in the ring.
    fn refresh(&mut self, view: &View, change: Change<'_>, end: u64) -> Result<(), SegmentError>;

    /// The view's own pages were dropped, and it shows a base page that lacks records of the snapshot.
    /// The caller has the turn.
    fn lagging(&mut self, view: &View, page: u64) -> Result<(), SegmentError>;

    /// The transaction begins: all changes were shown by `refresh`. If it only reads, or if the program requested it
    /// (`ready`), its reads need no faults, as far as possible: for system calls.
    fn settle(&mut self, view: &View, read_only: bool, ready: bool) -> Result<(), SegmentError>;

    /// No transaction runs until the next one begins, and the program asked that nothing needs a fault to
    /// be read. Returns whether guarded pages show base pages now.
    fn rest(&mut self, view: &View) -> Result<bool, SegmentError>;

    /// Forgets all that the view holds; it then shows the base pages.
    fn reset(&mut self, view: &View) -> Result<(), SegmentError>;

    /// The transaction declares the pages that it is going to touch.
    fn advise(
        &mut self,
        view: &View,
        pages: Range<u64>,
        access: Access,
    ) -> Result<(), SegmentError>;

    /// Adds the pages written since the transaction began, or since the last call.
    fn written(&mut self, view: &View, pages: &mut Vec<u64>) -> Result<(), SegmentError>;

    /// True if the transaction may have read a page.
    fn was_read(&self, view: &View, page: u64) -> Result<bool, SegmentError>;

    /// A page turned out to have been changed by others.
    fn invalidate(&mut self, view: &View, page: u64) -> Result<(), SegmentError>;

    /// The transaction is over. With `forget`, the next one's set of read pages must not contain pages that only this
    /// one read. True if private pages were dropped.
    fn end(&mut self, view: &View, forget: bool) -> Result<bool, SegmentError>;

    /// The transaction reads this range, says the program.
    fn note_read(&self, _address: u64, _bytes: usize) {}

    /// The transaction is going to write this range, says the program.
    fn note_write(&mut self, _view: &View, _address: u64, _bytes: usize) {}

    /// The ranges written, if the program says them; else they are found by comparing pages.
    fn ranges(&self) -> Option<&[Range<u64>]> {
        None
    }

    /// The number of noted ranges: a place to return to.
    fn mark(&self) -> usize {
        0
    }

    /// Restores the bytes of the ranges noted since a mark.
    fn roll_back(&mut self, _view: &View, _mark: usize) {}
}
