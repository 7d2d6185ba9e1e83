//! The effects of a transaction besides its rows, which others see once it commits: on sequences, and on channels
//! (`LISTEN`, `NOTIFY`).
//!
//! Both are gathered again when a transaction is run again, go back with its savepoints, and take effect in the call
//! that commits ([`Database::effects_committed`]). So a notification arrives once, in the order of the commits. It is
//! delivered when the transaction is durable: the session that waits for that reports it ([`Posted::durable`]).
//! Programs that call procedures by name have no session, and are refused signals.

mod noted;

use crate::database::Database;
use crate::error::{SqlError, code};
use crate::sequences::SequenceChanges;
use noted::Noted;
pub(crate) use noted::SignalsMark;
use sardonyx_base::channels::{Inbox, Listening, Message, Posted, Posting};
use sardonyx_base::memory::Budget;
use std::sync::Arc;

/// The first length of a channel's name that is too long, in bytes.
const CHANNEL_BYTES: usize = 64;
/// The first length of a payload that is too long, in bytes.
const PAYLOAD_BYTES: usize = 8000;

/// The effects of a transaction besides its rows.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub sequences: SequenceChanges,
    pub signals: Signals,
}

/// A mark in the effects of a transaction, to which they can be taken back.
#[derive(Clone, Debug)]
pub(crate) struct EffectsMark {
    sequences: SequenceChanges,
    signals: SignalsMark,
}

impl Effects {
    /// The mark of the effects so far.
    pub fn mark(&self) -> EffectsMark {
        EffectsMark {
            sequences: self.sequences.clone(),
            signals: self.signals.mark(),
        }
    }

    /// Forgets the effects after a mark.
    pub fn return_to(&mut self, mark: &EffectsMark) {
        self.sequences.return_to(&mark.sequences);
        self.signals.return_to(mark.signals);
    }
}

/// The notifications of a transaction, and the channels to which its session begins, or ends, to listen at the commit.
#[derive(Debug, Default)]
pub(crate) struct Signals(Option<Box<Noted>>);

impl Signals {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The mark of the signals so far.
    pub fn mark(&self) -> SignalsMark {
        let noted = self.0.as_ref();
        noted.map_or_else(SignalsMark::default, |noted| noted.mark())
    }

    /// Forgets the signals after a mark.
    pub fn return_to(&mut self, mark: SignalsMark) {
        match &mut self.0 {
            Some(noted) if mark != SignalsMark::default() => noted.return_to(mark),
            noted => *noted = None,
        }
    }

    /// Notes a notification.
    ///
    /// # Errors
    /// `22023` if the channel or the payload is invalid; `22021` if one has the character 0. `54000` beyond the bound;
    /// `53200` if there is no memory for it.
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
            matched: None,
            payload: payload.as_bytes().into(),
            process,
            is_owed: false,
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

    /// Commits the signals: the session listens, and the notifications are posted. Returns the post, if they have
    /// listeners.
    fn committed(self, posting: &Arc<Posting>) -> Option<Posted> {
        self.0?.committed(posting)
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
    /// Publishes effects in the call that commits, after everything that can fail. Returns the transaction's
    /// notifications, if they have listeners.
    pub(crate) fn effects_committed(&self, effects: Effects) -> Option<Posted> {
        self.sequences_committed(effects.sequences);
        effects.signals.committed(self.posting())
    }

    /// The same for a transaction that signals nothing.
    pub(crate) fn sequences_committed(&self, sequences: SequenceChanges) {
        if !sequences.is_empty() {
            sequences.committed(&mut self.counters().lock());
        }
    }
}

#[cfg(test)]
mod tests;
