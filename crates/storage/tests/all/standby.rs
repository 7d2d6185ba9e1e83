//! Checkpoints at a standby, with a standby that does nothing but what the test says: what the
//! storage asks of it, and what it is given.

use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_storage::checkpoint::{
    CheckpointError, CheckpointPlace, Image, RemoteCheckpointer, RemoteError, RemoteProgress,
    ShippedLog,
};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Engine, OpenError, StorageOptions};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::log::{LogError, LogPosition};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::Address;
use sardonyx_storage::pen::Pen;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A standby by hand.
#[derive(Debug, Default)]
struct ByHand {
    log: Mutex<Option<ShippedLog>>,
    given: Condvar,
    ended: Mutex<bool>,
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl RemoteCheckpointer for ByHand {
    fn fetch_image(&self, _: &Manifest, _: u64) -> Result<Image, RemoteError> {
        Err(RemoteError::Unreachable {
            address: "by hand".into(),
            cause: "it has none".into(),
        })
    }

    fn run(&self, log: &ShippedLog) {
        *self.log.lock() = Some(log.clone());
        self.given.notify_all();
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        while log.poll_closed(&waker).is_pending() {
            std::thread::park();
        }
        *self.ended.lock() = true;
    }
}

impl ByHand {
    fn log(&self) -> ShippedLog {
        let mut log = self.log.lock();
        while log.is_none() {
            self.given.wait(&mut log);
        }
        log.clone().expect("waited for")
    }
}

struct Stage {
    pen: Pen<()>,
}

impl Stage {
    /// A transaction in a group of its own.
    fn commit_one(&self, number: u64) -> Result<LogPosition, LogError> {
        let mut held = self.pen.take()?;
        held.appending().admit(Admission::Whole)?;
        let mut appending = held.appending();
        appending
            .builder()
            .push_write(Address(0), &number.to_le_bytes());
        assert!(appending.builder().end_transaction());
        let group = appending.transaction_ended();
        held.force(group)?;
        Ok(self.pen.log().durable())
    }

    fn commit_until_full(&self) -> LogError {
        (0..10_000)
            .find_map(|number| self.commit_one(number).err())
            .expect("the log is full some time")
    }
}

struct World {
    standby: Arc<ByHand>,
    engine: Engine,
    stage: Arc<Stage>,
}

fn open(disk: &SimulatedDisk) -> Result<World, OpenError> {
    let standby = Arc::new(ByHand::default());
    let options = StorageOptions {
        segment_bytes: 32 << 10,
        block_bytes: 4096,
        identity: Some(3),
        log_bytes_max: 128 << 10,
        log_bytes_prepared: 0,
        memory_bytes_max: 1 << 20,
        limits: GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 8 << 10,
            depth: 1,
            buffers: 4,
        },
        checkpoint: CheckpointPlace::Standby(standby.clone()),
        ..StorageOptions::default()
    };
    let opened = Engine::open(Arc::new(disk.clone()), options)?;
    let mut engine = opened.engine;
    let stage = Arc::new(Stage {
        pen: engine.pen(()),
    });
    engine.start();
    Ok(World {
        standby,
        engine,
        stage,
    })
}

fn disk() -> SimulatedDisk {
    SimulatedDisk::new(1, Faults::default())
}

fn progress(position: LogPosition) -> RemoteProgress {
    RemoteProgress {
        needed_from: position,
        complete_from: position,
        checkpoints: 1,
        blocks: 1,
        bytes: 4096,
    }
}

#[test]
fn i10_a_full_log_is_refused_with_the_reason_and_only_then() {
    let mut world = open(&disk()).unwrap();
    let log = world.standby.log();
    let full = world.stage.commit_until_full();
    assert!(matches!(full, LogError::Full { .. }), "{full}");
    assert!(full.to_string().contains("not connected yet"), "{full}");
    // Away from the beginning, and yet all of the log was used but what is kept prepared.
    let used = log.durable().lsn.0;
    assert!(used > 2 * (32 << 10), "{used}");
    log.disconnected("the cable is out");
    let full = world.stage.commit_one(1).unwrap_err();
    assert!(full.to_string().contains("the cable is out"), "{full}");
    log.connected();
    log.report(progress(log.durable()));
    for number in 0..200 {
        let durable = world
            .stage
            .commit_one(number)
            .expect("the standby frees the log");
        log.report(progress(durable));
    }
    world.engine.stop();
    assert!(
        *world.standby.ended.lock(),
        "closing ends the standby's thread"
    );
}

#[test]
fn i6_reports_free_the_log_but_not_the_group_that_tells_the_history() {
    let world = open(&disk()).unwrap();
    let log = world.standby.log();
    log.connected();
    let segments = world.engine.commit().segments().clone();
    // Eight groups of 4096 bytes fill a segment; the end of the eighth is the next one's start.
    let mut ends = vec![LogPosition::START];
    for number in 0..20 {
        ends.push(world.stage.commit_one(number).unwrap());
    }
    assert_eq!(ends[8].lsn.0, 32 << 10);
    log.report(progress(ends[8]));
    assert!(segments.file(0).is_ok(), "the eighth group is in it");
    log.report(progress(ends[9]));
    assert!(segments.file(0).is_err());
    log.report(progress(ends[1]));
    assert_eq!(
        world.engine.checkpoint().log_needed_from(),
        ends[9],
        "never backwards"
    );
    let mut follower = log.follow(ends[9]);
    let next = follower.next_group(log.durable()).unwrap();
    assert_eq!(next.unwrap().0.number, 10);
}

#[test]
fn a_standbys_history_is_checked() {
    let world = open(&disk()).unwrap();
    let log = world.standby.log();
    log.connected();
    let mut ends = vec![LogPosition::START];
    for number in 0..12 {
        ends.push(world.stage.commit_one(number).unwrap());
    }
    let checksum = |end: LogPosition| {
        log.group_before(end)
            .unwrap()
            .map_or(0, |group| group.history_checksum())
    };
    let check = |end, checksum| log.check_history("there", end, checksum).unwrap();
    for &end in &ends {
        assert!(check(end, checksum(end)).is_ok(), "{end:?}");
    }
    let found = check(ends[5], checksum(ends[5]) ^ 1);
    assert!(
        matches!(found, Err(RemoteError::Diverged { group: 5, .. })),
        "{found:?}"
    );
    for wrong in [
        LogPosition {
            transactions: 99,
            ..ends[5]
        },
        LogPosition {
            incarnation: 99,
            ..ends[5]
        },
        LogPosition {
            lsn: ends[6].lsn,
            ..ends[5]
        },
    ] {
        let found = check(wrong, checksum(ends[5]));
        assert!(
            matches!(found, Err(RemoteError::Diverged { .. })),
            "{wrong:?}: {found:?}"
        );
    }
    let later = LogPosition {
        group: 14,
        ..ends[12]
    };
    let found = check(later, 1);
    assert!(
        matches!(
            found,
            Err(RemoteError::Ahead {
                standby_group: 14,
                ..
            })
        ),
        "{found:?}"
    );
    let last = checksum(ends[5]);
    // The log goes round.
    for number in 0..40 {
        log.report(progress(world.stage.commit_one(number).unwrap()));
    }
    let found = check(ends[5], last);
    assert!(
        matches!(found, Err(RemoteError::TooOld { group: 6, .. })),
        "{found:?}"
    );
    let found = check(LogPosition::START, 0);
    assert!(
        matches!(found, Err(RemoteError::TooOld { group: 1, .. })),
        "{found:?}"
    );
}

#[test]
fn a_checkpoint_is_asked_of_the_standby_and_refused_while_it_is_away() {
    let world = open(&disk()).unwrap();
    let log = world.standby.log();
    let durable = world.stage.commit_one(1).unwrap();
    let away = world.engine.checkpoint().take(durable).unwrap_err();
    assert!(
        matches!(*away, CheckpointError::StandbyAway { .. }),
        "{away}"
    );
    log.connected();
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| world.engine.checkpoint().take(durable));
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        while log.wanted(&waker).is_none() {
            std::thread::park();
        }
        assert_eq!(log.wanted(&waker), Some(durable));
        log.report(progress(durable));
        taking.join().unwrap().unwrap();
        assert_eq!(log.wanted(&waker), None);
    });
    let group = durable.group;
    let context = Context::from_waker(Waker::noop());
    assert!(log.poll_durable(group, context.waker()).is_pending());
    world.stage.commit_one(2).unwrap();
    assert!(matches!(
        log.poll_durable(group, context.waker()),
        Poll::Ready(Ok(()))
    ));
}

#[test]
fn what_the_local_log_lacks_is_asked_of_the_standby() {
    let disk = disk();
    let mut world = open(&disk).unwrap();
    let log = world.standby.log();
    log.connected();
    for number in 0..100 {
        let durable = world.stage.commit_one(number).unwrap();
        log.report(progress(durable));
    }
    world.engine.stop();
    drop(world);
    let disk = disk.restart(Faults::default());
    let before: Vec<_> = (&disk as &dyn Disk).list("log").unwrap();
    let Err(OpenError::Standby { source, .. }) = open(&disk) else {
        panic!("it cannot be opened without an image")
    };
    assert!(source.to_string().contains("by hand"), "{source}");
    assert_eq!((&disk as &dyn Disk).list("log").unwrap(), before);
}
