//! The benchmark's options (figure, parameters, strategies, time), and the experiment as a whole.

use super::plan::{Figure, Parameter, Point, Sweep};
use super::victims::{self, Handling};
use super::workload::{Mix, Scale};
use super::{Plan, Setting, Until, run, show};
use crate::experiment::{About, Conditions, Experiment, Paper};
use crate::place::Place;
use crate::{ExperimentError, progress, strategy};
use anyhow::Context;
use clap::ValueEnum;
use sardonyx_multilevel::{PageLog, Strategy};
use sardonyx_results::Findings;
use sardonyx_results::units::parse_time;
use std::path::PathBuf;
use std::time::Duration;

/// Run complex objects under every strategy (DASDBS paper).
///
/// Run the complex-object benchmark of Hasse & Weikum under every strategy of multi-level
/// transactions.
///
/// 1,000 complex objects, each with 1,000 own subobjects in ten pages and 100 references to foreign
/// ones. A transaction does c operations on different complex objects; each accesses o own and f
/// foreign subobjects and changes each with probability u. S1 locks pages to the end of the
/// transaction; S2 forces the log at the end of every operation; S2/PS defers that by persistence
/// spheres; the ordered log appends and forces its prefix at the end of the transaction.
///
/// Work is timed: an access sleeps while it holds one of the simulated processors. There are twelve, as on the DASDBS
/// paper's machine, however many cores this one has. After every run, and again after closing and opening the database,
/// each subobject's value is compared with the sum of the committed additions.
///
/// Examples:
///   sardonyx-lab complex-objects
///   sardonyx-lab complex-objects --figure 9 --seconds 10 --svg figure-9.svg
///   sardonyx-lab complex-objects --dmp 12 --foreign 5 --own 5 --strategies s1,s2-ps --json
///   sardonyx-lab complex-objects --dmp 1,12,20 --semantic --page-log byte-ranges --csv runs.csv
///   sardonyx-lab complex-objects --victims --seconds 4 --svg victims.svg
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// The runs of a figure of the DASDBS paper: 7 (baseline), 8 (other u, o, c), 9 (foreign subobjects
    /// only), 10 (f from 0 to 10). Without it: the parameters below over the --dmp
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(7..=10))]
    figure: Option<u32>,
    /// Strategies, in turns [default: all; figures 9 and 10, as the DASDBS paper: all but S2]
    #[arg(
        long,
        alias = "strategy",
        value_name = "NAME,…",
        value_delimiter = ',',
        value_parser = strategy::parser()
    )]
    strategies: Vec<Strategy>,
    /// Degrees of multiprogramming: transactions at once. Figures 8 and 10 take one [default:
    /// 1,2,4,8,10,12,14,16,20; figures 8 and 10: 12]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    dmp: Vec<u32>,
    /// c: operations of a transaction [default: 12]
    #[arg(long, value_name = "N")]
    operations: Option<u32>,
    /// o: accesses of an operation to own subobjects [default: 10; figure 9: 0]
    #[arg(long, value_name = "N")]
    own: Option<u32>,
    /// f: accesses of an operation to foreign subobjects [default: 0; figure 9: 10]
    #[arg(long, value_name = "N")]
    foreign: Option<u32>,
    /// u: the percentage of accesses that change the subobject [default: 20]
    #[arg(long, value_name = "PERCENT")]
    updates: Option<u32>,
    /// Run every rule that chooses the victim of a deadlock, with every delay before the victim runs again, and compare
    /// them: the DASDBS paper does not name its rule, and its figure 9 depends on it. Without --figure that figure;
    /// without --dmp at 12; without --strategies S1 and S2/PS. A run in which transactions end one another for ever is
    /// given up and says so
    #[arg(long)]
    victims: bool,
    /// The longest delays of --victims before a victim is run again, each drawn evenly from none
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', value_parser = parse_time)]
    #[arg(requires = "victims", default_values = ["0us", "50ms", "100ms", "200ms"])]
    restart_delays: Vec<Duration>,
    /// Changes are additions that commute at the level of objects: beyond the DASDBS paper, where they lock exclusively
    #[arg(long)]
    semantic: bool,
    /// The logged part of a changed page
    #[arg(long, value_enum, default_value = "after-images")]
    page_log: PageLogChoice,
    /// Write persistence spheres that grow beyond so many pages in the background
    #[arg(long, value_name = "N", default_value_t = 256)]
    sphere_pages: usize,
    /// The time for which each access holds a processor
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "500us")]
    access_time: Duration,
    /// Simulated processors
    #[arg(long, value_name = "N", default_value_t = 12)]
    processors: usize,
    /// The measured time of each run
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// The warm-up time of each run before that
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    warm_up: f64,
    /// Measure so many transactions of each run, after a tenth of them as a warm-up, and not a time
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "warm_up"])]
    transactions: Option<u64>,
    /// Complex objects
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    objects: u32,
    /// Own subobjects of each
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    subobjects: u32,
    /// References of each to foreign subobjects
    #[arg(long, value_name = "N", default_value_t = 100)]
    references: u32,
    /// Pages of each, with the header
    #[arg(long, value_name = "N", default_value_t = 10)]
    pages: u32,
    /// The seed of the references and the transactions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The directory for the database, which is removed at the end. It should be on a real disk
    #[arg(long, value_name = "DIR", default_value = "complex-objects.sdx")]
    directory: PathBuf,
    /// Write the measures as CSV to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the measures as SVG to a file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The common options of experiments.
    #[command(flatten)]
    conditions: Conditions,
}

/// The logged part of a changed page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PageLogChoice {
    /// The whole page, as in the DASDBS paper
    AfterImages,
    /// The bytes that changed
    ByteRanges,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "complex-objects",
        source: Some((Paper::Dasdbs, "section 3")),
    };

    fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        let plan = self.plan()?;
        // Before minutes of running, rather than after.
        for file in [&self.csv, &self.svg].into_iter().flatten() {
            std::fs::write(file, "").with_context(|| format!("writing {}", file.display()))?;
        }
        let _place = Place::claim(&self.directory)?;
        let bar = progress::bar("running", 1);
        bar.enable_steady_tick(Duration::from_millis(500));
        let report = run(&plan, |progress| {
            let (over, value) = progress.at;
            bar.set_length(progress.all);
            bar.set_position(progress.done);
            bar.set_message(format!(
                "{} {}={value}, {}",
                progress.strategy.name(),
                over.name(),
                progress.handling
            ));
        });
        bar.finish_and_clear();
        let mut findings = show::findings(&report?, &self.title())?;
        if let Some(file) = &self.csv {
            findings = findings.copy(show::CSV, file);
        }
        if let Some(file) = &self.svg {
            findings = findings.copy(show::SVG, file);
        }
        Ok(findings)
    }
}

impl Options {
    fn plan(&self) -> anyhow::Result<Plan> {
        Ok(Plan {
            directory: self.directory.clone(),
            scale: Scale::new(self.objects, self.subobjects, self.references, self.pages)?,
            setting: Setting {
                processors: self.processors,
                access_time: self.access_time,
                semantic: self.semantic,
                page_log: match self.page_log {
                    PageLogChoice::AfterImages => PageLog::AfterImages,
                    PageLogChoice::ByteRanges => PageLog::ByteRanges,
                },
                seed: self.seed,
                ..Setting::default()
            },
            handlings: match self.victims {
                true => Handling::all(&self.restart_delays),
                false => vec![Handling::default()],
            },
            strategies: self.strategies(),
            sweeps: self.sweeps()?,
            until: self.until()?,
            face: self.conditions.face(),
        })
    }

    /// The picture's title.
    fn title(&self) -> String {
        let of_deadlocks = match self.victims {
            true => ", by the rule for deadlocks",
            false => "",
        };
        match self.figure() {
            Some(n) => format!("Complex objects: figure {n} of the DASDBS paper{of_deadlocks}"),
            None => "Complex objects".into(),
        }
    }

    /// The figure whose runs these are.
    fn figure(&self) -> Option<u32> {
        self.figure.or(self.victims.then_some(victims::FIGURE))
    }

    fn strategies(&self) -> Vec<Strategy> {
        let considered = |strategy: &Strategy| {
            // "Strategy S2 is no longer considered here since it was always outperformed by S2/PS."
            !matches!(self.figure(), Some(9 | 10)) || *strategy != Strategy::ForcedSubtransactions
        };
        let chosen = match self.strategies.is_empty() {
            true if self.victims => vec![Strategy::SingleLevel, Strategy::SPHERES],
            true => strategy::ALL.into_iter().filter(considered).collect(),
            false => self.strategies.clone(),
        };
        let sized = |strategy| match strategy {
            Strategy::PersistenceSpheres { .. } => Strategy::PersistenceSpheres {
                pages_max: self.sphere_pages,
            },
            other => other,
        };
        chosen.into_iter().map(sized).collect()
    }

    fn sweeps(&self) -> anyhow::Result<Vec<Sweep>> {
        let mut sweeps = match self.figure() {
            Some(number) => Figure::numbered(number)?.sweeps(),
            None => Figure::Seven.sweeps(),
        };
        for sweep in &mut sweeps {
            self.change(&mut sweep.base.mix);
            match (sweep.over, &self.dmp[..]) {
                (Parameter::Multiprogramming, []) if self.victims => {
                    sweep.values = vec![sweep.base.multiprogramming];
                }
                (_, []) => {}
                (Parameter::Multiprogramming, all) => sweep.values = all.to_vec(),
                (_, &[one]) => sweep.base = with_dmp(sweep.base, one),
                (over, _) => {
                    let message = format!(
                        "figure {} varies {}, so it takes one --dmp",
                        self.figure().unwrap_or_default(),
                        over.name()
                    );
                    return Err(ExperimentError::Usage(message).into());
                }
            }
        }
        Ok(sweeps)
    }

    fn change(&self, mix: &mut Mix) {
        let set = |to: &mut u32, given: Option<u32>| *to = given.unwrap_or(*to);
        set(&mut mix.operations, self.operations);
        set(&mut mix.own_accesses, self.own);
        set(&mut mix.foreign_accesses, self.foreign);
        set(&mut mix.update_percent, self.updates);
    }

    fn until(&self) -> anyhow::Result<Until> {
        if let Some(measured) = self.transactions {
            let warm_up = measured / 10;
            return Ok(Until::Transactions { warm_up, measured });
        }
        let time = |name: &str, seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|error| ExperimentError::Usage(format!("--{name} {seconds}: {error}")))
        };
        Ok(Until::Time {
            warm_up: time("warm-up", self.warm_up)?,
            measured: time("seconds", self.seconds)?,
        })
    }
}

fn with_dmp(point: Point, dmp: u32) -> Point {
    point.with(Parameter::Multiprogramming, dmp)
}
