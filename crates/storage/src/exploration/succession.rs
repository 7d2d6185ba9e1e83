//! One process after another on the same machine, and only then a power cut. A process is killed at any
//! of its operations, or gives up because a sync failed. The next one finds the state in the system's
//! cache, continues and acknowledges. Then the cut takes everything that was not made stable.

use super::lives::World;
use crate::disk::Faults;
use sardonyx_base::random::Random;

/// The end of the first process.
#[derive(Clone, Copy, Debug)]
enum End {
    KilledAt(u64),
    FailedSync(u64),
}

impl End {
    fn faults(self) -> Faults {
        let (kill_at_step, fail_sync_at) = match self {
            End::KilledAt(step) => (Some(step), None),
            End::FailedSync(sync) => (None, Some(sync)),
        };
        Faults {
            kill_at_step,
            fail_sync_at,
            ..Faults::default()
        }
    }
}

/// A life that ends so, one or more on the same machine after it, a cut, and a last life. Returns
/// whether the end came.
fn explore(seed: u64, stripes: u32, end: End) -> bool {
    let what = format!("seed {seed}, {stripes} stripes, {end:?}");
    let mut world = World::create(seed, stripes);
    let mut life = world.open(&what).unwrap();
    world.run(&mut life, 40).unwrap();
    drop(life);
    world.restart_with(end.faults());
    let mut came = true;
    if let Ok(mut life) = world.open(&what) {
        came = world.run(&mut life, 60).is_err();
    }
    let mut random = Random::new(seed ^ 0x5cce);
    // Recovery, too, is killed somewhere, or one of its syncs fails.
    while random.chance(1, 2) {
        let within = 1 + random.below(12);
        let end = match random.chance(1, 2) {
            true => End::KilledAt(within),
            false => End::FailedSync(within),
        };
        world.next_process(end.faults());
        drop(world.open(&what));
    }
    world.next_process(Faults::default());
    if let Err(error) = world.recover(true) {
        panic!("{what}: the next process finds: {error}");
    }
    let mut life = world
        .open(&what)
        .unwrap_or_else(|_| panic!("{what}: the next process does not open it"));
    let steps = random.below(40) as usize;
    world.run(&mut life, steps).unwrap();
    drop(life);
    world.restart(None);
    let recovered = world
        .recover(true)
        .unwrap_or_else(|error| panic!("{what}: after the cut: {error}"));
    world.check(&recovered, &what);
    let mut life = world
        .open(&what)
        .unwrap_or_else(|_| panic!("{what}: does not open after the cut"));
    world.run(&mut life, 30).unwrap();
    drop(life);
    let recovered = world
        .recover(false)
        .unwrap_or_else(|error| panic!("{what}: at the end: {error}"));
    world.check(&recovered, &what);
    came
}

/// Explores every end of this kind until one does not come, for each seed (`SARDONYX_SEEDS` of them, if
/// that is set). It reports all failures together, so that their number is visible.
fn explore_all(seeds: u64, end: fn(u64) -> End, at_least: u64) {
    let seeds = super::seeds(seeds);
    let (mut runs, mut failures) = (0, Vec::new());
    // Each number of stripes has a seed of its own.
    for stripes in 1..=3 {
        for seed in u64::from(stripes)..u64::from(stripes) + seeds {
            for at in (1..).step_by(super::stride(3)) {
                let run = || explore(seed, stripes, end(at));
                runs += 1;
                match std::panic::catch_unwind(run) {
                    Ok(true) => {}
                    Ok(false) => {
                        assert!(at > at_least, "seed {seed}: it ends after {at} only");
                        break;
                    }
                    Err(_) => failures.push((seed, stripes, at)),
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {runs} failed: (seed, stripes, at) {failures:?}",
        failures.len()
    );
}

#[test]
fn i1_i6_a_process_killed_at_any_step_and_a_cut_after_the_next_lose_nothing_acknowledged() {
    explore_all(1, End::KilledAt, 20);
}

#[test]
fn i7_a_failed_sync_anywhere_and_a_cut_after_the_next_process_lose_nothing_acknowledged() {
    explore_all(1, End::FailedSync, 10);
}
