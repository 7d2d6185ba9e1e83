//! Everything that is in the database of the crash tests, read by one operation.

use super::operations::{Failure, Place, RECORD_BYTES, Sum, entry, read_sum};
use sardonyx_multilevel::{Area, Operation, PAGE_SIZE, Pages, Stop};
use std::collections::BTreeMap;

/// The whole content.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// Records that are not zero.
    pub records: BTreeMap<Place, Sum>,
    /// The sums that the directory's entries lead to.
    pub entries: BTreeMap<u32, Sum>,
    /// Stacks that are not empty.
    pub stacks: BTreeMap<u32, i128>,
    /// Records that no entry leads to, but that are not zero.
    pub lost: BTreeMap<Place, Sum>,
}

/// The areas of the tests.
#[derive(Clone, Copy, Debug)]
pub struct AreaSet {
    pub records: Area,
    pub directory: Area,
    pub movable: Area,
    pub stacks: Area,
}

/// Reads everything.
#[derive(Clone, Copy, Debug)]
pub struct ReadState(pub AreaSet);

impl ReadState {
    fn records(pages: &dyn Pages, area: Area) -> Result<BTreeMap<Place, Sum>, Stop> {
        let mut records = BTreeMap::new();
        for nth in 0..pages.pages_of(area)? {
            let page = pages.page(area, nth)?;
            for (record, bytes) in pages.read(page)?.chunks_exact(RECORD_BYTES).enumerate() {
                let (page, record) = (nth as u32, record as u32);
                records.insert(Place { page, record }, read_sum(bytes));
            }
        }
        records.retain(|_, sum| *sum != Sum::default());
        Ok(records)
    }
}

impl Operation for ReadState {
    type Output = State;
    type Error = Failure;

    fn execute(&self, pages: &mut dyn Pages) -> Result<State, Failure> {
        let areas = self.0;
        let mut state = State {
            records: Self::records(pages, areas.records)?,
            lost: Self::records(pages, areas.movable)?,
            ..State::default()
        };
        for number in 0..(PAGE_SIZE / 8) as u32 {
            if let Some(place) = entry(pages, areas.directory, number)? {
                let sum = state.lost.remove(&place).unwrap_or_default();
                state.entries.insert(number, sum);
            }
        }
        for nth in 0..pages.pages_of(areas.stacks)? {
            let page = pages.page(areas.stacks, nth)?;
            let stack = i128::from_le_bytes(pages.read_bytes(page, 0)?);
            if stack != 0 {
                state.stacks.insert(nth as u32, stack);
            }
        }
        Ok(state)
    }
}
