//! The changes of tables, read: each committed transaction's, with the rows before and after, in commit order.
//!
//! ```
//! use sardonyx::{Error, Tables, record};
//! use sardonyx::changes::ChangeKind;
//! use sardonyx::schema::ValueRef;
//!
//! record! {
//!     #[table("accounts", key = id)]
//!     #[derive(Debug, PartialEq)]
//!     struct Account {
//!         id: u64,
//!         balance: i64,
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//! #   let machine = tempfile::tempdir().map_err(Error::other)?;
//!     let bank = Tables::open(machine.path().join("bank.sdx"))?;
//!     let accounts = bank.table::<Account>()?;
//!     bank.keep_changes("accounts")?;
//!     bank.run(|tx| tx.insert(accounts, &Account { id: 1, balance: 100 }))?;
//!     bank.run(|tx| tx.update(accounts, 1, |account| account.balance -= 30))?;
//!     let changes = bank.changes(..)?.collect::<Result<Vec<_>, Error>>()?;
//!     let last = &changes[1];
//!     assert_eq!((last.table(), last.kind()), ("accounts", ChangeKind::Updated));
//!     assert_eq!(last.before()?.unwrap().get("balance")?, ValueRef::Int(100));
//!     assert_eq!(last.after()?.unwrap().get("balance")?, ValueRef::Int(70));
//!     // A reader that has handled it goes on there, after any interruption.
//!     assert_eq!(bank.changes(last.next()..)?.count(), 0);
//!     bank.close()
//! }
//! ```
//!
//! A program, or `sardonyx changes --keep`, names the tables whose changes are kept from then on. They are in the commit
//! groups, as rows of journals are, and kept as long: [`Retention`]. A position older than the kept ones is an error that
//! names the oldest ([`Error::Unavailable`]).

use crate::{Error, Tables};
use sardonyx_rows::{OneRow, RowRef};
use sardonyx_storage::disk::Disk;
use sardonyx_storage::journal::range::OwnedRow;
use sardonyx_storage::journal::{JournalError, JournalPosition, Retention, RowRange};
use sardonyx_storage::log::segment::Segments;
use sardonyx_storage::manifest::Manifest;
use sardonyx_table::TableSpace;
use sardonyx_table::changes::{
    CHANGES_JOURNAL, ChangeDecoder, ChangeError, Decoded, Described, KeptChange,
};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

pub use sardonyx_table::changes::ChangeKind;

impl Tables {
    /// From now on the changes of this table's rows are kept, with the rows before and after, for [`Tables::changes`].
    /// Each costs the writer a copy of both, in the log. Returns true if they were not kept before.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the name is one of the engine's own, or the database keeps no journals
    /// ([`Retention::Nothing`](crate::journals::Retention::Nothing)); the errors of [`Tables::run`].
    #[inline]
    pub fn keep_changes(&self, table: &str) -> Result<bool, Error> {
        self.kernel.check()?;
        if self.kernel.engine().manifest().journal == Retention::Nothing {
            return Err(JournalError::NotKept.into());
        }
        self.run(|tx| tx.keep_changes(table))
    }

    /// From now on the changes of this table's rows are not kept; earlier ones stay. Returns true if they were kept.
    ///
    /// # Errors
    /// The errors of [`Tables::keep_changes`].
    #[inline]
    pub fn forget_changes(&self, table: &str) -> Result<bool, Error> {
        self.run(|tx| tx.forget_changes(table))
    }

    /// The changes at the positions of a range that are durable now, in commit order. The reader delays no transaction,
    /// and the database may be used meanwhile. Continue at [`Change::next`] of the last change that was handled. A range
    /// without a beginning begins with the oldest change that is kept with the description of its table.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Forked`]; [`Error::Refused`] if the database keeps no journals. While changes are read:
    /// damage, with file and offset, and [`Error::Unavailable`] if changes from the first position on are not kept any more.
    pub fn changes(&self, range: impl RangeBounds<JournalPosition>) -> Result<Changes, Error> {
        self.kernel.check()?;
        let engine = self.kernel.engine();
        let commit = engine.commit();
        let source = Source {
            disk: engine.disk().clone(),
            manifest: engine.manifest().clone(),
            segments: Some(commit.segments().clone()),
            before_group: Some(commit.durable().group),
        };
        let mut changes = Changes::open(source, JournalPosition::half_open(range))?;
        // Inside a transaction this fails: then the descriptions are found in the changes.
        if let Ok(now) = self.kernel.try_read(TableSpace::kept_tables) {
            changes.described.extend(now);
        }
        Ok(changes)
    }
}

/// The source of changes.
#[derive(Clone, Debug)]
struct Source {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    segments: Option<Arc<Segments>>,
    before_group: Option<u64>,
}

impl Source {
    #[inline]
    fn rows(&self, range: Range<JournalPosition>) -> Result<RowRange, JournalError> {
        let rows = RowRange::open(&self.disk, &self.manifest, Some(CHANGES_JOURNAL), range)?;
        Ok(match (&self.segments, self.before_group) {
            (Some(segments), Some(group)) => rows.while_written(segments, group),
            (None, Some(group)) => rows.until_group(group),
            (_, None) => rows,
        })
    }
}

/// Changes of rows, in commit order: [`Tables::changes`]. It ends after an error.
pub struct Changes {
    source: Source,
    rows: Option<RowRange>,
    /// It begins with the oldest that is kept, and has come to no change yet.
    is_leading: bool,
    decoder: ChangeDecoder,
    described: HashMap<u64, Arc<Described>>,
}

impl Changes {
    #[inline]
    fn open(source: Source, range: Range<JournalPosition>) -> Result<Changes, Error> {
        let mut changes = Changes {
            source,
            rows: None,
            is_leading: false,
            decoder: ChangeDecoder::default(),
            described: HashMap::new(),
        };
        changes.begin(range)?;
        Ok(changes)
    }

    #[inline]
    fn begin(&mut self, range: Range<JournalPosition>) -> Result<(), Error> {
        self.is_leading = range.start == JournalPosition::START;
        self.decoder = match self.is_leading {
            true => ChangeDecoder::of_oldest(),
            false => ChangeDecoder::default(),
        };
        self.rows = Some(self.source.rows(range)?);
        Ok(())
    }

    /// The changes of a database's files, for a program that does not have it open: of groups before this one, if one
    /// is named.
    ///
    /// # Errors
    /// The errors of [`Tables::changes`].
    #[doc(hidden)]
    pub fn of_files(
        disk: &Arc<dyn Disk>,
        manifest: &Manifest,
        range: impl RangeBounds<JournalPosition>,
        before_group: Option<u64>,
    ) -> Result<Changes, Error> {
        let source = Source {
            disk: disk.clone(),
            manifest: manifest.clone(),
            segments: None,
            before_group,
        };
        Self::open(source, JournalPosition::half_open(range))
    }

    /// Goes on in the same files: at these positions, of groups before this one.
    ///
    /// # Errors
    /// The errors of [`Tables::changes`].
    #[doc(hidden)]
    pub fn go_on(
        &mut self,
        range: impl RangeBounds<JournalPosition>,
        before_group: Option<u64>,
    ) -> Result<(), Error> {
        self.source.before_group = before_group;
        self.begin(JournalPosition::half_open(range))
    }

    #[inline]
    fn next_change(&mut self) -> Result<Option<Change>, Error> {
        // Generations that are described nowhere.
        let mut unknown = HashSet::new();
        loop {
            let Some(OwnedRow { place, bytes, .. }) =
                self.rows.as_mut().map_or(Ok(None), RowRange::next_row)?
            else {
                return Ok(None);
            };
            let kept = match self.decoder.take(&place, &bytes).map_err(damaged)? {
                None => continue,
                Some(Decoded::Described(generation, described)) => {
                    self.described.insert(generation, described);
                    continue;
                }
                Some(Decoded::Change(kept)) if unknown.contains(&kept.generation) => continue,
                Some(Decoded::Change(kept)) => kept,
            };
            let found = match self.described.get(&kept.generation) {
                Some(described) => Some(described.clone()),
                None => find(&self.source, &kept)?,
            };
            match found {
                Some(described) => {
                    self.is_leading = false;
                    self.described.insert(kept.generation, described.clone());
                    return Ok(Some(Change { kept, described }));
                }
                // Its description was removed: so it is not kept any more, either.
                None if self.is_leading => {
                    unknown.insert(kept.generation);
                }
                None => return Err(not_described(kept.position)),
            }
        }
    }
}

#[cold]
fn not_described(position: JournalPosition) -> Error {
    let reason = "is of a table whose description is not kept any more: begin behind it";
    Error::Unavailable(ChangeError { position, reason }.into())
}

/// The description of a change's rows: the nearest one before it, or the first one behind. `None` if none is kept.
#[inline]
fn find(source: &Source, change: &KeptChange) -> Result<Option<Arc<Described>>, Error> {
    let wanted = Some(change.generation);
    let mut before = source.rows(JournalPosition::START..change.position)?;
    while let Some(row) = before.next_row_back()? {
        if ChangeDecoder::describes(&row.bytes) == wanted {
            let from = row.place.position();
            if let Some(found) = first(source, from..change.position, change.generation)? {
                return Ok(Some(found));
            }
        }
    }
    first(source, change.next..JournalPosition::END, change.generation)
}

/// The first description of a generation in a range, which begins where a change does.
#[inline]
fn first(
    source: &Source,
    range: Range<JournalPosition>,
    generation: u64,
) -> Result<Option<Arc<Described>>, Error> {
    let mut rows = source.rows(range)?;
    let mut decoder = ChangeDecoder::default();
    while let Some(row) = rows.next_row()? {
        match decoder.take(&row.place, &row.bytes).map_err(damaged)? {
            Some(Decoded::Described(found, described)) if found == generation => {
                return Ok(Some(described));
            }
            _ => {}
        }
    }
    Ok(None)
}

#[inline]
fn damaged(error: ChangeError) -> Error {
    Error::Damaged(error.into())
}

impl Iterator for Changes {
    type Item = Result<Change, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.next_change().transpose();
        if !matches!(found, Some(Ok(_))) {
            self.rows = None;
        }
        found
    }
}

impl fmt::Debug for Changes {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

/// A change of a row.
#[derive(Clone, Debug)]
pub struct Change {
    kept: KeptChange,
    described: Arc<Described>,
}

impl Change {
    /// Insertion, update or deletion.
    #[inline]
    pub fn kind(&self) -> ChangeKind {
        self.kept.kind
    }

    /// The table's name, as it was then.
    #[inline]
    pub fn table(&self) -> &str {
        self.described.format.table()
    }

    /// The table's number, which a renaming does not change.
    #[inline]
    pub fn table_number(&self) -> u16 {
        self.described.number
    }

    /// To continue behind this change later, also after a restart.
    #[inline]
    pub fn position(&self) -> JournalPosition {
        self.kept.position
    }

    /// The position at which to continue after it.
    #[inline]
    pub fn next(&self) -> JournalPosition {
        self.kept.next
    }

    /// Its transaction: the commit group, and a number in it. Changes of one transaction are adjacent.
    #[inline]
    pub fn transaction(&self) -> (u64, u64) {
        (self.kept.position.group, self.kept.transaction)
    }

    /// The row before; `None` if there was none.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    #[inline]
    pub fn before(&self) -> Result<Option<RowRef<'_, OneRow>>, Error> {
        self.row(self.kept.before.as_deref())
    }

    /// The row after the change; `None` if it was deleted.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    #[inline]
    pub fn after(&self) -> Result<Option<RowRef<'_, OneRow>>, Error> {
        self.row(self.kept.after.as_deref())
    }

    #[inline]
    fn row<'a>(&'a self, bytes: Option<&'a [u8]>) -> Result<Option<RowRef<'a, OneRow>>, Error> {
        let row = bytes.map(|bytes| self.described.format.row(bytes));
        Ok(row.transpose()?)
    }
}
