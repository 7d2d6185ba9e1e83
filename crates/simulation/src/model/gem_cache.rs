//! A page cache in GEM between the nodes' buffers and a file's disks (GEM paper, section 2).
//!
//! The directory of [`sardonyx_sharing::page_cache`] has the pages there, and the nodes that bring
//! them to their disks; here it costs time. The directory is in GEM: looking a page up or changing its
//! place there is two entry accesses. A page access is synchronous. All transfers between GEM and the
//! disks go through a node's main memory.

use super::devices::Disks;
use super::system::{Node, System};
use sardonyx_sharing::page_cache::PageCache;
use sardonyx_sharing::protocol::PageId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Accesses to entries of the directory to look a page up and to note its use or change.
const DIRECTORY_ACCESSES: u64 = 2;

/// A page cache in GEM, and the disks behind it.
pub struct GemCache {
    pub pages: RefCell<PageCache>,
    /// The disks of the others.
    pub disks: Rc<Disks>,
    reads: Cell<u64>,
    hits: Cell<u64>,
}

impl GemCache {
    /// A cache of so many pages before `disks`, empty.
    pub fn new(pages: usize, disks: Rc<Disks>) -> Rc<Self> {
        Rc::new(GemCache {
            pages: RefCell::new(PageCache::new(pages)),
            disks,
            reads: Cell::new(0),
            hits: Cell::new(0),
        })
    }

    /// True if a read of `page` is a hit.
    pub fn read(&self, page: u64) -> bool {
        let hit = self.pages.borrow_mut().read(PageId(page));
        self.reads.set(self.reads.get() + 1);
        self.hits.set(self.hits.get() + u64::from(hit));
        hit
    }

    /// Reads since the start of measuring, and how many of them were hits.
    pub fn reads(&self) -> (u64, u64) {
        (self.reads.get(), self.hits.get())
    }

    /// Starts measuring.
    pub fn reset(&self) {
        self.reads.set(0);
        self.hits.set(0);
        self.disks.reset();
    }
}

/// Looks a page up in the cache's directory. The caller holds a processor.
pub async fn directory(system: &System) {
    system.tally.borrow_mut().gem_entries += DIRECTORY_ACCESSES;
    for _ in 0..DIRECTORY_ACCESSES {
        system.gem.other_entry_access().await;
    }
}

/// Moves a page between main memory and GEM. The caller holds a processor.
pub async fn page(system: &System) {
    system.tally.borrow_mut().gem_pages += 1;
    let instructions = system.parameters.gem.page_instructions;
    system.kernel.wait(system.instructions(instructions)).await;
    system.gem.page_access().await;
}

/// Brings `page` to its disk, again after each write meanwhile.
pub async fn destage(system: Rc<System>, node: usize, cache: Rc<GemCache>, number: u64) {
    let node: &Node = &system.nodes[node];
    loop {
        let permit = node.cpu.acquire().await;
        page(&system).await;
        system.tally.borrow_mut().behind_gem += 1;
        let instructions = system.parameters.disk.instructions;
        system.kernel.wait(system.instructions(instructions)).await;
        drop(permit);
        let disks = &cache.disks;
        disks.write(number, disks.access_time(None)).await;
        let permit = node.cpu.acquire().await;
        directory(&system).await;
        let again = cache.pages.borrow_mut().destaged(PageId(number), node.id);
        drop(permit);
        if !again {
            return;
        }
    }
}
