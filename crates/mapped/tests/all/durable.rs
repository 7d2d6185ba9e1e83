//! A segment with a log: acknowledged transactions are there when it is opened again, by this way of running
//! transactions or by another.

use sardonyx_mapped::{Memory, MemoryAccess, Options, P, Segment};
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::log::policy::GroupLimits;
use std::path::Path;
use std::sync::Arc;

fn storage() -> StorageOptions {
    StorageOptions {
        segment_bytes: 1 << 20,
        block_bytes: 64 << 10,
        log_bytes_max: 8 << 20,
        log_bytes_prepared: 2 << 20,
        limits: GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 256 << 10,
            ..GroupLimits::default()
        },
        ..StorageOptions::default()
    }
}

fn open(directory: &Path) -> Segment {
    let options = Options::new()
        .address_space_bytes(1 << 30)
        .storage(storage());
    options.open(directory).unwrap()
}

fn place(page: u64) -> P<u64> {
    P::from_offset(page * 4096 + 8)
}

#[test]
fn i1_what_was_acknowledged_is_there_after_opening_again() {
    let directory = tempfile::tempdir().unwrap();
    for life in 0..4u64 {
        let segment = open(directory.path());
        if life > 0 {
            let snapshot = segment.snapshot().unwrap();
            for page in 0..20 {
                assert_eq!(snapshot.read(place(page)).unwrap(), (life - 1) * 100 + page);
            }
        }
        segment.run(|tx| tx.grow_to(1 << 20)).unwrap();
        for page in 0..20 {
            segment
                .run(|tx| tx.write(place(page), life * 100 + page))
                .unwrap();
        }
        if life == 2 {
            segment.checkpoint().unwrap();
        }
    }
}

#[test]
fn what_was_written_by_this_way_opens_under_another_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let segment = open(directory.path());
    segment.run(|tx| tx.grow_to(1 << 20)).unwrap();
    segment.run(|tx| tx.write(place(3), 33)).unwrap();
    let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
    let alone = Engine::open(disk.clone(), storage());
    assert!(alone.is_err(), "it is shared");
    drop(segment);
    let opened = Engine::open(disk.clone(), storage()).unwrap();
    assert_eq!(opened.store.bytes()[3 * 4096 + 8], 33);
    assert!(
        Options::new()
            .storage(storage())
            .open(directory.path())
            .is_err(),
        "it is not shared"
    );
    drop(opened);
    let segment = open(directory.path());
    assert_eq!(segment.snapshot().unwrap().read(place(3)).unwrap(), 33);
}

#[test]
fn much_more_than_the_log_holds_is_written_with_checkpoints_in_between() {
    let directory = tempfile::tempdir().unwrap();
    let segment = open(directory.path());
    segment.run(|tx| tx.grow_to(1 << 20)).unwrap();
    for round in 1..=300u64 {
        let write = |tx: &mut sardonyx_mapped::Transaction<'_>| {
            for page in 0..16 {
                tx.bytes_mut()[page * 4096..(page + 1) * 4096].fill(round as u8);
            }
            tx.write(place(0), round)
        };
        let (_, ticket) = segment.run_later(write).unwrap();
        if round % 50 == 0 {
            ticket.wait().unwrap();
        }
    }
    drop(segment);
    let segment = open(directory.path());
    assert_eq!(segment.snapshot().unwrap().read(place(0)).unwrap(), 300);
}

#[test]
fn a_ticket_is_awaited() {
    use std::task::{Context, Poll, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let segment = open(directory.path());
    segment.run(|tx| tx.grow_to(1 << 20)).unwrap();
    let tickets = (0..20).map(|page| segment.run_later(|tx| tx.write(place(page), 1)).unwrap().1);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    for ticket in tickets.collect::<Vec<_>>() {
        let mut ticket = std::pin::pin!(ticket);
        loop {
            match ticket.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(outcome) => break outcome.unwrap(),
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

#[test]
fn a_database_is_opened_again_while_another_thread_lets_go_of_it() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let directory = directory.path();
            scope.spawn(move || {
                for round in 0..15 {
                    let segment = open(directory);
                    let grown = segment.run(|tx| tx.grow_to(1 << 20));
                    grown.unwrap();
                    segment.run(|tx| tx.write(place(thread), round)).unwrap();
                }
            });
        }
    });
    let segment = open(directory.path());
    let snapshot = segment.snapshot().unwrap();
    assert_eq!(
        [0, 1, 2].map(|page| snapshot.read(place(page)).unwrap()),
        [14; 3]
    );
}
