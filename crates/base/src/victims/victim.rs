//! A process that is to be killed, stopped or listened to. It ends with its handle at the latest.

use super::report::{Report, Reports};
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A process.
#[derive(Debug)]
pub struct Victim {
    child: Child,
    /// Taken by a thread that listens.
    output: Option<Reports<ChildStdout>>,
    listener: Option<JoinHandle<()>>,
    /// The thread has heard the last report.
    is_silent: Arc<AtomicBool>,
}

impl Victim {
    /// Starts a process whose output is read.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Victim> {
        Victim::unheard(command.stdout(Stdio::piped()))
    }

    /// Starts a process whose output goes where its command says.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn unheard(command: &mut Command) -> io::Result<Victim> {
        let mut child = command.spawn()?;
        Ok(Victim {
            output: child.stdout.take().map(Reports::new),
            listener: None,
            is_silent: Arc::default(),
            child,
        })
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of its output; `None` if it has ended, or a thread listens.
    pub fn line(&mut self) -> Option<String> {
        self.output.as_mut()?.line()
    }

    /// The next report; `None` as [`Victim::line`].
    pub fn report(&mut self) -> Option<Report> {
        self.output.as_mut()?.next()
    }

    /// The next report that is a line with this beginning, without that.
    pub fn said(&mut self, beginning: &str) -> Option<String> {
        let mut reports = std::iter::from_fn(|| self.report());
        reports.find_map(|report| match report {
            Report::Line(line) => Some(line.strip_prefix(beginning)?.into()),
            _ => None,
        })
    }

    /// A thread passes every further report to `hear`, and `None` after the last one.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn listen(
        &mut self,
        mut hear: impl FnMut(Option<Report>) + Send + 'static,
    ) -> io::Result<()> {
        if let Some(output) = self.output.take() {
            let is_silent = self.is_silent.clone();
            let body = move || {
                output.for_each(|report| hear(Some(report)));
                is_silent.store(true, Ordering::SeqCst);
                hear(None);
            };
            let thread = std::thread::Builder::new().name("witness".into());
            self.listener = Some(thread.spawn(body)?);
        }
        Ok(())
    }

    /// True if a thread listens that has heard the last report: the process has ended, or closed its output.
    pub fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::SeqCst)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// It has ended, and was waited for.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), signal)?)
    }

    /// Kills it (SIGKILL). Its reports are in the pipe still.
    ///
    /// # Errors
    /// The system refuses.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()
    }

    /// Its exit status; `None` if it runs.
    ///
    /// # Errors
    /// The system refuses.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for its end, and until a listening thread has passed on its last report.
    ///
    /// # Errors
    /// The system refuses, or the thread has panicked.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        let listener = self.listener.take().map_or(Ok(()), JoinHandle::join);
        listener.map_err(|_| io::Error::other("the thread that listened has panicked"))?;
        Ok(status)
    }

    /// [`Victim::kill`] and [`Victim::wait`].
    ///
    /// # Errors
    /// As those.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        self.kill()?;
        self.wait()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
