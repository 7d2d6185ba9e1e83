//! The queue between two stages. The taking stage takes *all* waiting items, so that a batch shares the
//! cost of the hand-over. A stage that would exceed the bound waits (I10).
//!
//! Source: TPK paper, section 2, "Transaction Input and Output".

use sardonyx_base::process::Process;
use sardonyx_base::sync::{Condvar, Mutex};
use std::collections::VecDeque;

/// A bounded queue that is emptied at once.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    process: Process,
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
            process: Process::current(),
            state: Mutex::new(state),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            items_max,
        }
    }

    /// Adds an item; waits while the queue is full. Returns the item if the queue is closed, or in a forked child, which
    /// has no stages.
    pub fn push(&self, item: T) -> Result<(), T> {
        if !self.process.is_current() {
            return Err(item);
        }
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
    /// when the queue is closed and empty, or another process'.
    pub fn take_all(&self, into: &mut VecDeque<T>) -> bool {
        debug_assert!(into.is_empty());
        if !self.process.is_current() {
            return false;
        }
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

    /// When the returned value is dropped, the taker has ended: further items are refused, and waiting
    /// ones are dropped.
    pub fn refused_afterwards(&self) -> RefusedAfterwards<'_, T> {
        RefusedAfterwards(self)
    }

    /// Refuses further items; those in the queue can still be taken.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }
}

/// See [`Queue::refused_afterwards`].
#[derive(Debug)]
pub(crate) struct RefusedAfterwards<'a, T>(&'a Queue<T>);

impl<T> Drop for RefusedAfterwards<'_, T> {
    fn drop(&mut self) {
        if !self.0.process.is_current() {
            return;
        }
        self.0.close();
        let left = std::mem::take(&mut self.0.state.lock().items);
        drop(left);
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

#[cfg(all(test, shuttle))]
mod shuttle_model {
    use super::*;
    use sardonyx_base::sync::thread;
    use std::sync::Arc;

    /// Givers and takers at a queue that is full after every item, and its closing meanwhile.
    fn exchange(takers: usize) {
        let queue = Arc::new(Queue::new(1));
        let givers: Vec<_> = (0..2u32)
            .map(|giver| {
                let queue = queue.clone();
                thread::spawn(move || (0..3).for_each(|n| queue.push((giver, n)).expect("open")))
            })
            .collect();
        let takers: Vec<_> = (0..takers)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    let (mut batch, mut seen) = (VecDeque::new(), Vec::new());
                    while queue.take_all(&mut batch) {
                        assert_eq!(batch.len(), 1, "the bound holds");
                        seen.extend(batch.drain(..));
                    }
                    seen
                })
            })
            .collect();
        givers
            .into_iter()
            .for_each(|giver| giver.join().expect("ends"));
        queue.close();
        let mut all = Vec::new();
        for taker in takers {
            let seen = taker.join().expect("ends");
            for giver in 0..2 {
                let of_giver = seen.iter().filter(|(g, _)| *g == giver);
                assert!(of_giver.is_sorted(), "a giver's order is kept");
            }
            all.extend(seen);
        }
        all.sort_unstable();
        let expected: Vec<_> = (0..2).flat_map(|g| (0..3).map(move |n| (g, n))).collect();
        assert_eq!(all, expected, "each is taken once");
    }

    #[test]
    fn shuttle_i10_a_queue_hands_everything_over_once() {
        shuttle::check_random(|| exchange(1), 3000);
        shuttle::check_pct(|| exchange(1), 3000, 3);
    }

    #[test]
    fn shuttle_i10_a_queue_with_two_takers() {
        shuttle::check_random(|| exchange(2), 3000);
        shuttle::check_pct(|| exchange(2), 3000, 3);
    }

    #[test]
    fn shuttle_i10_who_waits_at_a_full_queue_is_told_of_its_closing() {
        let body = || {
            let queue = Arc::new(Queue::new(1));
            queue.push(0).expect("open");
            let giver = {
                let queue = queue.clone();
                thread::spawn(move || queue.push(1))
            };
            let taker = {
                let queue = queue.clone();
                thread::spawn(move || {
                    let (mut batch, mut taken) = (VecDeque::new(), 0);
                    while queue.take_all(&mut batch) {
                        taken += batch.drain(..).count();
                    }
                    taken
                })
            };
            queue.close();
            let refused = giver.join().expect("ends").is_err();
            assert_eq!(taker.join().expect("ends"), 2 - usize::from(refused));
        };
        shuttle::check_random(body, 3000);
        shuttle::check_pct(body, 3000, 3);
    }
}
