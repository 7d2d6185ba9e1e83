//! Claiming directories elsewhere for a new database, and releasing the claims of an interrupted creation.

use super::owner::Owner;
use super::record::Places;
use super::{Directories, OWNER_FILE, PLACES_FILE, PlacedDisk, PlacesError};
use crate::checkpoint::BACKUP_DIRECTORY;
use crate::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk, DiskError};
use crate::engine::{
    ELECTION_FILE, FORK_NEW_FILE, FORK_PREFIX, LOCK_FILE, OPENING_FILE, OpenError, SEEDING_FILE,
    locked,
};
use crate::journal::JOURNAL_DIRECTORY;
use crate::log::group::GroupHeader;
use crate::log::published::{self, DURABLE_FILE};
use crate::log::segment::{LOG_DIRECTORY, segment_file};
use crate::manifest::{MANIFEST_FILE, Manifest};
use crate::remote_log::known::{STORE_FILE, is_of_copies};
use crate::reserve::RESERVE_FILE;
use crate::stored::INDEXES_FILE;
use sardonyx_base::random::system_random;
use std::sync::Arc;

/// The files that an interrupted creation may have left in a database's own directory, some with `.new` behind their names
/// while they were written.
const OWN_FILES: [&str; 11] = [
    LOCK_FILE,
    DURABLE_FILE,
    MANIFEST_FILE,
    OWNER_FILE,
    PLACES_FILE,
    RESERVE_FILE,
    STORE_FILE,
    SEEDING_FILE,
    OPENING_FILE,
    ELECTION_FILE,
    INDEXES_FILE,
];

/// Directories of a database, and one that a file system makes for itself at its root.
const OWN_DIRECTORIES: [&str; 4] = [
    BACKUP_DIRECTORY,
    JOURNAL_DIRECTORY,
    LOG_DIRECTORY,
    "lost+found",
];

/// Claims the directories for a database of this manifest that is to be made at home here. Returns the manifest with
/// the claims, and the disk with all parts. The caller holds the lock at home; there is no manifest.
///
/// # Errors
/// [`OpenError::ManifestLost`] if there are data, and [`OpenError::Occupied`] if there are other files; [`PlacesError`] if this is a part of a database, or a
/// directory cannot be one; [`OpenError::Locked`].
pub(crate) fn make(
    home: &Arc<dyn Disk>,
    manifest: &Manifest,
    directories: &Directories,
) -> Result<(Manifest, Arc<dyn Disk>), OpenError> {
    check_not_a_part(&**home)?;
    refuse_others(&**home)?;
    refuse_data(home, &**home)?;
    give_back(home)?;
    if directories.is_empty() {
        return Ok((manifest.clone(), home.clone()));
    }
    directories.check(manifest.stripes)?;
    let places = Places::of(directories, manifest.identity, system_random())?;
    let mut roots = Vec::new();
    let mut locks = Vec::new();
    for (path, _) in places.roots() {
        let root = home.elsewhere(path, true)?;
        // Before its lock is taken, too: its holder must not be disturbed.
        check_empty(&**home, &*root)?;
        locks.push(root.lock(LOCK_FILE)?.ok_or_else(|| locked(&*root))?);
        check_empty(&**home, &*root)?;
        roots.push(root);
    }
    places.write(&**home)?;
    for ((_, parts), root) in places.roots().into_iter().zip(&roots) {
        Owner::of(&places, parts, &**home).write(&**root)?;
    }
    let disk = PlacedDisk::new(home.clone(), &places, roots);
    Ok((manifest.clone().with_places(places.mark), Arc::new(disk)))
}

/// Refuses a directory that has a part of another database.
fn check_not_a_part(home: &dyn Disk) -> Result<(), PlacesError> {
    match Owner::read(home) {
        Ok(Some(owner)) => Err(PlacesError::IsPart {
            directory: home.display_name(""),
            owner: owner.to_string(),
        }),
        // Half a claim does not count.
        Ok(None) | Err(PlacesError::Damaged { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Refuses a directory that has anything in it but the remains of an interrupted claim.
fn check_empty(home: &dyn Disk, root: &dyn Disk) -> Result<(), PlacesError> {
    let occupied = |found: String| PlacesError::Occupied {
        directory: root.display_name(""),
        found,
    };
    if root.display_name("") == home.display_name("") {
        return Err(occupied("it is the database's own directory".into()));
    }
    match Owner::read(root) {
        Ok(Some(owner)) => return Err(occupied(format!("it has the {owner}"))),
        Ok(None) | Err(PlacesError::Damaged { .. }) => {}
        Err(error) => return Err(error),
    }
    for directory in ["", LOG_DIRECTORY, BACKUP_DIRECTORY] {
        let names = root.list(directory)?;
        let other = |name: &&String| {
            !(directory.is_empty() && [LOCK_FILE, OWNER_FILE].contains(&name.as_str()))
        };
        if let Some(name) = names.iter().find(other) {
            let separator = if directory.is_empty() { "" } else { "/" };
            return Err(occupied(format!(
                "it has the file {directory}{separator}{name}"
            )));
        }
    }
    Ok(())
}

/// Gives back the directories that a creation had claimed that was interrupted.
fn give_back(home: &Arc<dyn Disk>) -> Result<(), OpenError> {
    let Some(places) = Places::read(&**home)? else {
        return Ok(());
    };
    let mut own = Vec::new();
    for (path, parts) in places.roots() {
        // A missing or unclaimed directory need not be released.
        let Ok(root) = home.elsewhere(path, false) else {
            continue;
        };
        if matches!(Owner::read(&*root), Ok(Some(owner)) if owner.has(&places, &parts)) {
            refuse_data(home, &*root)?;
            own.push(root);
        }
    }
    for root in own {
        let names = root.list(LOG_DIRECTORY)?;
        for name in &names {
            root.remove(&format!("{LOG_DIRECTORY}/{name}"))?;
        }
        if !names.is_empty() {
            root.sync_directory(LOG_DIRECTORY)?;
        }
        // Last: as long as anything is there, its owner is known.
        root.remove(OWNER_FILE)?;
        root.sync_directory("")?;
    }
    home.remove(PLACES_FILE)?;
    Ok(home.sync_directory("")?)
}

/// Removes the files of a database that never was one, at home and in the directories that it had claimed. The caller knows
/// that it never was.
///
/// # Errors
/// The disks'.
pub(crate) fn clear_parts(home: &Arc<dyn Disk>) -> Result<(), OpenError> {
    let mut disks = vec![home.clone()];
    if let Some(places) = Places::read(&**home)? {
        for (path, parts) in places.roots() {
            if let Ok(root) = home.elsewhere(path, false)
                && matches!(Owner::read(&*root), Ok(Some(owner)) if owner.has(&places, &parts))
            {
                disks.push(root);
            }
        }
    }
    for disk in disks {
        for folder in [BACKUP_DIRECTORY, LOG_DIRECTORY, JOURNAL_DIRECTORY] {
            let names = disk.list(folder)?;
            for name in &names {
                disk.remove(&format!("{folder}/{name}"))?;
            }
            if !names.is_empty() {
                disk.sync_directory(folder)?;
            }
        }
    }
    Ok(published::forget(&**home)?)
}

/// Refuses to make a database among files that are not a database's: the directory is probably not the one that was
/// meant. A directory that has a database may have other files.
///
/// # Errors
/// [`OpenError::Occupied`]; the disk's.
pub(crate) fn refuse_others(home: &dyn Disk) -> Result<(), OpenError> {
    let names = home.list("")?;
    if names.iter().any(|name| name == MANIFEST_FILE) {
        return Ok(());
    }
    let is_own = |name: &str| {
        let plain = name.strip_suffix(".new").unwrap_or(name);
        // Kept aside, and none of the database: a directory that begins anew keeps them.
        OWN_FILES.contains(&plain)
            || name == FORK_NEW_FILE
            || name.starts_with(FORK_PREFIX)
            || is_of_copies(name)
    };
    let directories = home.directories()?;
    let other = (directories.into_iter()).find(|name| !OWN_DIRECTORIES.contains(&&**name));
    let other = other.map(|name| format!("{name}/"));
    match names.into_iter().find(|name| !is_own(name)).or(other) {
        None => Ok(()),
        Some(name) => Err(OpenError::Occupied {
            directory: home.display_name(""),
            found: name,
        }),
    }
}

/// Refuses to make a database where data of one are.
pub(crate) fn refuse_data(home: &Arc<dyn Disk>, disk: &dyn Disk) -> Result<(), OpenError> {
    match evidence_of_data(disk)? {
        None => Ok(()),
        Some(evidence) => Err(OpenError::ManifestLost {
            file: home.display_name(MANIFEST_FILE),
            evidence,
        }),
    }
}

/// The evidence of an earlier database here: a backup, an archive, or a first log segment with a group in it.
fn evidence_of_data(disk: &dyn Disk) -> Result<Option<String>, DiskError> {
    for folder in [BACKUP_DIRECTORY, JOURNAL_DIRECTORY] {
        if let Some(name) = disk.list(folder)?.first() {
            return Ok(Some(disk.display_name(&format!("{folder}/{name}"))));
        }
    }
    for name in disk
        .list(LOG_DIRECTORY)?
        .iter()
        .filter(|name| name.ends_with(".log"))
    {
        let name = format!("{LOG_DIRECTORY}/{name}");
        let file = disk.open(&name, Access::Direct, Create::No)?;
        let mut start = AlignedBuffer::zeroed(DIRECT_ALIGNMENT);
        file.read_at(0, &mut start)?;
        if GroupHeader::decode(&start).is_some() || name > segment_file(1) {
            return Ok(Some(disk.display_name(&name)));
        }
    }
    Ok(None)
}
