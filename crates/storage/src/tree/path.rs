//! The inner nodes on the way to a leaf, in place for as many levels as a tree ever has in practice.

use super::descent::Step;
use crate::page::PageId;
use std::ops::Deref;

/// Levels that need no allocation: with 30 children to a node these are 700 million leaves.
const NEAR: usize = 6;

/// Steps from the root.
#[derive(Clone, Debug)]
pub struct Path(Steps);

#[derive(Clone, Debug)]
enum Steps {
    /// The first so many of the array.
    Near([Step; NEAR], usize),
    /// More than fit there.
    Far(Vec<Step>),
}

impl Path {
    /// The path of the root.
    #[inline]
    pub(super) fn new() -> Path {
        let none = Step {
            index: 0,
            id: PageId(0),
            child: 0,
        };
        Path(Steps::Near([none; NEAR], 0))
    }

    /// Goes one level down.
    #[inline]
    pub(super) fn push(&mut self, step: Step) {
        match &mut self.0 {
            Steps::Near(steps, len) if *len < NEAR => {
                steps[*len] = step;
                *len += 1;
            }
            Steps::Near(steps, _) => self.0 = Steps::Far([&steps[..], &[step]].concat()),
            Steps::Far(steps) => steps.push(step),
        }
    }

    /// Goes one level up.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Step> {
        match &mut self.0 {
            Steps::Near(steps, len) => {
                *len = len.checked_sub(1)?;
                Some(steps[*len])
            }
            Steps::Far(steps) => steps.pop(),
        }
    }
}

impl Deref for Path {
    type Target = [Step];

    #[inline]
    fn deref(&self) -> &[Step] {
        match &self.0 {
            Steps::Near(steps, len) => &steps[..*len],
            Steps::Far(steps) => steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_gets_longer_than_its_place_and_short_again() {
        let mut path = Path::new();
        for child in 0..2 * NEAR {
            assert_eq!(path.len(), child);
            path.push(Step {
                index: 1,
                id: PageId(0),
                child,
            });
        }
        for child in (0..2 * NEAR).rev() {
            assert_eq!(path.last().map(|step| step.child), Some(child));
            assert_eq!(path.pop().map(|step| step.child), Some(child));
        }
        assert!(path.is_empty() && path.pop().is_none());
    }
}
