//! Random schedules from seeds: several transactions at once, crashes and failing disks in each of a
//! database's lives, every life with another strategy.

use super::schedule::Step::{self, *};
use super::world::{Setup, World, crash_at};
use sardonyx_base::random::Random;
use sardonyx_storage::disk::Faults;

const WORLDS: u64 = 50;
const LIVES: u64 = 4;
const STEPS: usize = 45;

struct Generator {
    random: Random,
    /// Places for records that move are used once.
    places: u32,
}

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn places(&mut self) -> Vec<(u32, u32)> {
        let mut places: Vec<_> = (0..1 + self.below(3))
            .map(|_| (self.below(6) as u32, self.below(3) as u32))
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    fn new_place(&mut self) -> (u32, u32) {
        self.places += 1;
        // A few on a page, so that the area grows.
        (self.places / 9, self.places % 9)
    }

    fn step(&mut self) -> Step {
        let who = 1 + self.below(5) as u8;
        let entry = self.below(3) as u32;
        match self.below(32) {
            0..=4 => Begin(who),
            5..=10 => Add(who, self.places()),
            11..=12 => LookAndAdd(who, self.below(6) as u32, self.places()),
            13 => Fail(who, self.places()),
            14..=15 => Insert(who, entry, self.new_place()),
            16..=18 => AddThrough(who, entry),
            19..=20 => Relocate(who, entry, self.new_place()),
            21..=22 => Push(who, self.below(2) as u32, 1 + self.below(9) as u8),
            23..=26 => Commit(who),
            27 => Abort(who),
            28 => {
                let outer = match self.below(3) {
                    0 => Fail(who, self.places()),
                    _ => Add(who, self.places()),
                };
                let inner = (0..4).map(|_| self.plain_step()).collect();
                During(Box::new(outer), 0, inner)
            }
            29 => {
                let nth = self.below(3) as usize;
                let inner = (0..4).map(|_| self.plain_step()).collect();
                During(Box::new(Abort(who)), nth, inner)
            }
            30 => Checkpoint,
            _ => Flush,
        }
    }

    /// A step that does not have others in its middle.
    fn plain_step(&mut self) -> Step {
        loop {
            match self.step() {
                During(..) | Checkpoint => {}
                step => return step,
            }
        }
    }

    fn faults(&mut self) -> Faults {
        let nth = Some(1 + self.below(40));
        match self.below(8) {
            0 => Faults::default(),
            1 => Faults {
                fail_sync_at: nth,
                ..Faults::default()
            },
            2 => Faults {
                fail_write_at: nth,
                ..Faults::default()
            },
            _ => Faults {
                crash_at_step: nth,
                ..Faults::default()
            },
        }
    }
}

/// One world in all its lives.
fn run(seed: u64) -> Result<u64, String> {
    let mut generator = Generator {
        random: Random::new(seed),
        places: 0,
    };
    let setups = Setup::all();
    let mut world = World::new(Setup { seed, ..setups[0] });
    let mut undone = 0;
    for life in 0..LIVES {
        let nth = generator.below(setups.len() as u64) as usize;
        world.setup = Setup {
            seed,
            ..setups[nth]
        };
        let faults = generator.faults();
        let steps: Vec<_> = (0..STEPS).map(|_| generator.step()).collect();
        world.restart(faults);
        let what = format!("life {life}, {:?}, {faults:?}, {steps:?}", world.setup);
        match world.live(&steps) {
            Ok(lived) => undone += lived.undone.operations,
            Err(stopped) if faults == Faults::default() => {
                return Err(format!("{what}: {stopped:?}"));
            }
            Err(_) => {}
        }
        while generator.below(3) == 0 {
            world.restart(crash_at(1 + generator.below(12)));
            let settled = world.check();
            if let (Err(error), false) = (settled, world.disk.has_crashed()) {
                return Err(format!("{what}: {error}"));
            }
        }
        world.restart(Faults::default());
        let checked = world.check().map_err(|error| format!("{what}: {error}"))?;
        undone += checked.operations;
    }
    Ok(undone)
}

#[test]
fn random_schedules() {
    let mut undone = 0;
    for seed in 0..crate::seeds().unwrap_or(WORLDS) {
        match run(seed) {
            Ok(operations) => undone += operations,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(
        undone > 40,
        "only {undone} operations were undone by recovery"
    );
}
