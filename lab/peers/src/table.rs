//! The engines' figures for people, and as CSV.

use crate::run::{Cell, Figures, PeerReport};
use sardonyx_lab::Report;
use sardonyx_results::Findings;
use sardonyx_results::grid::{Grid, Unit};

/// The findings: for every engine one transaction a sync and the best group size, or with `sweep` every group size; the
/// ratio is to the fastest engine of the same kind of row.
///
/// # Errors
/// If the figures cannot be written as JSON.
pub fn findings(report: &Report<Figures>, sweep: bool) -> serde_json::Result<Findings> {
    let figures = &report.figures;
    let scale = figures.scale;
    let mut findings = Findings::of(report)?
        .note(format_args!(
            "debit-credit, {} accounts, {} tellers, {} branches of 128 bytes; every group synced",
            scale.accounts(),
            scale.tellers(),
            scale.branches()
        ))
        .note(report.sync_line());
    if sweep {
        let cells = figures.peers.first().map_or(&[][..], |peer| &peer.cells);
        for (at, group) in cells.iter().map(|cell| cell.group).enumerate() {
            let title = format!("{group} transactions a sync");
            findings = section(findings, &title, figures, |peer| peer.cells.get(at));
        }
    } else {
        findings = section(findings, "one transaction a sync", figures, |peer| {
            peer.cells.iter().find(|cell| cell.group == 1)
        });
        findings = section(findings, "best group size", figures, PeerReport::best);
    }
    let all = figures.peers.iter();
    let all = all.flat_map(|peer| peer.cells.iter().map(move |cell| (peer.name, cell)));
    findings = findings.data("peers", &grid("engine", all.collect())).gap();
    for peer in &figures.peers {
        findings = findings.note(format_args!("{}: {}", peer.name, peer.settings));
    }
    Ok(findings)
}

fn section<'a>(
    findings: Findings,
    title: &str,
    figures: &'a Figures,
    cell_of: impl Fn(&'a PeerReport) -> Option<&'a Cell>,
) -> Findings {
    let rows = figures.peers.iter();
    let rows: Vec<_> = rows
        .filter_map(|peer| Some((peer.name, cell_of(peer)?)))
        .collect();
    match rows.is_empty() {
        true => findings,
        false => findings.gap().note(grid(title, rows).table()),
    }
}

fn grid<'a>(title: &str, rows: Vec<(&'static str, &'a Cell)>) -> Grid<(&'static str, &'a Cell)> {
    let us = Unit::Decimals(0);
    let rates = rows.iter().map(|(_, cell)| cell.transactions_per_second);
    let fastest = rates.fold(0.0, f64::max);
    Grid::of(rows)
        .text(title, "engine", |(name, _)| *name)
        .count("group", "group", |(_, cell)| cell.group as u64)
        .number(
            "transactions/s",
            "transactions_per_second",
            us,
            |(_, cell)| cell.transactions_per_second,
        )
        .number("ratio", "", Unit::Decimals(3), |(_, cell)| {
            cell.transactions_per_second / fastest
        })
        .number("p50 us", "p50_us", us, |(_, cell)| {
            cell.responses.p50_microseconds
        })
        .number("p95 us", "p95_us", us, |(_, cell)| {
            cell.responses.p95_microseconds
        })
        .number("p99 us", "p99_us", us, |(_, cell)| {
            cell.responses.p99_microseconds
        })
}
