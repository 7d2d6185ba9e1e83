//! An outcome as text for people: aligned tables in sections.
//!
//! Every number is the mean over the replications; the column `±` is half the width of its 95%
//! interval.

use super::remarks;
use sardonyx_command::output::Output;
use sardonyx_results::table::Table;
use sardonyx_results::units;
use sardonyx_simulation::outcome::{Outcome, Summary};
use sardonyx_simulation::parameters::{Coupling, Parameters, Routing, Update, WorkloadKind};
use std::io::Write;

pub fn print(outcome: &Outcome, output: &mut Output) -> anyhow::Result<()> {
    writeln!(output, "{}", text(outcome))?;
    for warning in remarks::warnings(outcome) {
        writeln!(output, "WARNING: {warning}")?;
    }
    Ok(())
}

/// The title of a simulation, in a line.
pub fn title(parameters: &Parameters) -> String {
    let nodes = match parameters.nodes {
        1 => "1 node".to_string(),
        nodes => format!("{} nodes", units::count(nodes.into())),
    };
    let coupling = match parameters.coupling {
        Coupling::Close => "closely coupled (GEM locking)",
        Coupling::Loose => "loosely coupled (primary copy locking)",
    };
    let update = match parameters.update {
        Update::Force => "FORCE",
        Update::Noforce => "NOFORCE",
    };
    let routing = match parameters.routing {
        Routing::Affinity => "affinity routing",
        Routing::Random => "random routing",
    };
    let workload = match parameters.workload.kind {
        WorkloadKind::DebitCredit => "debit-credit".to_string(),
        WorkloadKind::Trace => format!("trace {}", parameters.workload.trace),
    };
    let rate = parameters.arrival.rate_per_node;
    format!("{nodes}, {coupling}, {update}, {routing}, {workload}, {rate} TPS per node")
}

fn text(outcome: &Outcome) -> String {
    let run = &outcome.parameters.run;
    let mut text = format!(
        "{}\n{} replications of {} s after {} s of warm-up, seed {}\n",
        title(&outcome.parameters),
        outcome.replications.len(),
        run.measured_seconds,
        run.warm_up_seconds,
        run.seed,
    );
    let sections = [
        times(outcome),
        composition(outcome),
        throughput(outcome),
        servers(outcome),
        pages(outcome),
        counts(outcome, "locks", "locks per transaction"),
        counts(outcome, "messages", "messages per transaction"),
        checks(outcome),
    ];
    for section in sections {
        text.push('\n');
        text.push_str(&section.to_string());
    }
    text
}

fn section<'a>(outcome: &'a Outcome, name: &'a str) -> impl Iterator<Item = &'a Summary> {
    outcome
        .summary
        .iter()
        .filter(move |figure| figure.section == name)
}

fn mean(outcome: &Outcome, section: &str, name: &str) -> f64 {
    outcome
        .figure(section, name)
        .map_or(0.0, |figure| figure.mean)
}

/// Decimals that show about four digits of times as long as the mean response time.
fn decimals(outcome: &Outcome) -> usize {
    let response = mean(outcome, "response time", "mean");
    if response > 0.0 {
        (3.0 - response.log10().floor()).clamp(1.0, 6.0) as usize
    } else {
        3
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

fn times(outcome: &Outcome) -> Table {
    let digits = decimals(outcome);
    let mut table = Table::new(["response time", "#ms", "#±"]);
    for figure in section(outcome, "response time") {
        let (mean, half) = (fixed(figure.mean, digits), fixed(figure.half_width, digits));
        table.row([figure.name.clone(), mean, half]);
    }
    table
}

fn composition(outcome: &Outcome) -> Table {
    let digits = decimals(outcome);
    let response = mean(outcome, "response time", "mean");
    let mut table = Table::new(["composed of", "#ms", "#±", "#share"]);
    for figure in section(outcome, "composition of the response time") {
        let share = if response > 0.0 {
            100.0 * figure.mean / response
        } else {
            0.0
        };
        let (mean, half) = (fixed(figure.mean, digits), fixed(figure.half_width, digits));
        table.row([figure.name.clone(), mean, half, format!("{share:.1}%")]);
    }
    table
}

fn throughput(outcome: &Outcome) -> Table {
    let mut table = Table::new(["throughput", "#TPS", "#±"]);
    for figure in section(outcome, "throughput") {
        let (mean, half) = (fixed(figure.mean, 1), fixed(figure.half_width, 1));
        table.row([figure.name.clone(), mean, half]);
    }
    table
}

fn servers(outcome: &Outcome) -> Table {
    let digits = decimals(outcome);
    let mut table = Table::new([
        "servers",
        "#number",
        "#used",
        "#±",
        "#least",
        "#most",
        "#waiting",
        "#at most",
        "#wait ms",
        "#services/s",
    ]);
    for station in &outcome.replications[0].servers {
        let of = |what: &str| mean(outcome, "servers", &format!("{}: {what}", station.name));
        let used = outcome.figure("servers", &format!("{}: utilisation", station.name));
        let percent = |value: f64| format!("{value:.2}%");
        table.row([
            station.name.clone(),
            units::count(station.servers.into()),
            percent(of("utilisation")),
            percent(used.map_or(0.0, |used| used.half_width)),
            percent(of("utilisation, least")),
            percent(of("utilisation, most")),
            fixed(of("mean queue"), 3),
            fixed(of("longest queue"), 1),
            fixed(of("wait"), digits),
            fixed(of("services"), 1),
        ]);
    }
    table
}

fn pages(outcome: &Outcome) -> Table {
    let mut table = Table::new([
        "pages per transaction",
        "#accesses",
        "#buffer hits",
        "#±",
        "#invalidated",
        "#from nodes",
        "#read",
        "#written",
        "#cache hits",
    ]);
    for partition in &outcome.replications[0].partitions {
        let of = |what: &str| mean(outcome, "pages", &format!("{}: {what}", partition.name));
        let hits = outcome.figure("pages", &format!("{}: buffer hits", partition.name));
        let percent = |value: f64| format!("{value:.1}%");
        table.row([
            partition.name.clone(),
            fixed(of("accesses"), 3),
            percent(of("buffer hits")),
            percent(hits.map_or(0.0, |hits| hits.half_width)),
            fixed(of("invalidations"), 3),
            fixed(of("from other nodes"), 3),
            fixed(of("reads"), 3),
            fixed(of("writes"), 3),
            percent(of("cache hits of reads")),
        ]);
    }
    table
}

/// A section of counts per transaction; a figure with another unit names it.
fn counts(outcome: &Outcome, name: &str, title: &str) -> Table {
    let mut table = Table::new([title, "#number", "#±", ""]);
    for figure in section(outcome, name) {
        let unit = if figure.unit == "/transaction" {
            ""
        } else {
            figure.unit
        };
        let (mean, half) = (fixed(figure.mean, 4), fixed(figure.half_width, 4));
        table.row([figure.name.clone(), mean, half, unit.into()]);
    }
    table
}

fn checks(outcome: &Outcome) -> Table {
    let mut table = Table::new(["check", "#simulated", "#by arithmetic", "#difference"]);
    let mut row = |what: &str, simulated: f64, arithmetic: f64, unit: &str| {
        let difference = if simulated > 0.0 {
            format!("{:+.2}%", 100.0 * (arithmetic / simulated - 1.0))
        } else {
            "-".into()
        };
        let shown = |value: f64| format!("{value:.3}{unit}");
        table.row([what.into(), shown(simulated), shown(arithmetic), difference]);
    };
    let (population, product) = remarks::little(outcome);
    row(
        "transactions in the system (Little's law)",
        population,
        product,
        "",
    );
    let (used, arithmetic) = remarks::processors(outcome);
    row("utilisation of the processors", used, arithmetic, "%");
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::simulate::remarks::tests::outcome;

    #[test]
    fn every_section_is_there_and_aligned() {
        let text = text(&outcome(0.5, |one| {
            one.composition.cpu_service = 20.0;
            one.locks.page_request_milliseconds = 6.5;
        }));
        let first = "1 node, closely coupled (GEM locking), NOFORCE, affinity routing, debit-credit, \
                     100 TPS per node\n2 replications of 20 s after 12 s of warm-up, seed 1\n";
        assert!(text.starts_with(first), "{text}");
        for line in [
            "response time                      ms    ±",
            "mean                            50.00 6.35",
            "CPU service    20.00  0.00  40.0%",
            "page request's delay  6.5000  0.0000  ms",
            "transactions in the system (Little's law)       5.000          5.010      +0.20%",
        ] {
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let found = text.lines().any(|shown| squeezed(shown) == squeezed(line));
            assert!(found, "{line:?} is not in:\n{text}");
        }
    }

    #[test]
    fn decimals_follow_the_response_time() {
        let with = |response: f64| decimals(&outcome(0.0, |one| one.response.mean = response));
        assert_eq!(
            [50.0, 5.0, 0.5, 0.05, 5_000_000.0, 0.0].map(with),
            [2, 3, 4, 5, 1, 3]
        );
    }
}
