//! A transaction on tables that is driven step by step: a thread runs it, and does what it is told.
//!
//! The engine runs a transaction as a closure, from its begin to its end; other languages have its begin in one
//! call and its end in another. So the closure runs on a thread of its own and takes the steps from a queue, at
//! some microseconds for each. Whoever forgets the transaction aborts it: the queue is closed.
//!
//! For the bindings; a program in Rust has closures.

use crate::{Durability, Error, Tables, Transaction};
use sardonyx_base::process::Process;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

/// How often it is asked whether to wait longer.
const ASK_EVERY: Duration = Duration::from_millis(50);

type Step = Box<dyn for<'t, 'a> FnOnce(&'t mut Transaction<'a>) + Send>;

enum Command {
    Do(Step),
    Commit,
}

/// What the closure ends with to be undone.
#[derive(Debug)]
struct Undone;

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the transaction was given up")
    }
}

impl std::error::Error for Undone {}

/// Which thread is inside of a transaction that it drives: what would wait for that one's end is refused there.
#[derive(Clone, Debug, Default)]
pub struct Inside(Arc<Mutex<Option<(ThreadId, Process)>>>);

impl Inside {
    /// Checks that this thread does not drive a transaction.
    ///
    /// # Errors
    /// [`Error::Nested`].
    pub fn check_outside(&self) -> Result<(), Error> {
        match self.get() == Some(std::thread::current().id()) {
            true => Err(Error::Nested(
                "this thread is inside of a transaction on these tables; use that one, or end it"
                    .into(),
            )),
            false => Ok(()),
        }
    }

    /// Whether some thread drives a transaction.
    pub fn is_any(&self) -> bool {
        self.get().is_some()
    }

    fn get(&self) -> Option<ThreadId> {
        let inside = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A forked child drives nothing: the transaction is its parent's.
        let inside = inside.filter(|(_, process)| process.is_current());
        inside.map(|(thread, _)| thread)
    }

    /// Marks that this thread drives one, as long as the mark lives.
    pub fn enter(&self) -> Driving {
        let own = std::thread::current().id();
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *inside = Some((own, Process::current()));
        drop(inside);
        Driving(self.clone(), own)
    }
}

/// That a thread drives a transaction.
#[derive(Debug)]
pub struct Driving(Inside, ThreadId);

impl Drop for Driving {
    fn drop(&mut self) {
        let mut inside = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The next one may have begun before this one's end is told.
        if inside.is_some_and(|(thread, _)| thread == self.1) {
            *inside = None;
        }
    }
}

/// A running transaction.
#[derive(Debug)]
pub struct OpenTransaction {
    commands: Option<SyncSender<Command>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    driving: Option<Driving>,
    /// The process whose threads it has.
    process: Process,
}

impl OpenTransaction {
    /// Begins it when its turn comes, and returns then. `durability` is when its commit returns.
    ///
    /// # Errors
    /// [`Error::Nested`] if this thread drives one already; those of [`Tables::run`].
    pub fn begin(
        tables: &Arc<Tables>,
        inside: &Inside,
        durability: Durability,
    ) -> Result<Self, Error> {
        let begun = Self::begin_while(tables, inside, durability, || true)?;
        begun.ok_or_else(died)
    }

    /// The same, but whoever begins it may give up before its turn comes: `waits` is asked from time to time. `None` if it
    /// was given up; nothing was done then.
    ///
    /// # Errors
    /// Those of [`OpenTransaction::begin`].
    pub fn begin_while(
        tables: &Arc<Tables>,
        inside: &Inside,
        durability: Durability,
        mut waits: impl FnMut() -> bool,
    ) -> Result<Option<Self>, Error> {
        inside.check_outside()?;
        let (commands, steps) = sync_channel::<Command>(1);
        let (begun, has_begun) = sync_channel(1);
        let tables = tables.clone();
        let run = move || {
            tables
                .transaction()
                .durability(durability)
                .run(|transaction| {
                    let _ = begun.send(());
                    drop(begun);
                    run_steps(&steps, transaction)
                })
        };
        let builder = std::thread::Builder::new().name("transaction".to_string());
        let thread = builder.spawn(run)?;
        loop {
            match has_begun.recv_timeout(ASK_EVERY) {
                Ok(()) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ended(thread).err().unwrap_or_else(died));
                }
                Err(RecvTimeoutError::Timeout) if waits() => {}
                // Its thread finds the queue closed when its turn comes.
                Err(RecvTimeoutError::Timeout) => return Ok(None),
            }
        }
        Ok(Some(OpenTransaction {
            commands: Some(commands),
            thread: Some(thread),
            driving: Some(inside.enter()),
            process: Process::current(),
        }))
    }

    /// Does something in it and returns what that returned.
    ///
    /// # Errors
    /// [`Error::Panicked`] if its thread has ended; [`Error::Forked`] in a child of the process that began it.
    pub fn step<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut Transaction<'_>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.process.check()?;
        let (result, is_there) = sync_channel(1);
        let step: Step = Box::new(move |transaction| {
            let _ = result.send(step(transaction));
        });
        let commands = self.commands.as_ref().ok_or_else(died)?;
        commands.send(Command::Do(step)).map_err(|_| died())?;
        is_there.recv().map_err(|_| died())
    }

    /// Commits it; it is as durable as was asked for when this returns.
    ///
    /// # Errors
    /// Those of [`Tables::run`]; [`Error::Forked`] in a child of the process that began it, which goes on with it.
    pub fn commit(mut self) -> Result<(), Error> {
        self.process.check()?;
        if let Some(commands) = &self.commands {
            let _ = commands.send(Command::Commit);
        }
        self.end()
    }

    /// Undoes it; in a forked child nothing happens, since it is the parent's.
    ///
    /// # Errors
    /// Those of [`Tables::run`].
    pub fn abort(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        if !self.process.is_current() {
            // The thread is the parent's, and the queue may be in any state.
            std::mem::forget((
                self.commands.take(),
                self.thread.take(),
                self.driving.take(),
            ));
            return Ok(());
        }
        self.commands = None;
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let ended = ended(thread);
        self.driving = None;
        ended
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = self.end();
    }
}

fn run_steps(steps: &Receiver<Command>, transaction: &mut Transaction<'_>) -> Result<(), Error> {
    loop {
        match steps.recv() {
            Ok(Command::Do(step)) => step(transaction),
            Ok(Command::Commit) => return Ok(()),
            Err(_) => return Err(Error::other(Undone)),
        }
    }
}

fn ended(thread: JoinHandle<Result<(), Error>>) -> Result<(), Error> {
    match thread.join() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.downcast_ref::<Undone>().is_some() => Ok(()),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(died()),
    }
}

fn died() -> Error {
    Error::Panicked("the transaction was ended by a fault in it; it had no effect".into())
}
