//! Following, a step at a time: a look at the log, and what it finds applied to the tables.
//!
//! Invariant: readers take a snapshot of the state at the end of a group, and later groups come later. If the
//! log was freed before it was read, another state is made beside this one and put in its place when it is whole.

use crate::{Error, Options};
use sardonyx_base::error::{CrateError, Kind};
use sardonyx_base::sync::{Condvar, Mutex};
use sardonyx_rows::TableError;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::{Arrival, Guest, GuestError, Sight};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::recovery::RecoveryOptions;
use sardonyx_storage::store::PageStore;
use sardonyx_table::{FollowError, FollowedSpace, SpaceSnapshot};
use std::sync::Arc;
use std::time::Instant;

/// Why following ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Guest(#[from] GuestError),
    #[error(transparent)]
    Table(#[from] TableError),
    /// Applying a group failed.
    #[error("group {group} of the log cannot be followed: {source}")]
    Group {
        group: u64,
        #[source]
        source: FollowError,
    },
    /// The database was closed here.
    #[error("the follower was closed")]
    Closed,
}

impl CrateError for Failure {
    fn kind(&self) -> Kind {
        match self {
            Failure::Guest(error) => error.kind(),
            Failure::Table(error)
            | Failure::Group {
                source: FollowError::Table(error),
                ..
            } => error.kind(),
            Failure::Group { .. } => Error::Damaged,
            Failure::Closed => Error::Closed,
        }
    }

    fn into_error(self) -> Error {
        match self {
            Failure::Guest(error) => error.into(),
            Failure::Table(error) => error.into(),
            error => error.kind()(error.into()),
        }
    }
}

/// The state that readers see.
pub(crate) struct State {
    space: FollowedSpace,
    /// All groups before this one are in it.
    pub group: u64,
    /// When the last look began that found nothing that is not in it.
    pub current: Instant,
    pub failed: Option<Arc<Failure>>,
    pub closed: bool,
    /// The number of times that it was made anew.
    pub anew: u64,
}

impl State {
    /// A snapshot of it.
    pub fn snapshot(&mut self) -> Result<Arc<SpaceSnapshot>, Error> {
        if self.closed {
            return Err(Failure::Closed.into());
        }
        Ok(self.space.snapshot()?)
    }
}

/// Reads the log for a [`State`].
pub(crate) struct Following {
    home: Arc<dyn Disk>,
    recovery: RecoveryOptions,
    snapshot_bytes_max: Option<u64>,
    guest: Guest,
}

impl Following {
    /// Reads the database, whether a program has it open or not.
    pub fn begin(home: Arc<dyn Disk>, options: &Options) -> Result<(Following, State), Failure> {
        let recovery = RecoveryOptions {
            memory_max_bytes: options.storage.memory_bytes_max,
            workers: options.storage.workers,
            ..RecoveryOptions::default()
        };
        let current = Instant::now();
        let Arrival { store, guest } = Guest::arrive(&home, recovery)?;
        let following = Following {
            home,
            recovery,
            snapshot_bytes_max: options.snapshot_bytes_max,
            guest,
        };
        let space = following.space(store)?;
        let state = State {
            space,
            group: following.guest.position().group,
            current,
            failed: None,
            closed: false,
            anew: 0,
        };
        Ok((following, state))
    }

    fn space(&self, store: PageStore) -> Result<FollowedSpace, TableError> {
        let (mut space, _) = FollowedSpace::open(store, self.recovery.workers)?;
        if let Some(bytes) = self.snapshot_bytes_max {
            space.set_snapshot_bytes_max(bytes);
        }
        Ok(space)
    }

    /// Looks once, and applies everything that is durable. Returns whether there was anything.
    ///
    /// # Errors
    /// [`Failure`]: the state is not to be read any more.
    pub fn step(&mut self, state: &Mutex<State>, changed: &Condvar) -> Result<bool, Failure> {
        let began = Instant::now();
        match self.guest.look()? {
            Sight::End => {}
            Sight::Unknown => return Ok(false),
            Sight::Overtaken => return self.begin_anew(state, changed),
        }
        let mut has_news = false;
        loop {
            let next = match self.guest.next_group() {
                Ok(next) => next,
                Err(error) => match self.guest.is_overtaken()? {
                    true => return self.begin_anew(state, changed),
                    false => return Err(error.into()),
                },
            };
            let Some((header, records)) = next else { break };
            let mut state = state.lock();
            if state.closed {
                return Ok(has_news);
            }
            let group = header.number;
            (state.space.apply(records)).map_err(|source| Failure::Group { group, source })?;
            state.group = group + 1;
            has_news = true;
        }
        state.lock().current = began;
        if has_news {
            changed.notify_all();
        }
        Ok(has_news)
    }

    /// Reads the database anew, beside what readers see, and puts it in its place.
    fn begin_anew(&mut self, state: &Mutex<State>, changed: &Condvar) -> Result<bool, Failure> {
        let began = Instant::now();
        let Arrival { store, guest } = Guest::arrive_after(&self.home, self.recovery, &self.guest)?;
        let space = self.space(store)?;
        let position: LogPosition = guest.position();
        self.guest = guest;
        let mut state = state.lock();
        let before = std::mem::replace(&mut state.space, space);
        state.group = position.group;
        state.current = began;
        state.anew += 1;
        drop(state);
        changed.notify_all();
        drop(before);
        Ok(true)
    }
}
