//! The effects of a transaction besides its rows, which others see once it commits: on sequences, and on channels
//! (`LISTEN`, `NOTIFY`).
//!
//! Both are gathered anew when a transaction is run again, go back with its savepoints, and count in the call that commits
//! ([`Database::effects_committed`]). So a notification comes once, in the order of the commits. It is given out when the
//! transaction is durable: the session that waits for that says so ([`Posted::durable`]). If its client has left meanwhile, a
//! thread finds out. Programs that call procedures by name have no session, and are refused signals.

mod noted;

use crate::database::Database;
use crate::error::{SqlError, code};
use crate::sequences::SequenceChanges;
use noted::Noted;
pub(crate) use noted::SignalsMark;
use sardonyx_base::channels::{Hub, Inbox, Listening, Message};
use sardonyx_base::memory::Budget;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Names of channels are shorter, in bytes.
const CHANNEL_BYTES: usize = 64;
/// Payloads are shorter, in bytes.
const PAYLOAD_BYTES: usize = 8000;
/// The most bytes of a transaction's notifications, each counted with [`sardonyx_base::channels::MESSAGE_BYTES`].
const TRANSACTION_BYTES_MAX: usize = 8 << 20;
/// The most channels that a session listens to.
const CHANNELS_MAX: usize = 10_000;
/// The most changes of these in a transaction.
const CHANGES_MAX: usize = 100_000;

/// The effects of a transaction besides its rows.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub sequences: SequenceChanges,
    pub signals: Signals,
}

/// How far the effects had come.
#[derive(Clone, Debug)]
pub(crate) struct EffectsMark {
    sequences: SequenceChanges,
    signals: SignalsMark,
}

impl Effects {
    /// How far they have come.
    pub fn mark(&self) -> EffectsMark {
        EffectsMark {
            sequences: self.sequences.clone(),
            signals: self.signals.mark(),
        }
    }

    /// Forgets the effects behind a mark.
    pub fn return_to(&mut self, mark: &EffectsMark) {
        self.sequences = mark.sequences.clone();
        self.signals.return_to(mark.signals);
    }
}

/// The notifications of a transaction, and the channels to which its session begins, or ends, to listen at the commit.
#[derive(Debug, Default)]
pub(crate) struct Signals(Option<Box<Noted>>);

impl Signals {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How far they have come.
    pub fn mark(&self) -> SignalsMark {
        let noted = self.0.as_ref();
        noted.map_or_else(SignalsMark::default, |noted| noted.mark())
    }

    /// Forgets the signals behind a mark.
    pub fn return_to(&mut self, mark: SignalsMark) {
        match &mut self.0 {
            Some(noted) if mark != SignalsMark::default() => noted.return_to(mark),
            noted => *noted = None,
        }
    }

    /// Notes a notification.
    ///
    /// # Errors
    /// `22023` if the channel or the payload is none; `22021` if one has the character 0; `54000` beyond the bound; `53200`
    /// if there is no memory for it.
    pub fn notify(
        &mut self,
        channel: &str,
        payload: &str,
        process: u32,
        memory: &Arc<Budget>,
    ) -> Result<(), SqlError> {
        let refused = |text: &str| Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        match (channel.len(), payload.len()) {
            (0, _) => return refused("channel name cannot be empty"),
            (CHANNEL_BYTES.., _) => return refused("channel name too long"),
            (_, PAYLOAD_BYTES..) => return refused("payload string too long"),
            _ => {}
        }
        check_text(channel.as_bytes())?;
        check_text(payload.as_bytes())?;
        let message = Message {
            channel: channel.as_bytes().into(),
            payload: payload.as_bytes().into(),
            process,
        };
        self.0.get_or_insert_default().notify(message, memory)
    }

    /// Notes that a session begins, or ends, to listen at its commit.
    ///
    /// # Errors
    /// `22021` if the channel has the character 0; `54000` beyond the bounds; `53200` if there is no memory for it.
    pub fn listen(
        &mut self,
        inbox: &Arc<Inbox>,
        change: Listening,
        memory: &Arc<Budget>,
    ) -> Result<(), SqlError> {
        if let Listening::To(channel) | Listening::NoMore(channel) = &change {
            check_text(channel)?;
        }
        let noted = self.0.get_or_insert_default();
        noted.listen(inbox, change, memory)
    }

    /// Adds the signals of a part that ran later.
    pub fn append(&mut self, later: Signals) {
        match (&mut self.0, later.0) {
            (Some(noted), Some(later)) => noted.append(*later),
            (_, None) => {}
            (none, later) => *none = later,
        }
    }

    /// The transaction commits: its session listens, and its notifications are posted. Returns the number of the post, if
    /// they have listeners.
    fn committed(self, hub: &Hub) -> Option<u64> {
        self.0?.committed(hub)
    }
}

/// Clients read texts up to the character 0.
fn check_text(text: &[u8]) -> Result<(), SqlError> {
    match text.contains(&0) {
        false => Ok(()),
        true => Err(SqlError::new(
            code::INVALID_BYTES,
            "invalid byte sequence for encoding \"UTF8\": 0x00",
        )),
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
    /// The caller does not wait for the transaction any more: its client has left.
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
