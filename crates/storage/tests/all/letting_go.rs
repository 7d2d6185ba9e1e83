//! Each way of releasing the pen has its effect even if no other thread takes a step. Forced groups are on stable
//! storage when the call returns (I1). Handed-on groups are sealed if the disk is free. Transactions that are put away
//! stay in the open group, and those that are put off until they are due.

use crate::common::watched::{Change, WatchedDisk};
use crate::common::{LAYOUT, LogAlone};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::drive::Drive;
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::log::policy::{DEFERRED_TIME_MAX, GroupPolicy};
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::page::Address;
use sardonyx_storage::pen::{Held, Pen};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// Buffers of groups, one of them the open one's.
const BUFFERS: usize = 4;

const DRIVES: [Drive; 2] = [Drive::Threads, Drive::Callers];

/// A log without any thread, for any value of `drive`.
fn pen(drive: Drive, policy: GroupPolicy) -> (Pen<()>, SimulatedDisk) {
    let simulated = SimulatedDisk::new(1, Faults::default());
    let log = LogAlone {
        policy,
        drive,
        buffers: BUFFERS,
        ..LogAlone::default()
    };
    (log.pen(Arc::new(simulated.clone()), ()), simulated)
}

/// Appends a transaction. Returns its group.
fn append(held: &mut Held<'_, ()>) -> u64 {
    let mut appending = held.appending();
    appending.admit(Admission::Whole).expect("room");
    appending.builder().push_write(Address(0), &[1; 8]);
    assert!(appending.builder().end_transaction());
    appending.transaction_ended()
}

/// The groups that a crash now would leave.
fn groups_after_a_crash(disk: &SimulatedDisk) -> u64 {
    let disk: Arc<dyn Disk> = Arc::new(disk.restart(Faults::default()));
    let mut reader = LogReader::open(&disk, LAYOUT, LogPosition::START).expect("a log");
    while reader.next_group().expect("whole").is_some() {}
    reader.position().group - 1
}

#[test]
fn i1_what_was_forced_survives_a_crash_right_after() {
    for drive in DRIVES {
        let (pen, disk) = pen(drive, GroupPolicy::Adaptive);
        for n in 1..=3 {
            let mut held = pen.take().expect("free");
            let group = append(&mut held);
            held.force(group).expect("durable");
            assert!(pen.log().is_durable(group));
            assert_eq!(group, n);
        }
        assert_eq!(groups_after_a_crash(&disk), 3, "{drive:?}");
    }
}

#[test]
fn i1_what_was_let_go_of_to_be_forced_is_sealed_at_once_and_written_when_it_is_forced() {
    for drive in DRIVES {
        let (pen, disk) = pen(drive, GroupPolicy::Adaptive);
        let mut held = pen.take().expect("free");
        let group = append(&mut held);
        let let_go = held.let_go_to_force();
        // The next transaction goes into the next group.
        let mut held = pen.take().expect("free");
        assert_eq!(held.appending().position().group, group + 1, "{drive:?}");
        drop(held);
        assert!(!pen.log().is_durable(group));
        let_go.force(group).expect("durable");
        assert_eq!(groups_after_a_crash(&disk), group, "{drive:?}");
    }
}

#[test]
fn i1_what_was_let_go_of_to_be_forced_and_then_was_not_can_still_be_waited_for() {
    for drive in DRIVES {
        let (pen, disk) = pen(drive, GroupPolicy::Adaptive);
        let mut held = pen.take().expect("free");
        let group = append(&mut held);
        drop(held.let_go_to_force());
        pen.wait(group).expect("durable");
        assert_eq!(groups_after_a_crash(&disk), group, "{drive:?}");
    }
}

#[test]
fn what_is_put_away_stays_in_the_open_group() {
    for drive in DRIVES {
        let (pen, disk) = pen(drive, GroupPolicy::Adaptive);
        let steps = disk.steps();
        for _ in 0..3 {
            assert_eq!(append(&mut pen.take().expect("free")), 1);
        }
        assert_eq!(disk.steps(), steps);
        // The next holder writes it all.
        let mut held = pen.take().expect("free");
        let group = append(&mut held);
        held.force(group).expect("durable");
        assert_eq!(pen.log().statistics().transactions, 4);
        assert_eq!(disk.steps(), steps + 1, "one durable write");
    }
}

#[test]
fn what_is_put_off_goes_with_the_next_that_is_forced_or_handed_on() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    for is_forced in [true, false] {
        let steps = disk.steps();
        let mut groups = Vec::new();
        for _ in 0..3 {
            let mut held = pen.take().expect("free");
            groups.push(append(&mut held));
            held.put_off();
        }
        assert_eq!(groups, [groups[0]; 3], "they share a group");
        assert_eq!(disk.steps(), steps, "the caller does not write");
        let mut held = pen.take().expect("free");
        assert_eq!(append(&mut held), groups[0]);
        match is_forced {
            true => held.force(groups[0]).expect("durable"),
            false => {
                held.hand_on();
                assert!(pen.log().step(), "sealed");
            }
        }
        assert!(pen.log().is_durable(groups[0]));
        assert_eq!(disk.steps(), steps + 1, "one durable write");
    }
}

#[test]
fn what_was_handed_on_is_not_put_off_by_a_later_transaction_or_a_reader() {
    for appends in [true, false] {
        let (pen, _) = pen(Drive::Threads, GroupPolicy::Adaptive);
        let mut group = 0;
        while pen.log().wants_group() || group == 0 {
            let mut held = pen.take().expect("free");
            group = append(&mut held);
            held.hand_on();
        }
        // The disk has as many groups as it takes: this one is left open.
        let mut held = pen.take().expect("free");
        let open = append(&mut held);
        held.hand_on();
        let mut held = pen.take().expect("free");
        if appends {
            assert_eq!(append(&mut held), open);
        }
        held.put_off();
        while !pen.log().is_durable(group) {
            assert!(pen.log().step());
        }
        assert!(pen.log().step(), "it is not waited for its time");
        assert!(pen.log().is_durable(open));
    }
}

#[test]
fn what_is_put_off_is_written_when_a_caller_waits_or_a_task_polls() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let mut held = pen.take().expect("free");
    let group = append(&mut held);
    held.put_off();
    pen.wait(group).expect("durable");
    let mut held = pen.take().expect("free");
    let group = append(&mut held);
    held.put_off();
    assert!(pen.log().poll(group, Waker::noop()).is_pending());
    assert!(pen.log().step(), "it is not put off any more");
    assert_eq!(groups_after_a_crash(&disk), group);
}

#[test]
fn what_is_put_off_is_written_by_a_logging_thread_when_it_is_due() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    for n in 1..=3 {
        let mut held = pen.take().expect("free");
        let group = append(&mut held);
        held.put_off();
        // A reader does not have it written.
        pen.take().expect("free").put_off();
        assert!(!pen.log().is_durable(group));
        while !pen.log().step() {
            std::hint::spin_loop();
        }
        assert!(pen.log().is_durable(group));
        assert_eq!(group, n);
    }
    assert_eq!(groups_after_a_crash(&disk), 3);
}

/// Hands a transaction on. Returns its group.
fn hand_on(pen: &Pen<()>) -> u64 {
    let mut held = pen.take().expect("free");
    let group = append(&mut held);
    held.hand_on();
    group
}

#[test]
fn what_is_handed_on_gathers_until_a_thread_rests() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let gathering = pen.log().gather();
    for n in [1, 3] {
        let steps = disk.steps();
        assert_eq!(hand_on(&pen), n);
        // A task that waits leaves the group open.
        assert!(pen.log().poll(n, Waker::noop()).is_pending());
        assert_eq!(hand_on(&pen), n);
        assert_eq!(hand_on(&pen), n, "they share a group");
        assert_eq!(disk.steps(), steps, "the caller does not write");
        gathering.rest();
        assert_eq!(hand_on(&pen), n + 1, "it is sealed");
        assert!(pen.log().step());
        assert!(pen.log().is_durable(n));
        assert_eq!(disk.steps(), steps + 1, "one durable write");
        pen.wait(n + 1).expect("durable");
    }
}

#[test]
fn a_logging_thread_that_has_written_watches_the_clock_for_the_next_group_while_groups_gather() {
    let (pen, _disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let log = pen.log();
    assert_eq!(log.looks_again(true), None);
    let gathering = log.gather();
    let before = Instant::now();
    let looks = log.looks_again(true).expect("a time");
    // A group that is handed on from now on is due later.
    assert!(looks >= before + DEFERRED_TIME_MAX && looks <= Instant::now() + DEFERRED_TIME_MAX);
    assert_eq!(log.looks_again(false), None, "nothing was written");
    drop(gathering);
    assert_eq!(log.looks_again(true), None);
}

#[test]
fn what_gathers_is_written_when_a_caller_waits_when_it_is_due_or_when_gathering_ends() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let gathering = pen.log().gather();
    let group = hand_on(&pen);
    pen.wait(group).expect("durable");
    let group = hand_on(&pen);
    while !pen.log().step() {
        std::hint::spin_loop();
    }
    assert!(pen.log().is_durable(group));
    // Another program on the same log reports on.
    let other = pen.log().gather();
    let group = hand_on(&pen);
    drop(other);
    assert!(pen.log().step(), "sealed");
    let open = hand_on(&pen);
    assert_eq!(hand_on(&pen), open);
    drop(gathering);
    assert_eq!(hand_on(&pen), open + 1, "sealed");
    while pen.log().step() {}
    assert!(pen.log().is_durable(group));
    assert_eq!(groups_after_a_crash(&disk), open + 1);
}

#[test]
fn i1_what_gathers_is_written_by_a_thread_that_rests_and_is_durable_then() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let gathering = pen.log().gather();
    let steps = disk.steps();
    gathering.rest_writing();
    assert_eq!(disk.steps(), steps, "there is nothing to write");
    assert_eq!((hand_on(&pen), hand_on(&pen)), (1, 1));
    assert!(pen.log().poll(1, Waker::noop()).is_pending());
    assert_eq!(disk.steps(), steps, "nothing is written before");
    gathering.rest_writing();
    assert_eq!(disk.steps(), steps + 1, "one durable write");
    assert!(pen.log().poll(1, Waker::noop()).is_ready());
    // Records that are not handed on stay in the open group.
    let mut held = pen.take().expect("free");
    append(&mut held);
    drop(held);
    gathering.rest_writing();
    assert_eq!(groups_after_a_crash(&disk), 1);
}

#[test]
fn a_thread_that_rests_leaves_groups_to_the_logging_thread_while_the_disk_is_slow() {
    let simulated = SimulatedDisk::new(1, Faults::default());
    let watched = WatchedDisk::new(simulated.clone(), move |_, change| {
        let begun = Instant::now();
        while change == Change::WriteDurable && begun.elapsed() <= DEFERRED_TIME_MAX {
            std::hint::spin_loop();
        }
        Ok(())
    });
    let pen = LogAlone::default().pen(Arc::new(watched), ());
    let gathering = pen.log().gather();
    assert_eq!(hand_on(&pen), 1);
    gathering.rest_writing();
    assert!(pen.log().is_durable(1), "how slow it is was not known");
    let steps = simulated.steps();
    assert_eq!(hand_on(&pen), 2);
    gathering.rest_writing();
    assert_eq!(simulated.steps(), steps, "the caller does not write");
    assert_eq!(hand_on(&pen), 3, "it is sealed");
    assert!(pen.log().step(), "for the logging thread");
    assert!(pen.log().is_durable(2));
    assert_eq!(groups_after_a_crash(&simulated), 2);
}

#[test]
fn a_thread_that_rests_leaves_the_group_to_a_logging_thread_beside_a_holder_of_the_pen() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let gathering = pen.log().gather();
    let group = hand_on(&pen);
    let held = pen.take().expect("free");
    gathering.rest_writing();
    assert!(!pen.log().is_durable(group), "only the holder can seal it");
    drop(held);
    assert!(pen.log().step(), "the holder has looked, and sealed it");
    assert_eq!(groups_after_a_crash(&disk), group);
}

#[test]
fn what_gathers_is_written_beside_a_long_holder_that_hands_it_over() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let gathering = pen.log().gather();
    let group = hand_on(&pen);
    let mut held = pen.take().expect("free");
    gathering.rest();
    assert!(!pen.log().step(), "only the holder can seal it");
    assert!(held.try_hand_over_group().is_some());
    assert!(pen.log().step());
    assert!(pen.log().is_durable(group), "before the holder lets go");
    assert_eq!(groups_after_a_crash(&disk), group);
    drop(held);
}

#[test]
fn groups_of_counts_and_of_callers_do_not_gather() {
    let fixed = GroupPolicy::Fixed {
        transactions: 2,
        time: Duration::from_secs(3600),
    };
    for (drive, policy) in [
        (Drive::Threads, fixed),
        (Drive::Callers, GroupPolicy::Adaptive),
    ] {
        let (pen, disk) = pen(drive, policy);
        let _gathering = pen.log().gather();
        let group = hand_on(&pen);
        assert_eq!(hand_on(&pen), group);
        assert!(pen.log().step());
        assert_eq!(groups_after_a_crash(&disk), group);
    }
}

#[test]
fn what_is_put_off_without_threads_is_left_as_what_is_handed_on() {
    let (pen, disk) = pen(Drive::Callers, GroupPolicy::Adaptive);
    let steps = disk.steps();
    let mut held = pen.take().expect("free");
    let group = append(&mut held);
    held.put_off();
    assert_eq!(disk.steps(), steps, "the caller does not write");
    assert!(pen.log().step());
    assert_eq!(groups_after_a_crash(&disk), group);
}

#[test]
fn what_is_handed_on_is_sealed_for_the_logging_thread_or_left_where_there_is_none() {
    for drive in DRIVES {
        let (pen, disk) = pen(drive, GroupPolicy::Adaptive);
        let steps = disk.steps();
        let mut held = pen.take().expect("free");
        let group = append(&mut held);
        held.hand_on();
        assert_eq!(disk.steps(), steps, "the caller does not write");
        let next = pen.take().expect("free").appending().position().group;
        assert_eq!(next, group + u64::from(drive.has_threads()));
        assert!(pen.log().step());
        assert_eq!(groups_after_a_crash(&disk), group, "{drive:?}");
    }
}

#[test]
fn what_is_handed_on_while_all_buffers_are_out_goes_on_filling() {
    let (pen, disk) = pen(Drive::Threads, GroupPolicy::Adaptive);
    let pool = pen.log().pool();
    let mut out: Vec<_> = (1..BUFFERS).map(|_| pool.take()).collect();
    let mut group = 0;
    for _ in 0..3 {
        let mut held = pen.take().expect("free");
        group = append(&mut held);
        // If this waited for a buffer, it would for ever: there is no other thread.
        held.hand_on();
    }
    assert_eq!((group, pen.log().step()), (1, false), "it is still open");
    pool.give(out.pop().expect("some are out"));
    assert!(pen.log().step());
    assert_eq!(groups_after_a_crash(&disk), group);
}

#[test]
fn a_forced_group_waits_for_its_count_if_the_policy_says_so() {
    let policy = GroupPolicy::Fixed {
        transactions: 2,
        time: Duration::from_secs(3600),
    };
    let (pen, _) = pen(Drive::Threads, policy);
    let mut held = pen.take().expect("free");
    let group = append(&mut held);
    drop(held.let_go_to_force());
    assert!(!pen.log().step(), "neither the count nor the time is there");
    assert_eq!(append(&mut pen.take().expect("free")), group);
    assert!(pen.log().step());
    assert!(pen.log().is_durable(group));
}
