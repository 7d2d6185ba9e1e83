//! Pages given out and taken back, in pages.
//!
//! Each slot has a pool: a page that names the rest of an extent from which its node takes pages, and lists pages that
//! were given back to it. A transaction locks its own node's pool alone. So nodes that grow trees at the same time meet
//! in the head only when one of them needs another extent. A pool is the slot's, not a node's: what a node that died
//! had taken and not used the slot's next one has. When no unused page is left, a node that needs a page takes it from
//! any pool. So no page is lost when a node dies or leaves. The slot of a node matters only for waiting. A pool is a
//! page that is locked until the transaction is durable, so two nodes with one slot take turns.
//!
//! | bytes | of page 0, the head |
//! | --- | --- |
//! | 0..8 | `SdxNRows` |
//! | 8..12 | version: 1, or 2 since the catalogue has a version of its own |
//! | 12..16 | the catalogue's root |
//! | 16..24 | pages given out to pools: all before are in one, or in use |
//! | 24..28 | the number of the next table or journal |
//! | 28..32 | the first mark of a tree that was dropped; 0: none |
//!
//! | bytes | of a pool; zeroes are an empty one |
//! | --- | --- |
//! | 0..4 | `ixp`, version: 1 |
//! | 4..8 | the first free page; 0: none |
//! | 8..16 | number of free pages |
//! | 16..24 | the extent's next page |
//! | 24..32 | where it ends |
//!
//! A mark ([`super::dropping`]) begins with `ixd`, 1 and the next mark (4 bytes; 0: none), and stays for ever. A free page
//! begins with `ixf`, a zero byte and the next free page (4 bytes; 0: none). All numbers are
//! little-endian.

use super::super::NodeError;
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_storage::catalogue::NODES_MAGIC as MAGIC;
use sardonyx_storage::page::PageId;
use sardonyx_storage::tree::{Built, Page, damaged};

const HEAD: u64 = 0;
/// Version 1 knows no version of the catalogue, no rows of several shapes, and no dropped trees of tables that still exist.
const VERSION: u32 = 2;
const OLDEST_VERSION: u32 = 1;
const POOL: [u8; 4] = *b"ixp\x01";
const FREE: [u8; 4] = *b"ixf\0";
const MARK: [u8; 4] = *b"ixd\x01";

/// Pools: as many as closely coupled nodes that live at once. Of more loosely coupled ones some have the same.
pub(crate) const POOLS: usize = 64;
const _: () = assert!(POOLS >= crate::lock_table::layout::NODES);

/// The first page behind the pools: the catalogue's root.
pub(super) const FIRST_PAGE: u64 = 1 + POOLS as u64;

/// Pages of an extent.
const EXTENT: u64 = 32;

/// Pages that tables need at least.
const PAGES_MIN: u64 = FIRST_PAGE + 2;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Page 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    version: u32,
    pub catalogue: u32,
    pub used: u64,
    pub next_number: u32,
    pub first_mark: u32,
}

impl Head {
    /// The contents of page 0; `None`: no tables yet.
    pub fn read(view: &View<'_>, mode: LockMode) -> Result<Option<Head>, NodeError> {
        let bytes = view.page(HEAD, mode)?;
        if bytes[..32] == [0; 32] {
            return Ok(None);
        }
        if bytes[..8] != MAGIC {
            return Err(NodeError::OtherPages);
        }
        let version = u32_at(bytes, 8);
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            return Err(NodeError::TablesVersion { version });
        }
        let head = Head {
            version,
            catalogue: u32_at(bytes, 12),
            used: u64_at(bytes, 16),
            next_number: u32_at(bytes, 24),
            first_mark: u32_at(bytes, 28),
        };
        if !(PAGES_MIN..=1 << 32).contains(&head.used) || u64::from(head.catalogue) != FIRST_PAGE {
            return Err(damaged(PageId(HEAD), 12, "an impossible number of pages").into());
        }
        Ok(Some(head))
    }

    fn write(self, view: &mut View<'_>) -> Result<(), NodeError> {
        let bytes = view.change(HEAD, 0..32)?;
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.catalogue.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.used.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.next_number.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.first_mark.to_le_bytes());
        Ok(())
    }

    /// The number of the next table or journal.
    pub fn take_number(view: &mut View<'_>) -> Result<u16, NodeError> {
        let head = Head::read(view, LockMode::Write)?;
        let mut head = head.ok_or_else(|| damaged(PageId(HEAD), 0, "no head"))?;
        let number = u16::try_from(head.next_number).map_err(|_| NodeError::TooManyTables)?;
        head.next_number += 1;
        head.write(view)?;
        Ok(number)
    }
}

/// As [`prepare`], for a change of the catalogue: programs that know older versions alone do not open it any more.
pub(super) fn prepare_to_define(view: &mut View<'_>) -> Result<Head, NodeError> {
    let mut head = prepare(view)?;
    if head.version < VERSION {
        head.version = VERSION;
        head.write(view)?;
    }
    Ok(head)
}

/// The head; makes it, and an empty catalogue, of zeroes.
pub(super) fn prepare(view: &mut View<'_>) -> Result<Head, NodeError> {
    if let Some(head) = Head::read(view, LockMode::Read)? {
        return Ok(head);
    }
    if view.pages() < PAGES_MIN {
        return Err(NodeError::PagesFull {
            pages: view.pages(),
        });
    }
    let head = Head {
        version: VERSION,
        catalogue: FIRST_PAGE as u32,
        used: PAGES_MIN,
        next_number: 0,
        first_mark: 0,
    };
    head.write(view)?;
    make_tree_at(view, head.catalogue, head.catalogue + 1)?;
    Ok(head)
}

fn make_tree_at(view: &mut View<'_>, root: u32, leaf: u32) -> Result<(), NodeError> {
    Built::new(1, leaf).write(view, PageId(root.into()))?;
    Built::new(0, 0).write(view, PageId(leaf.into()))
}

/// Makes an empty tree: its root's page.
pub(super) fn make_tree(view: &mut View<'_>) -> Result<u32, NodeError> {
    let (root, leaf) = (allocate(view)?, allocate(view)?);
    make_tree_at(view, root, leaf)?;
    Ok(root)
}

/// Makes the page of a tree's root a mark that it was dropped.
pub(super) fn mark(view: &mut View<'_>, root: u32) -> Result<(), NodeError> {
    let head = Head::read(view, LockMode::Write)?;
    let mut head = head.ok_or_else(|| damaged(PageId(HEAD), 0, "no head"))?;
    let bytes = view.change(root.into(), 0..8)?;
    bytes[..4].copy_from_slice(&MARK);
    bytes[4..].copy_from_slice(&head.first_mark.to_le_bytes());
    head.first_mark = root;
    head.write(view)
}

pub(super) fn is_marked(bytes: &Page) -> bool {
    bytes[..4] == MARK
}

pub(super) fn next_mark(view: &View<'_>, page: u32) -> Result<u32, NodeError> {
    let bytes = view.page(page.into(), LockMode::Read)?;
    match is_marked(bytes) {
        true => Ok(u32_at(bytes, 4)),
        false => Err(damaged(PageId(page.into()), 0, "not a mark, though listed as one").into()),
    }
}

/// A pool's page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Pool {
    pub first_free: u32,
    pub free: u64,
    pub next: u64,
    pub end: u64,
}

/// The page of a slot's pool.
fn pool_page(slot: usize) -> u64 {
    1 + slot as u64
}

impl Pool {
    fn of(page: u64, bytes: &Page) -> Result<Pool, NodeError> {
        if bytes[..32] == [0; 32] {
            return Ok(Pool::default());
        }
        if bytes[..4] != POOL {
            return Err(damaged(PageId(page), 0, "not a pool of pages").into());
        }
        let pool = Pool {
            first_free: u32_at(bytes, 4),
            free: u64_at(bytes, 8),
            next: u64_at(bytes, 16),
            end: u64_at(bytes, 24),
        };
        if pool.next > pool.end || pool.end > 1 << 32 {
            return Err(damaged(PageId(page), 16, "an impossible extent").into());
        }
        if (pool.first_free == 0) != (pool.free == 0) {
            return Err(damaged(PageId(page), 4, "a wrong number of free pages").into());
        }
        Ok(pool)
    }

    pub fn read(view: &View<'_>, slot: usize, mode: LockMode) -> Result<Pool, NodeError> {
        let page = pool_page(slot);
        Pool::of(page, view.page(page, mode)?)
    }

    fn write(self, view: &mut View<'_>, slot: usize) -> Result<(), NodeError> {
        let bytes = view.change(pool_page(slot), 0..32)?;
        bytes[..4].copy_from_slice(&POOL);
        bytes[4..8].copy_from_slice(&self.first_free.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.free.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.next.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.end.to_le_bytes());
        Ok(())
    }

    fn has_pages(&self) -> bool {
        self.free > 0 || self.next < self.end
    }
}

pub(super) fn next_free(view: &View<'_>, page: u64, mode: LockMode) -> Result<u32, NodeError> {
    let bytes = view.page(page, mode)?;
    if bytes[..4] != FREE {
        return Err(damaged(PageId(page), 0, "not a free page, though listed as one").into());
    }
    Ok(u32_at(bytes, 4))
}

/// Takes a page out of a slot's pool, if one is there. Its bytes are anything.
fn take(view: &mut View<'_>, slot: usize) -> Result<Option<u32>, NodeError> {
    let mut pool = Pool::read(view, slot, LockMode::Write)?;
    let page = if pool.first_free != 0 {
        let page = pool.first_free;
        check_given(view, pool_page(slot), page.into())?;
        pool.first_free = next_free(view, page.into(), LockMode::Write)?;
        pool.free -= 1;
        page
    } else if pool.next < pool.end {
        let page = pool.next;
        check_given(view, pool_page(slot), page)?;
        pool.next += 1;
        page as u32
    } else {
        return Ok(None);
    };
    pool.write(view, slot)?;
    Ok(Some(page))
}

/// Checks that a page can be one of a pool's.
fn check_given(view: &View<'_>, by: u64, page: u64) -> Result<(), NodeError> {
    if page < PAGES_MIN {
        return Err(damaged(PageId(by), 4, "a page that no pool has").into());
    }
    // The nodes may have been opened with fewer pages than before.
    match page < view.pages() {
        true => Ok(()),
        false => Err(NodeError::NoPage {
            page,
            pages: view.pages(),
        }),
    }
}

/// Takes a page. Its bytes are anything.
pub(super) fn allocate(view: &mut View<'_>) -> Result<u32, NodeError> {
    let own = view.slot();
    if let Some(page) = take(view, own)? {
        return Ok(page);
    }
    if let Some(mut head) = Head::read(view, LockMode::Write)? {
        let end = view.pages().min(head.used + EXTENT);
        if head.used < end {
            let mut pool = Pool::read(view, own, LockMode::Write)?;
            let page = head.used;
            (pool.next, pool.end) = (page + 1, end);
            head.used = end;
            head.write(view)?;
            pool.write(view, own)?;
            return Ok(page as u32);
        }
    }
    for slot in (0..POOLS).filter(|&slot| slot != own) {
        if Pool::read(view, slot, LockMode::Read)?.has_pages()
            && let Some(page) = take(view, slot)?
        {
            return Ok(page);
        }
    }
    let pages = view.pages();
    Err(NodeError::PagesFull { pages })
}

/// Gives a page back, to the own pool.
pub(super) fn free(view: &mut View<'_>, page: u32) -> Result<(), NodeError> {
    let own = view.slot();
    let mut pool = Pool::read(view, own, LockMode::Write)?;
    let bytes = view.change(page.into(), 0..8)?;
    bytes[..4].copy_from_slice(&FREE);
    bytes[4..].copy_from_slice(&pool.first_free.to_le_bytes());
    pool.first_free = page;
    pool.free += 1;
    pool.write(view, own)
}
