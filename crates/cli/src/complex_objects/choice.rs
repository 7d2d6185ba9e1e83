//! The benchmark's arguments: which figure, which parameters, which strategies, how long.

use crate::exit::UsageError;
use crate::output::units::parse_time;
use clap::ValueEnum;
use sardonyx_lab::complex_objects::workload::{Mix, Scale};
use sardonyx_lab::complex_objects::{Figure, Options, Parameter, Point, Setting, Sweep, Until};
use sardonyx_lab::floor::Face;
use sardonyx_multilevel::{PageLog, Strategy};
use std::path::Path;
use std::time::Duration;

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Choice {
    /// The runs of a figure of the paper: 7 (baseline), 8 (other u, o, c), 9 (foreign subobjects
    /// only), 10 (f from 0 to 10). Without it: the parameters below over the --dmp
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(7..=10))]
    figure: Option<u32>,
    /// Strategies, in turns [default: all; figures 9 and 10, as the paper: all but S2]
    #[arg(
        long,
        alias = "strategy",
        value_enum,
        value_name = "NAME,…",
        value_delimiter = ','
    )]
    strategies: Vec<StrategyChoice>,
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
    /// u: how many of a hundred accesses change the subobject [default: 20]
    #[arg(long, value_name = "PERCENT")]
    updates: Option<u32>,
    /// Changes are additions that commute at the level of objects: beyond the paper, where they lock
    /// exclusively
    #[arg(long)]
    semantic: bool,
    /// What of a changed page goes to the log
    #[arg(long, value_enum, default_value = "after-images")]
    page_log: PageLogChoice,
    /// Write persistence spheres that grow beyond so many pages in the background
    #[arg(long, value_name = "N", default_value_t = 256)]
    sphere_pages: usize,
    /// How long each access holds a processor
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "500us")]
    access_time: Duration,
    /// Simulated processors
    #[arg(long, value_name = "N", default_value_t = 12)]
    processors: usize,
    /// How long each run is measured
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// How long each run warms up before that
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
    /// Decides the references and which transactions are run
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Keep a core awake with a thread of the lowest priority: on virtual machines an idle core may
    /// notice a finished write only at its timer tick, milliseconds late
    #[arg(long)]
    busy: bool,
}

/// The strategies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum StrategyChoice {
    /// Single-level: locks on pages to the end of the transaction
    S1,
    /// Two-level, the log forced at the end of every operation
    S2,
    /// Two-level, with persistence spheres
    #[value(alias = "spheres")]
    S2Ps,
    /// Two-level, on one ordered log
    OrderedLog,
}

/// What goes to the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum PageLogChoice {
    /// The whole page, as in the paper
    AfterImages,
    /// The bytes that changed
    ByteRanges,
}

impl Choice {
    /// The experiment's options.
    ///
    /// # Errors
    /// [`UsageError`] for arguments that do not fit together, and what the experiment refuses.
    pub fn options(&self, directory: &Path) -> anyhow::Result<Options> {
        Ok(Options {
            directory: directory.to_path_buf(),
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
            strategies: self.strategies(),
            sweeps: self.sweeps()?,
            until: self.until()?,
            face: if self.busy { Face::Busy } else { Face::Idle },
        })
    }

    /// What the picture shows.
    pub fn title(&self) -> String {
        match self.figure {
            Some(number) => format!("Complex objects: figure {number} of the paper"),
            None => "Complex objects".into(),
        }
    }

    fn strategies(&self) -> Vec<Strategy> {
        let strategy = |choice: &StrategyChoice| match choice {
            StrategyChoice::S1 => Strategy::SingleLevel,
            StrategyChoice::S2 => Strategy::ForcedSubtransactions,
            StrategyChoice::S2Ps => Strategy::PersistenceSpheres {
                pages_max: self.sphere_pages,
            },
            StrategyChoice::OrderedLog => Strategy::OrderedLog,
        };
        if !self.strategies.is_empty() {
            return self.strategies.iter().map(strategy).collect();
        }
        let considered = |choice: &&StrategyChoice| {
            // "Strategy S2 is no longer considered here since it was always outperformed by S2/PS."
            !matches!(self.figure, Some(9 | 10)) || **choice != StrategyChoice::S2
        };
        let all = StrategyChoice::value_variants().iter();
        all.filter(considered).map(strategy).collect()
    }

    fn sweeps(&self) -> anyhow::Result<Vec<Sweep>> {
        let mut sweeps = match self.figure {
            Some(number) => Figure::numbered(number)?.sweeps(),
            None => Figure::Seven.sweeps(),
        };
        for sweep in &mut sweeps {
            self.change(&mut sweep.base.mix);
            match (sweep.over, &self.dmp[..]) {
                (_, []) => {}
                (Parameter::Multiprogramming, all) => sweep.values = all.to_vec(),
                (_, &[one]) => sweep.base = with_dmp(sweep.base, one),
                (over, _) => {
                    let message = format!(
                        "figure {} varies {}, so it takes one --dmp",
                        self.figure.unwrap_or_default(),
                        over.name()
                    );
                    return Err(UsageError::Arguments(message).into());
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
                .map_err(|error| UsageError::Arguments(format!("--{name} {seconds}: {error}")))
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
