//! Code that the engine runs, and that calls the database that runs it: every call of the face works
//! there or is refused as nested, instead of waiting for its own end (I8); and nothing hangs.

use crate::common::{Item, Note, Opened, block_on, hide_planned_panics, in_every_shape, options};
use sardonyx::journals::PlainJournalRow;
use sardonyx::low_level::Resident;
use sardonyx::procedures::{Procedure, ProcedureError, Registered, TableSpace};
use sardonyx::{Durability, Error, Shape, Tables, Ticket, Transaction, record};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::{Arc, Mutex};

/// A record of a table that is not declared yet.
#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Fresh {
    id: u64,
}
record!(Fresh { table: "fresh", key: id: u64 });

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct FreshNote(u64);

impl PlainJournalRow for FreshNote {
    const NAME: &'static str = "fresh notes";
}

/// The result of a call from inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Nested,
    Worked,
}

fn answer<T>(outcome: Result<T, Error>) -> Answer {
    match outcome {
        Ok(_) => Answer::Worked,
        Err(Error::Nested(_)) => Answer::Nested,
        Err(error) => panic!("{error}"),
    }
}

/// A procedure that runs a given body in its stage.
struct Run;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Nowhere,
    Check,
    Prefetch,
    Locate,
    Execute,
}

type Body = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// Runs the given body, once.
fn run_here(wanted: Stage, (stage, body): &(Stage, Body)) {
    if wanted == *stage
        && let Some(body) = body.lock().expect("whole").take()
    {
        body();
    }
}

impl Procedure for Run {
    type Arguments = (Stage, Body);
    type Output = ();
    type Error = ();
    type Located = ();

    fn name(&self) -> &str {
        "run"
    }
    fn check(&self, arguments: &(Stage, Body)) -> Result<(), ()> {
        run_here(Stage::Check, arguments);
        Ok(())
    }
    fn prefetch(
        &self,
        _: sardonyx::procedures::Prefetch,
        arguments: &(Stage, Body),
        _: &TableSpace,
    ) {
        run_here(Stage::Prefetch, arguments);
    }
    fn locate(&self, arguments: &(Stage, Body), _: &TableSpace) {
        run_here(Stage::Locate, arguments);
    }
    fn execute(
        &self,
        arguments: &(Stage, Body),
        (): (),
        _: &mut Transaction<'_>,
    ) -> Result<(), ()> {
        run_here(Stage::Execute, arguments);
        Ok(())
    }
}

fn nothing() -> (Stage, Body) {
    (Stage::Nowhere, Mutex::new(None))
}

/// The objects that the calls from inside use.
struct World {
    shape: Shape,
    opened: Arc<Opened>,
    procedure: Registered<Run>,
    /// Submitted before the running code; not waited for yet.
    older: Mutex<Option<Ticket<Result<(), Error>>>>,
}

impl World {
    fn database(&self) -> &Tables {
        &self.opened.database
    }

    fn submit(&self) -> Ticket<Result<(), Error>> {
        let items = self.opened.items;
        self.database()
            .transaction()
            .errors()
            .submit(move |transaction| {
                transaction.update(items, 1, |item| item.value += 1)?;
                Ok(())
            })
    }

    /// A ticket that cannot be done while its caller runs. It is of a request that another thread submits now and that
    /// waits for its turn. If there is no thread to run it, it is of an older one, which is not written yet.
    fn pending(&self) -> Ticket<Result<(), Error>> {
        match self.shape {
            Shape::Pipelined { .. } => {
                std::thread::scope(|scope| scope.spawn(|| self.submit()).join().expect("no panic"))
            }
            _ => self.older.lock().expect("whole").take().expect("there"),
        }
    }
}

/// A call of the face, made inside.
type Call = fn(&World) -> Answer;

/// Every call of the face.
fn calls() -> Vec<(&'static str, Call)> {
    vec![
        ("run", |w| answer(w.database().run(|_| Ok::<_, Error>(())))),
        ("run, deferred", |w| {
            let outcome = w
                .database()
                .transaction()
                .durability(Durability::Deferred)
                .run(|_| Ok(()));
            answer::<()>(outcome)
        }),
        ("submit and wait", |w| answer(w.submit().wait())),
        ("submit and await", |w| answer(block_on(w.submit()))),
        ("submit and drop, thousands", |w| {
            (0..3000).for_each(|_| drop(w.submit()));
            Answer::Worked
        }),
        ("submit_batch and wait", |w| {
            let ticket = w.database().submit_batch(&w.procedure, vec![nothing()], 0);
            answer(ticket.wait())
        }),
        ("submit_batch and drop, thousands", |w| {
            for lane in 0..3000 {
                let batch = vec![nothing()];
                drop(w.database().submit_batch(&w.procedure, batch, lane));
            }
            Answer::Worked
        }),
        ("call", |w| {
            answer(w.database().call(&w.procedure, nothing()))
        }),
        ("register", |w| answer(w.database().register(Other))),
        ("table, declared", |w| answer(w.database().table::<Item>())),
        ("table, new", |w| answer(w.database().table::<Fresh>())),
        ("journal, declared", |w| {
            answer(w.database().journal::<Note>())
        }),
        ("journal, new", |w| {
            answer(w.database().journal::<FreshNote>())
        }),
        ("read", |w| {
            answer(w.database().read(|view| Ok(view.bytes())))
        }),
        ("journal_rows", |w| {
            answer(w.database().journal_rows(w.opened.notes, |_| true))
        }),
        ("flush", |w| answer(w.database().flush())),
        ("checkpoint", |w| answer(w.database().checkpoint())),
        ("waiting for a ticket", |w| answer(w.pending().wait())),
        ("awaiting a ticket", |w| answer(block_on(w.pending()))),
        ("asking and dropping a ticket", |w| {
            let _ = w.pending().is_done();
            Answer::Worked
        }),
        ("what only looks", |w| {
            let database = w.database();
            let seen = (database.is_checkpointing(), database.statistics());
            let opened = (database.recovery(), database.rebuild());
            assert!(!format!("{seen:?} {opened:?} {database:?}").is_empty());
            Answer::Worked
        }),
        ("dropping a handle", |w| {
            drop(w.opened.clone());
            Answer::Worked
        }),
    ]
}

/// A procedure that is never called.
struct Other;

impl Procedure for Other {
    type Arguments = ();
    type Output = ();
    type Error = ();
    type Located = ();

    fn name(&self) -> &str {
        "other"
    }
    fn locate(&self, (): &(), _: &TableSpace) {}
    fn execute(&self, (): &(), (): (), _: &mut Transaction<'_>) -> Result<(), ()> {
        Ok(())
    }
}

/// The place at which the program's code runs inside the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Run,
    Read,
    Submitted,
    Batch(Stage),
}

const PLACES: [Place; 7] = [
    Place::Run,
    Place::Read,
    Place::Submitted,
    Place::Batch(Stage::Check),
    Place::Batch(Stage::Prefetch),
    Place::Batch(Stage::Locate),
    Place::Batch(Stage::Execute),
];

/// Makes a call at a place, and returns its result.
fn inside(world: &Arc<World>, place: Place, call: Call) -> Answer {
    let told = Arc::new(Mutex::new(None));
    let body = {
        let (world, told) = (world.clone(), told.clone());
        move || {
            let answer = call(&world);
            *told.lock().expect("whole") = Some(answer);
        }
    };
    let database = world.database();
    match place {
        Place::Run => {
            let outcome = database.run(|transaction| {
                transaction.update(world.opened.items, 2, |item| item.value += 1)?;
                body();
                Ok::<_, Error>(())
            });
            outcome.expect("the outer one goes its way");
        }
        Place::Read => {
            let read = database.read(|_| {
                body();
                Ok(())
            });
            read.expect("reads");
        }
        Place::Submitted => {
            let items = world.opened.items;
            let ticket = database.transaction().errors().submit(move |transaction| {
                transaction.update(items, 2, |item| item.value += 1)?;
                body();
                Ok::<_, Error>(())
            });
            ticket.wait().expect("it ran").expect("no error");
        }
        Place::Batch(stage) => {
            let arguments = (stage, Mutex::new(Some(Box::new(body) as Box<_>)));
            let outcome = database.call(&world.procedure, arguments).expect("it ran");
            assert!(
                !matches!(outcome, Err(ProcedureError::Panicked(_))),
                "{outcome:?}"
            );
        }
    }
    let told = told.lock().expect("whole").take();
    told.expect("it was called")
}

#[test]
fn i8_every_call_from_inside_works_or_is_refused_as_nested() {
    hide_planned_panics();
    in_every_shape(|shape| {
        for place in PLACES {
            for (name, call) in calls() {
                let disk = SimulatedDisk::new(1, Faults::default());
                let opened = Opened::on(&disk, options(shape)).expect("opens");
                (0..3).for_each(|id| opened.put(id, 0).expect("durable"));
                let procedure = opened.database.register(Run).expect("first");
                let world = Arc::new(World {
                    shape,
                    opened: Arc::new(opened),
                    procedure,
                    older: Mutex::new(None),
                });
                *world.older.lock().expect("whole") = Some(world.submit());
                let answer = inside(&world, place, call);
                let runs = name.starts_with("run") || name == "call" || name == "flush";
                // Only where `check` runs on the caller's thread is nothing held there.
                let free = place == Place::Batch(Stage::Check)
                    && !matches!(shape, Shape::Pipelined { .. });
                assert!(
                    !runs || free || answer == Answer::Nested,
                    "{name} in {place:?}: {answer:?}"
                );
                // Others follow.
                world.opened.put(0, 7).expect("durable");
                assert_eq!(world.opened.get(0), Some(7), "{name} in {place:?}");
                let world = Arc::into_inner(world).expect("nobody else has it");
                let opened = Arc::into_inner(world.opened).expect("nobody else has it");
                opened.database.close().expect("closes");
            }
        }
    });
}

#[test]
fn i8_what_is_refused_inside_leaves_the_transaction_around_it_whole() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        let items = opened.items;
        let outcome = opened.database.run(|transaction| {
            transaction.insert(items, &Item::new(1, 1))?;
            let inner = opened.database.run(|inner| {
                inner.update(items, 1, |item| item.value = 99)?;
                Ok::<_, Error>(())
            });
            assert_eq!(answer(inner), Answer::Nested);
            let updated = transaction.update(items, 1, |item| item.value += 1)?;
            assert_eq!(updated, Some(()));
            Ok::<_, Error>(())
        });
        outcome.expect("durable");
        assert_eq!(opened.get(1), Some(2));
    });
}

#[test]
fn reading_through_the_database_inside_a_transaction_is_refused() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        let database = &opened.database;
        let read = database.run(|_| database.read(|view| Ok(view.bytes())));
        assert_eq!(answer(read), Answer::Nested);
    });
}
