//! A whole run: the programs with known losses, then the engine in every way of use, on one file system after the
//! other.

use crate::file_system::FileSystem;
use crate::known;
use crate::report::{Failure, Report, Row};
use crate::series::{Bench, Outcome, Series, Tally, missing, missing_for};
use crate::stack::{Workplace, clean};
use crate::way::{KNOWN, WAYS, Way, by_name};
use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_base::hash::Fnv1a;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Cuts the power under the engine: of a drive with a volatile cache, under real file systems.
///
/// Needs root, FUSE and loop devices, and for each file system the program that makes it (packages e2fsprogs, xfsprogs,
/// btrfs-progs). Missing parts are left out, with a sentence. Works in a directory of its own, and takes down
/// everything that it set up, also the leftovers of a killed run.
#[derive(Args)]
pub struct Run {
    /// The number of cuts on each file system, spread over the ways of use
    #[arg(long, default_value_t = 60)]
    cuts: u64,
    /// The seed of the cuts and losses, and of everything else except the system's timing
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file systems
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["ext4", "xfs", "btrfs"])]
    file_systems: Vec<FileSystem>,
    /// The ways of use [default: all]
    #[arg(long, value_delimiter = ',', value_parser = by_name)]
    ways: Vec<Way>,
    /// The number of cuts under each program with known losses, on each file system
    #[arg(long, default_value_t = 10)]
    known_cuts: u64,
    /// The number of cuts of one database before a new one is begun
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    lives: u64,
    /// The first drive's number, for a replay
    #[arg(long, default_value_t = 0)]
    first_drive: u64,
    /// Treat missing parts as an error
    #[arg(long)]
    require: bool,
    /// Print JSON for programs instead of text for people
    #[arg(long)]
    json: bool,
    /// The directory for temporary files
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    directory: PathBuf,
    /// The directory for a drive that lost something
    #[arg(long, default_value = "target/torture-power")]
    keep: PathBuf,
    /// The program that has the victims and the judges
    #[arg(long, hide = true, default_value = "target/release/xtask")]
    victims: PathBuf,
}

impl Run {
    /// Runs everything. The exit code is success if there was no failure.
    pub fn start(&self) -> anyhow::Result<ExitCode> {
        let missing = missing();
        if !missing.is_empty() {
            println!("torture-power is left out: {}", missing.join("; "));
            return Ok(self.left_out());
        }
        let cleaned = clean(&self.directory)?;
        if cleaned > 0 && !self.json {
            println!("took down what {cleaned} earlier runs had left");
        }
        let interrupted = Arc::new(AtomicBool::new(false));
        let at_signal = interrupted.clone();
        ctrlc::set_handler(move || at_signal.store(true, Ordering::SeqCst))?;
        let workplace = Workplace::make(&self.directory)?;
        let victims = self.victims.canonicalize();
        let bench = Bench {
            workplace: &workplace,
            victims: victims.with_context(|| format!("the victims, {}", self.victims.display()))?,
            keep: self.keep.clone(),
            interrupted,
        };
        let report = self.all(&bench)?;
        match self.json {
            true => println!("{}", serde_json::to_string_pretty(&report)?),
            false => println!("{report}"),
        }
        Ok(match report.is_good() {
            false => ExitCode::FAILURE,
            true if !report.skipped.is_empty() => self.left_out(),
            true => ExitCode::SUCCESS,
        })
    }

    /// The exit code if something is missing.
    fn left_out(&self) -> ExitCode {
        match self.require {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        }
    }

    fn all(&self, bench: &Bench<'_>) -> anyhow::Result<Report> {
        let started = Instant::now();
        let mut report = Report {
            seed: self.seed,
            known: Vec::new(),
            engine: Vec::new(),
            failures: Vec::new(),
            skipped: Vec::new(),
            stopped: None,
            seconds: 0.0,
        };
        let mut plan = Vec::new();
        for &file_system in &self.file_systems {
            match missing_for(file_system) {
                Some(missing) => report
                    .skipped
                    .push(format!("{}: {missing}", file_system.name())),
                None => plan.extend(
                    self.plan()
                        .into_iter()
                        .map(|(way, n)| (file_system, way, n)),
                ),
            }
        }
        let sqlite = known::has_sqlite();
        if !sqlite
            && plan
                .iter()
                .any(|(_, way, _)| way.name.starts_with("sqlite"))
        {
            plan.retain(|(_, way, _)| !way.name.starts_with("sqlite"));
            let missing = "SQLite: there is no program sqlite3, or no stdbuf";
            report.skipped.push(missing.to_string());
        }
        let all = plan.iter().map(|(_, _, cuts)| cuts).sum();
        let style = "{bar:30} {pos}/{len} cuts, {eta} left, {msg}";
        let progress = ProgressBar::new(all).with_style(ProgressStyle::with_template(style)?);
        for (file_system, way, cuts) in plan {
            progress.set_message(format!("{} {}", file_system.name(), way.name));
            let failures = &mut report.failures;
            let row = match self.row(bench, file_system, way, cuts, &progress, failures) {
                Ok(row) => row,
                Err(error) => {
                    // The findings so far are still worth reporting.
                    report.stopped =
                        Some(format!("{} {}: {error:#}", file_system.name(), way.name));
                    break;
                }
            };
            match way.must_lose {
                Some(_) => report.known.push(row),
                None => report.engine.push(row),
            }
        }
        progress.finish_and_clear();
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// The number of cuts for each way, on each file system.
    fn plan(&self) -> Vec<(Way, u64)> {
        if !self.ways.is_empty() {
            return spread(&self.ways, self.cuts);
        }
        let mut plan: Vec<_> = KNOWN.iter().map(|way| (*way, self.known_cuts)).collect();
        plan.extend(spread(&WAYS, self.cuts));
        plan.retain(|(_, cuts)| *cuts > 0);
        plan
    }

    /// All cuts of one way on one file system.
    fn row(
        &self,
        bench: &Bench<'_>,
        file_system: FileSystem,
        way: Way,
        cuts: u64,
        progress: &ProgressBar,
        failures: &mut Vec<Failure>,
    ) -> anyhow::Result<Row> {
        let started = Instant::now();
        let mut tally = Tally::default();
        let mut drive = self.first_drive;
        // The series on the present drive; after a loss the next cut needs a new one.
        let mut series: Option<(Series<'_>, u64)> = None;
        for _ in 0..cuts {
            let (mut current, lived) = match series.take() {
                Some(current) => current,
                None => {
                    let seed = mixed(self.seed, file_system, way, drive);
                    drive += 1;
                    (Series::begin(bench, file_system, way, seed)?, 0)
                }
            };
            let outcome = current.cut(&mut tally)?;
            progress.inc(1);
            let mut fail = |current: &Series<'_>, what: String| -> anyhow::Result<()> {
                let replay = format!(
                    "cargo xtask torture-power --seed {} --file-systems {} --ways {} --first-drive {} \
                     --lives {} --cuts {}",
                    self.seed,
                    file_system.name(),
                    way.name,
                    drive - 1,
                    self.lives,
                    lived + 1
                );
                let name = format!(
                    "{}-{}-{}-{}-{lived}",
                    file_system.name(),
                    way.name,
                    self.seed,
                    drive - 1
                );
                let kept = current.keep(&name, &what, &replay)?;
                progress.println(format!("{} {}: {what}", file_system.name(), way.name));
                failures.push(Failure {
                    file_system,
                    way: way.name,
                    what,
                    replay,
                    drive: Some(kept.display().to_string()),
                });
                Ok(())
            };
            let whole = match outcome {
                Outcome::Whole => true,
                Outcome::FileSystemLost => false,
                Outcome::Lost(what) => {
                    tally.lost += 1;
                    if way.must_lose != Some(true) {
                        fail(&current, what)?;
                    }
                    // Such a program begins anew with every cut.
                    way.begins_anew()
                }
            };
            if whole && lived + 1 < self.lives {
                series = Some((current, lived + 1));
            }
        }
        // A lying drive may lose the file system first; then there is nothing left to judge.
        let lost = tally.lost + tally.torn_file_systems;
        if way.must_lose == Some(true) && lost == 0 && cuts > 0 {
            failures.push(Failure {
                file_system,
                way: way.name,
                what: "it lost nothing, and must: the drive does not lose what it may".into(),
                replay: format!(
                    "cargo xtask torture-power --seed {} --file-systems {} --ways {} --cuts {cuts}",
                    self.seed,
                    file_system.name(),
                    way.name
                ),
                drive: None,
            });
        }
        Ok(Row {
            file_system,
            way: way.name,
            must_lose: way.must_lose,
            tally,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}

/// Cuts spread over ways.
fn spread(ways: &[Way], cuts: u64) -> Vec<(Way, u64)> {
    let (each, left) = (cuts / ways.len() as u64, cuts % ways.len() as u64);
    let ways = ways.iter().zip(0u64..);
    let ways = ways.map(|(way, nth)| (*way, each + u64::from(nth < left)));
    ways.filter(|(_, cuts)| *cuts > 0).collect()
}

/// The seed of a drive: the same for any other options.
fn mixed(seed: u64, file_system: FileSystem, way: Way, drive: u64) -> u64 {
    let words = format!("{seed} {} {} {drive}", file_system.name(), way.name);
    Fnv1a::of(words.as_bytes())
}
