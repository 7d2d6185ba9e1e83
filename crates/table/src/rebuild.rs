//! Rebuilding what is in memory only, free lists and indexes, from the pages, on several threads.
//!
//! It needs no record types: the catalogue says where the key stands. Each worker reads all of a
//! table's pages and indexes the keys whose hash starts with its own bits, so the workers share
//! nothing; what is read twice costs less than what would be handed over.

use crate::catalogue::Catalogue;
use crate::error::TableError;
use crate::index::HashIndex;
use crate::layout::PageLayout;
use crate::table::{Fresh, TableState, page_bytes};
use std::time::{Duration, Instant};

/// What rebuilding did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RebuildReport {
    /// Tables.
    pub tables: u64,
    /// Records indexed.
    pub records: u64,
    /// Free places found.
    pub free: u64,
    /// How long it took.
    pub time: Duration,
}

/// Rebuilds the state of all tables; `None` for journals.
pub(crate) fn rebuild(
    bytes: &[u8],
    catalogue: &Catalogue,
    workers: usize,
) -> Result<(Vec<Option<TableState>>, RebuildReport), TableError> {
    let started = Instant::now();
    let mut report = RebuildReport::default();
    let mut tables = Vec::new();
    for (number, definition) in catalogue.definitions.iter().enumerate() {
        let Some(mut state) = TableState::new(definition)? else {
            tables.push(None);
            continue;
        };
        let mine = catalogue
            .extents
            .iter()
            .filter(|(table, _)| usize::from(*table) == number);
        state.extents.extend(mine.map(|(_, extent)| *extent));
        find_places(bytes, number as u16, &mut state)?;
        state.index = build_index(bytes, &state, workers);
        report.tables += 1;
        report.records += state.index.len() as u64;
        report.free += state.free.len() as u64;
        tables.push(Some(state));
    }
    report.time = started.elapsed();
    Ok((tables, report))
}

/// Finds the first page never used, and the free places before it.
fn find_places(bytes: &[u8], number: u16, state: &mut TableState) -> Result<(), TableError> {
    let mut fresh = Fresh {
        extent: state.extents.len(),
        page: 0,
        slot: 0,
    };
    'pages: for (at, extent) in state.extents.iter().enumerate() {
        for page in 0..extent.pages {
            let id = sardonyx_storage::page::PageId(extent.first_page.0 + page);
            let content = page_bytes(bytes, id);
            match PageLayout::table_of(content) {
                Some(owner) if owner == number => {}
                None if content.iter().all(|&byte| byte == 0) => {
                    fresh = Fresh {
                        extent: at,
                        page,
                        slot: 0,
                    };
                    break 'pages;
                }
                _ => {
                    let word = PageLayout::table_word(id);
                    return Err(TableError::Catalogue {
                        page: id.0,
                        offset: word.offset_in_page(),
                        reason: format!("the page does not belong to table number {number}"),
                    });
                }
            }
            let layout = state.layout;
            let free = (0..layout.records).filter(|&slot| !layout.is_occupied(content, slot));
            state.free.extend(free.map(|slot| layout.record(id, slot)));
        }
    }
    // Lower addresses are used first.
    state.free.reverse();
    state.fresh = fresh;
    Ok(())
}

fn build_index(bytes: &[u8], state: &TableState, workers: usize) -> HashIndex {
    // A thread costs more than indexing a few thousand records.
    let workers = if state.used_pages().count() < 256 {
        1
    } else {
        workers
    };
    let depth = workers.next_power_of_two().trailing_zeros();
    let build = |worker: usize| {
        let mut part = HashIndex::with_depth(depth);
        for address in state.records(bytes) {
            let hash = state.hash_at(bytes, address);
            let prefix = if depth == 0 {
                0
            } else {
                (hash >> (64 - depth)) as usize
            };
            if prefix % workers == worker {
                part.insert(hash, address, |at| state.hash_at(bytes, at));
            }
        }
        part
    };
    let parts = if workers == 1 {
        vec![build(0)]
    } else {
        std::thread::scope(|scope| {
            let build = &build;
            let threads: Vec<_> = (0..workers)
                .map(|worker| scope.spawn(move || build(worker)))
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().expect("indexing does not panic"))
                .collect()
        })
    };
    HashIndex::from_parts(parts, depth)
}
