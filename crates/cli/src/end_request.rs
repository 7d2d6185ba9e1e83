//! Verbs that run until the user ends them: by a signal, or by the end of standard input. A hang-up may request a
//! reload.

use rustix::process::Signal;
use sardonyx_base::signals::Ending;
use std::io::Read;
use std::sync::mpsc::{self, Receiver};

/// A request to a running verb.
#[cfg(feature = "sql")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    End,
    /// To read its configuration again.
    Reload,
}

/// Returns the requests: to end, as [`end_requested`] does, and, if `reloads`, one to reload at each hang-up.
#[cfg(feature = "sql")]
pub fn requests(until_input_ends: bool, reloads: bool) -> Receiver<Request> {
    let hang_up = reloads.then_some(Request::Reload);
    watch(until_input_ends, Request::End, hang_up)
}

/// Returns a receiver of the request to end: at the first interrupt or termination signal, or, if wanted, at the end of
/// standard input. A second signal ends the process at once. Call it before other threads exist.
pub fn end_requested(until_input_ends: bool) -> Receiver<()> {
    watch(until_input_ends, (), None)
}

/// Sends `end` at a request to end, and `hang_up`, if there is one, at each hang-up, which then does not end the
/// process.
fn watch<T: Copy + Send + 'static>(
    until_input_ends: bool,
    end: T,
    hang_up: Option<T>,
) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    // Before other threads exist that could take the signals.
    let (ending, at_signal) = (Ending::block(), sender.clone());
    std::thread::spawn(move || {
        let next = || loop {
            let signal = ending.wait();
            match hang_up {
                Some(hang_up) if signal == Signal::HUP.as_raw() => {
                    // An error means that the program ends already.
                    let _ = at_signal.send(hang_up);
                }
                _ => return signal,
            }
        };
        next();
        let _ = at_signal.send(end);
        // A user who asks twice does not want to wait.
        let signal = next();
        ending.end(signal)
    });
    if until_input_ends {
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut bytes = [0; 64];
            while matches!(input.read(&mut bytes), Ok(read) if read > 0) {}
            let _ = sender.send(end);
        });
    }
    receiver
}
