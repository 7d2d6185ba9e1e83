//! The other host of configuration C, as two processes that this one starts: one keeps the log in a store
//! (`sardonyx store serve`), the other follows it there and takes the checkpoints (`sardonyx store follow`).

use super::plan::Plan;
use crate::place::Place;
use anyhow::{Context, bail};
use sardonyx::hosts::{DurableAt, RemoteLog};
use sardonyx_command::ending::Companion;
use sardonyx_remote::{RemoteOptions, open};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The interval at which the follower checks for new entries.
const POLL: &str = "10ms";

/// The other host. Its processes end when their standard input does, so also when this process dies.
#[derive(Debug)]
pub struct OtherHost {
    // Before their directories, which are removed after the processes have ended.
    follower: Option<Helper>,
    store: Helper,
    log: Place,
    copy: Place,
    /// The store, as this process uses it.
    pub remote: RemoteLog,
}

/// A process.
#[derive(Debug)]
struct Helper {
    process: Child,
    said: BufReader<ChildStdout>,
    _companion: Companion,
}

/// The work of the follower since it was started.
#[derive(Clone, Copy, Debug)]
pub struct Followed {
    /// Checkpoints that it completed.
    pub checkpoints: u64,
    /// Bytes of them.
    pub bytes: u64,
}

impl OtherHost {
    /// Starts the store, with directories next to the database's. There is no follower yet, since there is no database.
    pub fn start(plan: &Plan) -> anyhow::Result<Self> {
        let log = Place::claim(&beside(&plan.directory, "store"))?;
        let copy = Place::claim(&beside(&plan.directory, "follower.sdx"))?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["store", "serve", "--json", "--listen", "127.0.0.1:0"])
            .args(["--until-input-ends"])
            .arg(file_place(&log));
        let mut store = Helper::start(command, "the store")?;
        let said = store.line()?;
        let Some(address) = said["listening"].as_str() else {
            bail!("the store did not start");
        };
        let place = format!("tcp://{address}");
        Ok(OtherHost {
            remote: RemoteLog {
                // As in the paper: it follows a moment behind.
                durable_at: DurableAt::Local,
                ..RemoteLog::new(open(&place, &RemoteOptions::from_environment()?)?)
            },
            follower: None,
            store,
            log,
            copy,
        })
    }

    /// Starts the follower after the database was created.
    pub fn follow(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let mut command = self.follow_command(plan)?;
        command.args(["--until-input-ends", "--poll", POLL]);
        self.follower = Some(Helper::start(command, "the follower")?);
        Ok(())
    }

    fn follow_command(&self, plan: &Plan) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["store", "follow", "--json"])
            .arg(file_place(&self.log))
            .arg(self.copy.path())
            .args(["--log-bytes", &plan.log_bytes.to_string()]);
        if let Some(bytes) = plan.checkpoint_interval_bytes {
            command.args(["--checkpoint-interval", &bytes.to_string()]);
        }
        if let Some(transactions) = plan.checkpoint_interval_transactions {
            command.args(["--checkpoint-transactions", &transactions.to_string()]);
        }
        Ok(command)
    }

    /// Ends the follower, and completes the copy to the end of the store's log, as a manual promotion does. Returns the
    /// follower's work before, if it was started.
    pub fn promote(&mut self, plan: &Plan) -> anyhow::Result<Option<Followed>> {
        let followed = match self.follower.take() {
            Some(mut follower) => {
                let followed = follower.end_with_line()?;
                let count = |name: &str| followed[name].as_u64().unwrap_or(0);
                Some(Followed {
                    checkpoints: count("checkpoints"),
                    bytes: count("checkpoint_bytes"),
                })
            }
            None => None,
        };
        let mut command = self.follow_command(plan)?;
        command.arg("--once");
        Helper::start(command, "the follower")?.end_with_line()?;
        Ok(followed)
    }

    /// The directory of the copy.
    pub fn copy(&self) -> &Path {
        self.copy.path()
    }

    /// Keeps both directories.
    pub fn keep(&mut self) {
        self.log.keep();
        self.copy.keep();
    }

    /// Ends the store; its directories are removed with it, unless they are kept.
    pub fn stop(mut self) -> anyhow::Result<()> {
        self.store.end()
    }
}

impl Helper {
    fn start(mut command: Command, what: &'static str) -> anyhow::Result<Helper> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context(what)?;
        let companion = Companion::new(process.id()).context(what)?;
        let said = BufReader::new(process.stdout.take().context(what)?);
        Ok(Helper {
            process,
            said,
            _companion: companion,
        })
    }

    /// The next line of its output.
    fn line(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        Ok(serde_json::from_str(&line).unwrap_or_default())
    }

    fn end(&mut self) -> anyhow::Result<()> {
        drop(self.process.stdin.take());
        let status = self.process.wait()?;
        if !status.success() {
            bail!("a process of the other host failed: {status}");
        }
        Ok(())
    }

    /// Ends it, and reads its last line.
    fn end_with_line(&mut self) -> anyhow::Result<Value> {
        drop(self.process.stdin.take());
        let mut last = Value::Null;
        loop {
            match self.line()? {
                Value::Null => break,
                said => last = said,
            }
        }
        self.end()?;
        Ok(last)
    }
}

impl Drop for Helper {
    /// After an error, too, no process is left; the directories are removed after it.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}

/// `bank.sdx` has its store in `bank.store`, and its copy in `bank.follower.sdx`.
fn beside(directory: &Path, extension: &str) -> PathBuf {
    directory.with_extension(extension)
}

fn file_place(log: &Place) -> String {
    format!("file:{}", log.path().display())
}
