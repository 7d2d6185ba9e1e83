//! A priority queue of events: a heap of four children a node.
//!
//! Most events are dispatched to a process that schedules another before it waits again. So the place of the removed
//! root is left vacant. The next event to come is put there and sinks. That is half the work of filling the hole from
//! the end and letting the new one rise. Four children halve the depth of two, and the four share one line of the
//! processor's cache.

use crate::time::Time;

/// An event's instant and order in one number, so that comparing two events is one comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u128);

/// Children of a node.
const CHILDREN: usize = 4;

impl Event {
    /// Later than every event: its order has more digits than a queue gives.
    const NEVER: Event = Event(u128::MAX);

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

/// The children of one node. A missing child is [`Event::NEVER`], which is never the least.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Siblings([Event; CHILDREN]);

/// Events, the least first.
///
/// Nodes are numbered level by level from the root, which is 0; the children of node `n` are
/// `siblings[n]`, and so nodes `4n + 1` to `4n + 4`.
pub(super) struct Heap {
    /// [`Event::NEVER`] if the root was taken, or if there is no event.
    root: Event,
    siblings: Vec<Siblings>,
    /// The number of events below the root.
    below: usize,
}

impl Heap {
    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        if self.root == Event::NEVER {
            self.sink(event);
        } else {
            if self.below.is_multiple_of(CHILDREN) {
                self.siblings.push(Siblings([Event::NEVER; CHILDREN]));
            }
            self.below += 1;
            self.rise(event);
        }
    }

    /// The least event.
    #[inline]
    pub(super) fn first(&mut self) -> Option<Event> {
        if self.root == Event::NEVER {
            let last = self.remove_last()?;
            self.sink(last);
        }
        Some(self.root)
    }

    /// Takes away the event that [`first`](Heap::first) has just returned.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        self.root = Event::NEVER;
    }

    pub(super) fn clear(&mut self) {
        *self = Heap::default();
    }

    /// Takes away the event with the highest number, if there is any below the root.
    #[inline]
    fn remove_last(&mut self) -> Option<Event> {
        self.below = self.below.checked_sub(1)?;
        let siblings = self.siblings.last_mut()?;
        let place = self.below % CHILDREN;
        let last = std::mem::replace(&mut siblings.0[place], Event::NEVER);
        if place == 0 {
            self.siblings.pop();
        }
        Some(last)
    }

    /// Puts `event` at the vacant root, or below it where it belongs.
    #[inline]
    fn sink(&mut self, event: Event) {
        let mut node = 0;
        while let Some(Siblings(four)) = self.siblings.get(node) {
            let left = if four[1] < four[0] { 1 } else { 0 };
            let right = if four[3] < four[2] { 3 } else { 2 };
            let least = if four[right] < four[left] {
                right
            } else {
                left
            };
            let first = four[least];
            if event < first {
                break;
            }
            *self.node(node) = first;
            node = CHILDREN * node + 1 + least;
        }
        *self.node(node) = event;
    }

    /// Puts `event` at the highest node, or above it where it belongs.
    #[inline]
    fn rise(&mut self, event: Event) {
        let mut node = self.below;
        while node > 0 {
            let parent = (node - 1) / CHILDREN;
            let above = *self.node(parent);
            if above < event {
                break;
            }
            *self.node(node) = above;
            node = parent;
        }
        *self.node(node) = event;
    }

    #[inline]
    fn node(&mut self, node: usize) -> &mut Event {
        match node.checked_sub(1) {
            None => &mut self.root,
            Some(below) => &mut self.siblings[below / CHILDREN].0[below % CHILDREN],
        }
    }
}

impl Default for Heap {
    fn default() -> Self {
        Heap {
            root: Event::NEVER,
            siblings: Vec::new(),
            below: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_leave_in_order(
            steps in prop::collection::vec(prop::option::of(0u64..50), 0..400),
        ) {
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
