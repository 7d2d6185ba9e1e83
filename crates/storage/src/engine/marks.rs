//! The marks of a directory that is on its way to a database, which a store has whole: it is being made of a base, or begins
//! anew.
//!
//! The manifest is written last: until then the directory has no database, and is marked ([`SEEDING_FILE`]). So the
//! remains of an attempt are not taken for a database that has lost its manifest, and the next attempt clears them.

use super::{OpenError, SEEDING_FILE};
use crate::disk::{Access, Create, Disk};
use crate::log::published;
use crate::manifest::MANIFEST_FILE;
use crate::places;
use crate::remote_log::known::STORE_FILE;
use crate::stored;
use std::sync::Arc;

/// Removes the remains of an unfinished attempt; nothing, if there was none.
///
/// # Errors
/// The disk's.
pub fn clear_unfinished(home: &Arc<dyn Disk>) -> Result<(), OpenError> {
    match is_marked(&**home)? {
        true => {
            places::clear_parts(home)?;
            forget_store(home)
        }
        false => Ok(()),
    }
}

/// Removes the record of the store, if there is one: durably, since no later manifest may be found beside it.
pub(super) fn forget_store(home: &Arc<dyn Disk>) -> Result<(), OpenError> {
    if home.list("")?.iter().any(|left| left == STORE_FILE) {
        home.remove(STORE_FILE)?;
        home.sync_directory("")?;
    }
    Ok(())
}

/// Removes the manifest; the next opening makes the directory from the store, after a crash at any step, too.
pub(super) fn begin_anew(home: &dyn Disk) -> Result<(), OpenError> {
    mark(home)?;
    // They belong to pages that are replaced.
    stored::forget(home)?;
    published::forget(home)?;
    home.remove(MANIFEST_FILE)?;
    Ok(home.sync_directory("")?)
}

/// Marks the directory, durably: its content is no database; a whole one is somewhere else.
pub(super) fn mark(home: &dyn Disk) -> Result<(), OpenError> {
    home.open(SEEDING_FILE, Access::Buffered, Create::IfAbsent)?
        .sync()?;
    Ok(home.sync_directory("")?)
}

/// The directory has a database now: the mark is of no use any more.
pub(super) fn forget_mark(home: &dyn Disk) -> Result<(), OpenError> {
    if is_marked(home)? {
        home.remove(SEEDING_FILE)?;
        home.sync_directory("")?;
    }
    Ok(())
}

fn is_marked(home: &dyn Disk) -> Result<bool, OpenError> {
    Ok(home.list("")?.iter().any(|name| name == SEEDING_FILE))
}

#[cfg(test)]
mod tests {
    use super::super::StorageOptions;
    use super::super::hosts::create_empty;
    use super::*;
    use crate::disk::{Faults, SimulatedDisk};
    use crate::log::published::DURABLE_FILE;
    use crate::log::segment::LOG_DIRECTORY;
    use crate::manifest::Manifest;
    use crate::remote_log::known::Known;
    use crate::stored::INDEXES_FILE;

    #[test]
    fn a_crash_while_a_directory_is_made_anew_leaves_no_manifest_beside_what_was_known_of_the_store()
     {
        let options = StorageOptions {
            segment_bytes: 64 << 10,
            ..StorageOptions::default()
        };
        let manifest = Manifest {
            segment_bytes: options.segment_bytes,
            ..Manifest::new(7)
        };
        let mut made = 0;
        for seed in 0..40 {
            for step in 1.. {
                let before = SimulatedDisk::new(seed, Faults::default());
                // It has had a log: to make that folder would sync the directory.
                before.create_directory(LOG_DIRECTORY).unwrap();
                Known::start(7).write(&before).unwrap();
                // A clean close left its indexes.
                let indexes = before.open(INDEXES_FILE, Access::Buffered, Create::New);
                indexes.unwrap().write_at(0, b"indexes").unwrap();
                let durable = before.open(DURABLE_FILE, Access::Buffered, Create::New);
                durable.unwrap().write_at(0, b"durable").unwrap();
                mark(&before).unwrap();
                let crashing = before.restart(Faults {
                    crash_at_step: Some(step),
                    ..Faults::default()
                });
                let home: Arc<dyn Disk> = Arc::new(crashing.clone());
                let outcome = create_empty(&home, &options, &manifest);
                let crashed = crashing.has_crashed();
                assert!(crashed || outcome.is_ok(), "{outcome:?}");
                let names = crashing.restart(Faults::default()).list("").unwrap();
                let has = |wanted| names.iter().any(|name| name == wanted);
                made += u64::from(has(MANIFEST_FILE) && crashed);
                let is_whole = !has(MANIFEST_FILE) || !has(STORE_FILE) && !has(DURABLE_FILE);
                assert!(is_whole, "seed {seed}, step {step}: {names:?}");
                if !crashed {
                    break;
                }
            }
        }
        assert!(made > 10, "{made}");
    }

    #[test]
    fn the_end_of_a_log_that_is_given_up_is_published_no_longer() {
        let mut removed = 0;
        for step in 1.. {
            let before = SimulatedDisk::new(1, Faults::default());
            Manifest::new(7).write(&before).unwrap();
            let durable = before.open(DURABLE_FILE, Access::Buffered, Create::New);
            durable.unwrap().sync().unwrap();
            before.sync_directory("").unwrap();
            let crashing = before.restart(Faults {
                crash_at_step: Some(step),
                ..Faults::default()
            });
            let outcome = begin_anew(&crashing);
            let crashed = crashing.has_crashed();
            assert!(crashed || outcome.is_ok(), "{outcome:?}");
            let names = crashing.restart(Faults::default()).list("").unwrap();
            let has = |wanted| names.iter().any(|name| name == wanted);
            assert!(
                has(MANIFEST_FILE) || !has(DURABLE_FILE),
                "step {step}: {names:?}"
            );
            removed += u64::from(!has(DURABLE_FILE));
            if !crashed {
                assert!(!has(MANIFEST_FILE));
                break;
            }
        }
        assert!(removed > 1, "{removed}");
    }
}
