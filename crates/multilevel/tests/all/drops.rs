//! The results of an operation are the program's, and may panic when the engine drops them. The engine does so with
//! the results of an execution that has to wait and be repeated: no page stays locked.

use crate::support::{CELLS, Ended, WRITE, small, ways};
use sardonyx_multilevel::{Area, CallError, CommitError, Operation, Pages, Stop};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::fmt;
use std::sync::Arc;

/// Panics when it is dropped, but not where that would end the process.
#[derive(Debug)]
struct Bomb(Option<Stop>);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0.take().is_some() && !std::thread::panicking() {
            std::panic::resume_unwind(Box::new("a planned panic in a drop"));
        }
    }
}

impl fmt::Display for Bomb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Bomb {}

impl From<Stop> for Bomb {
    fn from(stop: Stop) -> Self {
        Bomb(Some(stop))
    }
}

/// Changes a page, and locks an object while it has it.
struct Locks(Area);

impl Operation for Locks {
    type Output = ();
    type Error = Bomb;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Bomb> {
        let page = pages.page(self.0, 0)?;
        pages.write_bytes(page, 0, &[1; 8])?;
        pages.lock(&CELLS, 7, WRITE)?;
        Ok(())
    }
}

/// Changes the page alone.
struct Changes(Area);

impl Operation for Changes {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let page = pages.page(self.0, 0)?;
        pages.write_bytes(page, 8, &[2; 8])
    }
}

/// Locks the object alone.
struct Holds;

impl Operation for Holds {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        pages.lock(&CELLS, 7, WRITE)
    }
}

#[test]
fn an_error_that_panics_when_it_is_dropped_leaves_no_page_locked() {
    for way in ways() {
        if way.strategy == sardonyx_multilevel::Strategy::SingleLevel {
            // Objects are not locked there, and its pages are the transaction's.
            continue;
        }
        let disk = SimulatedDisk::new(1, Faults::default());
        let (database, area) = way.open(&disk, small()).expect("opens");
        let holder = database.begin();
        holder.call(&Holds).expect("nobody else has it");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let outcome: Result<(), Ended> = database.run(|tx| match tx.call(&Locks(area)) {
                    Ok(()) => Ok(()),
                    Err(CallError::Deadlock) => Err(CommitError::Deadlock.into()),
                    Err(error) => panic!("{error}"),
                });
                outcome.expect("it waited");
            });
            while database.waiting().is_empty() {
                assert!(!waiter.is_finished(), "{way:?}: it waits for the object");
                std::thread::yield_now();
            }
            holder.call(&Changes(area)).expect("the page is free");
            holder.commit().expect("durable");
            waiter.join().expect("no panic");
        });
        Arc::into_inner(database)
            .expect("the last one")
            .close()
            .expect("closes");
    }
}
