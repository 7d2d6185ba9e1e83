//! Walking from leaf to leaf. Leaves are not linked; the path knows the parents.

use std::ops::Bound;

use super::space::ROOT;
use super::{BPlusTree, Path};
use crate::structures::error::Error;
use crate::structures::key::Key;
use crate::structures::page::Pages;
use crate::structures::range::{Direction, Ordered};

impl<S: Pages, K: Key, const V: usize, const FAN_OUT: usize> BPlusTree<S, K, V, FAN_OUT> {
    /// The path to the first entry; `None` if there is none.
    pub(super) fn seek_path(&self, bound: Bound<K>) -> Result<Option<Path>, Error> {
        self.seek(bound, Direction::Forward)
    }

    /// Moves to the first entry of the next leaf.
    pub(super) fn next_leaf(&self, path: &mut Path) -> Result<bool, Error> {
        self.turn(path, Direction::Forward)
    }

    /// Goes down from the node on a level to the nearest entry in a direction.
    fn sink(&self, path: &mut Path, from: usize, direction: Direction) -> Result<(), Error> {
        let (mut bytes, mut header) = self.header(path.steps[from].page)?;
        for level in (1..=from).rev() {
            let inner = self.inner(bytes, header);
            let index = if direction == Direction::Forward {
                0
            } else {
                inner.count()
            };
            path.steps[level].index = index;
            path.steps[level - 1].page = inner.child(index);
            (bytes, header) = self.below(inner.child(index), level)?;
        }
        path.steps[0].index = if direction == Direction::Forward {
            0
        } else {
            header.count.saturating_sub(1)
        };
        Ok(())
    }

    /// Moves to the nearest entry of the neighbouring leaf; false if there is none.
    fn turn(&self, path: &mut Path, direction: Direction) -> Result<bool, Error> {
        for level in 1..=path.top {
            let step = path.steps[level];
            let (bytes, header) = self.header(step.page)?;
            let next = match direction {
                Direction::Forward if step.index < header.count => step.index + 1,
                Direction::Backward if step.index > 0 => step.index - 1,
                _ => continue,
            };
            let child = self.inner(bytes, header).child(next);
            self.below(child, level)?;
            path.steps[level].index = next;
            path.steps[level - 1].page = child;
            self.sink(path, level - 1, direction)?;
            return Ok(true);
        }
        Ok(false)
    }
}

impl<S: Pages, K: Key, const V: usize, const FAN_OUT: usize> Ordered
    for BPlusTree<S, K, V, FAN_OUT>
{
    type Key = K;
    type Value = [u8; V];
    type Place = Path;

    fn seek(&self, bound: Bound<K>, direction: Direction) -> Result<Option<Path>, Error> {
        let (Bound::Included(key) | Bound::Excluded(key)) = bound else {
            let header = self.header(ROOT)?.1;
            let mut path = Path::new(header.level);
            path.steps[path.top].page = ROOT;
            self.sink(&mut path, header.level, direction)?;
            return Ok((header.level > 0 || header.count > 0).then_some(path));
        };
        let mut path = self.descend(key)?;
        let page = path.steps[0].page;
        let (bytes, header) = self.header(page)?;
        let inclusive = matches!(bound, Bound::Included(_));
        let before_key = inclusive == (direction == Direction::Forward);
        let before = self
            .leaf(bytes, page, header)
            .partition(|other| other < key || (!before_key && other == key))?;
        let index = match direction {
            Direction::Forward => (before < header.count).then_some(before),
            Direction::Backward => before.checked_sub(1),
        };
        match index {
            Some(index) => {
                path.steps[0].index = index;
                Ok(Some(path))
            }
            None => Ok(self.turn(&mut path, direction)?.then_some(path)),
        }
    }

    fn step(&self, path: &mut Path, direction: Direction) -> Result<bool, Error> {
        let step = &mut path.steps[0];
        let count = self.header(step.page)?.1.count;
        match direction {
            Direction::Forward if step.index + 1 < count => step.index += 1,
            Direction::Backward if step.index > 0 => step.index -= 1,
            _ => return self.turn(path, direction),
        }
        Ok(true)
    }

    fn entry(&self, path: &Path) -> Result<(K, [u8; V], usize), Error> {
        let page = path.steps[0].page;
        let (bytes, header) = self.header(page)?;
        let (key, value) = self.leaf(bytes, page, header).entry(path.steps[0].index)?;
        Ok((key, value, page))
    }
}
