//! Arguments of several verbs: the directory of the nodes, and their setting.

use crate::connecting::{Connecting, EtcdSetting};
use crate::routing::Routing;
use crate::setting::{Coupling, Devices, Scale, Setting, Update};
use anyhow::Context;
use clap::ValueEnum;
use sardonyx_command::exit::UsageError;
use sardonyx_results::units::parse_time;
use std::path::PathBuf;
use std::time::Duration;

/// The place of the nodes.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// The directory of the nodes: the database, their sockets and their output
    #[arg(long, value_name = "DIR", default_value = "sardonyx-cluster")]
    pub directory: PathBuf,
}

/// A coupling by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CouplingName {
    /// Processes of one host: a global lock table in shared memory
    Close,
    /// Processes that communicate over TCP, with a page server
    Loose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UpdateName {
    /// Modified pages are stored before commit
    Force,
    /// Modified pages are stored when they are replaced
    Noforce,
}

/// The settings of the nodes.
#[derive(Debug, clap::Args)]
pub struct SettingOptions {
    /// Number of nodes [default: 4]
    #[arg(long, value_name = "N")]
    nodes: Option<u16>,
    /// Coupling of the nodes [default: close]
    #[arg(long)]
    coupling: Option<CouplingName>,
    /// The place of the lock authority of loosely coupled nodes: affinity, random, or a file that `trace route` wrote
    /// [default: affinity, or a run's file]
    #[arg(long, value_name = "ROUTING")]
    authority: Option<String>,
    /// Loosely coupled nodes use mutual TLS, with ca.pem, cert.pem and key.pem of this directory [default: plain TCP]
    #[arg(long, value_name = "DIR")]
    tls: Option<PathBuf>,
    /// Membership of loosely coupled nodes is in this etcd; several endpoints separated by commas [default: in the nodes'
    /// directory]
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    etcd: Vec<String>,
    /// When modified pages are stored [default: noforce]
    #[arg(long)]
    update: Option<UpdateName>,
    /// Pages of a node's buffer [default: 200]
    #[arg(long, value_name = "PAGES")]
    buffer_pages: Option<u32>,
    /// Accounts of a branch [default: 1000]
    #[arg(long, value_name = "N")]
    accounts_per_branch: Option<u32>,
    /// Sleep this long for each page fetched from storage, as a disk takes, such as 16.4ms
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Imposed times")]
    disk_read: Option<Duration>,
    /// Sleep this long for each page that FORCE stores at commit
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Imposed times")]
    disk_write: Option<Duration>,
    /// Sleep this long before each commit group is written to the log
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Imposed times")]
    log_write: Option<Duration>,
    /// Wait this long for a stopped node; then kill it, or shut it out if it is loosely coupled [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    stopped_process_wait: Option<Duration>,
}

impl SettingOptions {
    /// True if no option is given.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_none()
            && self.coupling.is_none()
            && self.authority.is_none()
            && self.tls.is_none()
            && self.etcd.is_empty()
            && self.update.is_none()
            && self.buffer_pages.is_none()
            && self.accounts_per_branch.is_none()
            && self.disk_read.is_none()
            && self.disk_write.is_none()
            && self.log_write.is_none()
            && self.stopped_process_wait.is_none()
    }

    /// True if the place of the lock authority is given.
    pub fn has_authority(&self) -> bool {
        self.authority.is_some()
    }

    /// Refuses options for existing nodes.
    ///
    /// # Errors
    /// Options are given.
    pub fn refuse_with_directory(&self) -> Result<(), UsageError> {
        if self.is_empty() {
            return Ok(());
        }
        let said = "the nodes of --directory have the options of their start: leave --nodes, --update, \
                    --buffer-pages and the like out, or --directory";
        Err(UsageError::Arguments(said.into()))
    }

    /// The requested setting.
    ///
    /// # Errors
    /// It is not possible.
    pub fn setting(&self) -> anyhow::Result<Setting> {
        let nodes = self.nodes.unwrap_or(4);
        let before = Setting::new(nodes);
        let microseconds = |time: Option<Duration>| 1e6 * time.unwrap_or_default().as_secs_f64();
        let tls = self.tls.as_deref().map(std::path::absolute).transpose();
        let setting = Setting {
            connecting: Connecting {
                tls: tls.context("finding the directory of --tls")?,
                etcd: (!self.etcd.is_empty()).then(|| EtcdSetting::new(&self.etcd)),
            },
            coupling: match self.coupling {
                Some(CouplingName::Loose) => Coupling::Loose,
                _ => Coupling::Close,
            },
            authority: match &self.authority {
                Some(name) => routing("authority", name)?,
                None => before.authority,
            },
            update: match self.update {
                Some(UpdateName::Force) => Update::Force,
                _ => Update::Noforce,
            },
            buffer_pages: self.buffer_pages.unwrap_or(before.buffer_pages),
            scale: Scale {
                accounts_per_branch: self
                    .accounts_per_branch
                    .unwrap_or(before.scale.accounts_per_branch),
                ..before.scale.clone()
            },
            devices: Devices {
                page_read_microseconds: microseconds(self.disk_read),
                page_write_microseconds: microseconds(self.disk_write),
                log_write_microseconds: microseconds(self.log_write),
            },
            stopped_process_wait_milliseconds: match self.stopped_process_wait {
                Some(wait) => wait.as_millis() as u64,
                None => before.stopped_process_wait_milliseconds,
            },
            ..before
        };
        if self.has_authority() && setting.coupling == Coupling::Close {
            let said = "--authority is for loosely coupled nodes: add --coupling loose";
            return Err(UsageError::Arguments(said.into()).into());
        }
        setting.check()?;
        Ok(setting)
    }
}

/// A routing by its name, as an option has it.
///
/// # Errors
/// The file does not exist, or cannot be read.
pub fn routing(option: &str, name: &str) -> anyhow::Result<Routing> {
    Ok(match name {
        "affinity" => Routing::Affinity,
        "random" => Routing::Random,
        file => {
            let text = match std::fs::read_to_string(file) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let said = format!(
                        "{file} does not exist: --{option} is affinity, random, or a file of `trace route`"
                    );
                    return Err(UsageError::NotThere(said).into());
                }
                read => read.with_context(|| format!("reading {file}"))?,
            };
            let file = file.into();
            Routing::Tables { file, text }
        }
    })
}
