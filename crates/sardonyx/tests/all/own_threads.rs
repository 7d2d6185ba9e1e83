//! The last handle of a database is dropped, or closed, by code that the engine runs on its own threads. No thread
//! waits for itself, every submitted transaction is answered, and acknowledged ones are there. No other process opens
//! the database before all of that has ended.

use crate::common::{
    Item, PIPELINED, PIPELINED_TWICE, Watchdog, block_on, hide_planned_panics, options,
};
use sardonyx::procedures::{Procedure, TableSpace};
use sardonyx::{Error, Shape, Table, Tables, Transaction};
use sardonyx_serial::SerialError;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};

/// Runs something when it is dropped.
struct AtDrop(Option<Box<dyn FnOnce() + Send>>);

impl Drop for AtDrop {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

/// Gives its argument back, and drops another one.
struct Pass;

impl Procedure for Pass {
    type Arguments = Mutex<(Option<AtDrop>, Option<AtDrop>)>;
    type Output = Option<AtDrop>;
    type Error = ();
    type Located = ();

    fn name(&self) -> &str {
        "pass"
    }
    fn locate(&self, _: &Self::Arguments, _: &TableSpace) {}
    fn execute(
        &self,
        arguments: &Self::Arguments,
        (): (),
        _: &mut Transaction<'_>,
    ) -> Result<Option<AtDrop>, ()> {
        Ok(arguments.lock().expect("whole").1.take())
    }
}

/// Wakes no thread, and holds something until it is dropped.
struct Holding(#[allow(dead_code)] Mutex<Option<AtDrop>>);

impl Wake for Holding {
    fn wake(self: Arc<Self>) {}
}

/// The place of the last handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Dropped by a submitted closure.
    Closure,
    Closed,
    /// With a request's arguments.
    Arguments,
    /// With an output that is never waited for.
    Output,
    Waker,
}

const PLACES: [Place; 5] = [
    Place::Closure,
    Place::Closed,
    Place::Arguments,
    Place::Output,
    Place::Waker,
];

const BEHIND: u64 = 200;

fn open(disk: &SimulatedDisk, shape: Shape) -> Result<(Tables, Table<Item>), Error> {
    let any: Arc<dyn Disk> = Arc::new(disk.clone());
    let database = options(shape).open_tables_on(any)?;
    let items = database.table()?;
    Ok((database, items))
}

/// Opens it as soon as it is free.
fn open_when_free(disk: &SimulatedDisk, shape: Shape) -> (Tables, Table<Item>) {
    loop {
        match open(disk, shape) {
            Ok(opened) => return opened,
            Err(Error::Locked(_)) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

fn last_handle_at(place: Place, shape: Shape) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let (database, items) = open(&disk, shape).expect("opens");
    let pass = database.register(Pass).expect("the first");
    let database = Arc::new(database);
    let (told, outcome) = mpsc::channel();
    // The closure waits until everything is submitted and ours is not the last handle.
    let (go, gone) = mpsc::channel::<()>();
    let inside = database.clone();
    let waiting = database
        .transaction()
        .errors()
        .submit(move |_| Ok::<_, Error>(gone.recv().is_ok()));
    let last = {
        let told = told.clone();
        AtDrop(Some(Box::new(move || {
            let database = Arc::into_inner(inside).expect("the last handle");
            let outcome = match place {
                Place::Closed => database.close(),
                _ => {
                    drop(database);
                    Err(SerialError::Nested.into())
                }
            };
            told.send(outcome).expect("the test listens");
        })))
    };
    let mut polled = None;
    match place {
        Place::Closure | Place::Closed => drop(database.transaction().errors().submit(move |_| {
            drop(last);
            Ok::<_, Error>(())
        })),
        Place::Arguments => {
            let arguments = vec![Mutex::new((Some(last), None))];
            drop(database.submit_batch(&pass, arguments, 0));
        }
        Place::Output => {
            let arguments = vec![Mutex::new((None, Some(last)))];
            drop(database.submit_batch(&pass, arguments, 0));
        }
        Place::Waker => {
            let mut ticket = database
                .transaction()
                .errors()
                .submit(|_| Ok::<_, Error>(()));
            let waker = Waker::from(Arc::new(Holding(Mutex::new(Some(last)))));
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut ticket).poll(&mut context).is_pending());
            polled = Some(ticket);
        }
    }
    let tickets: Vec<_> = (0..BEHIND)
        .map(|id| {
            database.transaction().errors().submit(move |transaction| {
                transaction.insert(items, &Item::new(id, id))?;
                Ok::<_, Error>(())
            })
        })
        .collect();
    drop(database);
    go.send(()).expect("it waits");
    assert!(waiting.wait().expect("it ran").expect("no error"));
    let closed = outcome.recv().expect("it was dropped");
    let nested = matches!(closed, Err(Error::Nested(_)));
    assert!(nested, "{place:?}: {closed:?}");
    for (id, ticket) in tickets.into_iter().enumerate() {
        let told = match id % 2 {
            0 => ticket.wait(),
            _ => block_on(ticket),
        };
        told.unwrap_or_else(|error| panic!("{place:?}: {id}: {error}"))
            .expect("no error");
    }
    if let Some(mut ticket) = polled {
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(
            Pin::new(&mut ticket).poll(&mut context),
            Poll::Ready(Ok(Ok(())))
        ));
    }
    let (database, items) = open_when_free(&disk, Shape::Threadless);
    let recovery = database.recovery();
    let count = database.read(|view| view.count(items)).expect("reads");
    assert_eq!(count, BEHIND, "{place:?}: {recovery:?}");
}

#[test]
fn i1_the_last_handle_may_be_dropped_on_any_thread_of_the_engine() {
    hide_planned_panics();
    for shape in [PIPELINED, PIPELINED_TWICE] {
        for place in PLACES {
            let _watchdog = Watchdog::over(format!("{shape:?}, {place:?}"));
            for _ in 0..3 {
                last_handle_at(place, shape);
            }
        }
    }
}
