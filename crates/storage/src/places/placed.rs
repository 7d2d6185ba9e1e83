//! A disk whose names are on several.

use super::record::{Part, Places};
use crate::checkpoint::{BACKUP_DIRECTORY, stripe_of_file};
use crate::disk::{Access, Create, Disk, DiskError, DiskFile, DiskLock};
use crate::log::segment::LOG_DIRECTORY;
use std::sync::Arc;

/// A database's disk: its own directory, with the log and the backup in directories elsewhere.
///
/// Every operation on a name is the one of the disk that the name is on. Files that are in several
/// directories (the backup's stripes, and the root) are listed as one, and made stable in all of them.
#[derive(Debug)]
pub struct PlacedDisk {
    home: Arc<dyn Disk>,
    /// Each directory elsewhere once.
    roots: Vec<Arc<dyn Disk>>,
    /// The directory with the log.
    log: Option<usize>,
    /// The directories with the backup: stripe `k` is on number `k` modulo their count.
    backup: Vec<usize>,
}

impl PlacedDisk {
    /// `roots` are those of [`Places::roots`], in their order.
    pub(super) fn new(home: Arc<dyn Disk>, places: &Places, roots: Vec<Arc<dyn Disk>>) -> Self {
        let mut log = None;
        let mut backup = vec![0; places.backup.len()];
        for (root, (_, parts)) in places.roots().into_iter().enumerate() {
            for part in parts {
                match part {
                    Part::Log => log = Some(root),
                    Part::Backup { nth, .. } => backup[nth] = root,
                }
            }
        }
        PlacedDisk {
            home,
            roots,
            log,
            backup,
        }
    }

    /// The directories elsewhere, each once.
    pub fn roots(&self) -> &[Arc<dyn Disk>] {
        &self.roots
    }

    fn of_file(&self, name: &str) -> &Arc<dyn Disk> {
        let root = match name.split_once('/') {
            Some((LOG_DIRECTORY, _)) => self.log,
            Some((BACKUP_DIRECTORY, file)) if !self.backup.is_empty() => {
                let stripe = stripe_of_file(file).unwrap_or(0) as usize;
                self.backup.get(stripe % self.backup.len()).copied()
            }
            _ => None,
        };
        root.map_or(&self.home, |root| &self.roots[root])
    }

    /// The disks that a directory of this name is on, each once.
    fn of_directory(&self, directory: &str) -> Vec<&Arc<dyn Disk>> {
        let first = directory.split('/').next().unwrap_or_default();
        let mut roots: Vec<usize> = match (first, self.log) {
            ("", _) => return std::iter::once(&self.home).chain(&self.roots).collect(),
            (LOG_DIRECTORY, Some(log)) => vec![log],
            (BACKUP_DIRECTORY, _) => self.backup.clone(),
            _ => Vec::new(),
        };
        roots.sort_unstable();
        roots.dedup();
        match roots.is_empty() {
            true => vec![&self.home],
            false => roots.into_iter().map(|root| &self.roots[root]).collect(),
        }
    }
}

impl Disk for PlacedDisk {
    fn open(
        &self,
        name: &str,
        access: Access,
        create: Create,
    ) -> Result<Box<dyn DiskFile>, DiskError> {
        self.of_file(name).open(name, access, create)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let disk = self.of_file(from);
        if !Arc::ptr_eq(disk, self.of_file(to)) {
            let both = format!("{} to {}", self.display_name(from), self.display_name(to));
            let crosses = std::io::ErrorKind::CrossesDevices.into();
            return Err(DiskError::new("rename", both, 0, crosses));
        }
        disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), DiskError> {
        self.of_file(name).remove(name)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, DiskError> {
        if directory.is_empty() {
            return self.home.list("");
        }
        let mut names = Vec::new();
        for disk in self.of_directory(directory) {
            // A file that belongs to another database, such as a stripe that was moved, does not exist
            // for any caller.
            let here =
                |name: &String| Arc::ptr_eq(self.of_file(&format!("{directory}/{name}")), disk);
            names.extend(disk.list(directory)?.into_iter().filter(here));
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_directory(&self, directory: &str) -> Result<(), DiskError> {
        let disks = self.of_directory(directory);
        (disks.into_iter()).try_for_each(|disk| disk.create_directory(directory))
    }

    fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        // In all of them, also where one has no such directory yet.
        (self.of_directory(directory).into_iter())
            .map(|disk| disk.sync_directory(directory))
            .fold(Ok(()), Result::and)
    }

    fn lock(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.home.lock(name)
    }

    fn lock_shared(&self, name: &str) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        self.home.lock_shared(name)
    }

    fn lock_waiting(&self, name: &str) -> Result<Box<dyn DiskLock>, DiskError> {
        self.home.lock_waiting(name)
    }

    fn lock_holders(&self, name: &str) -> Vec<u32> {
        self.home.lock_holders(name)
    }

    fn display_name(&self, name: &str) -> String {
        if name.contains('/') {
            return self.of_file(name).display_name(name);
        }
        match *self.of_directory(name) {
            [disk] => disk.display_name(name),
            _ => self.home.display_name(name),
        }
    }

    fn elsewhere(&self, path: &str, make: bool) -> Result<Arc<dyn Disk>, DiskError> {
        self.home.elsewhere(path, make)
    }
}
