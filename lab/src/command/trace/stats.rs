//! `trace stats`: the statistics of a trace.

use super::file::{self, FormName};
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units::{self, count, percent};
use sardonyx_workload::reference::Transaction;
use sardonyx_workload::trace::View;
use sardonyx_workload::trace::statistics::{Gatherer, Statistics};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Print the statistics of a trace: sizes, shares and skew.
///
/// In total, per transaction type and per file. Reads the trace once, from its start to its checked
/// end; a damaged one has no statistics.
///
/// Example: sardonyx-lab trace stats paper.trace
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The trace, of either form
    file: PathBuf,
}

#[derive(Serialize)]
struct Report {
    file: String,
    form: FormName,
    update_share: f64,
    write_share: f64,
    mean_accesses: f64,
    mean_locks: f64,
    #[serde(flatten)]
    statistics: Statistics,
}

impl Arguments {
    /// Runs the action.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let mut reader = file::reader(&self.file)?;
        let mut gatherer = Gatherer::new(reader.header());
        let mut transaction = Transaction::default();
        while reader.read_into(&mut transaction)? {
            gatherer.add(View {
                kind: transaction.kind,
                references: &transaction.references,
            });
        }
        let statistics = gatherer.finish();
        let report = Report {
            file: self.file.display().to_string(),
            form: reader.form().into(),
            update_share: statistics.update_share(),
            write_share: statistics.write_share(),
            mean_accesses: statistics.mean_accesses(),
            mean_locks: statistics.mean_locks(),
            statistics,
        };
        if output.is_json() {
            output.value(&report)?;
        } else {
            report.print(output)?;
        }
        Ok(Exit::Done)
    }
}

/// The figures of the whole trace.
pub fn summarise(all: &Statistics, sheet: &mut Sheet) {
    sheet.heading("Transactions");
    sheet.remarked(
        "transactions",
        count(all.transactions),
        format!("of {} types", all.types.len()),
    );
    sheet.remarked(
        "updates",
        count(all.updates),
        format!("{} of the transactions", percent(all.update_share())),
    );
    sheet.remarked(
        "accesses",
        count(all.accesses),
        format!("{:.1} a transaction", all.mean_accesses()),
    );
    sheet.remarked(
        "writes",
        count(all.writes),
        format!("{} of the accesses", percent(all.write_share())),
    );
    sheet.figure("accesses of the largest", count(all.largest));
    sheet.remarked(
        "page locks",
        count(all.locks),
        format!("{:.1} a transaction: its distinct pages", all.mean_locks()),
    );
    sheet.heading("Database");
    sheet.remarked(
        "size",
        units::bytes(all.database_bytes),
        format!(
            "{} pages in {} files",
            count(all.database_pages),
            all.partitions.len()
        ),
    );
    sheet.figure("distinct pages accessed", count(all.distinct_pages));
}

impl Report {
    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        let all = &self.statistics;
        let mut sheet = Sheet::default();
        summarise(all, &mut sheet);
        writeln!(output, "{sheet}")?;
        let mut table = Table::new([
            "type",
            "#transactions",
            "#updates",
            "#accesses",
            "#writes",
            "#a transaction",
            "#locks a transaction",
            "#largest",
        ]);
        for kind in &all.types {
            let mean = |sum: u64| format!("{:.1}", sum as f64 / kind.transactions.max(1) as f64);
            table.row([
                kind.name.clone(),
                count(kind.transactions),
                count(kind.updates),
                count(kind.accesses),
                count(kind.writes),
                mean(kind.accesses),
                mean(kind.locks),
                count(kind.largest),
            ]);
        }
        writeln!(output, "{table}")?;
        let mut table = Table::new([
            "file",
            "#pages",
            "#accessed",
            "#accesses",
            "#writes",
            "#to hottest 1%",
            "#to hottest 10%",
        ]);
        for partition in &all.partitions {
            table.row([
                partition.name.clone(),
                count(partition.pages),
                count(partition.distinct_pages),
                count(partition.accesses),
                count(partition.writes),
                percent(partition.hottest_1_percent),
                percent(partition.hottest_10_percent),
            ]);
        }
        Ok(write!(output, "{table}")?)
    }
}
