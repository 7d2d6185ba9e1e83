//! The verbs of `cluster` that run nodes: start, show, drain, kill and end them. Programs add their own to these.

pub mod node;
pub mod options;
mod title;

pub use title::title;

use crate::error::ClusterError;
use crate::nodes::{Cluster, Program};
use crate::request::NodeStatus;
use crate::setting::{Coupling, Setting};
use clap::Subcommand;
use options::{Place, SettingOptions};
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::Table;
use sardonyx_results::units::count;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// A verb for the nodes of a directory.
#[derive(Debug, Subcommand)]
pub enum NodesVerb {
    /// Start nodes; in a directory that has some, those that do not run.
    ///
    /// Example: sardonyx cluster up --nodes 4
    Up(Box<Up>),
    /// Show the state of each node.
    ///
    /// Example: sardonyx cluster status
    Status(Place),
    /// Stop a node in order.
    ///
    /// Example: sardonyx cluster drain 2
    Drain(One),
    /// Kill a node (SIGKILL); the others recover its locks.
    ///
    /// Example: sardonyx cluster kill 2
    Kill(One),
    /// Stop all nodes in order.
    ///
    /// Example: sardonyx cluster down
    Down(Place),
}

/// This program, as that of a node: its verb `node` is [`crate::process::run`].
///
/// # Errors
/// The system does not know this program's file.
pub fn program() -> Result<Program, ClusterError> {
    Program::this(&["node"])
}

/// The arguments of `up`.
#[derive(Debug, clap::Args)]
pub struct Up {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    setting: SettingOptions,
}

/// One of the nodes.
#[derive(Debug, clap::Args)]
pub struct One {
    /// The node's slot, from 0
    slot: usize,
    #[command(flatten)]
    place: Place,
}

#[derive(Serialize)]
struct Done {
    directory: String,
    what: String,
    nodes: Vec<usize>,
    /// True if the page server of loosely coupled nodes was included.
    page_server: bool,
}

impl NodesVerb {
    /// Runs the verb.
    ///
    /// # Errors
    /// [`ClusterError`]; the output's.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        match self {
            NodesVerb::Up(up) => up.run(output),
            NodesVerb::Status(place) => status(place, output),
            NodesVerb::Drain(one) => one.run("drained", Cluster::drain, output),
            NodesVerb::Kill(one) => {
                let kill = |cluster: &mut Cluster, slot| cluster.kill(slot).map(drop);
                one.run("killed", kill, output)
            }
            NodesVerb::Down(place) => {
                let mut cluster = Cluster::at(&place.directory)?;
                let running = cluster.running();
                let page_server = cluster.page_server().is_some();
                cluster.down()?;
                done(place, "drained", running, page_server, output)
            }
        }
    }
}

fn done(
    place: &Place,
    what: &str,
    nodes: Vec<usize>,
    page_server: bool,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let directory = place.directory.display().to_string();
    if output.is_json() {
        let what = what.into();
        output.value(&Done {
            directory,
            what,
            nodes,
            page_server,
        })?;
        return Ok(Exit::Done);
    }
    let slots: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    let nodes = (!slots.is_empty()).then(|| format!("node {}", slots.join(", ")));
    let server = page_server.then(|| "the page server".to_string());
    let all: Vec<String> = server.into_iter().chain(nodes).collect();
    match all.is_empty() {
        true => writeln!(output, "no node {what} in {directory}{}", why_none(what))?,
        false => writeln!(output, "{what} in {directory}: {}", all.join(", "))?,
    }
    Ok(Exit::Done)
}

/// The reason why nothing was done.
fn why_none(what: &str) -> &'static str {
    match what {
        "started" => ": all of them run",
        "drained" => ": none of them runs",
        _ => "",
    }
}

/// Refuses to create nodes among other files.
fn check_free(directory: &Path) -> Result<(), ClusterError> {
    let found = std::fs::read_dir(directory);
    let found = found.ok().and_then(|mut entries| entries.next()?.ok());
    match found {
        None => Ok(()),
        Some(found) => Err(ClusterError::Occupied {
            place: directory.to_path_buf(),
            found: found.file_name().display().to_string(),
        }),
    }
}

impl Up {
    fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let mut cluster = match Cluster::at(&self.place.directory) {
            // The existing setting, unless options change it.
            Ok(cluster) if self.setting.is_empty() => cluster,
            Err(ClusterError::NotThere { .. }) => {
                let setting = self.setting.setting()?;
                check_free(&self.place.directory)?;
                Cluster::make(&self.place.directory, &setting)?
            }
            _ => Cluster::make(&self.place.directory, &self.setting.setting()?)?,
        };
        let running = cluster.running();
        let had_server = cluster.page_server().is_some();
        cluster.up(&program()?, false)?;
        let mut started = cluster.running();
        started.retain(|slot| !running.contains(slot));
        let page_server = !had_server && cluster.page_server().is_some();
        done(&self.place, "started", started, page_server, output)
    }
}

impl One {
    fn run<E: Into<anyhow::Error>>(
        &self,
        what: &str,
        work: impl FnOnce(&mut Cluster, usize) -> Result<(), E>,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let mut cluster = Cluster::at(&self.place.directory)?;
        work(&mut cluster, self.slot).map_err(Into::into)?;
        let page_server = cluster.setting().page_server_slot() == Some(self.slot);
        let nodes = (!page_server).then_some(self.slot).into_iter().collect();
        done(&self.place, what, nodes, page_server, output)
    }
}

fn status(place: &Place, output: &mut Output) -> anyhow::Result<Exit> {
    let cluster = Cluster::at(&place.directory)?;
    let status = cluster.status();
    if output.is_json() {
        #[derive(Serialize)]
        struct Report<'a> {
            setting: &'a Setting,
            nodes: Vec<Option<NodeStatus>>,
            /// Of loosely coupled nodes.
            page_server: Option<NodeStatus>,
        }
        let setting = cluster.setting();
        output.value(&Report {
            setting,
            nodes: status,
            page_server: cluster.page_server(),
        })?;
        return Ok(Exit::Done);
    }
    writeln!(output, "{}\n", title(cluster.setting()))?;
    let mut table = Table::new([
        "node",
        "state",
        "#process",
        "#life",
        "#committed",
        "#messages",
        "#entry accesses",
    ]);
    let is_loose = cluster.setting().coupling == Coupling::Loose;
    let connects = |slot| cluster.places().connect(slot).is_some();
    let none = |slot: usize| {
        let state = match connects(slot) {
            true => "does not answer",
            false => "does not run",
        };
        let mut row = vec![slot.to_string(), state.into()];
        row.resize(7, String::new());
        row
    };
    for (slot, status) in status.iter().enumerate() {
        table.row(match status {
            None => none(slot),
            Some(node) => {
                let counts = &node.counts;
                let state = if node.runs { "runs a load" } else { "idle" };
                vec![
                    slot.to_string(),
                    state.into(),
                    node.process.to_string(),
                    // A loosely coupled node has a number that no node before it had.
                    match is_loose {
                        true => node.node.to_string(),
                        false => (node.node >> 6).to_string(),
                    },
                    count(counts.committed),
                    count(counts.short_messages + counts.long_messages),
                    match is_loose {
                        true => "-".into(),
                        false => count(counts.entry_reads + counts.entry_swaps),
                    },
                ]
            }
        });
    }
    if let Some(slot) = cluster.setting().page_server_slot() {
        let mut row = none(slot);
        if let Some(server) = cluster.page_server() {
            row[1] = "page server".into();
            row[2] = server.process.to_string();
        } else {
            row[1] = format!("page server, {}", row[1]);
        }
        table.row(row);
    }
    write!(output, "{table}")?;
    Ok(Exit::Done)
}
