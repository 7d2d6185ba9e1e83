//! The writer's side of snapshots. Before a page's first change since the newest snapshot, one copy of it is made and
//! given to every open snapshot that has none. Newer ones have a copy only if all older ones have, so one look at the
//! newest's table suffices.
//!
//! Copies are in a page store of their own, the *pool*, which is used again and again. At the bound on its pages the
//! oldest snapshot is ended and its copies are used again: the writer never waits and never fails. Stores that are
//! always frozen together, as rows and indexes are, have one pool and one bound. The pool is in small pages: most
//! snapshots need few copies, and no write waits until a huge page is cleared for one.
//!
//! Handles are dropped by readers. The writer takes the copies of closed ones back a few at a time, when it needs one,
//! so that no write pauses for them. The reader that drops the last handle frees the pool.

use super::frozen::{Frozen, Life, UNWANTED, copy_place};
use super::mapping::Mapping;
use super::snapshot::PageSnapshot;
use super::spare::Spare;
use super::{PageStore, StoreError, words};
use crate::page::PAGE_SIZE;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

/// Copies that are taken back for one that is needed, at most.
const TAKEN_BACK: usize = 64;

/// Kept by a store from its first snapshot until a write finds that no handle is left.
#[derive(Debug)]
pub(super) struct Versions {
    /// The newest snapshot, whose handle may be dropped.
    newest: Arc<Frozen>,
    member: Member,
    handle: Weak<PageSnapshot>,
    /// True if anything was written since.
    changed: bool,
    shared: Arc<Shared>,
}

/// The part that handles share with the writer.
#[derive(Debug)]
pub(super) struct Shared {
    /// Handles that may read. Once there is none, there will never be one.
    handles: AtomicUsize,
    /// The writer's; the reader that drops the last handle takes it out and frees it.
    book: Mutex<Option<Book>>,
    /// The place of parts that are not used any more.
    spare: Arc<Spare>,
    /// Pages of the pool, for threads without the book.
    copied: AtomicU64,
}

impl PageStore {
    /// Forgets snapshots that have no reader any more.
    pub(super) fn forget_versions(&mut self) {
        if let Some(versions) = self.versions.take() {
            let Versions { newest, shared, .. } = *versions;
            shared.spare.keep_table(newest);
        }
    }
}

/// The copies, and their owners.
#[derive(Debug)]
struct Book {
    pool: PageStore,
    pages_max: u64,
    /// By page of the pool: for how many snapshots it is kept.
    owners: Vec<u32>,
    free: Vec<u32>,
    /// From the oldest to the newest.
    open: VecDeque<Open>,
    /// The copies of those that were open, to be taken back.
    gone: Vec<Vec<u32>>,
    spare: Arc<Spare>,
}

/// The store's identity: the beginning of its pages. While a handle exists, which has the mapping, no other store has
/// it.
type Member = NonZeroUsize;

/// A snapshot.
#[derive(Clone, Debug)]
struct Open {
    life: Arc<Life>,
    /// The frozen state of each store. Not all snapshots have the same stores: one of them may have been replaced.
    frozen: Vec<(Member, Arc<Frozen>)>,
    copies: Vec<u32>,
}

impl Open {
    /// The pages of a store, if it is in this snapshot.
    fn of(&self, member: Member) -> Option<&Frozen> {
        let of = self.frozen.iter().find(|(of, _)| *of == member);
        of.map(|(_, frozen)| &**frozen)
    }
}

impl Shared {
    fn any_handles(&self) -> bool {
        // Acquire: a write after no handle was found comes after the last handle's last read.
        self.handles.load(Ordering::Acquire) > 0
    }

    /// The number of pages in the pool.
    pub fn copies(&self) -> u64 {
        // Without the book's lock: a writer that finds it taken makes no copy.
        self.copied.load(Ordering::Relaxed)
    }

    /// A handle is dropped. The last frees the copies, which takes a while, without the lock.
    pub fn leave(&self) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let book = self.book.lock().take();
        if let Some(Book {
            pool,
            pages_max,
            open,
            ..
        }) = book
        {
            self.spare.keep_pool(pages_max, pool);
            let frozen = open.into_iter().flat_map(|open| open.frozen);
            frozen.for_each(|(_, frozen)| self.spare.keep_table(frozen));
        }
    }

    /// Counts so many more handles, if any is left.
    fn enter(&self, new: usize) -> bool {
        let one_more = |handles| (handles > 0).then_some(handles + new);
        let entered = self
            .handles
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        entered.is_ok()
    }
}

impl Versions {
    /// True if no handle is left, so that the store may forget all this.
    #[inline]
    pub fn are_idle(&self) -> bool {
        !self.shared.any_handles()
    }

    /// The newest snapshot, if nothing was written since, and there were as many pages.
    fn current(&self, pages: u64) -> Option<Arc<PageSnapshot>> {
        let newest = self.handle.upgrade();
        newest.filter(|newest| !self.changed && newest.pages() == pages)
    }

    /// True if the newest snapshot has no copy of a page; if it has one, all have.
    pub fn lack(&self, page: u64) -> bool {
        self.newest.lacks(page)
    }

    /// A page changes that the newest snapshot has a copy of, or that is not needed.
    #[inline]
    pub fn note_change(&mut self) {
        self.changed = true;
    }

    /// Keeps a page, which is about to change, for the snapshots that need it.
    ///
    /// # Safety
    /// The page is readable at its place behind `live`, and does not change meanwhile.
    #[inline]
    pub unsafe fn keep_live(&mut self, page: u64, live: NonNull<u8>) {
        self.changed = true;
        if self.newest.lacks(page) {
            // SAFETY: as the caller says; others only load from it.
            let bytes = unsafe {
                let page = live.as_ptr().add(page as usize * PAGE_SIZE);
                std::slice::from_raw_parts(page, PAGE_SIZE)
            };
            self.copy(page, bytes);
        }
    }

    /// Keeps a page that is changing or has changed, as it was before.
    pub fn keep(&mut self, page: u64, before: &[u8]) {
        self.changed = true;
        if self.newest.lacks(page) {
            self.copy(page, before);
        }
    }

    fn copy(&self, page: u64, before: &[u8]) {
        // Another thread has the lock only to take the book out, when no handle is left: then no copy is needed.
        if let Some(mut book) = self.shared.book.try_lock()
            && let Some(book) = book.as_mut()
        {
            book.copy(self.member, page, before);
            self.shared
                .copied
                .store(book.pool.pages(), Ordering::Relaxed);
        }
        if self.newest.lacks(page) {
            // It is closed or ended, as all older ones that lack it: there is nothing to look at again.
            self.newest.publish(page, UNWANTED);
        }
    }
}

/// Snapshots of stores that are always frozen together, by one thread that changes them all: an existing one if nothing
/// was written since, or new ones, the newest of all.
///
/// # Panics
/// If two of them have snapshots that are open, but none together.
pub(super) fn freeze<const N: usize>(
    stores: [&mut PageStore; N],
) -> Result<[Arc<PageSnapshot>; N], StoreError> {
    let current = stores.each_ref().map(|store| {
        let versions = store.versions.as_ref();
        versions.and_then(|versions| versions.current(store.pages()))
    });
    if current.iter().all(Option::is_some) {
        return Ok(current.map(|current| current.expect("each is there")));
    }
    let refused = |bytes: u64| {
        move |source: rustix::io::Errno| StoreError::Memory {
            operation: "reserve",
            bytes,
            source: source.into(),
        }
    };
    let mut stores = stores;
    let spare = Arc::clone(&stores[0].spare);
    let life = Arc::new(Life::of(N));
    let mut frozen = Vec::with_capacity(N);
    for store in &mut stores {
        if store.versions.as_ref().is_some_and(|v| v.are_idle()) {
            store.forget_versions();
        }
        let pages = store.pages();
        let new = Frozen::new(pages, life.clone(), spare.table(pages));
        let new = new.map_err(refused(pages * size_of::<u32>() as u64))?;
        frozen.push((store.base.addr(), Arc::new(new)));
    }
    let open = Open {
        life,
        frozen: frozen.clone(),
        copies: Vec::new(),
    };
    let used = |store: &&mut PageStore| {
        let versions = store.versions.as_ref().filter(|v| !v.are_idle());
        versions.map(|versions| versions.shared.clone())
    };
    let before = stores.iter().find_map(used);
    let joined = before.and_then(|shared| Some((shared.join(&open)?, shared)));
    let (copies, shared) = match joined {
        Some(joined) => joined,
        None => Shared::with(open, stores[0].snapshot_bytes_max, &spare)?,
    };
    for store in &stores[..] {
        let others = store.versions.as_ref();
        let together = others.is_none_or(|v| v.are_idle() || Arc::ptr_eq(&v.shared, &shared));
        assert!(together, "stores are frozen together, or none of them is");
    }
    let mut frozen = frozen.into_iter();
    Ok(stores.map(|store| {
        let (member, newest) = frozen.next().expect("one of each store");
        let live = store.mapping.clone();
        let handle = PageSnapshot::new(newest.clone(), live, copies.clone(), shared.clone());
        let handle = Arc::new(handle);
        let before = store.versions.replace(Box::new(Versions {
            newest,
            member,
            handle: Arc::downgrade(&handle),
            changed: false,
            shared: shared.clone(),
        }));
        if let Some(before) = before {
            // It is in the book as long as a thread may read it.
            spare.keep_table(before.newest);
        }
        handle
    }))
}

impl Shared {
    /// The first snapshot. Returns where the copies are, too.
    #[inline]
    fn with(
        first: Open,
        bytes_max: u64,
        spare: &Arc<Spare>,
    ) -> Result<(Arc<Mapping>, Arc<Self>), StoreError> {
        let pages_max = (bytes_max / PAGE_SIZE as u64).clamp(1, u64::from(UNWANTED) / 2);
        let pool = match spare.pool(pages_max) {
            Some(pool) => pool,
            // More than that, for pages that are not taken back at once.
            None => {
                let mut pool = PageStore::reserve(pages_max * 2 * PAGE_SIZE as u64)?;
                pool.set_small_pages();
                pool
            }
        };
        let copies = pool.mapping.clone();
        let handles = AtomicUsize::new(first.frozen.len());
        // The pages of a pool that was used before.
        let pages = pool.pages() as u32;
        let book = Book {
            pool,
            pages_max,
            owners: vec![0; pages as usize],
            free: (0..pages).collect(),
            open: VecDeque::from([first]),
            gone: Vec::new(),
            spare: Arc::clone(spare),
        };
        let shared = Shared {
            handles,
            copied: AtomicU64::new(u64::from(pages)),
            book: Mutex::new(Some(book)),
            spare: Arc::clone(spare),
        };
        Ok((copies, Arc::new(shared)))
    }

    /// A further snapshot; returns where the copies are. `None` if the last handle was dropped.
    #[inline]
    fn join(&self, newest: &Open) -> Option<Arc<Mapping>> {
        let mut book = self.book.lock();
        let book = book.as_mut()?;
        if !self.enter(newest.frozen.len()) {
            return None;
        }
        book.close();
        book.open.push_back(newest.clone());
        Some(book.pool.mapping.clone())
    }
}

impl Book {
    /// Strikes out those whose handles were dropped, or that were ended.
    fn close(&mut self) {
        let mut n = 0;
        while let Some(open) = self.open.get(n) {
            if !open.life.is_over() {
                n += 1;
                continue;
            }
            if let Some(open) = self.open.remove(n) {
                self.gone.push(open.copies);
                let frozen = open.frozen.into_iter();
                frozen.for_each(|(_, frozen)| self.spare.keep_table(frozen));
            }
        }
    }

    /// Copies a page for those that lack it.
    fn copy(&mut self, member: Member, page: u64, bytes: &[u8]) {
        self.close();
        let Some(copy) = self.take(member, page) else {
            return;
        };
        // A reader must not take the present content for the earlier one: the owners of that were ended before this.
        fence(Ordering::Release);
        // SAFETY: the page is in the pool, which is written here alone and read by `words::load`.
        unsafe { words::store(self.pool.base(), copy_place(copy + 1), bytes) };
        for open in self.open.iter_mut().rev() {
            let Some((_, frozen)) = open.frozen.iter().find(|(of, _)| *of == member) else {
                continue;
            };
            if !frozen.lacks(page) {
                // Nor does any older one.
                break;
            }
            self.owners[copy as usize] += 1;
            open.copies.push(copy);
            frozen.publish(page, copy + 1);
        }
    }

    /// A page of the pool for a copy of this page, or `None` if no open snapshot needs one.
    fn take(&mut self, member: Member, page: u64) -> Option<u32> {
        loop {
            let newest = self.open.iter().rev().find_map(|open| open.of(member));
            let wanted = newest.is_some_and(|frozen| frozen.lacks(page));
            if !wanted {
                return None;
            }
            if let Some(free) = self.free.pop().or_else(|| self.take_back()) {
                return Some(free);
            }
            let pages = self.pool.pages();
            let may_grow = pages < self.pages_max || !self.gone.is_empty();
            if may_grow && self.pool.grow_to(pages + 1).is_ok() {
                self.owners.push(0);
                return Some(pages as u32);
            }
            if let Some(oldest) = self.open.pop_front() {
                oldest.life.end();
                self.gone.push(oldest.copies);
            }
        }
    }

    /// Takes a few copies of dropped ones back, until one is free.
    fn take_back(&mut self) -> Option<u32> {
        for _ in 0..TAKEN_BACK {
            let copies = self.gone.last_mut()?;
            let Some(copy) = copies.pop() else {
                self.gone.pop();
                continue;
            };
            let owners = &mut self.owners[copy as usize];
            *owners -= 1;
            if *owners == 0 {
                return Some(copy);
            }
        }
        None
    }
}
