//! The events of torture-nodes for the nodes of a database and their page server, and the expected reactions of the
//! living ones.

use crate::connections;
use crate::node_arena::{Arena, STANDSTILL, clients};
use crate::node_events::Event;
use anyhow::{Context, ensure};
use rustix::process::Signal;
use sardonyx_base::random::Random;
use sardonyx_base::victims::Victim;
use sardonyx_cluster::setting::Coupling;
use std::time::{Duration, Instant};

/// A stopped node may be left alone after this time: the others did not need anything of it.
const LEFT_ALONE: Duration = Duration::from_secs(2);

/// The time after which a stopped node is fenced: closely coupled it is killed, if others wait; loosely coupled it is
/// shut out.
pub(crate) fn stopped_wait(coupling: Coupling) -> Duration {
    match coupling {
        Coupling::Close => Duration::from_millis(50),
        // On a slow machine a node that is only slow would be shut out, too.
        Coupling::Loose => Duration::from_secs(4),
    }
}

/// The numbers of nodes that died in an event.
#[derive(Clone, Copy, Default)]
pub(crate) struct Died {
    pub all: u64,
    /// Of these, the stopped ones that the others did not wait for.
    pub by_others: u64,
}

impl Arena<'_> {
    /// The slots in a random order.
    pub(crate) fn shuffled(&self, random: &mut Random) -> Vec<usize> {
        let mut slots: Vec<usize> = (0..self.victims.len()).collect();
        for last in (1..slots.len()).rev() {
            slots.swap(last, random.below(last as u64 + 1) as usize);
        }
        slots
    }

    /// Runs an event, checks the effects, and starts the nodes again.
    pub(crate) fn suffer(&mut self, event: Event, random: &mut Random) -> anyhow::Result<Died> {
        let slots = self.shuffled(random);
        self.goes_on(&slots, 1 + random.below(300))?;
        std::thread::sleep(Duration::from_micros(random.below(3000)));
        let several = 1 + random.below(slots.len() as u64 - 1) as usize;
        let count = match event {
            Event::One | Event::Stopped | Event::Paused => 1,
            Event::Several | Event::ServerAndNodes => several,
            Event::SeveralStopped => several + 1,
            Event::InRecovery => 2.min(slots.len() - 1),
            Event::All | Event::Everything => slots.len(),
            Event::Server | Event::ServerStopped | Event::Cut => 0,
        };
        let (struck, living) = slots.split_at(count);
        let mut dead = struck.to_vec();
        let mut died = Died::default();
        match event {
            Event::Stopped | Event::Paused if self.options.coupling() == Coupling::Close => {
                died.by_others = self.stop_close(event, struck[0], living, random)?;
                if event == Event::Paused && died.by_others == 0 {
                    dead.clear();
                }
            }
            Event::Stopped | Event::Paused | Event::SeveralStopped => {
                dead = self.stop_loose(event, struck, living, random)?;
                died.by_others = dead.len() as u64;
            }
            Event::Server => {
                self.kill_server()?;
                died.all += 1;
            }
            Event::ServerStopped => self.stop_server(random)?,
            Event::Cut => self.cut(random)?,
            Event::ServerAndNodes | Event::Everything => {
                let server_at = random.below(struck.len() as u64 + 1) as usize;
                for at in 0..=struck.len() {
                    if at == server_at {
                        self.kill_server()?;
                        died.all += 1;
                    }
                    if let Some(&slot) = struck.get(at) {
                        self.kill(slot)?;
                    }
                    std::thread::sleep(Duration::from_micros(random.below(1500)));
                }
            }
            Event::One | Event::Several | Event::All | Event::InRecovery => {
                for (at, &slot) in struck.iter().enumerate() {
                    if at > 0 && event == Event::InRecovery {
                        std::thread::sleep(Duration::from_micros(random.below(1500)));
                    }
                    self.kill(slot)?;
                }
            }
        }
        died.all += dead.len() as u64;
        self.bury(&dead)?;
        self.start_server()?;
        if !living.is_empty() {
            self.goes_on(living, 10)?;
        }
        self.check(&dead)?;
        self.start_missing()?;
        Ok(died)
    }

    fn signal(&self, slot: usize, signal: Signal) -> anyhow::Result<()> {
        let victim = self.victims[slot].as_ref().context("a victim")?;
        Ok(victim.signal(signal)?)
    }

    /// Stops a closely coupled node, for a moment or until the others kill it. Returns the number that they killed; a
    /// paused one lives if it is 0.
    fn stop_close(
        &mut self,
        event: Event,
        slot: usize,
        living: &[usize],
        random: &mut Random,
    ) -> anyhow::Result<u64> {
        self.signal(slot, Signal::STOP)?;
        if event == Event::Stopped {
            return Ok(u64::from(self.is_fenced(slot, living)?));
        }
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        self.signal(slot, Signal::CONT)?;
        self.goes_on(living, 20)?;
        // On a slow machine the moment may have been too long.
        Ok(u64::from(!self.lives_on(slot)?))
    }

    /// Stops loosely coupled nodes, and continues them. Returns those that have ended, as they were shut out.
    fn stop_loose(
        &mut self,
        event: Event,
        struck: &[usize],
        living: &[usize],
        random: &mut Random,
    ) -> anyhow::Result<Vec<usize>> {
        // A node may be about to join at that moment.
        if random.below(4) > 0 {
            self.goes_on(&struck[..1], 1)?;
        }
        for &slot in struck {
            self.signal(slot, Signal::STOP)?;
            std::thread::sleep(Duration::from_micros(random.below(3000)));
        }
        let wait = stopped_wait(Coupling::Loose);
        std::thread::sleep(match event {
            Event::Paused => Duration::from_micros(random.below(1_400_000)),
            // From a time after which it has to stop itself to one when it must be shut out.
            _ => wait / 2 + Duration::from_millis(random.below(wait.as_millis() as u64 * 3 / 2)),
        });
        if event != Event::Paused && !living.is_empty() {
            self.goes_on(living, 20)?;
        }
        for &slot in struck {
            self.signal(slot, Signal::CONT)?;
        }
        if !living.is_empty() {
            self.goes_on(living, 20)?;
        }
        // On a slow machine a moment may have been too long; and a node that had not joined yet has lost nothing.
        let mut dead = Vec::new();
        for &slot in struck {
            if !self.lives_on(slot)? {
                dead.push(slot);
            }
        }
        Ok(dead)
    }

    fn stop_server(&mut self, random: &mut Random) -> anyhow::Result<()> {
        let server = self.server.as_ref().context("a page server")?;
        server.signal(Signal::STOP)?;
        // Rarely for so long that nodes ask again over new connections.
        let most = if random.below(4) == 0 { 7000 } else { 600 };
        std::thread::sleep(Duration::from_millis(random.below(most)));
        Ok(server.signal(Signal::CONT)?)
    }

    /// Cuts connections between nodes, and to the page server, for a while.
    fn cut(&mut self, random: &mut Random) -> anyhow::Result<()> {
        let victims = self.victims.iter().flatten();
        let processes = victims.map(Victim::id);
        let processes: Vec<u32> = processes
            .chain(self.server.as_ref().map(Victim::id))
            .collect();
        let mut cut = 0;
        for _ in 0..1 + random.below(20) {
            let process = processes[random.below(processes.len() as u64) as usize];
            cut += connections::cut(process, random)?;
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
        }
        self.cut += cut;
        Ok(())
    }

    /// Waits until a continued node acknowledges a transaction, or has ended.
    fn lives_on(&mut self, slot: usize) -> anyhow::Result<bool> {
        let (before, began) = (self.told_to(clients(slot)), Instant::now());
        loop {
            if self.is_dead(slot)? {
                return Ok(false);
            }
            if self.told_to(clients(slot)) > before {
                return Ok(true);
            }
            ensure!(
                began.elapsed() < STANDSTILL,
                "node {slot}, which was continued, does nothing"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until a stopped node is dead; kills it if the others continue without it. Returns true if the others
    /// killed it.
    fn is_fenced(&mut self, slot: usize, living: &[usize]) -> anyhow::Result<bool> {
        let began = Instant::now();
        loop {
            if self.is_dead(slot)? {
                return Ok(true);
            }
            if began.elapsed() > LEFT_ALONE {
                self.goes_on(living, 1)?;
                self.kill(slot)?;
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
