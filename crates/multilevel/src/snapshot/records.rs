//! The records of a table in a snapshot: a page is copied at a time.

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

/// All records of a table in a snapshot: [`Snapshot::records`]. After an error there are no more.
#[derive(Debug)]
pub struct Records<'s, R> {
    snapshot: &'s Snapshot,
    area: Area,
    /// The place in the table of the next page.
    next: u64,
    /// Those of the page that was read last.
    ready: VecDeque<R>,
    ended: bool,
}

impl<'s, R: Record> Records<'s, R> {
    pub(super) fn new(snapshot: &'s Snapshot, table: Table<R>) -> Self {
        Records {
            snapshot,
            area: Area(table.number()),
            next: 0,
            ready: VecDeque::new(),
            ended: false,
        }
    }

    /// Reads the next page with records. Returns whether there is one.
    fn read_page(&mut self) -> Result<bool, CallError<RecordError>> {
        let snapshot = self.snapshot;
        let State { frozen, private } = snapshot.check::<RecordError>()?;
        let view = View::of(frozen, private);
        let read = self.read_page_of(&view);
        if view.is_ended() {
            // Whatever became of it.
            return Err(CallError::Failed(Stop::from(SnapshotEnded).into()));
        }
        read.map_err(CallError::Failed)
    }

    fn read_page_of(&mut self, view: &View<'_>) -> Result<bool, RecordError> {
        let table = view.table(self.area).filter(|table| table.is_of::<R>());
        let Some(table) = table else {
            let number = self.area.0;
            return Err(RecordError::NoTable { number });
        };
        let pages = view.pages_of(self.area)?;
        while self.next < pages && self.ready.is_empty() {
            let page: PageId = view.page(self.area, self.next)?;
            self.next += 1;
            let bytes = view.read(page)?;
            if !TableMemory::has_rows(bytes) {
                continue;
            }
            for slot in table.layout().occupied(bytes) {
                self.ready
                    .push_back(read_record(view, &table, (page, slot), READ)?);
            }
        }
        Ok(!self.ready.is_empty())
    }
}

impl<R: Record> Iterator for Records<'_, R> {
    type Item = Result<R, CallError<RecordError>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.ready.is_empty() {
            match self.read_page() {
                Ok(true) => {}
                Ok(false) => self.ended = true,
                Err(error) => {
                    (self.ended, self.ready) = (true, VecDeque::new());
                    return Some(Err(error));
                }
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
