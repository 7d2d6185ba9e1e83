//! The pen: the right to append to the log, held by one thread at a time.
//!
//! Every way of running transactions appends in the same steps, and this is their only order:
//!
//! ```text
//!   take ─▶ Held ─▶ admit ─▶ append ─▶ ┬ drop       without a waiter
//!                                      ├ put_off    it is written within a millisecond, or with others
//!                                      ├ hand_on    it is written as soon as the disk is free
//!                                      └ force      it is written now, and waited for
//! ```
//!
//! Another thread may have wanted to write a group and could not, because the pen was taken. A thread that releases
//! the pen, in any way, ensures that no such group is left.
//!
//! The open group belongs to the log writer, under the pen's lock, so that the writer can seal it without asking the
//! appending threads. Beside it, under the same lock, a pen has the state of an *appender*, the code that runs
//! transactions in one way: its pages, its tables. Several pens of one log take turns.
//!
//! Invariants: I8 (serial): the holder is alone with the appender's state. I7: if the holder's own code panics, the
//! state of its work is unknown, and the log is poisoned. I14: ends of transactions are admitted when work no longer
//! is.

mod appending;
mod held;
mod holder;
mod queue;

pub use appending::Appending;
pub use held::{Held, LetGo};
pub(crate) use holder::Holder;
pub use queue::Waited;

use crate::checkpoint::CheckpointStage;
use crate::log::LogError;
use crate::log::open_group::OpenGroup;
use crate::log::writer::LogWriter;
use crate::ticket::DurableLog;
use queue::Waits;
use sardonyx_base::sync::MutexGuard;
use sardonyx_base::waiting;
use std::cell::UnsafeCell;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A thread steps aside after this time for work that is known to take long.
const SHORT_WAIT: Duration = Duration::from_millis(1);
/// It steps aside after this time for anything else. On few processors, a thread that has the pen may wait for one for
/// milliseconds, and stepping aside for that costs more than it gives.
const USUAL_WAIT: Duration = Duration::from_millis(50);

/// The right to append to a log, and the appender's state.
pub struct Pen<A> {
    log: Arc<LogWriter>,
    checkpoint: Arc<CheckpointStage>,
    waits: Waits,
    /// Touched by the holder of the lock of the log's open group only.
    appender: UnsafeCell<A>,
}

// SAFETY: `appender` is reached through `Held` only, which owns the guard of the log's one open group as long as it
// lives. So one thread at a time touches it, as under a mutex around it. The other parts that a shared `Pen` gives out,
// the log and the checkpoint stage, may be shared.
unsafe impl<A: Send> Sync for Pen<A> {}

impl<A> Pen<A> {
    /// A pen of this log. `checkpoint` makes room in it.
    pub fn new(log: Arc<LogWriter>, checkpoint: Arc<CheckpointStage>, appender: A) -> Self {
        let frees: Weak<CheckpointStage> = Arc::downgrade(&checkpoint);
        log.room().set_freeing(frees);
        Pen {
            log,
            checkpoint,
            waits: Waits::default(),
            appender: UnsafeCell::new(appender),
        }
    }

    /// Writes the groups of this pen.
    #[inline]
    pub fn log(&self) -> &Arc<LogWriter> {
        &self.log
    }

    /// The stage that makes room in the log.
    #[inline]
    pub fn checkpoint(&self) -> &Arc<CheckpointStage> {
        &self.checkpoint
    }

    /// Waits for the pen.
    ///
    /// # Errors
    /// [`LogError::Nested`] if this thread holds it already, or is one of the engine's;
    /// [`LogError::Forked`]; [`LogError::Interrupted`] where the wait can be interrupted ([`waiting`]).
    #[inline]
    pub fn take(&self) -> Result<Held<'_, A>, LogError> {
        let holder = &self.log.holder;
        holder.check_thread()?;
        if let Some(open) = self.log.open.try_lock() {
            return Ok(Held::new(self, open));
        }
        holder.check()?;
        Ok(Held::new(self, self.wait_for_turn()?))
    }

    /// The pen, if no thread has it.
    ///
    /// # Errors
    /// As [`Pen::take`], but for an interruption.
    #[inline]
    pub fn try_take(&self) -> Result<Option<Held<'_, A>>, LogError> {
        self.log.holder.check_thread()?;
        match self.log.open.try_lock() {
            Some(open) => Ok(Some(Held::new(self, open))),
            None => self.log.holder.check().map(|()| None),
        }
    }

    /// The threads that have waited for the pen up to now. A thread that takes the pen again and again lets them go first.
    pub fn waited(&self) -> Waited<'_> {
        self.waits.up_to_now()
    }

    /// Waits while another thread has the pen.
    #[cold]
    fn wait_for_turn(&self) -> Result<MutexGuard<'_, OpenGroup>, LogError> {
        let _waits = self.waits.enter();
        let open = &self.log.open;
        if !waiting::is_observed() {
            return Ok(open.lock());
        }
        let soon = match waiting::has_long() {
            true => SHORT_WAIT,
            false => USUAL_WAIT,
        };
        if let Some(open) = open.lock_within(soon) {
            return Ok(open);
        }
        waiting::aside(|| {
            loop {
                if let Some(reason) = waiting::interruption() {
                    return Err(LogError::Interrupted(reason));
                }
                if let Some(open) = open.lock_within(waiting::BETWEEN_LOOKS) {
                    return Ok(open);
                }
            }
        })
    }

    /// Waits for the pen on a thread of the engine's own whose work is to append.
    ///
    /// # Errors
    /// [`LogError::Forked`].
    pub fn take_inside(&self) -> Result<Held<'_, A>, LogError> {
        self.log.process().check()?;
        if let Some(open) = self.log.open.try_lock() {
            return Ok(Held::new(self, open));
        }
        let _waits = self.waits.enter();
        Ok(Held::new(self, self.log.open.lock()))
    }

    /// As [`Pen::take_inside`], for work that can be put off: waits for at most so long, and not at all if the calling
    /// thread has the pen.
    ///
    /// # Errors
    /// [`LogError::Forked`].
    pub fn take_inside_within(&self, time: Duration) -> Result<Option<Held<'_, A>>, LogError> {
        self.log.process().check()?;
        let held = |open| Held::new(self, open);
        if let Some(open) = self.log.open.try_lock() {
            return Ok(Some(held(open)));
        }
        if time.is_zero() || self.log.holder.is_this_thread() {
            return Ok(None);
        }
        let _waits = self.waits.enter();
        Ok(self.log.open.lock_within(time).map(held))
    }

    /// Waits until a group and all before it are durable.
    ///
    /// # Errors
    /// The error that poisoned the log; [`LogError::Nested`] and [`LogError::Forked`] as for [`Pen::take`], unless it
    /// is durable already.
    pub fn wait(&self, group: u64) -> Result<(), LogError> {
        let outcome = self.log.wait_durable(group);
        checkpoint_step(&self.log, &self.checkpoint);
        outcome
    }

    /// Has the open group written as soon as the disk is free, although no caller waits for it: as [`Held::hand_on`],
    /// for a thread that has released the pen already.
    pub fn hand_on(&self) {
        self.log.end_putting_off();
        self.log.look_for_group();
        checkpoint_step(&self.log, &self.checkpoint);
    }

    /// Makes everything durable that has been appended, under any policy of groups.
    ///
    /// # Errors
    /// As [`Pen::take`]; the error that poisoned the log.
    pub fn flush(&self) -> Result<(), LogError> {
        let group = self.take()?.close_group();
        self.wait(group)
    }

    /// Makes everything durable, and marks the log's end with an empty group: for closing.
    ///
    /// # Errors
    /// As [`Pen::flush`].
    pub fn mark_end(&self) -> Result<(), LogError> {
        self.flush()?;
        self.take()?.force_empty_group()
    }
}

/// Without threads of the engine's own, appending and waiting callers take the steps of the checkpoint, too.
#[inline]
fn checkpoint_step(log: &LogWriter, checkpoint: &CheckpointStage) {
    if !log.drive().has_threads() {
        checkpoint.pump();
    }
}

impl<A> std::fmt::Debug for Pen<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pen")
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}
