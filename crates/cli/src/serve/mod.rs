//! `serve`: a database for PostgreSQL and Redis clients.

mod host_figures;
mod host_name;
mod hosting;
pub mod logging;
pub mod notify;
mod of_node;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "without_otlp.rs"]
mod otlp;
mod reads;
mod stuck;
mod turns;

use crate::end_request::{Request, requests};
use crate::nodes::NodeOption;
use crate::opened::{Opened, of_tables_alone};
use crate::store::{BasesOption, Held, StoreOption};
use hosting::{Event, Hosting};
use logging::LogLevel;
use notify::notify;
use otlp::Sending;
use rustix::process::{Resource, getrlimit, setrlimit};
use sardonyx::Options as DatabaseOptions;
use sardonyx::hosts::HostOptions;
use sardonyx::{Checkpoints, Follower};
use sardonyx_command::checkpoints::CheckpointSource;
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::{self, Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::units::parse_time;
use sardonyx_server::metrics::Protocol;
use sardonyx_server::{Doors, Lease, Options, Server, TlsFiles, configuration};
use sardonyx_sql::Database;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use turns::Turns;

pub use stuck::Stuck;

/// With a store: after so long without a sign of the serving host, another one takes over.
const LEASE: Duration = Duration::from_secs(2);
/// With any lease, reads may be bounded to this age.
const STALE_READS_LEAST: Duration = Duration::from_secs(2);
/// The time between two checks that the followed program can still be followed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// The time for which the store is asked when the database is opened and closed, before this host continues without it.
const STORE_PATIENCE: Duration = Duration::from_secs(5);

/// Serve a database to PostgreSQL and Redis clients.
///
/// A reply means that the transaction is on stable storage. By default only this host can connect, without a password;
/// at another address only users of the configuration are served, with a password. The command line overrides the
/// environment, and the environment overrides the configuration. An interrupt or a termination signal ends the server:
/// running requests are answered, clients are disconnected, and the database is closed. After a hang-up signal (SIGHUP)
/// the server reads the configuration again and applies users, certificates and the limit of slow statements; it logs
/// other changes, which need a restart.
///
/// With --store it is one of the hosts of a database whose log is in a store. One of them serves, the others follow:
/// they send clients away, so that those try the next host of their connection string. One takes over when the serving
/// host gives no sign, ends, or is asked to hand over by `store promote` or `store drain`. docs/hosts.md sets up two
/// hosts from scratch.
///
/// With --follow the database is one that another program of this host has open, such as a server. Clients read its
/// committed state, usually some milliseconds behind: each statement, or each transaction, sees one state. See
/// docs/followers.md.
///
/// Exit code 5, with --store: this host can neither serve nor follow, and a restart does not help. Its directory or the
/// log in the store is damaged, or one contradicts the other.
///
/// Examples:
///   sardonyx serve bank.sdx
///   sardonyx serve bank.sdx --follow --postgres :5434 --redis :6381 --http :8081
///   sardonyx serve bank.sdx --store s3://ledger/bank --host host-1
///   sardonyx serve bank.sdx --config /etc/sardonyx/bank.toml --postgres 0.0.0.0:5433 --redis off
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The database's directory, such as bank.sdx; created if absent
    path: PathBuf,
    /// Read the database while another program or server has it open: writes are rejected
    #[arg(long)]
    follow: bool,
    /// The configuration (TOML): docs/server.md
    #[arg(long, value_name = "FILE", env = "SARDONYX_CONFIG")]
    config: Option<PathBuf>,
    /// Addresses for PostgreSQL clients: HOST:PORT, unix:PATH, several with commas, or off [default: 127.0.0.1:5433]
    #[arg(
        long,
        value_name = "ADDR",
        value_delimiter = ',',
        env = "SARDONYX_POSTGRES"
    )]
    postgres: Vec<String>,
    /// Addresses for Redis clients [default: 127.0.0.1:6380]
    #[arg(
        long,
        value_name = "ADDR",
        value_delimiter = ',',
        env = "SARDONYX_REDIS"
    )]
    redis: Vec<String>,
    /// Addresses for metrics and the page [default: 127.0.0.1:8080]
    #[arg(
        long,
        value_name = "ADDR",
        value_delimiter = ',',
        env = "SARDONYX_HTTP"
    )]
    http: Vec<String>,
    /// The server's certificate (PEM), with which TLS is offered
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        env = "SARDONYX_TLS_CERTIFICATE"
    )]
    tls_certificate: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_certificate",
        env = "SARDONYX_TLS_KEY"
    )]
    tls_key: Option<PathBuf>,
    /// The source of the checkpoints of tables: snapshot takes half of the memory (docs/operating.md) [default: copy]
    #[arg(
        long,
        value_enum,
        value_name = "SOURCE",
        env = "SARDONYX_CHECKPOINTS",
        conflicts_with = "follow"
    )]
    checkpoints: Option<CheckpointSource>,
    #[command(flatten)]
    store: StoreOption,
    /// With --store: this host's name, unique among the hosts [default: the machine's, and a number computed from the
    /// directory]
    #[arg(long, value_name = "NAME", requires = "store")]
    host: Option<String>,
    /// With --store: another host takes over after this time without a sign of the serving host, which stops
    /// answering after half of it [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "store")]
    lease: Option<Duration>,
    /// With --store: while another host serves, answer reads if this copy is at most this old (docs/hosts.md)
    /// [default: send clients away]
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "store")]
    stale_reads: Option<Duration>,
    #[command(flatten)]
    bases: BasesOption,
    /// The directories of its moved parts
    #[command(flatten)]
    moved: Directories,
    #[command(flatten)]
    node: NodeOption,
    /// If another program has the database open, wait for it up to this time, such as 30s [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// The level of the log on standard error
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        default_value = "warn",
        env = "SARDONYX_LOG_LEVEL"
    )]
    log_level: LogLevel,
    /// The destination of spans: an OpenTelemetry collector, such as http://127.0.0.1:4318 [default: none]
    #[arg(long, value_name = "URL", env = "SARDONYX_OTLP_ENDPOINT")]
    otlp_endpoint: Option<String>,
    /// The share of flights and connections whose spans are sent, from 0 to 1 [default: 0.01]
    #[arg(long, value_name = "PART", env = "SARDONYX_OTLP_SAMPLE")]
    otlp_sample: Option<f64>,
    /// End when standard input ends, too: for programs that start a server
    #[arg(long)]
    until_input_ends: bool,
}

/// The first line of output.
#[derive(Debug, Serialize)]
struct Serving {
    postgres: Vec<String>,
    redis: Vec<String>,
    http: Vec<String>,
    /// This host's name among those of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        sardonyx_base::allocator::return_large_blocks();
        // Without a configuration there is nothing to read again, and a hang-up ends the server.
        let requests = requests(self.until_input_ends, self.config.is_some());
        self.bases.check()?;
        let mut options = self.options()?;
        // Before the database is opened, which may take long.
        options.check().map_err(usage)?;
        let sending = Sending::start(&mut options)?;
        let spans = sending.as_ref().map(Sending::layer);
        logging::tell(self.log_level, output.is_json(), spans);
        allow_open_files();
        let outcome = self.open_and_serve(options, requests, output);
        if let Some(sending) = sending {
            sending.end();
        }
        outcome?;
        Ok(Exit::Done)
    }

    fn open_and_serve(
        &self,
        options: Options,
        requests: Receiver<Request>,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let database = DatabaseOptions::new()
            .wait_for_lock(self.wait.unwrap_or_default())
            .checkpoints(self.checkpoints.map_or(Checkpoints::default(), Into::into))
            .directories(self.moved.places());
        if self.follow {
            return self.follow(options, &requests, output);
        }
        if self.store.is_named() {
            self.node.refuse("--store")?;
            return self.host(database, options, requests, output);
        }
        let open = || anyhow::Ok(Held::from(database.open_tables(&self.path)?));
        let given = of_tables_alone(&self.moved, &self.store, self.wait)
            .or(self.checkpoints.map(|_| "--checkpoints"));
        let opened = self.node.open(&self.path, given, open)?;
        let outcome = self.serve(opened.database(), options, &requests, output);
        let closed = opened.close();
        outcome?;
        closed
    }

    /// Follows the program that has the database open.
    fn follow(
        &self,
        options: Options,
        requests: &Receiver<Request>,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let of_writer = of_tables_alone(&self.moved, &self.store, self.wait);
        let opened = Opened::following(&self.path, of_writer, &self.node)?;
        self.serve(opened.database(), options, requests, output)
    }

    /// Serves as one of the hosts of a store.
    fn host(
        &self,
        database: DatabaseOptions,
        options: Options,
        requests: Receiver<Request>,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let name = match &self.host {
            Some(name) => name.clone(),
            None => host_name::of(&self.path)?,
        };
        let host = HostOptions {
            wait: self.lease.unwrap_or(LEASE),
            ..HostOptions::new(name.clone())
        };
        let refused = |error: sardonyx::Error| UsageError::Arguments(error.to_string());
        host.check().map_err(refused)?;
        self.check_stale_reads(host.wait)?;
        let doors = Doors::open(&options)?;
        let (sender, events) = channel();
        let of_store = self.store.of_host(STORE_PATIENCE, host.wait);
        // The others would wait for a checkpoint, and the next opening here reads the log that it would have saved.
        let database = database.closing_checkpoint(Duration::ZERO);
        let turns = Turns::begin(self.path.clone(), database, of_store, host, sender.clone())?;
        let asked = sender.clone();
        // An error means that the program ends.
        std::thread::spawn(move || {
            requests
                .iter()
                .try_for_each(|request| asked.send(Event::Request(request)))
        });
        self.tell(&doors, Some(&name), output)?;
        Hosting::new(self, name, doors, options, (sender, events), turns).run()
    }

    /// Refuses an age that a following host usually exceeds between two checks of the store.
    fn check_stale_reads(&self, lease: Duration) -> Result<(), UsageError> {
        let least = (lease / 8).min(STALE_READS_LEAST);
        match self.stale_reads {
            Some(age) if age < least || age.is_zero() => Err(UsageError::Arguments(format!(
                "--stale-reads {age:?} is too short: with this --lease a host asks the store seldom, and needs at least \
                     {least:?}"
            ))),
            _ => Ok(()),
        }
    }

    fn serve(
        &self,
        database: &Arc<Database>,
        mut options: Options,
        requests: &Receiver<Request>,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let mut defaults = Options::default();
        let doors = match database.tables().is_none() && database.follower().is_none() {
            true => self.doors_of_node(&mut options, &mut defaults)?,
            false => Doors::open(&options)?,
        };
        let server = Server::start_at(database.clone(), options, &doors, Lease::default())?;
        self.tell(&doors, None, output)?;
        let outcome = loop {
            match next(requests, database.follower()) {
                Ok(Request::Reload) => {
                    let taken = |options| server.reload(options).map(|left| ((), left));
                    self.reloaded(&defaults, taken);
                }
                Ok(Request::End) => break Ok(()),
                Err(error) => break Err(error.into()),
            }
        };
        notify("STOPPING=1");
        server.stop();
        outcome
    }

    /// Prints the addresses of the server.
    fn tell(&self, doors: &Doors, host: Option<&str>, output: &mut Output) -> anyhow::Result<()> {
        let at = |wanted| {
            let addresses = doors.addresses().iter();
            let found = addresses.filter(|(protocol, _)| *protocol == wanted);
            found.map(|(_, endpoint)| endpoint.to_string()).collect()
        };
        let serving = Serving {
            postgres: at(Protocol::Postgres),
            redis: at(Protocol::Redis),
            http: at(Protocol::Http),
            host: host.map(String::from),
        };
        if output.is_json() {
            output.line(&serving)?;
        } else {
            let named = [
                ("PostgreSQL clients", &serving.postgres),
                ("Redis clients", &serving.redis),
                ("metrics and page", &serving.http),
            ];
            for (what, at) in named {
                if !at.is_empty() {
                    writeln!(output, "{what:<22}{}", at.join(", "))?;
                }
            }
            if let Some(host) = host {
                writeln!(output, "{:<22}{host}", "this host")?;
            }
            writeln!(output, "Ctrl-C ends it")?;
        }
        // A program that started this one waits for this line.
        output.finish()?;
        notify("READY=1");
        Ok(())
    }

    /// Reads the configuration again, over these defaults, and applies it with `take`. If it is not valid, the log reports it
    /// and nothing changes.
    fn reloaded<T, E>(
        &self,
        defaults: &Options,
        take: impl FnOnce(Options) -> Result<(T, Vec<&'static str>), E>,
    ) -> Option<T>
    where
        anyhow::Error: From<E>,
    {
        let options = self.options_over(defaults.clone());
        match options.and_then(|options| Ok(take(options)?)) {
            Ok((taken, left)) => {
                tracing::info!("the configuration was read again");
                for name in left {
                    tracing::warn!(name, "a change of the configuration needs a restart");
                }
                Some(taken)
            }
            Err(error) => {
                let reason = exit::message(&error);
                tracing::error!(reason, "the configuration was rejected: nothing changes");
                None
            }
        }
    }

    fn options(&self) -> anyhow::Result<Options> {
        self.options_over(Options::default())
    }

    /// The options, with endpoints of `defaults` where neither an option nor the configuration names some.
    fn options_over(&self, defaults: Options) -> anyhow::Result<Options> {
        let mut options = match &self.config {
            Some(file) => configuration::read(file, defaults)?,
            None => defaults,
        };
        let places = [
            (&self.postgres, &mut options.postgres),
            (&self.redis, &mut options.redis),
            (&self.http, &mut options.http),
        ];
        for (said, place) in places {
            if !said.is_empty() {
                *place = configuration::endpoints(said).map_err(usage)?;
            }
        }
        if let Some((certificate, key)) = self.tls_certificate.clone().zip(self.tls_key.clone()) {
            options.tls = Some(TlsFiles { certificate, key });
        }
        let otlp = &mut options.otlp;
        otlp.endpoint = self.otlp_endpoint.clone().or(otlp.endpoint.take());
        otlp.sample = self.otlp_sample.or(otlp.sample);
        Ok(options)
    }
}

/// The next request.
///
/// # Errors
/// The reason why following ended.
fn next(
    requests: &Receiver<Request>,
    follower: Option<&Arc<Follower>>,
) -> Result<Request, sardonyx::Error> {
    let Some(follower) = follower else {
        // After an error no further request can arrive.
        return Ok(requests.recv().unwrap_or(Request::End));
    };
    loop {
        match requests.recv_timeout(BETWEEN_LOOKS) {
            Ok(request) => return Ok(request),
            Err(RecvTimeoutError::Disconnected) => return Ok(Request::End),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if follower.has_ended() {
            follower.position()?;
        }
    }
}

/// Raises the limit of open files, and so of connections, as far as the system allows.
fn allow_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With a lower limit there are fewer connections; the system refuses further ones when they come.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn usage(error: sardonyx_server::OptionsError) -> UsageError {
    UsageError::Arguments(error.to_string())
}
