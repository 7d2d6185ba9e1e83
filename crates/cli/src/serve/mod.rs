//! `serve`: a database for the clients of PostgreSQL and Redis.

mod logging;
mod notify;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(not(feature = "otlp"))]
#[path = "without_otlp.rs"]
mod otlp;

use crate::end_request::{Request, requests};
use crate::nodes::{NodeOption, Opened};
use crate::opened::of_tables_alone;
use crate::store::StoreOption;
use logging::LogLevel;
use notify::notify;
use otlp::Sending;
use rustix::process::{Resource, getrlimit, setrlimit};
use sardonyx::Options as DatabaseOptions;
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::units::parse_time;
use sardonyx_server::metrics::Protocol;
use sardonyx_server::{Options, Server, TlsFiles, configuration};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Serve a database to the clients of PostgreSQL and Redis, until an interrupt or a termination signal.
///
/// A reply means that the transaction is on stable storage. By default only this host can connect, and nobody is asked
/// for a password; at another address only users of the configuration are served, with a password. What the command
/// line says goes before the environment, and that before the configuration. At the end those that work get their
/// answer, all are told, and the database is closed. A hang-up signal (SIGHUP) has the configuration read again: users,
/// certificates and the limit of slow statements are taken, of what else has changed the log tells that it needs a
/// restart.
///
/// Examples:
///   sardonyx serve bank.sdx
///   psql -h 127.0.0.1 -p 5433
///   sardonyx serve bank.sdx --config /etc/sardonyx/bank.toml --postgres 0.0.0.0:5433 --redis off
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The database's directory, such as bank.sdx; made where absent
    path: PathBuf,
    /// The configuration (TOML): docs/server.md
    #[arg(long, value_name = "FILE", env = "SARDONYX_CONFIG")]
    config: Option<PathBuf>,
    /// Where PostgreSQL's clients are served: HOST:PORT, unix:PATH, several with commas, or off [default: 127.0.0.1:5433]
    #[arg(
        long,
        value_name = "ADDR",
        value_delimiter = ',',
        env = "SARDONYX_POSTGRES"
    )]
    postgres: Vec<String>,
    /// Where Redis' clients are served [default: 127.0.0.1:6380]
    #[arg(
        long,
        value_name = "ADDR",
        value_delimiter = ',',
        env = "SARDONYX_REDIS"
    )]
    redis: Vec<String>,
    /// Where metrics and the page are [default: 127.0.0.1:8080]
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
    #[command(flatten)]
    store: StoreOption,
    /// Where its parts were moved to
    #[command(flatten)]
    moved: Directories,
    #[command(flatten)]
    node: NodeOption,
    /// If somebody has the database open, wait so long for it, such as 30s [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// What is told on standard error while it runs
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        default_value = "warn",
        env = "SARDONYX_LOG_LEVEL"
    )]
    log_level: LogLevel,
    /// Where spans go: a collector of OpenTelemetry's, such as http://127.0.0.1:4318 [default: nowhere]
    #[arg(long, value_name = "URL", env = "SARDONYX_OTLP_ENDPOINT")]
    otlp_endpoint: Option<String>,
    /// Of how many flights and connections, from 0 to 1 [default: 0.01]
    #[arg(long, value_name = "PART", env = "SARDONYX_OTLP_SAMPLE")]
    otlp_sample: Option<f64>,
    /// End when standard input ends, too: for programs that start a server
    #[arg(long)]
    until_input_ends: bool,
}

/// What is said first.
#[derive(Debug, Serialize)]
struct Serving {
    postgres: Vec<String>,
    redis: Vec<String>,
    http: Vec<String>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        sardonyx_base::allocator::return_large_blocks();
        // Without a configuration there is nothing to be read again, and a hang-up ends it.
        let requests = requests(self.until_input_ends, self.config.is_some());
        let mut options = self.options()?;
        // Before the database is opened, which may take long.
        options.check().map_err(usage)?;
        let sending = Sending::start(&mut options)?;
        let spans = sending.as_ref().map(Sending::layer);
        logging::tell(self.log_level, output.is_json(), spans);
        allow_open_files();
        let outcome = self.open_and_serve(options, &requests, output);
        if let Some(sending) = sending {
            sending.end();
        }
        outcome?;
        Ok(Exit::Done)
    }

    fn open_and_serve(
        &self,
        options: Options,
        requests: &Receiver<Request>,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let database = DatabaseOptions::new()
            .wait_for_lock(self.wait.unwrap_or_default())
            .directories(self.moved.places());
        let open = || Ok(self.store.add(database)?.open_tables(&self.path)?);
        let given = of_tables_alone(&self.moved, &self.store, self.wait);
        let opened = self.node.open(&self.path, given, open)?;
        let outcome = self.serve(&opened, options, requests, output);
        let closed = opened.close();
        outcome?;
        closed
    }

    fn serve(
        &self,
        opened: &Opened,
        mut options: Options,
        requests: &Receiver<Request>,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let database = opened.database().clone();
        if database.tables().is_none() {
            // What nodes do not serve is refused where it is asked for.
            if self.redis.is_empty() && self.config.is_none() {
                options.redis.clear();
            }
            if self.http.is_empty() && self.config.is_none() {
                options.http.clear();
            }
        }
        let server = Server::start(database, options)?;
        let at = |wanted| {
            let addresses = server.addresses().iter();
            let found = addresses.filter(|(protocol, _)| *protocol == wanted);
            found.map(|(_, endpoint)| endpoint.to_string()).collect()
        };
        let serving = Serving {
            postgres: at(Protocol::Postgres),
            redis: at(Protocol::Redis),
            http: at(Protocol::Http),
        };
        if output.is_json() {
            output.line(&serving)?;
        } else {
            let named = [
                ("PostgreSQL's clients", &serving.postgres),
                ("Redis' clients", &serving.redis),
                ("metrics and page", &serving.http),
            ];
            for (what, at) in named {
                if !at.is_empty() {
                    writeln!(output, "{what:<22}{}", at.join(", "))?;
                }
            }
            writeln!(output, "Ctrl-C ends it")?;
        }
        // Whoever started us waits for this.
        output.finish()?;
        notify("READY=1");
        // An error means that whoever would tell is gone.
        while requests.recv() == Ok(Request::Reload) {
            self.reload(&server);
        }
        notify("STOPPING=1");
        server.stop();
        Ok(())
    }

    /// Reads the configuration again, and has the server take of it what can be taken. What is wrong with it is told in the
    /// log, and changes nothing.
    fn reload(&self, server: &Server) {
        let taken = self
            .options()
            .and_then(|options| Ok(server.reload(options)?));
        match taken {
            Ok(left) => {
                tracing::info!("the configuration was read again");
                for name in left {
                    tracing::warn!(name, "what the configuration says now needs a restart");
                }
            }
            Err(error) => {
                let reason = format!("{error:#}");
                tracing::error!(reason, "the configuration was not taken: nothing changes");
            }
        }
    }

    fn options(&self) -> anyhow::Result<Options> {
        let mut options = match &self.config {
            Some(file) => configuration::read(file)?,
            None => Options::default(),
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

/// Allows as many open files, and so connections, as the system lets this process allow itself.
fn allow_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it there are fewer connections; who wants more is told by the system when they come.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn usage(error: sardonyx_server::OptionsError) -> UsageError {
    UsageError::Arguments(error.to_string())
}
