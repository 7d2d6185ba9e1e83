//! `OWNER`: to which database a directory elsewhere belongs, and which parts of it it has.

use super::record::{Part, Places, VERSION, check_version};
use super::{OWNER_FILE, PlacesError};
use crate::disk::{Access, Create, Disk, DiskError};
use crate::lines::{self, Lines, seal};
use std::fmt;

/// The longest file that is read, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// The owner of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    /// The database's.
    pub identity: u64,
    /// The mark, as in the database's `PLACES`.
    pub mark: u64,
    /// The path of the database's own directory at its creation: for messages only.
    pub home: String,
    /// The parts that are here.
    pub parts: Vec<Part>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, identity) = (listed(&self.parts), self.identity);
        write!(
            f,
            "{parts} of the database {identity:016x} that was made in {}",
            self.home
        )
    }
}

/// Parts in a line.
pub(super) fn listed(parts: &[Part]) -> String {
    let names: Vec<String> = parts.iter().map(Part::to_string).collect();
    names.join(", ")
}

impl Owner {
    /// The record of a directory that has these parts of the database at home here.
    pub fn of(places: &Places, parts: Vec<Part>, home: &dyn Disk) -> Owner {
        let printable = |letter: char| match letter.is_control() {
            true => '?',
            false => letter,
        };
        Owner {
            identity: places.identity,
            mark: places.mark,
            home: home.display_name("").chars().map(printable).collect(),
            parts,
        }
    }

    fn encode(&self) -> String {
        seal(format!(
            "format_version = {VERSION}\nidentity = {:016x}\nmark = {:016x}\nhome = {}\nparts = {}\n",
            self.identity,
            self.mark,
            self.home,
            listed(&self.parts),
        ))
    }

    fn decode(file: &str, bytes: &[u8]) -> Result<Owner, PlacesError> {
        let mut lines = Lines::new(file, bytes)?;
        lines.check_checksum()?;
        check_version(&mut lines, file)?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let owner = Owner {
            identity: lines.value("identity", number)?,
            mark: lines.value("mark", number)?,
            home: lines.value("home", |text| Some(text.to_owned()))?,
            parts: lines.value("parts", |text| text.split(", ").map(Part::parse).collect())?,
        };
        lines.check_is(&owner.encode())?;
        Ok(owner)
    }

    /// A directory's record; `None` if it has none.
    pub fn read(root: &dyn Disk) -> Result<Option<Owner>, PlacesError> {
        if !root.list("")?.iter().any(|found| found == OWNER_FILE) {
            return Ok(None);
        }
        let bytes = lines::read(root, OWNER_FILE, BYTES_MAX)?;
        Self::decode(&root.display_name(OWNER_FILE), &bytes).map(Some)
    }

    /// Writes it in a directory, durably. The remains of an interrupted attempt are replaced.
    pub fn write(&self, root: &dyn Disk) -> Result<(), DiskError> {
        if root.list("")?.iter().any(|found| found == OWNER_FILE) {
            root.remove(OWNER_FILE)?;
        }
        let file = root.open(OWNER_FILE, Access::Buffered, Create::New)?;
        file.write_at(0, self.encode().as_bytes())?;
        file.sync()?;
        root.sync_directory("")
    }

    /// True if the database with these places has these parts here.
    pub fn has(&self, places: &Places, parts: &[Part]) -> bool {
        let same = (self.identity, self.mark) == (places.identity, places.mark);
        same && parts.iter().all(|part| self.parts.contains(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_of_any_byte_is_noticed() {
        let parts = vec![Part::Log, Part::Backup { nth: 1, of: 2 }];
        let owner = Owner {
            identity: 0x5eed,
            mark: 7,
            home: "/data/bank.sdx".into(),
            parts,
        };
        let text = owner.encode().into_bytes();
        assert_eq!(Owner::decode("OWNER", &text).unwrap(), owner);
        for at in 0..text.len() {
            let mut damaged = text.clone();
            damaged[at] ^= 1;
            let found = Owner::decode("OWNER", &damaged);
            assert!(
                matches!(found, Err(PlacesError::Damaged { .. })),
                "{found:?}"
            );
            let cut = Owner::decode("OWNER", &text[..at]);
            assert!(matches!(cut, Err(PlacesError::Damaged { .. })), "{cut:?}");
        }
    }
}
