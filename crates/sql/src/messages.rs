//! Messages that functions of users raise. They wait in memory for the end of the statement, which gives them to the
//! client with its result.

use crate::error::{SqlError, code};
use sardonyx_base::memory::{Budget, Share};
use std::sync::Arc;

/// The most bytes of a statement's messages.
const BYTES_MAX: usize = 8 << 20;

/// A message: severity, code and text.
pub(crate) type Message = (&'static str, &'static str, String);

/// The messages of a statement.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    messages: Vec<Message>,
    bytes: usize,
    share: Option<Share>,
}

impl Messages {
    /// Adds a message.
    ///
    /// # Errors
    /// `54000` beyond the bound of a statement, `53200` without memory for all sessions.
    pub fn push(
        &mut self,
        message: Message,
        budget: impl FnOnce() -> Arc<Budget>,
    ) -> Result<(), SqlError> {
        self.bytes = self
            .bytes
            .saturating_add(size_of::<Message>() + message.2.len());
        if self.bytes > BYTES_MAX {
            let text = format!("the messages of a statement have at most {BYTES_MAX} bytes");
            return Err(SqlError::new(code::PROGRAM_LIMIT, text));
        }
        let share = self.share.get_or_insert_with(|| Share::of(budget()));
        share.cover(self.bytes)?;
        self.messages.push(message);
        Ok(())
    }

    /// The messages in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter()
    }
}
