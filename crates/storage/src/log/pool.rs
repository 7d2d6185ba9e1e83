//! Group buffers, used again and again, and bounded in number (I10). When the disk or the checkpointer lags, a thread
//! that needs a buffer for the next group waits here. That slows the writers down to the slowest stage.
//!
//! A bulk load fills groups beyond the usual size, and its buffers grow. They are used again as long as groups come that
//! fill them so far. Then they are freed: memory that was touched once stays resident, for as long as the database is open.
//! Buffers that no group needed for a while are freed for the same reason.

use super::record::RecordError;
use super::seal::SealedGroup;
use super::split::{LazySplit, Split, Stripes};
use crate::disk::{AlignedBuffer, DIRECT_ALIGNMENT};
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_base::sync::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;

/// The pool looks for idle buffers each time that so many came back. A new buffer costs its page faults, so that few are
/// made for each.
const RETURNS_PER_LOOK: u32 = 64;

/// A bounded set of buffers.
pub struct BufferPool {
    state: Mutex<State>,
    returned: Condvar,
    buffer_bytes: usize,
    /// `None`: never wait. For running without threads, where no other thread could return one.
    buffers_max: Option<usize>,
    /// The number of calls that found no buffer.
    misses: AtomicU64,
    /// Called when a buffer comes back after a thread left without one.
    on_return: Box<dyn Fn() + Send + Sync>,
}

#[derive(Debug)]
struct State {
    /// The last one is used first.
    free: Vec<AlignedBuffer>,
    out: usize,
    /// The least number of free ones since the last look for idle ones.
    least_free: usize,
    /// Buffers that came back since then.
    returns: u32,
    /// A thread left without a buffer.
    missed: bool,
    /// No thread waits any more: some buffers may never come back.
    unbounded: bool,
}

impl State {
    /// A buffer came back. Takes out those that were free since the last look, if it is time for one.
    fn idle(&mut self) -> Vec<AlignedBuffer> {
        self.returns += 1;
        // Larger ones may have been freed meanwhile.
        self.least_free = self.least_free.min(self.free.len());
        if self.returns < RETURNS_PER_LOOK {
            return Vec::new();
        }
        // The first ones are used last.
        let idle = self.free.drain(..self.least_free).collect();
        (self.returns, self.least_free) = (0, self.free.len());
        idle
    }
}

impl BufferPool {
    /// A pool of buffers with room for `buffer_bytes` each, rounded up to the alignment. `on_return` is called when
    /// there is a buffer again after [`BufferPool::try_take`] found none.
    pub fn new(
        buffer_bytes: usize,
        buffers_max: Option<usize>,
        on_return: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        BufferPool {
            state: Mutex::new(State {
                free: Vec::new(),
                out: 0,
                least_free: 0,
                returns: 0,
                missed: false,
                unbounded: false,
            }),
            returned: Condvar::new(),
            buffer_bytes: buffer_bytes.next_multiple_of(DIRECT_ALIGNMENT),
            buffers_max,
            misses: AtomicU64::new(0),
            on_return: Box::new(on_return),
        }
    }

    fn all_out(&self, state: &State) -> bool {
        !state.unbounded && self.buffers_max.is_some_and(|max| state.out >= max)
    }

    /// The log is poisoned, and holders of buffers may have died with them, so threads stop waiting for one. There is
    /// no bound then; but nothing new is admitted that would need one.
    pub fn stop_waiting(&self) {
        self.state.lock().unbounded = true;
        self.returned.notify_all();
    }

    /// An empty buffer; waits while all are out.
    pub fn take(&self) -> AlignedBuffer {
        let mut state = self.state.lock();
        while self.all_out(&state) {
            self.returned.wait(&mut state);
        }
        self.take_from(state)
    }

    /// An empty buffer, unless all are out.
    pub fn try_take(&self) -> Option<AlignedBuffer> {
        let mut state = self.state.lock();
        if self.all_out(&state) {
            state.missed = true;
            self.misses.fetch_add(1, Ordering::SeqCst);
            return None;
        }
        Some(self.take_from(state))
    }

    /// Waits until all buffers are back, or it is known that some may never come back.
    pub fn wait_for_all(&self) {
        let mut state = self.state.lock();
        while state.out > 0 && !state.unbounded {
            self.returned.wait(&mut state);
        }
    }

    /// The number of times that [`BufferPool::try_take`] found none.
    #[inline]
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::SeqCst)
    }

    /// Returns true if there is a buffer now; if not, `on_return` will be called.
    pub fn is_ready(&self) -> bool {
        let mut state = self.state.lock();
        state.missed = self.all_out(&state);
        !state.missed
    }

    fn take_from(&self, mut state: MutexGuard<'_, State>) -> AlignedBuffer {
        state.out += 1;
        let reused = state.free.pop();
        state.least_free = state.least_free.min(state.free.len());
        drop(state);
        reused.unwrap_or_else(|| AlignedBuffer::with_capacity(self.buffer_bytes))
    }

    /// The most bytes that the buffers take, if those in use have the usual size.
    #[inline]
    pub fn bytes(&self) -> u64 {
        let state = self.state.lock();
        let free: usize = state.free.iter().map(AlignedBuffer::capacity).sum();
        (free + state.out * self.buffer_bytes) as u64
    }

    /// Gives a buffer back. One that a large transaction made much larger is freed. After a group of usual size, larger
    /// buffers are: this one, or one that is not in use. From time to time, those are freed that were not used since the
    /// last time.
    pub fn give(&self, mut buffer: AlignedBuffer) {
        let is_usual = buffer.len() <= self.buffer_bytes;
        buffer.clear();
        let grew = |buffer: &AlignedBuffer| buffer.capacity() > self.buffer_bytes;
        let mut state = self.state.lock();
        state.out -= 1;
        let freed = match is_usual {
            true if grew(&buffer) => Some(buffer),
            true => {
                let idle = state.free.iter().position(grew);
                let idle = idle.map(|at| state.free.swap_remove(at));
                state.free.push(buffer);
                idle
            }
            false if buffer.capacity() > 2 * self.buffer_bytes => Some(buffer),
            false => {
                state.free.push(buffer);
                None
            }
        };
        let idle = state.idle();
        let missed = std::mem::take(&mut state.missed);
        drop(state);
        // Giving memory back to the system takes long.
        drop((freed, idle));
        self.returned.notify_one();
        if missed {
            (self.on_return)();
        }
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool")
            .field("state", &self.state)
            .field("buffer_bytes", &self.buffer_bytes)
            .field("buffers_max", &self.buffers_max)
            .finish_non_exhaustive()
    }
}

/// A durable group that consumers of the log share; its buffer goes back to the pool with the last
/// of them.
#[derive(Debug)]
pub struct DurableGroup {
    group: Option<SealedGroup>,
    split: LazySplit,
    pool: Arc<BufferPool>,
}

impl DurableGroup {
    /// A group whose buffer came from this pool.
    pub fn new(group: SealedGroup, pool: Arc<BufferPool>) -> Self {
        DurableGroup {
            group: Some(group),
            split: LazySplit::default(),
            pool,
        }
    }

    /// Its records by stripe, which all consumers share. All ask for the same stripes.
    ///
    /// # Errors
    /// If the payload is not one of records.
    pub(crate) fn split(&self, stripes: Stripes) -> Result<Arc<Split>, RecordError> {
        self.split.get(self.payload(), stripes)
    }
}

impl std::ops::Deref for DurableGroup {
    type Target = SealedGroup;

    fn deref(&self) -> &SealedGroup {
        self.group.as_ref().expect("taken only by drop")
    }
}

impl Drop for DurableGroup {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            self.pool.give(group.into_buffer());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: usize = 4 * DIRECT_ALIGNMENT;

    fn capacities(pool: &BufferPool) -> Vec<usize> {
        let state = pool.state.lock();
        state.free.iter().map(AlignedBuffer::capacity).collect()
    }

    #[test]
    fn larger_buffers_are_kept_while_groups_fill_them_and_freed_by_usual_groups() {
        let pool = BufferPool::new(USUAL, Some(6), || {});
        let group = |bytes: &[usize]| {
            let taken: Vec<_> = bytes.iter().map(|_| pool.take()).collect();
            for (mut buffer, bytes) in taken.into_iter().zip(bytes) {
                buffer.extend_zeroed(*bytes);
                pool.give(buffer);
            }
        };
        group(&[USUAL + 1; 3]);
        assert_eq!(capacities(&pool), [2 * USUAL; 3], "of a load");
        group(&[USUAL + 1; 3]);
        assert_eq!(capacities(&pool), [2 * USUAL; 3], "used again");
        group(&[USUAL + 1, USUAL + 1, USUAL + 1, 100]);
        assert_eq!(
            capacities(&pool),
            [2 * USUAL, 2 * USUAL, USUAL],
            "an idle one less"
        );
        group(&[100]);
        group(&[100]);
        assert_eq!(capacities(&pool), [USUAL]);
        group(&[USUAL + 1]);
        group(&[100]);
        assert_eq!(capacities(&pool), [0; 0], "larger, and not filled");
        group(&[2 * USUAL + 1]);
        assert_eq!(capacities(&pool), [0; 0], "much larger");
    }

    #[test]
    fn buffers_that_no_group_needed_for_a_while_are_freed() {
        let pool = BufferPool::new(USUAL, Some(6), || {});
        let use_together = |count: usize| {
            let taken: Vec<_> = (0..count).map(|_| pool.take()).collect();
            taken.into_iter().for_each(|buffer| pool.give(buffer));
        };
        use_together(6);
        assert_eq!(pool.bytes(), 6 * USUAL as u64);
        // Buffers that are needed now and then stay.
        for _ in 0..RETURNS_PER_LOOK {
            use_together(1);
            use_together(1);
            use_together(4);
        }
        assert_eq!(capacities(&pool), [USUAL; 4]);
        for _ in 0..2 * RETURNS_PER_LOOK {
            use_together(1);
        }
        assert_eq!(capacities(&pool), [USUAL]);
        let taken = pool.take();
        assert_eq!(pool.bytes(), USUAL as u64, "in use");
        pool.give(taken);
    }
}
