//! Names of a log's messages in a stream: each message has a subject, which identifies it.
//!
//! ```text
//! STREAM.PREFIX.entry.00000000000000000.001.BYTES      an entry: its number in two tokens, and its length
//! STREAM.PREFIX.object.bases.NAME.head.BYTES           an object, of which `/` in the name is a `.` here
//! STREAM.PREFIX....BYTES-PARTS                         either, in so many parts, of which the last is in this message
//! STREAM.PREFIX.part.entry.....=.RANDOM.NUMBER         a part before
//! STREAM.PREFIX.register.boundary                      a register
//! STREAM.PREFIX.mark                                   a mark, to see if something has changed
//! ```
//!
//! The length is in the subject, so that a list needs no content: fences are known by it. A prefix is one token (it may
//! contain `/`), and the empty one is `/`. An entry's number is 17 digits, then 3, so that a list from a number on asks for
//! the thousand around it.

use crate::names::number_of;
use sardonyx_storage::remote_log::store::Register;

/// So many numbers have the same token before their last.
const NUMBERS_TOGETHER: u64 = 1000;

/// Ends the name of an item with parts: no token of a name is this.
const END: &str = "=";

/// A name under which bytes are stored.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Kept {
    Entry(u64),
    /// An object, by its name.
    Object(String),
}

/// The form in which contents are stored, from their subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// Its length.
    pub bytes: u64,
    /// The number of its parts; 0: it is in one message.
    pub parts: u32,
}

/// The subjects of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Subjects {
    root: String,
}

impl Subjects {
    /// The subjects of the log with this prefix in this stream.
    pub fn new(stream: &str, prefix: &str) -> Subjects {
        let prefix = if prefix.is_empty() { "/" } else { prefix };
        Subjects {
            root: format!("{stream}.{prefix}"),
        }
    }

    /// All of them.
    pub fn all(&self) -> String {
        format!("{}.>", self.root)
    }

    /// A register's.
    pub fn register(&self, register: Register) -> String {
        format!("{}.register.{}", self.root, register.name())
    }

    /// The subject of marks, which prove that a state has not changed.
    pub fn mark(&self) -> String {
        format!("{}.mark", self.root)
    }

    /// Matches the messages under a name, in any form.
    pub fn any_form(&self, kept: &Kept) -> String {
        format!("{}.*", self.path(kept))
    }

    /// The subject of a name in this form.
    pub fn of(&self, kept: &Kept, form: Form) -> String {
        match form.parts {
            0 => format!("{}.{}", self.path(kept), form.bytes),
            parts => format!("{}.{}-{parts}", self.path(kept), form.bytes),
        }
    }

    pub fn part(&self, kept: &Kept, id: &str, number: usize) -> String {
        format!("{}.part.{}.{END}.{id}.{number}", self.root, kept.path())
    }

    /// Matches all parts of an item under a name, also of an unfinished one.
    pub fn parts_of(&self, kept: &Kept) -> String {
        format!("{}.part.{}.{END}.>", self.root, kept.path())
    }

    /// Matches all entries.
    pub fn entries(&self) -> String {
        format!("{}.entry.*.*.*", self.root)
    }

    /// Matches the entries with these thousands.
    pub fn entries_together(&self, thousands: u64) -> String {
        format!("{}.entry.{thousands:017}.*.*", self.root)
    }

    /// Matches the parts of entries with these thousands.
    pub fn entry_parts_together(&self, thousands: u64) -> String {
        format!("{}.part.entry.{thousands:017}.>", self.root)
    }

    /// Matches the objects in a folder.
    pub fn objects_in(&self, folder: &str) -> String {
        format!("{}.object.{}.>", self.root, folder.replace('/', "."))
    }

    /// Matches the parts of objects in a folder.
    pub fn object_parts_in(&self, folder: &str) -> String {
        format!("{}.part.object.{}.>", self.root, folder.replace('/', "."))
    }

    /// The name and the form of this subject, unless it is of a part, a register or a mark.
    pub fn read(&self, subject: &str) -> Option<(Kept, Form)> {
        let (path, form) = self.below(subject)?.rsplit_once('.')?;
        let (bytes, parts) = match form.split_once('-') {
            None => (form, 0),
            Some((bytes, parts)) => (bytes, parts.parse().ok().filter(|parts| *parts > 0)?),
        };
        let bytes = bytes.parse().ok()?;
        Some((Kept::of_path(path)?, Form { bytes, parts }))
    }

    /// The owner of this part, if it is one.
    pub fn read_part(&self, subject: &str) -> Option<Kept> {
        let rest = self.below(subject)?.strip_prefix("part.")?;
        let (path, _) = rest.split_once(&format!(".{END}."))?;
        Kept::of_path(path)
    }

    fn below<'a>(&self, subject: &'a str) -> Option<&'a str> {
        subject.strip_prefix(&self.root)?.strip_prefix('.')
    }

    fn path(&self, kept: &Kept) -> String {
        format!("{}.{}", self.root, kept.path())
    }
}

pub(super) fn thousands(number: u64) -> u64 {
    number / NUMBERS_TOGETHER
}

impl Kept {
    fn path(&self) -> String {
        match self {
            Kept::Entry(number) => {
                let (thousands, rest) = (thousands(*number), number % NUMBERS_TOGETHER);
                format!("entry.{thousands:017}.{rest:03}")
            }
            Kept::Object(name) => format!("object.{}", name.replace('/', ".")),
        }
    }

    fn of_path(path: &str) -> Option<Kept> {
        match path.split_once('.')? {
            ("entry", number) => {
                let (thousands, rest) = number.split_once('.')?;
                let tokens_fit = thousands.len() == 17 && rest.len() == 3;
                let number = tokens_fit.then(|| number_of(&format!("{thousands}{rest}")))??;
                Some(Kept::Entry(number))
            }
            ("object", name) => Some(Kept::Object(name.replace('.', "/"))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if a filter matches a subject, by NATS's rules.
    fn matches(filter: &str, subject: &str) -> bool {
        super::super::fake::matches(filter, subject)
    }

    #[test]
    fn subjects_read_back_and_belong_to_one_log_and_one_name() {
        let logs = ["", "a", "a/b", "entry", "part"].map(|prefix| Subjects::new("BANK", prefix));
        let mut kept: Vec<Kept> = [1, 999, 1000, u64::MAX].map(Kept::Entry).into();
        kept.extend(["a", "a/b", "a/b/7", "entry/a"].map(|name| Kept::Object(name.into())));
        for (at, log) in logs.iter().enumerate() {
            for (named, kept_here) in kept.iter().enumerate() {
                let whole = Form { bytes: 7, parts: 0 };
                let parted = Form { bytes: 9, parts: 3 };
                for form in [whole, parted] {
                    let subject = log.of(kept_here, form);
                    assert_eq!(log.read(&subject), Some((kept_here.clone(), form)));
                    for (other_at, other) in logs.iter().enumerate() {
                        assert_eq!(matches(&other.all(), &subject), at == other_at, "{subject}");
                        for (other_named, other_kept) in kept.iter().enumerate() {
                            assert_eq!(
                                matches(&other.any_form(other_kept), &subject),
                                (at, named) == (other_at, other_named),
                                "{subject}"
                            );
                            assert!(!matches(&other.parts_of(other_kept), &subject));
                        }
                    }
                }
                let part = log.part(kept_here, "07", 0);
                assert_eq!(log.read_part(&part), Some(kept_here.clone()));
                assert_eq!(log.read(&part), None);
                for other in &kept {
                    assert_eq!(matches(&log.parts_of(other), &part), other == kept_here);
                    assert!(!matches(&log.any_form(other), &part));
                }
            }
        }
    }

    #[test]
    fn what_is_no_name_is_none() {
        let log = Subjects::new("BANK", "a");
        for other in [
            "BANK.a.mark",
            "BANK.a.register.boundary",
            "BANK.a.entry.00000000000000000.001",
            "BANK.a.entry.00000000000000000.001.x",
            "BANK.a.entry.00000000000000000.001.7-0",
            "BANK.a.entry.0.1.7",
            "BANK.ab.entry.00000000000000000.001.7",
        ] {
            assert_eq!(log.read(other), None, "{other}");
        }
    }
}
