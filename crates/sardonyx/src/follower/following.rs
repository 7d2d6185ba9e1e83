//! Following, a step at a time: a look at the log, and its new groups applied to the tables.
//!
//! Invariant: readers take a snapshot of the state at the end of a group, and later groups come later. If the
//! log was freed before it was read, another state is made beside this one and put in its place when it is whole.
//! A group that was applied in part is never seen: the state fails under the same lock.

use crate::clock::Moment;
use crate::{Error, Options};
use sardonyx_base::error::{CrateError, Kind};
use sardonyx_base::sync::{Condvar, Mutex};
use sardonyx_base::user_code::message_of;
use sardonyx_rows::TableError;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::engine::{Arrival, Guest, GuestError, Sight};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::recovery::RecoveryOptions;
use sardonyx_storage::store::PageStore;
use sardonyx_table::{FollowError, FollowedSpace, SpaceSnapshot, View};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The reason why following ended.
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
    /// Code panicked, such as that of a disk of the program's own.
    #[error("following the database ended by a panic: {cause}; follow anew")]
    Died { cause: String },
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
            Failure::Died { .. } => Error::Poisoned,
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
    /// The beginning of the last look that found nothing new; `None` if the newest end was never known.
    pub current: Option<Moment>,
    pub failed: Option<Arc<Failure>>,
    pub closed: bool,
    /// The number of times that it was made anew.
    pub anew: u64,
}

impl State {
    pub fn snapshot(&mut self) -> Result<Arc<SpaceSnapshot>, Error> {
        self.check()?;
        Ok(self.space.snapshot()?)
    }

    /// Its present tables.
    pub fn view(&self) -> View<'_> {
        self.space.space().view()
    }

    /// # Errors
    /// Why following ended.
    pub fn check(&self) -> Result<(), Error> {
        match &self.failed {
            Some(failure) => Err(failure.clone().into()),
            None if self.closed => Err(Failure::Closed.into()),
            None => Ok(()),
        }
    }

    /// Following has failed, unless it was closed or has failed before.
    pub fn fail(&mut self, failure: Arc<Failure>) {
        if !self.closed {
            self.failed.get_or_insert(failure);
        }
    }

    /// Applies a group by `apply`. If that fails, or panics, readers see nothing of the state from then on.
    fn apply(
        &mut self,
        group: u64,
        apply: impl FnOnce(&mut FollowedSpace) -> Result<(), FollowError>,
    ) -> Result<(), Arc<Failure>> {
        let applied = catch_unwind(AssertUnwindSafe(|| apply(&mut self.space)));
        let failure = match applied {
            Ok(Ok(())) => {
                self.group = group + 1;
                return Ok(());
            }
            Ok(Err(source)) => Failure::Group { group, source },
            Err(payload) => Failure::Died {
                cause: message_of(payload),
            },
        };
        let failure = Arc::new(failure);
        self.fail(failure.clone());
        Err(failure)
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
        let current = Moment::now();
        let Arrival {
            store,
            guest,
            sight,
        } = Guest::arrive(&home, recovery, &|| false)?;
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
            current: (sight == Sight::End).then_some(current),
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
    /// [`Failure`], which the state has: it is not to be read any more.
    pub fn step(&mut self, state: &Mutex<State>, changed: &Condvar) -> Result<bool, Arc<Failure>> {
        let stepped = catch_unwind(AssertUnwindSafe(|| self.try_step(state, changed)));
        let stepped = stepped.unwrap_or_else(|payload| {
            let cause = message_of(payload);
            Err(Failure::Died { cause }.into())
        });
        stepped.inspect_err(|failure| {
            state.lock().fail(failure.clone());
            changed.notify_all();
        })
    }

    fn try_step(&mut self, state: &Mutex<State>, changed: &Condvar) -> Result<bool, Arc<Failure>> {
        let began = Moment::now();
        let sight = self.guest.look().map_err(Failure::from)?;
        if sight == Sight::Overtaken {
            return Ok(self.begin_anew(state, changed)?);
        }
        let mut has_news = false;
        loop {
            let next = match self.guest.next_group() {
                Ok(next) => next,
                Err(error) => match self.guest.is_overtaken().map_err(Failure::from)? {
                    true => return Ok(self.begin_anew(state, changed)?),
                    false => return Err(Failure::from(error).into()),
                },
            };
            let Some((header, records)) = next else { break };
            let mut state = state.lock();
            if state.closed {
                return Ok(has_news);
            }
            state.apply(header.number, |space| space.apply(records))?;
            has_news = true;
        }
        if sight == Sight::End {
            state.lock().current = Some(began);
        }
        // Also without news: a reader may wait for a look that began after it.
        changed.notify_all();
        Ok(has_news)
    }

    /// Reads the database anew, beside the readers' state, and replaces that.
    fn begin_anew(&mut self, state: &Mutex<State>, changed: &Condvar) -> Result<bool, Failure> {
        let began = Moment::now();
        let is_closed = || state.lock().closed;
        let Arrival {
            store,
            guest,
            sight,
        } = Guest::arrive_after(&self.home, self.recovery, &self.guest, &is_closed)?;
        if is_closed() {
            return Err(Failure::Closed);
        }
        let space = self.space(store)?;
        let position: LogPosition = guest.position();
        self.guest = guest;
        let mut state = state.lock();
        let before = std::mem::replace(&mut state.space, space);
        state.group = position.group;
        if sight == Sight::End {
            state.current = Some(began);
        }
        state.anew += 1;
        drop(state);
        changed.notify_all();
        drop(before);
        Ok(true)
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use sardonyx_storage::disk::{Faults, SimulatedDisk};

    /// A state of a database without tables.
    fn state() -> State {
        let disk: Arc<dyn Disk> = Arc::new(SimulatedDisk::new(1, Faults::default()));
        let small = || Options::new().memory_bytes_max(64 << 20);
        let shape = crate::Shape::Threadless;
        let tables = small().shape(shape).open_tables_on(disk.clone());
        tables.expect("opens").close().expect("closes");
        Following::begin(disk, &small()).expect("sound").1
    }

    #[test]
    fn a_group_that_was_applied_in_part_is_never_seen() {
        let mut state = state();
        assert!(state.snapshot().is_ok());
        let error = TableError::StaleRow { table: "t".into() };
        let applied = state.apply(7, |_| Err(error.into()));
        assert!(matches!(
            &*applied.unwrap_err(),
            Failure::Group { group: 7, .. }
        ));
        // Under the lock under which it was applied: no reader can be faster.
        assert!(state.snapshot().is_err());
    }

    #[test]
    fn a_panic_while_a_group_is_applied_ends_following_with_its_words() {
        let mut state = state();
        let applied = state.apply(7, |_| panic!("planned: half of a group"));
        assert!(matches!(&*applied.unwrap_err(), Failure::Died { .. }));
        let Err(Error::Poisoned(error)) = state.snapshot() else {
            panic!("it is given to a reader");
        };
        assert!(error.to_string().contains("half of a group"), "{error}");
    }
}
