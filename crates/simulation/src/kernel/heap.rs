//! A priority queue of events: a heap of four children a node, in one array.
//!
//! Most events are dispatched to a process that schedules another before it waits again. So the
//! root that was taken is left vacant: the next event to come is put there and sinks, which is half
//! the work of filling the hole from the end and letting the new one rise. Four children halve the
//! depth of two, and the four lie side by side in memory.

use crate::time::Time;

/// An event's instant and order in one number, so that comparing two events is one comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u128);

impl Event {
    #[inline]
    pub(super) fn new(time: Time, order: u64) -> Event {
        Event(u128::from(time.as_picoseconds()) << 64 | u128::from(order))
    }

    #[inline]
    pub(super) fn time(self) -> Time {
        Time::from_picoseconds((self.0 >> 64) as u64)
    }

    #[inline]
    pub(super) fn order(self) -> u64 {
        self.0 as u64
    }
}

/// Events, the least first.
#[derive(Default)]
pub(super) struct Heap {
    events: Vec<Event>,
    /// The root was taken: `events[0]` means nothing.
    vacant: bool,
}

/// Children of a node.
const CHILDREN: usize = 4;

impl Heap {
    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        if self.vacant {
            self.vacant = false;
            self.sink(event);
        } else {
            self.events.push(event);
            self.rise(event);
        }
    }

    /// The least event.
    #[inline]
    pub(super) fn first(&mut self) -> Option<Event> {
        if self.vacant {
            self.vacant = false;
            let last = self.events.pop()?;
            if self.events.is_empty() {
                return None;
            }
            self.sink(last);
        }
        self.events.first().copied()
    }

    /// Takes away the event that [`first`](Heap::first) has just returned.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        debug_assert!(
            !self.vacant && !self.events.is_empty(),
            "there was a first event"
        );
        self.vacant = true;
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.vacant = false;
    }

    /// Puts `event` at the root, or below it where it belongs.
    #[inline]
    fn sink(&mut self, event: Event) {
        let events = self.events.as_mut_slice();
        let mut place = 0;
        loop {
            let child = CHILDREN * place + 1;
            let (least, first) = if let Some(four) = events.get(child..child + CHILDREN) {
                let left = if four[1] < four[0] { 1 } else { 0 };
                let right = if four[3] < four[2] { 3 } else { 2 };
                let least = if four[right] < four[left] {
                    right
                } else {
                    left
                };
                (child + least, four[least])
            } else {
                let rest = events.get(child..).unwrap_or_default();
                let Some((least, first)) = rest.iter().enumerate().min_by_key(|(_, event)| **event)
                else {
                    break;
                };
                (child + least, *first)
            };
            if event < first {
                break;
            }
            events[place] = first;
            place = least;
        }
        events[place] = event;
    }

    /// Moves `event`, which stands last, up to where it belongs.
    #[inline]
    fn rise(&mut self, event: Event) {
        let events = self.events.as_mut_slice();
        let mut place = events.len() - 1;
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if events[parent] < event {
                break;
            }
            events[place] = events[parent];
            place = parent;
        }
        events[place] = event;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_leave_in_order(steps in prop::collection::vec(prop::option::of(0u64..50), 0..400)) {
            let mut heap = Heap::default();
            let mut expected = BTreeSet::new();
            for (order, step) in (0u64..).zip(steps) {
                match step {
                    Some(time) => {
                        let event = Event::new(Time::from_picoseconds(time), order);
                        heap.push(event);
                        expected.insert((time, order));
                    }
                    None => {
                        let first = heap.first();
                        let found = first.map(|e| (e.time().as_picoseconds(), e.order()));
                        prop_assert_eq!(found, expected.pop_first());
                        if first.is_some() {
                            heap.remove_first();
                        }
                    }
                }
            }
            for (time, order) in expected {
                let first = heap.first().map(|e| (e.time().as_picoseconds(), e.order()));
                prop_assert_eq!(first, Some((time, order)));
                heap.remove_first();
            }
            prop_assert!(heap.first().is_none());
        }
    }
}
