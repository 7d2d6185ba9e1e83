//! The report as an aligned table for a person.

use std::fmt::Write;

use crate::run::{Cell, PeerReport, Report};

/// The report as text: of every engine one transaction a sync and the best group size, or with
/// `sweep` every group size; the ratio is to the fastest engine of the same kind of row.
pub fn table(report: &Report, sweep: bool) -> String {
    let mut text = heading(report);
    if sweep {
        let groups: Vec<_> = report.peers[0]
            .cells
            .iter()
            .map(|cell| cell.group)
            .collect();
        for (index, group) in groups.into_iter().enumerate() {
            section(
                &mut text,
                &format!("{group} transactions a sync"),
                report,
                |peer| peer.cells.get(index),
            );
        }
    } else {
        section(&mut text, "one transaction a sync", report, |peer| {
            peer.cells.iter().find(|cell| cell.group == 1)
        });
        section(&mut text, "best group size", report, PeerReport::best);
    }
    text.push('\n');
    for peer in &report.peers {
        line(&mut text, format_args!("{}: {}", peer.name, peer.settings));
    }
    text
}

fn heading(report: &Report) -> String {
    let mut text = String::new();
    let scale = report.scale;
    line(
        &mut text,
        format_args!(
            "debit-credit, {} accounts, {} tellers, {} branches of 128 bytes; every group synced",
            scale.accounts(),
            scale.tellers(),
            scale.branches()
        ),
    );
    for latency in report.sync_latency.lines(report.face, "engines") {
        line(&mut text, format_args!("{latency}"));
    }
    text
}

fn section<'a>(
    text: &mut String,
    title: &str,
    report: &'a Report,
    cell_of: impl Fn(&'a PeerReport) -> Option<&'a Cell>,
) {
    let rows: Vec<_> = report
        .peers
        .iter()
        .filter_map(|peer| Some((peer.name, cell_of(peer)?)))
        .collect();
    let rates = rows.iter().map(|(_, cell)| cell.transactions_per_second);
    let Some(fastest) = rates.max_by(f64::total_cmp) else {
        return;
    };
    line(
        text,
        format_args!(
            "\n{title:<24}{:>8}{:>16}{:>8}{:>12}{:>12}{:>12}",
            "group", "transactions/s", "ratio", "p50 us", "p95 us", "p99 us"
        ),
    );
    for (name, cell) in rows {
        line(
            text,
            format_args!(
                "{name:<24}{:>8}{:>16.0}{:>8.3}{:>12.0}{:>12.0}{:>12.0}",
                cell.group,
                cell.transactions_per_second,
                cell.transactions_per_second / fastest,
                cell.responses.p50_microseconds,
                cell.responses.p95_microseconds,
                cell.responses.p99_microseconds,
            ),
        );
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes everything");
}
