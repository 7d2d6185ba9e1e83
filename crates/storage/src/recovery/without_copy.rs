//! Recovery of a database whose checkpoints are left to followers of its log (configuration C): from an older backup
//! and the log. It makes no DB' and no checkpointers, and leaves the journal's archive to the followers. If the log
//! does not reach back so far, the directory is made anew from the store first ([`lacking`](crate::engine)).
//!
//! Invariants: as in [`super`].
//!
//! Source: TPK paper, sections 2 ("Recovery") and 3 (configuration C).

use super::WORKERS_MAX;
use super::{Recovered, RecoveryError, RecoveryOptions, RecoveryReport, Redo, Tail};
use super::{check_end, durable_before, load, make_names_stable};
use super::{known_end, open_log, reached};
use crate::checkpoint::StripeLayout;
use crate::disk::Disk;
use crate::manifest::Manifest;
use crate::store::PageStore;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Recovers from the directory alone: an old backup, if there is one, and the log.
///
/// # Errors
/// [`RecoveryError::LogFreed`] or [`RecoveryError::MissingBlock`] if the log does not reach back far enough.
pub fn recover_without_copy(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    options: RecoveryOptions,
) -> Result<Recovered, RecoveryError> {
    let started = Instant::now();
    let mut store = PageStore::reserve(options.memory_max_bytes)?;
    let layouts: Vec<_> = (0..manifest.stripes)
        .map(|k| StripeLayout::of(manifest, k))
        .collect();
    let mut stable_time = Duration::ZERO;
    if !options.dry_run {
        make_names_stable(&**disk)?;
        stable_time = started.elapsed();
    }
    let workers = options.workers.clamp(1, WORKERS_MAX);
    let stable = (!options.dry_run).then_some(&mut stable_time);
    let stripes = load::load(&**disk, &layouts, &mut store, workers, stable, false)?;
    let load_time = started.elapsed();
    let (mut reader, needs) = open_log(disk, manifest, &stripes, None)?;
    reader.set_known_end(known_end(manifest, options));
    let tail = (!options.dry_run).then(|| Tail {
        disk,
        layout: manifest.log_layout(),
        durable_before: durable_before(reached(manifest, &stripes, None), None),
    });
    let mut redo = Redo::new(reader, needs);
    redo.expect_end(disk, manifest);
    let mut recovered = run(store, redo, tail)?;
    check_end(&**disk, manifest, recovered.end, &stripes, None)?;
    recovered.report.stripes = stripes.into_iter().map(|stripe| stripe.report).collect();
    recovered.report.load_time = load_time;
    recovered.report.stable_time += stable_time;
    Ok(recovered)
}

fn run(
    mut store: PageStore,
    mut redo: Redo,
    tail: Option<Tail<'_>>,
) -> Result<Recovered, RecoveryError> {
    let started = Instant::now();
    let redo_start = redo.reader.position();
    redo.run(&mut store, None, None, tail)?;
    let stable_time = redo.stable_time;
    let Redo { reader, totals, .. } = redo;
    let end_check_time = reader.end_check_time();
    let report = RecoveryReport {
        stripes: Vec::new(),
        load_time: Duration::ZERO,
        redo_start,
        redo_end: reader.position(),
        groups: totals.groups,
        transactions: totals.transactions,
        writes: totals.writes,
        record_bytes: totals.record_bytes,
        journal_rows: 0,
        redo_time: started.elapsed().saturating_sub(end_check_time),
        end_check_time,
        stable_time,
        copy_time: None,
        database_bytes: store.bytes().len() as u64,
    };
    Ok(Recovered {
        store,
        checkpointers: Vec::new(),
        end: reader.position(),
        last_incarnation: reader.last_incarnation(),
        report,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exploration::lives::World;
    use crate::log::segment::segment_file;

    #[test]
    fn a_log_with_a_gap_is_not_believed() {
        let mut world = World::create("a gap".into(), 3, 1);
        let mut life = world.open().unwrap();
        (0..60).for_each(|_| world.commit(&mut life));
        let missing = segment_file(1);
        world.disk.remove(&missing).unwrap();
        for found in [
            world.recover(true),
            world.recover(false),
            recover_without_copy(&world.dynamic(), &world.manifest(), Default::default()),
        ] {
            let Err(RecoveryError::LogFreed { file, .. }) = found else {
                panic!("{found:?}")
            };
            assert!(file.ends_with(&missing), "{file}");
        }
    }
}
