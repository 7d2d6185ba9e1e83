//! The requests to a node's process over its socket, and its answers: a line of JSON each.

use crate::figures::{Counts, NodeRun};
use crate::load::Load;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Sent to a node's process, a line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Answered by the node's state.
    Status,
    /// The nodes that it knows to be alive. A closely coupled node answers without waiting for its present work, such
    /// as a recovery.
    Living,
    /// Prepare a load; an earlier one is discarded.
    Prepare(Box<Load>),
    /// Run the prepared load, from an instant of the monotonic clock on, in nanoseconds. It ends early when the
    /// connection of this request is closed.
    Run {
        /// The instant.
        at: u64,
    },
    /// Bring the backup up to date.
    Checkpoint,
    /// Change a page, 8 bytes of it by 0: to find out when that is possible.
    Touch {
        /// Of the database, from 0.
        page: u64,
    },
    /// Leave, and end the process.
    Leave,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Request::Status`].
    Status(NodeStatus),
    /// To [`Request::Living`]: as [`NodeStatus::living`].
    Living(Vec<usize>),
    /// The request had no other result.
    Done,
    /// During a run: the number of its transactions that were acknowledged so far.
    Progress(u64),
    /// To [`Request::Run`].
    Ran(Box<NodeRun>),
    /// The request is refused, with the reason.
    Refused(String),
}

/// For people, and for tests of takeovers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// The place of the node.
    pub slot: u16,
    /// Its name: closely coupled, slot and life; loosely coupled, a number that no node before it had; 0 of a page server.
    pub node: u16,
    /// The number that the system gave the process.
    pub process: u32,
    /// The living nodes, as far as it knows: slots of closely coupled ones, names of loosely coupled ones.
    pub living: Vec<usize>,
    /// True if it runs a load.
    pub runs: bool,
    /// Its counts since it joined.
    pub counts: Counts,
}

/// One end of a conversation.
#[derive(Debug)]
pub(crate) struct Line {
    input: BufReader<UnixStream>,
    output: UnixStream,
}

impl Line {
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        let input = BufReader::new(stream.try_clone()?);
        Ok(Line {
            input,
            output: stream,
        })
    }

    /// Sets the most time to wait for an answer.
    pub fn wait_at_most(&self, time: Duration) -> io::Result<()> {
        self.output.set_read_timeout(Some(time))
    }

    pub fn say(&self, what: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string(what)?;
        text.push('\n');
        (&self.output).write_all(text.as_bytes())
    }

    /// Waits at most so long; returns true if the other end has closed the connection.
    pub fn is_closed_within(&self, time: &Timespec) -> bool {
        let mut files = [PollFd::new(&self.output, PollFlags::RDHUP)];
        poll(&mut files, Some(time)).is_ok_and(|ready| ready > 0)
    }

    /// The next line of the other end; `None`: it has closed the connection.
    pub fn hear<T: for<'a> Deserialize<'a>>(&mut self) -> io::Result<Option<T>> {
        let mut text = String::new();
        match self.input.read_line(&mut text)? {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_str(&text)?)),
        }
    }
}
