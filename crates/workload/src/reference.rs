//! A transaction of a page-level model: its type, and the pages that it references in order, each
//! with its access mode (GEM paper, section 3.1).
//!
//! A database is a set of partitions, a partition a sequence of pages. A page is named by both
//! numbers, which fit together into 48 bits, so that a table of pages can be keyed by one word.
//!
//! Synthetic workloads ([`crate::debit_credit_pages`]) and traces (`trace`) both end in
//! these types, so a model of nodes and devices never learns where its transactions came from.

use std::fmt;

/// The most types of transactions.
pub const MAX_TYPES: usize = 4_096;

/// A page of the database: which partition, and which page in it, both from 0.
///
/// ```
/// use sardonyx_workload::reference::PageNumber;
///
/// let page = PageNumber::new(3, 17);
/// assert_eq!(page.to_u64(), 3 << 32 | 17);
/// assert_eq!(PageNumber::from_u64(page.to_u64()), Some(page));
/// assert_eq!(page.to_string(), "3:17");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageNumber {
    /// Its number in the trace's header, or in the model.
    pub partition: u16,
    /// The page in its partition.
    pub page: u32,
}

impl PageNumber {
    /// Both are numbered from 0.
    #[inline]
    pub const fn new(partition: u16, page: u32) -> Self {
        PageNumber { partition, page }
    }

    /// Both numbers in one: `partition << 32 | page`. The order of pages is the order of these.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        (self.partition as u64) << 32 | self.page as u64
    }

    /// The page whose [`PageNumber::to_u64`] is `number`; none if `number` is 2^48 or more.
    #[inline]
    pub const fn from_u64(number: u64) -> Option<Self> {
        if number >> 48 != 0 {
            return None;
        }
        Some(PageNumber {
            partition: (number >> 32) as u16,
            page: number as u32,
        })
    }
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.partition, self.page)
    }
}

/// A transaction's use of a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// It reads a record of the page.
    Read,
    /// It reads and changes a record of the page.
    Write,
    /// It adds a record at the end of the partition.
    ///
    /// Only the node that runs the transaction knows that page, since each node appends at its own
    /// end; the reference's page number is 0 and means nothing. Not found in traces, which name the
    /// page that was written.
    Append,
}

impl Access {
    /// True if the page is changed.
    #[inline]
    pub const fn is_write(self) -> bool {
        matches!(self, Access::Write | Access::Append)
    }
}

/// One access to one page: a lock is requested for it and a buffer is asked for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageReference {
    /// With its partition.
    pub page: PageNumber,
    /// Its use.
    pub access: Access,
}

impl PageReference {
    /// A transaction reads `page`.
    #[inline]
    pub const fn read(page: PageNumber) -> Self {
        PageReference {
            page,
            access: Access::Read,
        }
    }

    /// A transaction changes `page`.
    #[inline]
    pub const fn write(page: PageNumber) -> Self {
        PageReference {
            page,
            access: Access::Write,
        }
    }
}

/// A transaction: its type and its references, in order.
///
/// A caller that takes many of them from a source passes the same one again and again. So none is allocated per
/// transaction ([`Transaction::clear`] keeps the allocation).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Transaction {
    /// The transaction type, from 0.
    pub kind: u16,
    /// Every record access, in order; a page accessed twice is in it twice.
    pub references: Vec<PageReference>,
}

impl Transaction {
    /// A transaction of type `kind` without references yet.
    pub fn new(kind: u16) -> Self {
        Transaction {
            kind,
            references: Vec::new(),
        }
    }

    /// Makes it one of type `kind` without references, keeping the memory of the old ones.
    pub fn clear(&mut self, kind: u16) {
        self.kind = kind;
        self.references.clear();
    }

    /// True if it changes any page.
    pub fn is_update(&self) -> bool {
        self.references.iter().any(|one| one.access.is_write())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_page_number_survives_its_packing(partition: u16, page: u32) {
            let number = PageNumber::new(partition, page);
            prop_assert_eq!(PageNumber::from_u64(number.to_u64()), Some(number));
        }

        #[test]
        fn packed_numbers_order_as_pages_do(one: (u16, u32), other: (u16, u32)) {
            let of = |(partition, page)| PageNumber::new(partition, page);
            prop_assert_eq!(
                of(one).cmp(&of(other)),
                of(one).to_u64().cmp(&of(other).to_u64())
            );
        }

        #[test]
        fn what_no_page_has_is_no_page(number in 1u64 << 48..) {
            prop_assert_eq!(PageNumber::from_u64(number), None);
        }
    }

    #[test]
    fn an_update_is_what_writes_or_appends() {
        let page = PageNumber::new(0, 1);
        let mut transaction = Transaction::new(4);
        assert!(!transaction.is_update());
        transaction.references.push(PageReference::read(page));
        assert!(!transaction.is_update());
        transaction.references.push(PageReference::write(page));
        assert!(transaction.is_update());
        transaction.clear(5);
        assert_eq!(transaction, Transaction::new(5));
        transaction.references.push(PageReference {
            page,
            access: Access::Append,
        });
        assert!(transaction.is_update());
    }
}
