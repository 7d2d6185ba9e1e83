//! A list in parts that copies share: to copy it takes as long as to copy a pointer, whatever its length.
//!
//! A change copies the part that has the element, and the list of parts, if another copy has them too. So a catalogue of
//! ten thousand tables is kept at each change for some hundred words, and two copies are compared by their parts' addresses.
//! A list that no other copy shares is changed in place.
//!
//! Invariant: every part but the last has exactly `N` elements, and none is empty.

use std::ops::Index;
use std::sync::Arc;

/// A list in parts of `N` elements.
#[derive(Debug)]
pub struct Parts<T, const N: usize = 64> {
    parts: Arc<Vec<Arc<Vec<T>>>>,
    len: usize,
}

// Not derived: a copy needs no copy of an element.
impl<T, const N: usize> Clone for Parts<T, N> {
    fn clone(&self) -> Self {
        Parts {
            parts: Arc::clone(&self.parts),
            len: self.len,
        }
    }
}

impl<T, const N: usize> Default for Parts<T, N> {
    fn default() -> Self {
        Parts {
            parts: Arc::default(),
            len: 0,
        }
    }
}

impl<T, const N: usize> Parts<T, N> {
    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element at a place.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        self.parts.get(place / N)?.get(place % N)
    }

    /// The last element.
    pub fn last(&self) -> Option<&T> {
        self.parts.last()?.last()
    }

    /// The elements, in order.
    pub fn iter(&self) -> PartsIter<'_, T> {
        PartsIter {
            parts: self.parts.iter(),
            part: [].iter(),
            left: self.len,
        }
    }

    /// True if two copies share everything, so that they are equal.
    pub fn shares_all(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
    }

    /// The places at which two lists may have different elements, in order: those of parts that they do not share.
    pub fn unshared(&self, other: &Self) -> Vec<usize> {
        let mut places = Vec::new();
        if self.shares_all(other) {
            return places;
        }
        let len = self.len.max(other.len);
        for part in 0..self.parts.len().max(other.parts.len()) {
            let is_shared = match (self.parts.get(part), other.parts.get(part)) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                _ => false,
            };
            if !is_shared {
                places.extend(part * N..((part + 1) * N).min(len));
            }
        }
        places
    }

    /// Bytes that a change of one element of a shared list takes, beside the elements' own memory.
    pub fn bytes_of_change(&self) -> usize {
        size_of_val(&**self.parts) + N.min(self.len) * size_of::<T>()
    }
}

impl<T: Clone, const N: usize> Parts<T, N> {
    /// The element at a place, to be changed.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        if place >= self.len {
            return None;
        }
        let part = Arc::make_mut(&mut self.parts).get_mut(place / N)?;
        Arc::make_mut(part).get_mut(place % N)
    }

    /// Adds an element at the end.
    pub fn push(&mut self, element: T) {
        let parts = Arc::make_mut(&mut self.parts);
        match parts.last_mut().filter(|part| part.len() < N) {
            Some(part) => Arc::make_mut(part).push(element),
            None => {
                let part = vec![element];
                parts.push(Arc::new(part));
            }
        }
        self.len += 1;
    }

    /// Has so many elements: those behind are dropped, missing ones are these.
    pub fn resize(&mut self, len: usize, element: T) {
        if len < self.len {
            let parts = Arc::make_mut(&mut self.parts);
            parts.truncate(len.div_ceil(N));
            if let Some(part) = parts.last_mut()
                && !len.is_multiple_of(N)
            {
                Arc::make_mut(part).truncate(len % N);
            }
            self.len = len;
        }
        while self.len < len {
            self.push(element.clone());
        }
    }
}

impl<T, const N: usize> Index<usize> for Parts<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        &self.parts[place / N][place % N]
    }
}

impl<T: Clone, const N: usize> FromIterator<T> for Parts<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut parts = Parts::default();
        elements.into_iter().for_each(|element| parts.push(element));
        parts
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a Parts<T, N> {
    type Item = &'a T;
    type IntoIter = PartsIter<'a, T>;

    fn into_iter(self) -> PartsIter<'a, T> {
        self.iter()
    }
}

impl<T: PartialEq, const N: usize> PartialEq for Parts<T, N> {
    fn eq(&self, other: &Self) -> bool {
        let same = |place| self.get(place) == other.get(place);
        self.len == other.len && self.unshared(other).into_iter().all(same)
    }
}

impl<T: Eq, const N: usize> Eq for Parts<T, N> {}

/// The elements of a list in parts.
#[derive(Clone, Debug)]
pub struct PartsIter<'a, T> {
    parts: std::slice::Iter<'a, Arc<Vec<T>>>,
    part: std::slice::Iter<'a, T>,
    left: usize,
}

impl<'a, T> Iterator for PartsIter<'a, T> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        let next = match self.part.next() {
            Some(next) => next,
            None => {
                self.part = self.parts.next()?.iter();
                self.part.next()?
            }
        };
        self.left -= 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PartsIter<'_, T> {}

#[cfg(test)]
mod tests {
    use super::Parts;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(u32),
        Set(prop::sample::Index, u32),
        Resize(usize),
        Keep,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => any::<u32>().prop_map(Step::Push),
            2 => (any::<prop::sample::Index>(), any::<u32>()).prop_map(|(at, to)| Step::Set(at, to)),
            1 => (0usize..30).prop_map(Step::Resize),
            2 => Just(Step::Keep),
        ]
    }

    proptest! {
        /// A list and all copies of it are those of a vector and its copies.
        #[test]
        fn copies_keep_their_elements(steps in prop::collection::vec(step(), 1..80)) {
            let (mut list, mut model) = (Parts::<u32, 4>::default(), Vec::new());
            let mut kept: Vec<(Parts<u32, 4>, Vec<u32>)> = Vec::new();
            for step in steps {
                match step {
                    Step::Push(element) => {
                        list.push(element);
                        model.push(element);
                    }
                    Step::Set(at, to) if !model.is_empty() => {
                        let at = at.index(model.len());
                        *list.get_mut(at).expect("it is there") = to;
                        model[at] = to;
                    }
                    Step::Set(..) => assert!(list.get_mut(0).is_none()),
                    Step::Resize(len) => {
                        list.resize(len, 7);
                        model.resize(len, 7);
                    }
                    Step::Keep => kept.push((list.clone(), model.clone())),
                }
                prop_assert_eq!(list.len(), model.len());
                prop_assert!(list.iter().eq(&model) && list.iter().len() == model.len());
                prop_assert_eq!(list.last(), model.last());
                prop_assert!(list.get(model.len()).is_none());
                for (copy, model_then) in &kept {
                    prop_assert!(copy.iter().eq(model_then));
                    prop_assert_eq!(*copy == list, *model_then == model);
                    let differ = list.unshared(copy);
                    let longest = model.len().max(model_then.len());
                    let all = (0..longest).filter(|at| model.get(*at) != model_then.get(*at));
                    for at in all {
                        prop_assert!(differ.contains(&at), "place {}", at);
                    }
                }
            }
        }
    }
}
