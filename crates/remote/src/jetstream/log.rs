//! A log in a stream: an entry is a message under its number's subject, taken only if there is none.
//!
//! *An entry that is found is there; one that is not found is asked for again.* Any server of the stream answers
//! reads. A server that lags, or that leads no longer and has not noticed, may give an old answer. Stored entries
//! never change, so an old answer with an entry is as good as a new one. But an absent entry, or a register's state,
//! counts only if the stream then takes a *mark*: a message without content, on the condition that the seen state is
//! still the last one. The servers' agreement decides that where all messages are, so it cannot be old. Without it, a
//! process that claims a log could read an old boundary from a server that is cut off. Then it would take a long
//! deleted entry for the end.
//!
//! *Entries larger than a message are stored in parts*: first all but the last, under a random name that no reader
//! uses. Then the last one follows with the entry's own subject and condition, and names the others. So the entry is
//! there when that message is, whole. Parts whose entry never came are deleted with the numbers around them
//! ([`RemoteStore::remove`]); until then they only take room. Of an entry that is being deleted, the message goes
//! first.

use super::stream::{Condition, Message, Published, Stored, Stream};
use super::subjects::{Form, Kept, Subjects, thousands};
use crate::several::read_several;
use bytes::Bytes;
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, check_object_name};
use sardonyx_storage::remote_log::store::{
    Appended, LIST_MOST, Listed, Register, RegisterVersion, RemoteStore, StoreError,
    StoredRegister, Swapped,
};
use std::collections::BTreeSet;

/// The number of times that a changing state is read again.
const ATTEMPTS: usize = 16;

/// Bytes of the random name of parts, which is before the last part.
const ID_BYTES: usize = 16;

#[derive(Debug)]
pub(super) struct JetStreamLog<S> {
    stream: S,
    subjects: Subjects,
    entry_bytes_max: u64,
}

/// The form found under a name.
enum Found {
    Whole(Vec<u8>),
    /// Parts of it are missing, though it is still there: it is being deleted, or was created after it had been.
    Broken,
}

impl<S: Stream> JetStreamLog<S> {
    pub(super) fn new(stream: S, subjects: Subjects, entry_bytes_max: u64) -> Self {
        JetStreamLog {
            stream,
            subjects,
            entry_bytes_max,
        }
    }

    /// Deletes the whole log: that of a probe. Parts that cannot be deleted stay, with a warning.
    pub(super) fn clear(&self) {
        let deleted = self
            .stream
            .purge("delete what a probe left", vec![self.subjects.all()]);
        if let Err(error) = deleted {
            tracing::warn!(%error, "the objects of a probe are not deleted");
        }
    }

    fn unclear<T>(&self, what: &str, reason: &str) -> Result<T, StoreError> {
        Err(StoreError::Unclear {
            what: what.into(),
            place: self.stream.place(),
            reason: reason.into(),
        })
    }

    /// True if the last message with such a subject is still this one; 0: the stream has none.
    fn is_still(&self, what: &str, filter: &str, last: u64) -> Result<bool, StoreError> {
        let mark = Message {
            subject: self.subjects.mark(),
            condition: Condition {
                filter: filter.into(),
                last,
            },
            replaces: true,
            body: Bytes::new(),
        };
        Ok(self.stream.publish(what, mark)? == Published::Ok)
    }

    /// Creates an item that is to exist once.
    fn create(&self, what: &str, kept: &Kept, bytes: &[u8]) -> Result<Appended, StoreError> {
        let most = self.stream.body_bytes_max()?;
        let mut form = Form {
            bytes: bytes.len() as u64,
            parts: 0,
        };
        let mut body = Bytes::copy_from_slice(bytes);
        if body.len() > most {
            let id = format!("{:0ID_BYTES$x}", system_random());
            let mut parts = Vec::new();
            while body.len() > most - ID_BYTES {
                let part = body.split_to(most.min(body.len()));
                parts.push((self.subjects.part(kept, &id, parts.len()), part));
            }
            let count = u32::try_from(parts.len() + 1).ok();
            form.parts = count.ok_or_else(|| self.too_large(what, bytes.len()))?;
            self.stream.publish_all(what, parts)?;
            body = [id.as_bytes(), &body].concat().into();
        }
        let message = Message {
            subject: self.subjects.of(kept, form),
            condition: Condition {
                filter: self.subjects.any_form(kept),
                last: 0,
            },
            replaces: false,
            body,
        };
        // After a conflict the parts may be those of a message that the stream has from this very request.
        match self.stream.publish(what, message)? {
            Published::Ok => Ok(Appended::Ok),
            Published::Conflict => Ok(Appended::Conflict),
        }
    }

    fn too_large(&self, what: &str, bytes: usize) -> StoreError {
        StoreError::Refused {
            what: what.into(),
            place: self.stream.place(),
            reason: format!("{bytes} bytes are too many parts"),
        }
    }

    /// The message with such a subject, of which there is one for good or none. Its absence is not an old answer.
    fn find(&self, what: &str, filter: &str) -> Result<Option<Stored>, StoreError> {
        let mut stored = self.stream.near(what, filter)?;
        for _ in 0..ATTEMPTS {
            if stored.is_some() || self.is_still(what, filter, 0)? {
                return Ok(stored);
            }
            stored = self.stream.newest(what, filter)?;
        }
        self.unclear(what, "it changes all the time")
    }

    /// The content under a name, if any.
    fn read_kept(&self, what: &str, kept: &Kept) -> Result<Option<Found>, StoreError> {
        let filter = self.subjects.any_form(kept);
        for _ in 0..ATTEMPTS {
            let Some(head) = self.find(what, &filter)? else {
                return Ok(None);
            };
            let sequence = head.sequence;
            if let Some(bytes) = self.whole(what, kept, head)? {
                return Ok(Some(Found::Whole(bytes)));
            }
            if self.is_still(what, &filter, sequence)? {
                return Ok(Some(Found::Broken));
            }
        }
        self.unclear(what, "it changes all the time")
    }

    /// A message's content, with the parts before it, if all of them are stored.
    fn whole(&self, what: &str, kept: &Kept, head: Stored) -> Result<Option<Vec<u8>>, StoreError> {
        let form = match self.subjects.read(&head.subject) {
            Some((found, form)) if found == *kept => form,
            _ => return Ok(None),
        };
        if form.parts == 0 {
            return Ok(is_of(form, head.body.into()));
        }
        let Some((id, last)) = head.body.split_at_checked(ID_BYTES) else {
            return Ok(None);
        };
        let id = String::from_utf8_lossy(id);
        let mut bytes = Vec::new();
        for number in 1..form.parts as usize {
            let subject = self.subjects.part(kept, &id, number - 1);
            match self.find(what, &subject)? {
                Some(part) => bytes.extend_from_slice(&part.body),
                None => return Ok(None),
            }
        }
        bytes.extend_from_slice(last);
        Ok(is_of(form, bytes))
    }

    /// The forms stored under such subjects.
    fn forms(&self, what: &str, filter: &str) -> Result<Vec<(Kept, Form)>, StoreError> {
        let subjects = self.stream.subjects(what, filter)?;
        let read = |subject: &String| self.subjects.read(subject);
        Ok(subjects.iter().filter_map(read).collect())
    }

    /// Entries with such subjects from a number on.
    fn entries(
        &self,
        what: &str,
        filter: &str,
        from: u64,
        into: &mut Vec<Listed>,
    ) -> Result<(), StoreError> {
        for (kept, form) in self.forms(what, filter)? {
            match kept {
                Kept::Entry(number) if number >= from => into.push(Listed {
                    number,
                    bytes: form.bytes,
                }),
                _ => {}
            }
        }
        Ok(())
    }

    /// The owners of parts with such subjects.
    fn owners(&self, what: &str, filter: &str) -> Result<BTreeSet<Kept>, StoreError> {
        let subjects = self.stream.subjects(what, filter)?;
        let read = |subject: &String| self.subjects.read_part(subject);
        Ok(subjects.iter().filter_map(read).collect())
    }

    /// Deletes the contents under these names, and then parts that belong to nothing. `beside` matches the names of
    /// others that may have left some, each with the place of their owners.
    fn remove_kept(
        &self,
        what: &str,
        removed: &BTreeSet<Kept>,
        beside: Vec<(String, String)>,
        is_left: impl Fn(&Kept, Option<Form>) -> bool,
    ) -> Result<(), StoreError> {
        let filters = removed.iter().map(|kept| self.subjects.any_form(kept));
        self.stream.purge(what, filters.collect())?;
        let mut parts = Vec::new();
        for (of_parts, of_owners) in beside {
            let owners = self.owners(what, &of_parts)?;
            if owners.is_empty() {
                continue;
            }
            let there = self.forms(what, &of_owners)?;
            let form_of = |kept: &Kept| {
                let found = there.iter().find(|(found, _)| found == kept);
                found.map(|(_, form)| *form)
            };
            let left = |kept: &Kept| removed.contains(kept) || is_left(kept, form_of(kept));
            let left = owners.iter().filter(|kept| left(kept));
            parts.extend(left.map(|kept| self.subjects.parts_of(kept)));
        }
        self.stream.purge(what, parts)
    }
}

/// The bytes, if they are as many as in the subject.
fn is_of(form: Form, bytes: Vec<u8>) -> Option<Vec<u8>> {
    (bytes.len() as u64 == form.bytes).then_some(bytes)
}

impl<S: Stream> RemoteStore for JetStreamLog<S> {
    fn place(&self) -> String {
        self.stream.place()
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        let what = format!("create entry {number}");
        self.create(&what, &Kept::Entry(number), bytes)
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let what = format!("read entry {number}");
        let found = self.read_kept(&what, &Kept::Entry(number))?;
        Ok(found.map(|found| match found {
            Found::Whole(bytes) => bytes,
            // No entry: the reader checks if the log begins behind it, and reports damage if not.
            Found::Broken => Vec::new(),
        }))
    }

    fn read_several(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        read_several(self, numbers, self.stream.at_once())
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let what = format!("list entries from {from}");
        let mut listed = Vec::new();
        let first = thousands(from);
        for together in [first, first + 1] {
            let filter = self.subjects.entries_together(together);
            self.entries(&what, &filter, from, &mut listed)?;
        }
        if listed.is_empty() {
            // Numbers grow with sequences, so the last message shows if there is any; only if there is, and far away,
            // all subjects are requested.
            let last = self.stream.newest(&what, &self.subjects.entries())?;
            let last = last.and_then(|last| self.subjects.read(&last.subject));
            if let Some((Kept::Entry(last), _)) = last
                && last >= from
            {
                self.entries(&what, &self.subjects.entries(), from, &mut listed)?;
            }
        }
        listed.sort_by_key(|listed| listed.number);
        listed.truncate(LIST_MOST);
        Ok(listed)
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let together = numbers
            .iter()
            .flat_map(|number| [thousands(number.saturating_sub(1)), thousands(*number)]);
        let together: BTreeSet<u64> = together.collect();
        let beside = together.into_iter().map(|together| {
            (
                self.subjects.entry_parts_together(together),
                self.subjects.entries_together(together),
            )
        });
        let removed = numbers.iter().map(|number| Kept::Entry(*number)).collect();
        // An entry without parts, perhaps a fence, keeps another one with those parts from being created.
        let is_left = |_: &Kept, form: Option<Form>| form.is_some_and(|form| form.parts == 0);
        self.remove_kept("delete entries", &removed, beside.collect(), is_left)
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let what = format!("read the register `{}`", register.name());
        let subject = self.subjects.register(register);
        for _ in 0..ATTEMPTS {
            let stored = self.stream.newest(&what, &subject)?;
            let sequence = stored.as_ref().map_or(0, |stored| stored.sequence);
            if self.is_still(&what, &subject, sequence)? {
                return Ok(stored.map(|stored| StoredRegister {
                    bytes: stored.body.into(),
                    version: RegisterVersion(sequence.to_string()),
                }));
            }
        }
        self.unclear(&what, "it is replaced all the time")
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let last = match expected {
            None => Some(0),
            Some(version) => version.0.parse().ok().filter(|sequence| *sequence > 0),
        };
        let Some(last) = last else {
            return Ok(Swapped::Conflict);
        };
        let subject = self.subjects.register(register);
        let message = Message {
            subject: subject.clone(),
            condition: Condition {
                filter: subject,
                last,
            },
            replaces: true,
            body: Bytes::copy_from_slice(bytes),
        };
        let what = format!("replace the register `{}`", register.name());
        match self.stream.publish(&what, message)? {
            Published::Ok => Ok(Swapped::Ok),
            Published::Conflict => Ok(Swapped::Conflict),
        }
    }
}

impl<S: Stream> JetStreamLog<S> {
    fn object(&self, name: &str) -> Result<Kept, StoreError> {
        check_object_name(&self.stream.place(), name)?;
        Ok(Kept::Object(name.into()))
    }
}

impl<S: Stream> RemoteObjects for JetStreamLog<S> {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.create(&format!("create {name}"), &self.object(name)?, bytes)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let what = format!("read {name}");
        match self.read_kept(&what, &self.object(name)?)? {
            None => Ok(None),
            Some(Found::Whole(bytes)) => Ok(Some(bytes)),
            Some(Found::Broken) => Err(StoreError::Refused {
                what,
                place: self.stream.place(),
                reason: "parts of it are deleted".into(),
            }),
        }
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.object(folder)?;
        let what = format!("list {folder}");
        let mut listed = Vec::new();
        for (kept, form) in self.forms(&what, &self.subjects.objects_in(folder))? {
            // The filter also matches an object of the folder's name.
            if let Kept::Object(name) = kept
                && name != folder
            {
                let bytes = form.bytes;
                listed.push(ListedObject { name, bytes });
            }
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Also deletes, in these objects' folders, parts of objects that do not exist: a deletion in a folder ends
    /// unfinished creations there.
    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        let removed = names.iter().map(|name| self.object(name));
        let removed: BTreeSet<Kept> = removed.collect::<Result<_, _>>()?;
        let folders = names.iter().map(|name| {
            name.rsplit_once('/')
                .map_or(name.as_str(), |(folder, _)| folder)
        });
        let folders: BTreeSet<&str> = folders.collect();
        let beside = folders.into_iter().map(|folder| {
            (
                self.subjects.object_parts_in(folder),
                self.subjects.objects_in(folder),
            )
        });
        let is_left = |_: &Kept, form: Option<Form>| form.is_none();
        self.remove_kept("delete objects", &removed, beside.collect(), is_left)
    }
}
