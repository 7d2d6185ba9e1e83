//! The pages that one operation works on: copies, locked as they are first used, whose changes the transaction gets
//! when the operation has succeeded.

use super::super::NodeError;
use super::access::{Access, Change};
use super::arena::Arena;
use super::space;
use crate::protocol::LockMode;
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::tree::{Page, TreePages};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

/// Changes that are apart by so few bytes are logged as one: a record more would take as much.
const APART: usize = 16;

/// A copy of a page.
struct Frame {
    page: u64,
    is_to_write: Cell<bool>,
    bytes: Box<Page>,
    changed: Vec<Range<usize>>,
}

/// The pages of an operation.
pub(super) struct View<'t> {
    access: RefCell<&'t mut dyn Access>,
    frames: Arena<Frame>,
    places: RefCell<IntegerMap<u64, usize>>,
    pages: u64,
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View of {} pages", self.frames.len())
    }
}

fn full() -> NodeError {
    NodeError::Damaged {
        what: "an operation that reads more pages than there can be",
    }
}

impl<'t> View<'t> {
    pub fn new(access: &'t mut dyn Access) -> Self {
        let pages = access.pages();
        View {
            access: RefCell::new(access),
            frames: Arena::new(),
            places: RefCell::default(),
            pages,
        }
    }

    /// The pool that the node takes pages from.
    pub fn slot(&self) -> usize {
        self.access.borrow().slot()
    }

    /// Pages that it has in its hands.
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// Pages that there may be.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The number of a page's copy, locked for reading, or writing.
    fn fetch(&self, page: u64, mode: LockMode) -> Result<usize, NodeError> {
        let found = self.places.borrow().get(&page).copied();
        if let Some(number) = found {
            let frame = self.frames.get(number).ok_or_else(full)?;
            if mode == LockMode::Write && !frame.is_to_write.get() {
                self.access.borrow_mut().lock_to_write(page)?;
                frame.is_to_write.set(true);
            }
            return Ok(number);
        }
        let mut bytes = Box::new([0; PAGE_SIZE]);
        self.access.borrow_mut().read_page(page, mode, &mut bytes)?;
        let frame = Frame {
            page,
            is_to_write: Cell::new(mode == LockMode::Write),
            bytes,
            changed: Vec::new(),
        };
        let number = self.frames.push(frame).map_err(|_| full())?;
        self.places.borrow_mut().insert(page, number);
        Ok(number)
    }

    pub fn page(&self, page: u64, mode: LockMode) -> Result<&Page, NodeError> {
        let number = self.fetch(page, mode)?;
        Ok(&self.frames.get(number).ok_or_else(full)?.bytes)
    }

    /// Bytes of a page, to be changed.
    pub fn change(&mut self, page: u64, range: Range<usize>) -> Result<&mut [u8], NodeError> {
        let number = self.fetch(page, LockMode::Write)?;
        let frame = self.frames.get_mut(number).ok_or_else(full)?;
        let not_in_page = NodeError::NotInPage {
            offset: range.start,
            length: range.len(),
        };
        let bytes = frame.bytes.get_mut(range.clone()).ok_or(not_in_page)?;
        if !range.is_empty() {
            frame.changed.push(range);
        }
        Ok(bytes)
    }

    /// The operation has succeeded: the transaction gets its changes.
    pub fn finish(mut self) -> Result<(), NodeError> {
        for number in 0..self.frames.len() {
            let frame = self.frames.get_mut(number).ok_or_else(full)?;
            frame.changed.sort_unstable_by_key(|range| range.start);
            frame.changed.dedup_by(|next, range| {
                let joins = next.start <= range.end + APART;
                if joins {
                    range.end = range.end.max(next.end);
                }
                joins
            });
        }
        let mut changes = Vec::new();
        for number in 0..self.frames.len() {
            let frame = self.frames.get(number).ok_or_else(full)?;
            for range in &frame.changed {
                changes.push(Change {
                    page: frame.page,
                    offset: range.start,
                    bytes: &frame.bytes[range.clone()],
                });
            }
        }
        match changes.is_empty() {
            true => Ok(()),
            false => self.access.borrow_mut().write_all(&changes),
        }
    }
}

/// A tree is named by its root's page; nodes by their pages' numbers.
impl TreePages for View<'_> {
    type Tree = u32;
    type Error = NodeError;

    fn root(&self, tree: u32) -> Result<(u32, PageId), NodeError> {
        match space::is_marked(View::page(self, tree.into(), LockMode::Read)?) {
            false => Ok((tree, PageId(tree.into()))),
            true => Err(NodeError::Dropped),
        }
    }

    fn is_unused(&self, _: u32) -> Result<bool, NodeError> {
        Ok(false)
    }

    fn page(&self, _: u32, number: u32) -> Result<Option<PageId>, NodeError> {
        let page = u64::from(number);
        Ok((space::FIRST_PAGE..self.pages)
            .contains(&page)
            .then_some(PageId(page)))
    }

    fn read(&self, page: PageId) -> Result<&Page, NodeError> {
        View::page(self, page.0, LockMode::Read)
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, NodeError> {
        View::page(self, page.0, LockMode::Write)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], NodeError> {
        self.change(page.0, range)
    }

    fn allocate(&mut self, _: u32) -> Result<(u32, PageId), NodeError> {
        let page = space::allocate(self)?;
        Ok((page, PageId(page.into())))
    }

    fn free(&mut self, _: u32, number: u32, _: PageId) -> Result<(), NodeError> {
        space::free(self, number)
    }
}
