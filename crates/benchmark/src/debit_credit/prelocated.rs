//! The debit-credit transaction with records that the input stage's threads located before: "the second stage is handed
//! record addresses and need not do any lookups".
//!
//! The threads of the input stage have a directory of their own, which never changes, so that they need neither the pen
//! nor a lock. A row that they find in it is a token. If its record was removed meanwhile, the execution stage notices
//! that, and locates the record again or refuses the request.
//!
//! Source: TPK paper, section 5.

use super::requests::{Request, Scale};
use super::schema::{Account, Branch, Schema, Teller};
use super::transaction::{DebitCredit, Located, Numbered, Refusal};
use sardonyx::procedures::{Prefetch, Procedure, TableSpace};
use sardonyx::rows::Row;
use sardonyx::{Error, Tables, Transaction};

/// The place of each record.
#[derive(Debug)]
pub struct Directory {
    accounts: Vec<Option<Row<Account>>>,
    tellers: Vec<Option<Row<Teller>>>,
    branches: Vec<Option<Row<Branch>>>,
}

impl Directory {
    /// Locates all records of a bank of this size.
    ///
    /// # Errors
    /// The database's.
    pub fn of(database: &Tables, schema: &Schema, scale: &Scale) -> Result<Self, Error> {
        database.run(|transaction| {
            let accounts = 1..=scale.accounts();
            let tellers = 1..=scale.tellers();
            let branches = 1..=scale.branches();
            Ok(Directory {
                accounts: accounts
                    .map(|id| transaction.find(schema.accounts, id))
                    .collect(),
                tellers: tellers
                    .map(|id| transaction.find(schema.tellers, id))
                    .collect(),
                branches: branches
                    .map(|id| transaction.find(schema.branches, id))
                    .collect(),
            })
        })
    }

    /// The records of a request; `None` for an unknown id.
    #[inline]
    pub fn locate(&self, request: &Request) -> Located {
        fn at<R: Copy>(rows: &[Option<R>], id: u64) -> Option<R> {
            let place = usize::try_from(id.checked_sub(1)?).ok()?;
            rows.get(place).copied().flatten()
        }
        (
            at(&self.accounts, request.account),
            at(&self.tellers, request.teller.into()),
            at(&self.branches, request.branch.into()),
        )
    }
}

/// The transaction.
#[derive(Clone, Copy, Debug)]
pub struct Prelocated(DebitCredit);

impl Prelocated {
    /// The procedure for these tables.
    pub fn new(schema: Schema) -> Self {
        Prelocated(DebitCredit::new(schema))
    }
}

impl Procedure for Prelocated {
    type Arguments = (Numbered, Located);
    type Output = ();
    type Error = Refusal;
    type Located = ();

    fn name(&self) -> &str {
        "debit-credit, located before"
    }

    #[inline]
    fn prefetch(&self, what: Prefetch, (_, located): &(Numbered, Located), space: &TableSpace) {
        // Tellers and branches are few and stay in the cache.
        if let (Prefetch::Record, (Some(account), _, _)) = (what, located) {
            space.prefetch_row(*account);
        }
    }

    #[inline]
    fn locate(&self, _: &(Numbered, Located), _: &TableSpace) {}

    #[inline]
    fn execute(
        &self,
        (numbered, located): &(Numbered, Located),
        (): (),
        transaction: &mut Transaction<'_>,
    ) -> Result<(), Refusal> {
        self.0.execute(numbered, *located, transaction)
    }
}
