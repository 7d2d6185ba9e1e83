//! The rows of a table in its pages: found by their keys, put into places, changed and removed. Each is bytes of its
//! own ([`RowFormat`](sardonyx_rows::RowFormat)): its fixed part, and behind it the values in cells of other pages.

use super::cells::TableCells;
use super::memory::TableMemory;
use super::reading::OperationPages;
use super::shape::KeyPlace;
use super::{READ, RecordError};
use crate::pages::{Pages, Stop};
use sardonyx_lock::Mode;
use sardonyx_rows::key::KeyBytes;
use sardonyx_rows::layout::{PageKind, PageLayout};
use sardonyx_rows::values::{Reference, Replacement, read_value};
use sardonyx_storage::page::PageId;

/// A place of a table: a page, and its slot there.
pub(super) type Place = (PageId, usize);

/// The fixed part at a place, given its page's bytes.
fn fixed_at<'p>(table: &TableMemory, page: &'p [u8], slot: usize) -> &'p [u8] {
    let stride = table.layout().stride;
    &page[slot * stride..][..stride]
}

/// The place of a key's row; its page is locked in `mode`.
pub(super) fn find(
    pages: &dyn Pages,
    table: &TableMemory,
    hash: u64,
    key: &[u8],
    mode: Mode,
) -> Result<Option<Place>, RecordError> {
    let places = table.places(hash);
    table.check().map_err(Stop::from)?;
    let (layout, to_write) = (table.layout(), mode != READ);
    let reading = OperationPages { pages, to_write };
    for address in places {
        let (page, slot) = (address.page(), layout.slot(address));
        let bytes = reading.page(page)?;
        if !TableMemory::has_rows(bytes) || !layout.is_occupied(bytes, slot) {
            continue;
        }
        let is_it = match table.key() {
            KeyPlace::Standing(place) => fixed_at(table, bytes, slot)[place.clone()] == *key,
            KeyPlace::Encoded => {
                let mut there = KeyBytes::default();
                table.format().key_at(&reading, address, &mut there)?;
                *there == *key
            }
        };
        if is_it {
            return Ok(Some((page, slot)));
        }
    }
    Ok(None)
}

/// The row at a place.
pub(super) fn row_at(
    pages: &dyn Pages,
    table: &TableMemory,
    (page, slot): Place,
    mode: Mode,
) -> Result<Vec<u8>, RecordError> {
    let to_write = mode != READ;
    let reading = OperationPages { pages, to_write };
    let mut row = fixed_at(table, reading.page(page)?, slot).to_vec();
    for column in table.format().schema().variable_columns() {
        let there = Reference::at(&row, column.offset);
        if there.cell().is_none() {
            continue;
        }
        let at = row.len() as u64;
        read_value(&reading, &there, table.name(), &mut row)?;
        // The place of the value is now one in the row.
        row[column.offset + 8..][..8].copy_from_slice(&at.to_le_bytes());
    }
    Ok(row)
}

/// The fixed part of a row, whose long values are put into cells: in the place of those of the fixed part that was there
/// `before`, if one was. And how many cells of that were freed.
fn store_values(
    pages: &mut dyn Pages,
    table: &TableMemory,
    row: &[u8],
    before: Option<&[u8]>,
) -> Result<(Vec<u8>, u64), RecordError> {
    let mut fixed = row[..table.layout().stride].to_vec();
    let mut freed = 0;
    let mut cells = TableCells { pages, table };
    for column in table.format().schema().variable_columns() {
        let given = Reference::at(row, column.offset);
        let at = match given.cell() {
            Some(at) => at.0 as usize,
            None => column.offset + 4,
        };
        let value = &row[at..][..given.len()];
        let before = before.map_or(Reference::default(), |fixed| {
            Reference::at(fixed, column.offset)
        });
        let replacement = Replacement::of(&cells, before, value)?;
        freed += replacement.freed() as u64;
        let now = replacement.carry_out(&mut cells, value)?;
        fixed[column.offset..][..now.0.len()].copy_from_slice(&now.0);
    }
    Ok((fixed, freed))
}

/// Marks a place as occupied or free.
pub(super) fn set_occupied(
    pages: &mut dyn Pages,
    layout: &PageLayout,
    (page, slot): Place,
    occupied: bool,
) -> Result<(), RecordError> {
    let (word, bit) = layout.occupancy(page, slot);
    let word = pages.write(page, word.offset_in_page()..word.offset_in_page() + 8)?;
    let bits = u64::from_le_bytes((&*word).try_into().expect("8 bytes"));
    let bits = if occupied { bits | bit } else { bits & !bit };
    word.copy_from_slice(&bits.to_le_bytes());
    Ok(())
}

/// Puts a row, whose key is not there, into a free place.
pub(super) fn put(
    pages: &mut dyn Pages,
    table: &TableMemory,
    hash: u64,
    row: &[u8],
) -> Result<(), RecordError> {
    // Before the place is found: cells may be put into any page that has nothing in it.
    let stored = match table.has_values() {
        true => Some(store_values(pages, table, row, None)?.0),
        false => None,
    };
    let fixed = stored.as_deref().unwrap_or(row);
    let (page, slot) = table.allocate(pages, PageKind::Rows { shape: 0 })?;
    let layout = table.layout();
    let (at, address) = (slot * layout.stride, layout.record(page, slot));
    let changed_before = pages.is_changed(page);
    let place = pages.write(page, at..at + fixed.len())?;
    let before = table.hash_that_was(place);
    place.copy_from_slice(fixed);
    set_occupied(pages, &layout, (page, slot), true)?;
    if !changed_before && before != hash {
        table.forget(before, address);
    }
    table.insert(hash, address);
    Ok(())
}

/// Takes the row of a key out of its place. Returns how many pages it may take to put it back: others may use its place,
/// and its cells, until it comes back.
pub(super) fn take_out(
    pages: &mut dyn Pages,
    table: &TableMemory,
    hash: u64,
    (page, slot): Place,
) -> Result<u64, RecordError> {
    let mut may_take = 1;
    let layout = table.layout();
    if table.has_values() {
        let fixed = fixed_at(table, pages.read_to_write(page)?, slot).to_vec();
        let mut cells = TableCells { pages, table };
        for column in table.format().schema().variable_columns() {
            let before = Reference::at(&fixed, column.offset);
            let nothing = Replacement::of(&cells, before, &[])?;
            may_take += nothing.freed() as u64;
            nothing.carry_out(&mut cells, &[])?;
        }
    }
    if matches!(table.key(), KeyPlace::Encoded) {
        // The bytes of a place without a row have no other meaning: `hash_that_was`.
        pages.write_bytes(page, slot * layout.stride, &hash.to_le_bytes())?;
    }
    set_occupied(pages, &layout, (page, slot), false)?;
    table.has_room(page, pages.read_to_write(page)?);
    Ok(may_take)
}

/// Overwrites a row by one with the same key. Returns how many pages it may take to have it as it was.
pub(super) fn overwrite(
    pages: &mut dyn Pages,
    table: &TableMemory,
    (page, slot): Place,
    row: &[u8],
) -> Result<u64, RecordError> {
    let at = slot * table.layout().stride;
    if !table.has_values() {
        return overwrite_bytes(pages, page, at, row).map(|()| 0);
    }
    let before = fixed_at(table, pages.read_to_write(page)?, slot).to_vec();
    let (fixed, freed) = store_values(pages, table, row, Some(&before))?;
    overwrite_bytes(pages, page, at, &fixed)?;
    Ok(freed)
}

/// Overwrites whole words of a page: the runs of words that differ.
pub(super) fn overwrite_bytes(
    pages: &mut dyn Pages,
    page: PageId,
    at: usize,
    bytes: &[u8],
) -> Result<(), RecordError> {
    let before = pages.read_to_write(page)?;
    let differs = |word: &usize| before[at + word * 8..][..8] != bytes[word * 8..][..8];
    let words: Vec<usize> = (0..bytes.len() / 8).filter(differs).collect();
    // A word between two that differ costs less than a record of its own.
    for run in words.chunk_by(|word, next| next - word <= 2) {
        let (first, end) = (run[0] * 8, run[run.len() - 1] * 8 + 8);
        pages.write_bytes(page, at + first, &bytes[first..end])?;
    }
    Ok(())
}
