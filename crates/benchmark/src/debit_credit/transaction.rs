//! The debit-credit transaction, as a procedure in two stages: locate the three records for a whole
//! batch, then check and modify.
//!
//! Source: TPK paper (Li & Naughton), section 4, Figure 3; section 5 for the two stages.

use crate::debit_credit::requests::Request;
use crate::debit_credit::schema::{Account, Branch, HistoryRow, Schema, Teller};
use sardonyx::procedures::{Prefetch, Procedure, TableSpace};
use sardonyx::rows::Row;
use sardonyx::{Error, Field, Transaction, field};
use std::sync::Arc;

/// A request with the number of its history row.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    /// The transaction's number; see [`HistoryRow::transaction`].
    pub transaction: u64,
    /// As the client sent it.
    pub request: Request,
}

/// The reason why a debit-credit transaction was undone.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No such account.
    #[error("there is no account {account}")]
    UnknownAccount {
        /// As the request has it.
        account: u64,
    },
    /// No such teller.
    #[error("there is no teller {teller}")]
    UnknownTeller {
        /// As the request has it.
        teller: u32,
    },
    /// No such branch.
    #[error("there is no branch {branch}")]
    UnknownBranch {
        /// As the request has it.
        branch: u32,
    },
    /// The password is wrong.
    #[error("access to account {account} is denied")]
    Denied {
        /// The account that the request names.
        account: u64,
    },
    /// A balance would leave the range of 64 bits.
    #[error("the balance of account {account} would overflow")]
    Overflow {
        /// The account that the request names.
        account: u64,
    },
    /// The database refused. Behind a pointer: there are millions of outcomes, almost all successes.
    #[error("{0}")]
    Database(Arc<Error>),
}

impl From<Error> for Refusal {
    #[cold]
    fn from(error: Error) -> Self {
        Refusal::Database(Arc::new(error))
    }
}

const ACCOUNT_BALANCE: Field<Account, i64> = field!(Account.balance: i64);
const TELLER_BALANCE: Field<Teller, i64> = field!(Teller.balance: i64);
const BRANCH_BALANCE: Field<Branch, i64> = field!(Branch.balance: i64);

/// The debit-credit transaction.
#[derive(Clone, Copy, Debug)]
pub struct DebitCredit {
    schema: Schema,
}

/// The three records.
pub type Located = (
    Option<Row<Account>>,
    Option<Row<Teller>>,
    Option<Row<Branch>>,
);

impl DebitCredit {
    /// The procedure for these tables.
    pub fn new(schema: Schema) -> Self {
        DebitCredit { schema }
    }
}

impl Procedure for DebitCredit {
    type Arguments = Numbered;
    type Output = ();
    type Error = Refusal;
    type Located = Located;

    fn name(&self) -> &str {
        "debit-credit"
    }

    #[inline]
    fn prefetch(&self, what: Prefetch, numbered: &Numbered, space: &TableSpace) {
        // Tellers and branches are few and stay in the cache.
        space.prefetch(what, self.schema.accounts, numbered.request.account);
    }

    #[inline]
    fn locate(&self, numbered: &Numbered, space: &TableSpace) -> Located {
        let request = &numbered.request;
        let account = space.locate(self.schema.accounts, request.account);
        let teller = space.locate(self.schema.tellers, u64::from(request.teller));
        let branch = space.locate(self.schema.branches, u64::from(request.branch));
        (account, teller, branch)
    }

    #[inline]
    fn execute(
        &self,
        numbered: &Numbered,
        (account, teller, branch): Located,
        transaction: &mut Transaction<'_>,
    ) -> Result<(), Refusal> {
        let request = &numbered.request;
        let (account, teller, branch) = match (account, teller, branch) {
            (Some(account), Some(teller), Some(branch)) => (account, teller, branch),
            (account, teller, _) => {
                return Err(unknown(request, account.is_some(), teller.is_some()));
            }
        };
        let record = transaction.record(account)?;
        if record.code != request.code {
            return Err(Refusal::Denied {
                account: request.account,
            });
        }
        let overflow = || Refusal::Overflow {
            account: request.account,
        };
        let account_balance = record
            .balance
            .checked_add(request.amount)
            .ok_or_else(overflow)?;
        let teller_balance = transaction.record(teller)?.balance;
        let teller_balance = teller_balance
            .checked_add(request.amount)
            .ok_or_else(overflow)?;
        let branch_balance = transaction.record(branch)?.balance;
        let branch_balance = branch_balance
            .checked_add(request.amount)
            .ok_or_else(overflow)?;
        transaction.set(account, ACCOUNT_BALANCE, account_balance)?;
        transaction.set(teller, TELLER_BALANCE, teller_balance)?;
        transaction.set(branch, BRANCH_BALANCE, branch_balance)?;
        let row = HistoryRow {
            transaction: numbered.transaction,
            account: request.account,
            amount: request.amount,
            teller: request.teller,
            branch: request.branch,
        };
        transaction.append(self.schema.history, &row)?;
        Ok(())
    }
}

#[cold]
fn unknown(request: &Request, account: bool, teller: bool) -> Refusal {
    match (account, teller) {
        (false, _) => Refusal::UnknownAccount {
            account: request.account,
        },
        (true, false) => Refusal::UnknownTeller {
            teller: request.teller,
        },
        (true, true) => Refusal::UnknownBranch {
            branch: request.branch,
        },
    }
}
