//! Reading journals: all rows, or those between two positions, from either end. A reader delays no transaction.

use super::Tables;
use crate::Error;
use sardonyx_rows::{Journal, JournalRow};
use sardonyx_storage::journal::range::OwnedRow;
use sardonyx_storage::journal::{JournalError, JournalPosition, JournalReader, RowRange};
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

impl Tables {
    /// Calls `each` with every row of a journal that is durable now, oldest first, until it returns false. It delays no
    /// transaction, however long it takes, and may itself run transactions on this database: it locks no rows and keeps
    /// no log.
    ///
    /// # Errors
    /// Damage in the archive or the log, with file and offset; that the journal's
    /// [`Retention`](crate::journals::Retention) removed rows before they were read.
    pub fn journal_rows<J: JournalRow>(
        &self,
        journal: Journal<J>,
        mut each: impl FnMut(J) -> bool,
    ) -> Result<(), Error> {
        self.kernel.check()?;
        let engine = self.kernel.engine();
        let commit = engine.commit();
        let number = journal.number();
        let (disk, manifest) = (engine.disk(), engine.manifest());
        let mut reader = JournalReader::open(disk, manifest, Some(number), None)?
            .while_written(commit.segments(), commit.durable().group);
        while let Some(row) = reader.next_row()? {
            if !each(row_of(row.bytes)?) {
                break;
            }
        }
        Ok(())
    }

    /// The rows of a journal at the positions of a range that are durable now, oldest first; in reverse
    /// ([`Iterator::rev`]) the newest first, without reading those before. The reader delays no transaction.
    ///
    /// ```
    /// # sardonyx::record! { #[journal("entries")] #[derive(Debug, PartialEq)] struct Entry { amount: u64 } }
    /// # let directory = tempfile::tempdir()?;
    /// # let shop = sardonyx::Tables::open(directory.path().join("shop.sdx"))?;
    /// let entries = shop.journal::<Entry>()?;
    /// for amount in 1..=3 {
    ///     shop.run(|tx| tx.append(entries, &Entry { amount }))?;
    /// }
    /// let newest = shop.journal_range(entries, ..)?.next_back().expect("there are rows")?;
    /// assert_eq!(newest.1, Entry { amount: 3 });
    /// // What is new since:
    /// shop.run(|tx| tx.append(entries, &Entry { amount: 4 }))?;
    /// let since = shop.journal_range(entries, newest.0.next()..)?;
    /// let since: Result<Vec<_>, sardonyx::Error> = since.map(|row| Ok(row?.1.amount)).collect();
    /// assert_eq!(since?, [4]);
    /// # Ok::<(), sardonyx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Forked`]; [`Error::Refused`] if the database keeps no rows. While rows are
    /// read: damage, with file and offset, and [`Error::Unavailable`] if the journal's
    /// [`Retention`](crate::journals::Retention) removed rows of the range.
    pub fn journal_range<J: JournalRow>(
        &self,
        journal: Journal<J>,
        range: impl RangeBounds<JournalPosition>,
    ) -> Result<JournalRows<J>, Error> {
        self.kernel.check()?;
        let engine = self.kernel.engine();
        let commit = engine.commit();
        let (disk, manifest) = (engine.disk(), engine.manifest());
        let rows = RowRange::open(
            disk,
            manifest,
            Some(journal.number()),
            JournalPosition::half_open(range),
        )?
        .while_written(commit.segments(), commit.durable().group);
        Ok(JournalRows {
            rows: Some(rows),
            of: PhantomData,
        })
    }
}

/// Rows of a journal with their positions, from either end: [`Tables::journal_range`]. It ends after an error. It
/// outlives the database's handle, and gives the rows that were durable when it was made.
pub struct JournalRows<J> {
    rows: Option<RowRange>,
    of: PhantomData<fn() -> J>,
}

impl<J: JournalRow> JournalRows<J> {
    fn give(
        &mut self,
        next: impl FnOnce(&mut RowRange) -> Result<Option<OwnedRow>, JournalError>,
    ) -> Option<Result<(JournalPosition, J), Error>> {
        let row = next(self.rows.as_mut()?).map_err(Error::from);
        let row = row.and_then(|row| {
            let row = row.map(|row| Ok((row.place.position(), row_of(&row.bytes)?)));
            row.transpose()
        });
        if row.is_err() {
            self.rows = None;
        }
        row.transpose()
    }
}

impl<J: JournalRow> Iterator for JournalRows<J> {
    type Item = Result<(JournalPosition, J), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.give(RowRange::next_row)
    }
}

impl<J: JournalRow> DoubleEndedIterator for JournalRows<J> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.give(RowRange::next_row_back)
    }
}

impl<J> fmt::Debug for JournalRows<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalRows").finish_non_exhaustive()
    }
}

fn row_of<J: JournalRow>(bytes: &[u8]) -> Result<J, Error> {
    Ok(J::from_row(bytes)?)
}
