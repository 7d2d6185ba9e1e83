//! Group commit with real threads on a real disk, and the effect of a failed write (I1, I7, I10).
//!
//! Clients append with the pen, as every way of running transactions does. Threads race freely; the assertions hold
//! for every order.

use crate::common::watched::{Change, WatchedDisk};
use crate::common::{LAYOUT, LogAlone, NoCheckpoints};
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::disk::{Disk, DiskError, RealDisk};
use sardonyx_storage::drive::Drive;
use sardonyx_storage::log::follow::Feed;
use sardonyx_storage::log::policy::GroupPolicy;
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::log::writer::LogWriter;
use sardonyx_storage::log::{LogError, LogPosition};
use sardonyx_storage::page::Address;
use sardonyx_storage::pen::Pen;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

struct Stage {
    pen: Pen<()>,
    commit: Arc<LogWriter>,
}

impl Stage {
    fn new(
        disk: Arc<dyn Disk>,
        policy: GroupPolicy,
        drive: Drive,
        feeds: Vec<Arc<Feed>>,
    ) -> Arc<Stage> {
        let log = LogAlone {
            policy,
            drive,
            depth: 2,
            buffers: 5,
            feeds,
            ..LogAlone::default()
        };
        let pen = log.pen(disk, ());
        Arc::new(Stage {
            commit: pen.log().clone(),
            pen,
        })
    }

    /// One transaction that writes its number, and the wait for it.
    fn commit_one(&self, number: u64) -> Result<(), LogError> {
        let mut held = self.pen.take()?;
        held.appending().admit(Admission::Whole)?;
        let mut appending = held.appending();
        appending
            .builder()
            .push_write(Address(0), &number.to_le_bytes());
        assert!(appending.builder().end_transaction());
        let group = appending.transaction_ended();
        // Each way of releasing the pen must lead there.
        match number % 3 {
            0 => return held.force(group),
            1 => held.hand_on(),
            _ => drop(held),
        }
        self.pen.wait(group)
    }

    /// Runs logging and preparing threads while `body` runs.
    fn with_threads<T>(self: &Arc<Self>, body: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| self.commit.run());
            }
            scope.spawn(|| self.commit.room().run(&NoCheckpoints));
            let outcome = body();
            self.commit.close();
            self.commit.room().close();
            outcome
        })
    }
}

fn numbers_in_log(disk: &Arc<dyn Disk>) -> Vec<u64> {
    let mut reader = LogReader::open(disk, LAYOUT, LogPosition::START).expect("a log");
    let mut numbers = Vec::new();
    while let Some((_, payload)) = reader.next_group().expect("whole") {
        for record in Records::new(payload) {
            if let Body::Write { bytes, .. } = record.expect("a record").body {
                numbers.push(u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
            }
        }
    }
    numbers
}

/// Drops the consumer's groups, so that buffers come back.
fn drain(feed: &Feed) {
    let mut groups = VecDeque::new();
    loop {
        feed.wait();
        let closed = feed.take(&mut groups);
        groups.clear();
        if closed {
            return;
        }
    }
}

fn many_clients(policy: GroupPolicy, drive: Drive) {
    let directory = tempfile::tempdir().expect("a directory");
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path()).expect("a disk"));
    let feed = Arc::new(Feed::default());
    let stage = Stage::new(disk.clone(), policy, drive, vec![feed.clone()]);
    let run = || {
        std::thread::scope(|scope| {
            let consumer = scope.spawn(|| drain(&feed));
            let clients: Vec<_> = (0..8u64)
                .map(|client| {
                    let stage = &stage;
                    scope.spawn(move || {
                        for n in 0..50 {
                            stage.commit_one(client * 1000 + n).expect("durable");
                        }
                    })
                })
                .collect();
            clients
                .into_iter()
                .for_each(|client| client.join().expect("a client"));
            feed.close();
            consumer.join().expect("a consumer");
        });
    };
    // Without threads the clients write for each other, and prepare segments themselves.
    if drive.has_threads() {
        stage.with_threads(run)
    } else {
        run()
    }
    let mut numbers = numbers_in_log(&disk);
    for client in 0..8u64 {
        let of_client: Vec<u64> = numbers
            .iter()
            .copied()
            .filter(|n| n / 1000 == client)
            .map(|n| n % 1000)
            .collect();
        assert_eq!(
            of_client,
            (0..50).collect::<Vec<_>>(),
            "in order, each once"
        );
    }
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 400);
    assert_eq!(stage.commit.statistics().transactions, 400);
}

#[test]
fn i1_every_waiting_client_is_told_and_its_transaction_is_in_the_log() {
    many_clients(GroupPolicy::Adaptive, Drive::Threads);
}

#[test]
fn i1_also_without_threads() {
    many_clients(GroupPolicy::Adaptive, Drive::Callers);
}

#[test]
fn i1_also_with_the_papers_parameters() {
    many_clients(
        GroupPolicy::Fixed {
            transactions: 5,
            time: Duration::from_millis(1),
        },
        Drive::Threads,
    );
}

#[test]
fn a_group_of_the_papers_parameters_holds_at_most_transactions_per_group() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path()).expect("a disk"));
    let policy = GroupPolicy::Fixed {
        transactions: 7,
        time: Duration::from_secs(3600),
    };
    let stage = Stage::new(disk, policy, Drive::Threads, vec![]);
    stage.with_threads(|| {
        // 21 transactions in 3 groups; none waits an hour, because the third group is full too.
        std::thread::scope(|scope| {
            for n in 0..21 {
                let stage = &stage;
                scope.spawn(move || stage.commit_one(n).expect("durable"));
            }
        });
    });
    let statistics = stage.commit.statistics();
    assert_eq!((statistics.groups, statistics.largest_group), (3, 7));
}

/// A disk whose log writes fail from the n-th on, which counts them.
fn failing(inner: RealDisk, good_writes: u64, attempts: Arc<AtomicU64>) -> WatchedDisk {
    WatchedDisk::new(inner, move |name, change| {
        if change == Change::WriteDurable && attempts.fetch_add(1, Ordering::SeqCst) >= good_writes
        {
            let error = std::io::Error::from_raw_os_error(5);
            return Err(DiskError::new("write", name.to_string(), 0, error));
        }
        Ok(())
    })
}

#[test]
fn i7_a_failed_sync_poisons_the_log_and_everyone_who_waits_is_told() {
    for good_writes in [0, 1, 3] {
        let directory = tempfile::tempdir().expect("a directory");
        let attempts = Arc::new(AtomicU64::new(0));
        let real = RealDisk::open(directory.path()).expect("a disk");
        let disk = failing(real, good_writes, attempts.clone());
        let stage = Stage::new(
            Arc::new(disk),
            GroupPolicy::Adaptive,
            Drive::Threads,
            vec![],
        );
        let acknowledged = Mutex::new(Vec::new());
        stage.with_threads(|| {
            std::thread::scope(|scope| {
                for client in 0..6u64 {
                    let (stage, acknowledged) = (&stage, &acknowledged);
                    scope.spawn(move || {
                        for n in 0.. {
                            match stage.commit_one(client * 1000 + n) {
                                Ok(()) => acknowledged.lock().push(client * 1000 + n),
                                Err(LogError::Poisoned { cause }) => {
                                    assert!(cause.contains("log/"), "names the file: {cause}");
                                    return;
                                }
                                Err(other) => panic!("{other:?}"),
                            }
                        }
                    });
                }
            });
            // Nothing is tried again after the failure; at most `depth` were under way.
            let tried = attempts.load(Ordering::SeqCst);
            assert!(tried <= good_writes + 2, "{tried} writes");
            assert!(matches!(
                stage.commit_one(1),
                Err(LogError::Poisoned { .. })
            ));
            assert_eq!(attempts.load(Ordering::SeqCst), tried);
        });
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory.path()).expect("a disk"));
        let in_log = numbers_in_log(&disk);
        for number in acknowledged.into_inner() {
            assert!(in_log.contains(&number), "acknowledged {number} is lost");
        }
    }
}
