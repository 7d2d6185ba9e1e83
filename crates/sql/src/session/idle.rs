//! Rows of open transactions whose sessions wait for their clients ([`crate::idle_rows`]). If others need the memory, the oldest
//! of these transactions lose their rows. So one that its client has forgotten keeps nothing from others (I13).
//!
//! A session deposits its rows at the end of a flight, and takes them back at the beginning of the next one. If they were dropped,
//! the transaction is run again; one that is too long for that is ended by `40001`.
//!
//! Invariant: rows are in one place, with their session or here. A flight that runs never loses its rows.

use super::Session;
use super::state::TransactionState;
use crate::error::SqlError;
use crate::idle_rows::Deposit;
use crate::result::Outcome;
use std::collections::VecDeque;

impl Session {
    /// Deposits the rows of the open transaction, if they count in the memory of all sessions.
    pub(super) fn deposit(&mut self) {
        let idle = self.database.idle();
        if let TransactionState::Open(open) | TransactionState::Failed(open) =
            &mut self.state.transaction
            && let Some(mut kept) = open.aside.take()
        {
            match kept.get().rows.counted_bytes() {
                0 => open.aside = Some(kept),
                bytes => open.deposit = Some(Deposit::of(idle, kept, bytes)),
            }
        }
    }

    /// Makes the rows again of a transaction that has lost them, if it has tables of its own: what names them outside of a unit
    /// finds them there.
    ///
    /// # Errors
    /// `40001` if an answer differs now, or if the transaction is too long to be run again.
    pub(super) fn make_own_tables_again(&mut self) -> Result<(), SqlError> {
        let is_to_be_made = matches!(&self.state.transaction,
            TransactionState::Open(open) if open.is_reclaimed && open.defines);
        if !is_to_be_made || !self.goes_aside(&VecDeque::new())? {
            return Ok(());
        }
        match self.run_to_commit(VecDeque::new()).outcomes.pop() {
            Some(Outcome::Failed(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes the deposited rows back. Without them, the transaction is to be run again.
    pub(super) fn withdraw(&mut self) {
        if let TransactionState::Open(open) | TransactionState::Failed(open) =
            &mut self.state.transaction
            && let Some(deposit) = open.deposit.take()
        {
            match deposit.take() {
                Some(kept) => open.aside = Some(kept),
                None => {
                    open.leave_aside();
                    open.is_reclaimed = true;
                }
            }
        }
    }
}
