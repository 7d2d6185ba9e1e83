//! The queue between two stages: whoever takes from it takes *all* that waits, so that the cost of
//! the hand-over is shared by a batch. Bounded: who would overfill it waits (I10).
//!
//! Source: Li & Naughton, section 2, "Transaction Input and Output".

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

/// A bounded queue that is emptied at once.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    emptied: Condvar,
    items_max: usize,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    closed: bool,
    takers_waiting: usize,
    givers_waiting: usize,
}

impl<T> Queue<T> {
    /// A queue of at most `items_max` items.
    pub fn new(items_max: usize) -> Self {
        let state = State {
            items: VecDeque::new(),
            closed: false,
            takers_waiting: 0,
            givers_waiting: 0,
        };
        Queue {
            state: Mutex::new(state),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            items_max,
        }
    }

    /// Adds an item; waits while the queue is full. Gives it back if the queue is closed.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.state.lock();
        while state.items.len() >= self.items_max && !state.closed {
            state.givers_waiting += 1;
            self.emptied.wait(&mut state);
            state.givers_waiting -= 1;
        }
        if state.closed {
            return Err(item);
        }
        state.items.push_back(item);
        let wake = state.takers_waiting > 0;
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Moves all items into `into`, which must be empty; waits while there are none. Returns false
    /// when the queue is closed and empty.
    pub fn take_all(&self, into: &mut VecDeque<T>) -> bool {
        debug_assert!(into.is_empty());
        let mut state = self.state.lock();
        while state.items.is_empty() {
            if state.closed {
                return false;
            }
            state.takers_waiting += 1;
            self.filled.wait(&mut state);
            state.takers_waiting -= 1;
        }
        std::mem::swap(&mut state.items, into);
        let wake = state.givers_waiting > 0;
        drop(state);
        if wake {
            self.emptied.notify_all();
        }
        true
    }

    /// Refuses further items; those in the queue can still be taken.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i10_everything_given_is_taken_once_and_the_bound_holds() {
        let queue = Queue::new(4);
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            for giver in 0..3u32 {
                let queue = &queue;
                scope.spawn(move || {
                    for n in 0..1000 {
                        queue.push((giver, n)).expect("open");
                    }
                });
            }
            let mut batch = VecDeque::new();
            while seen.len() < 3000 {
                assert!(queue.take_all(&mut batch));
                assert!(batch.len() <= 4);
                seen.extend(batch.drain(..));
            }
        });
        for giver in 0..3 {
            let of_giver: Vec<u32> = seen
                .iter()
                .filter(|(g, _)| *g == giver)
                .map(|(_, n)| *n)
                .collect();
            assert_eq!(
                of_giver,
                (0..1000).collect::<Vec<_>>(),
                "each giver's order is kept"
            );
        }
        queue.close();
        assert_eq!(queue.push((0, 0)), Err((0, 0)));
        assert!(!queue.take_all(&mut VecDeque::new()));
    }
}
