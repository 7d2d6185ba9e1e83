//! `standby`: the standby of a database at another address.
//!
//! Source: TPK paper (Li & Naughton), section 3, configuration C.

use crate::end_request::end_requested;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units::{self, parse_bytes, parse_time};
use sardonyx_standby::{ListeningStandby, StandbyError, StandbyOptions, StandbyReport};
use sardonyx_standby::{StandbyServer, Token};
use sardonyx_tls::{Tls, TlsFiles};
use serde::Serialize;
use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Be the standby of a database elsewhere: keep its copy, and write its checkpoints.
///
/// A database that is opened with this address for its checkpoints sends its log here. The directory
/// gets a log, a copy of the data and a backup of its own; if the other disk is lost, stop this
/// process and open the directory as the database. It then has everything that had arrived: what was
/// acknowledged in the last moments may be missing. An empty directory becomes the standby of the
/// first database that comes. Ends at an interrupt (Ctrl-C) or a termination signal.
///
/// With --tls only a primary whose certificate the same CA has signed is served, and nobody on the way can
/// read or change anything. Without it the connection is as TCP is: for one host, or a network that you
/// trust. With --token-file only a primary that was given the same token is served.
///
/// Example: sardonyx standby --listen 0.0.0.0:7070 --tls /etc/sardonyx standby.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The standby's directory, such as standby.sdx; made where absent
    path: PathBuf,
    /// Where to listen, such as 0.0.0.0:7070; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// The most bytes of log on this disk [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    log_bytes: Option<u64>,
    /// Bytes of log between the beginnings of two checkpoints [default: three eighths of the log]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    checkpoint_interval: Option<u64>,
    /// Serve only a primary that has the token in this file: a secret text of 1 to 1024 bytes
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Talk by TLS, with the files ca.pem, cert.pem and key.pem of this directory
    #[arg(long, value_name = "DIR")]
    tls: Option<PathBuf>,
    #[command(flatten)]
    directories: Directories,
    /// If somebody has the directory open, wait so long for it, such as 30s [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// End when standard input ends, too: for programs that start a standby
    #[arg(long)]
    until_input_ends: bool,
}

/// What is said first.
#[derive(Debug, Serialize)]
struct Listening {
    listening: String,
}

/// What is said at the end.
#[derive(Debug, Serialize)]
struct Report {
    /// `None` if no database ever came.
    identity: Option<String>,
    groups: u64,
    transactions: u64,
    log_end_lsn: u64,
    checkpoints: u64,
}

impl From<Option<StandbyReport>> for Report {
    fn from(report: Option<StandbyReport>) -> Self {
        let durable = report.map(|report| report.durable);
        Report {
            identity: report.map(|report| format!("{:016x}", report.identity)),
            groups: durable.map_or(0, |durable| durable.group - 1),
            transactions: durable.map_or(0, |durable| durable.transactions),
            log_end_lsn: durable.map_or(0, |durable| durable.lsn.0),
            checkpoints: report.map_or(0, |report| report.checkpoints),
        }
    }
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let end = end_requested(self.until_input_ends);
        let mut options = StandbyOptions::new();
        if let Some(bytes) = self.log_bytes {
            options = options.log_bytes_max(bytes);
        }
        if let Some(bytes) = self.checkpoint_interval {
            options = options.checkpoint_interval_bytes(bytes);
        }
        if let Some(file) = &self.token_file {
            options = options.token(Token::of_file(file)?);
        }
        if let Some(directory) = &self.tls {
            let tls = Tls::new(&TlsFiles::in_directory(directory))?;
            options = options.transport(Arc::new(tls));
        }
        options = options
            .wait_for_lock(self.wait.unwrap_or_default())
            .directories(self.directories.places());
        // First, so that no directory is made where nobody can listen.
        let listener = TcpListener::bind(self.listen.as_str()).map_err(|source| {
            let address = self.listen.clone();
            StandbyError::Listen { address, source }
        })?;
        let standby = StandbyServer::open(&self.path, options)?.listen_on(listener)?;
        let listening = standby.address().to_string();
        match output.is_json() {
            true => output.line(&Listening { listening })?,
            false => writeln!(output, "listening at {listening}; Ctrl-C ends it")?,
        }
        // Whoever started us waits for this line.
        output.finish()?;

        let failure = watch(&standby, &end);
        let report = Report::from(standby.report());
        standby.stop();
        if let Some(failure) = failure {
            return Err(failure);
        }
        if output.is_json() {
            output.line(&report)?;
        } else {
            let mut sheet = Sheet::default();
            sheet.heading("Standby");
            let identity = report.identity.as_deref();
            sheet.figure("database", identity.unwrap_or("none came"));
            sheet.figure("transactions", units::count(report.transactions));
            sheet.figure("groups", units::count(report.groups));
            sheet.figure("log", units::bytes(report.log_end_lsn));
            sheet.figure("checkpoints completed", units::count(report.checkpoints));
            write!(output, "{sheet}")?;
        }
        Ok(Exit::Done)
    }
}

/// Shows how it goes until the end is requested; returns why it cannot go on, if it cannot.
fn watch(standby: &ListeningStandby, end: &Receiver<()>) -> Option<anyhow::Error> {
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("a valid template");
    let bar = ProgressBar::new_spinner().with_style(style);
    while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(Duration::from_millis(500)) {
        if let Some(failure) = standby.failure() {
            bar.finish_and_clear();
            return Some(failure.into());
        }
        bar.set_message(match standby.report() {
            None => "no database came yet".into(),
            Some(report) => format!(
                "{}, {} transactions, {} checkpoints",
                if report.connected {
                    "connected"
                } else {
                    "not connected"
                },
                units::count(report.durable.transactions),
                units::count(report.checkpoints),
            ),
        });
        bar.tick();
    }
    bar.finish_and_clear();
    None
}
