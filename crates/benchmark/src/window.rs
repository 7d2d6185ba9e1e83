//! Batches of requests in flight, at most so many of a client at once.

use sardonyx::Error;
use sardonyx::procedures::{BatchTicket, ProcedureError};
use std::collections::VecDeque;
use std::time::Instant;

/// Batches in flight, the oldest first.
#[derive(Debug)]
pub struct Window<T, E> {
    in_flight_max: usize,
    waiting: VecDeque<(BatchTicket<T, E>, Instant)>,
}

/// A batch that was answered.
#[derive(Debug)]
pub struct Answered<T, E> {
    /// The outcome of each request, in order.
    pub outcomes: Vec<Result<T, ProcedureError<E>>>,
    /// When the making of its first request began.
    pub started: Instant,
}

impl<T: Send + 'static, E: Send + 'static> Window<T, E> {
    /// A window of so many batches.
    pub fn new(in_flight_max: usize) -> Self {
        Window {
            in_flight_max,
            waiting: VecDeque::with_capacity(in_flight_max),
        }
    }

    /// Adds a submitted batch.
    pub fn push(&mut self, ticket: BatchTicket<T, E>, started: Instant) {
        self.waiting.push_back((ticket, started));
    }

    /// The oldest batch, if it is answered. If the window is full, or `is_last` says that no more will be added, this
    /// waits for it.
    ///
    /// # Errors
    /// The database's error.
    pub fn pop(&mut self, is_last: bool) -> Result<Option<Answered<T, E>>, Error> {
        let Some((first, _)) = self.waiting.front() else {
            return Ok(None);
        };
        if !is_last && self.waiting.len() < self.in_flight_max && !first.is_done() {
            return Ok(None);
        }
        let (ticket, started) = self.waiting.pop_front().expect("there is a first");
        Ok(Some(Answered {
            outcomes: ticket.wait()?,
            started,
        }))
    }
}
