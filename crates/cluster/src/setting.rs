//! The setting of a database's nodes: kept as JSON beside the database, read by every node's process.

use crate::connecting::Connecting;
use crate::error::ClusterError;
use crate::places::Places;
use crate::routing::Routing;
use sardonyx_sharing::node::loose::{Register, STOPPED_PROCESS_WAIT_MIN};
use sardonyx_sharing::node::{ImposedTimes, NodeOptions};
use sardonyx_sharing::protocol::UpdateStrategy;
use sardonyx_storage::engine::StorageOptions;
use sardonyx_workload::debit_credit_pages::{HISTORY, PageScale};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The most nodes: a slot stays free for those that recover others.
pub const MAX_NODES: u16 = 63;

/// The most clients of a node.
pub const MAX_CLIENTS: u16 = 256;

/// The most types of transactions that a trace can have. Each branch is a type if there are no more branches.
pub const MAX_TYPES: u64 = sardonyx_workload::reference::MAX_TYPES as u64;

/// The coupling of the nodes.
///
/// The two part in [`CoupledNode::join`](crate::coupled::CoupledNode::join).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coupling {
    /// Closely: processes of one host, a global lock table in shared memory.
    #[default]
    Close,
    /// Loosely: processes that share nothing but connections, with primary copy locking and a page server.
    Loose,
}

/// The time at which modified pages are written to storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Update {
    /// Before commit.
    Force,
    /// When they are replaced in the buffer.
    #[default]
    Noforce,
}

/// The strategy in the protocol's form.
pub(crate) fn update_strategy(update: Update) -> UpdateStrategy {
    match update {
        Update::Force => UpdateStrategy::Force,
        Update::Noforce => UpdateStrategy::NoForce,
    }
}

/// The size of the bank, in the terms of debit-credit on pages ([`PageScale`]). It is that of the paper's Table 4.1,
/// except for the accounts, whose number memory limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Units: one per node in the GEM paper.
    pub units: u32,
    /// 100 in the GEM paper.
    pub branches_per_unit: u32,
    /// 10 in the GEM paper.
    pub tellers_per_branch: u32,
    /// 100,000 in the GEM paper.
    pub accounts_per_branch: u32,
    /// Branches in a page.
    pub branch_blocking: u32,
    /// Tellers in a page, if not clustered.
    pub teller_blocking: u32,
    /// Accounts in a page.
    pub account_blocking: u32,
    /// History records in a page.
    pub history_blocking: u32,
    /// True if tellers are in their branch's page.
    pub clustered: bool,
    /// Accounts of another branch than the teller's, in percent.
    pub other_branch_percent: u32,
}

impl Scale {
    /// The GEM paper's scale for so many units, with a hundredth of the accounts.
    pub fn paper(units: u32) -> Self {
        Scale {
            accounts_per_branch: 1000,
            ..Scale::of(PageScale::paper(units))
        }
    }

    /// The scale of a [`PageScale`].
    pub fn of(scale: PageScale) -> Self {
        Scale {
            units: scale.units,
            branches_per_unit: scale.branches_per_unit,
            tellers_per_branch: scale.tellers_per_branch,
            accounts_per_branch: scale.accounts_per_branch,
            branch_blocking: scale.branch_blocking,
            teller_blocking: scale.teller_blocking,
            account_blocking: scale.account_blocking,
            history_blocking: scale.history_blocking,
            clustered: scale.clustered,
            other_branch_percent: scale.other_branch_percent,
        }
    }

    /// The scale in the workload's form.
    pub fn pages(&self) -> PageScale {
        PageScale {
            units: self.units,
            branches_per_unit: self.branches_per_unit,
            tellers_per_branch: self.tellers_per_branch,
            accounts_per_branch: self.accounts_per_branch,
            branch_blocking: self.branch_blocking,
            teller_blocking: self.teller_blocking,
            account_blocking: self.account_blocking,
            history_blocking: self.history_blocking,
            clustered: self.clustered,
            other_branch_percent: self.other_branch_percent,
        }
    }
}

/// Imposed times of devices, during which a process sleeps, in microseconds; 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Devices {
    /// To fetch a page from storage.
    pub page_read_microseconds: f64,
    /// To write a page at commit (FORCE).
    pub page_write_microseconds: f64,
    /// To write a commit group.
    pub log_write_microseconds: f64,
}

impl Devices {
    /// True if any are imposed.
    pub fn any(&self) -> bool {
        *self != Devices::default()
    }

    pub(crate) fn imposed(self) -> ImposedTimes {
        let time = |microseconds: f64| Duration::from_nanos((1e3 * microseconds) as u64);
        ImposedTimes {
            page_read: time(self.page_read_microseconds),
            page_write: time(self.page_write_microseconds),
            log_write: time(self.log_write_microseconds),
        }
    }
}

/// The setting of a database's nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Their number; slots 0 to one less.
    pub nodes: u16,
    /// Close or loose.
    pub coupling: Coupling,
    /// The place of the lock authority of loosely coupled nodes: where this routing sends transactions, or anywhere.
    #[serde(default)]
    pub authority: Routing,
    /// The time at which modified pages are stored.
    pub update: Update,
    /// Pages of a node's buffer.
    pub buffer_pages: u32,
    /// The most clients of a node: each has an end of HISTORY of its own.
    pub clients_max: u16,
    /// Pages of each client's part of HISTORY, in which records are overwritten when it is full.
    pub history_pages: u32,
    /// The bank.
    pub scale: Scale,
    /// Imposed times of devices.
    pub devices: Devices,
    /// The time to wait for a node whose process is stopped, in milliseconds. Then it is killed if nodes are closely
    /// coupled, and shut out if they are loosely coupled.
    pub stopped_process_wait_milliseconds: u64,
    /// The place of the shared memory of closely coupled nodes: a directory in a memory file system.
    pub shared_memory: PathBuf,
    /// The connections of loosely coupled nodes, and the place of their membership.
    #[serde(default)]
    pub connecting: Connecting,
}

impl Setting {
    /// So many nodes, closely coupled, on the paper's bank with a hundredth of the accounts.
    pub fn new(nodes: u16) -> Self {
        Setting {
            nodes,
            coupling: Coupling::Close,
            authority: Routing::Affinity,
            update: Update::Noforce,
            buffer_pages: 200,
            clients_max: 16,
            history_pages: 64,
            scale: Scale::paper(nodes.into()),
            devices: Devices::default(),
            stopped_process_wait_milliseconds: 10_000,
            shared_memory: "/dev/shm".into(),
            connecting: Connecting::default(),
        }
    }

    /// Checks every number.
    ///
    /// # Errors
    /// [`ClusterError::Setting`], [`ClusterError::Scale`]; as [`authority::division`](crate::authority::division).
    pub fn check(&self) -> Result<(), ClusterError> {
        self.connecting.check(self.coupling)?;
        self.scale.pages().check()?;
        let scale = &self.scale;
        let range = |what, value: u64, least: u64, most: u64| match (least..=most).contains(&value)
        {
            true => Ok(()),
            false => Err(ClusterError::Setting {
                what,
                found: value.to_string(),
                allowed: format!("from {least} to {most}"),
            }),
        };
        range("a number of nodes", self.nodes.into(), 1, MAX_NODES.into())?;
        range("a buffer in pages", self.buffer_pages.into(), 4, 1 << 22)?;
        range(
            "a number of clients",
            self.clients_max.into(),
            1,
            MAX_CLIENTS.into(),
        )?;
        range(
            "a number of history pages",
            self.history_pages.into(),
            1,
            1 << 20,
        )?;
        range(
            "a number of history records in a page",
            scale.history_blocking.into(),
            1,
            84,
        )?;
        range(
            "a number of accounts in a page",
            scale.account_blocking.into(),
            1,
            512,
        )?;
        range(
            "a number of tellers in a page",
            scale.teller_blocking.into(),
            1,
            512,
        )?;
        let beside = if scale.clustered {
            scale.tellers_per_branch
        } else {
            0
        };
        let cells = u64::from(scale.branch_blocking) * (1 + u64::from(beside));
        range("a number of branches and tellers in a page", cells, 1, 512)?;
        let least = match self.coupling {
            Coupling::Close => 0,
            Coupling::Loose => STOPPED_PROCESS_WAIT_MIN.as_millis() as u64,
        };
        range(
            "a wait for a stopped process in milliseconds",
            self.stopped_process_wait_milliseconds,
            least,
            3_600_000,
        )?;
        let pages = crate::bank::Bank::new(self).pages();
        range("a number of pages", pages, 1, 1 << 24)?;
        match self.coupling {
            Coupling::Close => Ok(()),
            Coupling::Loose => crate::authority::division(self).map(drop),
        }
    }

    /// The time to wait for a node whose process is stopped.
    pub fn stopped_process_wait(&self) -> Duration {
        Duration::from_millis(self.stopped_process_wait_milliseconds)
    }

    /// The place of the membership of loosely coupled nodes.
    ///
    /// # Errors
    /// As [`Connecting::register`].
    pub fn register(&self, places: &Places) -> Result<Box<dyn Register>, ClusterError> {
        self.connecting
            .register(places, self.stopped_process_wait())
    }

    /// The options of a closely coupled node.
    pub fn node_options(&self) -> NodeOptions {
        NodeOptions {
            pages: crate::bank::Bank::new(self).pages(),
            slots: self.nodes.into(),
            shared_memory: self.shared_memory.clone(),
            update: update_strategy(self.update),
            read_authorisation: false,
            buffer_pages: self.buffer_pages as usize,
            stopped_process_wait: self.stopped_process_wait(),
            imposed: self.devices.imposed(),
            storage: self.storage_options(),
            ..NodeOptions::default()
        }
    }

    /// The options of the database.
    pub fn storage_options(&self) -> StorageOptions {
        StorageOptions {
            memory_bytes_max: 128 << 30,
            ..StorageOptions::default()
        }
    }

    /// The slot of the page server's process, if there is one: after the last node's.
    pub fn page_server_slot(&self) -> Option<usize> {
        (self.coupling == Coupling::Loose).then_some(self.nodes.into())
    }

    /// The number of types of transactions: branches, or groups of them.
    pub fn types(&self) -> usize {
        self.scale.pages().branches().min(MAX_TYPES) as usize
    }

    /// The type of a branch's transactions.
    pub fn type_of(&self, branch: u32) -> u16 {
        let branches = self.scale.pages().branches();
        (u64::from(branch) * self.types() as u64 / branches) as u16
    }

    /// The partitions' names and sizes in pages.
    pub fn partitions(&self) -> Vec<(&'static str, u64)> {
        let scale = self.scale.pages();
        let name = |partition: u16| match partition {
            0 => "account",
            1 => "history",
            2 if scale.clustered => "branch_teller",
            2 => "branch",
            _ => "teller",
        };
        let history = u64::from(self.history_pages) * self.history_ends();
        let pages = |partition: u16| match partition {
            HISTORY => history,
            partition => scale.pages(partition).unwrap_or(1),
        };
        (0..scale.partitions())
            .map(|partition| (name(partition), pages(partition)))
            .collect()
    }

    /// Ends of HISTORY: one for each client.
    pub fn history_ends(&self) -> u64 {
        u64::from(self.nodes) * u64::from(self.clients_max)
    }

    /// Reads the setting of a database.
    ///
    /// # Errors
    /// [`ClusterError::NotThere`], [`ClusterError::Damaged`], and those of [`Setting::check`].
    pub fn read(places: &Places) -> Result<Self, ClusterError> {
        let place = places.setting();
        let text = match std::fs::read_to_string(&place) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let place = places.directory().to_path_buf();
                return Err(ClusterError::NotThere { place });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                let place = places.directory().to_path_buf();
                return Err(ClusterError::NoDirectory { place });
            }
            read => read.map_err(ClusterError::system("read", &place))?,
        };
        let setting: Setting =
            serde_json::from_str(&text).map_err(|error| ClusterError::Damaged {
                place,
                reason: error.to_string(),
            })?;
        setting.check()?;
        Ok(setting)
    }

    /// Writes the setting of a database.
    ///
    /// # Errors
    /// [`ClusterError::System`].
    pub fn write(&self, places: &Places) -> Result<(), ClusterError> {
        let place = places.setting();
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        std::fs::write(&place, text).map_err(ClusterError::system("write", &place))
    }
}
