//! The wait of a loosely coupled node's thread for a lock and its page: the node with the authority may be away, so
//! the time is limited.

use super::member::Member;
use super::shell::Shell;
use crate::node::NodeError;
use crate::node::imposed::sleep;
use crate::node::running::wait_for_change;
use crate::protocol::{LockMode, PageId, TransactionId};
use sardonyx_base::sync::futex::MutexGuard;
use std::time::Instant;

/// So often a thread looks before it sleeps.
const LOOKS: u32 = 2000;

impl Member {
    /// The transaction has the lock and the page when this returns.
    pub fn lock_page(
        &self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
    ) -> Result<MutexGuard<'_, Shell>, NodeError> {
        let pages = self.pages;
        if page.0 >= pages {
            let page = page.0;
            return Err(NodeError::NoPage { page, pages });
        }
        let mut shell = self.shell.lock();
        shell.check()?;
        shell.lock(transaction, page, mode)?;
        let (mut looks, mut until) = (0, None);
        loop {
            shell.check()?;
            if shell.local.has_answer(transaction)? {
                let imposed = self.options.imposed.page_read;
                if !imposed.is_zero() && shell.local.was_fetched(transaction) {
                    MutexGuard::unlocked(&mut shell, || sleep(imposed));
                    shell.check()?;
                }
                return Ok(shell);
            }
            if looks < LOOKS {
                looks += 1;
                MutexGuard::unlocked(&mut shell, std::hint::spin_loop);
                continue;
            }
            let patience = self.options.lock_patience;
            let until = *until.get_or_insert_with(|| Instant::now() + patience);
            if Instant::now() >= until {
                let seconds = patience.as_secs();
                return Err(NodeError::TimedOut { seconds });
            }
            wait_for_change(&self.changed, &mut shell, Some(until))?;
        }
    }
}
