//! `store serve`: keeps the logs of other hosts, which use it as `tcp://HOST:PORT`.

use crate::end_request::end_requested;
#[cfg(feature = "sql")]
use crate::serve::{
    logging::{LogLevel, tell},
    notify::notify,
};
use sardonyx_base::greeting::Trust;
use sardonyx_base::token::Token;
use sardonyx_base::transport::Plain;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_remote::StoreServer;
use sardonyx_tls::{Tls, TlsFiles};
use serde::Serialize;
use std::io::Write;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The time between two checks for a failed write of the log.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// Keep the log of a database for other hosts.
///
/// They use it as the place tcp://HOST:PORT: an entry is on this host's disk before it is acknowledged. A host on the
/// same machine uses tcp://127.0.0.1:PORT. Ends at an interrupt (Ctrl-C) or a termination signal; the other hosts then
/// wait until it is restarted. After a failed write or sync it ends with exit code 4. After a restart, it recovers the
/// stable entries.
///
/// This process alone uses a DIRECTORY, with the entries in one log: an entry costs one synced write. As file:DIRECTORY
/// each entry is a file, which is slower; a host on the same machine may then use file:DIRECTORY, too. A directory
/// keeps the form of its first use.
///
/// With --tls only hosts whose certificate the same CA has signed are served, and the connection is encrypted; they set
/// SARDONYX_STORE_TLS. Without it connections are plain TCP: for one host, or a trusted network. With --token-file only
/// hosts that have the same token are served; they set SARDONYX_STORE_TOKEN_FILE.
///
/// Example: sardonyx store serve /srv/bank-log --listen 0.0.0.0:7071 --tls /etc/sardonyx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The directory of the log, created if absent; file:DIRECTORY if other processes use it, too
    #[arg(value_name = "DIRECTORY")]
    place: String,
    /// The address to listen at, such as 0.0.0.0:7071; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// Serve only hosts that have the token in this file: a secret text of 1 to 1024 bytes
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Use TLS, with the files ca.pem, cert.pem and key.pem of this directory
    #[arg(long, value_name = "DIR")]
    tls: Option<PathBuf>,
    /// The events written to standard error: hosts that were refused, from `info` on
    #[cfg(feature = "sql")]
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Info)]
    log_level: LogLevel,
    /// End when standard input ends, too: for programs that start it
    #[arg(long)]
    until_input_ends: bool,
}

/// The first line.
#[derive(Debug, Serialize)]
struct Listening {
    listening: String,
    place: String,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let end = end_requested(self.until_input_ends);
        #[cfg(feature = "sql")]
        tell(self.log_level, output.is_json(), None);
        if is_store_of_others(&self.place) {
            let place = &self.place;
            return Err(UsageError::Arguments(format!(
                "{place} is not a directory of this host: give a directory, or file:DIRECTORY; hosts use other stores themselves"
            ))
            .into());
        }
        let mut trust = Trust {
            transport: Arc::new(Plain),
            token: self.token_file.as_ref().map(Token::of_file).transpose()?,
        };
        if let Some(directory) = &self.tls {
            trust.transport = Arc::new(Tls::new(&TlsFiles::in_directory(directory))?);
        }
        // First, so that no directory is created if the address is taken.
        let listener = TcpListener::bind(self.listen.as_str())
            .map_err(|error| anyhow::anyhow!("cannot listen at {}: {error}", self.listen))?;
        // Its hosts encrypt their entries, if they do.
        let store = StoreServer::open(&self.place)?;
        let place = store.place();
        let server = StoreServer::start(store.clone(), listener, trust)?;
        let listening = server.address().to_string();
        match output.is_json() {
            true => output.line(&Listening { listening, place })?,
            false => writeln!(
                output,
                "{place} is kept for hosts as tcp://{listening}; Ctrl-C ends it"
            )?,
        }
        // A program that has started it waits for this line.
        output.finish()?;
        #[cfg(feature = "sql")]
        notify("READY=1");
        let outcome = until_ended(&end, || store.failure());
        drop(server);
        outcome.map(|()| Exit::Done)
    }
}

/// Waits until a request ends it.
///
/// # Errors
/// A write failed: nothing more is accepted, and a supervisor's restart continues.
fn until_ended(end: &Receiver<()>, failure: impl Fn() -> Option<String>) -> anyhow::Result<()> {
    // Disconnected: no further request can arrive.
    while end.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
        if let Some(reason) = failure() {
            anyhow::bail!(
                "{reason}; after a restart, this process continues with the stable entries"
            );
        }
    }
    Ok(())
}

/// True for a place with a scheme other than `file:`.
fn is_store_of_others(place: &str) -> bool {
    let scheme = place.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme != "file" && !scheme.contains(['/', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn it_ends_with_an_error_when_a_write_has_failed_and_without_one_when_it_is_ended() {
        let (sender, end) = channel();
        let failed = until_ended(&end, || Some("the disk has gone".into())).unwrap_err();
        assert!(failed.to_string().contains("the disk has gone"), "{failed}");
        assert_eq!(sardonyx_command::exit::of_error(&failed, &[]), Exit::Failed);
        sender.send(()).unwrap();
        until_ended(&end, || None).unwrap();
        drop(sender);
        until_ended(&end, || None).unwrap();
    }
}
