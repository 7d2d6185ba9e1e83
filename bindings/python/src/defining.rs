//! A transaction with the serial stage, for changes of tables, and for calls that conflicted every time
//! before. The engine runs such transactions in closures, whereas Python's block begins and ends in two
//! calls. So a thread of its own runs the closure, and receives its steps from a queue.
//!
//! Dropping it closes the queue, which aborts it.

use sardonyx::low_level::{Driving, Inside, LeftRows};
use sardonyx::{Error, OpenTransaction, Tables, Transaction};
use sardonyx_base::process::Process;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two questions about waiting longer.
const ASK_EVERY: Duration = Duration::from_millis(50);

type Step = Box<dyn for<'t, 'a> FnOnce(&'t mut Transaction<'a>) + Send>;

enum Command {
    Do(Step),
    Commit,
}

/// The closure's error that undoes it.
#[derive(Debug)]
struct Undone;

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the transaction was given up")
    }
}

impl std::error::Error for Undone {}

/// A running transaction that has the stage.
#[derive(Debug)]
pub struct Defining {
    commands: Option<SyncSender<Command>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    driving: Option<Driving>,
    /// The process whose threads it has.
    process: Process,
}

impl Defining {
    /// Begins when its turn comes; with the changes of an open transaction, if there is one. `waits` is asked
    /// at times and returns true to wait longer. Otherwise this returns `None`, without an effect.
    ///
    /// # Errors
    /// [`Error::Conflict`] if data that it read was changed; [`Error::Nested`] if this thread has the stage
    /// already.
    pub fn begin_while(
        tables: &Arc<Tables>,
        inside: &Inside,
        open: Option<OpenTransaction>,
        mut waits: impl FnMut() -> bool,
    ) -> Result<Option<Self>, Error> {
        inside.check_outside()?;
        let (commands, steps) = sync_channel::<Command>(1);
        let (begun, has_begun) = sync_channel(1);
        let tables = tables.clone();
        let run = move || {
            // It is freed behind the stage.
            let mut left = LeftRows::default();
            tables.run(|transaction| {
                if let Some(open) = open {
                    open.install(transaction, &mut left)?;
                }
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
        Ok(Some(Defining {
            commands: Some(commands),
            thread: Some(thread),
            driving: Some(inside.enter()),
            process: Process::current(),
        }))
    }

    /// Runs a function in it and returns the function's result.
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

    /// Commits it with the requested durability.
    ///
    /// # Errors
    /// The errors of [`Tables::run`]; [`Error::Forked`] in a child of the process that began it, where the
    /// parent continues it.
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
    /// The errors of [`Tables::run`].
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

impl Drop for Defining {
    fn drop(&mut self) {
        // `drop` returns no error.
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
