//! A node's end of a connection to the page server: questions and answers, again over a new connection if one breaks.
//!
//! Each question may be asked again: a page is read twice, a group is appended at a place. So if an answer was lost, and
//! the group is there, it is this node's.

use super::call::{Answer, Question};
use super::frame::Frame;
use super::wire::{self, Hello, Trust, Welcome};
use crate::node::NodeError;
use crate::protocol::fence::Occupied;
use sardonyx_base::transport::Connection;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// An answer that takes longer is asked for again over a new connection.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A connection to the page server.
#[derive(Debug)]
pub struct Remote {
    address: SocketAddr,
    trust: Trust,
    /// For so long the server may be away.
    patience: Duration,
    stopping: Arc<AtomicBool>,
    stream: Option<Box<dyn Connection>>,
}

impl Remote {
    pub fn new(
        address: SocketAddr,
        trust: Trust,
        patience: Duration,
        stopping: Arc<AtomicBool>,
    ) -> Self {
        Remote {
            address,
            trust,
            patience,
            stopping,
            stream: None,
        }
    }

    /// Connects; returns the server's greeting.
    ///
    /// # Errors
    /// As [`wire::connect`].
    pub fn connect(&mut self) -> Result<Welcome, NodeError> {
        let (stream, welcome) = wire::connect(self.address, Hello::PageServer, &self.trust)?;
        let network = NodeError::network("set a time limit for the page server");
        stream
            .socket()
            .set_read_timeout(Some(ANSWER_MAX))
            .map_err(&network)?;
        self.stream = Some(stream);
        Ok(welcome)
    }

    /// Asks, as long as patience lasts.
    ///
    /// # Errors
    /// [`NodeError::Unreachable`]: the outcome is unknown. [`NodeError::Refused`].
    pub fn ask(&mut self, question: &Question) -> Result<Answer, NodeError> {
        let frame = question.encode();
        let until = Instant::now() + self.patience;
        let mut asked = 0_u32;
        loop {
            match self.ask_once(&frame, &mut asked) {
                Ok(Answer::Occupied(Occupied::Redo)) if asked > 1 => return Ok(Answer::Appended),
                Ok(Answer::Refused(reason)) => return Err(NodeError::Refused { reason }),
                Ok(answer) => return Ok(answer),
                Err(error @ NodeError::Refused { .. }) => return Err(error),
                Err(error) => {
                    self.stream = None;
                    if Instant::now() >= until || self.stopping.load(Ordering::SeqCst) {
                        return Err(NodeError::Unreachable {
                            what: "the page server",
                            reason: error.to_string(),
                        });
                    }
                    std::thread::sleep(wire::again_after(&error));
                }
            }
        }
    }

    fn ask_once(&mut self, frame: &Frame, asked: &mut u32) -> Result<Answer, NodeError> {
        if self.stream.is_none() {
            self.connect()?;
        }
        let Some(stream) = &mut self.stream else {
            return Err(NodeError::Stopped {
                reason: "no connection".into(),
            });
        };
        *asked += 1;
        wire::send(stream, frame).map_err(NodeError::network("ask the page server"))?;
        let answer = Frame::read(stream)?;
        Ok(Answer::decode(&answer)?)
    }
}
