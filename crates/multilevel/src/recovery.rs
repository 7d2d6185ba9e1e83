//! The undo pass. After the redo pass has restored the pages, the transactions that had not ended are read from the
//! undo area and compensated.
//!
//! Nothing else is admitted meanwhile: the database is not open yet. That has the effect of taking the losers' locks
//! again, and it needs no lock in the log. All losers' operations are compensated in the reverse order of their ends,
//! over all losers: each finds the objects as it left them, but for operations that commute with it.
//!
//! Each compensation is a unit that holds its effect together with the note that it has been done. The last one of a
//! transaction holds the transaction's end, too. So a crash at any point of the undo pass leaves exactly the
//! compensations that remain; none is done twice or left out, and none is ever compensated. An undo pass that crashes
//! k times appends the same as one that does not crash.
//!
//! Source: DASDBS paper, section 2 ("Undo pass").

use crate::error::DatabaseError;
use crate::frames::Frames;
use crate::records::opening::read_tables;
use crate::registry::{Numbered, Registry};
use crate::shared::Shared;
use crate::statistics::Counters;
use crate::strategy::PageLog;
use crate::transaction::Transaction;
use crate::undo::area::{Loser, UndoArea, WriteBytes};
use crate::undo::format::{
    FIRST_SLOT_PAGE, Header, OPERATIONS_MAX, decode_name, encode_name, name_place,
};
use crate::undo::{UNDO_AREA, UndoDamage};
use crate::unit_log::reserve::{Growth, PageReserve};
use crate::unit_log::spheres::Unwritten;
use crate::unit_log::{UnitLog, Units};
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::catalogue::{Catalogue, Extent};
use sardonyx_storage::engine::Engine;
use sardonyx_storage::log::record::encoded_bytes;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use sardonyx_storage::pen::Pen;
use sardonyx_storage::store::PageStore;
use sardonyx_table::read_schemas;
use std::sync::Arc;

/// The counts of the undo pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Undone {
    /// Transactions that had not ended.
    pub transactions: u64,
    /// Operations compensated.
    pub operations: u64,
}

/// The pen, and the transactions to undo.
pub(crate) struct Ready {
    pub pen: Pen<Units>,
    pub operations: Numbered,
    pub losers: Vec<Loser>,
}

/// Reads the undo area, or makes it, and numbers the operations.
pub(crate) fn open_undo_area(
    mut store: PageStore,
    engine: &Engine,
    counters: Arc<Counters>,
    page_log: PageLog,
    registry: &Registry,
) -> Result<Ready, DatabaseError> {
    let catalogue = Catalogue::read(&mut store)?;
    let schemas = read_schemas(store.bytes(), &catalogue)?;
    let tables = read_tables(store.bytes(), &catalogue, &schemas)?;
    let known = catalogue.area(UNDO_AREA)?;
    engine.commit().room().keep_for_ends();
    let pen = engine.pen(Units {
        frames: Arc::new(Frames::new(store)),
        closed: false,
        counters,
        catalogue,
        schemas,
        tables,
        page_log,
        undo_number: 0,
        undo: UndoArea::default(),
        header: Header::default(),
        sequence: 0,
        slots: IntegerMap::default(),
        unwritten: Unwritten::default(),
        reserve: PageReserve::default(),
        scratch: Vec::new(),
    });
    let mut unit_log = UnitLog::take(&pen)?;
    // Two units, so a crash may come between them: then the area exists without a header.
    unit_log.undo_number = match known {
        Some(number) => number,
        None => unit_log.declare(UNDO_AREA)?,
    };
    // No work, though: a full log keeps no database from being opened.
    let growth = Growth::OfInverse(0);
    unit_log.grow(unit_log.undo_number, FIRST_SLOT_PAGE + 1, growth)?;
    let pages = unit_log.catalogue.extents_of(unit_log.undo_number);
    let pages: Vec<PageId> = pages.flat_map(pages_in).collect();
    let names = unit_log.read_header(&pages)?;
    // SAFETY: right of the pen: the pages of the undo area.
    let read = |page| unsafe { unit_log.frames.page(page) };
    let (undo, losers) = UndoArea::read(pages, read)?;
    unit_log.undo = undo;
    let (operations, new) = Numbered::new(names, registry);
    check_known(&losers, &operations, &unit_log)?;
    unit_log.write_header(new)?;
    drop(unit_log);
    Ok(Ready {
        pen,
        operations,
        losers,
    })
}

fn pages_in(extent: Extent) -> impl Iterator<Item = PageId> {
    (extent.first_page.0..extent.first_page.0 + extent.pages).map(PageId)
}

impl UnitLog<'_> {
    /// Reads the header, if there is one, and the names of operations.
    fn read_header(&mut self, pages: &[PageId]) -> Result<Vec<String>, UndoDamage> {
        // SAFETY: right of the pen: the pages of the undo area.
        let bytes = |place: u64| unsafe { self.frames.page(pages[place as usize]) };
        if bytes(0).iter().all(|byte| *byte == 0) {
            return Ok(Vec::new());
        }
        let header = Header::decode(pages[0], bytes(0))?;
        let names = (0..header.names as usize).map(|number| {
            let (place, offset) = name_place(number);
            decode_name(pages[place as usize], bytes(place), offset)
        });
        let names = names.collect::<Result<_, _>>()?;
        self.header = header;
        self.sequence = header.sequence_end;
        Ok(names)
    }

    /// Notes new names, and that more sequence numbers may be used, in one unit.
    fn write_header(&mut self, new: Vec<&'static str>) -> Result<(), DatabaseError> {
        let names = new
            .iter()
            .map(|name| encoded_bytes(encode_name(name).len()));
        let bytes = names.sum::<usize>() + encoded_bytes(PAGE_SIZE);
        self.admit_small(bytes, Admission::Whole)?;
        for name in new {
            let number = self.header.names as usize;
            if number == OPERATIONS_MAX {
                self.abort_unit();
                let limit = OPERATIONS_MAX;
                return Err(DatabaseError::TooManyOperations { name, limit });
            }
            let (place, offset) = name_place(number);
            let (page, bytes) = (self.undo.page(place), encode_name(name));
            self.writer().write(page, offset, &bytes);
            self.header.names += 1;
        }
        // All reserved numbers may have been used. Number 0 is none.
        self.sequence = self.sequence.max(1);
        self.note_sequences();
        self.end_unit(0, false);
        Ok(())
    }
}

/// Everything that is to be undone must be registered.
fn check_known(
    losers: &[Loser],
    operations: &Numbered,
    unit_log: &UnitLog<'_>,
) -> Result<(), DatabaseError> {
    let entries = losers.iter().flat_map(|loser| &loser.entries);
    for (_, number, _) in entries {
        match operations.by_number(*number) {
            Some((_, Some(_))) => {}
            Some((name, None)) => {
                let name = name.to_string();
                return Err(DatabaseError::Unregistered { name });
            }
            None => {
                let page = unit_log.undo.page(0).0;
                let reason = format!("there is no operation number {number}, but an entry of it");
                let offset = 16;
                return Err(UndoDamage {
                    page,
                    offset,
                    reason,
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Compensates the operations of unfinished transactions.
pub(crate) fn undo_losers(shared: &Shared, losers: Vec<Loser>) -> Result<Undone, DatabaseError> {
    let mut undone = Undone {
        transactions: losers.len() as u64,
        operations: 0,
    };
    let mut transactions = Vec::new();
    for Loser { slot, entries } in losers {
        let transaction = Transaction::loser(shared, entries);
        shared.unit_log()?.slots.insert(transaction.number(), slot);
        transactions.push(transaction);
    }
    // Over all of them, the one that ended last first.
    loop {
        let last = transactions
            .iter()
            .filter_map(|transaction| Some((transaction.last_sequence()?, transaction)))
            .max_by_key(|(sequence, _)| *sequence);
        let Some((_, transaction)) = last else {
            break;
        };
        if let Err(error) = transaction.compensate_last() {
            // They stay unfinished, for the next opening.
            transactions.into_iter().for_each(Transaction::forget);
            return Err(error);
        }
        undone.operations += 1;
    }
    for transaction in transactions {
        transaction.abort()?;
    }
    if undone.transactions > 0 {
        tracing::info!(
            transactions = undone.transactions,
            operations = undone.operations,
            "unfinished transactions were undone"
        );
    }
    Ok(undone)
}
