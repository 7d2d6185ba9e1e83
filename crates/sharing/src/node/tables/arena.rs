//! Memory to which something can be added while its content is borrowed: an operation on a tree uses several pages and
//! asks for one more.

use std::cell::{Cell, OnceCell};

/// Places of the first chunk; each further one has twice as many.
const FIRST: usize = 8;
const CHUNKS: usize = 26;

/// Things by number, from 0, that stay where they are.
#[derive(Debug)]
pub(super) struct Arena<T> {
    chunks: [OnceCell<Box<[OnceCell<T>]>>; CHUNKS],
    length: Cell<usize>,
}

/// The chunk of a number, and the place in it.
fn place(number: usize) -> (usize, usize) {
    let chunk = (number / FIRST + 1).ilog2() as usize;
    (chunk, number - FIRST * ((1 << chunk) - 1))
}

impl<T> Arena<T> {
    pub fn new() -> Self {
        Arena {
            chunks: [const { OnceCell::new() }; CHUNKS],
            length: Cell::new(0),
        }
    }

    pub fn len(&self) -> usize {
        self.length.get()
    }

    /// Adds something: its number, or the thing itself if there is no room for more.
    pub fn push(&self, thing: T) -> Result<usize, T> {
        let number = self.length.get();
        let (chunk, at) = place(number);
        let Some(chunk) = self.chunks.get(chunk).map(|cell| (cell, FIRST << chunk)) else {
            return Err(thing);
        };
        let (cell, places) = chunk;
        let places = cell.get_or_init(|| (0..places).map(|_| OnceCell::new()).collect());
        match places.get(at) {
            Some(cell) => cell.set(thing)?,
            None => return Err(thing),
        }
        self.length.set(number + 1);
        Ok(number)
    }

    pub fn get(&self, number: usize) -> Option<&T> {
        let (chunk, at) = place(number);
        self.chunks.get(chunk)?.get()?.get(at)?.get()
    }

    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let (chunk, at) = place(number);
        self.chunks
            .get_mut(chunk)?
            .get_mut()?
            .get_mut(at)?
            .get_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_stay_where_they_are_and_have_their_numbers() {
        let mut arena = Arena::new();
        let first = arena.push(0).map(|_| arena.get(0).unwrap() as *const i32);
        for number in 1..5000 {
            assert_eq!(arena.push(number), Ok(number as usize));
        }
        assert_eq!(arena.get(0).unwrap() as *const i32, first.unwrap());
        *arena.get_mut(777).unwrap() = -1;
        let sum: i64 = (0..5000).map(|n| i64::from(*arena.get(n).unwrap())).sum();
        assert_eq!(sum, (0..5000).sum::<i64>() - 778);
        assert!(arena.get(5000).is_none());
    }
}
