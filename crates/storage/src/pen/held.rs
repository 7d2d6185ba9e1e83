//! The pen of a holder, and its release.

use super::{Appending, Holder, Pen, checkpoint_step};
use crate::checkpoint::CheckpointStage;
use crate::log::open_group::OpenGroup;
use crate::log::seal::SealedGroup;
use crate::log::writer::LogWriter;
use crate::log::{LogError, LogPosition};
use sardonyx_base::sync::MutexGuard;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// The pen, for as long as this lives; gives access to the appender's state. Dropping it releases the pen, and leaves
/// the appended records in the open group for the next thread that forces or hands on.
// The order of the fields is that in which they are dropped. First the panic is reported and the holder forgotten, then
// the lock is released, and then a group is looked for. It is small, since a transaction moves it a few times.
pub struct Held<'p, A> {
    hand: Hand<'p>,
    open: MutexGuard<'p, OpenGroup>,
    turned_away: TurnedAway<'p>,
    pen: &'p Pen<A>,
    appender: PhantomData<&'p mut A>,
}

/// Records the holder of the pen.
struct Hand<'p> {
    log: &'p LogWriter,
    /// True if the thread was panicking already when it got the pen.
    was_panicking: bool,
}

/// If a thread looked for a group meanwhile, and could not have it, this looks in its place when dropped.
struct TurnedAway<'p>(&'p LogWriter);

/// The remaining work after releasing the pen: if nothing else does it, dropping this does.
#[must_use = "the caller may want to wait"]
pub struct LetGo<'p> {
    log: &'p LogWriter,
    checkpoint: &'p CheckpointStage,
    rest: Rest,
}

/// See [`LetGo`].
enum Rest {
    Nothing,
    /// Look for a group.
    Look,
    Write(SealedGroup),
}

impl<'p, A> Held<'p, A> {
    #[inline]
    pub(super) fn new(pen: &'p Pen<A>, open: MutexGuard<'p, OpenGroup>) -> Self {
        let log = &*pen.log;
        log.holder.took();
        Held {
            hand: Hand {
                log,
                was_panicking: std::thread::panicking(),
            },
            open,
            turned_away: TurnedAway(log),
            pen,
            appender: PhantomData,
        }
    }

    /// The appender's state, and the open group.
    #[inline]
    pub fn split(&mut self) -> (&mut A, Appending<'_>) {
        let appending = Appending {
            log: self.hand.log,
            checkpoint: &self.pen.checkpoint,
            open: &mut self.open,
        };
        // SAFETY: the guard of the log's open group is in `self`, which is borrowed exclusively. No other reference to
        // the appender of any pen of this log exists.
        (unsafe { &mut *self.pen.appender.get() }, appending)
    }

    /// The open group.
    #[inline]
    pub fn appending(&mut self) -> Appending<'_> {
        self.split().1
    }

    /// Writes the groups of this pen.
    #[inline]
    pub fn log(&self) -> &'p LogWriter {
        self.hand.log
    }

    /// The number of the last group that holds a transaction: see [`Appending::last_group`].
    #[inline]
    pub fn last_group(&self) -> u64 {
        self.open.last_group()
    }

    /// The same pen, after code of the program's has run under it.
    ///
    /// # Errors
    /// [`LogError::Forked`] in a child that the code made: the pen is not given back there, since it is
    /// the parent's.
    #[inline]
    pub fn still_ours(self) -> Result<Self, LogError> {
        match self.hand.log.process().check() {
            Ok(()) => Ok(self),
            Err(forked) => {
                std::mem::forget(self);
                Err(forked.into())
            }
        }
    }

    /// Releases the pen; the appended records are written as soon as the disk is free, or when a thread of the program
    /// rests, if that is [reported](LogWriter::gather). Without threads of the engine, they are written when they are many,
    /// or when a caller waits.
    #[inline]
    pub fn hand_on(self) {
        match self.hand.log.gathers() {
            true => self.put_off(),
            false => self.hand_on_now(),
        }
    }

    #[inline]
    fn hand_on_now(mut self) {
        let log = self.hand.log;
        let sealed = log.seal_to_hand_on(&mut self.open);
        let pen = self.let_go();
        match sealed {
            Some(group) => log.push(group),
            None => log.look_for_group(),
        }
        checkpoint_step(log, &pen.checkpoint);
    }

    /// Releases the pen after a transaction that no caller waits for. Its records are written with the next ones that
    /// are handed on or forced. At the latest they are written after
    /// [`DEFERRED_TIME_MAX`](crate::log::policy::DEFERRED_TIME_MAX), or as soon as the disk is free then. Without
    /// threads of the engine, and with the TPK paper's parameters, it is [`Held::hand_on`].
    #[inline]
    pub fn put_off(mut self) {
        let log = self.hand.log;
        match log.put_off(&mut self.open) {
            None => self.hand_on_now(),
            Some(is_first) => {
                drop(self);
                if is_first {
                    log.write_when_due();
                }
            }
        }
    }

    /// Has the appended records written, and keeps the pen: for a caller that will hold it so long that others must
    /// not wait.
    pub fn hand_over_group(&mut self) {
        self.hand.log.hand_over(&mut self.open);
    }

    /// As [`Held::hand_over_group`], without waiting: returns the log's end behind all that was appended, or `None` if
    /// there is no buffer for the next group. For a thread that itself has groups whose buffers are then wanted.
    pub fn try_hand_over_group(&mut self) -> Option<LogPosition> {
        let log = self.hand.log;
        if !self.open.is_empty() {
            log.push(log.try_seal(&mut self.open)?);
        }
        Some(self.open.next())
    }

    /// Releases the pen; the caller, which waits for this group to be durable, writes the appended records.
    ///
    /// # Errors
    /// The error that poisoned the log: the fate of the appended records is unknown (I7).
    #[inline]
    pub fn force(self, group: u64) -> Result<(), LogError> {
        self.let_go_to_force().force(group)
    }

    /// As [`Held::force`], with an action between releasing and writing.
    #[inline]
    pub fn let_go_to_force(mut self) -> LetGo<'p> {
        let log = self.hand.log;
        let sealed = log.seal_to_force(&mut self.open);
        LetGo {
            log,
            checkpoint: &self.let_go().checkpoint,
            rest: sealed.map_or(Rest::Look, Rest::Write),
        }
    }

    /// Releases the pen, and has the appended records written, under any policy of groups. Returns the last group with
    /// a transaction.
    pub fn close_group(self) -> u64 {
        let group = self.open.last_group();
        self.close_group_at();
        group
    }

    /// The same; returns the log's end behind all that was appended.
    pub fn close_group_at(mut self) -> LogPosition {
        let log = self.hand.log;
        log.hand_over(&mut self.open);
        let end = self.open.next();
        self.let_go();
        log.look_for_group();
        end
    }

    /// Releases the pen, and writes the open group as it is, also without transactions.
    pub(super) fn force_empty_group(mut self) -> Result<(), LogError> {
        let log = self.hand.log;
        let mark = log.seal(&mut self.open);
        let number = mark.header().number;
        let rest = LetGo {
            log,
            checkpoint: &self.let_go().checkpoint,
            rest: Rest::Write(mark),
        };
        rest.force(number)
    }

    /// Gives the lock back, and leaves it to the caller to look for a group.
    #[inline]
    fn let_go(self) -> &'p Pen<A> {
        let Held {
            hand,
            open,
            turned_away,
            pen,
            ..
        } = self;
        drop(hand);
        drop(open);
        std::mem::forget(turned_away);
        pen
    }
}

impl LetGo<'_> {
    /// Writes the sealed group, if there is one, and waits until this group is durable.
    ///
    /// # Errors
    /// As [`Held::force`].
    #[inline]
    pub fn force(mut self, group: u64) -> Result<(), LogError> {
        self.write(LogWriter::write_directly);
        let outcome = self.log.wait(group);
        checkpoint_step(self.log, self.checkpoint);
        outcome
    }

    #[inline]
    fn write(&mut self, write: impl FnOnce(&LogWriter, SealedGroup)) {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => {}
            Rest::Look => self.log.look_for_group(),
            Rest::Write(group) => write(self.log, group),
        }
    }
}

impl Drop for LetGo<'_> {
    #[inline]
    fn drop(&mut self) {
        self.write(LogWriter::push);
    }
}

impl Drop for TurnedAway<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.0.was_turned_away() {
            self.0.look_for_group();
        }
    }
}

impl Drop for Hand<'_> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            // All code of the program's is run under `catch_unwind`: this is the engine's own.
            self.panicked();
        }
        // Before the lock is released, so that it never names a thread that has released it.
        let holder: &Holder = &self.log.holder;
        holder.gives_back();
    }
}

impl Hand<'_> {
    /// The state of its work is unknown, so nothing more is acknowledged (I7).
    #[cold]
    fn panicked(&self) {
        let message = "it panicked while it had the right to append";
        self.log.poison(LogError::thread_died(message));
    }
}

impl<A> Deref for Held<'_, A> {
    type Target = A;

    #[inline]
    fn deref(&self) -> &A {
        // SAFETY: the guard of the log's open group is in `self`, which is borrowed: no exclusive reference to the
        // appender exists elsewhere.
        unsafe { &*self.pen.appender.get() }
    }
}

impl<A> DerefMut for Held<'_, A> {
    #[inline]
    fn deref_mut(&mut self) -> &mut A {
        self.split().0
    }
}

impl<A> std::fmt::Debug for Held<'_, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("open", &*self.open)
            .finish_non_exhaustive()
    }
}
