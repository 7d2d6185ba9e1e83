//! `PLACES`: the places of the parts, in the database's own directory.

use super::{Directories, PLACES_FILE, PlacesError};
use crate::disk::{Disk, DiskError};
use crate::lines::{self, Lines, Misread, seal};
use crate::reserve;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

/// The form of both files, and the newest that is read.
pub(super) const VERSION: u32 = 1;

const NEW_FILE: &str = "PLACES.new";

/// The longest file that is read, in bytes: a thousand paths.
const BYTES_MAX: usize = 5 << 20;

/// A part of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The redo log.
    Log,
    /// Every `of`th stripe of the backup, from `nth` on, counted from 0.
    Backup { nth: usize, of: usize },
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Log => f.write_str("log"),
            Part::Backup { nth, of } => write!(f, "backup {} of {of}", nth + 1),
        }
    }
}

impl Part {
    pub fn parse(text: &str) -> Option<Part> {
        if text == "log" {
            return Some(Part::Log);
        }
        let (nth, of) = text.strip_prefix("backup ")?.split_once(" of ")?;
        let nth = nth.parse::<usize>().ok()?.checked_sub(1)?;
        let of = of.parse().ok()?;
        Some(Part::Backup { nth, of })
    }
}

/// The places of the parts that are not at home.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Places {
    /// The database's.
    pub identity: u64,
    /// The mark, as in the `OWNER` of each directory.
    pub mark: u64,
    /// The log's directory, an absolute path.
    pub log: Option<String>,
    /// The backup's.
    pub backup: Vec<String>,
}

impl Places {
    /// The places that these directories give.
    pub fn of(directories: &Directories, identity: u64, mark: u64) -> Result<Places, PlacesError> {
        Ok(Places {
            identity,
            mark,
            log: directories.log.as_deref().map(recordable).transpose()?,
            backup: (directories.backup.iter())
                .map(|path| recordable(path))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Each directory once, and the parts that it has.
    pub fn roots(&self) -> Vec<(&str, Vec<Part>)> {
        let mut roots: Vec<(&str, Vec<Part>)> = Vec::new();
        let of = self.backup.len();
        let backup = self.backup.iter().enumerate();
        let parts = (self.log.iter().map(|path| (path, Part::Log)))
            .chain(backup.map(|(nth, path)| (path, Part::Backup { nth, of })));
        for (path, part) in parts {
            match roots.iter_mut().find(|(other, _)| other == path) {
                Some((_, parts)) => parts.push(part),
                None => roots.push((path, vec![part])),
            }
        }
        roots
    }

    /// With the new places that were given when the database was opened.
    pub fn moved(&self, directories: &Directories) -> Result<Places, PlacesError> {
        let mut moved = self.clone();
        let said = Places::of(directories, self.identity, self.mark)?;
        if said.log.is_some() {
            if self.log.is_none() {
                return Err(PlacesError::AtHome { part: "log" });
            }
            moved.log = said.log;
        }
        if !said.backup.is_empty() {
            if self.backup.is_empty() {
                return Err(PlacesError::AtHome { part: "backup" });
            }
            if said.backup.len() != self.backup.len() {
                return Err(PlacesError::Count {
                    found: said.backup.len(),
                    expected: format!("{}, as it was made", self.backup.len()),
                });
            }
            moved.backup = said.backup;
        }
        Ok(moved)
    }

    pub fn encode(&self) -> String {
        let mut text = format!(
            "format_version = {VERSION}\nidentity = {:016x}\nmark = {:016x}\n",
            self.identity, self.mark
        );
        let log = self.log.iter().map(|path| ("log", path));
        for (key, path) in log.chain(self.backup.iter().map(|path| ("backup", path))) {
            writeln!(text, "{key} = {path}").expect("a string takes everything");
        }
        seal(text)
    }

    pub fn decode(file: &str, bytes: &[u8]) -> Result<Places, PlacesError> {
        let mut lines = Lines::new(file, bytes)?;
        lines.check_checksum()?;
        check_version(&mut lines, file)?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let path = |text: &str| Some(text.to_owned());
        let mut places = Places {
            identity: lines.value("identity", number)?,
            mark: lines.value("mark", number)?,
            log: None,
            backup: Vec::new(),
        };
        if lines.has("log") {
            places.log = Some(lines.value("log", path)?);
        }
        while lines.has("backup") {
            places.backup.push(lines.value("backup", path)?);
        }
        lines.check_is(&places.encode())?;
        Ok(places)
    }

    /// The record of the database's own directory; `None` if it has none.
    pub fn read(home: &dyn Disk) -> Result<Option<Places>, PlacesError> {
        if !home.list("")?.iter().any(|found| found == PLACES_FILE) {
            return Ok(None);
        }
        let bytes = lines::read(home, PLACES_FILE, BYTES_MAX)?;
        Self::decode(&home.display_name(PLACES_FILE), &bytes).map(Some)
    }

    /// Replaces the file in the database's own directory, durably; on a full disk in the room that is kept for
    /// opening.
    pub fn write(&self, home: &dyn Disk) -> Result<(), DiskError> {
        let replace = || lines::replace(home, PLACES_FILE, NEW_FILE, &self.encode());
        match replace() {
            Err(error) if error.is_full() && reserve::release(home)? => replace(),
            replaced => replaced,
        }
    }
}

/// Refuses a text of a newer version than this one.
pub(super) fn check_version(lines: &mut Lines<'_>, file: &str) -> Result<(), PlacesError> {
    let found: u32 = lines.value("format_version", |text| text.parse().ok())?;
    match found > VERSION {
        true => Err(PlacesError::UnknownVersion {
            file: file.into(),
            found,
        }),
        false => Ok(()),
    }
}

/// A path as it can be recorded: absolute, and a line of text.
fn recordable(path: &Path) -> Result<String, PlacesError> {
    let refused = |why| PlacesError::Path {
        path: PathBuf::from(path),
        why,
    };
    let absolute = std::path::absolute(path).map_err(|_| refused("it is empty"))?;
    let text = (absolute.to_str()).ok_or_else(|| refused("it is not UTF-8"))?;
    match text.chars().any(char::is_control) {
        true => Err(refused("it has a control character in it")),
        false => Ok(text.to_owned()),
    }
}

impl From<Misread> for PlacesError {
    fn from(misread: Misread) -> Self {
        PlacesError::Damaged {
            file: misread.file.clone(),
            what: misread.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            identity: 0x5eed,
            mark: 0x0123_4567_89ab_cdef,
            log: Some("/fast/bank = 1".into()),
            backup: vec!["/disk1".into(), "/disk2/é".into(), "/disk1".into()],
        }
    }

    #[test]
    fn what_is_written_is_read_and_damage_of_any_byte_is_noticed() {
        let only_log = Places {
            backup: Vec::new(),
            ..places()
        };
        for places in [places(), only_log] {
            let text = places.encode().into_bytes();
            assert_eq!(Places::decode("PLACES", &text).unwrap(), places);
            for at in 0..text.len() {
                for flip in [1, 0x20, 0xff] {
                    let mut damaged = text.clone();
                    damaged[at] ^= flip;
                    let found = Places::decode("PLACES", &damaged);
                    assert!(
                        matches!(found, Err(PlacesError::Damaged { .. })),
                        "{found:?}"
                    );
                }
                let cut = Places::decode("PLACES", &text[..at]);
                assert!(matches!(cut, Err(PlacesError::Damaged { .. })), "{cut:?}");
            }
        }
        let newer = seal("format_version = 2\nsomething = new\n".into());
        let found = Places::decode("PLACES", newer.as_bytes());
        assert!(matches!(
            found,
            Err(PlacesError::UnknownVersion { found: 2, .. })
        ));
    }

    #[test]
    fn a_directory_that_has_several_parts_is_one() {
        let of = 3;
        let backup = |nth| Part::Backup { nth, of };
        assert_eq!(
            places().roots(),
            [
                ("/fast/bank = 1", vec![Part::Log]),
                ("/disk1", vec![backup(0), backup(2)]),
                ("/disk2/é", vec![backup(1)]),
            ]
        );
        for part in [Part::Log, backup(0), backup(2)] {
            assert_eq!(Part::parse(&part.to_string()), Some(part));
        }
    }

    #[test]
    fn a_path_that_is_no_line_of_text_is_refused_and_a_relative_one_made_absolute() {
        let of = |log: &str| {
            let log = Some(PathBuf::from(log));
            let backup = Vec::new();
            Places::of(&Directories { log, backup }, 1, 2)
        };
        assert!(matches!(of("/a\nb"), Err(PlacesError::Path { .. })));
        assert!(matches!(of(""), Err(PlacesError::Path { .. })));
        let here = std::env::current_dir().unwrap().join("log");
        assert_eq!(of("log").unwrap().log.as_deref(), here.to_str());
    }
}
