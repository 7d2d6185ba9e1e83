//! A guest: a process that reads a database beside the one that has it open, by its files alone (I13). It takes no lock,
//! changes nothing, and the writer does not know of it.
//!
//! It *arrives* by reading the backup and the log as a recovery does, up to the end that is published as durable
//! ([`DurableEnd`]). Then it *looks* for that end from time to time, and reads the groups before it. The writer frees
//! log that its own recovery does not need any more; a guest that has not read it by then is *overtaken*, and arrives
//! anew.
//!
//! Nothing beyond the published end is looked at. So a group that is half written, or that a power cut may take back,
//! is never seen. The groups before that end are whole, or the log was freed, or it is damaged.
//!
//! Invariants: I1 (only durable groups are given); I4 (whole groups, in their order); I5 (the groups' headers show a
//! segment that was freed and is written anew); I13.

use crate::disk::{Disk, DiskError};
use crate::log::follow::Follower;
use crate::log::group::{GROUP_HEADER_BYTES, GroupHeader};
use crate::log::published::{DURABLE_FILE, DurableEnd, compactions};
use crate::log::segment::segments_present;
use crate::log::{LogError, LogLayout, LogPosition};
use crate::manifest::{MANIFEST_FILE, Manifest, ManifestError};
use crate::places::{PlacesError, find_for_reading};
use crate::recovery::{Recovered, RecoveryError, RecoveryOptions, recover_beside};
use crate::store::PageStore;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// The number of times that an arriving guest reads files anew that may have been changed meanwhile.
const ARRIVALS_MAX: usize = 8;

/// The pause before the second reading. Each later one is twice as long, up to [`PAUSE_MAX`].
const PAUSE: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// The reason why a database cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuestError {
    /// There is no database, or its manifest is damaged.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A part of it is not where it was.
    #[error(transparent)]
    Places(#[from] PlacesError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The backup or the log is damaged.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// The log is damaged behind the groups read before.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The writer went on under every reading, and each found another thing.
    #[error(
        "the writing program changed the database during each of {times} readings: follow again when less is written, \
         or let that program take checkpoints less often (`checkpoint_interval_bytes`), with a larger log (`log_bytes_max`); \
         the last reading found: {last}"
    )]
    Overtaken {
        /// The number of readings.
        times: usize,
        /// The result of the last one.
        last: Box<GuestError>,
    },
    /// Another database is in the directory by now.
    #[error(
        "{file} is of another database ({found:016x}) than the one that is followed ({expected:016x}): it was replaced; \
         follow anew to read the other one"
    )]
    Replaced {
        /// The file by which the replacement was noticed.
        file: String,
        /// The identity that was found.
        found: u64,
        /// The identity of the database that is followed.
        expected: u64,
    },
    /// The database has less than it had.
    #[error(
        "by {file} the log ends before group {found}, but it was durable up to group {before}: an older copy was put \
         in its place, or a host cut its fork of the log; follow anew to read the present state"
    )]
    WentBack {
        /// The file that shows an earlier end.
        file: String,
        /// The end that was found.
        found: u64,
        /// The end that was there before.
        before: u64,
    },
}

/// The result of a look at the published end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// The end is known: everything that was acknowledged before the look is before it.
    End,
    /// The known end may not be the newest: none is published, or not by the last opening.
    Unknown,
    /// The log from the guest's place on was freed, or all pages were replaced: it is to arrive anew.
    Overtaken,
}

/// A reader of a database that another process may write to.
#[derive(Debug)]
pub struct Guest {
    home: Arc<dyn Disk>,
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    layout: LogLayout,
    log: Follower,
    /// The newest end that was published, or the place of the arrival.
    end: LogPosition,
    /// The newest that was published.
    published: Option<LogPosition>,
}

/// A guest that has just arrived.
#[derive(Debug)]
pub struct Arrival {
    /// The pages, as they were at the guest's place.
    pub store: PageStore,
    /// The rest of the log.
    pub guest: Guest,
    /// [`Sight::End`] if everything that was acknowledged before the arrival is in the pages.
    pub sight: Sight,
}

impl Guest {
    /// Reads the database on a disk, its own directory, whether a process has it open or not. `is_to_end` is asked
    /// between the parts of that.
    ///
    /// # Errors
    /// [`GuestError`]; [`LogError::Closed`] when it is to end.
    pub fn arrive(
        home: &Arc<dyn Disk>,
        options: RecoveryOptions,
        is_to_end: &dyn Fn() -> bool,
    ) -> Result<Arrival, GuestError> {
        let mut said = None;
        let mut pause = PAUSE;
        for times in 1.. {
            if is_to_end() {
                return Err(LogError::Closed.into());
            }
            let error = match Self::try_to_arrive(home, options, is_to_end) {
                Ok(arrival) => return Ok(arrival),
                Err(error) => error,
            };
            // A change of the writer meanwhile reads differently at the next reading.
            let text = error.to_string();
            if !may_be_of_writer(&error) || said.as_ref() == Some(&text) || is_to_end() {
                return Err(error);
            }
            if times == ARRIVALS_MAX {
                let last = Box::new(error);
                return Err(GuestError::Overtaken { times, last });
            }
            said = Some(text);
            std::thread::sleep(pause);
            pause = PAUSE_MAX.min(2 * pause);
        }
        unreachable!("it returns at the last reading")
    }

    /// The same of a guest that was overtaken: it is the same database, and has at least as much as it had.
    ///
    /// # Errors
    /// As [`Guest::arrive`]; [`GuestError::Replaced`], [`GuestError::WentBack`].
    pub fn arrive_after(
        home: &Arc<dyn Disk>,
        options: RecoveryOptions,
        before: &Guest,
        is_to_end: &dyn Fn() -> bool,
    ) -> Result<Arrival, GuestError> {
        let mut arrival = Self::arrive(home, options, is_to_end)?;
        let guest = &mut arrival.guest;
        let file = || home.display_name(MANIFEST_FILE);
        if guest.manifest.identity != before.manifest.identity {
            return Err(GuestError::Replaced {
                file: file(),
                found: guest.manifest.identity,
                expected: before.manifest.identity,
            });
        }
        let (found, before_group) = (guest.position().group, before.position().group);
        if found < before_group {
            return Err(GuestError::WentBack {
                file: file(),
                found,
                before: before_group,
            });
        }
        let published = before.published.into_iter().chain(guest.published);
        guest.published = published.max_by_key(|end| end.group);
        Ok(arrival)
    }

    fn try_to_arrive(
        home: &Arc<dyn Disk>,
        options: RecoveryOptions,
        is_to_end: &dyn Fn() -> bool,
    ) -> Result<Arrival, GuestError> {
        let manifest = Manifest::read(&**home)?;
        let disk = find_for_reading(home, &manifest)?;
        let (sight, at_arrival) = (Cell::new(Sight::Unknown), Cell::new(None));
        let published = || {
            if is_to_end() {
                return Err(LogError::Closed.into());
            }
            let found = DurableEnd::read(&**home)?;
            let found = found.filter(|end| end.is_of(&manifest));
            if found.is_some_and(|end| end.is_newest(&manifest)) {
                sight.set(Sight::End);
            }
            at_arrival.set(found.map(|end| end.position));
            Ok(at_arrival.get())
        };
        let Recovered { store, end, .. } = recover_beside(&disk, &manifest, options, &published)?;
        let sight = sight.get();
        let layout = manifest.log_layout();
        let guest = Guest {
            home: home.clone(),
            log: Follower::new(disk.clone(), layout, end),
            disk,
            manifest,
            layout,
            end,
            published: at_arrival.get(),
        };
        Ok(Arrival {
            store,
            guest,
            sight,
        })
    }

    /// The place up to which the guest has read.
    pub fn position(&self) -> LogPosition {
        self.log.position()
    }

    /// Looks how far the log is durable. The groups up to there are read by [`Guest::next_group`].
    ///
    /// # Errors
    /// The disk's; [`GuestError::Replaced`], [`GuestError::WentBack`].
    pub fn look(&mut self) -> Result<Sight, GuestError> {
        let Some(found) = DurableEnd::read(&*self.home)? else {
            // None was ever published, or a power cut took it, or the writer cannot write it.
            return Ok(Sight::Unknown);
        };
        let file = || self.home.display_name(DURABLE_FILE);
        if found.identity != self.manifest.identity {
            return Err(GuestError::Replaced {
                file: file(),
                found: found.identity,
                expected: self.manifest.identity,
            });
        }
        // Later than the end, so that an opening is noticed that publishes nothing.
        let manifest = match Manifest::read(&*self.home) {
            Ok(manifest) => manifest,
            // Its directory is being moved.
            Err(ManifestError::Absent { .. }) => return Ok(Sight::Unknown),
            Err(error) => return Err(error.into()),
        };
        if !found.is_of(&self.manifest) {
            // That of the manifest, if a compaction has just ended and no program has opened the database since.
            return Ok(match compactions(&manifest) == self.compactions() {
                true => Sight::Unknown,
                false => Sight::Overtaken,
            });
        }
        if let Some(before) = self.published
            && found.position.group < before.group
        {
            return Err(GuestError::WentBack {
                file: file(),
                found: found.position.group,
                before: before.group,
            });
        }
        self.published = Some(found.position);
        if found.position.group > self.end.group {
            self.end = found.position;
        }
        Ok(match found.is_newest(&manifest) {
            true => Sight::End,
            false => Sight::Unknown,
        })
    }

    fn compactions(&self) -> u32 {
        compactions(&self.manifest)
    }

    /// The next group before the end that was looked up, and its records.
    ///
    /// # Errors
    /// [`GuestError::Log`] if the log is damaged, with file and offset, or was freed ([`Guest::is_overtaken`]); the disk's.
    pub fn next_group(&mut self) -> Result<Option<(GroupHeader, &[u8])>, GuestError> {
        let read = |guest: &mut Guest| {
            let group = guest.log.next_group(guest.end)?;
            Ok::<_, LogError>(group.map(|(header, _)| header))
        };
        // A part written anew while it was read differs at the second reading.
        let header = read(self).or_else(|_| read(self))?;
        Ok(header.map(|header| {
            let bytes = self.log.last_group_bytes(&header);
            let end = GROUP_HEADER_BYTES + header.payload_bytes as usize;
            (
                header,
                bytes.get(GROUP_HEADER_BYTES..end).unwrap_or_default(),
            )
        }))
    }

    /// True if the log was freed from the guest's place on, or all pages were replaced: a failed read is no damage then.
    ///
    /// # Errors
    /// The disk's; the errors of the manifest.
    pub fn is_overtaken(&self) -> Result<bool, GuestError> {
        let segment = self.layout.segment_of(self.position().lsn);
        if !segments_present(&*self.disk)?.contains(&segment) {
            return Ok(true);
        }
        Ok(compactions(&Manifest::read(&*self.home)?) != self.compactions())
    }
}

/// True if an error may come of a writer that went on while the files were read.
fn may_be_of_writer(error: &GuestError) -> bool {
    match error {
        GuestError::Recovery(RecoveryError::Store(_)) => false,
        GuestError::Recovery(_) | GuestError::Log(_) | GuestError::Disk(_) => true,
        _ => false,
    }
}
