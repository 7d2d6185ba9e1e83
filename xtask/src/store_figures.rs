//! `store-figures`: the cost of a log in each of several places, in one run: the time of a put, and that of a
//! transaction that waits for it; the transactions a second when many wait together; the lag of a copy that follows.
//!
//! Real stores are started here (`--with`), on the same machine, whose cores and disk they share. A server over TCP
//! keeps one log, so each measurement has new ones.

use crate::kept_stores::KeptStores;
use crate::own_directory::OwnDirectory;
use crate::store_lag;
use crate::store_servers::{StoreKind, StoreServers, run_with_endpoint};
use crate::torture::remove;
use anyhow::{Context, ensure};
use clap::{Args, Parser, ValueEnum};
use sardonyx_base::random::system_random;
use sardonyx_benchmark::{debit_credit, experiment};
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::EntryBuilder;
use sardonyx_storage::remote_log::position::EntryPosition;
use sardonyx_storage::remote_log::shell::{Patience, RemoteWriter, trim};
use std::path::PathBuf;
use std::time::Instant;

/// The sizes of puts, in bytes.
const PUT_BYTES: [usize; 2] = [4 << 10, 1 << 20];

/// Options of `store-figures`.
#[derive(Args)]
pub struct StoreFigures {
    /// Starts this store here; may be given more than once.
    #[arg(long)]
    with: Vec<Started>,
    /// An existing store: s3://BUCKET/PREFIX, nats://HOST/STREAM or file:DIRECTORY; may be given more than once.
    #[arg(long)]
    store: Vec<String>,
    /// The program of the servers over TCP [default: sardonyx beside this program]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Puts of each size.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    puts: u64,
    /// The time of the transactions, twice for each place.
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// The directory of databases and started stores; removed before and after, so it must be new or of an earlier run. It should be on a real disk.
    #[arg(long, default_value = "target/store-figures")]
    directory: PathBuf,
}

/// A store that is started here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Started {
    /// Three nats-servers, with `sync_interval: always`.
    Nats,
    /// One versitygw.
    Versitygw,
    /// One `sardonyx store serve`.
    Tcp,
    /// Two of them, with the log on both.
    Copies,
}

/// The place of a measurement.
enum Stores {
    /// No store.
    None,
    /// A place that has parts.
    There(String),
    /// New servers for each measurement.
    New(Started, PathBuf),
}

/// The store of one measurement, and its servers.
struct Measured {
    place: String,
    /// False of servers that keep one log.
    has_parts: bool,
    _servers: Option<KeptStores>,
}

impl Measured {
    /// The place of a part, or of the one log.
    fn part(&self, part: &str) -> String {
        match self.has_parts {
            true => format!("{}/{part}", self.place),
            false => self.place.clone(),
        }
    }
}

/// The benchmark, as a command line has it.
#[derive(Parser)]
struct Benchmark {
    #[command(flatten)]
    options: debit_credit::Options,
}

/// A line of the table.
struct Line {
    place: String,
    puts: Vec<String>,
    one_at_a_time: [String; 2],
    together: [String; 3],
    /// Transactions a second during the work of a copy, and the copy's lag.
    followed: [String; 4],
}

impl StoreFigures {
    /// Measures, place by place, and prints a table.
    pub fn run(&self) -> anyhow::Result<()> {
        for started in &self.with {
            if let Some(kind) = started.kind()
                && let Some(()) = run_with_endpoint(kind)?
            {
                return Ok(());
            }
        }
        let _own = OwnDirectory::take(&self.directory)?;
        remove(&self.directory)?;
        std::fs::create_dir_all(&self.directory)?;
        let mut lines = vec![self.measure("the directory alone", &Stores::None)?];
        let file = format!("file:{}", self.directory.join("file-store").display());
        for place in self.store.iter().chain([&file]) {
            lines.push(self.measure(place, &Stores::There(place.clone()))?);
        }
        for started in &self.with {
            // One after the other, so that none takes another's processor time.
            let beside = self.directory.join(format!("{started:?}"));
            let name = match started {
                Started::Nats => "JetStream, three servers, sync always",
                Started::Versitygw => "versitygw (does not sync)",
                Started::Tcp => "store serve",
                Started::Copies => "store serve, two copies",
            };
            let line = match started.kind() {
                Some(kind) => {
                    let servers = StoreServers::start(kind, None, &beside)?;
                    self.measure(name, &Stores::There(servers.place()))?
                }
                None => self.measure(name, &Stores::New(*started, beside))?,
            };
            lines.push(line);
        }
        print(&lines);
        remove(&self.directory)
    }

    /// The store of the next measurement.
    fn store(&self, stores: &Stores) -> anyhow::Result<Option<Measured>> {
        let (started, directory) = match stores {
            Stores::None => return Ok(None),
            Stores::There(place) => {
                return Ok(Some(Measured {
                    place: place.clone(),
                    has_parts: true,
                    _servers: None,
                }));
            }
            Stores::New(started, directory) => (started, directory),
        };
        let program = match &self.program {
            Some(program) => program.clone(),
            None => std::env::current_exe()?.with_file_name("sardonyx"),
        };
        let servers = match started {
            Started::Copies => KeptStores::copies(&program, directory)?,
            _ => KeptStores::tcp(&program, directory)?,
        };
        Ok(Some(Measured {
            place: servers.place().into(),
            has_parts: false,
            _servers: Some(servers),
        }))
    }

    fn measure(&self, name: &str, stores: &Stores) -> anyhow::Result<Line> {
        eprintln!("{name}, load {}", load()?);
        let puts = match self.store(stores)? {
            None => vec!["".into(); 2 * PUT_BYTES.len()],
            Some(store) => self.puts(&store)?,
        };
        let benchmark = |how: &[&str]| {
            let store = self.store(stores)?;
            let place = store.as_ref().map(|store| store.place.as_str());
            self.benchmark(place, None, how)
        };
        let one = benchmark(&["--one-at-a-time", "--clients", "1"])?;
        let many = benchmark(&["--batches-in-flight", "64"])?;
        let followed = match self.store(stores)? {
            None => ["", "", "", ""].map(String::from),
            Some(store) => self.followed(&store)?,
        };
        let sync = |face: &str| one["sync_latency"][face]["median_microseconds"].as_f64();
        eprintln!(
            "a bare durable write of 4 KiB in the directory, median: {:.0} us with the cores as they are, {:.0} us with a core kept busy",
            sync("idle").context("a latency")?,
            sync("busy").context("a latency")?,
        );
        let response = |figures: &serde_json::Value, part: &str| {
            let microseconds = figures["runs"][0]["responses"][part].as_f64();
            microseconds.map_or("none".into(), |time| format!("{:.2}", time / 1000.0))
        };
        let rate = many["runs"][0]["transactions_per_second"].as_f64();
        Ok(Line {
            place: name.into(),
            puts,
            one_at_a_time: ["p50_microseconds", "p99_microseconds"]
                .map(|part| response(&one, part)),
            together: [
                format!("{:.2}", rate.context("a rate")? / 1e6),
                response(&many, "p50_microseconds"),
                response(&many, "p99_microseconds"),
            ],
            followed,
        })
    }

    /// Debit-credit as fast as it goes, and a copy that follows: millions of transactions a second, and the copy's lag in
    /// milliseconds.
    fn followed(&self, store: &Measured) -> anyhow::Result<[String; 4]> {
        let copy = self.directory.join("copy");
        remove(&copy)?;
        let part = format!("followed-{:016x}", system_random());
        let at = store.part(&part);
        let how = ["--batches-in-flight", "64"];
        let work = || self.benchmark(Some(&store.place), Some(&part), &how);
        let (figures, lag) = store_lag::beside(&at, &copy, work)?;
        let rate = figures["runs"][0]["transactions_per_second"].as_f64();
        let [p50, p99, most] =
            [0.5, 0.99, 1.0].map(|part| format!("{:.0}", lag.milliseconds(part)));
        let rate = format!("{:.2}", rate.context("a rate")? / 1e6);
        Ok([rate, p50, p99, most])
    }

    /// The median and the 99th percentile of each size, in milliseconds.
    fn puts(&self, store: &Measured) -> anyhow::Result<Vec<String>> {
        let store = open(&store.part("puts"), &RemoteOptions::from_environment()?)?;
        let (mut at, mut figures) = (EntryPosition::START, Vec::new());
        for bytes in PUT_BYTES {
            let apply = |_: &_| Ok::<_, RemoteLogError>(());
            let mut log = RemoteWriter::claim(store.clone(), 1, at, Patience::default(), apply)?;
            let block = vec![0x5A; bytes];
            let mut times = Vec::new();
            for _ in 0..self.puts {
                let mut entry = EntryBuilder::new();
                entry.push(&block);
                let started = Instant::now();
                at = log.append(entry)?;
                times.push(started.elapsed());
            }
            times.sort();
            for part in [0.5, 0.99] {
                let rank = (times.len() as f64 * part).ceil() as usize;
                let time = times[rank.max(1) - 1];
                figures.push(format!("{:.2}", time.as_secs_f64() * 1000.0));
            }
        }
        trim(&*store, 1, at, &Patience::default())?;
        Ok(figures)
    }

    /// Debit-credit with its log there; its proof holds, or this fails.
    fn benchmark(
        &self,
        place: Option<&str>,
        part: Option<&str>,
        how: &[&str],
    ) -> anyhow::Result<serde_json::Value> {
        let directory = self.directory.join("bank").display().to_string();
        let seconds = self.seconds.to_string();
        let mut arguments = vec!["debit-credit", "--seconds", &seconds];
        arguments.extend(["--directory", &directory]);
        arguments.extend(how);
        if let Some(place) = place {
            arguments.extend(["--store", place]);
        }
        let mut benchmark = Benchmark::try_parse_from(arguments)?;
        benchmark.options.store.part = part.map(str::to_string);
        let mut found = Vec::new();
        let holds = experiment::run(&benchmark.options, true, &mut found)?;
        ensure!(holds, "the benchmark's proof does not hold");
        Ok(serde_json::from_slice(&found)?)
    }
}

impl Started {
    /// Its servers, if it is a third party's store.
    fn kind(self) -> Option<StoreKind> {
        match self {
            Started::Nats => Some(StoreKind::Nats),
            Started::Versitygw => Some(StoreKind::Versitygw),
            Started::Tcp | Started::Copies => None,
        }
    }
}

/// The average number of threads that wanted a processor in the last minute.
fn load() -> anyhow::Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    Ok(load.split(' ').next().unwrap_or_default().into())
}

fn print(lines: &[Line]) {
    println!(
        "{:<40} {:>16} {:>16} {:>16} {:>26} {:>34}",
        "",
        "put of 4 KiB, ms",
        "put of 1 MiB, ms",
        "one at a time, ms",
        "together",
        "a copy that follows"
    );
    println!(
        "{:<40} {:>8}{:>8} {:>8}{:>8} {:>8}{:>8} {:>10}{:>8}{:>8} {:>10}{:>8}{:>8}{:>8}",
        "log",
        "p50",
        "p99",
        "p50",
        "p99",
        "p50",
        "p99",
        "million/s",
        "p50 ms",
        "p99 ms",
        "million/s",
        "p50 ms",
        "p99 ms",
        "most"
    );
    for line in lines {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| line.puts[at].as_str());
        let ([e, f], [g, h, i]) = (&line.one_at_a_time, &line.together);
        let [j, k, l, m] = &line.followed;
        println!(
            "{:<40} {a:>8}{b:>8} {c:>8}{d:>8} {e:>8}{f:>8} {g:>10}{h:>8}{i:>8} {j:>10}{k:>8}{l:>8}{m:>8}",
            line.place
        );
    }
}
