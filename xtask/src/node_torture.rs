//! Nodes of either coupling that are killed and stopped, and their page server: `torture-nodes`.
//!
//! After each event the survivors must continue. HISTORY must have the acknowledged transactions of every dead client,
//! and at most one more, which was not acknowledged. At times, and at the end, all are killed and the database is
//! opened again. Then every record of every client is found once, in its order, and the records' sum is that of the
//! accounts, of the tellers and of the branches.

use crate::node_arena::Arena;
use crate::node_events::{draw, events};
use crate::torture::remove;
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_cluster::setting::Coupling;
use sardonyx_workload::random::Random;
use std::path::PathBuf;
use std::time::Instant;

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
    /// The directory of the database; removed before and after. It should be on a real disk.
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
        let mut random = Random::new(self.seed);
        let style = "{bar:30} {pos}/{len} events, {msg} acknowledged, {eta} left";
        let progress =
            ProgressBar::new(self.kills).with_style(ProgressStyle::with_template(style)?);
        let mut events = events(self.coupling()).to_vec();
        events.retain(|(_, name, _)| name.contains(&self.only));
        ensure!(!events.is_empty(), "no event is called {:?}", self.only);
        let (mut counts, mut proofs, mut acknowledged) = (vec![0u64; events.len()], 0, 0);
        let (mut event, mut killed, mut fenced) = (0, 0, 0);
        let (mut lives, mut started, began) = (0, 0, Instant::now());
        let (mut too_slow, mut cut) = (0, 0);
        while event < self.kills {
            remove(&self.directory)?;
            let mut arena = Arena::new(self, lives, started)?;
            lives += 1;
            let last = (event + self.lives).min(self.kills);
            while event < last && !arena.is_full() {
                let kind = draw(&events, &mut random);
                counts[kind] += 1;
                let done = arena.suffer(events[kind].0, &mut random);
                let died = done.with_context(|| {
                    let what = events[kind].1;
                    format!("event {} of seed {} ({what})", event + 1, self.seed)
                })?;
                killed += died.all;
                fenced += died.by_others;
                event += 1;
                progress.inc(1);
                progress.set_message((acknowledged + arena.all_told()).to_string());
            }
            started = arena.started();
            too_slow += arena.too_slow();
            cut += arena.cut;
            let told = arena.end(&mut random);
            acknowledged += told
                .with_context(|| format!("the proof after event {event} of seed {}", self.seed))?;
            proofs += 1;
        }
        progress.finish_and_clear();
        remove(&self.directory)?;
        for ((_, what, _), count) in events.iter().zip(counts) {
            println!("{what:<34} {count:>8}");
        }
        let by_others = match self.coupling {
            CouplingName::Close => "  of these killed by other nodes",
            CouplingName::Loose => "  of these shut out, and ended",
        };
        println!("{:<34} {killed:>8}", "processes that died");
        println!("{by_others:<34} {fenced:>8}");
        if cut > 0 {
            println!("{:<34} {cut:>8}", "connections cut");
        }
        if too_slow > 0 {
            println!("{:<34} {too_slow:>8}", "too slow for their leases");
        }
        println!("{:<34} {acknowledged:>8}", "transactions acknowledged");
        println!("{:<34} {proofs:>8}", "whole banks proved");
        println!("{:<34} {:>8}", "seconds", began.elapsed().as_secs());
        println!("verdict: each acknowledged transaction is there once; all sums equal every time");
        Ok(())
    }
}
