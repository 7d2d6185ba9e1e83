//! Pages on their way from one node to another across GEM (GEM paper, section 6: "using GEM for implementing
//! the page transfers"). Each node has some frames, and a claim for each.
//!
//! A claim is 0, or names the node for which the frame has a page. Its owner claims it; who has read the page
//! frees it. When a node has failed, the frames' owners free frames that wait for it. The receivers free those
//! that it filled without telling them: by then they have read all that it has sent.

use super::gem::{Gem, PageBytes, slot_of, step};
use super::layout::TRANSFERS;
use crate::protocol::NodeId;
use std::sync::atomic::Ordering;

fn name(node: NodeId) -> u64 {
    u64::from(node.0) + 1
}

impl Gem {
    fn frames_of(&self, slot: usize) -> std::ops::Range<usize> {
        slot * TRANSFERS..(slot + 1) * TRANSFERS
    }

    /// Puts a page there for another node; `None`: all frames of this node's are in use.
    pub fn put_page(&self, from: NodeId, to: NodeId, bytes: &PageBytes) -> Option<usize> {
        let mut frames = self.frames_of(slot_of(from));
        let claim = |frame: &usize| self.word(self.shape().claim(*frame));
        let frame = frames.find(|frame| claim(frame).load(Ordering::Acquire) == 0)?;
        step();
        claim(&frame).store(name(to), Ordering::SeqCst);
        step();
        self.copy_in(self.shape().transfer(frame), bytes);
        Some(frame)
    }

    /// Takes a page out of a frame; `false`: there is none for this node.
    pub fn take_page(&self, frame: usize, to: NodeId, bytes: &mut PageBytes) -> bool {
        if frame >= self.shape().slots * TRANSFERS
            || self.word(self.shape().claim(frame)).load(Ordering::SeqCst) != name(to)
        {
            return false;
        }
        self.copy_out(self.shape().transfer(frame), bytes);
        self.free_frame(frame, to);
        true
    }

    pub fn free_frame(&self, frame: usize, to: NodeId) {
        if frame < self.shape().slots * TRANSFERS {
            step();
            let claim = self.word(self.shape().claim(frame));
            let _ = claim.compare_exchange(name(to), 0, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Frees what one node has put there for another.
    pub fn free_frames(&self, from: usize, to: NodeId) {
        for frame in self.frames_of(from) {
            self.free_frame(frame, to);
        }
    }

    /// Frees what a failed node has put there for nodes that have failed, too.
    pub fn free_frames_for_the_dead(&self, from: usize) {
        for frame in self.frames_of(from) {
            let claimed = self.word(self.shape().claim(frame)).load(Ordering::SeqCst);
            if let Some(node) = claimed.checked_sub(1)
                && !self.lives(NodeId(node as u16))
            {
                self.free_frame(frame, NodeId(node as u16));
            }
        }
    }

    #[cfg(test)]
    pub fn frames_in_use(&self) -> usize {
        let all = 0..self.shape().slots * TRANSFERS;
        all.filter(|&frame| self.word(self.shape().claim(frame)).load(Ordering::SeqCst) != 0)
            .count()
    }
}
