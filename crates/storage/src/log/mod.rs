//! The redo log: one stream of commit groups, addressed by LSN, kept in recycled segment files.
//!
//! - [`record`]: after-images of byte ranges and journal rows, and how they are encoded;
//! - [`group`]: the commit group, the unit that is valid whole or not at all (I4);
//! - [`segment`]: the files;
//! - [`writer`]: group commit;
//! - [`reader`]: reading it back, and telling the log's end from corruption.
//!
//! Source: Li & Naughton, section 2, "Logging".

pub mod group;
pub mod reader;
pub mod record;
pub mod segment;
pub mod writer;

/// A log sequence number: the byte position in the whole log since the database was created.
/// Segment `lsn / segment_bytes`, offset `lsn % segment_bytes`; always a multiple of
/// [`crate::disk::DIRECT_ALIGNMENT`] at a group's start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub u64);

impl std::fmt::Display for Lsn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}
