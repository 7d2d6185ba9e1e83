//! The signals of a transaction until it commits: lists that grow, and are cut back to marks. A savepoint is a mark,
//! not a copy.

use crate::error::{SqlError, code};
use sardonyx_base::channels::{Inbox, Listening, Message, Posted, Posting};
use sardonyx_base::memory::{Budget, Share};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most bytes of a transaction's notifications, each counted with [`sardonyx_base::channels::MESSAGE_BYTES`].
pub(super) const TRANSACTION_BYTES_MAX: usize = 8 << 20;
/// The most channels that a session listens to.
pub(super) const CHANNELS_MAX: usize = 10_000;
/// The most changes of these in a transaction.
pub(super) const CHANGES_MAX: usize = 100_000;

/// The memory of a change of channels, about.
const CHANGE_BYTES: usize = 200;

/// Memory is taken in steps of this size.
const STEP_BYTES: usize = 16 << 10;

/// A mark: the lengths of the lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SignalsMark {
    changes: usize,
    messages: usize,
}

/// Changes of the channels to which a session listens, and messages.
#[derive(Debug, Default)]
pub(super) struct Noted {
    /// The inbox of the session.
    inbox: Option<Arc<Inbox>>,
    /// The changes, each with the number of channels to which the session listens after it.
    changes: Vec<(Listening, usize)>,
    /// The places of the changes of each channel.
    of_channels: HashMap<Arc<[u8]>, Vec<usize>>,
    /// The places of the changes of all channels at once.
    of_all: Vec<usize>,
    messages: Vec<Arc<Message>>,
    /// The same as a set: each message is sent once.
    known: HashSet<Arc<Message>>,
    /// The bytes of the messages.
    bytes: usize,
    memory: Option<Share>,
}

impl Noted {
    /// The mark of the lists now.
    pub fn mark(&self) -> SignalsMark {
        SignalsMark {
            changes: self.changes.len(),
            messages: self.messages.len(),
        }
    }

    /// Forgets the entries after a mark.
    pub fn return_to(&mut self, mark: SignalsMark) {
        for message in self
            .messages
            .drain(mark.messages.min(self.messages.len())..)
        {
            self.bytes -= message.bytes();
            self.known.remove(&message);
        }
        for (change, _) in self.changes.drain(mark.changes.min(self.changes.len())..) {
            match change {
                Listening::To(channel) | Listening::NoMore(channel) => {
                    if let Some(places) = self.of_channels.get_mut(&channel) {
                        places.pop();
                        if places.is_empty() {
                            self.of_channels.remove(&channel);
                        }
                    }
                }
                Listening::ToNone => {
                    self.of_all.pop();
                }
            }
        }
        let bytes = self.counted();
        if let Some(memory) = &mut self.memory {
            memory.give(bytes);
        }
    }

    fn counted(&self) -> usize {
        self.bytes + self.changes.len() * CHANGE_BYTES
    }

    fn cover(&mut self, more: usize, memory: &Arc<Budget>) -> Result<(), SqlError> {
        let bytes = self.counted() + more;
        let share = self
            .memory
            .get_or_insert_with(|| Share::of(memory.clone()).in_steps(STEP_BYTES));
        Ok(share.cover(bytes)?)
    }

    /// Notes a message, unless it is noted already.
    ///
    /// # Errors
    /// `54000` beyond the bound; `53200` if there is no memory for it.
    pub fn notify(&mut self, message: Message, memory: &Arc<Budget>) -> Result<(), SqlError> {
        if self.known.contains(&message) {
            return Ok(());
        }
        if self.bytes + message.bytes() > TRANSACTION_BYTES_MAX {
            let text = format!(
                "too many notifications: those of a transaction have at most {TRANSACTION_BYTES_MAX} bytes"
            );
            return Err(SqlError::new(code::PROGRAM_LIMIT, text)
                .hint("Commit more often, or notify of where the data is to be read."));
        }
        self.cover(message.bytes(), memory)?;
        self.add(Arc::new(message));
        Ok(())
    }

    fn add(&mut self, message: Arc<Message>) {
        if self.known.insert(message.clone()) {
            self.bytes += message.bytes();
            self.messages.push(message);
        }
    }

    /// Notes a change, unless it is already the last one of its channel.
    ///
    /// # Errors
    /// `54000` beyond the bounds; `53200` if there is no memory for it.
    pub fn listen(
        &mut self,
        inbox: &Arc<Inbox>,
        change: Listening,
        memory: &Arc<Budget>,
    ) -> Result<(), SqlError> {
        if !self.changes_something(&change) {
            return Ok(());
        }
        let refused = |text: String| Err(SqlError::new(code::PROGRAM_LIMIT, text));
        if self.count_behind(inbox, &change) > CHANNELS_MAX
            && matches!(change, Listening::To(_))
            && !self.listens(inbox, &change)
        {
            return refused(format!(
                "a session listens to at most {CHANNELS_MAX} channels"
            ));
        }
        if self.changes.len() >= CHANGES_MAX {
            return refused(format!(
                "a transaction begins and ends to listen at most {CHANGES_MAX} times"
            ));
        }
        self.cover(CHANGE_BYTES, memory)?;
        self.change(inbox, change);
        Ok(())
    }

    fn change(&mut self, inbox: &Arc<Inbox>, change: Listening) {
        if !self.changes_something(&change) {
            return;
        }
        let count = self.count_behind(inbox, &change);
        let place = self.changes.len();
        match &change {
            Listening::To(channel) | Listening::NoMore(channel) => {
                let places = self.of_channels.entry(channel.clone()).or_default();
                places.push(place);
            }
            Listening::ToNone => self.of_all.push(place),
        }
        self.inbox.get_or_insert_with(|| inbox.clone());
        self.changes.push((change, count));
    }

    /// The last change of the same channel as another one, or of all channels.
    fn last_of(&self, change: &Listening) -> Option<&Listening> {
        let of_channel = match change {
            Listening::To(channel) | Listening::NoMore(channel) => self.of_channels.get(channel),
            Listening::ToNone => return self.changes.last().map(|(change, _)| change),
        };
        let of_channel = of_channel.and_then(|places| places.last());
        let place = of_channel.max(self.of_all.last())?;
        self.changes.get(*place).map(|(change, _)| change)
    }

    fn changes_something(&self, change: &Listening) -> bool {
        match (self.last_of(change), change) {
            (Some(Listening::ToNone), Listening::NoMore(_)) => false,
            (last, change) => last != Some(change),
        }
    }

    /// True if the session listens to the channel before a change.
    fn listens(&self, inbox: &Inbox, change: &Listening) -> bool {
        match (self.last_of(change), change) {
            (Some(last), _) => matches!(last, Listening::To(_)),
            (None, Listening::To(channel) | Listening::NoMore(channel)) => inbox.listens(channel),
            (None, Listening::ToNone) => false,
        }
    }

    /// The number of channels to which the session listens after a change.
    fn count_behind(&self, inbox: &Inbox, change: &Listening) -> usize {
        let before = || match self.changes.last() {
            Some((_, count)) => *count,
            None => inbox.count(),
        };
        match (change, self.listens(inbox, change)) {
            (Listening::ToNone, _) => 0,
            (Listening::To(_), false) => before() + 1,
            (Listening::NoMore(_), true) => before().saturating_sub(1),
            _ => before(),
        }
    }

    /// Adds later entries, within bounds of its own.
    pub fn append(&mut self, later: Noted) {
        if let Some(inbox) = &later.inbox {
            for (change, _) in later.changes {
                self.change(inbox, change);
            }
        }
        for message in later.messages {
            self.add(message);
        }
    }

    /// Commits the signals: the session listens, and the notifications are posted. Returns the post, if they have
    /// listeners.
    pub fn committed(self, posting: &Arc<Posting>) -> Option<Posted> {
        if let Some(inbox) = &self.inbox {
            for (change, _) in &self.changes {
                inbox.listen(change);
            }
        }
        match self.messages.is_empty() {
            true => None,
            false => posting.post(self.messages.iter()),
        }
    }
}
