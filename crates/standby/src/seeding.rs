//! The seed of a standby that has nothing, where the primary's log no longer reaches back to the beginning.
//!
//! ```text
//!   primary                                              standby
//!   Hello ─────────────────────────────────────────────▶
//!         ◀───────────────────────────────────────────── Empty
//!   SeedBegins · the last group · pages · … · SeedEnds ▶  (memory alone)
//!         ◀───────────────────────────────────────────── Seeding … (the directory is made, its manifest last)
//!         ◀───────────────────────────────────────────── Welcome: it has everything before the next group
//!   groups from there on ──────────────────────────────▶
//! ```
//!
//! Transactions go on meanwhile; the log is kept, since no standby says that it may go (I6). Whatever ends in the middle
//! is begun anew: a standby that was not told the seed's end has changed nothing, and one whose directory is not whole has
//! none ([`sardonyx_storage::engine::seed_database`]).

use crate::assembly::Assembly;
use crate::connection::{Receiver, Sender};
use crate::primary::Standby;
use crate::protocol::{Frame, Hello, Message, PAGES_BYTES_MAX, PagesHead, group_frame_bytes_max};
use crate::refusal::ProtocolError;
use crate::serve::{ServeError, unexpected};
use bytes::Bytes;
use sardonyx_storage::checkpoint::{RemoteError, SeedError, ShippedLog};
use sardonyx_storage::store::PageStore;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::spawn_blocking;

/// Sends a seed to a standby that has nothing.
pub(crate) async fn give<S: AsyncWrite>(
    standby: &Standby,
    log: &ShippedLog,
    sender: &mut Sender<S>,
) -> Result<(), RemoteError> {
    let failed = |error: SeedError| standby.not_seeded(&error);
    let making = log.clone();
    let seed = spawn_blocking(move || making.seed()).await;
    let seed = seed.map_err(|error| standby.not_seeded(&SeedError::new(error)))?;
    let Some(seed) = seed.map_err(failed)? else {
        let reason = "only tables give them, not memory or operations; start the standby there that had them";
        return Err(failed(SeedError::new(reason)));
    };
    tracing::info!(
        bytes = seed.pages.bytes(),
        group = seed.pages.position().group - 1,
        "a standby that has nothing is made of the pages here"
    );
    let lost = |error| standby.lost(error);
    let begins = Frame::Message(Message::SeedBegins);
    sender.feed(&begins).await.map_err(lost)?;
    let group = Frame::Group(Bytes::from_owner(seed.last_group));
    sender.send(&group).await.map_err(lost)?;
    let pages = Arc::new(seed.pages);
    let (bytes, mut offset) = (pages.bytes(), 0);
    while offset < bytes {
        let from = pages.clone();
        let part = (bytes - offset).min(PAGES_BYTES_MAX as u64);
        let read = spawn_blocking(move || {
            let mut into = vec![0; part as usize];
            from.read(offset, &mut into).map(|()| into)
        });
        let read = read.await.map_err(|error| failed(SeedError::new(error)))?;
        let head = PagesHead { stripe: 0, offset };
        let frame = Frame::Pages(head, read.map_err(failed)?.into());
        sender.send(&frame).await.map_err(lost)?;
        offset += part;
    }
    let ends = Frame::Message(Message::SeedEnds { bytes });
    sender.send(&ends).await.map_err(lost)?;
    Ok(())
}

/// What a primary sends a standby that has nothing.
#[derive(Debug)]
pub(crate) enum Start {
    /// The log from its beginning.
    Log,
    /// All pages as they are after this group.
    Seed(Bytes, PageStore),
}

/// Takes what a primary sends a standby that has nothing.
pub(crate) async fn take<S: AsyncRead>(
    hello: &Hello,
    memory_bytes_max: u64,
    receiver: &mut Receiver<S>,
) -> Result<Start, ServeError> {
    match receiver.receive_patiently().await? {
        Frame::Message(Message::FromBeginning) => return Ok(Start::Log),
        Frame::Message(Message::SeedBegins) => {}
        Frame::Message(Message::Refused(refusal)) => return Err(ServeError::Refused(refusal)),
        other => return Err(unexpected(&other, "the log's beginning or a seed").into()),
    }
    let longest = group_frame_bytes_max(hello.segment_bytes).max(PAGES_BYTES_MAX + 64);
    receiver.allow(longest);
    let group = match receiver.receive_patiently().await? {
        Frame::Group(bytes) => bytes,
        other => return Err(unexpected(&other, "a seed's group").into()),
    };
    // In the order of the store's pages, as one stripe.
    let new = Assembly::new(1, hello.block_bytes, memory_bytes_max)?;
    let mut pages = new.ok_or(ServeError::Disorder)?;
    loop {
        match receiver.receive_patiently().await? {
            Frame::Pages(head, bytes) => {
                if !pages.add(head, &bytes)? {
                    return Err(ServeError::Disorder);
                }
            }
            Frame::Message(Message::SeedEnds { bytes }) if bytes == pages.received() => {
                return Ok(Start::Seed(group, pages.into_store()));
            }
            Frame::Message(Message::SeedEnds { .. }) => return Err(ServeError::Disorder),
            other => {
                let error: ProtocolError = unexpected(&other, "pages");
                return Err(error.into());
            }
        }
    }
}
