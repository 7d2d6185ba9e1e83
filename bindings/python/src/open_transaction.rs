//! A transaction on tables that Python drives step by step: a thread runs it, and does what it is told.
//!
//! The engine runs a transaction as a closure, from its begin to its end; Python's `with` block has its begin
//! in one call and its end in another. So the closure runs on a thread of its own and takes the block's steps
//! from a queue. Whoever forgets the transaction aborts it: the queue is closed.

use crate::error::Failure;
use sardonyx::{Error, Tables, Transaction};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

type Step = Box<dyn for<'t, 'a> FnOnce(&'t mut Transaction<'a>) + Send>;

enum Command {
    Do(Step),
    Commit,
}

/// What the closure ends with to be undone.
#[derive(Debug, thiserror::Error)]
#[error("the block was left by an exception")]
struct Undone;

/// A running transaction.
pub struct OpenTransaction {
    commands: SyncSender<Command>,
    thread: JoinHandle<Result<(), Error>>,
}

impl OpenTransaction {
    /// Begins it when its turn comes, and returns then.
    pub fn begin(tables: &Arc<Tables>) -> Result<Self, Failure> {
        let (commands, steps) = sync_channel::<Command>(1);
        let (begun, has_begun) = sync_channel(1);
        let tables = tables.clone();
        let run = move || {
            tables.run(|transaction| {
                let _ = begun.send(());
                drop(begun);
                run_steps(&steps, transaction)
            })
        };
        let builder = std::thread::Builder::new().name("transaction".to_string());
        let thread = builder.spawn(run).map_err(Error::from)?;
        match has_begun.recv() {
            Ok(()) => Ok(OpenTransaction { commands, thread }),
            Err(_) => Err(ended(thread).err().unwrap_or(Failure::Closed)),
        }
    }

    /// Does something in it and returns what that returned.
    pub fn step<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut Transaction<'_>) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let (result, is_there) = sync_channel(1);
        let step: Step = Box::new(move |transaction| {
            let _ = result.send(step(transaction));
        });
        let told = self.commands.send(Command::Do(step));
        told.ok()
            .and_then(|()| is_there.recv().ok())
            .ok_or(Failure::TransactionDied)
    }

    /// Commits it; it is on stable storage then.
    pub fn commit(self) -> Result<(), Failure> {
        let told = self.commands.send(Command::Commit);
        let ended = ended(self.thread);
        told.map_err(|_| Failure::TransactionDied).and(ended)
    }

    /// Undoes it.
    pub fn abort(self) -> Result<(), Failure> {
        drop(self.commands);
        ended(self.thread)
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

fn ended(thread: JoinHandle<Result<(), Error>>) -> Result<(), Failure> {
    match thread.join() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.downcast_ref::<Undone>().is_some() => Ok(()),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Failure::TransactionDied),
    }
}
