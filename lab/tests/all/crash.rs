//! Crashes on the simulated disk: every step of small runs, and lives of many seeds (I1 to I8, I11); thousands by `SARDONYX_SEEDS`.
//! A failure prints the plan that replays it.

use sardonyx_lab::crashes::exploration::{Explored, Plan, explore};

const SMALL: Plan = Plan {
    seed: 1,
    crash_at_step: None,
    kill_at_step: None,
    fail_sync_at: None,
    lives: 1,
    transactions: 40,
};

fn must(plan: Plan) -> Explored {
    explore(plan).unwrap_or_else(|what| panic!("{what}"))
}

/// The number of seeds: few, or as many as `SARDONYX_SEEDS` says.
fn seeds(default: u64) -> u64 {
    sardonyx_base::random::seeds(default)
}

/// Runs plans on all processors.
fn all(plans: Vec<Plan>) -> Explored {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let total = std::thread::scope(|scope| {
        let plans = &plans;
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut total = Explored::default();
                    for plan in plans.iter().skip(worker).step_by(workers) {
                        let explored = must(*plan);
                        total.crashes += explored.crashes;
                        total.transactions += explored.transactions;
                        total.checkpoints += explored.checkpoints;
                        total.recovered += explored.recovered;
                    }
                    total
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join()).collect::<Vec<_>>()
    });
    total.into_iter().fold(Explored::default(), |sum, part| {
        let part = part.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Explored {
            steps: 0,
            crashes: sum.crashes + part.crashes,
            transactions: sum.transactions + part.transactions,
            checkpoints: sum.checkpoints + part.checkpoints,
            recovered: sum.recovered + part.recovered,
        }
    })
}

#[test]
fn i1_a_crash_at_every_step_of_small_runs_loses_nothing_acknowledged() {
    let mut plans = Vec::new();
    for seed in 1..=seeds(3) {
        let whole = must(Plan { seed, ..SMALL });
        assert!(whole.steps > 40, "the run reaches the disk: {whole:?}");
        plans.extend((1..=whole.steps).map(|step| Plan {
            seed,
            crash_at_step: Some(step),
            ..SMALL
        }));
    }
    let total = all(plans);
    assert!(total.recovered > 0 && total.checkpoints > 0, "{total:?}");
}

#[test]
fn i1_a_process_killed_at_every_step_and_a_crash_after_the_next_lose_nothing_acknowledged() {
    let mut plans = Vec::new();
    for seed in 21..21 + seeds(2) {
        let whole = must(Plan { seed, ..SMALL });
        plans.extend((1..=whole.steps).map(|step| Plan {
            seed,
            kill_at_step: Some(step),
            ..SMALL
        }));
    }
    let total = all(plans);
    assert!(total.recovered > 0, "{total:?}");
}

#[test]
fn i1_i6_i8_several_lives_of_each_seed() {
    let seeds = seeds(36);
    let plans = (0..seeds)
        .map(|n| Plan {
            seed: 1000 + n,
            crash_at_step: (n % 4 != 0).then_some(1 + n * 7 % 400),
            lives: 3,
            transactions: 60,
            ..SMALL
        })
        .collect();
    let total = all(plans);
    assert!(
        total.checkpoints > seeds / 3 && total.crashes > 3 * seeds,
        "{total:?}"
    );
}

#[test]
fn i7_a_failed_sync_at_every_place_loses_nothing_acknowledged() {
    let every = sardonyx_base::random::asked("SARDONYX_SEEDS").is_some();
    let plans = (1..=120)
        // Every third sync by each seed, unless more seeds are requested.
        .flat_map(|sync| {
            (1..=4)
                .filter(move |seed| every || seed % 3 == sync % 3)
                .map(move |seed| (seed, sync))
        })
        .map(|(seed, sync)| Plan {
            seed,
            fail_sync_at: Some(sync),
            lives: 2,
            ..SMALL
        })
        .collect();
    all(plans);
}

#[test]
fn i11_the_same_seed_gives_the_same_run() {
    for seed in 0..20 {
        let plan = Plan {
            seed,
            crash_at_step: Some(100 + seed),
            lives: 3,
            ..SMALL
        };
        assert_eq!(explore(plan), explore(plan), "seed {seed}");
    }
}
