//! The recipe's runtime: the rights of each page in the running transaction.
//!
//! LIBXAC thesis, section 4.2.3. Invariant: between transactions no page of the view has rights and
//! both sets are empty; within one, exactly the pages of `touched` have rights, and those of
//! `written` are mapped to their copies.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::{Access, Transaction};
use crate::floor::FloorError;
use crate::floor::fault_handler::{Watcher, watch};
use crate::floor::mapping::{Mapping, MemoryFile, Rights, Sharing};

/// Pages in the order of their first touch, in room for all. Atomic because a handler of the same
/// thread adds to it.
struct PageSet {
    pages: Box<[AtomicU32]>,
    length: AtomicUsize,
}

impl PageSet {
    fn new(pages: usize) -> Self {
        PageSet {
            pages: (0..pages).map(|_| AtomicU32::new(0)).collect(),
            length: AtomicUsize::new(0),
        }
    }

    /// Returns the page's place in the set.
    fn add(&self, page: usize) -> usize {
        let place = self.length.load(Relaxed);
        self.pages[place].store(page as u32, Relaxed);
        self.length.store(place + 1, Relaxed);
        place
    }

    fn clear(&self) {
        self.length.store(0, Relaxed);
    }

    fn is_empty(&self) -> bool {
        self.length.load(Relaxed) == 0
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let pages = &self.pages[..self.length.load(Relaxed)];
        pages.iter().map(|page| page.load(Relaxed) as usize)
    }
}

/// The state of a page in the running transaction.
const UNTOUCHED: u32 = 0;
const READ: u32 = 1;
const WRITTEN: u32 = 2;

/// The state that the transaction and the handler share.
pub(super) struct Runtime {
    /// The mapping for the program's loads and stores.
    pub(super) view: Mapping,
    data_file: MemoryFile,
    /// The committed pages as the runtime sees them.
    pub(super) data: Mapping,
    copies_file: MemoryFile,
    /// The copies of written pages: the n-th page of the write set is the n-th here.
    copies: Mapping,
    states: Box<[AtomicU32]>,
    /// Every page with rights: read, or written.
    touched: PageSet,
    written: PageSet,
    pub(super) signals: AtomicUsize,
}

impl Runtime {
    pub(super) fn new(pages: usize) -> Result<Self, FloorError> {
        let data_file = MemoryFile::create(pages)?;
        let copies_file = MemoryFile::create(pages)?;
        let runtime = Runtime {
            view: Mapping::new(&data_file, Sharing::Shared, Rights::None)?,
            data: Mapping::new(&data_file, Sharing::Shared, Rights::ReadWrite)?,
            copies: Mapping::new(&copies_file, Sharing::Shared, Rights::ReadWrite)?,
            data_file,
            copies_file,
            states: (0..pages).map(|_| AtomicU32::new(UNTOUCHED)).collect(),
            touched: PageSet::new(pages),
            written: PageSet::new(pages),
            signals: AtomicUsize::new(0),
        };
        // The files' memory exists from now on, and the runtime's own mappings never fault again.
        for page in 0..pages {
            runtime.data.write(page, 0);
            runtime.copies.write(page, 0);
        }
        Ok(runtime)
    }

    /// `xbegin`, `body`, `xend`.
    pub(super) fn transaction(
        &self,
        body: impl FnOnce() -> Result<(), FloorError>,
    ) -> Result<Transaction, FloorError> {
        let start = Instant::now();
        self.signals.store(0, Relaxed);
        let ran = watch(self, body);
        self.take_rights()?;
        if let Err(error) = ran {
            self.written.clear();
            return Err(error);
        }
        let copy_back = self.copy_back();
        Ok(Transaction {
            total: start.elapsed(),
            copy_back,
            signals: self.signals.load(Relaxed),
        })
    }

    /// The advisory function.
    #[inline(never)]
    pub(super) fn set_page_access(&self, page: usize, access: Access) -> Result<(), FloorError> {
        let state = self.states[page].load(Relaxed);
        let mapped = match access {
            Access::Read if state == UNTOUCHED => self.give_read(page),
            Access::Write if state != WRITTEN => self.give_write(page, state),
            _ => Ok(()),
        };
        mapped.map_err(|source| FloorError::kernel("map a page", source))
    }

    fn give_read(&self, page: usize) -> Result<(), Errno> {
        self.view
            .map_page(page, &self.data_file, page, Rights::Read)?;
        self.states[page].store(READ, Relaxed);
        self.touched.add(page);
        Ok(())
    }

    fn give_write(&self, page: usize, state: u32) -> Result<(), Errno> {
        let copy = self.written.add(page);
        self.copies.copy_page(copy, &self.data, page);
        self.view
            .map_page(page, &self.copies_file, copy, Rights::ReadWrite)?;
        self.states[page].store(WRITTEN, Relaxed);
        if state == UNTOUCHED {
            self.touched.add(page);
        }
        Ok(())
    }

    /// Maps every page touched without rights again.
    fn take_rights(&self) -> Result<(), FloorError> {
        for page in self.touched.iter() {
            self.view
                .map_page(page, &self.data_file, page, Rights::None)
                .map_err(|source| FloorError::kernel("take the rights to a page", source))?;
            self.states[page].store(UNTOUCHED, Relaxed);
        }
        self.touched.clear();
        Ok(())
    }

    /// Makes the copies the committed pages; returns how long that took.
    fn copy_back(&self) -> Duration {
        if self.written.is_empty() {
            return Duration::ZERO;
        }
        let start = Instant::now();
        for (copy, page) in self.written.iter().enumerate() {
            self.data.copy_page(page, &self.copies, copy);
        }
        self.written.clear();
        start.elapsed()
    }
}

impl Watcher for Runtime {
    fn fault(&self, address: usize) -> bool {
        let Some(page) = self.view.page_of(address) else {
            return false;
        };
        self.signals.store(self.signals.load(Relaxed) + 1, Relaxed);
        let mapped = match self.states[page].load(Relaxed) {
            UNTOUCHED => self.give_read(page),
            READ => self.give_write(page, READ),
            // It has all rights: the fault has another cause.
            _ => return false,
        };
        mapped.is_ok()
    }
}
