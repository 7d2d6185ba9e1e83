//! Checking everything that a database has on disk: the manifest, every slot of every stripe, the journal's
//! archive, and the log. A recovery that changes nothing checks the log, from where it is needed to its
//! end.
//!
//! This distinguishes the remains of a crash (a torn slot, a torn last chunk) from damage: recovery
//! succeeds without them.

use crate::checkpoint::StripeLayout;
use crate::checkpoint::slot::SlotState;
use crate::disk::{Disk, DiskError};
use crate::inspect;
use crate::journal::archive::{ArchiveReader, Stop};
use crate::journal::{JournalError, Retention, journal_file};
use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};
use crate::places::{self, PLACES_FILE, PlacesError};
use crate::recovery::{RecoveryError, RecoveryOptions, RecoveryReport, recover};
use crate::store::PageStore;
use std::sync::Arc;

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The remains of an interrupted write; recovery succeeds without them.
    Leftover,
    /// Something that was durable is broken or missing.
    Damage,
}

/// Something on disk that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Distinguishes remains of a crash from damage.
    pub severity: Severity,
    /// The file with the fault.
    pub file: String,
    /// The place in the file, in bytes, if known; a recovery's error names it in its text.
    pub offset: Option<u64>,
    /// The fault.
    pub what: String,
}

/// The checked things and the findings.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// The manifest, if it could be read.
    pub manifest: Option<Manifest>,
    /// Slots looked at.
    pub slots: u64,
    /// Slots with a whole version of a block, old ones included.
    pub versions: u64,
    /// Whole chunks of the journal's archive.
    pub chunks: u64,
    /// Rows in them.
    pub archived_rows: u64,
    /// The recovery that was tried, if it succeeded.
    pub recovery: Option<RecoveryReport>,
    /// Faults, in the order of their discovery.
    pub findings: Vec<Finding>,
}

impl Verification {
    /// True if nothing that was durable is broken or missing.
    #[inline]
    pub fn is_sound(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity == Severity::Leftover)
    }
}

/// Checks everything. Reads all of it, and takes as much memory as the database; changes nothing.
/// The caller holds the database's lock.
///
/// # Errors
/// Only where the disk does not let itself be read; everything else is a finding.
#[inline]
pub fn verify(
    disk: &Arc<dyn Disk>,
    memory_max_bytes: u64,
    workers: usize,
) -> Result<Verification, DiskError> {
    let options = RecoveryOptions {
        memory_max_bytes,
        workers,
        ..RecoveryOptions::default()
    };
    verify_with(disk, options, |_| Vec::new())
}

/// [`verify`], with a check of the pages' contents by a caller that knows them. `look` is called with the
/// recovered pages, if they could be recovered, and returns its findings. The recovery is a dry run,
/// in every case; with [`RecoveryOptions::beside_writer`] the lock need not be held.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(
    disk: &Arc<dyn Disk>,
    options: RecoveryOptions,
    look: impl FnOnce(PageStore) -> Vec<Finding>,
) -> Result<Verification, DiskError> {
    let mut verification = Verification::default();
    let manifest = match Manifest::read(&**disk) {
        Ok(manifest) => manifest,
        Err(ManifestError::Disk(error)) => return Err(error),
        Err(error) => {
            verification.damage(disk.display_name(MANIFEST_FILE), None, error.to_string());
            return Ok(verification);
        }
    };
    let disk = &match places::find_for_reading(disk, &manifest) {
        Ok(disk) => disk,
        Err(PlacesError::Disk(error)) => return Err(error),
        Err(error) => {
            verification.damage(disk.display_name(PLACES_FILE), None, error.to_string());
            verification.manifest = Some(manifest);
            return Ok(verification);
        }
    };
    let options = RecoveryOptions {
        dry_run: true,
        sparse: true,
        ..options
    };
    let torn = match recover(disk, &manifest, options) {
        Ok(recovered) => {
            verification.recovery = Some(recovered.report);
            verification.findings.extend(look(recovered.store));
            Severity::Leftover
        }
        Err(RecoveryError::Disk(error)) => return Err(error),
        Err(error) => {
            verification.damage(disk.display_name(""), None, error.to_string());
            Severity::Damage
        }
    };
    for stripe in 0..manifest.stripes {
        verification.check_slots(&**disk, StripeLayout::of(&manifest, stripe), torn)?;
    }
    if manifest.journal != Retention::Nothing {
        verification.check_archive(disk, manifest.identity, torn)?;
    }
    verification.manifest = Some(manifest);
    Ok(verification)
}

impl Verification {
    #[inline]
    fn damage(&mut self, file: String, offset: Option<u64>, what: String) {
        self.findings.push(Finding {
            severity: Severity::Damage,
            file,
            offset,
            what,
        });
    }

    #[inline]
    fn check_slots(
        &mut self,
        disk: &dyn Disk,
        layout: StripeLayout,
        torn: Severity,
    ) -> Result<(), DiskError> {
        for listing in inspect::slots(disk, layout, true)? {
            self.slots += 1;
            let (severity, what) = match listing.state {
                SlotState::Empty => continue,
                SlotState::Valid(_) if listing.data_is_valid == Some(true) => {
                    self.versions += 1;
                    continue;
                }
                SlotState::Valid(header) => {
                    let (block, checkpoint) = (header.block, header.checkpoint);
                    (
                        torn,
                        format!("block {block} of checkpoint {checkpoint} is torn"),
                    )
                }
                SlotState::Damaged => (torn, "a slot's header is torn".into()),
                SlotState::Foreign => (
                    Severity::Damage,
                    "a block of another database or stripe".into(),
                ),
            };
            let file = disk.display_name(&layout.file_name());
            self.findings.push(Finding {
                severity,
                file,
                offset: Some(listing.offset),
                what,
            });
        }
        Ok(())
    }

    #[inline]
    fn check_archive(
        &mut self,
        disk: &Arc<dyn Disk>,
        identity: u64,
        torn: Severity,
    ) -> Result<(), DiskError> {
        let mut read = || -> Result<Option<Stop>, JournalError> {
            let mut archive = ArchiveReader::open(disk, identity)?;
            while let Some(header) = archive.next_chunk()? {
                self.chunks += 1;
                self.archived_rows += header.rows;
            }
            Ok(archive.stop())
        };
        match read() {
            Ok(None) => Ok(()),
            Ok(Some(stop)) => {
                let file = disk.display_name(&journal_file(stop.file));
                let (offset, what) = (Some(stop.offset), stop.reason.to_string());
                self.findings.push(Finding {
                    severity: torn,
                    file,
                    offset,
                    what,
                });
                Ok(())
            }
            Err(JournalError::Disk(error)) => Err(error),
            Err(JournalError::Damaged {
                file,
                offset,
                reason,
                ..
            }) => {
                self.damage(file, Some(offset), reason.into());
                Ok(())
            }
            Err(error) => {
                self.damage(
                    disk.display_name(crate::journal::JOURNAL_DIRECTORY),
                    None,
                    error.to_string(),
                );
                Ok(())
            }
        }
    }
}
