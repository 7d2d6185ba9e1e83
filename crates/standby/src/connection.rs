//! A connection as two halves that send and receive [`Frame`]s, so that each side can do both at
//! once and neither waits for the other for ever.

use crate::protocol::{Frame, MESSAGE_BYTES_MAX, codec};
use crate::refusal::ProtocolError;
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

/// The half that sends.
#[derive(Debug)]
pub(crate) struct Sender<S>(FramedWrite<WriteHalf<S>, LengthDelimitedCodec>);

/// The half that receives.
#[derive(Debug)]
pub(crate) struct Receiver<S> {
    frames: FramedRead<ReadHalf<S>, LengthDelimitedCodec>,
    /// Longer than this and the other side counts as gone.
    silence_max: Duration,
}

/// The two halves of a connection. Frames longer than a message are refused until
/// [`Receiver::allow`]; sending is not bounded.
pub(crate) fn split<S: AsyncRead + AsyncWrite>(
    stream: S,
    silence_max: Duration,
) -> (Sender<S>, Receiver<S>) {
    let (read, write) = tokio::io::split(stream);
    let receiver = Receiver {
        frames: FramedRead::new(read, codec(MESSAGE_BYTES_MAX)),
        silence_max,
    };
    let sending = codec(u32::MAX as usize);
    (Sender(FramedWrite::new(write, sending)), receiver)
}

impl<S: AsyncWrite> Sender<S> {
    /// Sends a frame, and everything before it.
    pub async fn send(&mut self, frame: &Frame) -> Result<(), ProtocolError> {
        Ok(self.0.send(frame.encode()).await?)
    }

    /// Sends a frame with the next ones, or with [`Sender::flush`].
    pub async fn feed(&mut self, frame: &Frame) -> Result<(), ProtocolError> {
        Ok(self.0.feed(frame.encode()).await?)
    }

    /// Says that nothing more comes.
    #[cfg(test)]
    pub async fn end(&mut self) -> Result<(), ProtocolError> {
        Ok(SinkExt::<Bytes>::close(&mut self.0).await?)
    }

    /// Sends what was fed.
    pub async fn flush(&mut self) -> Result<(), ProtocolError> {
        Ok(SinkExt::<Bytes>::flush(&mut self.0).await?)
    }
}

impl<S: AsyncRead> Receiver<S> {
    /// Allows frames of this length from now on.
    pub fn allow(&mut self, frame_bytes_max: usize) {
        self.frames
            .decoder_mut()
            .set_max_frame_length(frame_bytes_max);
    }

    /// The next frame, however long it takes. May be dropped and called again.
    pub async fn receive_patiently(&mut self) -> Result<Frame, ProtocolError> {
        decode(self.frames.next().await)
    }

    /// The next frame.
    ///
    /// # Errors
    /// [`ProtocolError::Silent`] if none comes for too long.
    pub async fn receive(&mut self) -> Result<Frame, ProtocolError> {
        let silence_max = self.silence_max;
        let silent = |_| ProtocolError::Silent {
            seconds: silence_max.as_secs(),
        };
        let next = tokio::time::timeout(silence_max, self.frames.next());
        decode(next.await.map_err(silent)?)
    }

    /// The next frame, if it is there already.
    pub fn receive_now(&mut self) -> Option<Result<Frame, ProtocolError>> {
        self.frames.next().now_or_never().map(decode)
    }
}

fn decode(received: Option<std::io::Result<BytesMut>>) -> Result<Frame, ProtocolError> {
    match received {
        None => Err(ProtocolError::Closed),
        Some(bytes) => Frame::decode(bytes?.freeze()),
    }
}
