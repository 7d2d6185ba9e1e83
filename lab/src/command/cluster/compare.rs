//! `cluster compare`: a configuration in virtual time and with processes, side by side.

use super::place::Temporary;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_cluster::command::options::CouplingName;
use sardonyx_cluster::command::program;
use sardonyx_cluster::compare::{Comparison, compare};
use sardonyx_cluster::experiments;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::findings::make_directory;
use sardonyx_results::table::Table;
use sardonyx_simulation::parameters::read::Layers;
use sardonyx_simulation::parameters::{Coupling, Parameters};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The directory of the nodes during the comparison.
const MEMORY: &str = "/dev/shm";

/// Run a configuration in virtual time and with processes, and show both side by side.
///
/// The file has the parameters of `simulate` that differ from `cluster compare --print-parameters`. The processes get
/// its arrivals and, as sleeps, the times of its devices. The simulation gets the differences of these nodes from the
/// GEM paper's, and is calibrated by the measured processor time. The nodes' log is in memory (/dev/shm) meanwhile.
///
/// Examples:
///   sardonyx-lab cluster compare --set nodes=4 --set routing=random
///   sardonyx-lab cluster compare --coupling loose --set nodes=2
///   sardonyx-lab cluster compare mine.toml
///   sardonyx-lab cluster compare --all --output compared
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The parameters
    file: Option<PathBuf>,
    /// Set a parameter, over the file
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The coupling of the nodes, overriding the file [default: the parameters'; with --all, both]
    #[arg(long)]
    coupling: Option<CouplingName>,
    /// The GEM paper's central experiments: 1, 2, 4 and 8 nodes, FORCE and NOFORCE, affinity and random routing, two
    /// buffer sizes; with --output as CSV, and SVG and HTML with figures
    #[arg(long)]
    all: bool,
    /// Write the results to a directory
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the parameters as TOML, and run nothing
    #[arg(long)]
    print_parameters: bool,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let mut base = self.parameters()?;
        if let Some(coupling) = self.coupling {
            base.coupling = simulated(coupling);
        }
        if self.print_parameters {
            match output.is_json() {
                true => output.value(&base)?,
                false => write!(output, "{}", toml::to_string(&base)?)?,
            }
            return Ok(Exit::Done);
        }
        self.output.as_deref().map(make_directory).transpose()?;
        let points = match self.all {
            true => {
                let both = [Coupling::Close, Coupling::Loose];
                let couplings = match self.coupling {
                    Some(_) => &[base.coupling][..],
                    None => &both,
                };
                experiments::central(&base, couplings)
            }
            false => vec![base],
        };
        if self.all && self.output.is_none() {
            let said = "--all needs a place for files: --output DIR";
            return Err(UsageError::Arguments(said.into()).into());
        }
        let bar = ProgressBar::new(points.len() as u64);
        bar.set_style(
            ProgressStyle::with_template("comparing {bar:40} {pos} of {len} configurations {eta}")
                .expect("a constant template"),
        );
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let mut all = Vec::new();
        for point in &points {
            // In a memory file system: a disk's time is imposed, and not this disk's.
            let place = Temporary::within(Path::new(MEMORY));
            all.push(compare(point, place.path(), &program()?, processors)?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        if output.is_json() {
            output.value(&all)?;
        } else {
            for one in &all {
                print(one, output)?;
            }
        }
        if let Some(directory) = &self.output {
            for (name, text) in experiments::files(&all) {
                let file = directory.join(name);
                std::fs::write(&file, text)
                    .with_context(|| format!("writing {}", file.display()))?;
                if !output.is_json() {
                    writeln!(output, "written: {}", file.display())?;
                }
            }
        }
        Ok(match all.iter().all(|one| one.holds) {
            true => Exit::Done,
            false => Exit::Found,
        })
    }

    fn parameters(&self) -> anyhow::Result<Parameters> {
        let mut layers = Layers::named("paper")?;
        for setting in experiments::SETTINGS {
            layers.set(setting)?;
        }
        if let Some(file) = &self.file {
            layers.file(file)?;
        }
        for setting in &self.set {
            layers.set(setting)?;
        }
        Ok(layers.read()?)
    }
}

fn print(one: &Comparison, output: &mut Output) -> anyhow::Result<()> {
    writeln!(output, "{}", experiments::title(one))?;
    let mut table = Table::new([
        "per transaction",
        "#simulated",
        "#±",
        "#measured",
        "#±",
        "#apart",
        "agrees",
    ]);
    for line in &one.lines {
        let agrees = match (line.is_count, line.agrees()) {
            (true, true) => "yes",
            (true, false) => "NO",
            (false, _) => "",
        };
        table.row([
            line.name.to_string(),
            format!("{:.4}", line.simulated),
            format!("{:.4}", line.half_width),
            format!("{:.4}", line.measured),
            match line.is_count {
                true => format!("{:.4}", line.measured_half_width),
                false => String::new(),
            },
            format!("{:+.1}%", 100.0 * line.difference()),
            agrees.to_string(),
        ]);
    }
    writeln!(output, "{table}")?;
    for remark in &one.remarks {
        writeln!(output, "{remark}")?;
    }
    if !one.holds {
        writeln!(output, "WARNING: the bank's sums are not equal")?;
    }
    Ok(())
}

/// The coupling, in the simulation's form.
fn simulated(name: CouplingName) -> Coupling {
    match name {
        CouplingName::Close => Coupling::Close,
        CouplingName::Loose => Coupling::Loose,
    }
}
