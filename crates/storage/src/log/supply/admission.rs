//! The kinds of work that ask for admission, and the log that each needs prepared.

use super::{LogLayout, Lsn};

/// The kind of work that asks for admission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// A transaction that is logged whole when it ends; or the end of one.
    Whole,
    /// A part of a transaction whose end will need log of its own.
    Work,
    /// Work that asks for room as it appends ([`GroupBuilder::make_room`](crate::log::seal::GroupBuilder::make_room)): a
    /// log that is still small need not have it before.
    Measured,
}

impl Admission {
    /// The segments that must be prepared beyond the one being written.
    #[inline]
    pub(crate) fn ahead(self) -> u64 {
        match self {
            Admission::Whole | Admission::Measured => 1,
            Admission::Work => 2,
        }
    }

    /// To where the log must be prepared for this while it is being written at `at`.
    #[inline]
    pub(crate) fn needed_end(self, layout: LogLayout, at: Lsn) -> Lsn {
        layout.segment_start(layout.segment_of(at) + 1 + self.ahead())
    }
}
