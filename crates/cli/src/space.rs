//! The tables of a database that is only read: recovered in memory, beside a program that has it open, too.

use crate::target::Files;
use sardonyx_storage::catalogue::Catalogue;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::recover;
use sardonyx_table::TableSpace;

/// Recovers the tables in memory and lets `look` look at them; `None` if there are none: the database is empty, or
/// the mapped way made it.
pub fn look_at<T>(
    files: &Files,
    look: impl Fn(&TableSpace) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let read = || {
        let manifest = Manifest::read(&*files.disk)?;
        let recovered = recover(&files.disk, &manifest, files.dry_run())?;
        if !Catalogue::is_in(recovered.store.bytes()) {
            return Ok(None);
        }
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let (space, _) = TableSpace::open(recovered.store, workers)?;
        look(&space).map(Some)
    };
    files.read(read, |_| None)
}
