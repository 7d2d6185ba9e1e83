//! Group buffers, used again and again, and bounded in number (I10): when the disk or the
//! checkpointer lags, whoever needs a buffer for the next group waits here, and that slows the
//! writers down to what the slowest stage can do.

use super::writer::SealedGroup;
use crate::disk::AlignedBuffer;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// A bounded set of buffers.
#[derive(Debug)]
pub struct BufferPool {
    state: Mutex<State>,
    returned: Condvar,
    buffer_bytes: usize,
    /// `None`: never wait. For running without threads, where nobody else could return one.
    buffers_max: Option<usize>,
}

#[derive(Debug)]
struct State {
    free: Vec<AlignedBuffer>,
    out: usize,
}

impl BufferPool {
    /// A pool of buffers with room for `buffer_bytes` each.
    pub fn new(buffer_bytes: usize, buffers_max: Option<usize>) -> Self {
        BufferPool {
            state: Mutex::new(State {
                free: Vec::new(),
                out: 0,
            }),
            returned: Condvar::new(),
            buffer_bytes,
            buffers_max,
        }
    }

    /// An empty buffer; waits while all are out.
    pub fn take(&self) -> AlignedBuffer {
        let mut state = self.state.lock();
        while self.buffers_max.is_some_and(|max| state.out >= max) {
            self.returned.wait(&mut state);
        }
        state.out += 1;
        let reused = state.free.pop();
        drop(state);
        reused.unwrap_or_else(|| AlignedBuffer::with_capacity(self.buffer_bytes))
    }

    /// Gives a buffer back. One that a large transaction made much larger is freed.
    pub fn give(&self, mut buffer: AlignedBuffer) {
        buffer.clear();
        let mut state = self.state.lock();
        state.out -= 1;
        if buffer.capacity() <= 2 * self.buffer_bytes {
            state.free.push(buffer);
        }
        drop(state);
        self.returned.notify_one();
    }
}

/// A durable group that consumers of the log share; its buffer goes back to the pool with the last
/// of them.
#[derive(Debug)]
pub struct DurableGroup {
    group: Option<SealedGroup>,
    pool: Arc<BufferPool>,
}

impl DurableGroup {
    /// A group whose buffer came from this pool.
    pub fn new(group: SealedGroup, pool: Arc<BufferPool>) -> Self {
        DurableGroup {
            group: Some(group),
            pool,
        }
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
