//! A connection as the primary sees it: the greeting, the check that both logs have one history,
//! then groups in one direction and reports in the other.
//!
//! A group is sent from memory while it is being written here; the standby keeps it in memory until it is told
//! that it is durable here (I1), and so never has a history of its own. What is not in memory any more, because
//! the standby lags or was away, is read back from the log.

use crate::connection::{Receiver, Sender, split};
use crate::primary::{Sent, Standby};
use crate::protocol::{Frame, GROUPS_AHEAD_MAX, Hello, Message, Progress, Purpose};
use crate::refusal::{ProtocolError, Refusal};
use crate::seeding::give;
use bytes::Bytes;
use sardonyx_storage::checkpoint::{RemoteError, RemoteProgress, ShippedLog};
use sardonyx_storage::log::follow::Follower;
use sardonyx_storage::log::{LogError, LogPosition};
use sardonyx_storage::manifest::Manifest;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};

/// A connection that was lost, or never came to be.
#[derive(Debug)]
pub(crate) struct Lost {
    pub error: RemoteError,
    /// Whether the two had agreed to work together.
    pub was_connected: bool,
}

impl Lost {
    pub fn before_greeting(error: RemoteError) -> Self {
        Lost {
            error,
            was_connected: false,
        }
    }
}

/// What the standby said of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Welcomed {
    pub last_checksum: u32,
    pub progress: Progress,
}

/// How a standby answers a greeting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Greeted {
    /// It has this database.
    Welcomed(Welcomed),
    /// It has no database yet.
    Empty,
}

/// Greets the standby.
pub(crate) async fn greet<S: AsyncRead + AsyncWrite>(
    standby: &Standby,
    manifest: &Manifest,
    purpose: Purpose,
    sender: &mut Sender<S>,
    receiver: &mut Receiver<S>,
) -> Result<Greeted, RemoteError> {
    let hello = Frame::Hello(Hello {
        token: standby.token().cloned(),
        ..Hello::of(manifest, purpose)
    });
    sender
        .send(&hello)
        .await
        .map_err(|error| standby.lost(error))?;
    answer(standby, manifest, receiver).await
}

/// What the standby says of itself, when it is ready to.
async fn answer<S: AsyncRead>(
    standby: &Standby,
    manifest: &Manifest,
    receiver: &mut Receiver<S>,
) -> Result<Greeted, RemoteError> {
    loop {
        let frame = receiver.receive().await;
        match frame.map_err(|error| standby.lost(error))? {
            Frame::Message(Message::Welcome {
                identity,
                last_checksum,
                progress,
            }) => {
                let (standby_identity, primary) = (identity, manifest.identity);
                if standby_identity != primary {
                    return Err(standby.refused(Refusal::Identity {
                        standby: standby_identity,
                        primary,
                    }));
                }
                return Ok(Greeted::Welcomed(Welcomed {
                    last_checksum,
                    progress,
                }));
            }
            Frame::Message(Message::Empty) => return Ok(Greeted::Empty),
            // It makes its directory.
            Frame::Message(Message::Seeding) => {}
            Frame::Message(Message::Refused(refusal)) => return Err(standby.refused(refusal)),
            other => {
                let what = format!("it answered the greeting with {}", other.name());
                return Err(standby.unreachable(what));
            }
        }
    }
}

/// Has a standby that has nothing be made: of the log, if that reaches back to its beginning, else of a seed.
async fn begin<S: AsyncRead + AsyncWrite>(
    standby: &Standby,
    log: &ShippedLog,
    sender: &mut Sender<S>,
    receiver: &mut Receiver<S>,
) -> Result<Welcomed, RemoteError> {
    let whole = log.check_history(standby.address(), LogPosition::START, 0);
    match whole.map_err(|error| standby.unreachable(error))? {
        Ok(()) => {
            let begins = Frame::Message(Message::FromBeginning);
            let sent = sender.send(&begins).await;
            sent.map_err(|error| standby.lost(error))?;
        }
        Err(_) => {
            if let Err(error) = give(standby, log, sender).await {
                refuse(sender, &error).await;
                return Err(error);
            }
        }
    }
    match answer(standby, log.manifest(), receiver).await? {
        Greeted::Welcomed(welcomed) => Ok(welcomed),
        Greeted::Empty => Err(standby.unreachable("it still has no database")),
    }
}

/// Says why not, only so that it can be read there too.
async fn refuse<S: AsyncWrite>(sender: &mut Sender<S>, error: &RemoteError) {
    let reason = error.to_string();
    let refusal = Message::Refused(Refusal::History { reason });
    let _ = sender.send(&Frame::Message(refusal)).await;
}

/// Carries the log over a connection until that is lost.
pub(crate) async fn ship<S: AsyncRead + AsyncWrite>(
    standby: &Standby,
    log: &ShippedLog,
    stream: S,
) -> Lost {
    let (mut sender, mut receiver) = split(stream, standby.patience().silence_max);
    let agreed = agree(standby, log, &mut sender, &mut receiver).await;
    let from = match agreed {
        Ok(from) => from,
        Err(error) => return Lost::before_greeting(error),
    };
    let error = tokio::select! {
        error = send_log(standby, log, from, &mut sender) => error,
        error = take_reports(standby, log, &mut receiver) => error,
    };
    Lost {
        error,
        was_connected: true,
    }
}

/// Greets, and makes sure that the standby's log is the beginning of this one. Returns where the
/// standby's log ends.
async fn agree<S: AsyncRead + AsyncWrite>(
    standby: &Standby,
    log: &ShippedLog,
    sender: &mut Sender<S>,
    receiver: &mut Receiver<S>,
) -> Result<LogPosition, RemoteError> {
    let greeted = greet(standby, log.manifest(), Purpose::Log, sender, receiver).await?;
    let welcomed = match greeted {
        Greeted::Welcomed(welcomed) => welcomed,
        Greeted::Empty => begin(standby, log, sender, receiver).await?,
    };
    let from = LogPosition::from(welcomed.progress.durable);
    let history = log.check_history(standby.address(), from, welcomed.last_checksum);
    let history = history.map_err(|error| standby.unreachable(error))?;
    if let Err(error) = history {
        refuse(sender, &error).await;
        return Err(error);
    }
    log.connected();
    take_report(standby, log, welcomed.progress, true);
    Ok(from)
}

fn take_report(standby: &Standby, log: &ShippedLog, progress: Progress, connected: bool) {
    log.report(RemoteProgress {
        needed_from: progress.applied.into(),
        complete_from: progress.complete_from.into(),
        checkpoints: progress.checkpoints,
        blocks: progress.blocks,
        bytes: progress.bytes,
    });
    if connected {
        standby.set_connected(progress);
    } else {
        standby.set_progress(progress);
    }
}

/// Takes the standby's reports. Returns why there are no more.
async fn take_reports<S: AsyncRead>(
    standby: &Standby,
    log: &ShippedLog,
    receiver: &mut Receiver<S>,
) -> RemoteError {
    loop {
        match receiver.receive().await {
            Ok(Frame::Message(Message::Progress(progress))) => {
                take_report(standby, log, progress, false);
            }
            Ok(Frame::Message(Message::Refused(refusal))) => return standby.refused(refusal),
            Ok(other) => return standby.unreachable(format!("it sent {}", other.name())),
            Err(error) => return standby.lost(error),
        }
    }
}

/// Sends the log from a place on, what of it is durable here, and the wishes for checkpoints. Returns why it
/// ended.
async fn send_log<S: AsyncWrite>(
    standby: &Standby,
    log: &ShippedLog,
    from: LogPosition,
    sender: &mut Sender<S>,
) -> RemoteError {
    let mut shipping = Shipping {
        log,
        follower: log.follow(from),
        told: from,
        asked: None,
        checkpoint_since: from,
    };
    loop {
        let sent = match shipping.send_what_is_there(sender).await {
            Ok(sent) => sent,
            Err(ShippingError::Protocol(error)) => return standby.lost(error),
            Err(error) => return standby.unreachable(error),
        };
        standby.count(sent);
        match shipping.something_to_send().await {
            ToSend::Log => {}
            ToSend::Checkpoint(position) => {
                shipping.asked = Some(position);
                let wish = Frame::Message(Message::Checkpoint(position.into()));
                if let Err(error) = sender.send(&wish).await {
                    return standby.lost(error);
                }
            }
        }
    }
}

/// How far the log has been sent.
struct Shipping<'a> {
    log: &'a ShippedLog,
    follower: Follower,
    /// The standby knows that the log is durable to here.
    told: LogPosition,
    /// The last wish for a checkpoint.
    asked: Option<LogPosition>,
    /// Where the last checkpoint began that was due by the interval chosen here.
    checkpoint_since: LogPosition,
}

enum ToSend {
    Log,
    Checkpoint(LogPosition),
}

#[derive(Debug, thiserror::Error)]
enum ShippingError {
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Shipping<'_> {
    async fn send_what_is_there<S: AsyncWrite>(
        &mut self,
        sender: &mut Sender<S>,
    ) -> Result<Sent, ShippingError> {
        let mut sent = Sent::default();
        let durable = self.log.durable();
        let began = Instant::now();
        // First what is durable, so that the standby need not keep what is.
        if self.told.group < durable.group {
            self.told = durable;
            let end = Frame::Message(Message::Durable(durable.group));
            sender.feed(&end).await?;
        }
        sent.time += began.elapsed();
        while self.may_send() {
            let Some(group) = self.log.next_group(&mut self.follower, durable)? else {
                break;
            };
            sent.groups += 1;
            sent.groups_read_back += u64::from(group.was_read_back);
            let began = Instant::now();
            let group = Frame::Group(Bytes::from_owner(group.bytes));
            sender.feed(&group).await?;
            sent.time += began.elapsed();
        }
        let began = Instant::now();
        sender.flush().await?;
        sent.time += began.elapsed();
        let log = self.log;
        log.want_when_due(&mut self.checkpoint_since, self.told);
        Ok(sent)
    }

    /// Whether the next group may be sent: the standby keeps a few that are not durable here.
    fn may_send(&self) -> bool {
        self.follower.position().group < self.told.group + GROUPS_AHEAD_MAX as u64
    }

    /// Waits until there is something to send. If the log is closed after a failed write (I7) there is
    /// never another group, but reports still come.
    async fn something_to_send(&self) -> ToSend {
        poll_fn(|context| {
            let wanted = self.log.wanted(context.waker());
            if let Some(position) = wanted
                && self.asked.is_none_or(|asked| asked.group < position.group)
            {
                return Poll::Ready(ToSend::Checkpoint(position));
            }
            let next = self.follower.position().group;
            if self.may_send() && self.log.poll_recent(next, context.waker()).is_ready() {
                return Poll::Ready(ToSend::Log);
            }
            match self.log.poll_durable(self.told.group, context.waker()) {
                Poll::Ready(Ok(())) => Poll::Ready(ToSend::Log),
                Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}
