//! A connection as the primary sees it: the greeting, the check that both logs have one history,
//! then groups as they become durable in one direction and reports in the other.

use crate::connection::{Receiver, Sender, split};
use crate::primary::Standby;
use crate::protocol::{Frame, Hello, Message, Progress, ProtocolError, Purpose, Refusal};
use bytes::Bytes;
use sardonyx_storage::checkpoint::{RemoteError, RemoteProgress, ShippedLog};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::manifest::Manifest;
use std::future::poll_fn;
use std::task::Poll;
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

/// Greets the standby.
pub(crate) async fn greet<S: AsyncRead + AsyncWrite>(
    standby: &Standby,
    manifest: &Manifest,
    purpose: Purpose,
    sender: &mut Sender<S>,
    receiver: &mut Receiver<S>,
) -> Result<Welcomed, RemoteError> {
    let lost = |error: ProtocolError| standby.unreachable(error);
    let hello = Frame::Hello(Hello {
        token: standby.token().cloned(),
        ..Hello::of(manifest, purpose)
    });
    sender.send(&hello).await.map_err(lost)?;
    match receiver.receive().await.map_err(lost)? {
        Frame::Message(Message::Welcome {
            identity,
            last_checksum,
            progress,
        }) => {
            let primary = manifest.identity;
            if identity != primary {
                let standby_identity = identity;
                return Err(standby.refused(Refusal::Identity {
                    standby: standby_identity,
                    primary,
                }));
            }
            Ok(Welcomed {
                last_checksum,
                progress,
            })
        }
        Frame::Message(Message::Refused(refusal)) => Err(standby.refused(refusal)),
        other => {
            Err(standby.unreachable(format!("it answered the greeting with {}", other.name())))
        }
    }
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
    let welcomed = greet(standby, log.manifest(), Purpose::Log, sender, receiver).await?;
    let from = LogPosition::from(welcomed.progress.durable);
    let history = log.check_history(standby.address(), from, welcomed.last_checksum);
    let history = history.map_err(|error| standby.unreachable(error))?;
    if let Err(error) = history {
        let reason = error.to_string();
        let refusal = Message::Refused(Refusal::History { reason });
        // Only so that it can be read there too.
        let _ = sender.send(&Frame::Message(refusal)).await;
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
            Err(error) => return standby.unreachable(error),
        }
    }
}

/// Sends the durable log from a place on, and the wishes for checkpoints. Returns why it ended.
async fn send_log<S: AsyncWrite>(
    standby: &Standby,
    log: &ShippedLog,
    from: LogPosition,
    sender: &mut Sender<S>,
) -> RemoteError {
    let mut follower = log.follow(from);
    let mut asked = None;
    loop {
        let durable = log.durable();
        loop {
            match follower.next_group(durable) {
                Ok(None) => break,
                Ok(Some((_, bytes))) => {
                    let group = Bytes::copy_from_slice(bytes);
                    if let Err(error) = sender.feed(&Frame::Group(group)).await {
                        return standby.unreachable(error);
                    }
                }
                Err(error) => return standby.unreachable(error),
            }
        }
        if let Err(error) = sender.flush().await {
            return standby.unreachable(error);
        }
        match something_to_send(log, follower.position().group, asked).await {
            ToSend::Group => {}
            ToSend::Checkpoint(position) => {
                asked = Some(position);
                let wish = Frame::Message(Message::Checkpoint(position.into()));
                if let Err(error) = sender.send(&wish).await {
                    return standby.unreachable(error);
                }
            }
        }
    }
}

enum ToSend {
    Group,
    Checkpoint(LogPosition),
}

/// Waits until there is something to send. If the log is closed after a failed write (I7) there is
/// never another group, but reports still come.
async fn something_to_send(log: &ShippedLog, group: u64, asked: Option<LogPosition>) -> ToSend {
    poll_fn(|context| {
        let wanted = log.wanted(context.waker());
        if let Some(position) = wanted
            && asked.is_none_or(|asked| asked.group < position.group)
        {
            return Poll::Ready(ToSend::Checkpoint(position));
        }
        match log.poll_durable(group, context.waker()) {
            Poll::Ready(Ok(())) => Poll::Ready(ToSend::Group),
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    })
    .await
}
