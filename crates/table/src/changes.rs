//! Kept changes of rows: rows of a journal without a definition, in the commit group of the transaction
//! that made them. So they are durable with it, in commit order, archived, and kept as long as the database keeps
//! journals.
//!
//! A change has the row before and after, each as bytes of its own ([`RowFormat`]), and the *generation* of the table:
//! a number computed from the table's number, its name and its schema. The description of a generation is a row of the
//! same journal. It is written before the first change that needs it, again after some [`DESCRIBED_BYTES`], and after
//! each opening. So a reader that begins in the middle finds it near, even if the table changed since, and needs no
//! page.
//!
//! ```text
//! described(7) inserted(7) updated(7) | inserted(7) ... ALTER TABLE: described(9) updated(9) ... described(9) ...
//! ```
//!
//! Content that is longer than a journal's row is in pieces, one behind the other.

use sardonyx_base::bytes::{u32_at, u64_at};
use sardonyx_base::hash::Fnv1a;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{RowFormat, TableError};
use sardonyx_storage::journal::{JournalPosition, RowPlace};
use sardonyx_storage::log::record::{RECORD_BYTES_MAX, encoded_bytes};
use std::sync::Arc;

/// The number of the journal of changes. No definition has it.
pub const CHANGES_JOURNAL: u16 = u16::MAX;

/// So many bytes of journals' rows, and a description comes again, unless less is kept.
pub const DESCRIBED_BYTES: u64 = 16 << 20;

/// Bytes before the content of a piece.
const HEAD_BYTES: usize = 32;

const FIRST: u8 = 1;
const LAST: u8 = 2;

/// The most bytes of content of a piece.
const PIECE_BYTES: usize = RECORD_BYTES_MAX - HEAD_BYTES;

/// The kind of a change: of a row, or of all rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChangeKind {
    /// It is new.
    Inserted,
    /// It is another one.
    Updated,
    /// It is not there any more.
    Deleted,
    /// All rows of the table were deleted.
    Truncated,
    /// The table is not there any more.
    Dropped,
}

/// The kind of a piece that describes a generation; the other pieces have a kind of change.
const DESCRIPTION: u8 = 0;

impl ChangeKind {
    const ALL: [ChangeKind; 5] = [
        ChangeKind::Inserted,
        ChangeKind::Updated,
        ChangeKind::Deleted,
        ChangeKind::Truncated,
        ChangeKind::Dropped,
    ];

    /// Its printed word.
    #[inline]
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Inserted => "insert",
            ChangeKind::Updated => "update",
            ChangeKind::Deleted => "delete",
            ChangeKind::Truncated => "truncate",
            ChangeKind::Dropped => "drop",
        }
    }

    #[inline]
    fn code(self) -> u8 {
        let place = Self::ALL.iter().position(|kind| *kind == self);
        place.map_or(0, |place| place as u8 + 1)
    }

    #[inline]
    fn of_code(code: u8) -> Option<ChangeKind> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// The error of an invalid row in the journal of changes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the change at position {position} {reason}")]
pub struct ChangeError {
    /// The place in the journal.
    pub position: JournalPosition,
    /// The violated rule of the format.
    pub reason: &'static str,
}

/// The description of a table whose changes are kept.
#[derive(Clone, Debug)]
pub struct Described {
    /// The table's number.
    pub number: u16,
    /// Its name and schema, and how its rows are bytes.
    pub format: RowFormat,
}

impl Described {
    #[inline]
    fn bytes(number: u16, name: &str, schema: &Schema) -> Vec<u8> {
        let mut bytes = number.to_le_bytes().to_vec();
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(schema.encode());
        bytes
    }

    #[inline]
    fn of_bytes(bytes: &[u8]) -> Result<Described, &'static str> {
        let wrong = "has an invalid description";
        let (number, rest) = bytes.split_first_chunk().ok_or(wrong)?;
        let (length, rest) = rest.split_first_chunk().ok_or(wrong)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (name, schema) = rest.split_at_checked(length).ok_or(wrong)?;
        let name = std::str::from_utf8(name).map_err(|_| wrong)?;
        let schema = Schema::decode(schema).map_err(|_| wrong)?;
        Ok(Described {
            number: u16::from_le_bytes(*number),
            format: RowFormat::beside(name, &schema).map_err(|_| wrong)?,
        })
    }
}

#[inline]
fn generation_of(description: &[u8]) -> u64 {
    Fnv1a::of(description)
}

/// The kept changes of a table.
#[derive(Debug)]
pub(crate) struct Feed {
    pub generation: u64,
    pub description: Box<[u8]>,
    pub described: Arc<Described>,
}

impl Feed {
    /// The feed of a table of this number, name and schema.
    ///
    /// # Errors
    /// [`TableError::Condition`] if a text of the schema is no condition on its rows.
    #[inline]
    pub fn new(number: u16, name: &str, schema: &Schema) -> Result<Arc<Feed>, TableError> {
        let description = Described::bytes(number, name, schema).into_boxed_slice();
        Ok(Arc::new(Feed {
            generation: generation_of(&description),
            described: Arc::new(Described {
                number,
                format: RowFormat::beside(name, schema)?,
            }),
            description,
        }))
    }
}

/// Content that is put into the journal in pieces.
pub(crate) struct Content<'a> {
    kind: u8,
    generation: u64,
    transaction: u64,
    before: &'a [u8],
    after: &'a [u8],
}

impl<'a> Content<'a> {
    #[inline]
    pub fn change(
        kind: ChangeKind,
        generation: u64,
        transaction: u64,
        before: Option<&'a [u8]>,
        after: Option<&'a [u8]>,
    ) -> Self {
        Content {
            kind: kind.code(),
            generation,
            transaction,
            before: before.unwrap_or_default(),
            after: after.unwrap_or_default(),
        }
    }

    #[inline]
    pub fn description(feed: &'a Feed, transaction: u64) -> Self {
        Content {
            kind: DESCRIPTION,
            generation: feed.generation,
            transaction,
            before: &[],
            after: &feed.description,
        }
    }

    #[inline]
    fn pieces(&self) -> usize {
        let bytes = self.before.len() + self.after.len();
        bytes.div_ceil(PIECE_BYTES).max(1)
    }

    /// The length of the change in the log.
    #[inline]
    pub fn redo_bytes(&self) -> usize {
        self.pieces() * encoded_bytes(HEAD_BYTES + 8) + self.before.len() + self.after.len()
    }

    /// Calls `push` with each piece.
    pub fn push_all(&self, mut push: impl FnMut(&[u8])) {
        let (mut before, mut after) = (self.before, self.after);
        let count = self.pieces();
        let mut piece = Vec::with_capacity(
            RECORD_BYTES_MAX.min(HEAD_BYTES + self.before.len() + self.after.len()),
        );
        for number in 0..count {
            let flags = u8::from(number == 0) * FIRST + u8::from(number + 1 == count) * LAST;
            piece.clear();
            piece.extend([self.kind, flags, 0, 0, 0, 0, 0, 0]);
            piece.extend(self.generation.to_le_bytes());
            piece.extend(self.transaction.to_le_bytes());
            piece.extend((self.before.len() as u32).to_le_bytes());
            piece.extend((self.after.len() as u32).to_le_bytes());
            let (part, rest) = before.split_at(before.len().min(PIECE_BYTES));
            let left = PIECE_BYTES - part.len();
            piece.extend(part);
            before = rest;
            let (part, rest) = after.split_at(after.len().min(left));
            piece.extend(part);
            after = rest;
            push(&piece);
        }
    }
}

/// A change, as the journal has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptChange {
    /// Insertion, change or deletion.
    pub kind: ChangeKind,
    /// The generation of the table.
    pub generation: u64,
    /// The number of its transaction in the commit group.
    pub transaction: u64,
    /// The change's place in the journal.
    pub position: JournalPosition,
    /// The smallest position behind it.
    pub next: JournalPosition,
    /// The row that was there.
    pub before: Option<Vec<u8>>,
    /// The row after the change.
    pub after: Option<Vec<u8>>,
}

/// The content that a row of the journal completes.
#[derive(Debug)]
pub enum Decoded {
    /// One row's.
    Change(KeptChange),
    /// The description of a generation's rows.
    Described(u64, Arc<Described>),
}

/// Puts changes together of the rows of the journal, in their order.
#[derive(Debug, Default)]
pub struct ChangeDecoder {
    /// The head of the unfinished content, its position, and its bytes so far.
    begun: Option<(Head, JournalPosition, Vec<u8>)>,
    /// The first rows may continue content whose beginning is not kept any more.
    is_cut: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Head {
    kind: u8,
    generation: u64,
    transaction: u64,
    before: usize,
    after: usize,
}

impl ChangeDecoder {
    /// A decoder of rows from the oldest kept one on. Content that began before it is left out.
    #[inline]
    pub fn of_oldest() -> Self {
        ChangeDecoder {
            is_cut: true,
            ..ChangeDecoder::default()
        }
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// [`ChangeError`] if it is no such row, or does not follow.
    #[inline]
    pub fn take(&mut self, place: &RowPlace, row: &[u8]) -> Result<Option<Decoded>, ChangeError> {
        let position = place.position();
        let wrong = |reason| ChangeError { position, reason };
        let Some((bytes, content)) = row.split_first_chunk::<HEAD_BYTES>() else {
            return Err(wrong("is too short"));
        };
        let [kind, flags, ..] = *bytes;
        let head = Head {
            kind,
            generation: u64_at::<8, _>(bytes),
            transaction: u64_at::<16, _>(bytes),
            before: u32_at::<24, _>(bytes) as usize,
            after: u32_at::<28, _>(bytes) as usize,
        };
        self.is_cut &= flags & FIRST == 0;
        let mut begun = match (flags & FIRST != 0, self.begun.take()) {
            (false, None) if self.is_cut => return Ok(None),
            (true, None) => (head, position, Vec::new()),
            (false, Some(begun)) if begun.0 == head => begun,
            (false, None) => return Err(wrong("is inside of a change: begin where one begins")),
            _ => return Err(wrong("does not follow the row before")),
        };
        begun.2.extend_from_slice(content);
        if flags & LAST == 0 {
            self.begun = Some(begun);
            return Ok(None);
        }
        let (_, first, mut content) = begun;
        if content.len() != head.before + head.after {
            return Err(wrong("has another length than the recorded one"));
        }
        if kind == DESCRIPTION {
            if generation_of(&content) != head.generation {
                return Err(wrong("has a description of another table"));
            }
            let described = Described::of_bytes(&content).map_err(wrong)?;
            return Ok(Some(Decoded::Described(
                head.generation,
                Arc::new(described),
            )));
        }
        let kind = ChangeKind::of_code(kind).ok_or_else(|| wrong("is of an unknown kind"))?;
        let after = content.split_off(head.before);
        Ok(Some(Decoded::Change(KeptChange {
            kind,
            generation: head.generation,
            transaction: head.transaction,
            position: first,
            next: position.next(),
            before: (!content.is_empty()).then_some(content),
            after: (!after.is_empty()).then_some(after),
        })))
    }

    /// The generation that a row describes, if it begins to describe one.
    #[inline]
    pub fn describes(row: &[u8]) -> Option<u64> {
        let bytes = row.first_chunk::<HEAD_BYTES>()?;
        let [kind, flags, ..] = *bytes;
        (kind == DESCRIPTION && flags & FIRST != 0).then(|| u64_at::<8, _>(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_storage::log::Lsn;

    fn place(row: u32) -> RowPlace {
        RowPlace {
            lsn: Lsn(4096),
            group: 7,
            first_transaction: 1,
            row,
        }
    }

    fn pieces(content: &Content<'_>) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        content.push_all(|piece| pieces.push(piece.to_vec()));
        pieces
    }

    #[test]
    fn changes_of_any_length_are_put_together_again_of_pieces_that_fit_into_a_journal() {
        let mut decoder = ChangeDecoder::default();
        for lengths in [
            (0, 1),
            (1, 0),
            (0, 0),
            (100, 90),
            (PIECE_BYTES, 1),
            (5000, 12_000),
        ] {
            let before: Vec<u8> = (0..lengths.0).map(|at| at as u8).collect();
            let after: Vec<u8> = (0..lengths.1).map(|at| (at / 3) as u8).collect();
            let given = |bytes: &[u8]| (!bytes.is_empty()).then(|| bytes.to_vec());
            let content = Content::change(ChangeKind::Updated, 5, 9, Some(&before), Some(&after));
            let pieces = pieces(&content);
            assert!(pieces.iter().all(|piece| piece.len() <= RECORD_BYTES_MAX));
            let redo: usize = pieces.iter().map(|piece| encoded_bytes(piece.len())).sum();
            assert!(redo <= content.redo_bytes(), "{lengths:?}");
            let last = pieces.len() as u32 - 1;
            for (row, piece) in pieces.iter().enumerate() {
                let decoded = decoder.take(&place(row as u32), piece).unwrap();
                let Some(Decoded::Change(change)) = decoded else {
                    assert!((row as u32) < last, "{lengths:?}");
                    continue;
                };
                assert_eq!(
                    (change.before, change.after),
                    (given(&before), given(&after))
                );
                assert_eq!(change.position, place(0).position());
                assert_eq!(change.next, place(last).position().next());
                assert_eq!((change.kind, change.transaction), (ChangeKind::Updated, 9));
            }
        }
    }

    #[test]
    fn what_does_not_follow_or_is_none_is_named() {
        let after = vec![1; 9000];
        let content = Content::change(ChangeKind::Inserted, 5, 9, None, Some(&after));
        let pieces = pieces(&content);
        assert_eq!(pieces.len(), 3);
        let take = |rows: &[&[u8]]| {
            let mut decoder = ChangeDecoder::default();
            let mut rows = rows.iter().enumerate();
            rows.try_for_each(|(row, bytes)| decoder.take(&place(row as u32), bytes).map(drop))
        };
        let mut oldest = ChangeDecoder::of_oldest();
        for (row, bytes) in [&pieces[1], &pieces[2], &pieces[0], &pieces[1]]
            .iter()
            .enumerate()
        {
            assert!(oldest.take(&place(row as u32), bytes).unwrap().is_none());
        }
        assert!(oldest.take(&place(4), &pieces[2]).unwrap().is_some());
        assert!(oldest.take(&place(5), &pieces[1]).is_err());
        let mut unknown = pieces[0].clone();
        (unknown[0], unknown[1]) = (99, FIRST | LAST);
        unknown.truncate(HEAD_BYTES);
        unknown[24..32].fill(0);
        for (rows, reason) in [
            (vec![&pieces[1][..]], "is inside of a change"),
            (vec![&pieces[0], &pieces[0]], "does not follow"),
            (vec![&pieces[0], &pieces[2]], "another length"),
            (vec![&pieces[0][..10]], "too short"),
            (vec![&unknown], "unknown kind"),
        ] {
            let error = take(&rows).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains("7:"), "{error}");
        }
    }
}
