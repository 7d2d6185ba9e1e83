//! The parts that the threads of a database share: pages, locks, and the pen.

use crate::areas::Areas;
use crate::error::DatabaseError;
use crate::frames::Frames;
use crate::pages::{Area, Stop};
use crate::records::memory::TableMemory;
use crate::registry::Numbered;
use crate::statistics::Counters;
use crate::strategy::Release;
use crate::unit_log::reserve::Growth;
use crate::unit_log::{UnitLog, Units};
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sardonyx_lock::{Locks, VictimRule};
use sardonyx_storage::log::LogError;
use sardonyx_storage::page::PageId;
use sardonyx_storage::pen::{LetGo, Pen};
use std::sync::Arc;

/// The parts that all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub frames: Arc<Frames>,
    pub locks: Locks,
    pub pen: Pen<Units>,
    areas: Mutex<Arc<Areas>>,
    pub operations: Numbered,
    pub counters: Arc<Counters>,
    pub release: Release,
    /// The database was closed, and its log was sound until then.
    pub closed: AtomicBool,
    transactions: AtomicU64,
}

impl Shared {
    /// # Errors
    /// As [`Pen::take`].
    pub fn new(
        pen: Pen<Units>,
        operations: Numbered,
        release: Release,
        victims: VictimRule,
    ) -> Result<Shared, LogError> {
        let units = pen.take()?;
        let (frames, counters) = (units.frames.clone(), units.counters.clone());
        let areas = Mutex::new(Arc::new(Areas::new(&units.catalogue, &units.tables)));
        drop(units);
        Ok(Shared {
            frames,
            locks: Locks::with_victims(victims),
            areas,
            counters,
            pen,
            operations,
            release,
            closed: AtomicBool::new(false),
            transactions: AtomicU64::new(1),
        })
    }

    /// The log of units, in its turn.
    ///
    /// # Errors
    /// As [`Pen::take`].
    #[inline]
    pub fn unit_log(&self) -> Result<UnitLog<'_>, LogError> {
        UnitLog::take(&self.pen)
    }

    pub fn areas(&self) -> Arc<Areas> {
        self.areas.lock().clone()
    }

    /// The catalogue has changed; the caller has the pen.
    pub fn publish_areas(&self, unit_log: &UnitLog<'_>) -> Arc<Areas> {
        let areas = Arc::new(Areas::new(&unit_log.catalogue, &unit_log.tables));
        *self.areas.lock() = areas.clone();
        areas
    }

    /// Checks that the log is sound (I7).
    #[inline]
    pub fn check(&self) -> Result<(), LogError> {
        match self.pen.log().check() {
            // By the close: nothing failed.
            Err(LogError::Poisoned { .. }) if self.closed.load(Ordering::Relaxed) => {
                Err(LogError::Closed)
            }
            checked => checked,
        }
    }

    pub fn next_transaction(&self) -> u64 {
        self.transactions.fetch_add(1, Ordering::Relaxed)
    }

    /// True in a child of the process that opened the database. Asked before any lock is taken: the child has those
    /// that other threads held, and they are never released.
    #[inline]
    pub fn is_forked(&self) -> bool {
        !self.pen.log().process().is_current()
    }

    /// Refuses a forked child.
    pub fn check_process(&self) -> Result<(), DatabaseError> {
        Ok(self.pen.log().process().check()?)
    }

    /// Makes an area have at least so many pages.
    pub fn grow(&self, area: Area, pages: u64, growth: Growth) -> Result<Arc<Areas>, Stop> {
        self.check()?;
        let mut unit_log = self.unit_log()?;
        // Under the pen, so that no other thread grows it meanwhile.
        let areas = self.areas();
        if areas.pages_of(area)? >= pages {
            return Ok(areas);
        }
        let grown = unit_log.grow(area.0, pages, growth);
        grown.map_err(|error| Stop::Full {
            reason: error.to_string(),
        })?;
        Ok(self.publish_areas(&unit_log))
    }

    /// Makes a table use one page more, for an inverse of a transaction: the page is in no list of those with room.
    pub fn grow_for_inverse(
        &self,
        table: &TableMemory,
        transaction: u64,
    ) -> Result<(PageId, Arc<Areas>), Stop> {
        self.check()?;
        let mut unit_log = self.unit_log()?;
        let (areas, used) = (self.areas(), table.pages_used());
        let page = |index| areas.page(table.area, index);
        let growth = Growth::OfInverse(transaction);
        table.list_all_but_next(used, page, || {
            let grown = unit_log.grow_table(table, used + 1, growth);
            grown.map_err(|error| Stop::Full {
                reason: error.to_string(),
            })
        })?;
        let areas = self.publish_areas(&unit_log);
        Ok((areas.page(table.area, used)?, areas))
    }

    /// Releases the pen and waits until a group is durable.
    pub fn force(&self, unit_log: UnitLog<'_>, group: u64) -> Result<(), LogError> {
        self.force_after(unit_log.let_go_to_force(), group)
    }

    /// Waits until a group is durable, after releasing the pen.
    pub fn force_after(&self, let_go: LetGo<'_>, group: u64) -> Result<(), LogError> {
        if !self.pen.log().is_durable(group) {
            self.counters.add(|c| &c.forced, 1);
        }
        let_go.force(group)
    }
}
