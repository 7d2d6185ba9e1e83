//! Nodes of either coupling that are killed and stopped, and their page server: `torture-nodes`.
//!
//! After each event the survivors must continue. HISTORY must have the acknowledged transactions of every dead client,
//! and at most one more, which was not acknowledged. At times, and at the end, all are killed and the database is
//! opened again. Then every record of every client is found once, in its order. The records' sum is that of the
//! accounts, of the tellers and of the branches.

use crate::kill_loop::{Tortured, torture};
use crate::node_arena::Arena;
use crate::node_events::{Entry, Event, events};
use crate::node_faults::Died;
use crate::own_directory::OwnDirectory;
use crate::torture::remove;
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Kills, Subject};
use sardonyx_cluster::setting::Coupling;
use std::path::PathBuf;

/// The coupling of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CouplingName {
    Close,
    Loose,
}

/// Options of `torture-nodes`.
#[derive(Args)]
pub struct NodeTorture {
    /// The number of events: a kill of one, several or all, or a stop.
    #[arg(long, default_value_t = 50)]
    kills: u64,
    /// The coupling of the nodes: close, or loose with a page server, which is killed and stopped, too.
    #[arg(long, value_enum, default_value_t = CouplingName::Close)]
    coupling: CouplingName,
    /// The seed of the events, their victims and their times, and of everything else except the system's timing.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Nodes.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=16))]
    pub(crate) nodes: u16,
    /// The directory of the database; removed before and after, so it must be new or of an earlier run. It should be on a real disk.
    #[arg(long, default_value = "target/torture-nodes")]
    pub(crate) directory: PathBuf,
    /// Only events whose names contain this, such as "stopped": to examine the faults of one of them.
    #[arg(long, default_value = "")]
    only: String,
    /// The number of events with one database before a new one is begun.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..))]
    lives: u64,
}

impl NodeTorture {
    pub(crate) fn coupling(&self) -> Coupling {
        match self.coupling {
            CouplingName::Close => Coupling::Close,
            CouplingName::Loose => Coupling::Loose,
        }
    }

    /// Runs the loop; ends with an error at the first transaction that is missing or found in part.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut events = events(self.coupling()).to_vec();
        events.retain(|(.., name)| name.contains(&self.only));
        ensure!(!events.is_empty(), "no event is called {:?}", self.only);
        let _own = OwnDirectory::take(&self.directory)?;
        let mut lives = Lives {
            torture: self,
            events,
            lives: 0,
            started: 0,
            acknowledged: 0,
            of_this: 0,
            died: Died::default(),
            too_slow: 0,
            cut: 0,
        };
        let kills = Kills {
            per_database: self.lives,
            ..Kills::new(self.kills)
        };
        torture(&mut lives, kills, self.seed)?;
        remove(&self.directory)
    }
}

/// The nodes of one database after the other.
struct Lives<'a> {
    torture: &'a NodeTorture,
    events: Vec<Entry>,
    /// Databases so far.
    lives: u64,
    /// Processes so far.
    started: u64,
    /// Acknowledged transactions of earlier databases.
    acknowledged: u64,
    /// Acknowledged transactions of this one.
    of_this: u64,
    died: Died,
    too_slow: u64,
    cut: u64,
}

impl<'a> Subject for Lives<'a> {
    type Event = Event;
    type Database = Arena<'a>;
    type Error = anyhow::Error;

    fn events(&self) -> Vec<Entry> {
        self.events.clone()
    }

    fn start(&mut self) -> anyhow::Result<Arena<'a>> {
        remove(&self.torture.directory)?;
        let arena = Arena::new(self.torture, self.lives, self.started)?;
        self.lives += 1;
        Ok(arena)
    }

    fn submit(
        &mut self,
        arena: &mut Arena<'a>,
        event: Event,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        let died = arena.suffer(event, random)?;
        self.died.all += died.all;
        self.died.by_others += died.by_others;
        Ok(())
    }

    /// The dead clients' transactions were found at the event.
    fn observe(
        &mut self,
        arena: &mut Arena<'a>,
        ends: bool,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        self.of_this = arena.all_told();
        if ends {
            self.started = arena.started();
            self.too_slow += arena.too_slow();
            self.cut += arena.cut;
            self.acknowledged += arena.end(random).context("the proof of the whole bank")?;
            self.of_this = 0;
        }
        Ok(())
    }

    fn is_full(&self, arena: &Arena<'a>) -> bool {
        arena.is_full()
    }
}

impl Tortured for Lives<'_> {
    const ACKNOWLEDGED: &'static str = "transactions";

    fn acknowledged(&self) -> u64 {
        self.acknowledged + self.of_this
    }

    fn findings(&self) -> Vec<(&'static str, u64)> {
        let by_others = match self.torture.coupling {
            CouplingName::Close => "  of these killed by other nodes",
            CouplingName::Loose => "  of these shut out, and ended",
        };
        vec![
            ("processes that died", self.died.all),
            (by_others, self.died.by_others),
            ("connections cut", self.cut),
            ("too slow for their leases", self.too_slow),
        ]
    }

    fn verdict(&self) -> &'static str {
        "each acknowledged transaction is there once; all sums equal in every database"
    }
}
