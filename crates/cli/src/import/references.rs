//! Rows that refer to later rows of the file.
//!
//! If bad rows are skipped, a batch that violates a reference at its end is inserted row by row. A row whose referenced
//! row does not exist yet waits until the file has ended, and is bad if it does not exist by then.

use super::{Import, Placed, Refused, is_of_row, told};
use sardonyx_interchange::BadRow;
use sardonyx_sql::SqlError;

/// The most rows that wait; further ones are bad at once.
const LATER_MAX: usize = 100_000;

/// `foreign_key_violation`.
const NOT_THERE: &str = "23503";

/// The hint at an option, for a violated reference.
pub(super) fn hint(error: &SqlError) -> &'static str {
    match error.code == NOT_THERE {
        true => {
            "; --batch all inserts the file as one transaction, in which rows may refer to later ones"
        }
        false => "",
    }
}

impl Import<'_> {
    /// Inserts each row as a transaction; those whose referenced rows do not exist yet wait.
    pub(super) fn insert_each(
        &mut self,
        rows: Vec<Placed>,
        bad: &mut Vec<BadRow>,
    ) -> anyhow::Result<u64> {
        let mut count = 0;
        for row in rows {
            match self.insert(std::slice::from_ref(&row), false, bad) {
                Ok(inserted) => count += inserted,
                Err(Refused::Batch(error))
                    if error.code == NOT_THERE && self.later.len() < LATER_MAX =>
                {
                    self.later.push(row);
                }
                Err(Refused::Batch(error)) if is_of_row(&error) => bad.push(told(&row, &error)),
                Err(Refused::Row(told)) => bad.push(told),
                Err(Refused::Batch(error)) => return Err(error.into()),
            }
        }
        Ok(count)
    }

    /// Inserts the waiting rows at the end: as a whole, since they may refer to one another, or each one that can be.
    pub(super) fn insert_later(&mut self) -> anyhow::Result<()> {
        let mut bad = Vec::new();
        while !self.later.is_empty() {
            let rows = std::mem::take(&mut self.later);
            let waiting = rows.len();
            match self.insert(&rows, false, &mut bad) {
                Ok(inserted) => self.rows += inserted,
                Err(Refused::Batch(error)) if is_of_row(&error) => {
                    bad.clear();
                    self.rows += self.insert_each(rows, &mut bad)?;
                    if self.later.len() == waiting {
                        let rows = std::mem::take(&mut self.later);
                        bad.extend(rows.iter().map(|row| told(row, &error)));
                    }
                }
                Err(Refused::Batch(error)) => return Err(error.into()),
                Err(Refused::Row(told)) => bad.push(told),
            }
            for bad in std::mem::take(&mut bad) {
                self.bad(&bad)?;
            }
        }
        Ok(())
    }
}
