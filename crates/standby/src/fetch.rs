//! Fetching an image of DB' from the standby, for a primary whose own log no longer reaches back to
//! the beginning.

use crate::assembly::Assembly;
use crate::connection::split;
use crate::primary::Standby;
use crate::protocol::{Frame, Message, PAGES_BYTES_MAX, Purpose, WirePosition};
use crate::refusal::Refusal;
use crate::ship::{Greeted, greet};
use sardonyx_storage::checkpoint::{Image, RemoteError};
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::manifest::Manifest;
use std::sync::Arc;

/// Fetches an image.
pub(crate) async fn fetch(
    standby: &Standby,
    manifest: &Manifest,
    memory_bytes_max: u64,
) -> Result<Image, RemoteError> {
    let stream = standby.connect().await?;
    let (mut sender, mut receiver) = split(stream, standby.patience().silence_max);
    let greeted = greet(
        standby,
        manifest,
        Purpose::Image,
        &mut sender,
        &mut receiver,
    );
    if let Greeted::Empty = greeted.await? {
        return Err(standby.refused(Refusal::Empty));
    }
    receiver.allow(PAGES_BYTES_MAX + 64);
    let mut assembly: Option<(WirePosition, Assembly)> = None;
    loop {
        let frame = receiver.receive().await;
        let frame = frame.map_err(|error| standby.lost(error))?;
        match (frame, &mut assembly) {
            (
                Frame::Message(Message::ImageBegins {
                    redo_start,
                    block_bytes,
                    stripes,
                }),
                None,
            ) => {
                let new = Assembly::new(stripes, block_bytes, memory_bytes_max);
                let new = new.map_err(Arc::new)?;
                let new = new.ok_or_else(|| standby.unreachable("its image has no stripes"))?;
                assembly = Some((redo_start, new));
            }
            (Frame::Pages(head, bytes), Some((_, assembly))) => {
                let in_order = assembly.add(head, &bytes).map_err(Arc::new)?;
                if !in_order {
                    return Err(standby.unreachable("its image came out of order"));
                }
            }
            (
                Frame::Message(Message::ImageEnds {
                    position,
                    last_checksum,
                    bytes,
                }),
                Some(_),
            ) => {
                let (redo_start, assembly) = assembly.take().expect("matched");
                if bytes != assembly.received() {
                    return Err(standby.unreachable("its image is not whole"));
                }
                return Ok(Image {
                    store: assembly.into_store(),
                    redo_start: LogPosition::from(redo_start),
                    position: LogPosition::from(position),
                    last_checksum,
                    origin: standby.address().into(),
                });
            }
            (Frame::Message(Message::Refused(refusal)), _) => return Err(standby.refused(refusal)),
            (other, _) => {
                let what = format!("it sent {} instead of an image", other.name());
                return Err(standby.unreachable(what));
            }
        }
    }
}
