//! Each target's short run in CI. Long runs are `cargo xtask fuzz` and libFuzzer.

use sardonyx_fuzz::TARGETS;
use sardonyx_fuzz::driver::{Until, fuzz};

/// `SARDONYX_SEEDS` as in other tests: so many seeds instead of one.
fn seeds() -> u64 {
    sardonyx_base::random::asked("SARDONYX_SEEDS").unwrap_or(1)
}

#[test]
fn no_target_panics() {
    for target in TARGETS {
        for seed in 1..=seeds() {
            let report = fuzz(target, seed, 0, Until::Runs(target.runs));
            let report = report.unwrap_or_else(|failure| panic!("{failure}"));
            println!(
                "{:<22}{:>8} inputs in {:?}",
                target.name, report.runs, report.time
            );
        }
    }
}

/// Without seeds, a decoder would only see invalid input.
#[test]
fn every_target_has_seeds_and_a_program_for_libfuzzer() {
    for target in TARGETS {
        assert!(!(target.seeds)().is_empty(), "{} has no seeds", target.name);
        let program = format!(
            "{}/libfuzzer/fuzz_targets/{}.rs",
            env!("CARGO_MANIFEST_DIR"),
            target.name
        );
        let text =
            std::fs::read_to_string(&program).unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(text.contains(&format!("\"{}\"", target.name)), "{program}");
    }
}
