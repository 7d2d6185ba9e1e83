//! The records of a table in a snapshot: a page is copied at a time.

use super::view::View;
use super::{Snapshot, State};
use crate::error::CallError;
use crate::pages::{Area, Page, Pages, Stop};
use crate::records::{RecordError, Table};
use sardonyx_rows::Plain;
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse};
use sardonyx_storage::page::PageId;
use std::marker::PhantomData;

/// All records of a table in a snapshot: [`Snapshot::records`]. After an error there are no more.
#[derive(Debug)]
pub struct Records<'s, R> {
    snapshot: &'s Snapshot,
    area: Area,
    /// The place in the table of the next page.
    next: u64,
    page: Option<(Box<Page>, PageLayout)>,
    /// The slot to go on with.
    slot: usize,
    ended: bool,
    of: PhantomData<fn() -> R>,
}

impl<'s, R: Plain> Records<'s, R> {
    pub(super) fn new(snapshot: &'s Snapshot, table: Table<R>) -> Self {
        Records {
            snapshot,
            area: Area(table.number()),
            next: 0,
            page: None,
            slot: 0,
            ended: false,
            of: PhantomData,
        }
    }

    /// Copies the next page with records. Returns whether there is one.
    fn read_page(&mut self) -> Result<bool, CallError<RecordError>> {
        let State { frozen, private } = self.snapshot.check::<RecordError>()?;
        let failed = |stop: Stop| CallError::Failed(RecordError::from(stop));
        let view = View::of(frozen, private);
        let table = view.table(self.area).filter(|table| table.is_of::<R>());
        let Some(table) = table else {
            let number = self.area.0;
            return Err(CallError::Failed(RecordError::NoTable { number }));
        };
        let pages = view.pages_of(self.area).map_err(failed)?;
        while self.next < pages {
            let page: PageId = view.page(self.area, self.next).map_err(failed)?;
            self.next += 1;
            let page = view.copy(page).map_err(failed)?;
            // A page of the snapshot's own need not say what it is for.
            let of = PageUse::of(&page[..]).map(|of| of.kind);
            if matches!(of, None | Some(PageKind::Rows { .. })) {
                (self.page, self.slot) = (Some((page, table.layout())), 0);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<R: Plain> Iterator for Records<'_, R> {
    type Item = Result<R, CallError<RecordError>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((page, layout)) = &self.page
                && let Some(slot) = layout.occupied_from(&page[..], self.slot)
            {
                self.slot = slot + 1;
                let record = R::read_from_bytes(&page[slot * layout.stride..][..layout.stride]);
                return Some(Ok(record.expect("the stride is the record's size")));
            }
            self.page = None;
            if self.ended {
                return None;
            }
            match self.read_page() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
