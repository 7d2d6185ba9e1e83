//! The state of a key at `WATCH`, to be compared at `EXEC`.
//!
//! The state is a digest of the key's rows. So nothing is written or kept for unwatched keys, and a change by SQL is
//! seen like any other. A key that was changed and changed back is the same again: the transaction could as well have
//! run after both.

use super::{Data, Elements, EntryId, Kind, State};
use crate::failure::Failure;
use std::hash::{BuildHasher, Hasher};

/// To find and to add a part of a value takes as long as to gather so many bytes.
const PART_BYTES: usize = 128;

/// The state of a key at `WATCH`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// `None` if it was not there.
    digest: Option<u64>,
}

impl<S: State> Data<'_, S> {
    /// The present state of a key, to be compared later.
    pub fn seen(&mut self, key: &[u8]) -> Result<Seen, Failure> {
        let digest = self.digest(key)?;
        Ok(Seen { digest })
    }

    /// True if a key has the same state as at `WATCH`.
    pub fn is_as_seen(&mut self, key: &[u8], seen: &Seen) -> Result<bool, Failure> {
        Ok(self.digest(key)? == seen.digest)
    }

    fn digest(&mut self, key: &[u8]) -> Result<Option<u64>, Failure> {
        let Some(entry) = self.entry(key)? else {
            return Ok(None);
        };
        let (mut hasher, mut gathered) = (self.shared.hashes.build_hasher(), 0);
        let mut add = |bytes: &[u8]| {
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
            gathered += bytes.len() + PART_BYTES;
        };
        add(entry.kind.name().as_bytes());
        match entry.kind {
            Kind::Unknown => {}
            Kind::String => {
                self.with_string(key, |_, value| add(value))?;
            }
            Kind::Hash => self.walk(&entry, None, |row| {
                let (field, value) = Elements::field(row)?;
                add(field);
                add(value);
                Ok(true)
            })?,
            Kind::Set => self.walk(&entry, None, |row| {
                add(Elements::name(row)?);
                Ok(true)
            })?,
            Kind::SortedSet => self.walk(&entry, None, |row| {
                let (member, score) = Elements::scored(row)?;
                add(member);
                add(&score.to_bits().to_le_bytes());
                Ok(true)
            })?,
            // As in Redis, without its groups.
            Kind::Stream => {
                let last = self.stream(key)?.map(|stream| stream.last);
                add(last.unwrap_or(EntryId::MIN).to_string().as_bytes());
                let all = (EntryId::MIN, EntryId::MAX);
                self.walk_entries(entry.id, all, false, &mut |id, fields| {
                    add(id.to_string().as_bytes());
                    add(fields);
                    true
                })?;
            }
            Kind::List => {
                let (from, to) = (entry.first, entry.end());
                self.walk_list(entry.id, from, to, false, |_, value| {
                    add(value);
                    true
                })?;
            }
        }
        hasher.write_i64(entry.expires.unwrap_or(-1));
        self.gather(gathered);
        Ok(Some(hasher.finish()))
    }
}
