//! Putting a copy of a database into a store and getting it back: a base of its log ([`crate::remote_log::base`]).
//!
//! A base is made of a directory that follows the log, so the serving host has no work with it. Its files are copied
//! after a checkpoint and an orderly end: recovery from them gives the database at the base's place. Zeroes of a file
//! are left out. Each part is read back before the head makes it a base: a base for which older ones are deleted was whole.
//!
//! Getting it back writes the manifest last: a directory on the way has none, and is marked as one ([`marks`]). A
//! marked directory is begun again. A directory with data and without the mark has lost its manifest, and is left
//! alone.

use super::claiming::impossible;
use crate::checkpoint::BACKUP_DIRECTORY;
use crate::disk::{Access, AlignedBuffer, Create, Disk, DiskFile};
use crate::engine::opening::create_database;
use crate::engine::{OpenError, RemoteLog, Replica, StorageOptions, marks};
use crate::journal::JOURNAL_DIRECTORY;
use crate::log::segment::{LOG_DIRECTORY, segment_of_file};
use crate::log::{LogLayout, LogPosition};
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::places::{self, Hold};
use crate::remote_log::RemoteLogError;
use crate::remote_log::base::{
    BaseFile, BaseHead, BaseName, BasePart, ListedBases, PART_BYTES, list_bases,
};
use crate::remote_log::known::STORE_FILE;
use crate::remote_log::shell::{ask, ask_boundary, ask_whole_of};
use crate::remote_log::store::{LIST_MOST, StoreError};
use sardonyx_base::crc32c;
use sardonyx_base::events;
use sardonyx_base::random::system_random;
use std::sync::Arc;

/// Zeroes are left out in pieces of so many bytes.
const PIECE_BYTES: usize = 4096;

impl Replica {
    /// Puts a base into the store: the database as it is here. The replica is closed; it can be opened again.
    ///
    /// # Errors
    /// Errors: the disk's; the store's, after which the base exists if its head does, and another can be made.
    /// [`RemoteLogError::BehindBoundary`] if the log after it was deleted meanwhile: the base is deleted, too, or does
    /// not count for [`usable_bases`].
    pub fn put_base(
        self,
        options: &StorageOptions,
        remote: &RemoteLog,
    ) -> Result<(BaseName, BaseHead), OpenError> {
        let home = self.home().clone();
        let needed_from = self.checkpointed()?;
        let manifest = self.manifest().clone();
        let (known, lock) = self.close_locked();
        let (disk, _places) = places::find(&home, &manifest, &options.directories, Hold::Alone)?;
        let name = BaseName {
            next_entry: known.entry.next,
            by: system_random(),
        };
        let mut base = Putting {
            remote,
            name,
            parts: 0,
            head: BaseHead {
                known,
                files: Vec::new(),
            },
        };
        let layout = manifest.log_layout();
        for file in files_of(&*disk, layout, needed_from.min(known.log))? {
            base.put_file(&*disk, &file)?;
        }
        // As the copy's, whose parts are all in its own directory.
        let manifest = Manifest {
            places: None,
            ..Manifest::read(&*disk)?
        };
        base.put_text(MANIFEST_FILE, &manifest.encode())?;
        let done = base.finish()?;
        drop(lock);
        take_back_if_trimmed(remote, known.identity, &done.0)?;
        Ok(done)
    }
}

/// Removes a base again if the log after it was deleted while it was put into the store: the deleting process may have
/// taken its parts for those of a maker that died. The boundary moved before they were deleted, so it shows that here.
fn take_back_if_trimmed(
    remote: &RemoteLog,
    identity: u64,
    name: &BaseName,
) -> Result<(), OpenError> {
    let first = ask_boundary(&*remote.store, identity, &remote.patience)?.next;
    let number = name.next_entry;
    if first <= number {
        return Ok(());
    }
    remove_base(remote, name).map_err(RemoteLogError::from)?;
    Err(RemoteLogError::BehindBoundary { number, first }.into())
}

/// The files of a directory that recovery needs, but for the manifest.
fn files_of(
    disk: &dyn Disk,
    layout: LogLayout,
    log_from: LogPosition,
) -> Result<Vec<String>, OpenError> {
    let first = layout.segment_of(log_from.lsn);
    let mut files = vec![STORE_FILE.to_string()];
    for folder in [LOG_DIRECTORY, BACKUP_DIRECTORY, JOURNAL_DIRECTORY] {
        let mut names = match disk.list(folder) {
            Ok(names) => names,
            Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        names.retain(|name| {
            folder != LOG_DIRECTORY || segment_of_file(name).is_some_and(|number| number >= first)
        });
        names.sort_unstable();
        files.extend(names.iter().map(|name| format!("{folder}/{name}")));
    }
    Ok(files)
}

/// A base on its way into a store.
#[derive(Debug)]
struct Putting<'a> {
    remote: &'a RemoteLog,
    name: BaseName,
    parts: usize,
    head: BaseHead,
}

impl Putting<'_> {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), OpenError> {
        let create = || self.remote.store.create_object(name, bytes);
        // A conflict is with itself, by a request whose answer was lost: the name is random.
        ask(&self.remote.patience, create).map_err(RemoteLogError::from)?;
        Ok(())
    }

    fn put_part(&mut self, offset: u64, bytes: &[u8]) -> Result<BasePart, OpenError> {
        self.put(&self.name.part(self.parts), bytes)?;
        self.parts += 1;
        Ok(BasePart {
            offset,
            bytes: bytes.len() as u64,
            checksum: crc32c::crc32c(bytes),
        })
    }

    fn put_text(&mut self, name: &str, text: &str) -> Result<(), OpenError> {
        let part = self.put_part(0, text.as_bytes())?;
        self.head.files.push(BaseFile {
            name: name.into(),
            bytes: text.len() as u64,
            parts: vec![part],
        });
        Ok(())
    }

    fn put_file(&mut self, disk: &dyn Disk, name: &str) -> Result<(), OpenError> {
        let file = disk.open(name, Access::Buffered, Create::No)?;
        let length = file.len()?;
        let mut parts = Vec::new();
        let mut offset = 0;
        while offset < length {
            let piece = read_piece(&*file, offset, PART_BYTES.min(length - offset))?;
            if let Some((from, to)) = without_zeroes(&piece) {
                let bytes = piece.get(from..to).unwrap_or_default();
                parts.push(self.put_part(offset + from as u64, bytes)?);
            }
            offset += piece.len() as u64;
        }
        self.head.files.push(BaseFile {
            name: name.into(),
            bytes: length,
            parts,
        });
        Ok(())
    }

    /// From now on it is a base: each part is read back before, since older bases are deleted for this one.
    fn finish(self) -> Result<(BaseName, BaseHead), OpenError> {
        if let Err(error) = check_parts(self.remote, &self.name, &self.head, |_| ()) {
            take_back_if_trimmed(self.remote, self.head.known.identity, &self.name)?;
            if let Err(left) = remove_base(self.remote, &self.name) {
                events::warn!(error = %left, "the parts of a base that cannot be read back are left in the store");
            }
            return Err(error);
        }
        self.put(&self.name.head(), self.head.encode().as_bytes())?;
        Ok((self.name, self.head))
    }
}

fn read_piece(file: &dyn DiskFile, offset: u64, bytes: u64) -> Result<AlignedBuffer, OpenError> {
    let mut piece = AlignedBuffer::zeroed(usize::try_from(bytes).unwrap_or(usize::MAX));
    // The missing part of a file cut meanwhile stays zero.
    file.read_at(offset, &mut piece)?;
    Ok(piece)
}

/// The beginnings and ends of the bytes that are not zeroes, in pieces.
fn without_zeroes(bytes: &[u8]) -> Option<(usize, usize)> {
    let is_used = |piece: &[u8]| piece.iter().any(|byte| *byte != 0);
    let mut pieces = bytes.chunks(PIECE_BYTES);
    let first = pieces.position(is_used)?;
    let last = bytes.chunks(PIECE_BYTES).rposition(is_used)?;
    let end = ((last + 1) * PIECE_BYTES).min(bytes.len());
    Some((first * PIECE_BYTES, end))
}

/// The head of a base.
///
/// # Errors
/// The store's; it is damaged, or another database's.
pub fn read_base(
    remote: &RemoteLog,
    identity: u64,
    name: &BaseName,
) -> Result<BaseHead, OpenError> {
    let head = name.head();
    let read = |attempt| read_object(remote, &head, attempt);
    let decoded = ask_whole_of(&remote.patience, read, |bytes| {
        let decoded = bytes.map(|bytes| BaseHead::decode(&head, &bytes));
        decoded.transpose().map_err(damaged)
    });
    let decoded = decoded?.ok_or_else(|| impossible(format!("{head} is deleted")))?;
    match decoded.known.identity == identity && decoded.known.entry.next == name.next_entry {
        true => Ok(decoded),
        false => Err(damaged(format!("{head} is of another database or place"))),
    }
}

fn damaged(reason: String) -> OpenError {
    RemoteLogError::Base { reason }.into()
}

/// The bases in a store. One before the boundary is counted as unfinished: the log after it is deleted, and perhaps
/// some of its parts, by a process that deleted that log while it was put there.
///
/// # Errors
/// The store's.
pub fn usable_bases(remote: &RemoteLog, identity: u64) -> Result<ListedBases, OpenError> {
    let listed = ask(&remote.patience, || list_bases(&*remote.store));
    let listed = listed.map_err(RemoteLogError::from)?;
    // Read after the list: it was there before anything of a listed base was deleted.
    let first = ask_boundary(&*remote.store, identity, &remote.patience)?.next;
    let is_usable = |(name, _): &(BaseName, u64)| name.next_entry >= first;
    let (whole, before): (Vec<_>, Vec<_>) = listed.whole.into_iter().partition(is_usable);
    let mut unfinished = listed.unfinished;
    unfinished.extend(before.into_iter().map(|(name, _)| name));
    Ok(ListedBases { whole, unfinished })
}

/// Reads bases of a list; of a new one, if that fails, since a base may have been deleted since it was listed.
pub(super) fn of_bases<T>(
    remote: &RemoteLog,
    identity: u64,
    mut read: impl FnMut(&ListedBases) -> Result<T, OpenError>,
) -> Result<T, OpenError> {
    let mut before = None;
    loop {
        let listed = usable_bases(remote, identity)?;
        match read(&listed) {
            Err(_) if before.as_ref() != Some(&listed) => before = Some(listed),
            outcome => return outcome,
        }
    }
}

/// The newest base of a store that has nothing which `is_wanted` refuses.
///
/// # Errors
/// As [`read_base`].
pub fn newest_base(
    remote: &RemoteLog,
    identity: u64,
    is_wanted: impl Fn(&BaseHead) -> bool,
) -> Result<Option<(BaseName, BaseHead)>, OpenError> {
    of_bases(remote, identity, |listed| {
        for (name, _) in listed.whole.iter().rev() {
            let head = read_base(remote, identity, name)?;
            if is_wanted(&head) {
                return Ok(Some((name.clone(), head)));
            }
        }
        Ok(None)
    })
}

/// Makes a directory of a base. The caller holds its lock; it has no manifest.
///
/// # Errors
/// [`OpenError::ManifestLost`] if it has data that are not an attempt's; the store's, the disk's; a part is damaged.
pub fn get_base(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    (name, head): &(BaseName, BaseHead),
    mut progress: impl FnMut(u64),
) -> Result<Manifest, OpenError> {
    if !options.directories.is_empty() {
        return Err(impossible(
            "a copy from a store has all of its parts in one directory: open it so, and move them later",
        ));
    }
    let mut first = 0;
    let mut manifest = None;
    let mut files = Vec::new();
    for file in &head.files {
        match file.name == MANIFEST_FILE {
            true => manifest = Some((first, file)),
            false => files.push((first, file)),
        }
        first += file.parts.len();
    }
    let Some(manifest) = manifest else {
        return Err(damaged(format!("{} names no manifest", name.head())));
    };
    let mut text = Vec::new();
    get_parts(remote, name, manifest, &mut progress, |_, bytes| {
        text.extend(bytes);
        Ok(())
    })?;
    let manifest = Manifest::decode(&name.part(manifest.0), &text)?;
    if manifest.identity != head.known.identity {
        return Err(damaged(format!("{} has another's manifest", name.head())));
    }
    marks::clear_unfinished(home)?;
    let (manifest, _) = places::make(home, &manifest, &options.directories)?;
    marks::mark(&**home)?;
    // The remains of an interrupted creation are no data.
    places::clear_parts(home)?;
    marks::forget_store(home)?;
    for folder in [LOG_DIRECTORY, BACKUP_DIRECTORY, JOURNAL_DIRECTORY] {
        home.create_directory(folder)?;
    }
    for file in files {
        let into = home.open(&file.1.name, Access::Buffered, Create::New)?;
        into.allocate(file.1.bytes)?;
        get_parts(remote, name, file, &mut progress, |offset, bytes| {
            Ok(into.write_at(offset, &bytes)?)
        })?;
        into.sync()?;
    }
    for folder in ["", LOG_DIRECTORY, BACKUP_DIRECTORY, JOURNAL_DIRECTORY] {
        home.sync_directory(folder)?;
    }
    manifest.write(&**home)?;
    marks::forget_mark(&**home)?;
    Ok(manifest)
}

/// Gets the parts of a file, of which the first has this number.
fn get_parts(
    remote: &RemoteLog,
    name: &BaseName,
    (first, file): (usize, &BaseFile),
    progress: &mut impl FnMut(u64),
    mut take: impl FnMut(u64, Vec<u8>) -> Result<(), OpenError>,
) -> Result<(), OpenError> {
    for (nth, part) in file.parts.iter().enumerate() {
        let bytes = get_part(remote, &name.part(first + nth), part)?;
        progress(part.bytes);
        take(part.offset, bytes)?;
    }
    Ok(())
}

fn get_part(remote: &RemoteLog, object: &str, part: &BasePart) -> Result<Vec<u8>, OpenError> {
    let read = |attempt| read_object(remote, object, attempt);
    let check = |bytes: Option<Vec<u8>>| {
        let bytes = bytes.ok_or_else(|| damaged(format!("{object} is missing")))?;
        check_part(object, part, bytes)
    };
    ask_whole_of(&remote.patience, read, check)
}

/// An object; after the first attempt as another place has it, if the log is at several.
fn read_object(
    remote: &RemoteLog,
    object: &str,
    attempt: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let store = &remote.store;
    let elsewhere = match attempt {
        0 => None,
        attempt => store.read_object_elsewhere(object, attempt)?,
    };
    match elsewhere {
        None => store.read_object(object),
        found => Ok(found),
    }
}

fn check_part(object: &str, part: &BasePart, bytes: Vec<u8>) -> Result<Vec<u8>, OpenError> {
    let found = crc32c::crc32c(&bytes);
    match bytes.len() as u64 == part.bytes && found == part.checksum {
        true => Ok(bytes),
        false => Err(damaged(format!(
            "{object} has {} bytes and the checksum {found:08x}, and should have {} and {:08x}",
            bytes.len(),
            part.bytes,
            part.checksum
        ))),
    }
}

/// Reads a whole base, and checks it. Returns its bytes.
///
/// # Errors
/// The store's; the errors of damaged or missing parts.
pub fn check_base(
    remote: &RemoteLog,
    identity: u64,
    name: &BaseName,
    mut progress: impl FnMut(u64),
) -> Result<u64, OpenError> {
    let head = read_base(remote, identity, name)?;
    check_parts(remote, name, &head, &mut progress)?;
    Ok(head.bytes())
}

fn check_parts(
    remote: &RemoteLog,
    name: &BaseName,
    head: &BaseHead,
    mut progress: impl FnMut(u64),
) -> Result<(), OpenError> {
    let parts = head.files.iter().flat_map(|file| &file.parts);
    for (number, part) in parts.enumerate() {
        get_part(remote, &name.part(number), part)?;
        progress(part.bytes);
    }
    Ok(())
}

/// A directory's manifest, made of the newest base of the store, or of the database's beginning, if there is no base.
pub(super) fn manifest_from_store(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    remote: &RemoteLog,
    stored: &Manifest,
) -> Result<Manifest, OpenError> {
    match newest_base(remote, stored.identity, |_| true)? {
        Some(base) => get_base(home, options, remote, &base, |_| ()),
        None => create_empty(home, options, stored),
    }
}

/// The database of this manifest of a store as it was at its log's beginning.
pub(in crate::engine) fn create_empty(
    home: &Arc<dyn Disk>,
    options: &StorageOptions,
    stored: &Manifest,
) -> Result<Manifest, OpenError> {
    marks::clear_unfinished(home)?;
    // The log that the database had then is in the store, and not here.
    let empty = Manifest {
        log_end: LogPosition::START,
        ..stored.clone()
    };
    create_database(home, &empty, &options.directories, options.log_bytes_first)
}

/// Deletes a base: its head first, so that the rest is no base.
///
/// # Errors
/// The store's; the rest is deleted with the next one.
pub fn remove_base(remote: &RemoteLog, name: &BaseName) -> Result<(), StoreError> {
    let store = &remote.store;
    let ask_to_remove = |names: &[String]| ask(&remote.patience, || store.remove_objects(names));
    ask_to_remove(&[name.head()])?;
    let objects = ask(&remote.patience, || store.list_objects(&name.folder()))?;
    let names: Vec<String> = objects.into_iter().map(|object| object.name).collect();
    names.chunks(LIST_MOST).try_for_each(ask_to_remove)
}
