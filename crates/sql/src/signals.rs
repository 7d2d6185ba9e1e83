//! What a transaction does besides its rows, which others see once it commits: with sequences, and with channels (`LISTEN`,
//! `NOTIFY`).
//!
//! Both are gathered anew when a transaction is run again, go back with its savepoints, and count in the call that commits
//! ([`Database::effects_committed`]). So a notification comes once, in the order of the commits. It is given out when the
//! transaction is durable: the caller that waits for that says so ([`Posted::durable`]). Without one a thread finds out.

use crate::database::Database;
use crate::error::{SqlError, code};
use crate::sequences::SequenceChanges;
use sardonyx_base::channels::{Hub, Inbox, Listening, Message};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Names of channels are shorter, in bytes.
const CHANNEL_BYTES: usize = 64;
/// Payloads are shorter, in bytes.
const PAYLOAD_BYTES: usize = 8000;
/// The most bytes of a transaction's notifications, each counted with [`sardonyx_base::channels::MESSAGE_BYTES`].
const TRANSACTION_BYTES_MAX: usize = 8 << 20;
/// The most channels that a session listens to.
const CHANNELS_MAX: usize = 10_000;

/// What a transaction does besides its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub sequences: SequenceChanges,
    pub signals: Signals,
}

/// What a transaction notifies of, and what its session listens to from its commit on. A copy is cheap as long as neither
/// changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals(Option<Arc<Noted>>);

#[derive(Clone, Debug, Default)]
struct Noted {
    listening: Vec<(Arc<Inbox>, Listening)>,
    messages: Vec<Arc<Message>>,
    /// The same: each comes once.
    known: HashSet<Arc<Message>>,
    bytes: usize,
}

impl Signals {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn noted(&mut self) -> &mut Noted {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// Notes a notification.
    ///
    /// # Errors
    /// `22023` if the channel or the payload is none; `54000` beyond the bound.
    pub fn notify(&mut self, channel: &str, payload: &str, process: u32) -> Result<(), SqlError> {
        let refused = |text: &str| Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        match (channel.len(), payload.len()) {
            (0, _) => return refused("channel name cannot be empty"),
            (CHANNEL_BYTES.., _) => return refused("channel name too long"),
            (_, PAYLOAD_BYTES..) => return refused("payload string too long"),
            _ => {}
        }
        let noted = self.noted();
        let message = Arc::new(Message {
            channel: channel.as_bytes().into(),
            payload: payload.as_bytes().into(),
            process,
        });
        if noted.known.contains(&message) {
            return Ok(());
        }
        let bytes = noted.bytes + message.bytes();
        if bytes > TRANSACTION_BYTES_MAX {
            let text = format!(
                "too many notifications: those of a transaction have at most {TRANSACTION_BYTES_MAX} bytes"
            );
            return Err(SqlError::new(code::PROGRAM_LIMIT, text)
                .hint("Commit more often, or notify of where the data is to be read."));
        }
        noted.bytes = bytes;
        noted.known.insert(message.clone());
        noted.messages.push(message);
        Ok(())
    }

    /// Notes what a session listens to from its commit on.
    ///
    /// # Errors
    /// `54000` beyond the bound.
    pub fn listen(&mut self, inbox: &Arc<Inbox>, change: Listening) -> Result<(), SqlError> {
        let noted = self.noted();
        let changes = noted.listening.len();
        if matches!(change, Listening::To(_)) && inbox.count() + changes >= CHANNELS_MAX {
            let text = format!("a session listens to at most {CHANNELS_MAX} channels");
            return Err(SqlError::new(code::PROGRAM_LIMIT, text));
        }
        if matches!(change, Listening::ToNone) {
            // What was noted before counts for nothing.
            noted.listening.clear();
        }
        noted.listening.push((inbox.clone(), change));
        Ok(())
    }

    /// Adds what was noted later.
    ///
    /// # Errors
    /// `54000` beyond the bounds.
    pub fn append(&mut self, later: Signals) {
        let Some(later) = later.0 else { return };
        if self.0.is_none() {
            self.0 = Some(later);
            return;
        }
        let noted = self.noted();
        noted.listening.extend(later.listening.iter().cloned());
        for message in &later.messages {
            if noted.known.insert(message.clone()) {
                noted.messages.push(message.clone());
            }
        }
    }

    /// The transaction commits: its session listens, and its notifications are posted. Returns the number of the post, if
    /// they have listeners.
    fn committed(self, hub: &Hub) -> Option<u64> {
        let noted = self.0?;
        for (inbox, change) in &noted.listening {
            inbox.listen(change);
        }
        hub.post(noted.messages.iter())
    }
}

impl Database {
    /// To be called in the call that commits, behind all that can fail. Returns the transaction's notifications, if they
    /// have listeners.
    pub(crate) fn effects_committed(&self, effects: Effects) -> Option<Posted> {
        self.sequences_committed(effects.sequences);
        let number = effects.signals.committed(self.hub())?;
        Some(Posted {
            database: self.itself(),
            number,
            is_left: true,
        })
    }

    /// The same for a transaction that signals nothing.
    pub(crate) fn sequences_committed(&self, sequences: SequenceChanges) {
        if !sequences.is_empty() {
            sequences.committed(&mut self.counters().lock());
        }
    }

    /// Has a thread find out what becomes of a post.
    fn settle_later(self: Arc<Self>, number: u64) {
        let begins = {
            let mut unsettled = self.unsettled().lock();
            unsettled.numbers.push(number);
            !std::mem::replace(&mut unsettled.is_looked_after, true)
        };
        if begins {
            let settling = Settling(self.clone());
            drop(self.readers().run(move || settling.run()));
        }
    }

    /// Waits until what is committed now is durable, and gives posts out. If the log fails, or is closed, it withdraws them.
    fn settle(&self, numbers: &[u64]) {
        let durable = self.tables().and_then(|tables| {
            // With a turn of its own: the call that posted has ended then, and a state from before it does not count.
            let turn = tables.turn().ok()?;
            turn.all_durable().wait().ok()
        });
        for number in numbers {
            match durable {
                Some(()) => self.hub().durable_to(*number),
                None => self.hub().withdraw(*number),
            }
        }
    }
}

/// Posts for whose transactions nothing waits.
#[derive(Debug, Default)]
pub(crate) struct Unsettled(Mutex<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    numbers: Vec<u64>,
    is_looked_after: bool,
}

impl Unsettled {
    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one thread that looks after them, until there are none.
struct Settling(Arc<Database>);

impl Settling {
    fn run(self) {
        loop {
            let numbers = {
                let mut unsettled = self.0.unsettled().lock();
                unsettled.is_looked_after = !unsettled.numbers.is_empty();
                std::mem::take(&mut unsettled.numbers)
            };
            if numbers.is_empty() {
                return;
            }
            self.0.settle(&numbers);
        }
    }
}

impl Drop for Settling {
    /// Also if there was no thread for it: the next post finds another one, which settles those before it, too.
    fn drop(&mut self) {
        self.0.unsettled().lock().is_looked_after = false;
    }
}

/// Notifications of a transaction that has committed, and may not be durable yet.
#[derive(Debug)]
#[must_use]
pub(crate) struct Posted {
    database: Weak<Database>,
    number: u64,
    is_left: bool,
}

impl Posted {
    /// The transaction is durable, and so are those before it.
    pub fn durable(self) {
        self.end(|hub, number| hub.durable_to(number));
    }

    /// The transaction is, whatever becomes of those before it: it has only read what is durable.
    pub fn durable_alone(self) {
        self.end(|hub, number| hub.durable(number));
    }

    fn end(mut self, act: impl FnOnce(&Hub, u64)) {
        self.is_left = false;
        if let Some(database) = self.database.upgrade() {
            act(database.hub(), self.number);
        }
    }
}

impl Drop for Posted {
    /// No caller waits for the transaction any more, or none ever did.
    fn drop(&mut self) {
        if self.is_left
            && let Some(database) = self.database.upgrade()
        {
            database.settle_later(self.number);
        }
    }
}

#[cfg(test)]
mod tests;
