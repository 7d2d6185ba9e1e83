//! A span of an index: the keys between two edges, kept as bytes. Once for all stores that keep such bytes; main memory
//! looks for its places without them.

use super::{BadKey, Edge, KeyShape, KeyValues, behind};
use crate::row::KeyRange;
use std::ops::{Bound, Range};

/// Two places in an index; without one its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Bytes of a key, and whether the place is behind all keys that begin with them.
    pub from: Option<(Vec<u8>, bool)>,
    /// The same of the end.
    pub to: Option<(Vec<u8>, bool)>,
}

impl Span {
    /// The keys between two edges; without one to the end.
    #[inline]
    pub fn of(from: Option<Edge<'_>>, to: Option<Edge<'_>>) -> Span {
        let kept = |edge: Edge<'_>| (edge.bytes.to_vec(), edge.behind);
        Span {
            from: from.map(kept),
            to: to.map(kept),
        }
    }

    /// All keys that begin with these bytes.
    #[inline]
    pub fn of_beginning(bytes: &[u8]) -> Span {
        Span {
            from: Some((bytes.to_vec(), false)),
            to: Some((bytes.to_vec(), true)),
        }
    }

    /// Bytes of its keys.
    #[inline]
    pub fn bytes(&self) -> usize {
        let places = self.from.iter().chain(&self.to);
        places.map(|(bytes, _)| bytes.len()).sum()
    }

    /// The places.
    #[inline]
    pub fn edges(&self) -> (Option<Edge<'_>>, Option<Edge<'_>>) {
        (edge(&self.from), edge(&self.to))
    }

    /// The entries that lie between them: these are in the order of their keys.
    #[inline]
    pub fn part_of<T>(&self, entries: &[T], key: impl Fn(&T) -> &[u8]) -> Range<usize> {
        let is_before = |entry: &T, place: &Option<(Vec<u8>, bool)>, without: bool| match place {
            Some((bytes, behind)) => {
                let key = key(entry);
                *key < **bytes || (*behind && key.starts_with(bytes))
            }
            None => without,
        };
        let first = entries.partition_point(|entry| is_before(entry, &self.from, false));
        let rest = &entries[first..];
        first..first + rest.partition_point(|entry| is_before(entry, &self.to, true))
    }

    /// Its keys as a range of bytes.
    #[inline]
    pub fn into_range(self) -> KeyRange {
        if self == Span::default() {
            return (Bound::Unbounded, Bound::Unbounded);
        }
        match self.keys() {
            Some((from, to)) => {
                let to = to.map_or(Bound::Unbounded, Bound::Excluded);
                (Bound::Included(from), to)
            }
            None => (Bound::Included(vec![1]), Bound::Excluded(vec![0])),
        }
    }

    /// The first key that may lie between them, and the first one behind, if there is one; `None` if no key does.
    #[inline]
    pub fn keys(&self) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        let from = match &self.from {
            None => Vec::new(),
            Some((bytes, false)) => bytes.clone(),
            Some((bytes, true)) => behind(bytes.clone())?,
        };
        let to = match &self.to {
            None => None,
            Some((bytes, false)) => Some(bytes.clone()),
            Some((bytes, true)) => behind(bytes.clone()),
        };
        let is_forward = to.as_ref().is_none_or(|to| from < *to);
        is_forward.then_some((from, to))
    }
}

#[inline]
fn edge(place: &Option<(Vec<u8>, bool)>) -> Option<Edge<'_>> {
    let (bytes, behind) = place.as_ref()?;
    Some(Edge {
        bytes,
        behind: *behind,
    })
}

impl KeyShape {
    /// The span of the keys that begin with these values; if it `goes_on`, the last of them, a text or bytes, may be longer.
    ///
    /// # Errors
    /// The values are not of the key's columns.
    #[inline]
    pub fn span_beginning(
        &self,
        values: &(impl KeyValues + ?Sized),
        goes_on: bool,
    ) -> Result<Span, BadKey> {
        let found = match goes_on {
            true => self.of_beginning(values)?,
            false => self.of_values(values)?,
        };
        Ok(Span::of_beginning(&found.bytes))
    }
}
