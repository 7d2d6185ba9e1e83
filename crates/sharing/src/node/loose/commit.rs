//! Group commit of a loosely coupled node: its log is at the page server, and one thread appends for all that wait.

use super::call::{Answer, Question};
use super::remote::Remote;
use crate::node::NodeError;
use crate::node::imposed::sleep;
use crate::node::ring::Frame;
use crate::protocol::NodeId;
use crate::protocol::fence::Appender;
use sardonyx_base::sync::futex::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The end of this node's log.
#[derive(Debug)]
struct Writer {
    server: Remote,
    appender: Appender,
    failed: Option<NodeError>,
}

/// This node's log.
#[derive(Debug)]
pub struct CommitLog {
    node: NodeId,
    /// The most bytes of redo in a group: as of one transaction.
    group_bytes_max: usize,
    /// Redo that is not being written, and how much there ever was.
    waiting: Mutex<(Vec<Frame>, u64)>,
    writer: Mutex<Writer>,
    durable: AtomicU64,
    /// Slept before each group is appended.
    imposed: Duration,
}

impl CommitLog {
    pub fn new(node: NodeId, group_bytes_max: usize, server: Remote) -> Self {
        CommitLog {
            node,
            group_bytes_max,
            waiting: Mutex::new((Vec::new(), 0)),
            writer: Mutex::new(Writer {
                server,
                appender: Appender::new(1),
                failed: None,
            }),
            durable: AtomicU64::new(0),
            imposed: Duration::ZERO,
        }
    }

    /// The same, with a time of the log's device.
    pub fn imposing(self, imposed: Duration) -> Self {
        CommitLog { imposed, ..self }
    }

    /// Appends a transaction's redo, and returns when it is durable.
    ///
    /// # Errors
    /// [`NodeError::Fenced`] and [`NodeError::Refused`]: it did not happen. [`NodeError::Unreachable`]: the outcome
    /// is unknown. Nothing more is appended.
    pub fn append(&self, frame: Frame) -> Result<(), NodeError> {
        let number = {
            let mut waiting = self.waiting.lock();
            waiting.0.push(frame);
            waiting.1 += 1;
            waiting.1
        };
        let mut writer = self.writer.lock();
        while self.durable.load(Ordering::SeqCst) < number {
            if let Some(error) = &writer.failed {
                return Err(error.clone());
            }
            if let Err(error) = self.write(&mut writer) {
                writer.failed = Some(error.clone());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes one group of the waiting frames.
    fn write(&self, writer: &mut Writer) -> Result<(), NodeError> {
        let frames: Vec<Frame> = {
            let mut waiting = self.waiting.lock();
            let mut bytes = 0;
            let fits = |frame: &&Frame| {
                let first = bytes == 0;
                bytes += frame.words() * 8;
                first || bytes <= self.group_bytes_max
            };
            let count = waiting.0.iter().take_while(fits).count();
            waiting.0.drain(..count).collect()
        };
        let count = frames.len() as u64;
        sleep(self.imposed);
        let question = Question::Append {
            node: self.node,
            place: writer.appender.place()?,
            frames,
        };
        let appended = match writer.server.ask(&question)? {
            Answer::Appended => Ok(()),
            Answer::Occupied(occupied) => Err(occupied),
            _ => {
                let reason = "the page server answers something else".into();
                return Err(NodeError::Refused { reason });
            }
        };
        writer.appender.answer(appended)?;
        self.durable.fetch_add(count, Ordering::SeqCst);
        Ok(())
    }
}
