//! The opening of the database at the beginning of a term. It may take long, so a thread of its own does it: meanwhile the
//! program can be asked to end. An opening cannot be interrupted, and need not be: the directory is then as after a kill,
//! from which any opening recovers.

use super::{Event, Hosting};
use crate::end_request::Request;
use sardonyx::Tables;
use sardonyx::hosts::Term;
use sardonyx_server::Following;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

impl Hosting<'_> {
    /// Opens the database of a term. `None`: the program is to end before.
    pub(super) fn open(
        &mut self,
        term: &Term,
        following: &mut Following,
    ) -> anyhow::Result<Option<Result<Tables, sardonyx::Error>>> {
        let (options, path) = (term.options(), self.arguments.path.clone());
        let opening = begin(&self.sender, move || options.open_tables(path))?;
        loop {
            match next_of(&opening, &self.events) {
                Next::Done(opened) => return Ok(Some(opened)),
                Next::End => return Ok(None),
                Next::Reload => self.reload_following(following),
            }
        }
    }
}

/// The next event during a work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next<T> {
    Done(T),
    Reload,
    /// The program is to end before it is done.
    End,
}

fn next_of<T>(work: &Receiver<thread::Result<T>>, events: &Receiver<Event>) -> Next<T> {
    while let Ok(event) = events.recv() {
        match event {
            Event::Opened => match work.recv() {
                Ok(Ok(outcome)) => return Next::Done(outcome),
                Ok(Err(panicked)) => resume_unwind(panicked),
                Err(_) => return Next::End,
            },
            Event::Request(Request::End) => return Next::End,
            Event::Request(Request::Reload) => return Next::Reload,
            Event::Turn(_) | Event::Reads(..) | Event::Term => {}
        }
    }
    Next::End
}

/// Begins this work on a thread of its own, and has its end be an event.
fn begin<T: Send + 'static>(
    events: &Sender<Event>,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<Receiver<thread::Result<T>>> {
    let (done, outcome) = channel();
    let events = events.clone();
    let run = move || {
        let done = done.send(catch_unwind(AssertUnwindSafe(work)));
        // An error means that the program ends.
        let _ = done.is_ok() && events.send(Event::Opened).is_ok();
    };
    thread::Builder::new()
        .name("sardonyx-opening".into())
        .spawn(run)?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_to_end_does_not_wait_for_an_opening_and_others_do() {
        let (sender, events) = channel();
        let (go_on, goes_on) = channel::<u32>();
        let opening = begin(&sender, move || goes_on.recv()).unwrap();
        for request in [Request::Reload, Request::Reload, Request::End] {
            sender.send(Event::Request(request)).unwrap();
        }
        for expected in [Next::Reload, Next::Reload, Next::End] {
            assert_eq!(next_of(&opening, &events), expected);
        }
        // The next one waits for it.
        go_on.send(7).unwrap();
        sender.send(Event::Term).unwrap();
        assert_eq!(next_of(&opening, &events), Next::Done(Ok(7)));
    }

    #[test]
    fn a_panic_of_an_opening_is_not_waited_for() {
        let (sender, events) = channel();
        let opening = begin::<()>(&sender, || panic!("it is so in this test")).unwrap();
        let outcome = AssertUnwindSafe(|| next_of(&opening, &events));
        assert!(catch_unwind(outcome).is_err());
    }
}
