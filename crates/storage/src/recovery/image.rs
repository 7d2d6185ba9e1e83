//! Recovery of a database whose checkpoints are taken at a standby (configuration C): from the
//! directory alone as long as its log reaches back far enough, else from an image of the standby's
//! DB' and the local log. It makes no DB' and no checkpointers, and leaves the journal's archive to
//! the standby.
//!
//! Invariants: as in [`super`]. The standby's log must be a beginning of the local one: nothing is
//! recovered from an image that has another history.
//!
//! Source: Li & Naughton, sections 2 ("Recovery") and 3 (configuration C).

use super::{Needs, Recovered, RecoveryError, RecoveryOptions, RecoveryReport, Redo, Totals};
use super::{check_end, load, make_log_stable, open_log};
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
    let stripes = load::load(&**disk, &layouts, &mut store, options.workers.max(1))?;
    let load_time = started.elapsed();
    let (reader, needs) = open_log(disk, manifest, options, &stripes, None)?;
    let mut recovered = redo(store, reader, needs)?;
    check_end(recovered.end, &stripes, None)?;
    recovered.report.stripes = stripes.into_iter().map(|stripe| stripe.report).collect();
    recovered.report.load_time = load_time;
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
    make_log_stable(&**disk, layout.segment_of(image.redo_start.lsn))?;
    let needs = Needs {
        needed_by: image.origin.clone(),
        damaged_offsets: Vec::new(),
    };
    let reader = LogReader::open(disk, layout, image.redo_start);
    let reader = reader.map_err(|error| needs.explain(error))?;
    let recovered = redo(image.store, reader, needs)?;
    if recovered.end.group < image.position.group {
        let (address, standby_group) = (image.origin, image.position.group);
        return Err(RemoteError::Ahead {
            address,
            standby_group,
        }
        .into());
    }
    Ok((recovered, needed_from))
}

fn redo(mut store: PageStore, reader: LogReader, needs: Needs) -> Result<Recovered, RecoveryError> {
    let started = Instant::now();
    let redo_start = reader.position();
    let mut redo = Redo {
        reader,
        needs,
        totals: Totals::default(),
    };
    redo.run(&mut store, None, None)?;
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
