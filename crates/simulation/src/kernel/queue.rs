//! The pending events of a run, the earliest on top.
//!
//! An event names the instant at which a process is to be resumed. Events of one instant leave in
//! the order in which they were scheduled. The order of ties is part of a run and must replay
//! (invariant I11), so every event carries a number that only grows.
//!
//! An event is sixteen bytes: the instant, and the event's number with the process's slot in its
//! low bits, so that comparing two events is comparing two pairs of integers.

use std::collections::VecDeque;

use super::heap::{Event, Heap};
use crate::time::Time;

/// The bits of an event's order that name the process's slot.
const SLOT_BITS: u32 = 24;

/// The most processes that live at one time.
pub(super) const MOST_PROCESSES: usize = 1 << SLOT_BITS;

/// The number of an event among all events of a run, in order of scheduling.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Sequence(u64);

/// The process to resume next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Due {
    pub(super) time: Time,
    pub(super) sequence: Sequence,
    pub(super) slot: u32,
}

/// The pending events.
#[derive(Default)]
pub(super) struct EventQueue {
    later: Heap,
    /// Events scheduled for the present instant once it was reached, which are therefore younger
    /// than every event of this instant in `later`.
    present: VecDeque<u64>,
    scheduled: u64,
}

impl EventQueue {
    /// The number that the next event will have.
    pub(super) fn next_sequence(&self) -> Sequence {
        Sequence(self.scheduled)
    }

    /// Adds an event at `time`, which is not before `now`.
    #[inline]
    pub(super) fn schedule(&mut self, now: Time, time: Time, slot: u32) {
        debug_assert!(time >= now, "an event in the past");
        assert!(
            self.scheduled < 1 << (u64::BITS - SLOT_BITS),
            "a run has at most 2^40 events"
        );
        let order = self.scheduled << SLOT_BITS | u64::from(slot);
        self.scheduled += 1;
        if time == now {
            self.present.push_back(order);
        } else {
            self.later.push(Event::new(time, order));
        }
    }

    /// Takes the next event if it is not after `end`.
    #[inline]
    pub(super) fn take(&mut self, now: Time, end: Time) -> Option<Due> {
        let later = self.later.first();
        if let Some(event) = later
            && (event.time() == now || (self.present.is_empty() && event.time() <= end))
        {
            self.later.remove_first();
            return Some(Due::new(event.time(), event.order()));
        }
        self.present.pop_front().map(|order| Due::new(now, order))
    }

    /// Forgets every pending event. The numbers go on, so that earlier events stay older than later ones.
    pub(super) fn clear(&mut self) {
        self.later.clear();
        self.present.clear();
    }
}

impl Due {
    #[inline]
    fn new(time: Time, order: u64) -> Due {
        Due {
            time,
            sequence: Sequence(order >> SLOT_BITS),
            slot: (order & (MOST_PROCESSES as u64 - 1)) as u32,
        }
    }
}
