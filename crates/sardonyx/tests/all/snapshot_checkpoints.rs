//! Checkpoints from page snapshots: acknowledged transactions are kept, in order and whole, after a crash, a kill, a failed
//! sync or a full disk (I1, I2, I3, I6). Crashes are at each step. The source may differ from life to life. What cannot work
//! with snapshots is refused by name (I16).

use crate::common::{Item, Model, Note, Opened, SEGMENT_BYTES, SHAPES, Watchdog, options};
use sardonyx::{Checkpoints, Durability, Error, Options, Shape};
use sardonyx_base::random::{Random, stride};
use sardonyx_storage::crashes::{End, History, Stopped, Subject, Walk, World};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::OpenError;
use sardonyx_storage::log::LogError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Many small blocks, and checkpoints all the time.
fn from_snapshots(shape: Shape) -> Options {
    options(shape)
        .checkpoints(Checkpoints::FromSnapshots)
        .block_bytes(4096)
        .checkpoint_interval_bytes(24 << 10)
}

/// Such a block is copied from a page snapshot, and a smaller one in the serial stage.
const LARGE_BLOCK: u32 = 2 << 20;

/// Items that are put, all in one transaction.
type Change = Vec<(u64, u64)>;

fn content_after(changes: &[Change]) -> Model {
    let mut model = Model::default();
    for (id, value) in changes.iter().flatten() {
        model.put(*id, *value);
    }
    model
}

/// A database whose checkpoints are from snapshots, or, in `mixed` lives, from either source.
#[derive(Clone, Debug)]
struct Bank {
    random: Random,
    shape: Shape,
    stripes: u32,
    mixed: bool,
    large_blocks: bool,
    /// A checkpoint is asked for before one of so many steps; else they come by themselves, spread over many changes.
    asks: u64,
    checkpoints: u64,
}

impl Bank {
    fn options(&mut self) -> Options {
        // A log that is used again and again: what is freed too early is missing.
        let options = from_snapshots(self.shape)
            .stripes(self.stripes)
            .log_bytes_max(4 * SEGMENT_BYTES);
        let options = match self.large_blocks {
            true => options.block_bytes(LARGE_BLOCK),
            false => options,
        };
        match self.mixed && self.random.chance(1, 2) {
            true => options.checkpoints(Checkpoints::FromCopy),
            false => options,
        }
    }

    fn change(&mut self) -> Change {
        let random = &mut self.random;
        let count = 1 + random.below(6);
        (0..count)
            .map(|_| (random.below(240), random.below(1 << 40)))
            .collect()
    }
}

fn put_all(opened: &Opened, durability: Durability, change: Change) -> Result<(), Error> {
    let run = opened.database.transaction().durability(durability);
    run.run(|tx| {
        for (id, value) in change {
            if tx
                .update(opened.items, id, |item| item.value = value)?
                .is_none()
            {
                tx.insert(opened.items, &Item::new(id, value))?;
            }
            tx.append(
                opened.notes,
                &Note {
                    account: id,
                    amount: value,
                },
            )?;
        }
        Ok(())
    })
}

impl Subject for Bank {
    type Open = Opened;
    type Change = Change;

    fn recover(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Change>,
    ) -> Result<Opened, Stopped> {
        let opened = Opened::on(disk, self.options())?;
        history.settle(&opened.contents()?, content_after);
        Ok(opened)
    }

    fn submit(&mut self, open: &mut Opened, history: &mut History<Change>) -> Result<(), Stopped> {
        if self.random.chance(1, self.asks) {
            open.database.checkpoint()?;
        }
        for _ in 0..1 + self.random.below(4) {
            let change = self.change();
            let durability = match self.random.chance(1, 3) {
                true => Durability::Deferred,
                false => Durability::Durable,
            };
            history.submit(change.clone());
            put_all(open, durability, change)?;
            if durability == Durability::Durable {
                history.acknowledge();
            }
        }
        self.checkpoints = self
            .checkpoints
            .max(open.database.statistics().checkpoint.checkpoints);
        Ok(())
    }

    fn observe(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<Change>,
    ) -> Result<(), Stopped> {
        let opened = Opened::on(disk, self.options())?;
        history.judge(&opened.contents()?, content_after);
        Ok(())
    }
}

fn world(what: &str, shape: Shape, seed: u64, end: End) -> World<Bank> {
    let bank = Bank {
        random: Random::new(seed),
        shape,
        stripes: 1 + (seed % 3) as u32,
        mixed: seed % 2 == 1,
        large_blocks: seed % 4 >= 2,
        asks: 9,
        checkpoints: 0,
    };
    let disk = SimulatedDisk::new(seed, End::Cut.faults());
    let mut world = World::new(
        format!("{what}, {shape:?}, seed {seed}, {end:?}"),
        disk,
        bank,
    );
    // A life with checkpoints, so that the next one overwrites older versions of blocks.
    world.must_live(60);
    assert!(world.subject.checkpoints > 2, "{:?}", world.subject);
    world.subject.asks = 60;
    world.restart(end);
    world
}

/// A life of the second life's end; then the machine goes on, and its power is cut. Returns false if the end did not come.
fn end_at(what: &str, shape: Shape, seed: u64, end: End) -> bool {
    let mut world = world(what, shape, seed, end);
    let whole = world.live(60);
    if end.is_of_the_process() {
        world.go_on_until_a_cut(12);
    } else {
        world.restart(End::Cut);
        world.check();
    }
    world.restart(End::Cut);
    world.must_live(40);
    !whole
}

type EndAt = fn(u64) -> End;

fn walk_all_ends(seed: u64) {
    let ends: [(&str, EndAt, usize); 5] = [
        ("crash", End::Crash, 59),
        ("kill", End::Kill, 67),
        ("failed sync", End::FailedSync, 31),
        ("failed sync, then cut", End::FailedSyncThenCut, 29),
        ("failed write", End::FailedWrite, 41),
    ];
    for (what, end, stride) in ends {
        // Two seeds take steps that lie half a stride apart.
        let walk = Walk::each(stride)
            .beginning(seed * stride as u64 / 2)
            .at_least(5);
        walk.explore(what, |step| {
            end_at(what, Shape::Threadless, seed, end(step))
        });
    }
}

#[test]
fn i1_an_end_at_any_step_keeps_what_was_acknowledged() {
    walk_all_ends(1);
}

#[test]
fn i1_an_end_at_any_step_keeps_what_was_acknowledged_with_another_seed() {
    walk_all_ends(2);
}

/// With threads, the steps of the disk come in any order.
#[test]
fn i1_an_end_at_any_step_keeps_what_was_acknowledged_with_threads() {
    for shape in SHAPES.into_iter().filter(|shape| shape.is_threaded()) {
        let _watchdog = Watchdog::over(format!("{shape:?}"));
        for step in (7..150).step_by(stride(29)) {
            end_at("crash", shape, step, End::Crash(step));
            end_at("kill", shape, step, End::Kill(step));
        }
    }
}

#[test]
fn i14_a_disk_that_is_full_for_a_while_loses_nothing() {
    for seed in 0..12 {
        let disk = SimulatedDisk::new(seed, Faults::default());
        Opened::on(&disk, from_snapshots(Shape::Threadless)).unwrap();
        let from = 10 + 9 * seed;
        let disk = disk.restart(End::Full(from, from + 40).faults());
        // The opening may find the disk full, too.
        let open = || Opened::on(&disk, from_snapshots(Shape::Threadless));
        let opened = (0..60).find_map(|_| open().ok()).expect("it opens");
        let (mut model, mut refused) = (Model::default(), 0);
        for n in 0..300 {
            match opened.put(n, n) {
                Ok(()) => model.put(n, n),
                Err(error) => {
                    assert!(
                        matches!(error.downcast_ref(), Some(LogError::Full { .. })),
                        "{error}"
                    );
                    refused += 1;
                    assert!(refused < 200, "seed {seed}");
                }
            }
        }
        opened.database.checkpoint().unwrap();
        assert_eq!(opened.contents().unwrap(), model, "seed {seed}");
        drop(opened);
        let disk = disk.restart(Faults::default());
        let opened = Opened::on(&disk, from_snapshots(Shape::Threadless)).unwrap();
        assert_eq!(opened.contents().unwrap(), model, "seed {seed}");
    }
}

/// Recovery finds what the copy's checkpoint would leave, with nothing to redo; growth, removals and snapshots beside it.
#[test]
fn i3_a_checkpoint_has_everything_and_nothing_of_an_undone_transaction() {
    for shape in SHAPES {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, from_snapshots(shape)).unwrap();
        let mut model = Model::default();
        let mut snapshots = Vec::new();
        for n in 0..200 {
            let change: Change = (n..n + 20).map(|id| (id, n)).collect();
            put_all(&opened, Durability::Deferred, change.clone()).unwrap();
            change
                .into_iter()
                .for_each(|(id, value)| model.put(id, value));
            let undone = opened.database.run(|tx| {
                for id in n..n + 400 {
                    tx.put(opened.items, &Item::new(id, 1 << 50))?;
                }
                Err::<(), _>(Error::other("as planned"))
            });
            assert!(undone.is_err());
            if n % 16 == 0 {
                snapshots.push(opened.database.snapshot().unwrap());
            }
            if n % 50 == 0 {
                opened.database.checkpoint().unwrap();
            }
        }
        opened.database.checkpoint().unwrap();
        assert_eq!(opened.database.engine().checkpoint().copy_bytes(), 0);
        drop(snapshots);
        let disk = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&disk, from_snapshots(shape)).unwrap();
        assert_eq!(opened.database.recovery().groups, 0, "{shape:?}");
        assert_eq!(opened.contents().unwrap(), model, "{shape:?}");
    }
}

/// Snapshots of one page at most are ended while a block is copied; then it is copied in the serial stage.
#[test]
fn a_checkpoint_ends_although_its_snapshots_are_ended() {
    for shape in SHAPES.into_iter().filter(|shape| shape.is_threaded()) {
        let _watchdog = Watchdog::over(format!("{shape:?}"));
        let disk = SimulatedDisk::new(1, Faults::default());
        let large_blocks = || {
            from_snapshots(shape)
                .block_bytes(LARGE_BLOCK)
                .snapshot_bytes_max(1)
        };
        let opened = Opened::on(&disk, large_blocks()).unwrap();
        put_all(
            &opened,
            Durability::Durable,
            (0..100).map(|id| (id, 0)).collect(),
        )
        .unwrap();
        for first in (100..2000).step_by(100) {
            let change = (first..first + 100).map(|id| (id, 0)).collect();
            put_all(&opened, Durability::Durable, change).unwrap();
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut n = 0;
                while !done.load(Ordering::SeqCst) {
                    n += 1;
                    let change = (0..8).map(|k| ((n * 251 + k * 250) % 2000, n)).collect();
                    put_all(&opened, Durability::Deferred, change).unwrap();
                }
            });
            for _ in 0..8 {
                opened.database.checkpoint().unwrap();
            }
            done.store(true, Ordering::SeqCst);
            writer.join().unwrap();
        });
        opened.database.flush().unwrap();
        let model = opened.contents().unwrap();
        let disk = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&disk, large_blocks()).unwrap();
        assert_eq!(opened.contents().unwrap(), model, "{shape:?}");
    }
}

/// Threads that wait for room in a log at its limit have the stage meanwhile, which the checkpoint needs.
#[test]
fn i10_a_log_at_its_limit_is_freed_while_transactions_wait_for_it() {
    for shape in SHAPES {
        let _watchdog = Watchdog::over(format!("{shape:?}"));
        let disk = SimulatedDisk::new(1, Faults::default());
        // No checkpoint is due before the log is full.
        let seldom = from_snapshots(shape)
            .checkpoint_interval_bytes(1 << 40)
            .log_bytes_max(4 * SEGMENT_BYTES)
            .stripes(2);
        let opened = Opened::on(&disk, seldom.clone()).unwrap();
        let mut model = Model::default();
        for n in 0..40 * SEGMENT_BYTES / 4096 {
            opened.put(n % 300, n).unwrap();
            model.put(n % 300, n);
        }
        assert!(opened.database.statistics().checkpoint.checkpoints > 4);
        let disk = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&disk, seldom).unwrap();
        assert_eq!(opened.contents().unwrap(), model, "{shape:?}");
    }
}

#[test]
fn i10_a_transaction_that_needs_a_checkpoint_while_it_runs_is_refused_and_runs_after_one() {
    for shape in SHAPES {
        let _watchdog = Watchdog::over(format!("{shape:?}"));
        let disk = SimulatedDisk::new(1, Faults::default());
        let seldom = from_snapshots(shape).checkpoint_interval_bytes(1 << 40);
        let opened = Opened::on(&disk, seldom).unwrap();
        for n in 0..50 {
            opened.put(n, n).unwrap();
        }
        let large = |value: u64| {
            opened.database.run(|tx| {
                for id in 0..900 {
                    let filler = [value as u8; 112];
                    tx.put(
                        opened.items,
                        &Item {
                            filler,
                            ..Item::new(id, value)
                        },
                    )?;
                }
                Ok::<_, Error>(())
            })
        };
        large(1).unwrap();
        let (value, error) = (2..6)
            .find_map(|value| Some((value, large(value).err()?)))
            .expect("the log is full");
        let Some(LogError::Full { reason }) = error.downcast_ref() else {
            panic!("{error}")
        };
        assert!(reason.contains("run the transaction again"), "{reason}");
        let read = opened.database.read(|view| {
            for item in view.scan(opened.items)? {
                assert_eq!(item?.value, value - 1, "undone");
            }
            Ok(())
        });
        read.unwrap();
        opened.database.checkpoint().unwrap();
        large(value).unwrap();
    }
}

/// Both have an engine of their own, with the second copy.
#[test]
fn a_compaction_and_a_backup_are_those_of_a_database_with_the_copy() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("bank"), directory.path().join("copy"));
    let options = || from_snapshots(Shape::Coalesced);
    let opened = Opened::on_real(&path, options()).unwrap();
    for n in 0..600 {
        opened.put(n, n).unwrap();
    }
    let removed = opened.database.run(|tx| {
        for id in 0..500 {
            tx.delete(opened.items, id)?;
        }
        Ok::<_, Error>(())
    });
    removed.unwrap();
    let model = opened.contents().unwrap();
    opened.database.backup(&copy).unwrap();
    opened.database.close().unwrap();
    let compaction = options().compact(&path).unwrap();
    assert!(compaction.pages < compaction.pages_before, "{compaction:?}");
    for place in [path, copy] {
        let opened = Opened::on_real(&place, options()).unwrap();
        assert_eq!(opened.contents().unwrap(), model);
        opened.put(1, 7).unwrap();
        opened.database.checkpoint().unwrap();
        assert_eq!(opened.database.engine().checkpoint().copy_bytes(), 0);
    }
}

#[test]
fn i16_what_has_no_snapshots_for_checkpoints_says_so() {
    let refused = |error: Error| match error.downcast_ref() {
        Some(OpenError::NoSnapshots { of }) => *of,
        _ => panic!("{error}"),
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bank.sdx");
    let options = || Options::new().checkpoints(Checkpoints::FromSnapshots);
    #[cfg(feature = "memory")]
    assert_eq!(
        refused(options().open_memory(&path).unwrap_err()),
        "of memory"
    );
    #[cfg(feature = "operations")]
    assert_eq!(
        refused(options().open_operations(&path).unwrap_err()),
        "of operations"
    );
    #[cfg(feature = "nodes")]
    {
        use sardonyx::nodes::{NodeError, NodeOptions, Nodes, PageServer, StorageOptions};
        let refused = |error: NodeError| match &error {
            NodeError::Open(error) => match **error {
                OpenError::NoSnapshots { of } => of,
                _ => panic!("{error}"),
            },
            _ => panic!("{error}"),
        };
        let storage = || StorageOptions {
            checkpoints: Checkpoints::FromSnapshots,
            ..StorageOptions::default()
        };
        let server = PageServer::open(&path, 16, storage()).map(drop);
        assert_eq!(refused(server.unwrap_err()), "of nodes");
        let memory = tempfile::tempdir_in("/dev/shm").unwrap();
        let nodes = NodeOptions {
            shared_memory: memory.path().into(),
            storage: storage(),
            ..NodeOptions::default()
        };
        let nodes = Nodes::open(&path, nodes).map(drop);
        let of = refused(nodes.unwrap_err());
        assert!(of.contains("several processes"), "{of}");
    }
    #[cfg(feature = "hosts")]
    {
        use sardonyx::hosts::{MemoryStore, RemoteLog};
        let store = RemoteLog::new(Arc::new(MemoryStore::new()));
        let followed = options().store(store).checkpoints_at_followers();
        let of = refused(followed.open_tables(&path).unwrap_err());
        assert!(of.contains("followers"), "{of}");
    }
    assert!(!path.join("MANIFEST").exists(), "nothing was made");
    let tables = options().open_tables(&path).unwrap();
    tables.close().unwrap();
}
