//! Each thread of the storage dies of a planted panic: the log is poisoned with its name, and every waiter gets the
//! error (I7).

use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::policy::{GroupLimits, GroupPolicy};
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::pen::Pen;
use sardonyx_storage::supervisor::Supervisor;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

fn options() -> StorageOptions {
    StorageOptions {
        segment_bytes: 64 << 10,
        block_bytes: 16 << 10,
        log_bytes_max: 256 << 10,
        log_bytes_prepared: 0,
        memory_bytes_max: 16 << 20,
        limits: GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 16 << 10,
            depth: 2,
            buffers: 4,
        },
        workers: 1,
        // So that only a logging thread closes a group, and at once.
        policy: GroupPolicy::Fixed {
            transactions: 100,
            time: Duration::ZERO,
        },
        ..StorageOptions::default()
    }
}

/// Appends a transaction of so many records, signalled to the log or not. Returns its group.
fn change(pen: &Pen<()>, records: usize, told: bool) -> u64 {
    let mut held = pen.take().expect("free");
    let mut appending = held.appending();
    for _ in 0..records {
        let page = Address(PAGE_SIZE as u64);
        appending.builder().push_write(page, &[1; PAGE_SIZE]);
    }
    assert!(appending.builder().end_transaction());
    match told {
        true => appending.transaction_ended(),
        false => appending.last_group(),
    }
}

#[test]
fn i7_a_dead_logging_thread_poisons_the_log_and_wakes_who_waits() {
    let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1, Faults::default()));
    let mut engine = Engine::open(disk.clone(), options()).expect("opens").engine;
    let (commit, pen) = (engine.commit().clone(), engine.pen(()));
    // A group that the log cannot take, as no caller appends one: the first to seal it panics, with the pen in its
    // hand and a place at the disk.
    change(&pen, 1, true);
    let group = change(&pen, 20, false);
    let awaited = commit.poll(group, Waker::noop());
    assert!(matches!(awaited, Poll::Pending));
    let waiting = {
        let commit = commit.clone();
        std::thread::spawn(move || commit.wait(group))
    };
    engine.start();
    let told = waiting.join().expect("no panic").unwrap_err();
    let LogError::ThreadDied { thread, message } = &told else {
        panic!("{told:?}")
    };
    assert!(thread.starts_with("logging-"), "{thread}");
    assert_eq!(
        &**message,
        "a group fits into a segment, or is one transaction"
    );
    assert!(told.to_string().contains("reopen the database"), "{told}");
    assert!(matches!(
        commit.poll(group, Waker::noop()),
        Poll::Ready(Err(_))
    ));
    let mut held = pen.take().expect("nobody has it");
    assert!(held.appending().admit(Admission::Whole).is_err());
    drop(held);
    assert!(engine.checkpoint().take(commit.durable()).is_err());
    // No thread waits for the buffers that were lost with it.
    for _ in 0..20 {
        change(&pen, 1, true);
        pen.take().expect("nobody has it").close_group();
    }
    assert!(pen.flush().is_err() && pen.mark_end().is_err());
    engine.stop();
    drop(engine);
    Engine::open(disk, options()).expect("the lock is free");
}

#[test]
fn what_waits_for_a_supervisors_threads_is_ended_elsewhere_on_one_of_them() {
    let died = Arc::new(Mutex::new(Vec::new()));
    let supervisor = {
        let died = died.clone();
        Supervisor::new(move |error| died.lock().unwrap().push(error.to_string()))
    };
    assert!(!supervisor.is_own_thread());
    let here = std::thread::current().id();
    let ended = supervisor.end(7, false, move |n| (n, std::thread::current().id() == here));
    assert_eq!(ended, Some((7, true)));
    let (own, told) = channel();
    let inside = supervisor.clone();
    let thread = supervisor.spawn("one", move || {
        assert!(inside.is_own_thread());
        let me = std::thread::current().id();
        let (send, ended) = channel();
        let elsewhere = inside.end(send, inside.is_own_thread(), move |send| {
            send.send(std::thread::current().id() != me)
                .expect("listens");
        });
        assert!(elsewhere.is_none());
        own.send(ended.recv().expect("ended")).expect("listens");
        panic!("a planted death");
    });
    assert!(told.recv().expect("it ran"), "on another thread");
    thread.join().expect("a death is not the joiner's");
    let died = died.lock().unwrap();
    assert!(
        died[0].contains("\"one\" died (a planted death)"),
        "{died:?}"
    );
}
