//! Pages that are kept free for the undo of running transactions.
//!
//! An inverse may need more pages than exist. An entry that was deleted from an index is put back where others have
//! used its room meanwhile, so a node splits. Such an operation reserves the number of pages that its inverse may take
//! ([`crate::Pages::inverse_may_take`]). They are reserved when it ends and given back when its transaction does. A
//! page by which an inverse makes the database grow is one of them from then on. Only inverses grow into reserved
//! pages. So an abort finds its pages, and so does the undo pass of a database that is opened under the same limit.
//!
//! A little more is barred from all operations, so that something can still be deleted in a full database.
//!
//! Invariant (I14): the existing pages and the reserved ones are no more than the limit.

use super::UnitLog;
use crate::error::DatabaseError;
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::StoreError;

/// This part of the limit is left to inverses,
const LEFT_PART: u64 = 16;

/// but no more than so many pages,
const LEFT_MAX: u64 = 1024;

/// The kind of a growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    /// An operation's, or the undo area's for one.
    OfWork,
    /// An inverse's of this transaction.
    OfInverse(u64),
}

impl Growth {
    /// The admission of a unit of it to the log.
    pub fn admission(self) -> Admission {
        match self {
            Growth::OfWork => Admission::Work,
            Growth::OfInverse(_) => Admission::Whole,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct PageReserve {
    /// By transaction, if it has any.
    of: IntegerMap<u64, Reserved>,
    /// For all of them.
    pages: u64,
}

/// The pages that are reserved for a transaction.
#[derive(Clone, Copy, Debug, Default)]
struct Reserved {
    pages: u64,
    /// Pages that its inverses got, and did not give back yet by their ends. They are no part of `pages`.
    used: u64,
}

impl PageReserve {
    /// The most pages that there may be after a growth, of a limit.
    pub fn pages_max(&self, limit: u64, growth: Growth) -> u64 {
        let reserved = match growth {
            Growth::OfWork => self.pages.max((limit / LEFT_PART).min(LEFT_MAX)),
            Growth::OfInverse(transaction) => {
                self.pages - self.of.get(&transaction).map_or(0, |of| of.pages)
            }
        };
        limit.saturating_sub(reserved)
    }

    /// Takes pages for a transaction; see [`UnitLog::check_reserve`].
    pub fn take(&mut self, transaction: u64, pages: u64) {
        if pages > 0 {
            self.of.entry(transaction).or_default().pages += pages;
            self.pages += pages;
        }
    }

    /// The database has so many pages more, and is beyond the limit of ordinary work. The pages of an inverse were
    /// reserved for it. Otherwise other undoing transactions would find fewer than their own until it has ended.
    pub fn grown(&mut self, growth: Growth, pages: u64) {
        if let Growth::OfInverse(transaction) = growth
            && let Some(of) = self.of.get_mut(&transaction)
        {
            let pages = pages.min(of.pages);
            of.pages -= pages;
            of.used += pages;
            self.pages -= pages;
        }
    }

    /// An operation of a transaction is undone: so many pages are not reserved any more.
    pub fn give_back(&mut self, transaction: u64, pages: u64) {
        if let Some(of) = self.of.get_mut(&transaction) {
            let used = pages.min(of.used);
            of.used -= used;
            let pages = (pages - used).min(of.pages);
            of.pages -= pages;
            self.pages -= pages;
        }
    }

    pub fn ended(&mut self, transaction: u64) {
        if let Some(of) = self.of.remove(&transaction) {
            self.pages -= of.pages;
        }
    }

    /// The error of a caller that needs the database to have so many pages.
    pub fn full(&self, pages: u64, limit: u64) -> DatabaseError {
        if pages > limit {
            return StoreError::Full {
                asked_bytes: pages.saturating_mul(PAGE_SIZE as u64),
                limit_bytes: limit * PAGE_SIZE as u64,
            }
            .into();
        }
        DatabaseError::Reserved {
            pages: limit - self.pages_max(limit, Growth::OfWork),
            limit_bytes: limit * PAGE_SIZE as u64,
        }
    }
}

impl UnitLog<'_> {
    /// Checks that so many pages can be reserved.
    pub fn check_reserve(&self, pages: u64) -> Result<(), DatabaseError> {
        let (limit, reserved) = (self.frames.pages_max(), self.reserve.pages);
        let needed = self.catalogue.pages.saturating_add(reserved);
        if pages == 0 || needed.saturating_add(pages) <= limit {
            return Ok(());
        }
        Err(DatabaseError::CannotUndo {
            pages,
            reserved,
            limit_bytes: limit * PAGE_SIZE as u64,
        })
    }
}
