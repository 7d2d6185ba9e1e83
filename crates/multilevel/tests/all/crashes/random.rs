//! Random schedules from seeds: several transactions at once, crashes and failing disks in each of a
//! database's lives, every life with another strategy.

use super::schedule::Step::{self, *};
use super::world::{self, Setup, live};
use sardonyx_base::random::Random;
use sardonyx_base::seeds::Seeds;
use sardonyx_storage::crashes::End;

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

    fn end(&mut self) -> End {
        let nth = 1 + self.below(40);
        match self.below(8) {
            0 => End::Cut,
            1 => End::FailedSyncThenCut(nth),
            2 => End::FailedWrite(nth),
            _ => End::Crash(nth),
        }
    }
}

/// One world in all its lives. Returns the number of operations that were undone when it was opened.
fn run(seed: u64) -> u64 {
    let mut generator = Generator {
        random: Random::new(seed),
        places: 0,
    };
    let setups = Setup::all();
    let mut world = world::new(Setup { seed, ..setups[0] });
    let mut undone = 0;
    for life in 0..LIVES {
        let nth = generator.below(setups.len() as u64) as usize;
        world.subject.setup = Setup {
            seed,
            ..setups[nth]
        };
        let end = generator.end();
        let steps: Vec<_> = (0..STEPS).map(|_| generator.step()).collect();
        world.restart(end);
        let setup = world.subject.setup;
        world.rename(format!(
            "seed {seed}, life {life}, {setup:?}, {end:?}, {steps:?}"
        ));
        if live(&mut world, &steps) {
            undone += world.subject.undone.operations;
        }
        while generator.below(3) == 0 {
            world.restart(End::Crash(1 + generator.below(12)));
            world.check();
        }
        world.restart(End::Cut);
        world.check();
        undone += world.subject.undone.operations;
    }
    undone
}

#[test]
fn random_schedules() {
    let mut undone = 0;
    let seeds = Seeds::new(0, WORLDS);
    seeds.explore(|seed| undone += run(seed));
    assert!(
        seeds.is_replay() || undone > 40,
        "only {undone} operations were undone by recovery"
    );
}
