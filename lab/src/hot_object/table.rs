//! The report as an aligned table for a person.

use super::run::Report;
use std::fmt::Write;

/// The report as text.
pub fn table(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        writeln!(text, "{line}").expect("a string takes everything");
    };
    line(format_args!(
        "transactions that increment one counter and two of {} cold records, each durable",
        report.cold_records
    ));
    for latency in report.sync_latency.lines(report.face, "transactions") {
        line(format_args!("{latency}"));
    }
    for series in &report.series {
        line(format_args!(
            "\n{}, {}",
            series.strategy,
            series.variant.name()
        ));
        line(format_args!(
            "{:>8}{:>12}{:>11}{:>10}{:>10}{:>10}{:>10}{:>11}{:>11}{:>11}{:>8}{:>11}",
            "threads",
            "tx/s",
            "x exclus.",
            "mean us",
            "p50 us",
            "p99 us",
            "tx/write",
            "page waits",
            "obj. waits",
            "waited us",
            "cpu us",
            "deadlocks"
        ));
        for cell in &series.cells {
            let times = cell.times_exclusive.map(|times| format!("{times:.1}"));
            line(format_args!(
                "{:>8}{:>12.0}{:>11}{:>10.0}{:>10.0}{:>10.0}{:>10.1}{:>11.3}{:>11.3}{:>11.1}{:>8.1}{:>11}",
                cell.threads,
                cell.transactions_per_second,
                times.unwrap_or_default(),
                cell.responses.average_microseconds,
                cell.responses.p50_microseconds,
                cell.responses.p99_microseconds,
                cell.transactions_per_log_write,
                cell.page_waits,
                cell.object_waits,
                cell.lock_wait_microseconds,
                cell.processor_microseconds,
                cell.deadlocks,
            ));
        }
    }
    line(format_args!(
        "\nx exclus.: to exclusive locks until durable, the same threads and strategy; waits are for \
         each transaction,\nas is the processor time of the threads that ran them"
    ));
    text
}
