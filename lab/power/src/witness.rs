//! Watches processes until the power fails: reads their acknowledgements, and kills them when it is off.
//!
//! The processes report as the victims of all torture runs do ([`sardonyx_base::victims`]). An acknowledgement in the
//! pipe after the cut was written while there was power, since the request at which it fails is never answered.

use crate::command;
use crate::served::Served;
use anyhow::{Context, bail, ensure};
use sardonyx_base::victims::{Report, Reports};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The time in which killed processes must end.
const DYING: Duration = Duration::from_secs(60);
/// The interval of checks for an interrupt.
const LOOK: Duration = Duration::from_millis(200);

/// The moment at which the power fails.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// At this change or flush of the drive, counted from 1.
    pub request: Option<u64>,
    /// After so many acknowledgements.
    pub acknowledgements: u64,
    /// At this time at the latest, if anything was acknowledged or written until then.
    pub time: Duration,
}

/// The end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The power failed at a request of the drive.
    AtRequest,
    /// It failed after the planned number of acknowledgements.
    AtAcknowledgement,
    /// It failed because the time was over.
    AtTime,
    /// All processes ended by themselves, and well.
    Done,
    /// One ended by itself with an error, or made no progress any more; its output.
    Failed(String),
}

enum Event {
    Told { worker: u64, count: u64 },
    Closed,
    PowerWent,
}

/// The environment of the processes.
pub struct Stand<'a> {
    pub drive: &'a Served,
    /// Called repeatedly while killed processes are waited for: stops the file system from retrying requests that the
    /// drive refuses.
    pub give_up: &'a dyn Fn(),
    /// Set when the run is to end.
    pub interrupted: &'a AtomicBool,
}

/// Runs them until the power fails or all have ended. `acknowledged` is called with each acknowledgement: its worker,
/// and the count.
///
/// # Errors
/// They cannot be started, or do not die; the run is interrupted.
pub fn watch(
    stand: &Stand<'_>,
    victims: Vec<Command>,
    cut: Cut,
    mut acknowledged: impl FnMut(u64, u64),
) -> anyhow::Result<End> {
    let drive = stand.drive;
    let (sender, events) = mpsc::channel();
    let at_cut = sender.clone();
    // The receiver may be dropped: then the event is not needed.
    drive.arm(cut.request, move || _ = at_cut.send(Event::PowerWent));
    let mut children = Children(Vec::new());
    for victim in victims {
        children.start(victim, &sender)?;
    }
    drop(sender);
    let mut open = children.0.len();
    let outcome = listen(&events, stand, cut, &mut open, &mut acknowledged);
    if !matches!(outcome, Ok(End::Done)) {
        children.kill();
    }
    let powered = drive.disarm();
    // Only now: the processes that the errors would reach are dead.
    drive.release();
    let statuses = children.wait(stand.give_up)?;
    // Acknowledgements before the end.
    for event in events {
        if let Event::Told { worker, count } = event {
            acknowledged(worker, count);
        }
    }
    let end = outcome?;
    if end == End::Done {
        // The power may have failed with the last request of a process that needed no answer.
        let failed = statuses.iter().find(|status| !status.success());
        return Ok(match failed {
            Some(status) => End::Failed(format!("it ended by itself: {status}")),
            None if !powered => End::AtRequest,
            None => End::Done,
        });
    }
    Ok(end)
}

fn listen(
    events: &Receiver<Event>,
    stand: &Stand<'_>,
    cut: Cut,
    open: &mut usize,
    acknowledged: &mut impl FnMut(u64, u64),
) -> anyhow::Result<End> {
    let drive = stand.drive;
    let (started, before) = (Instant::now(), drive.requests());
    let mut told = 0;
    // Set once the power was cut by us; then only its event is waited for.
    let mut why = End::AtRequest;
    loop {
        ensure!(!stand.interrupted.load(Ordering::SeqCst), "interrupted");
        if why == End::AtRequest {
            if told >= cut.acknowledgements {
                why = End::AtAcknowledgement;
                drive.cut();
            } else if started.elapsed() >= cut.time {
                if told == 0 && drive.requests() == before {
                    let seconds = cut.time.as_secs();
                    let hangs = format!("nothing was acknowledged or written in {seconds} s");
                    return Ok(End::Failed(hangs));
                }
                why = End::AtTime;
                drive.cut();
            }
        }
        match events.recv_timeout(LOOK) {
            Ok(Event::Told { worker, count }) => {
                told += 1;
                acknowledged(worker, count);
            }
            Ok(Event::PowerWent) => return Ok(why),
            Ok(Event::Closed) => *open -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("no process is left to be read"),
        }
        if *open == 0 {
            return Ok(End::Done);
        }
    }
}

/// Processes that are killed when this is dropped.
struct Children(Vec<Child>);

impl Children {
    fn start(&mut self, mut command: Command, sender: &Sender<Event>) -> anyhow::Result<()> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let name = command::name(&command);
        let mut child = command
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        let out = child.stdout.take().context("a pipe")?;
        self.0.push(child);
        let sender = sender.clone();
        std::thread::spawn(move || {
            for report in Reports::new(out) {
                let Report::Acknowledged { worker, count } = report else {
                    continue;
                };
                if sender.send(Event::Told { worker, count }).is_err() {
                    return;
                }
            }
            let _ = sender.send(Event::Closed);
        });
        Ok(())
    }

    fn kill(&self) {
        self.0.iter().for_each(command::kill);
    }

    fn wait(&mut self, meanwhile: &dyn Fn()) -> anyhow::Result<Vec<ExitStatus>> {
        let mut statuses = Vec::new();
        for mut child in self.0.drain(..) {
            let status = command::wait(&mut child, DYING, meanwhile)?;
            statuses.push(status.context("a killed process is still there")?);
        }
        Ok(statuses)
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.kill();
    }
}
