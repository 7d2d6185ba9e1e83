//! Verbs that run until somebody ends them: by a signal, or by the end of standard input.

use sardonyx_base::signals::Ending;
use std::io::Read;
use std::sync::mpsc::{self, Receiver};

/// Tells when to end: at the first interrupt or termination signal, the second of which ends the process at once; and at
/// the end of standard input, if that is wanted. To be called before there are other threads.
pub fn end_requested(until_input_ends: bool) -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    // Before there are threads that could take them.
    let (ending, at_signal) = (Ending::block(), sender.clone());
    std::thread::spawn(move || {
        ending.wait();
        // An error means that we are ending already.
        let _ = at_signal.send(());
        // Whoever asks twice does not want to wait.
        let signal = ending.wait();
        ending.end(signal)
    });
    if until_input_ends {
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut bytes = [0; 64];
            while matches!(input.read(&mut bytes), Ok(read) if read > 0) {}
            let _ = sender.send(());
        });
    }
    receiver
}
