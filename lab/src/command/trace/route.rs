//! `trace route`: routing and authority tables for a number of nodes, and their benefit.

use super::file::{self, NewFile};
use clap::value_parser;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units::{count, percent};
use sardonyx_workload::routing::heuristic::{self, Options, Quality};
use sardonyx_workload::routing::{MAX_NODES, ReferenceDistribution, Tables};
use sardonyx_workload::trace::Trace;
use sardonyx_workload::trace::locality::Locality;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Compute the nodes that run a trace's transactions and grant its locks.
///
/// Prints the share of lock requests that would be local with affinity-based routing and, for comparison, with random
/// routing. Each is also shown with the read optimisation: a node that was granted a read lock grants further ones
/// itself until another node writes the page.
///
/// Example: sardonyx-lab trace route paper.trace --nodes 8 -o routing.toml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The trace, of either form
    file: PathBuf,
    /// The number of nodes
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=MAX_NODES as i64))]
    nodes: u16,
    /// Write the tables of affinity-based routing to this file [default: nowhere]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Pages for which a node keeps read authorisations: its buffer
    #[arg(long, value_name = "PAGES", default_value_t = 1_000)]
    recent_pages: usize,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Serialize)]
struct Report {
    nodes: u16,
    recent_pages: usize,
    file: Option<String>,
    affinity: Shares,
    random: Shares,
    routing: Vec<Route>,
}

/// The benefit of tables.
#[derive(Serialize)]
struct Shares {
    local_share: f64,
    local_share_with_read_optimisation: f64,
    recent_share: f64,
    revocations: u64,
    load_imbalance: f64,
    expected: Quality,
}

/// The nodes of a type.
#[derive(Serialize)]
struct Route {
    name: String,
    nodes: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    node: u16,
    share: f64,
}

impl Arguments {
    /// Runs the action.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let new = match &self.output {
            Some(path) => Some(NewFile::create(path, self.force)?),
            None => None,
        };
        let trace = file::trace(&self.file)?;
        let fragments = ReferenceDistribution::fragments_for(self.nodes);
        let distribution = ReferenceDistribution::of_trace(&trace, fragments);
        let options = Options {
            seed: self.seed,
            ..Options::for_nodes(self.nodes)
        };
        let (affinity, expected) = heuristic::affinity(&distribution, self.nodes, &options)?;
        let (random, equally) = heuristic::random(&distribution, self.nodes)?;
        if let Some(mut new) = new {
            new.write_all(affinity.to_toml(trace.header()).as_bytes())?;
            new.finish()?;
        }
        let types = trace.header().types().iter().enumerate();
        let report = Report {
            nodes: self.nodes,
            recent_pages: self.recent_pages,
            file: self.output.as_ref().map(|path| path.display().to_string()),
            routing: types
                .map(|(kind, name)| Route::of(kind as u16, name, &affinity))
                .collect(),
            affinity: self.shares(&trace, &affinity, expected),
            random: self.shares(&trace, &random, equally),
        };
        if output.is_json() {
            output.value(&report)?;
        } else {
            report.print(output)?;
        }
        Ok(Exit::Done)
    }

    fn shares(&self, trace: &Trace, tables: &Tables, expected: Quality) -> Shares {
        let found = Locality::of(trace, tables, self.recent_pages, self.seed);
        Shares {
            local_share: found.local_share(),
            local_share_with_read_optimisation: found.local_share_with_read_optimisation(),
            recent_share: found.recent_share(),
            revocations: found.revocations,
            load_imbalance: found.load_imbalance(),
            expected,
        }
    }
}

impl Route {
    fn of(kind: u16, name: &str, tables: &Tables) -> Self {
        let parts = tables.routing.shares(kind);
        Route {
            name: name.to_string(),
            nodes: parts.map(|(node, share)| Part { node, share }).collect(),
        }
    }
}

/// The most nodes of a type, and the most types, that are printed.
const NODES_SHOWN: usize = 8;
const TYPES_SHOWN: usize = 40;

impl Report {
    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        let mut table = Table::new(["local lock requests", "#affinity", "#random"]);
        let mut row = |name: &str, of: &dyn Fn(&Shares) -> String| {
            table.row([name.into(), of(&self.affinity), of(&self.random)]);
        };
        row("at the authority", &|one| percent(one.local_share));
        row("with the read optimisation", &|one| {
            percent(one.local_share_with_read_optimisation)
        });
        row("for recent pages", &|one| percent(one.recent_share));
        row("revocations", &|one| count(one.revocations));
        row("most loaded node / mean", &|one| {
            format!("{:.2}", one.load_imbalance)
        });
        row("most asked authority / mean", &|one| {
            format!("{:.2}", one.expected.authority_imbalance)
        });
        writeln!(output, "{table}")?;
        let mut table = Table::new(["type", "nodes"]);
        for route in self.routing.iter().take(TYPES_SHOWN) {
            let parts = route.nodes.iter().take(NODES_SHOWN);
            let parts = parts.map(|part| format!("{} ({})", part.node, percent(part.share)));
            let mut nodes = parts.collect::<Vec<_>>().join(", ");
            if route.nodes.len() > NODES_SHOWN {
                nodes += &format!(" and {} more", route.nodes.len() - NODES_SHOWN);
            }
            table.row([route.name.clone(), nodes]);
        }
        write!(output, "{table}")?;
        if let Some(more @ 1..) = self.routing.len().checked_sub(TYPES_SHOWN) {
            writeln!(output, "and {more} more types: --json has them all")?;
        }
        if let Some(file) = &self.file {
            let mut sheet = Sheet::default();
            sheet.heading(format!(
                "Tables of affinity-based routing written to {file}"
            ));
            write!(output, "\n{sheet}")?;
        }
        Ok(())
    }
}
