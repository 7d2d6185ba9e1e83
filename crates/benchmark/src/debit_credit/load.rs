//! Filling the tables, in transactions of a bounded size.

use crate::debit_credit::requests::Scale;
use crate::debit_credit::schema::{Account, Branch, Schema, Teller};
use sardonyx::{Durability, Error, Tables};

/// Records inserted by one transaction.
const RECORDS_PER_TRANSACTION: u64 = 10_000;

/// Inserts the scale's branches, tellers and accounts with balances of zero, and waits until they
/// are durable. `progress` is called with the number of records so far.
pub fn load(
    database: &Tables,
    schema: &Schema,
    scale: &Scale,
    mut progress: impl FnMut(u64),
) -> Result<(), Error> {
    let mut done = 0;
    let mut insert =
        |count: u64, one: &dyn Fn(u64, &mut sardonyx::Transaction<'_>) -> Result<(), Error>| {
            let mut next = 1;
            while next <= count {
                let end = (next + RECORDS_PER_TRANSACTION).min(count + 1);
                database
                    .transaction()
                    .durability(Durability::Deferred)
                    .run(|transaction| (next..end).try_for_each(|id| one(id, transaction)))?;
                done += end - next;
                progress(done);
                next = end;
            }
            Ok::<_, Error>(())
        };
    insert(scale.branches(), &|id, transaction| {
        transaction.insert(schema.branches, &Branch::new(id, id))?;
        Ok(())
    })?;
    insert(scale.tellers(), &|id, transaction| {
        let branch = u64::from(scale.branch_of_teller(id as u32));
        transaction.insert(schema.tellers, &Teller::new(id, branch))?;
        Ok(())
    })?;
    insert(scale.accounts(), &|id, transaction| {
        let branch = u64::from(scale.branch_of_account(id));
        transaction.insert(schema.accounts, &Account::new(id, branch))?;
        Ok(())
    })?;
    database.flush()
}
