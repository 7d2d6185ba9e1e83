//! The time of opening a snapshot when nothing has changed since the last one.

use crate::error::{ExperimentError, equal};
use crate::floor::Distribution;
use sardonyx_mapped::{Memory, MemoryAccess, Options, P, Transaction};
use std::time::Instant;

const PAGE_BYTES: u64 = 4096;

/// Pages that one transaction fills.
const PAGES_AT_ONCE: u64 = 4_096;

/// Opening a snapshot, in nanoseconds.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SnapshotOpening {
    /// Bytes of the segment; every page was written, and was read in the snapshot before.
    pub bytes: u64,
    /// The number of snapshots that were opened.
    pub repetitions: usize,
    /// From the call until it can be read.
    pub opening: Distribution,
    /// Releasing it.
    pub closing: Distribution,
    /// A page read in the first snapshot, by ordinary loads, before it was mapped.
    pub first_read_nanoseconds: f64,
}

/// Fills a segment, reads all of it in one snapshot, then opens and closes snapshots.
pub(super) fn measure(bytes: u64, repetitions: usize) -> Result<SnapshotOpening, ExperimentError> {
    let pages = bytes.div_ceil(PAGE_BYTES);
    let bytes = pages * PAGE_BYTES;
    let segment = Options::new().address_space_bytes(bytes).open_private()?;
    fill(&segment, pages)?;
    let snapshot = segment.snapshot()?;
    let start = Instant::now();
    let mut sum = 0;
    for page in 0..pages {
        sum += snapshot.read(place(page))?;
    }
    let first_read_nanoseconds = start.elapsed().as_nanos() as f64 / pages as f64;
    drop(snapshot);
    let expected = (pages * (pages + 1) / 2) as i64;
    equal(
        || "the sum of the snapshot's pages".into(),
        expected,
        sum as i64,
    )?;
    let (mut opening, mut closing) = (Vec::new(), Vec::new());
    for repetition in 0..repetitions as u64 {
        let start = Instant::now();
        let snapshot = segment.snapshot()?;
        opening.push(start.elapsed().as_nanos() as f64);
        let page = repetition.wrapping_mul(0x9e37_79b9_7f4a_7c15) % pages;
        let found = snapshot.read(place(page))?;
        equal(|| format!("page {page}"), page as i64 + 1, found as i64)?;
        let start = Instant::now();
        drop(snapshot);
        closing.push(start.elapsed().as_nanos() as f64);
    }
    Ok(SnapshotOpening {
        bytes,
        repetitions,
        opening: Distribution::of(opening),
        closing: Distribution::of(closing),
        first_read_nanoseconds,
    })
}

/// Writes every page, in a session whose copies of them are freed at once.
fn fill(segment: &sardonyx_mapped::Segment, pages: u64) -> Result<(), ExperimentError> {
    let mut session = segment.session()?;
    session.read_exactly(u32::MAX);
    for first in (0..pages).step_by(PAGES_AT_ONCE as usize) {
        let mut transaction = Transaction::begin(&mut session, Default::default())?;
        transaction.grow_to(pages * PAGE_BYTES)?;
        for page in first..pages.min(first + PAGES_AT_ONCE) {
            transaction.write(place(page), page + 1)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// A number in each page; a typed place cannot be at 0.
fn place(page: u64) -> P<u64> {
    P::from_offset(page * PAGE_BYTES + 8)
}
