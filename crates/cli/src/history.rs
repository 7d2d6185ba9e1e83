//! `history`: the account history of the debit-credit tables, read back from the journal.
//!
//! It recovers in memory, to find the journal's number and the account's balance; the disk is not changed. The balance
//! after each row is computed backwards from the current balance. So it is correct also if old rows are no longer kept.

use crate::target::{Files, Target};
use sardonyx::journals::JournalRow;
use sardonyx::low_level::Resident;
use sardonyx::procedures::TableSpace;
use sardonyx_benchmark::debit_credit::run::client_and_number;
use sardonyx_benchmark::debit_credit::schema::{Account, HistoryRow};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::table::Table;
use sardonyx_results::units;
use sardonyx_storage::journal::{JournalReader, RowPlace};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::recover;
use serde::Serialize;
use std::collections::VecDeque;
use std::io::Write;

/// Print an account's history after debit-credit.
///
/// One row for each transaction, oldest first, with the balance after it. With --json, one object a line.
///
/// Examples:
///   sardonyx debit-credit --accounts 10000 --seconds 1 --keep --directory bank.sdx
///   sardonyx history bank.sdx --account 17 --limit 10
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// The account, from 1
    #[arg(long, value_name = "N")]
    account: u64,
    /// At most this many rows, the newest ones [default: all]
    #[arg(long, value_name = "ROWS")]
    limit: Option<usize>,
}

/// A row as it is printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Line {
    /// The commit group and its start in the log.
    group: u64,
    lsn: u64,
    /// The client that asked for it, and its running number from 0.
    client: usize,
    number: u64,
    teller: u32,
    branch: u32,
    amount: i64,
    /// The account's balance after it.
    balance: i64,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let files = self.target.files(output)?;
        let (balance, rows) = files.read(|| self.read(&files), |_| None)?;
        let total = rows.seen;
        let lines = with_balances(rows.kept, balance, |(place, row), balance| {
            let (client, number) = client_and_number(row);
            let HistoryRow {
                teller,
                branch,
                amount,
                ..
            } = *row;
            let (group, lsn) = (place.group, place.lsn.0);
            Line {
                group,
                lsn,
                client,
                number,
                teller,
                branch,
                amount,
                balance,
            }
        });
        if output.is_json() {
            lines.iter().try_for_each(|line| output.line(line))?;
        } else {
            self.print(output, &lines, total, balance)?;
        }
        Ok(Exit::Done)
    }

    /// The account's balance, and its rows.
    fn read(&self, files: &Files) -> anyhow::Result<(i64, Newest<(RowPlace, HistoryRow)>)> {
        let manifest = Manifest::read(&*files.disk)?;
        let options = files.dry_run();
        let recovered = recover(&files.disk, &manifest, options)?;
        // While a writer has it open, there may already be rows of groups that the balance does not contain.
        let before_group = files.beside_writer().then_some(recovered.end.group);
        let (balance, journal) = {
            let (space, _) = TableSpace::open(recovered.store, options.workers)?;
            self.look_up(&space)?
        };
        let mut reader = JournalReader::open(&files.disk, &manifest, Some(journal), before_group)?;
        let mut rows = Newest::of(self.limit.unwrap_or(usize::MAX));
        while let Some(row) = reader.next_row()? {
            let history = HistoryRow::read_from_bytes(row.bytes).ok_or_else(|| {
                let name = HistoryRow::NAME;
                UsageError::NotThere(format!("the journal {name:?} has rows of another length"))
            })?;
            if history.account == self.account {
                rows.push((row.place, history));
            }
        }
        Ok((balance, rows))
    }

    /// The account's balance, and the history's number.
    fn look_up(&self, space: &TableSpace) -> anyhow::Result<(i64, u16)> {
        let path = self.target.path.display();
        let no_bank = || {
            UsageError::NotThere(format!(
                "{path} has no debit-credit tables: history reads the tables of debit-credit --keep"
            ))
        };
        let accounts = space.table::<Account>()?.ok_or_else(no_bank)?;
        let journal = space.journal::<HistoryRow>()?.ok_or_else(no_bank)?;
        let account = space.view().get(accounts, self.account)?.ok_or_else(|| {
            let count = units::count(space.view().count(accounts).unwrap_or(0));
            let account = self.account;
            UsageError::NotThere(format!("{path} has no account {account}: it has {count}"))
        })?;
        Ok((account.balance, journal.number()))
    }

    fn print(
        &self,
        output: &mut Output,
        lines: &[Line],
        total: u64,
        balance: i64,
    ) -> anyhow::Result<()> {
        let names = [
            "#group", "#client", "#number", "#teller", "#branch", "#amount", "#balance",
        ];
        let mut table = Table::new(names);
        for line in lines {
            table.row([
                line.group.to_string(),
                line.client.to_string(),
                line.number.to_string(),
                line.teller.to_string(),
                line.branch.to_string(),
                format!("{:+}", line.amount),
                line.balance.to_string(),
            ]);
        }
        if !lines.is_empty() {
            writeln!(output, "{table}")?;
        }
        let shown = match lines.len() as u64 {
            shown if shown == total => String::new(),
            shown => format!(", the newest {} shown", units::count(shown)),
        };
        let (account, total) = (self.account, units::count(total));
        Ok(writeln!(
            output,
            "Account {account}: {total} rows{shown}; the balance is {balance}."
        )?)
    }
}

/// The newest of the pushed items.
struct Newest<T> {
    kept: VecDeque<T>,
    most: usize,
    seen: u64,
}

impl<T> Newest<T> {
    fn of(most: usize) -> Self {
        Newest {
            kept: VecDeque::new(),
            most,
            seen: 0,
        }
    }

    fn push(&mut self, row: T) {
        self.seen += 1;
        self.kept.push_back(row);
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
    }
}

/// Turns rows, oldest first, into lines with the balance after each, computed backwards from the last.
fn with_balances<P>(
    rows: VecDeque<(P, HistoryRow)>,
    last_balance: i64,
    line: impl Fn(&(P, HistoryRow), i64) -> Line,
) -> Vec<Line> {
    let mut balance = last_balance;
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows.iter().rev() {
        lines.push(line(row, balance));
        balance = balance.wrapping_sub(row.1.amount);
    }
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balances_are_counted_back_from_the_last() {
        let mut rows = Newest::of(2);
        for amount in [5, 7, -3] {
            let row = HistoryRow {
                transaction: 0,
                account: 1,
                amount,
                teller: 1,
                branch: 1,
            };
            rows.push(((), row));
        }
        assert_eq!(rows.seen, 3);
        let lines = with_balances(rows.kept, 9, |(_, row), balance| Line {
            group: 0,
            lsn: 0,
            client: 0,
            number: 0,
            teller: 1,
            branch: 1,
            amount: row.amount,
            balance,
        });
        let seen: Vec<_> = lines
            .iter()
            .map(|line| (line.amount, line.balance))
            .collect();
        assert_eq!(seen, [(7, 12), (-3, 9)]);
    }
}
