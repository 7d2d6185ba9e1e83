//! A table, journal or area as the catalogue has it, with the limits of its name and size, and an extent of one.

use super::{CatalogueError, NAME_BYTES_MAX, RECORD_BYTES_MAX};
use crate::page::{PAGE_SIZE, PageId};

/// Its contents: records with keys and places, rows that are only appended, or pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A table, with the place of the primary key in a record.
    Table {
        /// The place of the key, in bytes.
        key_offset: usize,
        /// The key's length in bytes.
        key_bytes: usize,
    },
    /// Rows that are appended, and never changed.
    Journal,
    /// A set of pages. Their contents are not known here.
    Area,
    /// Nothing any more: the number can be another one's.
    Dropped,
}

/// A table, journal or area.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Unique in the database.
    pub name: String,
    /// Bytes of a record or row; 0 for an area, and for a journal whose rows have any length.
    pub record_bytes: usize,
    /// Table, journal or area.
    pub kind: Kind,
}

/// Consecutive pages of a table or area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// The lowest page.
    pub first_page: PageId,
    /// Length, in pages.
    pub pages: u64,
    /// True if they were another table's before: the contents of pages that this one has not used are then unknown.
    pub reused: bool,
}

impl Extent {
    /// The number of the page after the last.
    pub fn end(&self) -> u64 {
        self.first_page.0 + self.pages
    }
}

impl Definition {
    /// Checks that a database can have it.
    ///
    /// # Errors
    /// [`CatalogueError::Limit`], [`CatalogueError::RecordSize`], [`CatalogueError::KeyPlace`].
    pub fn check(&self) -> Result<(), CatalogueError> {
        let limit = |what, value: usize, limit: usize| {
            let (value, limit) = (value as u64, limit as u64);
            if value <= limit {
                Ok(())
            } else {
                Err(CatalogueError::Limit { what, value, limit })
            }
        };
        limit(
            "the length of a name in bytes",
            self.name.len(),
            NAME_BYTES_MAX,
        )?;
        match self.kind {
            Kind::Table {
                key_offset,
                key_bytes,
            } => {
                check_record_bytes(&self.name, self.record_bytes)?;
                let end = key_offset.checked_add(key_bytes);
                if key_bytes == 0 || end.is_none_or(|end| end > self.record_bytes) {
                    return Err(CatalogueError::KeyPlace {
                        name: self.name.clone(),
                        key_offset,
                        key_bytes,
                        record_bytes: self.record_bytes,
                    });
                }
                Ok(())
            }
            Kind::Journal => limit("the length of a row in bytes", self.record_bytes, PAGE_SIZE),
            Kind::Area if self.record_bytes != 0 => Err(CatalogueError::RecordSize {
                name: self.name.clone(),
                size: self.record_bytes,
                requirement: "an area has pages, not records",
            }),
            Kind::Area | Kind::Dropped => Ok(()),
        }
    }

    /// Its description, for error messages.
    pub fn describe(&self) -> String {
        match self.kind {
            Kind::Table {
                key_offset,
                key_bytes,
            } => format!(
                "a table of records of {} bytes with a key of {key_bytes} bytes at {key_offset}",
                self.record_bytes
            ),
            Kind::Journal if self.record_bytes == 0 => {
                "a journal of rows of any length".to_string()
            }
            Kind::Journal => format!("a journal of rows of {} bytes", self.record_bytes),
            Kind::Area => "an area of pages".to_string(),
            Kind::Dropped => "nothing any more".to_string(),
        }
    }
}

/// Checks that a table may have records of so many bytes.
///
/// # Errors
/// [`CatalogueError::RecordSize`] unless it is a multiple of 8 from 8 to [`RECORD_BYTES_MAX`].
pub fn check_record_bytes(name: &str, size: usize) -> Result<(), CatalogueError> {
    if size >= 8 && size.is_multiple_of(8) && size <= RECORD_BYTES_MAX {
        return Ok(());
    }
    Err(CatalogueError::RecordSize {
        name: name.to_string(),
        size,
        requirement: "the size must be a multiple of 8 from 8 to 4080",
    })
}
