//! `top`: the activity of a server, in a terminal.
//!
//! It reads a server's state over HTTP, as the server's page does, and shows the difference of two states. In a
//! terminal it redraws in place, on the alternate screen, which disappears at the end.

mod client;
mod frame;

use crate::end_request::end_requested;
use client::Client;
use rustix::termios::{isatty, tcgetwinsize};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::units::parse_time;
use sardonyx_server::state::{Rates, State};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The variable with the password.
const PASSWORD: &str = "SARDONYX_PASSWORD";
/// Enters the alternate screen of a terminal, without a cursor; and leaves it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Show the activity of a server.
///
/// Throughput, response times, the load of each stage, clients, tables and slow statements are those of the server's
/// page, read at its HTTP address. If the server asks for a password, give a user's name, and the password in the
/// environment (SARDONYX_PASSWORD). With --json each update is an object in a line, with the work since the previous
/// one. Ctrl-C ends it.
///
/// Examples:
///   sardonyx top
///   sardonyx top https://db.example:8080 --user ada --ca ca.pem
///   sardonyx top --once --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The server's HTTP address
    #[arg(default_value = "http://127.0.0.1:8080", env = "SARDONYX_URL")]
    url: String,
    /// The time between two updates, such as 500ms
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1s")]
    interval: Duration,
    /// Show the work of one interval, and end
    #[arg(long)]
    once: bool,
    /// A user's name
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The CA certificate (PEM) that the server is verified with, for https
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// A state, and the work since the previous one.
#[derive(Serialize)]
struct Shown<'a> {
    state: &'a State,
    rates: &'a Rates,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        if self.interval < Duration::from_millis(100) {
            let text = "--interval: at least 100ms".to_string();
            return Err(UsageError::Arguments(text).into());
        }
        let end = end_requested(false);
        let password = std::env::var(PASSWORD).unwrap_or_default();
        let user = self.user.as_deref().map(|name| (name, password.as_str()));
        let client = Client::new(&self.url, user, self.ca.as_deref())?;
        let mut before = client.state()?;
        let on_screen = !output.is_json() && !self.once && isatty(std::io::stdout());
        if on_screen {
            write!(output, "{ENTER}")?;
        }
        let outcome = self.watch(&client, &mut before, &end, on_screen, output);
        if on_screen {
            write!(output, "{LEAVE}")?;
            // The terminal is restored before an error is printed, which would otherwise disappear with the screen.
            output.finish()?;
        }
        outcome.map(|()| Exit::Done)
    }

    fn watch(
        &self,
        client: &Client,
        before: &mut State,
        end: &Receiver<()>,
        on_screen: bool,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(self.interval) {
            let after = client.state()?;
            // None: another server answers there now, for example after a restart.
            if let Some(rates) = Rates::between(before, &after) {
                show(&after, &rates, on_screen, output)?;
                if self.once {
                    return Ok(());
                }
            }
            *before = after;
        }
        Ok(())
    }
}

fn show(state: &State, rates: &Rates, on_screen: bool, output: &mut Output) -> anyhow::Result<()> {
    if output.is_json() {
        output.line(&Shown { state, rates })?;
    } else if on_screen {
        let size = tcgetwinsize(std::io::stdout());
        let (columns, lines) = size.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        let text = frame::fit(&frame::draw(state, rates), columns.into(), lines.into());
        // From the upper left corner, each line to its end, and nothing below.
        let text = text.replace('\n', "\x1b[K\r\n");
        write!(output, "\x1b[H{text}\x1b[K\x1b[J")?;
    } else {
        writeln!(output, "{}", frame::draw(state, rates))?;
    }
    Ok(output.finish()?)
}
