//! Unfinished multi-level transactions, as a killed process leaves them, made by hand. The tests of the command have this
//! file, too.

use sardonyx_mapped::{self as mapped, Memory};
use sardonyx_storage::catalogue::{Catalogue, UNDO_AREA, unfinished};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use std::path::Path;

/// Gives a database an undo area, with these words at the beginning of its pages for transactions.
pub fn leave_unfinished(directory: &Path, begins: &[u64]) {
    let segment = mapped::Segment::open(directory).unwrap();
    let before = segment.snapshot().unwrap().bytes().to_vec();
    let mut store = PageStore::reserve(1 << 24).unwrap();
    store.grow_to((before.len() / PAGE_SIZE) as u64).unwrap();
    store.bytes_mut().copy_from_slice(&before);
    let mut catalogue = Catalogue::read(&mut store).unwrap();
    let (area, mut writes) = catalogue.declare_area(UNDO_AREA).unwrap();
    let pages = (unfinished::HEADER_PAGES + begins.len()) as u64;
    let (extent, more) = catalogue.extend(area, pages).unwrap();
    writes.extend(more);
    segment
        .run(|tx| {
            tx.grow_to(extent.end() * PAGE_SIZE as u64)?;
            for write in &writes {
                let at = write.address.0 as usize;
                tx.bytes_mut()[at..][..write.bytes.len()].copy_from_slice(&write.bytes);
            }
            for (page, begin) in begins.iter().enumerate() {
                let page = extent.first_page.0 as usize + unfinished::HEADER_PAGES + page;
                tx.bytes_mut()[page * PAGE_SIZE..][..8].copy_from_slice(&begin.to_le_bytes());
            }
            Ok::<_, mapped::memory::GrowError>(())
        })
        .unwrap();
}
