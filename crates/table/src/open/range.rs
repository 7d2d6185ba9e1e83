//! A walk over rows of an open transaction in the order of an index: those of the snapshot that it has not changed, and
//! between them its own.

use super::changed::{Entry, Key, Own, OwnRows};
use super::reads::Extent;
use super::{Known, OpenRow, OpenRows};
use crate::ordered::Cursor;
use crate::secondary::Secondary;
use sardonyx_rows::key::{KeyBytes, Span};
use sardonyx_rows::{RowRef, TableError};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, PageSnapshot};
use std::fmt;

/// A walk over rows of an open transaction in the order of an index, from both ends.
pub struct OpenCursor<'r> {
    rows: &'r OpenRows,
    known: &'r Known,
    table: u16,
    index: &'r Secondary,
    cursor: Cursor,
    /// The next rows of the snapshot from either end, with their entries in the index.
    front: Option<Ahead<'r>>,
    back: Option<Ahead<'r>>,
    /// Its own ones in the range.
    own: OwnAhead<'r>,
    /// True if rows of the snapshot may be changed ones.
    has_changes: bool,
    /// The number of the note, if it reads the snapshot.
    note: Option<usize>,
    extent: Extent,
}

struct Ahead<'r> {
    entry: Vec<u8>,
    key: Vec<u8>,
    row: RowRef<'r, PageSnapshot>,
}

/// Own rows, of which the next one at either end is looked at before it is taken.
struct OwnAhead<'r> {
    rest: OwnRows<'r>,
    front: Option<Entry<'r>>,
    back: Option<Entry<'r>>,
}

impl<'r> OwnAhead<'r> {
    #[inline]
    fn of(rest: OwnRows<'r>) -> Self {
        OwnAhead {
            rest,
            front: None,
            back: None,
        }
    }

    #[inline]
    fn peek(&mut self, from_back: bool) -> Option<Entry<'r>> {
        // The last one may have been looked at from the other end.
        match from_back {
            true if self.back.is_none() => {
                self.back = self.rest.next_back().or_else(|| self.front.take());
            }
            false if self.front.is_none() => {
                self.front = self.rest.next().or_else(|| self.back.take());
            }
            _ => {}
        }
        match from_back {
            true => self.back,
            false => self.front,
        }
    }

    #[inline]
    fn take(&mut self, from_back: bool) -> Option<Entry<'r>> {
        self.peek(from_back);
        match from_back {
            true => self.back.take(),
            false => self.front.take(),
        }
    }
}

/// A row with its primary key.
pub(super) type Keyed<'r> = (Vec<u8>, OpenRow<'r>);

impl<'r> OpenCursor<'r> {
    #[inline]
    pub(super) fn of(
        rows: &'r OpenRows,
        table: u16,
        index: &'r Secondary,
        span: &Span,
    ) -> Result<Self, TableError> {
        let known: &Known = rows.known(table)?;
        let (from, to) = span.edges();
        let (nodes, pages) = (&*rows.snapshot.indexes, &*rows.snapshot.rows);
        let places = index.walk(nodes, pages, from, to)?;
        let name = &index.what.definition.name;
        let note = match rows.is_own(table) {
            true => None,
            false => {
                rows.take_bytes_of_range(name, span)?;
                Some(rows.reads.borrow_mut().note_range(table, name, span))
            }
        };
        let own = match rows.changed(table) {
            Some(changed) => changed.between(known.format.index(name)?, span),
            None => OwnRows::None,
        };
        Ok(OpenCursor {
            rows,
            known,
            table,
            index,
            cursor: index.cursor(places),
            front: None,
            back: None,
            own: OwnAhead::of(own),
            has_changes: rows.changed(table).is_some(),
            note,
            extent: Extent::default(),
        })
    }

    /// The next row of the snapshot that was not changed, from an end.
    #[inline]
    fn frozen(&mut self, from_back: bool) -> Result<Option<Ahead<'r>>, TableError> {
        let (nodes, pages) = (&*self.rows.snapshot.indexes, &*self.rows.snapshot.rows);
        loop {
            let found = match from_back {
                true => self.cursor.next_back(nodes, |at| pages.prefetch(at)),
                false => self.cursor.next(nodes, |at| pages.prefetch(at)),
            };
            let Some(at) = found.map_err(TableError::from)? else {
                self.extent.all = true;
                return Ok(None);
            };
            let (count, last) = match from_back {
                true => (&mut self.extent.back, &mut self.extent.back_at),
                false => (&mut self.extent.front, &mut self.extent.front_at),
            };
            *count += 1;
            *last = Some(at);
            let ahead = self.ahead(at)?;
            if self.rows.own(self.table, &ahead.key).is_none() {
                return Ok(Some(ahead));
            }
        }
    }

    #[inline]
    fn ahead(&self, at: Address) -> Result<Ahead<'r>, TableError> {
        let (rows, known): (&'r OpenRows, &'r Known) = (self.rows, self.known);
        let pages: &'r PageSnapshot = &rows.snapshot.rows;
        let row = RowRef::new(pages, &known.schema, &known.name, at)?;
        let mut key = KeyBytes::default();
        known.primary.of_row(pages, at, &mut key)?;
        let key = key.to_vec();
        let mut entry = Vec::new();
        if self.has_changes {
            let mut bytes = KeyBytes::default();
            let has_null = self.index.what.shape.of_row(pages, at, &mut bytes)?;
            entry = bytes.to_vec();
            if !self.index.what.definition.unique || has_null {
                entry.extend_from_slice(&key);
            }
        }
        Ok(Ahead { entry, key, row })
    }

    #[inline]
    fn own_row(&self, key: &'r Key) -> Result<Keyed<'r>, TableError> {
        let known: &'r Known = self.known;
        let rows: &'r OpenRows = self.rows;
        match rows.own(self.table, key) {
            Some(Own::Row(bytes)) => Ok((key.to_vec(), OpenRow::own(known.format.row(bytes)?))),
            _ => Err(TableError::StaleRow {
                table: known.name.to_string(),
            }),
        }
    }

    /// The next row with its primary key, from an end.
    #[inline]
    pub(super) fn step(&mut self, from_back: bool) -> Result<Option<Keyed<'r>>, TableError> {
        let mut next = match from_back {
            true => self.back.take(),
            false => self.front.take(),
        };
        if next.is_none() {
            next = self.frozen(from_back)?;
        }
        if next.is_none() {
            // The last one may have been looked at from the other end.
            next = match from_back {
                true => self.front.take(),
                false => self.back.take(),
            };
        }
        let own = self.own.peek(from_back);
        let is_own = match (&next, own) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(frozen), Some((entry, _))) => match from_back {
                true => *entry > *frozen.entry,
                false => *entry < *frozen.entry,
            },
        };
        if !is_own {
            return Ok(next.map(|frozen| (frozen.key, OpenRow::frozen(frozen.row))));
        }
        match from_back {
            true => self.back = next,
            false => self.front = next,
        }
        let own = self.own.take(from_back);
        own.map(|(_, key)| self.own_row(key)).transpose()
    }

    /// Ends the walk.
    pub(super) fn finish(&mut self) {
        self.cursor.finish();
        (self.front, self.back) = (None, None);
        self.own = OwnAhead::of(OwnRows::None);
    }
}

impl Drop for OpenCursor<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(note) = self.note {
            let mut reads = self.rows.reads.borrow_mut();
            reads.note_extent(note, self.extent);
        }
    }
}

impl fmt::Debug for OpenCursor<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenCursor of {:?}", self.index.what.definition)
    }
}
