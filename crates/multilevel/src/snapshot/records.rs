//! The records of a table in a snapshot, some pages at a time.

use super::view::View;
use super::{Snapshot, State};
use crate::error::CallError;
use crate::pages::{Area, Pages, Stop};
use crate::records::memory::TableMemory;
use crate::records::{READ, read_record};
use crate::records::{RecordError, Table};
use sardonyx_rows::Record;
use sardonyx_storage::page::PageId;
use sardonyx_storage::store::SnapshotEnded;
use std::collections::VecDeque;

/// Records are read until so many pages were copied for them: of rows, and of their texts.
const PAGES_AT_ONCE: usize = 16;

/// All records of a table in a snapshot: [`Snapshot::records`]. After an error there are no more.
///
/// It has the records of one page at most, and stops sooner once 16 pages were copied for their texts.
#[derive(Debug)]
pub struct Records<'s, R> {
    snapshot: &'s Snapshot,
    area: Area,
    /// The place in the table of the next page.
    next: u64,
    /// The first slot there that was not looked at.
    slot: usize,
    ready: VecDeque<R>,
    ended: bool,
}

impl<'s, R: Record> Records<'s, R> {
    pub(super) fn new(snapshot: &'s Snapshot, table: Table<R>) -> Self {
        Records {
            snapshot,
            area: Area(table.number()),
            next: 0,
            slot: 0,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// Reads some records, if there are more. Returns whether there may be.
    fn read_some(&mut self) -> Result<bool, CallError<RecordError>> {
        let snapshot = self.snapshot;
        let State { frozen, private } = snapshot.check::<RecordError>()?;
        let view = View::of(frozen, private);
        let read = self.read_some_of(&view);
        if view.is_ended() {
            // For any result of it.
            return Err(CallError::Failed(Stop::from(SnapshotEnded).into()));
        }
        read.map_err(CallError::Failed)
    }

    fn read_some_of(&mut self, view: &View<'_>) -> Result<bool, RecordError> {
        let table = view.table(self.area).filter(|table| table.is_of::<R>());
        let Some(table) = table else {
            let number = self.area.0;
            return Err(RecordError::NoTable { number });
        };
        let (pages, layout) = (view.pages_of(self.area)?, table.layout());
        while self.next < pages {
            let page: PageId = view.page(self.area, self.next)?;
            let bytes = view.read(page)?;
            let has_rows = TableMemory::has_rows(bytes);
            while has_rows && let Some(slot) = layout.occupied_from(bytes, self.slot) {
                self.slot = slot + 1;
                self.ready
                    .push_back(read_record(view, &table, (page, slot), READ)?);
                if view.copied() > PAGES_AT_ONCE {
                    return Ok(true);
                }
            }
            (self.next, self.slot) = (self.next + 1, 0);
            if !self.ready.is_empty() || view.copied() > PAGES_AT_ONCE {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<R: Record> Iterator for Records<'_, R> {
    type Item = Result<R, CallError<RecordError>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.ended {
            match self.read_some() {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    (self.ended, self.ready) = (true, VecDeque::new());
                    return Some(Err(error));
                }
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
