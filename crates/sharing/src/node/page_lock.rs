//! The wait of a closely coupled node's thread for a lock and its page. No time limit ends the wait, only an
//! interruption: a node that has died is recovered, one that is stopped is fenced ([`super::fencing`]).

use super::NodeError;
use super::fencing::Waiting;
use super::imposed::sleep;
use super::member::Member;
use super::running::wait_for_change;
use super::shell::Shell;
use crate::protocol::{LockMode, PageId, TransactionId};
use sardonyx_base::sync::futex::MutexGuard;

/// After so many looks for mail a waiting thread sleeps.
const LOOKS: u32 = 2000;

impl Member {
    /// The transaction has the lock and the page when this returns.
    pub(super) fn lock_page(
        &self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
    ) -> Result<MutexGuard<'_, Shell>, NodeError> {
        let mut shell = self.shell.lock();
        shell.check()?;
        shell.lock(transaction, page, mode)?;
        let mut looks = 0;
        loop {
            shell.check()?;
            if shell.local.has_answer(transaction)? {
                let imposed = self.here.options.imposed.page_read;
                if !imposed.is_zero() && shell.local.was_fetched(transaction) {
                    MutexGuard::unlocked(&mut shell, || sleep(imposed));
                    shell.check()?;
                }
                return Ok(shell);
            }
            if looks < LOOKS {
                looks += 1;
                MutexGuard::unlocked(&mut shell, std::hint::spin_loop);
                if self.here.gem.has_mail(shell.slot) && shell.poll()? {
                    self.changed.notify_all();
                }
                continue;
            }
            let _waiting = Waiting::begin(&self.waiting);
            wait_for_change(&self.changed, &mut shell, None)?;
        }
    }
}
