//! The simulated directory tree: the names that the running process sees, the names that would surely be there after a
//! crash, and the unsynced changes in between.
//!
//! A change that survives a crash takes with it the earlier changes of the same names. So a rename is atomic: one of
//! its names exists, never both and never neither. No name leads to a file that it never had. Changes of unrelated
//! names survive in any combination.
//!
//! A directory is a name too: a new one is only stable when the directory that it is entered in was
//! synced. A lost one takes with it all its content, even if that was synced.

use super::content::Survival;
use sardonyx_base::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// The number of a file, for as long as anything refers to it.
pub(super) type FileNumber = u64;

#[derive(Clone, Debug)]
enum Change {
    Create {
        name: String,
        file: FileNumber,
    },
    Rename {
        from: String,
        to: String,
        file: FileNumber,
    },
    Remove {
        name: String,
    },
    MakeDirectory {
        name: String,
    },
}

/// The directory that a name is in; `""` is the root.
pub(super) fn directory_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(directory, _)| directory)
}

impl Change {
    fn names(&self) -> impl Iterator<Item = &String> {
        let (first, second) = match self {
            Change::Create { name, .. }
            | Change::Remove { name }
            | Change::MakeDirectory { name } => (name, None),
            Change::Rename { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }

    fn apply(self, tree: &mut Tree) {
        match self {
            Change::Create { name, file } => {
                tree.files.insert(name, file);
            }
            Change::Rename { from, to, file } => {
                tree.files.remove(&from);
                tree.files.insert(to, file);
            }
            Change::Remove { name } => {
                tree.files.remove(&name);
            }
            Change::MakeDirectory { name } => {
                tree.directories.insert(name);
            }
        }
    }
}

/// Names as one observer sees them.
#[derive(Clone, Debug, Default)]
struct Tree {
    files: BTreeMap<String, FileNumber>,
    /// Without the root.
    directories: BTreeSet<String>,
}

impl Tree {
    fn has_directory(&self, directory: &str) -> bool {
        directory.is_empty() || self.directories.contains(directory)
    }

    /// Drops the content of directories that do not exist.
    fn drop_unreachable(&mut self) {
        // A directory comes after the one that it is in.
        for directory in std::mem::take(&mut self.directories) {
            if self.has_directory(directory_of(&directory)) {
                self.directories.insert(directory);
            }
        }
        let mut files = std::mem::take(&mut self.files);
        files.retain(|name, _| self.has_directory(directory_of(name)));
        self.files = files;
    }
}

/// All names of a simulated disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    live: Tree,
    /// The names that would exist if nothing unsynced did; may have names in directories that would
    /// not.
    durable: Tree,
    unsynced: Vec<Change>,
}

impl Names {
    pub(super) fn live(&self) -> &BTreeMap<String, FileNumber> {
        &self.live.files
    }

    pub(super) fn has_directory(&self, directory: &str) -> bool {
        self.live.has_directory(directory)
    }

    /// Makes a directory that is not there.
    pub(super) fn make_directory(&mut self, directory: &str) {
        self.change(Change::MakeDirectory {
            name: directory.to_owned(),
        });
    }

    pub(super) fn create(&mut self, name: &str, file: FileNumber) {
        self.change(Change::Create {
            name: name.to_owned(),
            file,
        });
    }

    /// Renames an existing file.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if from != to {
            let file = self.live.files[from];
            self.change(Change::Rename {
                from: from.to_owned(),
                to: to.to_owned(),
                file,
            });
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.change(Change::Remove {
            name: name.to_owned(),
        });
    }

    fn change(&mut self, change: Change) {
        change.clone().apply(&mut self.live);
        self.unsynced.push(change);
    }

    /// Makes the changes in a directory stable.
    pub(super) fn sync(&mut self, directory: &str) {
        self.settle(|change| change.names().any(|name| directory_of(name) == directory));
    }

    /// The changes in a directory as a failed sync leaves them: some are stable. The others stay
    /// unsynced, since it is data that the operating system forgets, not directories.
    pub(super) fn sync_failing(&mut self, directory: &str, random: &mut Random) {
        let survival = Survival::draw(random);
        self.settle(|change| {
            let here = change.names().any(|name| directory_of(name) == directory);
            here && survival.keeps(random)
        });
    }

    /// Makes the wanted changes stable, and the earlier ones that they rest on.
    fn settle(&mut self, mut wanted: impl FnMut(&Change) -> bool) {
        let mut settled_names = BTreeSet::new();
        let mut settled = vec![false; self.unsynced.len()];
        for (change, settled) in self.unsynced.iter().zip(&mut settled).rev() {
            *settled = wanted(change) || change.names().any(|name| settled_names.contains(name));
            if *settled {
                settled_names.extend(change.names().cloned());
            }
        }
        for (change, settled) in std::mem::take(&mut self.unsynced).into_iter().zip(settled) {
            if settled {
                change.apply(&mut self.durable);
            } else {
                self.unsynced.push(change);
            }
        }
    }

    /// The names as a crash leaves them.
    pub(super) fn after_crash(&self, random: &mut Random) -> Names {
        let mut after = self.clone();
        let survival = Survival::draw(random);
        after.settle(|_| survival.keeps(random));
        after.unsynced.clear();
        after.durable.drop_unreachable();
        after.live.clone_from(&after.durable);
        after
    }

    /// Gives the files new numbers, in the order of names.
    ///
    /// Only for names without unsynced changes, as a crash leaves them.
    pub(super) fn renumber(&mut self, mut number: impl FnMut(FileNumber) -> FileNumber) {
        for file in self.durable.files.values_mut() {
            *file = number(*file);
        }
        self.live.clone_from(&self.durable);
    }

    /// True if any name, now or after some crash, leads to the file.
    pub(super) fn refers_to(&self, file: FileNumber) -> bool {
        let in_change = |change: &Change| match change {
            Change::Create { file: other, .. } | Change::Rename { file: other, .. } => {
                *other == file
            }
            Change::Remove { .. } | Change::MakeDirectory { .. } => false,
        };
        self.live
            .files
            .values()
            .chain(self.durable.files.values())
            .any(|other| *other == file)
            || self.unsynced.iter().any(in_change)
    }
}
