//! A follower that looks between any two operations of the writer's disk, and a power cut or a kill at each of them.
//! Its view is a state at a commit, never goes back, and is there when the database is opened again.

use super::{follow, items, items_in};
use crate::common::{Item, SEGMENT_BYTES, options};
use crate::watched::WatchedDisk;
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::{Error, Follower, Shape, Tables};
use sardonyx_base::random::{Random, stride};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

type Content = BTreeMap<u64, u64>;

/// The states that were shown, and the last group.
#[derive(Default)]
struct Shown {
    follower: Option<Follower>,
    group: u64,
    contents: BTreeMap<u64, Content>,
    looks: u64,
}

impl Shown {
    /// Looks, at a disk to which nothing is done meanwhile.
    fn look(&mut self, disk: &SimulatedDisk) {
        let follower = match &self.follower {
            Some(follower) => follower,
            // Nothing to follow before the database is made.
            None => match follow(disk) {
                Ok(follower) => self.follower.insert(follower),
                Err(error) => {
                    let is_made = disk.files().iter().any(|name| name == "MANIFEST");
                    assert!(!is_made || disk.has_crashed(), "{error:?}");
                    return;
                }
            },
        };
        match follower.step() {
            Ok(_) => {}
            // The disk has ended, not the database.
            Err(_) if disk.has_crashed() => return,
            Err(error) => panic!("{error:?}"),
        }
        self.looks += 1;
        let group = follower.position().expect("sound").group;
        assert!(group >= self.group, "{group} after {}", self.group);
        if group > self.group {
            self.group = group;
            self.contents.insert(group, items(follower));
        }
    }
}

/// The end of a life of the database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    PowerCut(u64),
    Kill(u64),
    Never,
}

/// The answers that the writer got.
#[derive(Default)]
struct Told {
    /// By the group before which all is durable: the content.
    states: BTreeMap<u64, Content>,
    content: Content,
    /// The transaction that was not acknowledged.
    in_flight: Option<Content>,
}

fn write(tables: &Tables, random: &mut Random, told: &mut Told) -> Result<(), Error> {
    let table = tables.table::<Item>()?;
    told.states
        .insert(tables.position()?.group, told.content.clone());
    for n in 0..14 {
        let mut next = told.content.clone();
        let changes: Vec<_> = (0..1 + random.below(3))
            .map(|_| (random.below(12), random.below(4), n))
            .collect();
        for &(id, what, value) in &changes {
            match what {
                0 => drop(next.remove(&id)),
                _ => drop(next.insert(id, value)),
            }
        }
        told.in_flight = Some(next.clone());
        tables.run(|tx| {
            for &(id, what, value) in &changes {
                match what {
                    0 => drop(tx.delete(table, id)?),
                    _ => drop(tx.put(table, &Item::new(id, value))?),
                }
            }
            Ok::<_, Error>(())
        })?;
        told.content = next;
        told.in_flight = None;
        told.states
            .insert(tables.position()?.group, told.content.clone());
        if n % 5 == 4 {
            tables.checkpoint()?;
        }
    }
    tables.close()
}

/// Runs a life that ends so. Returns the steps that it took.
fn life(seed: u64, end: End) -> u64 {
    let what = format!("seed {seed}, {end:?}");
    let faults = match end {
        End::PowerCut(step) => Faults {
            crash_at_step: Some(step),
            ..Faults::default()
        },
        End::Kill(step) => Faults {
            kill_at_step: Some(step),
            ..Faults::default()
        },
        End::Never => Faults::default(),
    };
    let disk = SimulatedDisk::new(seed, faults);
    let shown = Arc::new(Mutex::new(Shown::default()));
    let (looking, at) = (shown.clone(), disk.clone());
    let watched = WatchedDisk::new(disk.clone(), move |_, _| {
        looking.lock().unwrap().look(&at);
        Ok(())
    });
    let mut told = Told::default();
    let small = || options(Shape::Threadless).log_bytes_max(4 * SEGMENT_BYTES);
    let opened = small().open_tables_on(Arc::new(watched));
    if let Ok(tables) = opened {
        let written = write(&tables, &mut Random::new(seed), &mut told);
        // Not all that fails at the end of a life concerns the writer.
        assert!(written.is_ok() || disk.has_crashed(), "{what}: {written:?}");
    }
    let steps = disk.steps();
    let after = match end {
        End::PowerCut(_) => disk.restart(Faults::default()),
        _ => disk.next_process(Faults::default()),
    };
    let mut shown = shown.lock().unwrap();
    // The one that goes on on the same machine, if only the process was killed.
    let survivor = (end != End::PowerCut(steps))
        .then(|| follow(&after))
        .transpose();
    for (group, content) in &shown.contents {
        let state = told
            .states
            .range(..=*group)
            .next_back()
            .map(|(_, state)| state);
        let is_told = state == Some(content) || state.is_none() && content.is_empty();
        let is_in_flight = told.in_flight.as_ref() == Some(content);
        assert!(is_told || is_in_flight, "{what}: {content:?} at {group}");
    }
    let Ok(reopened) = small().open_tables_on(Arc::new(after.clone())) else {
        assert!(
            told.states.is_empty() && shown.contents.values().all(BTreeMap::is_empty),
            "{what}"
        );
        return steps;
    };
    let group = reopened.position().expect("open").group;
    assert!(
        group >= shown.group,
        "{what}: {group} is there, {} was shown",
        shown.group
    );
    let own = items_in(&reopened.snapshot().expect("a snapshot"));
    let newest = shown
        .contents
        .values()
        .next_back()
        .cloned()
        .unwrap_or_default();
    let is_later = own == told.content || told.in_flight.as_ref() == Some(&own);
    assert!(is_later || own == newest, "{what}: {own:?}");
    if told.in_flight.as_ref() == Some(&newest) {
        assert_eq!(own, newest, "{what}: what was shown was taken back");
    }
    if let Ok(Some(survivor)) = survivor {
        while survivor.step().expect("sound") {}
        assert_eq!(items(&survivor), own, "{what}");
    }
    shown.follower = None;
    steps
}

#[test]
fn i1_what_a_follower_shows_between_any_two_steps_of_the_disk_survives_a_cut_at_each() {
    for seed in 0..2 {
        let steps = life(seed, End::Never);
        assert!(steps > 50, "{steps}");
        for step in (1 + seed % stride(3) as u64..=steps).step_by(stride(3)) {
            life(seed, End::PowerCut(step));
        }
    }
}

#[test]
fn i1_what_a_follower_shows_between_any_two_steps_of_the_disk_survives_a_kill_at_each() {
    for seed in 2..4 {
        let steps = life(seed, End::Never);
        for step in (1 + seed % stride(3) as u64..=steps).step_by(stride(3)) {
            life(seed, End::Kill(step));
        }
    }
}

#[test]
fn a_follower_that_looks_between_all_steps_sees_all_states() {
    let disk = SimulatedDisk::new(9, Faults::default());
    let shown = Arc::new(Mutex::new(Shown::default()));
    let (looking, at) = (shown.clone(), disk.clone());
    let watched = WatchedDisk::new(disk.clone(), move |_, _| {
        looking.lock().unwrap().look(&at);
        Ok(())
    });
    let mut told = Told::default();
    let tables = options(Shape::Threadless)
        .open_tables_on(Arc::new(watched))
        .expect("opens");
    write(&tables, &mut Random::new(9), &mut told).expect("durable");
    let shown = shown.lock().unwrap();
    let states: Vec<_> = told.states.values().collect();
    let missed = states
        .iter()
        .filter(|state| !shown.contents.values().any(|s| s == **state));
    // The last one but the closing group may be looked at together with that.
    assert!(missed.count() <= 1, "{} looks", shown.looks);
}
