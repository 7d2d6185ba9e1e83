//! Checkpoints from page snapshots, for an appender of a test's own: a caller that waits for one gets room, or an error that
//! says why not. It never waits for a checkpoint that waits for it (I10).

use crate::common::watched::{Change, WatchedDisk};
use sardonyx_storage::checkpoint::{
    CheckpointError, Checkpoints, FreezesPages, Freezing, FrozenPages,
};
use sardonyx_storage::disk::{Disk, DiskError, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Engine, OpenError, Opened, StorageOptions};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::room::NoRoom;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::log::{LogError, LogPosition};
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::pen::Pen;
use sardonyx_storage::store::{PageSnapshot, PageStore, StoreError};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

const PAGES: u64 = 40;
const SEGMENT_BYTES: u64 = 64 << 10;
/// Such a block is copied from a page snapshot, and a smaller one while the pen is held.
const LARGE_BLOCK: u32 = 2 << 20;

fn options(threaded: bool) -> StorageOptions {
    StorageOptions {
        segment_bytes: SEGMENT_BYTES,
        block_bytes: 4096,
        log_bytes_max: 4 * SEGMENT_BYTES,
        // None is due before the log is full.
        checkpoint_interval_bytes: Some(1 << 40),
        memory_bytes_max: 8 << 20,
        closing_checkpoint: Duration::ZERO,
        workers: 1,
        limits: GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 16 << 10,
            depth: 2,
            buffers: 6,
        },
        threaded,
        checkpoints: Checkpoints::FromSnapshots,
        ..StorageOptions::default()
    }
}

fn no_memory() -> StoreError {
    StoreError::Memory {
        operation: "reserve",
        bytes: 4096,
        source: io::ErrorKind::OutOfMemory.into(),
    }
}

/// The pages, and what their holder does when a checkpoint asks for them.
#[derive(Debug)]
struct Pages {
    pen: Pen<PageStore>,
    /// The pen is not to be had.
    is_busy: AtomicBool,
    /// No snapshot can be taken.
    has_no_memory: bool,
}

impl FreezesPages for Pages {
    fn freeze(
        &self,
        live: &mut dyn FnMut(&[u8], LogPosition) -> bool,
    ) -> Result<Freezing, CheckpointError> {
        if self.is_busy.load(Ordering::SeqCst) {
            return Ok(Freezing::Later);
        }
        let Some(mut held) = self.pen.take_inside_within(Duration::from_millis(1))? else {
            return Ok(Freezing::Busy);
        };
        let Some(position) = held.try_hand_over_group() else {
            return Ok(Freezing::Later);
        };
        if live(held.bytes(), position) {
            return Ok(Freezing::Done);
        }
        if self.has_no_memory {
            return Ok(Freezing::Refused(no_memory()));
        }
        let pages = held.snapshot().expect("memory");
        Ok(Freezing::Frozen(FrozenPages { pages, position }))
    }

    fn check(&self) -> Result<(), LogError> {
        self.pen.log().check()
    }
}

/// An open database.
struct Bank {
    engine: Engine,
    pages: Arc<Pages>,
}

impl Bank {
    fn open(disk: Arc<dyn Disk>, options: StorageOptions, has_no_memory: bool) -> Bank {
        let opened = Engine::open_to_freeze(disk, options).unwrap();
        let Opened {
            mut engine,
            mut store,
            ..
        } = opened;
        if store.pages() < PAGES {
            store.grow_to(PAGES).unwrap();
        }
        let pages = Arc::new(Pages {
            pen: engine.pen(store),
            is_busy: AtomicBool::new(false),
            has_no_memory,
        });
        let by: Weak<Pages> = Arc::downgrade(&pages);
        engine.checkpoint().set_pages(by);
        engine.start();
        Bank { engine, pages }
    }

    /// A durable transaction that fills a part of a page.
    fn put(
        &self,
        n: u64,
        freeze: impl Fn(&mut PageStore) -> Result<Option<Arc<PageSnapshot>>, StoreError>,
    ) -> Result<(), LogError> {
        let mut held = self.pages.pen.take()?;
        let (store, mut log) = held.split();
        log.admit_lending(Admission::Whole, |_| freeze(store))?;
        let (address, bytes) = (Address(n % PAGES * PAGE_SIZE as u64), [n as u8; 800]);
        log.builder().push_write(address, &bytes);
        store.write(address, &bytes);
        assert!(log.builder().end_transaction());
        let group = log.transaction_ended();
        held.hand_on();
        self.pages.pen.wait(group)
    }

    /// A durable transaction of journal rows alone.
    fn append(&self, rows: usize) -> Result<(), LogError> {
        let mut held = self.pages.pen.take()?;
        let mut log = held.appending();
        log.admit(Admission::Whole)?;
        (0..rows).for_each(|n| log.builder().push_journal(1, &[n as u8; 4096]));
        assert!(log.builder().end_transaction());
        let group = log.transaction_ended();
        held.hand_on();
        self.pages.pen.wait(group)
    }

    fn checkpoint(&self) -> Result<(), Arc<CheckpointError>> {
        let end = self.pages.pen.take().unwrap().close_group_at();
        self.engine.checkpoint().take(end)
    }

    /// Ends as a killed process.
    fn end(self) {
        drop(self);
    }
}

/// Runs a test's body, which hangs if its subject does.
fn in_time(body: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel();
    let runs = std::thread::spawn(move || {
        body();
        let _ = ended.send(());
    });
    match end.recv_timeout(Duration::from_secs(600)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        _ => runs.join().unwrap(),
    }
}

fn reason(error: LogError) -> String {
    match error {
        LogError::Full { reason } => reason.to_string(),
        error => panic!("{error}"),
    }
}

/// Puts until the log was full a few times; `refused` judges the error of each put that was refused.
fn fill(
    threaded: bool,
    block_bytes: u32,
    freeze: impl Fn(&mut PageStore) -> Result<Option<Arc<PageSnapshot>>, StoreError>,
    refused: impl Fn(&str),
) -> u64 {
    let disk = SimulatedDisk::new(1, Faults::default());
    let options = || StorageOptions {
        block_bytes,
        ..options(threaded)
    };
    let bank = Bank::open(Arc::new(disk.clone()), options(), true);
    let mut refusals = 0;
    for n in 0..1500 {
        if let Err(error) = bank.put(n, &freeze) {
            refused(&reason(error));
            refusals += 1;
            // The refused caller has released the pen, so the checkpoint that it asked for can be taken.
            bank.checkpoint().unwrap();
            bank.put(n, &freeze).unwrap();
        }
    }
    assert!(bank.engine.checkpoint().totals().checkpoints > 3);
    bank.end();
    let disk = disk.restart(Faults::default());
    let bank = Bank::open(Arc::new(disk), options(), true);
    let held = bank.pages.pen.take().unwrap();
    for n in 1500 - PAGES..1500 {
        let start = (n % PAGES) as usize * PAGE_SIZE;
        assert_eq!(held.bytes()[start..start + 800], [n as u8; 800], "{n}");
    }
    refusals
}

#[test]
fn i10_a_caller_that_cannot_lend_its_pages_is_refused_and_does_not_hang() {
    in_time(|| {
        for threaded in [true, false] {
            for block_bytes in [4096, LARGE_BLOCK] {
                let no_pages = |reason: &str| {
                    assert!(reason.contains("cannot reserve 4096 bytes"), "{reason}");
                };
                let refusals = fill(threaded, block_bytes, |_| Err(no_memory()), no_pages);
                assert!(refusals > 3, "{refusals}");
                let none = |reason: &str| {
                    assert!(reason.contains("it has no snapshots of them"), "{reason}");
                };
                let refusals = fill(threaded, block_bytes, |_| Ok(None), none);
                assert!(refusals > 3, "{refusals}");
            }
        }
    });
}

/// Lent pages are enough, although there is no memory for other snapshots.
#[test]
fn i10_a_caller_that_lends_its_pages_gets_room() {
    in_time(|| {
        for threaded in [true, false] {
            for block_bytes in [4096, LARGE_BLOCK] {
                let lends = |store: &mut PageStore| Ok(Some(store.snapshot()?));
                let refusals = fill(threaded, block_bytes, lends, |reason| panic!("{reason}"));
                assert_eq!(refusals, 0);
            }
        }
    });
}

#[test]
fn i16_an_opening_that_freezes_no_pages_refuses_the_option() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let refused = Engine::open(Arc::new(disk.clone()), options(true)).unwrap_err();
    assert!(
        matches!(refused, OpenError::NoSnapshots { .. }),
        "{refused}"
    );
    assert!(disk.files().is_empty(), "{:?}", disk.files());
}

/// A disk that has no room for these files while `full`.
fn full_for(disk: &SimulatedDisk, files: &'static str, full: &Arc<AtomicBool>) -> Arc<dyn Disk> {
    let full = full.clone();
    Arc::new(WatchedDisk::new(disk.clone(), move |name, change| {
        let lengthens = matches!(
            change,
            Change::Write | Change::WriteDurable | Change::Preallocate | Change::Allocate
        );
        match lengthens && name.contains(files) && full.load(Ordering::SeqCst) {
            true => Err(DiskError::new(
                "write",
                name,
                0,
                io::ErrorKind::StorageFull.into(),
            )),
            false => Ok(()),
        }
    }))
}

/// A stripe whose archive has room again waits for the pen, and not for the disk: it says so, and does not try again and
/// again.
#[test]
fn a_checkpoint_that_found_room_waits_for_the_disk_no_longer() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let full = Arc::new(AtomicBool::new(false));
    let options = StorageOptions {
        log_bytes_max: 64 * SEGMENT_BYTES,
        ..options(false)
    };
    let bank = Bank::open(full_for(&disk, "journal", &full), options, false);
    for n in 0..PAGES {
        bank.put(n, |_| Ok(None)).unwrap();
    }
    let stage = bank.engine.checkpoint();
    stage.want(bank.engine.commit().durable());
    stage.pump();
    assert!(stage.is_writing());
    bank.pages.is_busy.store(true, Ordering::SeqCst);
    full.store(true, Ordering::SeqCst);
    // A chunk of the archive is a MiB.
    let waits = (0..200).find(|_| {
        bank.append(3).unwrap();
        stage.waiting().is_some()
    });
    assert!(waits.is_some(), "the archive found no room");
    full.store(false, Ordering::SeqCst);
    stage.pump();
    assert!(stage.is_writing());
    assert!(stage.waiting().is_none(), "{:?}", stage.waiting());
    bank.pages.is_busy.store(false, Ordering::SeqCst);
    bank.checkpoint().unwrap();
}

/// The error of a running transaction that needs a checkpoint names the cause: the disk, or the log's limit.
#[test]
fn i10_a_transaction_that_is_refused_while_it_runs_says_where_there_is_no_room() {
    for threaded in [true, false] {
        for (is_full, cause) in [(true, "free disk space"), (false, "raise the log's limit")] {
            let disk = SimulatedDisk::new(1, Faults::default());
            let full = Arc::new(AtomicBool::new(false));
            let segments = if is_full { 64 } else { 6 };
            let options = StorageOptions {
                log_bytes_max: segments * SEGMENT_BYTES,
                ..options(threaded)
            };
            let bank = Bank::open(full_for(&disk, "log/", &full), options, false);
            // Two segments and a part.
            let whole = 2 * SEGMENT_BYTES / 800;
            for n in 0..whole {
                bank.put(n, |store| Ok(Some(store.snapshot()?))).unwrap();
            }
            full.store(is_full, Ordering::SeqCst);
            let mut held = bank.pages.pen.take().unwrap();
            let mut log = held.appending();
            let no_room = log.builder().make_room(4 * SEGMENT_BYTES as usize, 1 << 30);
            let Err(NoRoom::Log(error)) = no_room else {
                panic!("{no_room:?}")
            };
            let reason = reason(error);
            assert!(reason.contains(cause), "{reason}");
            assert!(reason.contains("run the transaction again"), "{reason}");
        }
    }
}
