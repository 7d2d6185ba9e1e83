//! The parts of a *base*: a copy of a database in a store, at a place between two entries of its log. A new copy begins
//! there instead of at the log's beginning, which can then be deleted.
//!
//! A base is the files of a directory that follows the log, in parts; its *head*, an object that is created last, names
//! them. So objects without a head are no base: a process may be storing them, or died while doing so.
//!
//! ```text
//! bases/NNNNNNNNNNNNNNNNNNNN-RANDOM/head          up to entry N, not with it
//! bases/NNNNNNNNNNNNNNNNNNNN-RANDOM/part-NNNNNN
//! ```

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::known::Known;
use super::objects::{RemoteObjects, is_object_name};
use super::store::StoreError;
use crate::lines::{Lines, Misread, seal};
use std::fmt::Write;

/// The folder of all bases.
pub const BASES: &str = "bases";

/// Bytes of a part, but for the last one of a file.
pub const PART_BYTES: u64 = 16 << 20;

const VERSION: u32 = 1;

/// The most bytes of a head.
const HEAD_BYTES_MAX: usize = 16 << 20;

/// A base's name: its folder's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BaseName {
    /// The number of the first entry that is not in it.
    pub next_entry: u64,
    /// A random number of its writer.
    pub by: u64,
}

impl BaseName {
    /// The folder's name.
    pub fn folder(&self) -> String {
        format!("{BASES}/{:020}-{:016x}", self.next_entry, self.by)
    }

    /// The head's name.
    pub fn head(&self) -> String {
        format!("{}/head", self.folder())
    }

    /// A part's name.
    pub fn part(&self, number: usize) -> String {
        format!("{}/part-{number:06}", self.folder())
    }

    /// The base to which an object belongs, and whether it is the head.
    fn of_object(name: &str) -> Option<(BaseName, bool)> {
        let mut parts = name.split('/');
        let (folder, base, object) = (parts.next()?, parts.next()?, parts.next()?);
        let (next_entry, by) = base.split_once('-')?;
        let base = BaseName {
            next_entry: next_entry.parse().ok()?,
            by: u64::from_str_radix(by, 16).ok()?,
        };
        let is_whole = folder == BASES && parts.next().is_none();
        is_whole.then_some((base, object == "head"))
    }
}

/// The bases in a store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListedBases {
    /// The names of whole bases, the oldest first, with their bytes.
    pub whole: Vec<(BaseName, u64)>,
    /// The unfinished ones: without a head.
    pub unfinished: Vec<BaseName>,
}

/// The bases in a store.
///
/// # Errors
/// The store's.
pub fn list_bases(store: &(impl RemoteObjects + ?Sized)) -> Result<ListedBases, StoreError> {
    let mut all: Vec<(BaseName, u64, bool)> = Vec::new();
    for object in store.list_objects(BASES)? {
        let Some((base, is_head)) = BaseName::of_object(&object.name) else {
            continue;
        };
        match all.iter_mut().find(|(name, ..)| *name == base) {
            Some((_, bytes, is_whole)) => {
                *bytes += object.bytes;
                *is_whole |= is_head;
            }
            None => all.push((base, object.bytes, is_head)),
        }
    }
    all.sort_unstable();
    let mut listed = ListedBases::default();
    for (base, bytes, is_whole) in all {
        match is_whole {
            true => listed.whole.push((base, bytes)),
            false => listed.unfinished.push(base),
        }
    }
    Ok(listed)
}

/// A part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BasePart {
    /// The place of its bytes in the file. Between parts there are zeroes.
    pub offset: u64,
    /// Length, in bytes.
    pub bytes: u64,
    /// CRC-32C of them.
    pub checksum: u32,
}

/// Its name and the parts in the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaseFile {
    /// Its name in the directory.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its parts; they have consecutive numbers through all files.
    pub parts: Vec<BasePart>,
}

/// The description of a base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaseHead {
    /// Up to where it has the log.
    pub known: Known,
    /// All of the database's directory.
    pub files: Vec<BaseFile>,
}

/// The files that a base has are those of a database's directory: none can lead elsewhere.
fn is_file_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && is_object_name(&part.to_ascii_lowercase().replace(['.', '_'], "-"))
    };
    (1..=2).contains(&parts.len()) && parts.iter().all(is_plain)
}

impl BaseHead {
    /// Its bytes, with those of its parts.
    pub fn bytes(&self) -> u64 {
        let parts = self.files.iter().flat_map(|file| &file.parts);
        parts.map(|part| part.bytes).sum()
    }

    /// Its text.
    pub fn encode(&self) -> String {
        let mut text = format!("format_version = {VERSION}\n{}", self.known.lines());
        for file in &self.files {
            let _ = writeln!(text, "file = {} {}", file.bytes, file.name);
            for part in &file.parts {
                let BasePart {
                    offset,
                    bytes,
                    checksum,
                } = part;
                let _ = writeln!(text, "part = {offset} {bytes} {checksum:08x}");
            }
        }
        seal(text)
    }

    /// The content read, if it is the content written.
    ///
    /// # Errors
    /// The place of the damage.
    pub fn decode(name: &str, bytes: &[u8]) -> Result<BaseHead, String> {
        Self::read(name, bytes).map_err(|misread| misread.to_string())
    }

    fn read(name: &str, bytes: &[u8]) -> Result<BaseHead, Misread> {
        let bytes = bytes.get(..HEAD_BYTES_MAX).unwrap_or(bytes);
        let mut lines = Lines::new(name, bytes)?;
        lines.check_checksum()?;
        lines.check_version(VERSION)?;
        let number = |text: &str| text.parse::<u64>().ok();
        let checksum = |text: &str| u32::from_str_radix(text, 16).ok();
        let known = Known::take(&mut lines)?;
        let mut files = Vec::new();
        while lines.has("file") {
            let (bytes, name) = lines.value("file", |text| {
                let (bytes, name) = text.split_once(' ')?;
                is_file_name(name).then_some((number(bytes)?, name.to_string()))
            })?;
            let mut parts: Vec<BasePart> = Vec::new();
            while lines.has("part") {
                let end = parts.last().map_or(0, |last| last.offset + last.bytes);
                parts.push(lines.value("part", |text| {
                    let mut words = text.split(' ');
                    let part = BasePart {
                        offset: number(words.next()?)?,
                        bytes: number(words.next()?)?,
                        checksum: checksum(words.next()?)?,
                    };
                    let fits = part.offset >= end
                        && part.bytes <= PART_BYTES
                        && part.offset.checked_add(part.bytes)? <= bytes;
                    fits.then_some(part)
                })?);
            }
            files.push(BaseFile { name, bytes, parts });
        }
        let head = BaseHead { known, files };
        lines.check_is(&head.encode())?;
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryStore;
    use super::*;

    fn head() -> BaseHead {
        let part = |offset, bytes| BasePart {
            offset,
            bytes,
            checksum: 7,
        };
        let file = |name: &str, parts: &[BasePart]| BaseFile {
            name: name.into(),
            bytes: 9000,
            parts: parts.to_vec(),
        };
        BaseHead {
            known: Known::start(5),
            files: vec![
                file("MANIFEST", &[part(0, 9000)]),
                file(
                    "log/0000000000000003.log",
                    &[part(0, 4096), part(8192, 808)],
                ),
                file("backup/stripe-000", &[]),
            ],
        }
    }

    #[test]
    fn a_head_reads_back_and_any_other_byte_is_noticed() {
        let text = head().encode().into_bytes();
        assert_eq!(BaseHead::decode("head", &text), Ok(head()));
        assert_eq!(head().bytes(), 9000 + 4096 + 808);
        for at in 0..text.len() {
            let mut changed = text.clone();
            changed[at] ^= 1;
            assert!(BaseHead::decode("head", &changed).is_err(), "byte {at}");
            assert!(BaseHead::decode("head", &text[..at]).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn what_could_lead_elsewhere_or_does_not_fit_is_refused() {
        let with = |change: &dyn Fn(&mut BaseHead)| {
            let mut head = head();
            change(&mut head);
            BaseHead::decode("head", head.encode().as_bytes())
        };
        for name in ["../x", "/x", "a/../b", "a/b/c", "log/", "", "log/.x", "a b"] {
            assert!(
                with(&|head| head.files[0].name = name.into()).is_err(),
                "{name}"
            );
        }
        assert!(
            with(&|head| head.files[1].parts[1].offset = 4095).is_err(),
            "overlaps"
        );
        assert!(
            with(&|head| head.files[1].parts[1].bytes = 809).is_err(),
            "too long"
        );
    }

    #[test]
    fn a_base_without_a_head_is_none() {
        let store = MemoryStore::new();
        let [old, new, half] =
            [(3, 1), (20, 2), (20, 3)].map(|(next_entry, by)| BaseName { next_entry, by });
        for base in [&new, &half, &old] {
            store.create_object(&base.part(0), b"part").unwrap();
        }
        for base in [&new, &old] {
            store.create_object(&base.head(), b"head!").unwrap();
        }
        store.create_object("bases/other", b"").unwrap();
        let listed = list_bases(&store).unwrap();
        assert_eq!(listed.whole, [(old, 9), (new, 9)]);
        assert_eq!(listed.unfinished, [half]);
    }
}
