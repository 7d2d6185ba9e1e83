//! Recovery of a database whose checkpoints are taken at a standby (configuration C): from the
//! directory alone as long as its log reaches back far enough, else from an image of the standby's
//! DB' and the local log. It makes no DB' and no checkpointers, and leaves the journal's archive to
//! the standby.
//!
//! Invariants: as in [`super`]. The standby's log must be a beginning of the local one: nothing is
//! recovered from an image that has another history.
//!
//! Source: TPK paper, sections 2 ("Recovery") and 3 (configuration C).

use super::WORKERS_MAX;
use super::{Needs, Recovered, RecoveryError, RecoveryOptions, RecoveryReport, Redo, Tail};
use super::{check_end, check_recorded_end, check_starts, durable_before, load, make_names_stable};
use super::{open_log, reached};
use crate::checkpoint::{Image, RemoteError, StripeLayout};
use crate::disk::Disk;
use crate::log::LogPosition;
use crate::log::reader::{LogReader, group_before};
use crate::manifest::Manifest;
use crate::store::PageStore;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Recovers from the directory alone: an old backup, if there is one, and the log.
///
/// # Errors
/// [`RecoveryError::LogFreed`] if the log does not reach back far enough: an image is needed.
pub fn recover_locally(
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
    let stripes = load::load(&**disk, &layouts, &mut store, workers, stable)?;
    let load_time = started.elapsed();
    let (reader, needs) = open_log(disk, manifest, &stripes, None)?;
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

/// Recovers from a standby's image and the local log. Returns from where the log is still needed,
/// too.
///
/// # Errors
/// [`RecoveryError::Standby`] if the standby's log is not the beginning of the local one.
pub fn recover_from_image(
    disk: &Arc<dyn Disk>,
    manifest: &Manifest,
    image: Image,
) -> Result<(Recovered, LogPosition), RecoveryError> {
    let layout = manifest.log_layout();
    // The standby goes on after `position`, and its history is checked by the group before it.
    let mut needed_from = image.redo_start;
    if image.position != LogPosition::START {
        let group = group_before(&**disk, layout, image.position)?;
        if let Some(header) = group {
            needed_from = needed_from.min(header.position_before());
        }
        if group.is_none_or(|header| header.history_checksum() != image.last_checksum) {
            let (address, standby_group) = (image.origin, image.position.group);
            return Err(RemoteError::Ahead {
                address,
                standby_group,
            }
            .into());
        }
    }
    let compacted = manifest.compacted;
    if compacted.is_some_and(|compacted| image.position.group < compacted.group) {
        let (address, group) = (image.origin, image.position.group);
        return Err(RemoteError::Compacted { address, group }.into());
    }
    make_names_stable(&**disk)?;
    let needs = Needs {
        needed_by: image.origin.clone(),
        damaged_offsets: Vec::new(),
    };
    check_starts(&**disk, layout, manifest.log_end.max(image.position))?;
    let reader = LogReader::open(disk, layout, image.redo_start);
    let reader = reader.map_err(|error| needs.explain(error))?;
    // The standby is sent durable groups alone.
    let tail = Tail {
        disk,
        layout,
        durable_before: image.position.group,
    };
    let mut redo = Redo::new(reader, needs);
    redo.expect_end(disk, manifest);
    let recovered = run(image.store, redo, Some(tail))?;
    if recovered.end.group < image.position.group {
        let (address, standby_group) = (image.origin, image.position.group);
        return Err(RemoteError::Ahead {
            address,
            standby_group,
        }
        .into());
    }
    check_recorded_end(&**disk, manifest, recovered.end)?;
    Ok((recovered, needed_from))
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

    /// What a standby with everything before here would send.
    fn image(world: &World) -> Image {
        let recovered = world.recover(true).unwrap();
        let layout = world.manifest().log_layout();
        let last = group_before(&*world.disk, layout, recovered.end).unwrap();
        Image {
            store: recovered.store,
            redo_start: recovered.end,
            position: recovered.end,
            last_checksum: last.map_or(0, |last| last.history_checksum()),
            origin: "elsewhere:1".into(),
        }
    }

    fn committed(world: &mut World, groups: usize) {
        let mut life = world.open("another life").unwrap();
        (0..groups).for_each(|_| world.commit(&mut life).unwrap());
    }

    #[test]
    fn an_image_and_the_log_behind_it_make_the_whole() {
        for seed in 0..20 {
            let mut world = World::create(seed, 1);
            committed(&mut world, seed as usize % 7);
            let image = image(&world);
            let position = image.position;
            committed(&mut world, 9);
            let manifest = world.manifest();
            let (recovered, needed_from) =
                recover_from_image(&world.disk, &manifest, image).unwrap();
            assert_eq!(
                recovered.report.groups, 9,
                "only what the image lacks is applied"
            );
            world.check(&recovered, "from the image");
            // The group by which the standby's history is checked stays.
            let expected = position.group.max(2) - 1;
            assert_eq!(needed_from.group, expected, "seed {seed}");
        }
    }

    #[test]
    fn an_image_of_another_history_or_a_later_one_is_refused() {
        let mut world = World::create(3, 1);
        committed(&mut world, 5);
        let early = world.simulated.restart(Default::default());
        world.restart(None);
        committed(&mut world, 5);
        let manifest = world.manifest();
        let other = Image {
            last_checksum: image(&world).last_checksum ^ 1,
            ..image(&world)
        };
        let later = image(&world);
        let early: Arc<dyn Disk> = Arc::new(early);
        for (disk, image) in [(&world.disk, other), (&early, later)] {
            let found = recover_from_image(disk, &manifest, image);
            let Err(RecoveryError::Standby(RemoteError::Ahead { address, .. })) = found else {
                panic!("{found:?}")
            };
            assert_eq!(address, "elsewhere:1");
        }
    }

    #[test]
    fn a_log_with_a_gap_is_not_believed() {
        let mut world = World::create(3, 1);
        committed(&mut world, 60);
        let missing = segment_file(1);
        world.disk.remove(&missing).unwrap();
        for found in [
            world.recover(true),
            world.recover(false),
            recover_locally(&world.disk, &world.manifest(), Default::default()),
        ] {
            let Err(RecoveryError::LogFreed { file, .. }) = found else {
                panic!("{found:?}")
            };
            assert!(file.ends_with(&missing), "{file}");
        }
    }
}
