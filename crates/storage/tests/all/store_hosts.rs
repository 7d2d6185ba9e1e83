//! Three hosts of one database whose log is in a store, on simulated disks. They crash, are killed, follow and take
//! over in any order, with checkpoints of their own or without. The store loses answers. At any moment bases are put
//! there, and entries before them are deleted.

use crate::common::store::{Lossy, Primary, disk, follow, options};
use sardonyx_base::random::Random;
use sardonyx_base::seeds::Seeds;
use sardonyx_storage::checkpoint::CheckpointPlace;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::engine::{
    DurableAt, KeepInStore, OpenError, Replica, StorageOptions, delete_past, stored_manifest,
};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::known_hosts::{host_of, note_host};
use sardonyx_storage::remote_log::shell::Follower;
use std::collections::BTreeSet;

/// A host of the world, and its state.
struct Host {
    name: &'static str,
    disk: SimulatedDisk,
    /// It has reported from where on it would continue.
    has_reported: bool,
    open: Option<Primary>,
    following: Option<(Replica, Follower)>,
}

impl Host {
    fn stop(&mut self) {
        self.open = None;
        self.following = None;
    }

    /// It comes up again: with a crash at some step to come, now and then.
    fn restart(&mut self, random: &mut Random) {
        let faults = Faults {
            crash_at_step: random.chance(1, 3).then(|| random.below(300)),
            ..Faults::default()
        };
        self.disk = match random.chance(1, 2) {
            true => self.disk.restart(faults),
            false => self.disk.next_process(Faults {
                kill_at_step: faults.crash_at_step,
                ..Faults::default()
            }),
        };
        // Open handles fail now, and must not be waited for.
        self.stop();
    }
}

struct World {
    random: Random,
    hosts: Vec<Host>,
    options: StorageOptions,
    /// True if a host that opens leaves the checkpoints to followers, now and then.
    leaves: bool,
    /// The follower of which bases are made.
    maker: SimulatedDisk,
    /// Hosts report, and a trim takes nothing that one of them needs.
    reports: bool,
    next: u64,
    acknowledged: BTreeSet<u64>,
    counted: Counted,
}

/// Counts of events.
#[derive(Clone, Copy, Default, Debug)]
struct Counted {
    /// A host began to serve.
    opened: u64,
    /// A host that was to follow had entries that the store lacked.
    behind: u64,
    /// Entries were deleted.
    trimmed: u64,
    /// A host could go on nowhere: it had more than the newest base, and the store has no other group in place of that.
    refused: u64,
}

impl World {
    fn step(&mut self) {
        let at = self.random.below(self.hosts.len() as u64) as usize;
        let drawn = self.random.below(10);
        let host = &mut self.hosts[at];
        match drawn {
            // Also when another one serves.
            0 | 1 if host.open.is_none() => {
                host.following = None;
                let mut options = self.options.clone();
                if self.leaves && self.random.chance(2, 3) {
                    options.checkpoint = CheckpointPlace::Followers;
                }
                match Primary::open(&host.disk, options) {
                    Ok(open) => {
                        self.counted.opened += 1;
                        let missing: Vec<_> = self
                            .acknowledged
                            .iter()
                            .filter(|number| !open.has(**number))
                            .collect();
                        assert!(missing.is_empty(), "lost: {missing:?}");
                        host.open = Some(open);
                    }
                    Err(OpenError::StoreTrimmed { .. }) => self.replace(at),
                    Err(error) => {
                        assert!(host.disk.has_crashed(), "{error}");
                        host.restart(&mut self.random);
                    }
                }
            }
            2 if host.open.is_none() && host.following.is_none() => {
                match follow(&host.disk, &self.options) {
                    Ok(following) => host.following = Some(following),
                    // Until it serves again, or another one goes on.
                    Err(OpenError::StoreBehind) => self.counted.behind += 1,
                    Err(OpenError::StoreTrimmed { .. }) => self.replace(at),
                    Err(error) => {
                        assert!(host.disk.has_crashed(), "{error}");
                        host.restart(&mut self.random);
                    }
                }
            }
            3 => host.restart(&mut self.random),
            4 if self.random.chance(1, 2) => {
                if let Some(open) = host.open.take() {
                    open.close();
                }
                if let Some((replica, _)) = host.following.take() {
                    replica.close();
                }
            }
            5 if self.random.chance(1, 2) => self.trim(),
            _ => self.go_on(at),
        }
        // The first time soon, and then at any time, serving or not.
        let host = &self.hosts[at];
        let is_due = !host.has_reported || self.random.chance(1, 8);
        if self.reports && is_due && (host.open.is_some() || host.following.is_some()) {
            self.report(at);
        }
    }

    fn report(&mut self, at: usize) {
        let remote = self.options.remote.as_ref().unwrap();
        let identity = stored_manifest(remote).unwrap().unwrap().identity;
        let host = &mut self.hosts[at];
        // Its disk may have crashed.
        let Ok(Some(report)) = host_of(&host.disk, identity, host.name, 1) else {
            return;
        };
        // A report may be lost.
        host.has_reported |= note_host(&*remote.store, identity, &report).is_ok();
    }

    /// A process puts a base into the store, and deletes the entries before the last ones.
    fn trim(&mut self) {
        let (mut replica, mut follower) = follow(&self.maker, &self.options).unwrap();
        while let Some(entry) = follower.next_entry().unwrap() {
            replica.apply(&entry).unwrap();
        }
        let remote = self.options.remote.as_ref().unwrap();
        replica.put_base(&self.options, remote).unwrap();
        let keep = KeepInStore {
            bases: 1 + self.random.below(2) as usize,
            since: None,
            hosts_since: self.reports.then_some(1),
        };
        let deleted = delete_past(remote, keep).unwrap();
        self.counted.trimmed += u64::from(deleted.log.entries > 0);
    }

    /// This host gets an empty directory, as the error advises.
    fn replace(&mut self, at: usize) {
        self.counted.refused += 1;
        let host = &mut self.hosts[at];
        assert!(
            !(self.reports && host.has_reported),
            "what {} needs is deleted",
            host.name
        );
        host.stop();
        host.disk = disk(self.random.below(1 << 32));
    }

    /// A serving host commits; a following one applies.
    fn go_on(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        if let Some(open) = &host.open {
            for _ in 0..self.random.below(30) {
                let number = self.next;
                self.next += 1;
                match open.commit(number) {
                    Ok(()) => assert!(self.acknowledged.insert(number)),
                    // Fenced, or its disk has crashed.
                    Err(_) => {
                        host.open = None;
                        break;
                    }
                }
            }
        }
        if let Some((replica, follower)) = &mut host.following {
            for _ in 0..self.random.below(10) {
                let outcome = match follower.look() {
                    Ok(Some(entry)) => replica.apply(&entry),
                    Ok(None) => break,
                    // Opened again it goes on from a base.
                    Err(RemoteLogError::BehindBoundary { .. }) => {
                        host.following = None;
                        break;
                    }
                    Err(error) => panic!("{error}"),
                };
                if let Err(error) = outcome {
                    assert!(host.disk.has_crashed(), "{error}");
                    host.following = None;
                    break;
                }
            }
        }
    }
}

fn run(seed: u64, durable_at: DurableAt, leaves: bool, reports: bool) -> Counted {
    let mut random = Random::new(seed);
    let store = Lossy::with_silence(random.below(20), seed);
    let hosts = (0..).zip(["a", "b", "c"]).map(|(host, name)| Host {
        name,
        disk: disk(seed * 3 + host),
        has_reported: false,
        open: None,
        following: None,
    });
    let mut world = World {
        random,
        hosts: hosts.collect(),
        options: options(&store, durable_at),
        leaves,
        maker: disk(seed ^ u64::MAX),
        reports,
        next: 1,
        acknowledged: BTreeSet::new(),
        counted: Counted::default(),
    };
    for _ in 0..120 {
        world.step();
    }
    for host in &mut world.hosts {
        host.stop();
        host.disk = host.disk.restart(Faults::default());
    }
    // Each host has the same in the end.
    for at in 0..world.hosts.len() {
        let mut opened = Primary::open(&world.hosts[at].disk, world.options.clone());
        if let Err(OpenError::StoreTrimmed { .. }) = opened {
            world.replace(at);
            opened = Primary::open(&world.hosts[at].disk, world.options.clone());
        }
        let open = opened.unwrap();
        let lost: Vec<_> = world
            .acknowledged
            .iter()
            .filter(|number| !open.has(**number))
            .collect();
        assert!(lost.is_empty(), "seed {seed}, host {at}: lost {lost:?}");
        open.close();
    }
    world.counted
}

#[test]
fn i12_hosts_that_crash_and_take_over_lose_nothing_that_was_acknowledged() {
    let seeds = Seeds::new(0, 5);
    let mut all = Counted::default();
    seeds.explore(|seed| {
        for (durable_at, leaves, reports) in [
            (DurableAt::Both, false, false),
            (DurableAt::Both, false, true),
            (DurableAt::Remote, false, false),
            (DurableAt::Both, true, true),
        ] {
            let counted = run(seed, durable_at, leaves, reports);
            all.opened += counted.opened;
            all.behind += counted.behind;
            all.trimmed += counted.trimmed;
            all.refused += counted.refused;
        }
    });
    println!("{all:?}");
    assert!(all.opened >= seeds.count(), "{all:?}");
    assert!(all.behind < all.opened && all.trimmed > 0, "{all:?}");
    // This needs a claim that ends between its fence and its tail, or another host that continues with less than the one
    // before had on its way. It also needs a base of that at once, and a trim.
    assert!(20 * all.refused <= all.opened, "{all:?}");
}
