//! The processes of a run: futures in slots that are used again.
//!
//! A slot remembers which event number was next when its process was born. An event that an earlier
//! process of the slot left behind is older than that, and so never resumes a stranger.

use std::future::Future;
use std::pin::Pin;

use super::queue::{MOST_PROCESSES, Sequence};

/// A process's future.
pub(super) type Body = Pin<Box<dyn Future<Output = ()>>>;

/// All living processes.
#[derive(Default)]
pub(super) struct Processes {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

struct Slot {
    /// Absent while the slot is free, and while its process runs.
    body: Option<Body>,
    born: Option<Sequence>,
}

impl Processes {
    /// Gives `body` a slot; events numbered from `born` on are for it.
    pub(super) fn insert(&mut self, body: Body, born: Sequence) -> u32 {
        let occupied = Slot {
            body: Some(body),
            born: Some(born),
        };
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = occupied;
            return slot;
        }
        assert!(
            self.slots.len() < MOST_PROCESSES,
            "at most {MOST_PROCESSES} processes live at one time"
        );
        self.slots.push(occupied);
        self.slots.len() as u32 - 1
    }

    /// Takes out the process that the event `sequence` is to resume, and its birth, which
    /// [`put_back`](Processes::put_back) asks for. Absent if that process ended meanwhile.
    #[inline]
    pub(super) fn take(&mut self, slot: u32, sequence: Sequence) -> Option<(Body, Sequence)> {
        let slot = &mut self.slots[slot as usize];
        let born = slot.born.filter(|&born| born <= sequence)?;
        Some((slot.body.take()?, born))
    }

    /// Puts back a process that waits again. Returns it if its slot was cleared meanwhile.
    #[inline]
    pub(super) fn put_back(&mut self, slot: u32, body: Body, born: Sequence) -> Option<Body> {
        let slot = &mut self.slots[slot as usize];
        if slot.born != Some(born) {
            return Some(body);
        }
        slot.body = Some(body);
        None
    }

    /// Frees the slot of a process that ended, unless it was cleared meanwhile.
    #[inline]
    pub(super) fn retire(&mut self, slot: u32, born: Sequence) {
        let occupied = &mut self.slots[slot as usize];
        if occupied.born == Some(born) {
            occupied.born = None;
            self.free.push(slot);
        }
    }

    /// Frees every slot and returns the waiting processes, for the caller to drop without a borrow: their drops may
    /// call the kernel.
    pub(super) fn clear(&mut self) -> Vec<Body> {
        let mut bodies = Vec::new();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            bodies.extend(slot.body.take());
            if slot.born.take().is_some() {
                self.free.push(index as u32);
            }
        }
        bodies
    }

    /// The number of slots, free ones included.
    #[cfg(test)]
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }
}
