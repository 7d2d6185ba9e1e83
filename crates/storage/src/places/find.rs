//! Finding the parts of a database that are elsewhere.

use super::owner::{Owner, listed as in_a_line};
use super::record::{Part, Places};
use super::{Directories, PLACES_FILE, PlaceLocks, PlacedDisk, PlacesError};
use crate::disk::Disk;
use crate::engine::{LOCK_FILE, OpenError, locked};
use crate::manifest::Manifest;
use std::io::ErrorKind;
use std::sync::Arc;

/// The kind of hold on the directories' locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// By one process.
    Alone,
    /// By all that share the database.
    Shared,
}

/// A database's disk, with all of its parts, and the locks of the directories elsewhere. The caller holds
/// the lock of its own directory in the same way. A move in `directories` is recorded, if it is opened
/// alone.
pub(crate) fn find(
    home: &Arc<dyn Disk>,
    manifest: &Manifest,
    directories: &Directories,
    hold: Hold,
) -> Result<(Arc<dyn Disk>, PlaceLocks), OpenError> {
    let Some(recorded) = recorded(&**home, manifest)? else {
        if directories.is_empty() {
            return Ok((home.clone(), PlaceLocks::default()));
        }
        let part = match directories.log {
            Some(_) => "log",
            None => "backup",
        };
        return Err(PlacesError::AtHome { part }.into());
    };
    let places = recorded.moved(directories)?;
    let roots = open(home, &places)?;
    let mut locks = Vec::with_capacity(roots.len());
    for root in &roots {
        let lock = match hold {
            Hold::Alone => root.lock(LOCK_FILE)?,
            Hold::Shared => root.lock_shared(LOCK_FILE)?,
        };
        locks.push(lock.ok_or_else(|| locked(&**root))?);
    }
    if places != recorded && hold == Hold::Alone {
        places.write(&**home)?;
    }
    let disk = PlacedDisk::new(home.clone(), &places, roots);
    Ok((Arc::new(disk), PlaceLocks(locks)))
}

/// A database's disk, with all of its parts, for a reader.
///
/// # Errors
/// [`PlacesError`] if a part is not where it was when the database was last opened, and the disk's errors.
#[inline]
pub fn find_for_reading(
    home: &Arc<dyn Disk>,
    manifest: &Manifest,
) -> Result<Arc<dyn Disk>, PlacesError> {
    let Some(places) = recorded(&**home, manifest)? else {
        return Ok(home.clone());
    };
    let roots = open(home, &places)?;
    Ok(Arc::new(PlacedDisk::new(home.clone(), &places, roots)))
}

/// A directory elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its absolute path.
    pub directory: String,
    /// The database's parts there, in a line for people.
    pub parts: String,
}

/// The directories elsewhere of a database, as its own directory lists them; none of them is opened.
///
/// # Errors
/// [`PlacesError`] if no valid list exists, and the disk's errors.
#[inline]
pub fn listed(home: &dyn Disk, manifest: &Manifest) -> Result<Vec<Place>, PlacesError> {
    let recorded = recorded(home, manifest)?;
    let roots = recorded.iter().flat_map(Places::roots);
    Ok(roots
        .map(|(directory, parts)| Place {
            directory: directory.to_owned(),
            parts: in_a_line(&parts),
        })
        .collect())
}

/// The record in the database's own directory; `None` if all is at home.
fn recorded(home: &dyn Disk, manifest: &Manifest) -> Result<Option<Places>, PlacesError> {
    let Some(mark) = manifest.places else {
        return Ok(None);
    };
    let places = Places::read(home)?;
    let own = places.filter(|found| (found.identity, found.mark) == (manifest.identity, mark));
    let file = home.display_name(PLACES_FILE);
    own.map(Some).ok_or(PlacesError::Lost { file })
}

/// The directories elsewhere, each once, if each is this database's.
#[inline]
fn open(home: &Arc<dyn Disk>, places: &Places) -> Result<Vec<Arc<dyn Disk>>, PlacesError> {
    (places.roots().into_iter())
        .map(|(path, parts)| open_one(home, places, path, &parts))
        .collect()
}

fn open_one(
    home: &Arc<dyn Disk>,
    places: &Places,
    path: &str,
    parts: &[Part],
) -> Result<Arc<dyn Disk>, PlacesError> {
    let directory = || path.to_owned();
    let root = home
        .elsewhere(path, false)
        .map_err(|source| match source.source.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => PlacesError::Absent {
                directory: directory(),
                parts: in_a_line(parts),
                source,
            },
            _ => source.into(),
        })?;
    match Owner::read(&*root)? {
        Some(owner) if owner.has(places, parts) => Ok(root),
        Some(owner) => Err(PlacesError::Foreign {
            directory: directory(),
            parts: in_a_line(parts),
            identity: places.identity,
            owner: owner.to_string(),
        }),
        None => Err(PlacesError::Unowned {
            directory: directory(),
            parts: in_a_line(parts),
        }),
    }
}
