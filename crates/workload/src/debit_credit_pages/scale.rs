//! The size of the database, in records and pages, and the owner of each page.

use super::{ACCOUNT, BRANCH, HISTORY, TELLER};
use crate::reference::PageNumber;

/// The usual share of transactions on an account of another branch (GEM paper), in percent.
pub const OTHER_BRANCH_PERCENT: u32 = 15;

/// The most units, and the most nodes.
pub const MAX_UNITS: u32 = 1_000;

/// The reason why a [`PageScale`] is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PageScaleError {
    /// A number is outside its limits.
    #[error("{what} of {value} is not possible: choose between {least} and {most}")]
    Range {
        /// The number, by the name of its field.
        what: &'static str,
        /// The requested value.
        value: u64,
        /// The least that is possible.
        least: u64,
        /// The most that is possible.
        most: u64,
    },
    /// A partition would have more pages than a page number can name.
    #[error(
        "{partition} would have {pages} pages, more than 2^32: choose fewer units or records, or \
         more records in a page"
    )]
    Pages {
        /// The partition's name.
        partition: &'static str,
        /// The pages that the scale would need.
        pages: u64,
    },
}

/// The numbers of records of each type, and of those in a page.
///
/// Fields may be set freely; [`DebitCreditPages::new`](super::DebitCreditPages::new) checks them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageScale {
    /// Units of the database: the GEM paper has one per node. 1 to [`MAX_UNITS`].
    pub units: u32,
    /// BRANCH records per unit.
    pub branches_per_unit: u32,
    /// TELLER records per BRANCH record.
    pub tellers_per_branch: u32,
    /// ACCOUNT records per BRANCH record.
    pub accounts_per_branch: u32,
    /// BRANCH records in a page.
    pub branch_blocking: u32,
    /// TELLER records in a page, if not clustered.
    pub teller_blocking: u32,
    /// ACCOUNT records in a page.
    pub account_blocking: u32,
    /// HISTORY records in a page.
    pub history_blocking: u32,
    /// True if TELLER records are in the page of their BRANCH record.
    pub clustered: bool,
    /// Share of accounts of another branch than the teller's, in percent.
    pub other_branch_percent: u32,
}

impl PageScale {
    /// Table 4.1 for so many nodes: per node 100 branches, 1,000 tellers and 10,000,000 accounts,
    /// clustered.
    pub const fn paper(units: u32) -> Self {
        PageScale {
            units,
            branches_per_unit: 100,
            tellers_per_branch: 10,
            accounts_per_branch: 100_000,
            branch_blocking: 1,
            teller_blocking: 10,
            account_blocking: 10,
            history_blocking: 20,
            clustered: true,
            other_branch_percent: OTHER_BRANCH_PERCENT,
        }
    }

    /// Checks every number.
    ///
    /// # Errors
    /// [`PageScaleError`] for the first that is not possible.
    pub fn check(&self) -> Result<(), PageScaleError> {
        let billion = 1_000_000_000;
        for (what, value, least, most) in [
            ("units", self.units, 1, MAX_UNITS),
            ("branches_per_unit", self.branches_per_unit, 1, 1_000_000),
            ("tellers_per_branch", self.tellers_per_branch, 1, 1_000_000),
            ("accounts_per_branch", self.accounts_per_branch, 1, billion),
            ("branch_blocking", self.branch_blocking, 1, billion),
            ("teller_blocking", self.teller_blocking, 1, billion),
            ("account_blocking", self.account_blocking, 1, billion),
            ("history_blocking", self.history_blocking, 1, billion),
            ("other_branch_percent", self.other_branch_percent, 0, 100),
        ] {
            if !(least..=most).contains(&value) {
                let (value, least, most) = (value.into(), least.into(), most.into());
                return Err(PageScaleError::Range {
                    what,
                    value,
                    least,
                    most,
                });
            }
        }
        let branches = self.branches();
        for (partition, pages) in [
            ("BRANCH", branches),
            ("TELLER", branches * u64::from(self.teller_pages())),
            ("ACCOUNT", branches * u64::from(self.account_pages())),
        ] {
            if pages > 1 << 32 {
                return Err(PageScaleError::Pages { partition, pages });
            }
        }
        Ok(())
    }

    /// The number of branches, in all units.
    pub fn branches(&self) -> u64 {
        u64::from(self.units) * u64::from(self.branches_per_unit)
    }

    /// The number of partitions: their numbers are below it.
    pub fn partitions(&self) -> u16 {
        if self.clustered { 3 } else { 4 }
    }

    /// The number of a partition's pages; none for HISTORY, which grows.
    pub fn pages(&self, partition: u16) -> Option<u64> {
        match partition {
            ACCOUNT => Some(self.branches() * u64::from(self.account_pages())),
            BRANCH => Some(self.branches().div_ceil(u64::from(self.branch_blocking))),
            TELLER if !self.clustered => Some(self.branches() * u64::from(self.teller_pages())),
            _ => None,
        }
    }

    /// The branch whose records are in a page, from 0; none for HISTORY and for a number that is no page. For a BRANCH
    /// page with several records, the first.
    #[inline]
    pub fn branch_of_page(&self, page: PageNumber) -> Option<u32> {
        let branch = match page.partition {
            ACCOUNT => page.page / self.account_pages(),
            TELLER if !self.clustered => page.page / self.teller_pages(),
            BRANCH => page.page.checked_mul(self.branch_blocking)?,
            _ => return None,
        };
        (u64::from(branch) < self.branches()).then_some(branch)
    }

    /// The node of a branch: every node has a contiguous range, and all have the same number of
    /// branches (give or take one if it does not divide).
    ///
    /// This is both the affinity routing of the GEM paper and its assignment of lock authority.
    #[inline]
    pub fn node_of_branch(&self, branch: u32, nodes: u16) -> u16 {
        let (branch, nodes) = (u64::from(branch), u64::from(nodes));
        (((branch + 1) * nodes - 1) / self.branches()) as u16
    }

    /// The node that has the lock authority for a page: that of its branch, and for a HISTORY page the node that
    /// appends to it ([`HistoryEnd`](super::HistoryEnd)). Node 0 for a number that is no page.
    #[inline]
    pub fn node_of_page(&self, page: PageNumber, nodes: u16) -> u16 {
        match self.branch_of_page(page) {
            Some(branch) => self.node_of_branch(branch, nodes),
            None if page.partition == HISTORY => (page.page % u32::from(nodes)) as u16,
            None => 0,
        }
    }

    /// Pages of a branch's accounts.
    pub(super) fn account_pages(&self) -> u32 {
        self.accounts_per_branch.div_ceil(self.account_blocking)
    }

    /// Pages of a branch's tellers, if not clustered.
    pub(super) fn teller_pages(&self) -> u32 {
        self.tellers_per_branch.div_ceil(self.teller_blocking)
    }
}
