//! `simulate`: how a workload would run on closely or loosely coupled nodes.
//!
//! [`choice`] turns arguments into parameters, [`engine`] simulates points, [`present`] prints an
//! outcome, [`remarks`] are its warnings; [`sweep`], [`search`] and [`figures`] are for several points,
//! [`csv`] is for other programs, [`distributed`] is for many machines. The model is the crate
//! `simulation`.
//!
//! Source: Rahm, "Evaluation of Closely Coupled Systems for High Performance Database Processing"
//! (GEM paper).

mod choice;
mod csv;
mod distributed;
mod engine;
mod figures;
mod present;
mod remarks;
mod search;
mod sweep;

use anyhow::Context;
use choice::Choice;
use distributed::{Distribution, Gathered};
use engine::Engine;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::findings::make_directory;
use sardonyx_results::table::Table;
use sardonyx_simulation::outcome::Outcome;
use sardonyx_simulation::parameters::Parameters;
use sardonyx_simulation::parameters::preset::{self, PRESETS};
use sardonyx_simulation::sweep::Sweep;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Simulate nodes that share a database.
///
/// Simulate nodes that share one database: response times, utilisations, and what limits them.
///
/// The parameters are those of the GEM paper's Table 4.1 unless a preset, a file or options override them. Replications
/// continue until the 95% interval of the mean response time is narrow enough. Without a terminal, or with --json,
/// there is no progress bar.
///
/// Exit code 1: the simulated system is saturated before it reaches the requested rate.
///
/// Examples:
///   sardonyx-lab simulate
///   sardonyx-lab simulate --nodes 8 --coupling loose --routing random --buffer-pages 1000
///   sardonyx-lab simulate --preset cxl --nodes 8 --set gem.entry_microseconds=1
///   sardonyx-lab simulate --print-parameters > mine.toml
///   sardonyx-lab simulate --parameters mine.toml --throughput-at-cpu 80%
///   sardonyx-lab simulate --sweep nodes=1..10 --routing random --show "servers/cpu: utilisation"
///   sardonyx-lab simulate --sweep nodes=1..10 --sweep node.buffer_pages=100..1600*2 --output sweep
///   sardonyx-lab simulate --figure 4.1 --figure 4.6 --output figures
///   sardonyx-lab simulate --all --output report
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Threads [default: one for each core]; the results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Print the parameters as TOML, and simulate nothing
    #[arg(long, conflicts_with_all = ["csv", "output"])]
    print_parameters: bool,
    /// List the presets
    #[arg(long, conflicts_with_all = ["csv", "output"])]
    list_presets: bool,
    /// Write every figure of every point, with its interval, to a file of comma-separated values
    #[arg(long, value_name = "FILE", conflicts_with_all = ["figure", "all"])]
    csv: Option<PathBuf>,
    /// Write to a directory: a point's figures as CSV, a sweep's picture as SVG and CSV, or figures as SVG and
    /// CSV with an HTML report
    #[arg(long, value_name = "DIR", help_heading = "Several points")]
    output: Option<PathBuf>,
    /// Search the arrival rate at which the processors reach this utilisation, such as 80%
    #[arg(long, value_name = "SHARE", value_parser = search::parse_share)]
    #[arg(help_heading = "Several points", conflicts_with_all = ["only_replications", "gather"])]
    #[arg(conflicts_with_all = ["sweep", "figure", "all"])]
    throughput_at_cpu: Option<f64>,
    #[command(flatten)]
    sweep: sweep::Range,
    #[command(flatten)]
    figures: figures::FigureChoice,
    #[command(flatten)]
    distribution: Distribution,
}

/// The output for programs.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    warnings: Vec<String>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        if self.list_presets {
            return list_presets(output);
        }
        let parameters = self.choice.read()?;
        if self.print_parameters {
            return self.print(&parameters, output);
        }
        if self.figures.is_some() {
            return self.figures(&parameters, output);
        }
        // Before minutes of simulating, rather than after.
        self.output.as_deref().map(make_directory).transpose()?;
        if let Some(target) = self.throughput_at_cpu {
            let last = search::run(&parameters, target, &self.engine(), output)?;
            self.write_point(&last, output)?;
            return Ok(Exit::Done);
        }
        if !self.sweep.sweep.is_empty() {
            return self.sweep(output);
        }
        let points = [parameters];
        if let Some(exit) = self.part_of(&points, output)? {
            return Ok(exit);
        }
        let outcome = &self.outcomes(&points)?[0];
        if output.is_json() {
            let warnings = remarks::warnings(outcome);
            output.value(&Report { outcome, warnings })?;
        } else {
            present::print(outcome, output)?;
        }
        self.write_point(outcome, output)?;
        Ok(Exit::Done)
    }

    /// Writes a single point's figures to the requested file or directory.
    fn write_point(&self, outcome: &Outcome, output: &mut Output) -> anyhow::Result<()> {
        let text = || csv::text(&[], [(&[][..], outcome)]);
        self.write_csv(text)?;
        match &self.output {
            Some(directory) => write_said(&directory.join("point.csv"), &text(), output),
            None => Ok(()),
        }
    }

    fn figures(&self, base: &Parameters, output: &mut Output) -> anyhow::Result<Exit> {
        let directory = self.output.as_ref().ok_or_else(|| {
            UsageError::Arguments("--figure and --all need a place for files: --output DIR".into())
        })?;
        figures::run(&self.figures, base, &self.engine(), directory, output)?;
        Ok(Exit::Done)
    }

    fn sweep(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let ranges: Vec<&str> = self.sweep.sweep.iter().map(String::as_str).collect();
        let layers = self.choice.layers()?;
        let sweep = Sweep::new(&layers, &ranges, self.sweep.show.as_deref())?;
        if let Some(exit) = self.part_of(sweep.points(), output)? {
            return Ok(exit);
        }
        let outcomes = self.outcomes(sweep.points())?;
        self.write_csv(|| sweep::csv(&sweep, &outcomes))?;
        sweep::present(&sweep, &outcomes, self.output.as_deref(), output)?;
        Ok(Exit::Done)
    }

    fn print(&self, parameters: &Parameters, output: &mut Output) -> anyhow::Result<Exit> {
        let commented = preset::find(&self.choice.preset);
        if output.is_json() {
            output.value(parameters)?;
        } else if let (true, Some(preset)) = (self.choice.is_the_preset_alone(), commented)
            && preset.name == PRESETS[0].name
        {
            write!(output, "{}", preset.text)?;
        } else {
            write!(output, "{}", toml::to_string(parameters)?)?;
        }
        Ok(Exit::Done)
    }

    /// Runs only a part, or prints the missing parts, if the options ask for it.
    fn part_of(&self, points: &[Parameters], output: &mut Output) -> anyhow::Result<Option<Exit>> {
        let distribution = &self.distribution;
        if let Some(numbers) = &distribution.only_replications {
            let point = match (distribution.only_point, points.len()) {
                (Some(point), _) => point,
                (None, 1) => 0,
                (None, points) => {
                    return Err(UsageError::Arguments(format!(
                        "--only-replications of which point? Name one of {points} by --only-point"
                    ))
                    .into());
                }
            };
            for part in distributed::run(points, point, numbers, self.threads)? {
                output.line(&part)?;
            }
            return Ok(Some(Exit::Done));
        }
        if let (Some(file), true) = (&distribution.gather, distribution.missing) {
            for missing in Gathered::read(file)?.missing(points) {
                output.line(&missing)?;
            }
            return Ok(Some(Exit::Done));
        }
        Ok(None)
    }

    fn outcomes(&self, points: &[Parameters]) -> anyhow::Result<Vec<Outcome>> {
        if let Some(file) = &self.distribution.gather {
            return Ok(Gathered::read(file)?.outcomes(points)?);
        }
        Ok(self.engine().simulate(points)?)
    }

    fn engine(&self) -> Engine {
        Engine {
            threads: self.threads,
        }
    }

    fn write_csv(&self, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        match &self.csv {
            Some(file) => write(file, &text()),
            None => Ok(()),
        }
    }
}

fn list_presets(output: &mut Output) -> anyhow::Result<Exit> {
    #[derive(Serialize)]
    struct Listed {
        name: &'static str,
        what: &'static str,
    }
    let listed = PRESETS.iter().map(|preset| Listed {
        name: preset.name,
        what: preset.what,
    });
    let listed: Vec<_> = listed.collect();
    if output.is_json() {
        output.value(&listed)?;
    } else {
        let mut table = Table::new(["preset", "what it describes"]);
        for preset in listed {
            table.row([preset.name.into(), preset.what.into()]);
        }
        write!(output, "{table}")?;
    }
    Ok(Exit::Done)
}

/// [`write`], with a note for people; programs get no further output in their JSON.
fn write_said(file: &Path, text: &str, output: &mut Output) -> anyhow::Result<()> {
    write(file, text)?;
    if !output.is_json() {
        writeln!(output, "written: {}", file.display())?;
    }
    Ok(())
}

/// Writes a file, and creates its directory if there is none.
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let directory = file.parent().unwrap_or(Path::new(""));
    make_directory(directory)?;
    std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}
