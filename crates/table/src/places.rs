//! The places of a table's pages, found when a database is opened: those that are free, and the first page never used.

use crate::table::{Slot, TableState, page_bytes};
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse, word_at};
use sardonyx_rows::values::CLASSES;
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::prefetch::prefetch;

/// The distance, in pages, at which bitmaps are prefetched.
const PAGES_AHEAD: usize = 16;

/// Damage of a table's pages.
pub(crate) struct Damage {
    pub at: Address,
    pub reason: &'static str,
}

/// Finds the first page never used, and the free places before it; checks that all pages are the
/// table's own. Returns the number of records.
pub(crate) fn find_places(
    bytes: &[u8],
    number: u16,
    state: &mut TableState,
) -> Result<usize, Damage> {
    let mut fresh = None;
    let mut records = 0;
    for (at, extent) in state.extents.iter().enumerate() {
        for page in 0..extent.pages {
            let id = PageId(extent.first_page.0 + page);
            let word = PageLayout::table_word(id);
            // One cache line of each page is read, the one with its word and bitmap.
            prefetch(bytes, word.0 as usize + PAGES_AHEAD * PAGE_SIZE);
            let content = page_bytes(bytes, id);
            let found = word_at(bytes, word.0 as usize);
            let life = state.life;
            let is_own = |used: PageUse| (used.table, used.life) == (number, life);
            let layout = match PageUse::of_word(found) {
                Some(used) if is_own(used) && extent.reused && !PageUse::has_sum(found) => {
                    let reason = "the page has no sum, though it was another table's before";
                    return Err(Damage { at: word, reason });
                }
                Some(used) if !is_own(used) && extent.reused => {
                    // The former state of the slot is no longer valid.
                    fresh.get_or_insert(Slot {
                        extent: at,
                        page,
                        slot: 0,
                    });
                    continue;
                }
                Some(used) if is_own(used) && fresh.is_none() => match used.kind {
                    PageKind::Rows { shape } => match state.layout_of_shape(shape) {
                        Some(layout) => layout,
                        None => {
                            let reason = "the page is of a shape that the schema does not have";
                            return Err(Damage { at: word, reason });
                        }
                    },
                    PageKind::Values { class } if usize::from(class) < CLASSES => {
                        state.values.refresh(bytes, number, id, class);
                        continue;
                    }
                    _ => {
                        let reason = "the page is of a kind that is not known";
                        return Err(Damage { at: word, reason });
                    }
                },
                None if found == 0 => {
                    check_empty(content, id, state.layout.bitmap_offset)?;
                    if fresh.is_none() {
                        fresh = Some(Slot {
                            extent: at,
                            page,
                            slot: 0,
                        });
                    }
                    continue;
                }
                Some(used) if is_own(used) => {
                    let reason = "a page is in use after one that is not";
                    return Err(Damage { at: word, reason });
                }
                _ => {
                    let reason = "the page does not belong to the table";
                    return Err(Damage { at: word, reason });
                }
            };
            if !state.is_of_newest_shape(content) {
                records += layout.occupied(content).count();
                continue;
            }
            let free_before = state.free.len();
            let vacant = layout.vacant(content);
            state
                .free
                .extend(vacant.map(|slot| layout.record(id, slot)));
            records += layout.records - (state.free.len() - free_before);
        }
    }
    // Lower addresses are used first.
    state.free.reverse();
    state.fresh = fresh.unwrap_or(Slot {
        extent: state.extents.len(),
        page: 0,
        slot: 0,
    });
    Ok(records)
}

/// A page without a table's word was never used. Once it is used, a bit in its bitmap would be taken for a record,
/// while bytes before the bitmap would be overwritten.
fn check_empty(content: &[u8], id: PageId, bitmap_offset: usize) -> Result<(), Damage> {
    match content[bitmap_offset..].iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(offset) => Err(Damage {
            at: Address(id.address().0 + (bitmap_offset + offset) as u64),
            reason: "the page has records, but belongs to no table",
        }),
    }
}
