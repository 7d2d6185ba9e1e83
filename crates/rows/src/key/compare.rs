//! Comparison of rows' keys with the bytes of a key, column by column, where their entries in an index do not differ.
//!
//! The comparison skips columns that an entry has whole, and those behind the first difference. A value whose bytes in
//! a row equal those in a key is compared in place, and so are most texts and bytes. Other values are encoded first.

use super::{Edge, KeyBytes, KeyShape, PREFIX_BYTES, Part, SHORT_ZERO, has_zero};
use crate::error::TableError;
use crate::schema::Type;
use crate::values::{REFERENCE_BYTES, Reference, borrow_value};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::PageRead;
use std::cmp::Ordering;

impl KeyShape {
    /// The key's one column, if it has no other.
    #[inline]
    pub(super) fn bytes_alone(&self) -> Option<&Part> {
        match &*self.parts {
            [part] => Some(part),
            _ => None,
        }
    }

    /// The reference of a row's key, if that is bytes alone.
    #[inline]
    fn reference(&self, pages: &[u8], row: Address) -> Option<Reference> {
        let part = self.bytes_alone().filter(|part| part.is_plain_bytes())?;
        let place = row.0 as usize + part.offset;
        (part.since_shape == 0).then(|| Reference::at(pages, place))
    }

    /// The value of a row's key, if that is bytes alone, which are borrowed in one piece.
    #[inline]
    pub fn bytes_of<'p>(&self, pages: &'p [u8], row: Address) -> Option<&'p [u8]> {
        let reference = self.reference(pages, row)?;
        if reference.cell().is_some() {
            return borrow_value(pages, &reference, "").ok()?;
        }
        let place = row.0 as usize + self.bytes_alone()?.offset;
        pages[place + 4..].get(..reference.len())
    }

    /// Calls `each` with the first cells of the texts and bytes of a row's key. Of a row of an earlier shape these may be
    /// any addresses.
    #[inline]
    pub fn each_cell(&self, pages: &[u8], row: Address, mut each: impl FnMut(Address)) {
        for part in self.parts.iter().filter(|part| part.kind.is_variable()) {
            let at = row.0 as usize + part.offset;
            let there = pages.get(at..at + REFERENCE_BYTES);
            let cell = there.and_then(|there| Reference::at(there, 0).cell());
            cell.into_iter().for_each(&mut each);
        }
    }

    /// Returns true if a row's key is these bytes, which are not encoded. `None` if the key is not of one such column, or
    /// the row's bytes are not borrowed in one piece; then use [`KeyShape::shares`].
    #[inline]
    pub fn is_bytes(&self, pages: &[u8], row: Address, bytes: &[u8]) -> Option<bool> {
        let reference = self.reference(pages, row)?;
        if reference.len() != bytes.len() || !bytes.starts_with(reference.start()) {
            return Some(false);
        }
        match reference.cell() {
            None => Some(true),
            Some(_) => Some(borrow_value(pages, &reference, "").ok()?? == bytes),
        }
    }

    /// Returns true if a row's key begins with these bytes, or is this whole key: all columns are looked at.
    #[inline]
    pub fn shares<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        beginning: &[u8],
    ) -> Result<bool, TableError>
    where
        TableError: From<P::Error>,
    {
        Ok(self.compare_unknown(pages, row, beginning, 0)? == Ordering::Equal)
    }

    /// Compares the beginning of a row's key with these bytes, at their length, if its entry in the index does not
    /// decide. Columns that the entry has whole are skipped, and so are those behind the first difference.
    #[inline]
    fn compare_beginning<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        bytes: &[u8],
    ) -> Result<Ordering, TableError>
    where
        TableError: From<P::Error>,
    {
        self.compare_unknown(pages, row, bytes, bytes.len().min(PREFIX_BYTES))
    }

    /// The same, if so many of the bytes are known to be the row's. Too long to be inlined: it is compiled once for each
    /// kind of pages.
    fn compare_unknown<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        bytes: &[u8],
        mut known: usize,
    ) -> Result<Ordering, TableError>
    where
        TableError: From<P::Error>,
    {
        let (mut buffer, mut rest) = (Vec::new(), bytes);
        for part in &self.parts {
            if rest.is_empty() {
                break;
            }
            match part.short_bytes(rest[0]) {
                Some(length) if length <= known => {
                    rest = &rest[length..];
                    known -= length;
                    continue;
                }
                _ => known = 0,
            }
            if part.is_short_and_ascending() {
                let at = Address(row.0 + part.offset as u64);
                let (short, length) = part.short(pages.read(at, part.kind.bytes(), &mut buffer)?);
                let (wanted, behind) = rest.split_at(length.min(rest.len()));
                let order = short[..wanted.len()].cmp(wanted);
                if order != Ordering::Equal {
                    return Ok(order);
                }
                rest = behind;
                continue;
            }
            if let Some((order, behind)) = part.compare_as_it_stands(pages, row, rest)? {
                if order != Ordering::Equal {
                    return Ok(order);
                }
                rest = behind;
                continue;
            }
            let mut encoded = KeyBytes::default();
            let there = match part.is_plain() {
                true => {
                    let at = Address(row.0 + part.offset as u64);
                    pages.read(at, part.kind.bytes(), &mut buffer)?
                }
                false => {
                    part.of_row(pages, row, &mut buffer, &mut encoded)?;
                    &encoded
                }
            };
            let (wanted, behind) = rest.split_at(there.len().min(rest.len()));
            let order = there[..wanted.len()].cmp(wanted);
            if order != Ordering::Equal {
                return Ok(order);
            }
            rest = behind;
        }
        Ok(match rest.is_empty() {
            true => Ordering::Equal,
            false => Ordering::Less,
        })
    }

    /// Compares a row's key with a whole key.
    #[inline]
    pub fn compare<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        key: &[u8],
    ) -> Result<Ordering, TableError>
    where
        TableError: From<P::Error>,
    {
        // No key is the beginning of another.
        self.compare_beginning(pages, row, key)
    }

    /// The same, if so many of the key's bytes are known to be the row's.
    #[inline]
    pub fn compare_behind<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        key: &[u8],
        known: usize,
    ) -> Result<Ordering, TableError>
    where
        TableError: From<P::Error>,
    {
        self.compare_unknown(pages, row, key, known.min(key.len()))
    }

    /// Returns true if a row's key comes before an edge, of whose bytes so many are known to be the row's.
    #[inline]
    pub fn is_before<P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        edge: Edge<'_>,
        known: usize,
    ) -> Result<bool, TableError>
    where
        TableError: From<P::Error>,
    {
        Ok(match self.compare_behind(pages, row, edge.bytes, known)? {
            Ordering::Less => true,
            Ordering::Equal => edge.behind,
            Ordering::Greater => false,
        })
    }
}

impl Part {
    /// Returns true if a row's bytes are the key's.
    #[inline]
    fn is_plain(&self) -> bool {
        let as_it_stands = matches!(self.kind, Type::Plain { .. } | Type::Uuid);
        as_it_stands && self.null.is_none() && !self.descending && self.since_shape == 0
    }

    /// Returns true if a row's key has the [short bytes](Part::short) of the column's integer, and no others.
    #[inline]
    pub(super) fn is_short_and_ascending(&self) -> bool {
        self.is_short && self.null.is_none() && !self.descending && self.since_shape == 0
    }

    /// Returns true if a row's key has the column's bytes, escaped.
    #[inline]
    pub(super) fn is_plain_bytes(&self) -> bool {
        self.kind == Type::Bytes && self.null.is_none() && !self.descending
    }

    /// The number of bytes that an integer of the column has in a key, given its first byte; `None` if that byte is no
    /// length.
    #[inline]
    fn short_bytes(&self, first: u8) -> Option<usize> {
        let first = if self.descending { !first } else { first };
        let needed = match first >= SHORT_ZERO {
            true => first - SHORT_ZERO,
            false => SHORT_ZERO - 1 - first,
        };
        (self.is_short && self.null.is_none()).then(|| 1 + usize::from(needed))
    }

    /// Compares a text, or bytes, of a row with the beginning of a key's bytes, without encoding it. Returns the order
    /// and the rest of the key's bytes; `None` if the value must be encoded.
    #[inline]
    fn compare_as_it_stands<'b, P: PageRead + ?Sized>(
        &self,
        pages: &P,
        row: Address,
        wanted: &'b [u8],
    ) -> Result<Option<(Ordering, &'b [u8])>, TableError>
    where
        TableError: From<P::Error>,
    {
        let is_it = self.kind.is_variable() && !self.descending && self.since_shape == 0;
        if !is_it || self.null.is_some() {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        let at = Address(row.0 + self.offset as u64);
        let reference = Reference::at(pages.read(at, self.kind.bytes(), &mut buffer)?, 0);
        let value = match reference.cell() {
            None => Some(reference.start()),
            Some(_) => borrow_value(pages, &reference, "")?,
        };
        Ok(value.and_then(|value| compare_escaped(value, wanted)))
    }
}

/// Compares text or bytes, as a key encodes them, with the beginning of bytes, at their length. Returns the order and
/// the rest of the bytes; `None` for a value with a zero byte, which a key escapes.
#[inline]
pub(super) fn compare_escaped<'b>(value: &[u8], wanted: &'b [u8]) -> Option<(Ordering, &'b [u8])> {
    let both = value.len().min(wanted.len());
    if has_zero(&value[..both]) {
        return None;
    }
    let order = value[..both].cmp(&wanted[..both]);
    if order != Ordering::Equal || both == wanted.len() {
        return Some((order, &wanted[both..]));
    }
    // The value has come to its end.
    let behind = &wanted[both..];
    let end = &[0, 0][..behind.len().min(2)];
    let order = end.cmp(&behind[..end.len()]);
    Some((order, &behind[end.len()..]))
}
