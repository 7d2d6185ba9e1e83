//! One database under torture-nodes, the processes that share it, and the witness, which knows from outside the
//! acknowledged transactions of each client.

use crate::node_faults::stopped_wait;
use crate::node_torture::NodeTorture;
use crate::node_victim::{SHUT_OUT, STALE, is_of_shut_out, told_file};
use anyhow::{Context, bail, ensure};
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Victim, Witness};
use sardonyx_cluster::ClusterError;
use sardonyx_cluster::bank::Bank;
use sardonyx_cluster::coupled::CoupledNode;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::process::ATTACHED;
use sardonyx_cluster::setting::{Scale, Setting, Update};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Clients of each node that the witness reads, and one reader.
const CLIENTS: u16 = 3;

/// The time without any acknowledgement that counts as a failure.
pub(crate) const STANDSTILL: Duration = Duration::from_secs(30);

/// One database and the processes that share it.
pub(crate) struct Arena<'a> {
    pub options: &'a NodeTorture,
    cluster: Cluster,
    pub victims: Vec<Option<Victim>>,
    pub server: Option<Victim>,
    witness: Witness,
    started: u64,
    too_slow: u64,
    /// Connections that were cut.
    pub cut: u64,
}

/// The clients of a slot that the witness reads.
pub(crate) fn clients(slot: usize) -> std::ops::Range<u64> {
    let first = slot as u64 * u64::from(CLIENTS);
    first..first + u64::from(CLIENTS) - 1
}

impl<'a> Arena<'a> {
    pub(crate) fn new(options: &'a NodeTorture, life: u64, started: u64) -> anyhow::Result<Self> {
        let coupling = options.coupling();
        let setting = Setting {
            coupling,
            update: [Update::Noforce, Update::Force][life as usize % 2],
            buffer_pages: 24,
            clients_max: CLIENTS,
            history_pages: 1000,
            scale: Scale {
                branches_per_unit: 5,
                accounts_per_branch: 100,
                ..Scale::paper(options.nodes.into())
            },
            stopped_process_wait_milliseconds: stopped_wait(coupling).as_millis() as u64,
            ..Setting::new(options.nodes)
        };
        let cluster = Cluster::make(&options.directory, &setting)?;
        let told = vec![0; 8 * options.nodes as usize];
        std::fs::write(told_file(&options.directory), told)?;
        let mut arena = Arena {
            options,
            cluster,
            victims: (0..options.nodes).map(|_| None).collect(),
            server: None,
            witness: Witness::default(),
            started,
            too_slow: 0,
            cut: 0,
        };
        arena.start_server()?;
        arena.start_missing()?;
        Ok(arena)
    }

    /// The number of processes that were ever started.
    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Nodes whose leases ran out on a busy machine, without being stopped.
    pub(crate) fn too_slow(&self) -> u64 {
        self.too_slow
    }

    pub(crate) fn all_told(&self) -> u64 {
        self.witness.with(|counts| counts.total())
    }

    pub(crate) fn told_to(&self, workers: impl IntoIterator<Item = u64>) -> u64 {
        self.witness.with(|counts| counts.sum(workers))
    }

    /// Returns true if a client has nearly as many records as its part of HISTORY keeps.
    pub(crate) fn is_full(&self) -> bool {
        let scale = self.cluster.setting().scale.history_blocking;
        let most = u64::from(self.cluster.setting().history_pages * scale);
        let workers = u64::from(self.options.nodes * CLIENTS);
        let counts = self.witness.with(|counts| counts.first(workers));
        counts.iter().any(|count| count * 10 > most * 8)
    }

    /// The process of a slot. Its messages, such as the reason why a node was shut out, go to its log.
    fn start(&mut self, slot: usize) -> anyhow::Result<Command> {
        self.started += 1;
        let seed = self
            .options
            .seed
            .wrapping_mul(10_000)
            .wrapping_add(self.started);
        let log = self.cluster.places().log(slot);
        let log = File::options().create(true).append(true).open(log)?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .stderr(log)
            .env("RUST_LIB_BACKTRACE", "0")
            .arg("node-victim")
            .arg(&self.options.directory)
            .args(["--slot", &slot.to_string(), "--seed", &seed.to_string()]);
        Ok(command)
    }

    pub(crate) fn start_missing(&mut self) -> anyhow::Result<()> {
        for slot in 0..self.victims.len() {
            if self.victims[slot].is_none() {
                self.start_node(slot)?;
            }
        }
        Ok(())
    }

    fn start_node(&mut self, slot: usize) -> anyhow::Result<()> {
        let mut command = self.start(slot)?;
        self.victims[slot] = Some(self.witness.start(&mut command)?);
        Ok(())
    }

    /// Starts the page server, if nodes need one and it does not run, and returns when it answers.
    pub(crate) fn start_server(&mut self) -> anyhow::Result<()> {
        let Some(slot) = self.cluster.setting().page_server_slot() else {
            return Ok(());
        };
        if self.server.is_none() {
            let mut command = self.start(slot)?;
            // It ends when this process does.
            let command = command.env(ATTACHED, "").stdin(Stdio::piped());
            self.server = Some(Victim::start(command)?);
        }
        let began = Instant::now();
        while self.cluster.page_server().is_none() {
            self.server_runs()?;
            ensure!(
                began.elapsed() < STANDSTILL,
                "the page server does not answer"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn server_runs(&mut self) -> anyhow::Result<()> {
        if let Some(server) = &mut self.server
            && let Some(status) = server.ended()?
        {
            bail!("the page server ended by itself: {status}");
        }
        Ok(())
    }

    pub(crate) fn kill_server(&mut self) -> anyhow::Result<()> {
        let mut server = self.server.take().context("a page server")?;
        server.end()?;
        Ok(())
    }

    /// Returns when the clients of these slots have received so many more acknowledgements.
    pub(crate) fn goes_on(&mut self, slots: &[usize], more: u64) -> anyhow::Result<()> {
        let workers: Vec<u64> = slots.iter().flat_map(|&slot| clients(slot)).collect();
        let told = |arena: &Arena<'_>| arena.told_to(workers.iter().copied());
        let (before, began) = (told(self), Instant::now());
        while told(self) < before + more {
            self.witness.verdict()?;
            for &slot in slots {
                if self.is_dead(slot)? {
                    // As `bury` finds, others continued without it: it was too slow.
                    self.too_slow += 1;
                    self.bury(&[slot])?;
                    self.check(&[slot])?;
                    self.start_node(slot)?;
                }
            }
            self.server_runs()?;
            ensure!(
                began.elapsed() < STANDSTILL,
                "nodes {slots:?} have acknowledged nothing for {STANDSTILL:?}"
            );
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    fn victim(&mut self, slot: usize) -> anyhow::Result<&mut Victim> {
        self.victims[slot].as_mut().context("a victim")
    }

    pub(crate) fn kill(&mut self, slot: usize) -> anyhow::Result<()> {
        Ok(self.victim(slot)?.kill()?)
    }

    /// Waits for nodes that are dead or about to be: each is killed, or was shut out.
    pub(crate) fn bury(&mut self, slots: &[usize]) -> anyhow::Result<()> {
        for &slot in slots {
            let mut victim = self.victims[slot].take().context("a victim")?;
            let status = victim.wait()?;
            ensure!(
                status.code() != Some(STALE),
                "node {slot} has read what was older than what had been acknowledged"
            );
            let log = self.cluster.places().log(slot);
            ensure!(
                matches!(status.code(), None | Some(SHUT_OUT)),
                "node {slot} ended by itself: {status}; its log is {}",
                log.display()
            );
        }
        Ok(())
    }

    pub(crate) fn is_dead(&mut self, slot: usize) -> anyhow::Result<bool> {
        Ok(self.victim(slot)?.ended()?.is_some())
    }

    /// Checks that the acknowledged transactions of dead nodes' clients are found.
    pub(crate) fn check(&self, dead: &[usize]) -> anyhow::Result<()> {
        if dead.is_empty() {
            return Ok(());
        }
        let found = self.as_node(|bank, node| {
            let mut found = Vec::new();
            for client in dead.iter().flat_map(|&slot| clients(slot)) {
                found.push((client, bank.history_end(node, client)?.records));
            }
            Ok(found)
        })?;
        let mut found = found.into_iter();
        found.try_for_each(|(client, there)| self.compare(client, there))
    }

    /// Runs `body` as a node; again if this process was too slow for its lease.
    fn as_node<R>(
        &self,
        work: impl Fn(&Bank, &CoupledNode) -> Result<R, ClusterError>,
    ) -> anyhow::Result<R> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.cluster.as_node(&work) {
                Err(ClusterError::Node(error)) if tries < 5 && is_of_shut_out(&error) => {}
                done => return Ok(done?),
            }
        }
    }

    /// The found count is known from then on: a client's next life counts from there.
    fn compare(&self, client: u64, there: u64) -> anyhow::Result<()> {
        Ok(self
            .witness
            .with(|counts| counts.settle(client, there, 1))?)
    }

    /// Kills all, opens the database again, and proves the whole bank. Returns the number of acknowledged transactions.
    pub(crate) fn end(&mut self, random: &mut Random) -> anyhow::Result<u64> {
        let slots = self.shuffled(random);
        for &slot in &slots {
            self.kill(slot)?;
        }
        self.bury(&slots)?;
        if self.server.is_some() {
            self.kill_server()?;
            self.start_server()?;
        }
        let (sums, ends) = self.as_node(|bank, node| {
            let mut ends = Vec::new();
            for end in 0..bank.history_ends() {
                ends.push(bank.history(node, end)?);
            }
            Ok((bank.sums(node)?, ends))
        })?;
        ensure!(sums.are_equal(), "{sums:?}");
        let mut amounts = 0;
        for (client, records) in ends.iter().enumerate() {
            for (at, record) in records.iter().enumerate() {
                ensure!(
                    record.number == at as u64 + 1,
                    "client {client}: record {} is where {} should be",
                    record.number,
                    at + 1
                );
                amounts += record.amount;
            }
            self.compare(client as u64, records.len() as u64)?;
        }
        self.witness.verdict()?;
        ensure!(
            amounts == sums.accounts,
            "HISTORY's amounts add up to {amounts}, and the accounts to {}",
            sums.accounts
        );
        Ok(self.all_told())
    }
}
