//! The state between any two stores of a process that changes it, as a concurrent reader sees it.

use super::*;

/// An end whose fields all follow from one number.
fn end(n: u64) -> SharedEnd {
    SharedEnd {
        position: LogPosition {
            lsn: Lsn(n * 4096),
            group: n + 1,
            transactions: n * 3,
            incarnation: n as u32,
        },
        tail: n * 7,
    }
}

#[test]
fn i9_who_dies_while_publishing_has_published_nothing_and_the_next_goes_on() {
    let state = LogState::zeroed();
    state.initialise(end(1).position, 9);
    state.publish(end(2));
    let mut good = end(2);
    for fields in 0..5 {
        // A writer that died after so many stores into the slot that is not the newest.
        let published = state.published.load(Ordering::Relaxed);
        let slot = &state.ends[((published + 1) % 2) as usize];
        let torn = [&slot.lsn, &slot.group, &slot.transactions, &slot.tail];
        torn.iter()
            .take(fields)
            .for_each(|field| field.store(!0, Ordering::Relaxed));
        assert_eq!(state.end(), good);
        good = end(10 + fields as u64);
        state.publish(good);
        assert_eq!(state.end(), good);
    }
}

#[test]
fn readers_without_a_lock_never_see_a_mixture_of_two_ends() {
    for publications in 0..5 {
        let state = LogState::zeroed();
        state.initialise(end(1).position, 1);
        state.publish(end(2));
        let mut left = publications;
        let mut attempts = 0;
        let seen = state.read_end(|| {
            attempts += 1;
            // All of them while the first attempt is halfway.
            for n in (0..std::mem::take(&mut left)).map(|k| 3 + k) {
                state.publish(end(n));
            }
        });
        assert_eq!(seen, end(2 + publications));
        assert_eq!(attempts, if publications == 0 { 1 } else { 2 });
    }
}

#[test]
fn who_reads_while_another_publishes_sees_whole_ends_in_order() {
    const ENDS: u64 = 20_000;
    let state = LogState::zeroed();
    state.initialise(end(0).position, 1);
    let start = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            (1..=ENDS).for_each(|n| state.publish(end(n)));
        });
        start.wait();
        let mut last = 0;
        while last < ENDS {
            let seen = state.end();
            let n = seen.position.group - 1;
            assert_eq!(seen, end(n));
            assert!(n >= last, "{n} after {last}");
            last = n;
        }
    });
}

#[test]
fn a_group_that_was_never_placed_has_no_place_and_half_a_placement_is_none() {
    let state = LogState::zeroed();
    assert_eq!(state.placed(1), None);
    state.place(1, Lsn(4096));
    assert_eq!(state.placed(1), Some(Lsn(4096)));
    // Died after the first of the two stores.
    state.placed_lsn.store(8192, Ordering::Relaxed);
    assert_eq!(state.placed(2), None);
}

#[test]
fn i7_the_first_reason_stays_and_one_who_died_before_saying_it_poisons_too() {
    let state = LogState::zeroed();
    state.check().unwrap();
    state.poison("the first");
    state.poison("the second");
    let text = state.check().unwrap_err().to_string();
    assert!(text.contains("the first"), "{text}");
    let state = LogState::zeroed();
    state.poisoned.store(1, Ordering::Relaxed);
    assert!(matches!(
        state.check(),
        Err(SharedLogError::Poisoned { .. })
    ));
    state.poison("too late");
    assert!(state.is_poisoned());
}

#[test]
fn a_notice_ends_a_wait_and_none_is_missed() {
    let state = LogState::zeroed();
    let seen = state.changes();
    state.notify();
    // Already over: it would wait for an hour else.
    let seen = state.wait(seen, Duration::from_secs(3600));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut now = seen;
            while now == seen {
                now = state.wait(seen, Duration::from_secs(3600));
            }
        });
        state.notify();
        waiting.join().unwrap();
    });
}

#[test]
fn waiting_for_room_ends_with_room_or_with_the_reason_why_there_is_none() {
    let layout = LogLayout::new(1, 8192);
    let wait = |state: &LogState| state.wait_for_room(layout, Duration::ZERO);
    let state = LogState::zeroed();
    state.initialise(end(1).position, 1);
    assert!(matches!(wait(&state), Err(SharedLogError::NoRoom)));
    state.refuse(Some("the disk is full"));
    assert!(matches!(wait(&state), Err(SharedLogError::Full { .. })));
    state.publish_prepared_end(Lsn(16384));
    wait(&state).unwrap();
    state.publish(end(2));
    state.begin_driving();
    assert!(matches!(wait(&state), Err(SharedLogError::NoRoom)));
    state.fail_driving("it has no memory", false);
    assert!(matches!(wait(&state), Err(SharedLogError::Driver { .. })));
    state.poison("broken");
    assert!(matches!(wait(&state), Err(SharedLogError::Poisoned { .. })));
}
