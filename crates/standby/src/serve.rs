//! A connection as the standby sees it: from the primary's greeting to the end.

use crate::connection::{Receiver, Sender, split};
use crate::error::StandbyError;
use crate::protocol::{
    Frame, GROUPS_AHEAD_MAX, Hello, Message, PAGES_BYTES_MAX, PROTOCOL_VERSION, Progress, Purpose,
    group_frame_bytes_max,
};
use crate::refusal::{ProtocolError, Refusal};
use crate::seeding::take;
use crate::server::Shared;
use crate::store::Store;
use crate::visitors::Visitor;
use bytes::Bytes;
use sardonyx_base::transport::TransportError;
use sardonyx_storage::engine::BATCH_GROUPS_MAX;
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::store::StoreError;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::{JoinHandle, spawn_blocking};

/// A connection that has not greeted, whole, within this time is ended.
pub(crate) const GREETING_TIME_MAX: Duration = Duration::from_secs(5);

/// The primary hears something at least so often.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Bytes of groups that are appended at once, unless one is longer.
const BATCH_BYTES: usize = 8 << 20;

/// Why a connection was ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error(transparent)]
    Storage(#[from] StandbyError),
    #[error("the primary refused: {0}")]
    Refused(Refusal),
    #[error("a thread of the storage panicked")]
    Panicked,
    #[error("too many others have greeted and are being served")]
    Crowded,
    #[error("the pages of the seed came out of order, or not all of them")]
    Disorder,
    #[error("the seed does not fit: {0}")]
    Memory(#[from] StoreError),
}

/// Serves a connection to its end.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite>(
    shared: &Arc<Shared>,
    visitor: &Visitor,
    stream: S,
) -> Result<(), ServeError> {
    let (mut sender, mut receiver) = split(stream, GREETING_TIME_MAX);
    let hello = match receiver.receive().await {
        Ok(Frame::Hello(hello)) => hello,
        Err(error @ ProtocolError::Version { .. }) => {
            let known = PROTOCOL_VERSION;
            refuse(&mut sender, Refusal::Version { known }).await;
            return Err(error.into());
        }
        Ok(other) => return Err(unexpected(&other, "a greeting").into()),
        Err(error) => return Err(error.into()),
    };
    let wanted = shared.options.token.is_some();
    if hello.token != shared.options.token {
        let refusal = Refusal::Token { wanted };
        refuse(&mut sender, refusal.clone()).await;
        return Err(StandbyError::from(refusal).into());
    }
    if !shared.has_greeted(visitor) {
        return Err(ServeError::Crowded);
    }
    let store = match store_for(shared, &hello, &mut sender, &mut receiver).await {
        Ok(store) => store,
        Err(ServeError::Storage(StandbyError::Refused(refusal))) => {
            refuse(&mut sender, refusal.clone()).await;
            return Err(StandbyError::from(refusal).into());
        }
        Err(error) => return Err(error),
    };
    shared.take_over(visitor);
    let outcome = greeted(shared, &store, &hello, &mut sender, &mut receiver).await;
    if let Err(ServeError::Storage(error)) = &outcome {
        let reason = error.to_string();
        refuse(&mut sender, Refusal::Failed { reason }).await;
    }
    match outcome {
        Err(ServeError::Protocol(ProtocolError::Closed)) => Ok(()),
        outcome => outcome,
    }
}

/// The storage for this primary; made of what it sends, if there is none.
async fn store_for<S: AsyncRead + AsyncWrite>(
    shared: &Arc<Shared>,
    hello: &Hello,
    sender: &mut Sender<S>,
    receiver: &mut Receiver<S>,
) -> Result<Arc<Store>, ServeError> {
    if let Some(store) = shared.store() {
        return match store.check(hello) {
            Ok(()) => Ok(store),
            Err(refusal) => Err(StandbyError::from(refusal).into()),
        };
    }
    sender.send(&Frame::Message(Message::Empty)).await?;
    if hello.purpose == Purpose::Image {
        return Err(StandbyError::from(Refusal::Empty).into());
    }
    let start = take(hello, shared.options.memory_bytes_max, receiver).await?;
    let (opening, greeting) = (shared.clone(), hello.clone());
    let mut making = spawn_blocking(move || opening.store_of(&greeting, start));
    let mut tick = tokio::time::interval(HEARTBEAT);
    loop {
        tokio::select! {
            made = &mut making => {
                let made = made.map_err(|_| ServeError::Panicked)?;
                return made.map_err(|refusal| StandbyError::from(refusal).into());
            }
            _ = tick.tick() => sender.send(&Frame::Message(Message::Seeding)).await?,
        }
    }
}

/// Says why not, as far as the other side still listens.
async fn refuse<S: AsyncWrite>(sender: &mut Sender<S>, refusal: Refusal) {
    let _ = sender
        .send(&Frame::Message(Message::Refused(refusal)))
        .await;
}

pub(crate) fn unexpected(found: &Frame, expected: &'static str) -> ProtocolError {
    ProtocolError::Unexpected {
        found: found.name(),
        expected,
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServeError> {
    spawn_blocking(work).await.map_err(|_| ServeError::Panicked)
}

async fn greeted<S: AsyncRead + AsyncWrite>(
    shared: &Shared,
    store: &Arc<Store>,
    hello: &Hello,
    sender: &mut Sender<S>,
    receiver: &mut Receiver<S>,
) -> Result<(), ServeError> {
    let opening = store.clone();
    let (session, end) = blocking(move || opening.begin_session()).await?;
    let progress = store.progress();
    let welcome = Message::Welcome {
        identity: store.manifest().identity,
        last_checksum: end.last_checksum,
        progress: Progress {
            durable: end.position.into(),
            ..progress
        },
    };
    sender.send(&Frame::Message(welcome)).await?;
    match hello.purpose {
        Purpose::Image => send_image(store, sender).await,
        Purpose::Log => {
            receiver.allow(group_frame_bytes_max(hello.segment_bytes));
            let report_interval = shared.options.report_interval;
            Taking::new(store, session, end.position, progress)
                .run(sender, receiver, report_interval)
                .await
        }
    }
}

/// Sends DB', a part at a time. Nothing is appended meanwhile, but what was received before may
/// still be applied; so the image is fuzzy, and the log makes it whole (I3).
async fn send_image<S: AsyncWrite>(
    store: &Arc<Store>,
    sender: &mut Sender<S>,
) -> Result<(), ServeError> {
    let manifest = store.manifest();
    let begins = Message::ImageBegins {
        redo_start: store.applied().into(),
        block_bytes: manifest.block_bytes,
        stripes: manifest.stripes,
    };
    sender.send(&Frame::Message(begins)).await?;
    let mut sent = 0;
    for stripe in 0..manifest.stripes {
        let mut offset = 0;
        loop {
            let from = store.clone();
            let pages = blocking(move || from.pages(stripe, offset, PAGES_BYTES_MAX)).await?;
            if pages.is_empty() {
                break;
            }
            let head = crate::protocol::PagesHead { stripe, offset };
            offset += pages.len() as u64;
            sent += pages.len() as u64;
            sender.feed(&Frame::Pages(head, pages)).await?;
        }
    }
    let end = store.log_end();
    let ends = Message::ImageEnds {
        position: end.position.into(),
        last_checksum: end.last_checksum,
        bytes: sent,
    };
    sender.send(&Frame::Message(ends)).await?;
    Ok(())
}

/// Taking a primary's log.
struct Taking<'a> {
    store: &'a Arc<Store>,
    session: u64,
    reported: Progress,
    reported_at: Instant,
    /// To be appended next.
    batch: Vec<Bytes>,
    batch_bytes: usize,
    /// Groups that are not durable at the primary yet. It may never have them, so neither may this side.
    ahead: VecDeque<Bytes>,
    /// The number of the next group that comes.
    next: u64,
    /// All groups before this number are durable at the primary.
    durable: u64,
}

type Appending = JoinHandle<Result<LogPosition, StandbyError>>;

impl<'a> Taking<'a> {
    fn new(store: &'a Arc<Store>, session: u64, end: LogPosition, reported: Progress) -> Self {
        Taking {
            store,
            session,
            reported,
            reported_at: Instant::now(),
            batch: Vec::new(),
            batch_bytes: 0,
            ahead: VecDeque::new(),
            next: end.group,
            durable: end.group,
        }
    }

    async fn run<S: AsyncRead + AsyncWrite>(
        mut self,
        sender: &mut Sender<S>,
        receiver: &mut Receiver<S>,
        report_interval: Duration,
    ) -> Result<(), ServeError> {
        let mut tick = tokio::time::interval(report_interval);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut appending: Option<Appending> = None;
        loop {
            let idle = appending.is_none();
            tokio::select! {
                outcome = async { appending.as_mut().expect("not idle").await }, if !idle => {
                    outcome.map_err(|_| ServeError::Panicked)??;
                    self.report(sender).await?;
                    self.take_what_became_durable();
                    appending = self.append();
                }
                frame = receiver.receive_patiently(), if idle => {
                    self.take(frame?)?;
                    self.take_what_is_there(receiver)?;
                    appending = self.append();
                }
                _ = tick.tick() => self.report(sender).await?,
            }
        }
    }

    fn take(&mut self, frame: Frame) -> Result<(), ServeError> {
        match frame {
            Frame::Group(_) if self.ahead.len() >= GROUPS_AHEAD_MAX => {
                let expected = "the durable log's end";
                Err(unexpected(&frame, expected).into())
            }
            Frame::Group(bytes) => {
                self.ahead.push_back(bytes);
                self.next += 1;
                self.take_what_became_durable();
                Ok(())
            }
            Frame::Message(Message::Durable(group)) => {
                self.durable = self.durable.max(group);
                self.take_what_became_durable();
                Ok(())
            }
            Frame::Message(Message::Checkpoint(position)) => {
                self.store.want_checkpoint(position.into());
                Ok(())
            }
            Frame::Message(Message::Refused(refusal)) => Err(ServeError::Refused(refusal)),
            other => Err(unexpected(&other, "a group").into()),
        }
    }

    /// Moves to the batch what is durable at the primary, as far as it may be appended at once.
    fn take_what_became_durable(&mut self) {
        while self.next - (self.ahead.len() as u64) < self.durable
            && self.batch.len() < BATCH_GROUPS_MAX
            && let Some(bytes) = self.ahead.pop_front()
        {
            self.batch_bytes += bytes.len();
            self.batch.push(bytes);
        }
    }

    /// Gathers the groups that wait, so that they share a sync.
    fn take_what_is_there<S: AsyncRead>(
        &mut self,
        receiver: &mut Receiver<S>,
    ) -> Result<(), ServeError> {
        while self.batch.len() < BATCH_GROUPS_MAX
            && self.batch_bytes < BATCH_BYTES
            && let Some(frame) = receiver.receive_now()
        {
            match frame {
                Ok(frame) => self.take(frame)?,
                // What came before it is good; the stream says it again.
                Err(ProtocolError::Closed) if !self.batch.is_empty() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn append(&mut self) -> Option<Appending> {
        if self.batch.is_empty() {
            return None;
        }
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let (store, session) = (self.store.clone(), self.session);
        Some(spawn_blocking(move || store.append(session, &batch)))
    }

    /// Reports what is new, or that there is nothing new, every now and then.
    async fn report<S: AsyncWrite>(&mut self, sender: &mut Sender<S>) -> Result<(), ServeError> {
        if let Some(error) = self.store.failure() {
            return Err(error.into());
        }
        let progress = self.store.progress();
        if progress == self.reported && self.reported_at.elapsed() < HEARTBEAT {
            return Ok(());
        }
        self.reported = progress;
        self.reported_at = Instant::now();
        sender
            .send(&Frame::Message(Message::Progress(progress)))
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exploration::{Primary, primary, standby_options};
    use crate::server::StandbyServer;
    use crate::visitors::Visitors;
    use sardonyx_storage::disk::{Faults, SimulatedDisk};
    use tokio_util::sync::CancellationToken;

    /// Serves a connection on which a primary sends this after its greeting, and then ends it. Returns how it
    /// ended, and the group after the last that is durable at the standby.
    fn served(primary: &Primary, frames: &[Frame]) -> (Result<(), ServeError>, u64) {
        let disk = SimulatedDisk::new(1, Faults::default());
        let server = StandbyServer::open_on(Arc::new(disk), standby_options()).expect("opens");
        let shared = server.shared().clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let outcome = runtime.expect("a runtime").block_on(async {
            let (here, there) = tokio::io::duplex(1 << 20);
            let (mut sender, receiver) = split(here, GREETING_TIME_MAX);
            let hello = Frame::Hello(primary.hello.clone());
            let begins = Frame::Message(Message::FromBeginning);
            for frame in [&hello, &begins].into_iter().chain(frames) {
                sender.send(frame).await.expect("there is room");
            }
            sender.end().await.expect("it can be ended");
            let (visitor, _) = Visitors::default().enter(Instant::now(), CancellationToken::new());
            let outcome = serve(&shared, &visitor, there).await;
            drop(receiver);
            outcome
        });
        (outcome, server.report().expect("a database").durable.group)
    }

    #[test]
    fn i1_a_group_is_not_written_before_it_is_durable_at_the_primary() {
        let primary = primary(4, 60);
        let group = |n: usize| Frame::Group(primary.groups[n - 1].1.clone());
        let durable = |n| Frame::Message(Message::Durable(n));
        let cases: [(&[Frame], u64); 5] = [
            (&[group(1), group(2), group(3)], 1),
            (&[group(1), group(2), durable(2), group(3)], 2),
            (&[durable(4), group(1), group(2), group(3), group(4)], 4),
            (&[group(1), durable(3), group(2), group(3)], 3),
            (&[group(1), durable(2), durable(1), group(2)], 2),
        ];
        for (frames, expected) in cases {
            let (outcome, end) = served(&primary, frames);
            outcome.expect("a good primary");
            assert_eq!(end, expected);
        }
    }

    #[test]
    fn i10_a_primary_that_sends_too_far_ahead_is_refused() {
        let primary = primary(5, 60);
        let ahead = |groups: usize| -> Vec<Frame> {
            let groups = primary.groups.iter().take(groups);
            groups
                .map(|(_, bytes)| Frame::Group(bytes.clone()))
                .collect()
        };
        let (outcome, end) = served(&primary, &ahead(GROUPS_AHEAD_MAX));
        assert!(outcome.is_ok() && end == 1, "{outcome:?} {end}");
        let (outcome, _) = served(&primary, &ahead(GROUPS_AHEAD_MAX + 1));
        let unexpected = matches!(
            outcome,
            Err(ServeError::Protocol(ProtocolError::Unexpected { .. }))
        );
        assert!(unexpected, "{outcome:?}");
    }
}
