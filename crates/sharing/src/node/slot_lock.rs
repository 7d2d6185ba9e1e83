//! A lock in shared memory that is held in the name of a node: a word, 0 or the node's number plus one.
//!
//! A node that finds it held by a dead node takes it from that one. Liveness is that of the slots of the
//! global lock table (see [`crate::lock_table::segment`]), and a node's number is never used again. So a
//! holder changes shared memory in such an order that a death between any two stores leaves a sound state
//! (I9). A node that is stopped is not dead, and keeps what it holds.

use super::gem::{Gem, step};
use super::layout::Common;
use crate::protocol::NodeId;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// After so many looks the processor is given to others; after some more the dead are looked for.
const LOOKS: u32 = 200;
const LOOKS_PATIENT: u32 = 2000;

/// Between two looks of who has been waiting for long.
const PAUSE: Duration = Duration::from_micros(100);

fn name(node: NodeId) -> u64 {
    u64::from(node.0) + 1
}

impl Gem {
    /// Takes a lock for a node, if it is free or a dead node's.
    pub fn try_lock(&self, lock: Common, node: NodeId) -> bool {
        step();
        let word = self.common(lock);
        let take = |from| {
            word.compare_exchange(from, name(node), Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        };
        if take(0) {
            return true;
        }
        let holder = word.load(Ordering::SeqCst);
        let dead = holder != 0 && !self.lives(NodeId((holder - 1) as u16));
        dead && take(holder)
    }

    /// Takes a lock for a node; waits for it.
    pub fn lock(&self, lock: Common, node: NodeId) {
        let mut looks = 0;
        while !self.try_lock(lock, node) {
            looks += 1;
            #[cfg(test)]
            assert!(looks < 100_000, "{lock:?} is held for ten seconds");
            match looks {
                0..LOOKS => std::hint::spin_loop(),
                LOOKS..LOOKS_PATIENT => std::thread::yield_now(),
                _ => {
                    self.segment().find_dead();
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Gives a lock back. The caller holds it.
    pub fn unlock(&self, lock: Common) {
        step();
        self.common(lock).store(0, Ordering::SeqCst);
    }
}
