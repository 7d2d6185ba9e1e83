//! TPC-C's figures for people, and as CSV.

use super::figures::{Figures, Kinds};
use crate::experiment::Report;
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};
use sardonyx_results::units::{bytes, count, rate, time};

/// The findings.
///
/// # Errors
/// The figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let loading = &figures.loading;
    let stages = &figures.stages;
    let grid = grid(figures);
    Ok(Findings::of(report)?
        .holds_if(figures.holds())
        .note(format_args!(
            "TPC-C, {}: {} rows loaded in {}; {} clients, {} batches of {} on their way",
            many(figures.scale.warehouses, "warehouse"),
            count(loading.records),
            time(loading.seconds),
            figures.clients,
            figures.in_flight,
            figures.batch,
        ))
        .note(report.sync_line())
        .gap()
        .note(format_args!(
            "{} new orders a second, durable, of {} transactions ({} for {})",
            rate(figures.new_orders_per_second),
            rate(figures.transactions_per_second),
            count(figures.kinds.iter().map(|kind| kind.committed).sum()),
            time(figures.seconds),
        ))
        .note(format_args!(
            "{} new orders rolled back for an unused item; {} orders delivered",
            count(figures.rolled_back),
            count(figures.delivered)
        ))
        .gap()
        .note(grid.table())
        .gap()
        .note(format_args!(
            "busy: execution {}, log {}, checkpoint {}; for each transaction {} of the clients' processor \
             time and {} of log; groups of {:.0}",
            time(stages.execute),
            time(stages.log),
            time(stages.checkpoint),
            time(figures.processor_microseconds / 1e6),
            bytes(figures.log.record_bytes_per_transaction.round() as u64),
            figures.groups.mean,
        ))
        .note(format_args!(
            "{} of pages and {} of indexes at the end; opened in {}",
            bytes(figures.page_bytes),
            bytes(figures.index_bytes),
            time(figures.open_seconds)
        ))
        .note(verdict(figures))
        .data("tpcc", &grid))
}

fn many(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn verdict(figures: &Figures) -> String {
    if figures.holds() {
        return "The twelve conditions of consistency hold before and after recovery, and each \
                acknowledged order, payment and delivery is there."
            .into();
    }
    let mut text = String::from("THE CHECK FAILS:");
    for (when, found) in [
        ("before", &figures.consistency),
        ("after", &figures.recovered),
    ] {
        if let Some(first) = &found.first {
            text += &format!(" {when} recovery, {first}.");
        }
    }
    if !figures.is_complete {
        text += " Acknowledged orders, payments or deliveries are missing, or others are there.";
    }
    text
}

fn grid(figures: &Figures) -> Grid<&Kinds> {
    let us = Unit::Microseconds;
    Grid::of(&figures.kinds)
        .text("transaction", "transaction", |row| row.kind.name())
        .count("committed", "committed", |row| row.committed)
        .number("a second", "per_second", Unit::PerSecond, |row| {
            row.committed as f64 / figures.seconds
        })
        .number("mean", "mean_us", us, |row| {
            row.responses.average_microseconds
        })
        .number("p50", "p50_us", us, |row| row.responses.p50_microseconds)
        .number("p95", "p95_us", us, |row| row.responses.p95_microseconds)
        .number("p99", "p99_us", us, |row| row.responses.p99_microseconds)
        .number("max", "max_us", us, |row| row.responses.max_microseconds)
}
