//! All bytes of all areas: the default comparison of states.

use crate::pages::{Area, Page, Pages};
use crate::plain::PlainPages;
use sardonyx_storage::page::PAGE_SIZE;
use std::fmt;

/// Every byte of every area. Pages of zeroes at an area's end do not count: an area that has grown
/// stays so, even if the growing operation is undone.
#[derive(Clone, PartialEq, Eq)]
pub struct Contents {
    areas: Vec<Vec<Page>>,
}

/// The most runs of bytes that are shown.
const RUNS_SHOWN: usize = 24;
/// The most bytes of a run that are shown.
const BYTES_SHOWN: usize = 32;

impl Contents {
    /// Copies all areas.
    pub fn of(pages: &PlainPages) -> Contents {
        let mut areas = Vec::new();
        for area in (0..=u16::MAX).map(Area) {
            let Ok(count) = pages.pages_of(area) else {
                break;
            };
            let page = |index| {
                let page = pages.page(area, index).expect("the area has it");
                *pages.read(page).expect("the area has it")
            };
            let mut all: Vec<Page> = (0..count).map(page).collect();
            while all.last().is_some_and(|last| *last == [0; PAGE_SIZE]) {
                all.pop();
            }
            areas.push(all);
        }
        Contents { areas }
    }
}

/// The bytes that are not zero.
impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = 0;
        for (area, pages) in self.areas.iter().enumerate() {
            for (index, page) in pages.iter().enumerate() {
                for (start, run) in runs(page) {
                    if shown == RUNS_SHOWN {
                        return f.write_str(" and more");
                    }
                    let before = if shown == 0 { "" } else { "; " };
                    let (bytes, more) = run.split_at(run.len().min(BYTES_SHOWN));
                    let more = if more.is_empty() { "" } else { " …" };
                    write!(
                        f,
                        "{before}area {area}, page {index}, at {start}: {bytes:02x?}{more}"
                    )?;
                    shown += 1;
                }
            }
        }
        match shown {
            0 => f.write_str("all zeroes"),
            _ => Ok(()),
        }
    }
}

/// The places where words of 8 bytes are not all zeroes, joined.
fn runs(page: &Page) -> impl Iterator<Item = (usize, &[u8])> {
    let is_zero = |at: usize| page[at..at + 8] == [0; 8];
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < PAGE_SIZE && is_zero(at) {
            at += 8;
        }
        let start = at;
        while at < PAGE_SIZE && !is_zero(at) {
            at += 8;
        }
        (start < at).then(|| (start, &page[start..at]))
    })
}
