//! One process after another on the same machine, and only then a power cut. A process is killed at any
//! of its operations, or gives up because a sync failed. The next one finds the state in the system's
//! cache, continues and acknowledges. Then the cut takes everything that was not made stable.

use super::lives::World;
use crate::crashes::{End, Walk};
use sardonyx_base::random::Random;
use sardonyx_base::seeds::Seeds;

/// A life that ends so, one or more on the same machine after it, a cut, and a last life. Returns
/// whether the end came.
fn explore(seed: u64, stripes: u32, end: End) -> bool {
    let name = format!("seed {seed}, {stripes} stripes, {end:?}");
    let mut world = World::create(name, seed, stripes);
    world.must_live(40);
    world.restart(end);
    let came = !world.live(60);
    let mut random = Random::new(seed ^ 0x5cce);
    // Recovery, too, is killed somewhere, or one of its syncs fails.
    while random.chance(1, 2) {
        let within = 1 + random.below(12);
        let end = match random.chance(1, 2) {
            true => End::Kill(within),
            false => End::FailedSync(within),
        };
        world.next_process(end);
        world.live(0);
    }
    let steps = random.below(40) as usize;
    world.next_process(End::Cut);
    world.check();
    world.must_live(steps);
    world.restart(End::Cut);
    world.check();
    world.must_live(30);
    world.must_live(0);
    came
}

/// Explores every end of this kind until one does not come, for each seed.
fn explore_all(end: fn(u64) -> End, at_least: u64) {
    // Each number of stripes has a seed of its own.
    for stripes in 1..=3 {
        Seeds::new(stripes.into(), 1).explore(|seed| {
            let what = format!("seed {seed}, {stripes} stripes");
            let walk = Walk::each(5).at_least(at_least);
            walk.explore(&what, |at| explore(seed, stripes, end(at)));
        });
    }
}

#[test]
fn i1_i6_a_process_killed_at_any_step_and_a_cut_after_the_next_lose_nothing_acknowledged() {
    explore_all(End::Kill, 20);
}

#[test]
fn i7_a_failed_sync_anywhere_and_a_cut_after_the_next_process_lose_nothing_acknowledged() {
    explore_all(End::FailedSync, 10);
}
