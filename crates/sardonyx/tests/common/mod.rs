//! Common parts of the tests of the face: a small schema, small options, and a plain model of a database's content.
#![cfg_attr(
    shuttle,
    allow(dead_code, reason = "the Shuttle models use a part of it")
)]

use sardonyx::disk::GroupLimits;
use sardonyx::journals::PlainJournalRow;
use sardonyx::low_level::Resident;
use sardonyx::{Checkpoints, Error, Field, Journal, Options, Shape, Table, Tables, field, record};
use sardonyx_storage::disk::{Disk, RealDisk, SimulatedDisk};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Once, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub struct Item {
    pub id: u64,
    pub value: u64,
    pub filler: [u8; 112],
}
record!(Item { table: "items", key: id: u64 });

pub const VALUE: Field<Item, u64> = field!(Item.value: u64);

impl Item {
    pub fn new(id: u64, value: u64) -> Item {
        Item {
            id,
            value,
            filler: [id as u8; 112],
        }
    }
}

/// A row of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub struct Note {
    pub account: u64,
    pub amount: u64,
}

impl PlainJournalRow for Note {
    const NAME: &'static str = "notes";
}

pub const PIPELINED: Shape = Shape::Pipelined {
    input_threads: 1,
    output_threads: 1,
};
pub const PIPELINED_TWICE: Shape = Shape::Pipelined {
    input_threads: 2,
    output_threads: 2,
};

/// Every shape, not only this machine's default.
pub const SHAPES: [Shape; 4] = [
    PIPELINED,
    PIPELINED_TWICE,
    Shape::Coalesced,
    Shape::Threadless,
];

/// Runs a test's body in every shape; a failure names the shape.
pub fn in_every_shape(body: impl Fn(Shape)) {
    in_each(&SHAPES, body);
}

/// Runs a test's body in every shape that has threads.
pub fn in_every_threaded_shape(body: impl Fn(Shape)) {
    let threaded = SHAPES.map(|shape| shape.is_threaded().then_some(shape));
    in_each(&threaded.into_iter().flatten().collect::<Vec<_>>(), body);
}

fn in_each(shapes: &[Shape], body: impl Fn(Shape)) {
    for &shape in shapes {
        let _watchdog = Watchdog::over(format!("{shape:?}"));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(shape))) {
            let message = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let message = message.or_else(|| panic.downcast_ref::<String>().cloned());
            panic!("in {shape:?}: {}", message.unwrap_or_default());
        }
    }
}

/// Names the seconds that a body may take before it counts as one that hangs; 600 if it is not set. Only the delay
/// until a failure is reported depends on it.
const PATIENCE: &str = "SARDONYX_TEST_PATIENCE";

/// Ends the process when a body hangs: nothing else could, and the hanging body would be unknown.
#[derive(Debug)]
#[expect(dead_code, reason = "its end is the message")]
pub struct Watchdog(mpsc::Sender<()>);

impl Watchdog {
    pub fn over(what: String) -> Watchdog {
        let (alive, ended) = mpsc::channel();
        let seconds = std::env::var(PATIENCE).ok().and_then(|s| s.parse().ok());
        let patience = Duration::from_secs(seconds.unwrap_or(600));
        let test = std::thread::current()
            .name()
            .unwrap_or("a test")
            .to_string();
        std::thread::spawn(move || {
            if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(patience) {
                // Directly: captured output would be lost.
                let _ = writeln!(std::io::stderr(), "{test}, {what}: hangs");
                std::process::abort();
            }
        });
        Watchdog(alive)
    }
}

pub const SEGMENT_BYTES: u64 = 64 << 10;

/// If set to `snapshot`, all tests that open by [`options`] take their checkpoints from snapshots of the pages.
const CHECKPOINTS: &str = "SARDONYX_TEST_CHECKPOINTS";

/// The source of the checkpoints of these tests.
pub fn checkpoints() -> Checkpoints {
    match std::env::var(CHECKPOINTS).as_deref() {
        Err(_) | Ok("copy") => Checkpoints::FromCopy,
        Ok("snapshot") => Checkpoints::FromSnapshots,
        Ok(other) => panic!("{CHECKPOINTS} is copy or snapshot, not {other}"),
    }
}

/// Small files and small bounds, so that a few hundred transactions meet all of them.
pub fn options(shape: Shape) -> Options {
    let limits = GroupLimits {
        group_bytes: 8 << 10,
        transaction_bytes: 16 << 10,
        depth: 2,
        buffers: 6,
    };
    Options::new()
        .checkpoints(checkpoints())
        .shape(shape)
        .identity(7)
        .hash_seed(7)
        .segment_bytes(SEGMENT_BYTES)
        .block_bytes(16 << 10)
        .log_bytes_max(8 * SEGMENT_BYTES)
        .log_bytes_prepared(0)
        .memory_bytes_max(64 << 20)
        .group_limits(limits)
}

/// A database with its handles.
#[derive(Debug)]
pub struct Opened {
    pub database: Tables,
    pub items: Table<Item>,
    pub notes: Journal<Note>,
}

impl Opened {
    pub fn on(disk: &SimulatedDisk, options: Options) -> Result<Opened, Error> {
        Self::on_any(Arc::new(disk.clone()), options)
    }

    pub fn on_real(path: &std::path::Path, options: Options) -> Result<Opened, Error> {
        Self::on_any(Arc::new(RealDisk::open(path)?), options)
    }

    pub fn on_any(disk: Arc<dyn Disk>, options: Options) -> Result<Opened, Error> {
        let database = options.open_tables_on(disk)?;
        let (items, notes) = (database.table()?, database.journal()?);
        Ok(Opened {
            database,
            items,
            notes,
        })
    }

    /// One transaction: sets an item, which is inserted where absent, and notes it.
    pub fn put(&self, id: u64, value: u64) -> Result<(), Error> {
        self.database.run(|transaction| {
            let updated = transaction.update(self.items, id, |item| item.value = value)?;
            if updated.is_none() {
                transaction.insert(self.items, &Item::new(id, value))?;
            }
            let note = Note {
                account: id,
                amount: value,
            };
            transaction.append(self.notes, &note)?;
            Ok(())
        })
    }

    pub fn get(&self, id: u64) -> Option<u64> {
        let items = self.items;
        self.database
            .read(|view| Ok(view.get(items, id)?.map(|item| item.value)))
            .expect("reads")
    }

    /// The whole content; checks that the index and a scan find the same.
    pub fn contents(&self) -> Result<Model, Error> {
        let mut model = Model::default();
        self.database
            .read(|view| {
                for item in view
                    .scan(self.items)
                    .expect("read")
                    .map(|record| record.expect("a record"))
                {
                    assert_eq!(*item, Item::new(item.id, item.value), "whole");
                    assert_eq!(
                        view.get(self.items, item.id).expect("read"),
                        Some(item),
                        "indexed"
                    );
                    assert_eq!(model.items.insert(item.id, item.value), None, "once");
                }
                Ok(())
            })
            .expect("reads");
        self.database.journal_rows(self.notes, |note| {
            model.notes.push((note.account, note.amount));
            true
        })?;
        Ok(model)
    }
}

/// The expected content of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub items: BTreeMap<u64, u64>,
    pub notes: Vec<(u64, u64)>,
}

impl Model {
    /// The effect of [`Opened::put`].
    pub fn put(&mut self, id: u64, value: u64) {
        self.items.insert(id, value);
        self.notes.push((id, value));
    }
}

/// A panic with this in its message is meant, and not shown.
pub const PLANNED: &str = "planned panic";

/// Keeps planned panics out of the tests' output.
pub fn hide_planned_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let message = info.payload_as_str();
            // A failure in a shape is shown, even a planned one.
            let planned = message
                .is_some_and(|message| message.contains(PLANNED) && !message.starts_with("in "));
            if !planned {
                shown(info);
            }
        }));
    });
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor: polls on this thread, which sleeps until it is woken.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(ThreadWaker(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
