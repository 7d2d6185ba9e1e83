//! Commands between `MULTI` and `EXEC`, which are kept up to a bound.

use crate::failure::Failure;
use crate::pending::SMALL_BYTES;
use crate::request::Call;
use sardonyx_base::memory::{Budget, Share};
use std::sync::Arc;

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub calls: Vec<Call>,
    pub bytes: usize,
    /// Their share of the memory of all sessions.
    pub share: Option<Share>,
    /// One of them was refused, so `EXEC` will be.
    pub refused: bool,
}

impl Queue {
    /// Keeps a command.
    ///
    /// # Errors
    /// The queue would exceed its bound in bytes, or there is no memory for the command: `EXEC` will be refused.
    pub fn push(
        &mut self,
        call: Call,
        bytes_max: usize,
        memory: &Arc<Budget>,
    ) -> Result<(), Failure> {
        self.bytes = self
            .bytes
            .saturating_add(call.line.bytes() + size_of::<Call>());
        self.check(bytes_max, memory).inspect_err(|_| {
            self.refused = true;
            self.calls = Vec::new();
            self.share = None;
        })?;
        // The command is copied, so that its input buffer is not kept with it.
        self.calls.push(Call {
            line: call.line.by_itself(),
            ..call
        });
        Ok(())
    }

    fn check(&mut self, bytes_max: usize, memory: &Arc<Budget>) -> Result<(), Failure> {
        if self.bytes > bytes_max {
            return Err(Failure::Said(format!(
                "ERR more than {bytes_max} bytes between MULTI and EXEC"
            )));
        }
        if self.bytes > SMALL_BYTES {
            let new = || Share::of(memory.clone());
            self.share.get_or_insert_with(new).cover(self.bytes)?;
        }
        Ok(())
    }
}
