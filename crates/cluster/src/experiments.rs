//! The GEM paper's central experiments (sections 4.2 to 4.5) with processes, and their figures. They vary closely and
//! loosely coupled, FORCE and NOFORCE, affinity-based and random routing, two buffer sizes, and 1 to 8 nodes.
//!
//! A run takes seconds and not minutes: the devices are four times as fast as those of Table 4.1, and transactions arrive
//! two and a half times as often. A branch has a hundredth of the accounts: memory limits their number, and
//! in either case nearly none is referenced twice while it is in a buffer.

use crate::compare::{Comparison, Line};
use sardonyx_results::Estimate;
use sardonyx_results::chart::{Axis, Chart, Mark, Panel, Series, Sheet};
use sardonyx_results::csv;
use sardonyx_simulation::parameters::{Coupling, Parameters, Routing, Update};

/// Differences from the preset `paper`, unless a file overrides them.
pub const SETTINGS: [&str; 14] = [
    "workload.accounts_per_branch=1000",
    "node.multiprogramming_level=24",
    "node.buffer_pages=200",
    "arrival.rate_per_node=250.0",
    "disk.access_milliseconds=3.75",
    "disk.controller_milliseconds=0.25",
    "disk.transfer_milliseconds=0.1",
    "log.access_milliseconds=1.25",
    "run.warm_up_seconds=4.0",
    "run.measured_seconds=10.0",
    "run.least_replications=4",
    "run.most_replications=12",
    "run.precision=0.01",
    "partition.history.locks=true",
];

/// Numbers of nodes.
const NODES: [u32; 4] = [1, 2, 4, 8];

/// Pages of a node's buffer: the GEM paper's two.
const BUFFERS: [u32; 2] = [200, 1000];

/// The configurations of all experiments of these couplings, with everything else from `base`.
pub fn central(base: &Parameters, couplings: &[Coupling]) -> Vec<Parameters> {
    let mut all = Vec::new();
    for &coupling in couplings {
        for buffer_pages in BUFFERS {
            for update in [Update::Force, Update::Noforce] {
                for routing in [Routing::Affinity, Routing::Random] {
                    for nodes in NODES {
                        let mut point = base.clone();
                        point.node.buffer_pages = buffer_pages;
                        (point.update, point.routing, point.nodes) = (update, routing, nodes);
                        point.coupling = coupling;
                        all.push(point);
                    }
                }
            }
        }
    }
    all
}

fn coupling(one: &Comparison) -> &'static str {
    match one.parameters.coupling {
        Coupling::Close => "close",
        Coupling::Loose => "loose",
    }
}

fn update(one: &Comparison) -> &'static str {
    match one.parameters.update {
        Update::Force => "FORCE",
        Update::Noforce => "NOFORCE",
    }
}

fn routing(one: &Comparison) -> &'static str {
    match one.parameters.routing {
        Routing::Affinity => "affinity",
        Routing::Random => "random",
    }
}

/// A configuration in a line.
pub fn title(one: &Comparison) -> String {
    let nodes = match one.parameters.nodes {
        1 => "1 node".to_string(),
        nodes => format!("{nodes} nodes"),
    };
    format!(
        "{nodes}, {}, {}, {} routing, {} pages of buffer, {} TPS per node for {} s; devices of {:.1} ms (page) and {:.1} ms \
         (log) slept; {:.0} us of processor time",
        match one.parameters.coupling {
            Coupling::Close => "closely coupled",
            Coupling::Loose => "loosely coupled",
        },
        update(one),
        routing(one),
        one.parameters.node.buffer_pages,
        one.parameters.arrival.rate_per_node,
        one.load.seconds,
        one.setting.devices.page_read_microseconds / 1e3,
        one.setting.devices.log_write_microseconds / 1e3,
        one.measured.each.processor_microseconds,
    )
}

/// The drawn lines: the name of each, and its meaning.
const DRAWN: [(&str, &str); 8] = [
    ("response time, ms", "response time (ms)"),
    ("hit ratio", "pages found in the buffer"),
    ("entry accesses", "entry accesses per transaction"),
    ("local share", "locks granted on the node itself"),
    ("messages", "messages per transaction"),
    ("page requests", "page requests per transaction"),
    ("invalidations", "invalidations per transaction"),
    ("conflicts", "lock conflicts per transaction"),
];

/// The files of the results: names and texts.
pub fn files(all: &[Comparison]) -> [(&'static str, String); 3] {
    let svg = sheet(all).svg();
    [
        ("compared.csv", table(all)),
        ("compared.html", html(&svg, all)),
        ("compared.svg", svg),
    ]
}

fn table(all: &[Comparison]) -> String {
    let mut text = String::new();
    let names =
        "coupling,nodes,update,routing,buffer_pages,figure,simulated,half_width,measured,agrees";
    csv::line(&mut text, names.split(','));
    for one in all {
        for line in &one.lines {
            let cells = [
                coupling(one).into(),
                one.parameters.nodes.to_string(),
                update(one).into(),
                routing(one).into(),
                one.parameters.node.buffer_pages.to_string(),
                line.name.trim().into(),
                line.simulated.to_string(),
                line.half_width.to_string(),
                line.measured.to_string(),
                match line.is_count {
                    true => line.agrees().to_string(),
                    false => String::new(),
                },
            ];
            csv::line(&mut text, cells.iter().map(String::as_str));
        }
    }
    text
}

fn sheet(all: &[Comparison]) -> Sheet {
    let charts = DRAWN.map(|(name, what)| {
        let panels = [Coupling::Close, Coupling::Loose].into_iter();
        let panels = panels.flat_map(|coupling| BUFFERS.map(|buffer| (coupling, buffer)));
        let panels = panels.filter_map(|(coupling, buffer)| panel(all, name, coupling, buffer));
        Chart {
            title: what.into(),
            x: Axis::linear("nodes"),
            y: Axis::linear(what),
            panels: panels.collect(),
        }
    });
    let charts = charts.into_iter().filter(|chart| !chart.panels.is_empty());
    Sheet {
        title: "Nodes as processes beside their simulation".into(),
        columns: 1,
        charts: charts.collect(),
    }
}

/// The figure for one coupling and buffer size; `None`: it was not measured, or is always 0, as entry accesses of loosely
/// coupled nodes are.
fn panel(all: &[Comparison], name: &str, coupled: Coupling, buffer: u32) -> Option<Panel> {
    let mut series: Vec<Series> = Vec::new();
    let here = all.iter().filter(|one| {
        one.parameters.node.buffer_pages == buffer && one.parameters.coupling == coupled
    });
    let is_zero = |line: &Line| line.simulated == 0.0 && line.measured == 0.0;
    if here.clone().filter_map(|one| one.line(name)).all(is_zero) {
        return None;
    }
    for one in here {
        let Some(line) = one.line(name) else { continue };
        let group =
            2 * usize::from(update(one) == "NOFORCE") + usize::from(routing(one) == "random");
        for (dashed, what) in [(true, "simulated"), (false, "measured")] {
            let label = format!("{}, {}, {what}", update(one), routing(one));
            let at = series.iter().position(|known| known.label == label);
            let at = at.unwrap_or_else(|| {
                series.push(Series {
                    label,
                    group,
                    dashed,
                    points: Vec::new(),
                });
                series.len() - 1
            });
            series[at].points.push(Mark {
                x: one.parameters.nodes.into(),
                y: Some(value(line, dashed)),
            });
        }
    }
    let coupled = match coupled {
        Coupling::Close => "closely coupled",
        Coupling::Loose => "loosely coupled",
    };
    Some(Panel {
        title: format!("{coupled}, buffer of {buffer} pages"),
        series,
    })
}

fn value(line: &Line, simulated: bool) -> Estimate {
    match simulated {
        true => Estimate::new(line.simulated, line.half_width),
        false => Estimate::new(line.measured, 0.0),
    }
}

/// A page with the picture, and a table of the counts that do not agree.
fn html(svg: &str, all: &[Comparison]) -> String {
    let mut rows = String::new();
    let counts = all
        .iter()
        .flat_map(|one| one.lines.iter().filter(|line| line.is_count))
        .count();
    let mut apart = 0;
    for one in all {
        for line in one
            .lines
            .iter()
            .filter(|line| line.is_count && !line.agrees())
        {
            apart += 1;
            rows += &format!(
                "<tr><td>{}</td><td>{}</td><td>{:.4}</td><td>{:.4}</td><td>{:+.1}%</td><td>{}</td></tr>\n",
                title(one),
                line.name,
                line.simulated,
                line.measured,
                100.0 * line.difference(),
                match line.name {
                    "conflicts" => one.remarks.join("; "),
                    _ => String::new(),
                }
            );
        }
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Nodes as processes beside their \
         simulation</title>\n<style>body{{font:16px/1.5 sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem}}\
         svg{{max-width:100%;height:auto}}td{{border-bottom:1px solid #ddd;padding:.3rem;font-size:.85rem}}</style>\
         </head>\n<body><h1>Nodes as processes beside their simulation</h1>\n<p>Solid: measured with processes; \
         dashed: simulated, with the 95% interval of its mean. {} of {counts} counts agree within 2%.</p>\n{svg}\n\
         <h2>Counts that are further apart</h2>\n<table>{rows}</table></body></html>\n",
        counts - apart
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{as_nodes_do, as_processes};
    use sardonyx_simulation::parameters::read::Layers;

    #[test]
    fn the_experiments_are_what_processes_can_run() {
        let mut layers = Layers::named("paper").unwrap();
        for setting in SETTINGS {
            layers.set(setting).unwrap();
        }
        let all = central(&layers.read().unwrap(), &[Coupling::Close, Coupling::Loose]);
        assert_eq!(all.len(), 64);
        for point in &all {
            let (setting, load) = as_processes(point).unwrap();
            let is_loose = setting.coupling == crate::setting::Coupling::Loose;
            assert_eq!(is_loose, point.coupling == Coupling::Loose);
            assert_eq!(u32::from(setting.nodes), point.nodes);
            assert_eq!(load.rate, Some(250.0));
            assert!((setting.devices.page_read_microseconds - 4100.0).abs() < 1e-6);
            let simulated = as_nodes_do(point, 80.0, 2);
            assert_eq!(is_loose, simulated.locking.stored_at_commit);
            let instructions = 250_000.0 / simulated.node.mips;
            let processors = f64::from(simulated.node.processors * point.nodes);
            assert!((instructions / 80.0 - processors / 2.0).abs() < 0.01 || processors < 2.0);
        }
    }
}
