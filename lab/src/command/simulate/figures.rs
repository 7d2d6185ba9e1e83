//! `--figure` and `--all`: the GEM paper's figures on the chosen hardware, and its statements beside ours.

use super::engine::Engine;
use super::write;
use sardonyx_command::output::Output;
use sardonyx_results::findings::make_directory;
use sardonyx_results::table::Table;
use sardonyx_simulation::experiment::SimulationError;
use sardonyx_simulation::figures::{self, Curve, Figure, Needs, Study};
use sardonyx_simulation::outcome::Outcome;
use sardonyx_simulation::parameters::Parameters;
use sardonyx_simulation::report;
use sardonyx_simulation::statements::{self, Verdict};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of figures.
#[derive(Debug, Default, clap::Args)]
pub struct FigureChoice {
    /// Reproduce a figure of the GEM paper, 4.1 to 4.7, or gem-1 to gem-3 of GEM's other uses; repeatable
    #[arg(long, value_name = "NUMBER", help_heading = "Several points")]
    pub figure: Vec<String>,
    /// Reproduce all figures, and judge every statement of the GEM paper's sections 2, 4 and 6
    #[arg(long, conflicts_with = "figure", help_heading = "Several points")]
    pub all: bool,
    /// Judge those statements only, without the figures: fewer points
    #[arg(long, conflicts_with_all = ["figure", "all"], help_heading = "Several points")]
    pub statements: bool,
}

impl FigureChoice {
    /// Returns true if figures are requested.
    pub fn is_some(&self) -> bool {
        self.all || self.statements || !self.figure.is_empty()
    }
}

/// Simulates the figures' points, writes the figures to `directory`, and prints their curves.
pub fn run(
    choice: &FigureChoice,
    base: &Parameters,
    engine: &Engine,
    directory: &Path,
    output: &mut Output,
) -> anyhow::Result<()> {
    let figures: Vec<Figure> = if choice.all {
        figures::all()
    } else {
        let asked = choice.figure.iter();
        asked
            .map(|id| figures::find(id))
            .collect::<Result<_, _>>()?
    };
    let statements = if choice.all || choice.statements {
        statements::all()
    } else {
        Vec::new()
    };
    // Before minutes of simulating, rather than after.
    make_directory(directory)?;
    let mut needs = Needs::default();
    figures.iter().for_each(|figure| figure.needs(&mut needs));
    statements
        .iter()
        .for_each(|statement| statement.needs(&mut needs));
    let simulate = |points: &[Parameters]| -> Result<Vec<Outcome>, SimulationError> {
        engine.simulate(points)
    };
    let mut study = Study::run(base, &needs, &simulate)?;
    let verdicts = statements::judge(&statements, &mut study, &simulate)?;
    let written = write_all(&figures, &study, &verdicts, directory)?;
    if output.is_json() {
        output.value(&Report::of(&figures, &study, &verdicts, &written))?;
    } else {
        print(&figures, &study, &verdicts, output)?;
        for file in written {
            writeln!(output, "written: {}", file.display())?;
        }
    }
    Ok(())
}

fn write_all(
    figures: &[Figure],
    study: &Study,
    verdicts: &[Verdict],
    directory: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let mut one = |name: String, text: &str| {
        let file = directory.join(name);
        write(&file, text)?;
        written.push(file);
        anyhow::Ok(())
    };
    for figure in figures {
        one(
            format!("figure-{}.csv", figure.id),
            &report::csv(figure, study),
        )?;
        one(
            format!("figure-{}.svg", figure.id),
            &report::chart(figure, study).svg(),
        )?;
    }
    if !verdicts.is_empty() {
        one("statements.md".into(), &statements::markdown(verdicts))?;
    }
    one(
        "report.html".into(),
        &report::html(figures, study, verdicts),
    )?;
    Ok(written)
}

fn print(
    figures: &[Figure],
    study: &Study,
    verdicts: &[Verdict],
    output: &mut Output,
) -> anyhow::Result<()> {
    for figure in figures {
        writeln!(output, "Figure {}: {}", figure.id, figure.title)?;
        for panel in &figure.panels {
            let table = table(figure, &panel.title, &panel.curves, study);
            writeln!(output, "\n{table}")?;
        }
        for note in report::notes(figure, study) {
            writeln!(output, "WARNING: {note}")?;
        }
    }
    if !verdicts.is_empty() {
        let mut table = Table::new(["statement", "holds", "what it says"]);
        for verdict in verdicts {
            let says = verdict.says.to_string();
            table.row([verdict.id.into(), verdict.holds.in_words().into(), says]);
        }
        let count = statements::count(verdicts);
        writeln!(
            output,
            "{table}\nOf {} statements {count}.\n",
            verdicts.len()
        )?;
    }
    Ok(())
}

/// A row for each number of nodes, a column for each curve.
fn table(figure: &Figure, part: &str, curves: &[Curve], study: &Study) -> Table {
    let all = curves.iter().flat_map(|curve| &curve.points);
    let mut nodes: Vec<u32> = all.map(|point| point.nodes).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let columns = nodes.iter().map(|nodes| format!("#{nodes}"));
    let first = match part {
        "" => format!("{}, by nodes", figure.reading.label()),
        part => format!("{part}: {}, by nodes", figure.reading.label()),
    };
    let names: Vec<String> = [first].into_iter().chain(columns).collect();
    let mut table = Table::new(names.iter().map(String::as_str));
    for curve in curves {
        let cells = nodes.iter().map(|nodes| {
            let mut points = curve.points.iter();
            let value = points.find(|point| point.nodes == *nodes);
            let value = value.and_then(|point| figure.read(study, point));
            value.map_or("-".into(), |value| format!("{:.1}", value.mean))
        });
        table.row([curve.label.clone()].into_iter().chain(cells));
    }
    table
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    figures: Vec<FigureReport<'a>>,
    statements: &'a [Verdict],
    written: &'a [PathBuf],
}

#[derive(Debug, Serialize)]
struct FigureReport<'a> {
    figure: &'a str,
    title: &'a str,
    curves: Vec<CurveReport<'a>>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CurveReport<'a> {
    part: &'a str,
    label: &'a str,
    points: Vec<PointReport>,
}

#[derive(Debug, Serialize)]
struct PointReport {
    nodes: u32,
    mean: Option<f64>,
    half_width: Option<f64>,
}

impl<'a> Report<'a> {
    fn of(
        figures: &'a [Figure],
        study: &Study,
        verdicts: &'a [Verdict],
        written: &'a [PathBuf],
    ) -> Self {
        let figures = figures.iter().map(|figure| FigureReport {
            figure: figure.id,
            title: figure.title,
            curves: curves(figure, study),
            notes: report::notes(figure, study),
        });
        Report {
            figures: figures.collect(),
            statements: verdicts,
            written,
        }
    }
}

fn curves<'a>(figure: &'a Figure, study: &Study) -> Vec<CurveReport<'a>> {
    let point = |point: &figures::Configuration| {
        let value = figure.read(study, point);
        PointReport {
            nodes: point.nodes,
            mean: value.map(|value| value.mean),
            half_width: value.map(|value| value.half_width),
        }
    };
    let panels = figure.panels.iter();
    let curves = panels.flat_map(|panel| panel.curves.iter().map(move |curve| (panel, curve)));
    let report = curves.map(|(panel, curve)| CurveReport {
        part: &panel.title,
        label: &curve.label,
        points: curve.points.iter().map(point).collect(),
    });
    report.collect()
}
