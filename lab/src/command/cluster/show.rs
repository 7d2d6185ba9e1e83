//! Figures of nodes as text for people.

use super::bench::Report;
use sardonyx_cluster::command::title;
use sardonyx_cluster::figures::RunFigures;
use sardonyx_cluster::load::Load;
use sardonyx_cluster::setting::{Coupling, Setting};
use sardonyx_command::output::Output;
use sardonyx_results::table::Table;
use sardonyx_results::units::{count, percent, rate};
use std::io::Write;

pub fn load_line(load: &Load) -> String {
    let how = match load.rate {
        Some(tps) => format!("{tps} TPS arrive at each node"),
        None => "one after the other".to_string(),
    };
    let long = match load.transactions {
        Some(transactions) => format!("{} transactions", count(transactions)),
        None => format!("{} s after {} s", load.seconds, load.warm_up_seconds),
    };
    format!(
        "debit-credit, {} routing, {} clients of each node, {how}, {long}",
        load.routing.name(),
        load.clients
    )
}

/// The imposed times and their places, if there are any.
pub fn devices(setting: &Setting) -> Option<String> {
    let devices = &setting.devices;
    let all = [
        (
            devices.page_read_microseconds,
            "a page fetched from storage, slept by its transaction after the grant",
        ),
        (
            devices.page_write_microseconds,
            "a page stored by FORCE, slept by its transaction before its locks are given back",
        ),
        (
            devices.log_write_microseconds,
            "a commit group, slept by the node that writes it, before the write",
        ),
    ];
    let imposed: Vec<String> = all
        .iter()
        .filter(|(microseconds, _)| *microseconds > 0.0)
        .map(|(microseconds, what)| format!("  {} ms for {what}", microseconds / 1e3))
        .collect();
    (!imposed.is_empty()).then(|| format!("imposed times:\n{}", imposed.join("\n")))
}

/// Prints the report of a run.
pub fn bench(report: &Report, output: &mut Output) -> anyhow::Result<()> {
    writeln!(output, "{}", title(&report.setting))?;
    writeln!(output, "{}", load_line(&report.load))?;
    if let Some(devices) = devices(&report.setting) {
        writeln!(output, "{devices}")?;
    }
    let names: Vec<String> = report
        .nodes
        .iter()
        .map(|node| format!("#node {}", node.slot))
        .collect();
    let all = (names.len() > 1).then_some("#all");
    let columns = [""]
        .into_iter()
        .chain(all)
        .chain(names.iter().map(String::as_str));
    let mut table = Table::new(columns);
    let nodes = report
        .nodes
        .iter()
        .map(|node| RunFigures::of(std::slice::from_ref(node)));
    let nodes: Vec<RunFigures> = nodes.collect();
    let all: Vec<&RunFigures> = all.map(|_| &report.all).into_iter().chain(&nodes).collect();
    let mut row = |name: &str, of: &dyn Fn(&RunFigures) -> String| {
        table.row(
            [name.to_string()]
                .into_iter()
                .chain(all.iter().map(|one| of(one))),
        );
    };
    row("transactions per second", &|one| rate(one.throughput));
    row("response time, ms: mean", &|one| {
        fixed(one.responses.mean_milliseconds, 3)
    });
    row("  median", &|one| fixed(one.responses.p50_milliseconds, 3));
    row("  95th percentile", &|one| {
        fixed(one.responses.p95_milliseconds, 3)
    });
    row("  99th percentile", &|one| {
        fixed(one.responses.p99_milliseconds, 3)
    });
    row("  longest", &|one| {
        fixed(one.responses.longest_milliseconds, 3)
    });
    row("per transaction: messages", &|one| {
        fixed(one.each.messages, 4)
    });
    row("  entry accesses", &|one| match report.setting.coupling {
        Coupling::Close => fixed(one.each.entry_accesses, 4),
        // They have no global lock table.
        Coupling::Loose => "-".into(),
    });
    row("  page requests", &|one| fixed(one.each.page_requests, 4));
    row("  conflicts", &|one| fixed(one.each.conflicts, 4));
    row("  invalidations", &|one| fixed(one.each.invalidations, 4));
    row("  deadlocks", &|one| fixed(one.each.deadlocks, 4));
    row("  processor time, us", &|one| {
        fixed(one.each.processor_microseconds, 1)
    });
    row("local lock requests", &|one| percent(one.each.local_share));
    row("pages found in the buffer", &|one| {
        percent(one.each.hit_ratio)
    });
    row("transactions", &|one| count(one.counts.committed));
    writeln!(output, "\n{table}")?;
    for lost in &report.lost {
        writeln!(
            output,
            "node {} was lost under the load, after it had reported {} transactions: {}",
            lost.slot,
            count(lost.acknowledged),
            lost.reason
        )?;
    }
    let (sums, proof) = (&report.sums, &report.proof);
    let equal = match proof.sums_are_equal {
        true => "equal",
        false => "NOT EQUAL",
    };
    let what = match proof.history_counts_all {
        true => "each",
        false => "NOT each",
    };
    writeln!(
        output,
        "proof: accounts {}, tellers {}, branches {}: {equal}; {what} transaction is in HISTORY ({})",
        sums.accounts,
        sums.tellers,
        sums.branches,
        count(sums.transactions)
    )?;
    for fault in &proof.faults {
        writeln!(output, "  {fault}")?;
    }
    Ok(())
}

fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}
