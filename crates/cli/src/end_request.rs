//! Verbs that run until somebody ends them: by a signal, or by the end of standard input. A hang-up may ask for something
//! else.

use rustix::process::Signal;
use sardonyx_base::signals::Ending;
use std::io::Read;
use std::sync::mpsc::{self, Receiver};

/// What somebody wants of a verb that runs.
#[cfg(feature = "sql")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// That it ends.
    End,
    /// That it reads its configuration again.
    Reload,
}

/// Tells when to end, as [`end_requested`] does; a hang-up, if `reloads`, asks for a reload instead, each time.
#[cfg(feature = "sql")]
pub fn requests(until_input_ends: bool, reloads: bool) -> Receiver<Request> {
    let hang_up = reloads.then_some(Request::Reload);
    watch(until_input_ends, Request::End, hang_up)
}

/// Tells when to end: at the first interrupt or termination signal, the second of which ends the process at once; and at
/// the end of standard input, if that is wanted. To be called before there are other threads.
pub fn end_requested(until_input_ends: bool) -> Receiver<()> {
    watch(until_input_ends, (), None)
}

/// Tells `end` when to end, and `hang_up`, if there is one, at each hang-up, which then is no signal to end.
fn watch<T: Copy + Send + 'static>(
    until_input_ends: bool,
    end: T,
    hang_up: Option<T>,
) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    // Before there are threads that could take them.
    let (ending, at_signal) = (Ending::block(), sender.clone());
    std::thread::spawn(move || {
        let next = || loop {
            let signal = ending.wait();
            match hang_up {
                Some(hang_up) if signal == Signal::HUP.as_raw() => {
                    // An error means that we are ending already.
                    let _ = at_signal.send(hang_up);
                }
                _ => return signal,
            }
        };
        next();
        let _ = at_signal.send(end);
        // Whoever asks twice does not want to wait.
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
