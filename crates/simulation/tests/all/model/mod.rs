//! The model against arithmetic: the time of a transaction without any chance, and the rules of every run.

mod gem_uses;

use sardonyx_simulation::load::Load;
use sardonyx_simulation::measurement::Measurement;
use sardonyx_simulation::model;
use sardonyx_simulation::parameters::Parameters;
use sardonyx_simulation::parameters::read::Layers;
use std::sync::Arc;

fn parameters(settings: &[&str]) -> Parameters {
    let mut layers = Layers::named("paper").unwrap();
    for setting in settings {
        layers.set(setting).unwrap();
    }
    layers.read().unwrap()
}

fn run(parameters: &Parameters) -> Measurement {
    let load = Arc::new(Load::new(parameters).unwrap());
    model::run(parameters, &load, 0)
}

/// Nothing is left to chance, and transactions never meet: one every two seconds, one branch page.
fn alone(settings: &[&str]) -> Measurement {
    let mut all = vec![
        "node.path_lengths=constant",
        "disk.distribution=constant",
        "arrival.process=deterministic",
        "arrival.rate_per_node=0.5",
        "workload.branches_per_node=1",
        "workload.history_blocking=1000",
        "run.warm_up_seconds=20",
        "run.measured_seconds=100",
    ];
    all.extend(settings);
    run(&parameters(&all))
}

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-6,
        "{found} instead of {expected}"
    );
}

/// 250,000 instructions at 10 MIPS: 25 ms. An I/O: 3,000 instructions, 0.3 ms; controller and
/// transfer 1.4 ms; disk 15 ms, log disk 5 ms.
const PATH: f64 = 25.0;
const DISK: f64 = 16.4;
const LOG: f64 = 6.4;
const IO: f64 = 0.3;
/// Two locks, each requested and released by two entry accesses of 2 us.
const ENTRIES: f64 = 8.0 * 0.002;

#[test]
fn noforce_reads_the_account_and_writes_the_log() {
    let found = alone(&["update=noforce"]);
    close(
        found.response.mean,
        PATH + (IO + DISK) + (IO + LOG) + ENTRIES,
    );
    close(found.composition.cpu_service, PATH + 2.0 * IO);
    close(found.composition.io, DISK + LOG);
    close(found.composition.gem, ENTRIES);
    close(found.locks.entry_accesses, 8.0);
    close(found.locks.global, 2.0);
    close(found.locks.requests, 2.0);
    assert_eq!(
        (found.locks.short_messages, found.locks.long_messages),
        (0.0, 0.0)
    );
}

#[test]
fn a_history_that_is_locked_costs_a_lock_more_and_no_two_meet_there() {
    let found = alone(&["update=noforce", "partition.history.locks=true"]);
    close(found.locks.entry_accesses, 12.0);
    close(found.locks.requests, 3.0);
    // Many at once, which meet nowhere else.
    let busy = |locks: &str| {
        run(&parameters(&[
            "nodes=2",
            "routing=random",
            "workload.branches_per_node=100000",
            "workload.accounts_per_branch=1000",
            "node.multiprogramming_level=50",
            "run.warm_up_seconds=1",
            "run.measured_seconds=5",
            locks,
        ]))
    };
    let (with, without) = (
        busy("partition.history.locks=true"),
        busy("partition.history.locks=false"),
    );
    assert_eq!(with.locks.conflicts, 0.0);
    assert_eq!(without.locks.conflicts, 0.0);
    assert!((with.locks.requests - without.locks.requests - 1.0).abs() < 0.05);
}

/// GEM statement 4.2-8: with more nodes, more have valid copies of a page when one of them changes it. But fewer of
/// these copies are still there when they would be found.
#[test]
fn copies_that_commits_make_invalid_grow_with_the_nodes() {
    let of = |settings: &[&str]| {
        let all = [
            &["run.warm_up_seconds=5", "run.measured_seconds=10"],
            settings,
        ];
        let found = run(&parameters(&all.concat()));
        let hot = &found.partitions[2];
        (hot.made_invalid, hot.invalidations)
    };
    let random = |nodes| of(&["routing=random", nodes]);
    let [two, five, ten] = ["nodes=2", "nodes=5", "nodes=10"].map(random);
    assert!(
        two.0 > 0.2 && five.0 > two.0 + 0.05 && ten.0 > five.0,
        "{two:?} {five:?} {ten:?}"
    );
    assert!(ten.1 < two.1, "{two:?} {ten:?}");
    let (made_invalid, _) = of(&["routing=affinity", "nodes=5"]);
    assert!(made_invalid < 0.001, "{made_invalid}");
    println!("{two:?} {five:?} {ten:?}");
}

/// As real nodes do: then fewer pages of others are requested, since more of them are in storage.
#[test]
fn modified_pages_that_are_written_together_are_asked_for_less() {
    let of = |pages| {
        run(&parameters(&[
            "nodes=3",
            "routing=random",
            "node.buffer_pages=100",
            "run.warm_up_seconds=5",
            "run.measured_seconds=10",
            pages,
        ]))
    };
    let (one, many) = (
        of("node.write_back_pages=1"),
        of("node.write_back_pages=16"),
    );
    let requests = |found: &Measurement| found.locks.page_requests;
    assert!(
        requests(&many) < 0.97 * requests(&one),
        "{} {}",
        requests(&many),
        requests(&one)
    );
}

#[test]
fn force_also_writes_the_three_pages_one_after_the_other_or_at_once() {
    let found = alone(&["update=force"]);
    close(
        found.response.mean,
        PATH + 4.0 * (IO + DISK) + (IO + LOG) + ENTRIES,
    );
    let found = alone(&["update=force", "node.force_writes=parallel"]);
    let writes = 3.0 * IO + DISK;
    close(
        found.response.mean,
        PATH + (IO + DISK) + writes + (IO + LOG) + ENTRIES,
    );
}

#[test]
fn gem_saves_the_disk_and_keeps_the_processor() {
    // 300 instructions and 50 us for the forced write of BRANCH/TELLER.
    let found = alone(&["update=force", "partition.branch_teller.storage=gem"]);
    let gem = 0.03 + 0.05;
    close(
        found.response.mean,
        PATH + 3.0 * (IO + DISK) + gem + (IO + LOG) + ENTRIES,
    );
    close(found.composition.gem, 0.05 + ENTRIES);
    let found = alone(&["update=noforce", "log.storage=gem"]);
    close(found.response.mean, PATH + (IO + DISK) + gem + ENTRIES);
}

#[test]
fn a_nonvolatile_cache_saves_writes_and_a_volatile_one_does_not() {
    let cached = IO + 1.4;
    let storage = "partition.branch_teller.storage=nonvolatile_cache";
    let found = alone(&["update=force", storage]);
    close(
        found.response.mean,
        PATH + 3.0 * (IO + DISK) + cached + (IO + LOG) + ENTRIES,
    );
    let storage = "partition.branch_teller.storage=volatile_cache";
    let found = alone(&["update=force", storage]);
    close(
        found.response.mean,
        PATH + 4.0 * (IO + DISK) + (IO + LOG) + ENTRIES,
    );
}

#[test]
fn reads_from_a_cache_save_the_disk() {
    // More branch pages than a buffer of 8 frames keeps, which other accounts pass through.
    for storage in ["volatile_cache", "nonvolatile_cache"] {
        let storage = format!("partition.branch_teller.storage={storage}");
        let found = alone(&[
            "workload.branches_per_node=40",
            "node.buffer_pages=8",
            &storage,
        ]);
        let branch = found
            .partitions
            .iter()
            .find(|one| one.name == "branch_teller")
            .unwrap();
        assert!(branch.reads > 0.5, "{branch:?}");
        assert!(branch.cache_hit_ratio > 0.3, "{branch:?}");
        let expected = PATH
            + (IO + DISK)
            + branch.reads * (IO + 1.4 + (1.0 - branch.cache_hit_ratio) * 15.0)
            + (IO + LOG)
            + ENTRIES;
        close(found.response.mean, expected);
    }
}

#[test]
fn a_synchronous_replacement_waits_for_the_write() {
    let settings = ["node.replacement_writes=synchronous", "node.buffer_pages=8"];
    let found = alone(&settings);
    // An earlier transaction's account is replaced: its entry, which its node remembers, is replaced,
    // it is written, its entry is replaced again.
    let write = IO + DISK + 2.0 * 0.002;
    close(
        found.response.mean,
        PATH + (IO + DISK) + write + (IO + LOG) + ENTRIES,
    );
}

#[test]
fn primary_copy_alone_needs_no_message() {
    let found = alone(&["coupling=loose"]);
    close(found.response.mean, PATH + (IO + DISK) + (IO + LOG));
    close(found.locks.local, 2.0);
    close(found.locks.local_share, 1.0);
}

/// Two nodes, a branch each, transactions that never meet and go to any node.
fn two_nodes(settings: &[&str]) -> Measurement {
    let all = [&["nodes=2", "routing=random"], settings].concat();
    alone(&all)
}

/// A short message: 5,000 instructions at each end, 100 bytes at 10 MB/s.
const SHORT: f64 = 0.5 + 0.01 + 0.5;
/// A long message: 8,000 instructions at each end, 4,096 bytes.
const LONG: f64 = 0.8 + 0.4096 + 0.8;

#[test]
fn a_page_request_is_a_short_and_a_long_message() {
    let found = two_nodes(&["node.buffer_pages=1000"]);
    let branch = &found.partitions[2];
    assert!(branch.from_nodes > 0.3, "{branch:?}");
    // A page that the other node modified last comes from there; everything else is in the own buffer.
    close(branch.from_nodes + branch.hit_ratio, 1.0);
    close(branch.invalidations, branch.from_nodes);
    close(found.locks.page_requests, branch.from_nodes);
    close(found.locks.page_request_milliseconds, SHORT + LONG);
    close(found.locks.short_messages, branch.from_nodes);
    close(found.locks.long_messages, branch.from_nodes);
    close(
        found.composition.messages,
        branch.from_nodes * (SHORT + LONG),
    );
    close(found.locks.entry_accesses, 8.0);
}

#[test]
fn a_remote_lock_is_a_request_a_grant_and_a_release_with_the_pages() {
    let force = two_nodes(&["coupling=loose", "update=force", "node.buffer_pages=1000"]);
    let locks = &force.locks;
    assert!(locks.remote > 0.7 && locks.remote < 1.3, "{locks:?}");
    close(locks.local + locks.remote, 2.0);
    close(force.composition.messages, locks.remote * 2.0 * SHORT);
    assert_eq!(locks.long_messages, 0.0);
    // One release for all locks at one node: fewer than one for each.
    let releases = locks.short_messages - 2.0 * locks.remote;
    assert!(
        releases > 0.5 * locks.remote && releases <= locks.remote,
        "{locks:?}"
    );

    let noforce = two_nodes(&["coupling=loose", "update=noforce", "node.buffer_pages=1000"]);
    let locks = &noforce.locks;
    // Each release returns the pages that were modified; a grant brings the branch's page if this
    // node has not the newest version.
    let brought = noforce.partitions[2].from_nodes;
    close(locks.long_messages, releases + brought);
    close(locks.short_messages, 2.0 * locks.remote - brought);
    let expected = locks.remote * 2.0 * SHORT + brought * (LONG - SHORT);
    close(noforce.composition.messages, expected);
    assert_eq!(locks.page_requests, 0.0);
}

#[test]
fn an_acknowledged_release_is_one_short_message_more() {
    let plain = two_nodes(&["coupling=loose", "update=force"]);
    let answered = two_nodes(&[
        "coupling=loose",
        "update=force",
        "locking.acknowledge_release=true",
    ]);
    let releases = plain.locks.short_messages - 2.0 * plain.locks.remote;
    close(
        answered.locks.short_messages,
        plain.locks.short_messages + releases,
    );
    close(answered.response.mean, plain.response.mean);
}

#[test]
fn where_storage_makes_versions_at_commit_nobody_writes_pages_and_messages_are_the_same() {
    let noforce = ["coupling=loose", "update=noforce", "node.buffer_pages=20"];
    let written = two_nodes(&noforce);
    let stored = two_nodes(&[&noforce[..], &["locking.stored_at_commit=true"]].concat());
    let writes = |found: &Measurement| found.partitions.iter().map(|one| one.writes).sum::<f64>();
    assert!(writes(&written) > 0.5, "{:?}", written.partitions);
    close(writes(&stored), 0.0);
    close(stored.locks.short_messages, written.locks.short_messages);
    close(stored.locks.long_messages, written.locks.long_messages);
    close(stored.response.mean, written.response.mean);
}

/// Settings that together touch every part of the model.
const BUSY: &[&[&str]] = &[
    &[],
    &["update=force"],
    &["nodes=5", "routing=random"],
    &["nodes=5", "routing=random", "update=force"],
    &["nodes=4", "routing=random", "coupling=loose"],
    &[
        "nodes=4",
        "routing=random",
        "coupling=loose",
        "update=force",
    ],
    &[
        "nodes=3",
        "coupling=loose",
        "locking.acknowledge_release=true",
    ],
    &[
        "nodes=3",
        "routing=random",
        "coupling=loose",
        "locking.stored_at_commit=true",
    ],
    &[
        "nodes=3",
        "routing=random",
        "partition.branch_teller.storage=gem",
        "node.buffer_pages=1000",
    ],
    &[
        "nodes=3",
        "routing=random",
        "update=force",
        "partition.default.storage=nonvolatile_cache",
    ],
    &[
        "nodes=2",
        "routing=random",
        "partition.default.storage=volatile_cache",
        "log.storage=gem",
    ],
    &["nodes=2", "routing=random", "node.multiprogramming_level=8"],
    &[
        "nodes=2",
        "routing=random",
        "node.replacement_writes=synchronous",
    ],
    &[
        "nodes=2",
        "routing=random",
        "update=force",
        "node.force_writes=parallel",
    ],
    &[
        "nodes=2",
        "routing=random",
        "workload.clustered=false",
        "node.new_page_reads=true",
    ],
    &[
        "nodes=3",
        "routing=random",
        "locking.read_authorisation=true",
        "gem.distribution=uniform",
    ],
    &[
        "nodes=3",
        "routing=random",
        "messages.medium=gem",
        "locking.page_transfer=gem",
        "log.storage=gem_cache",
        "partition.branch_teller.storage=gem_cache",
    ],
    &[
        "nodes=3",
        "coupling=loose",
        "update=force",
        "routing=random",
        "messages.medium=gem",
        "partition.branch_teller.storage=gem_cache",
        "partition.branch_teller.cache_pages_per_node=20",
    ],
];

/// The draws of a transaction are its own: another update strategy changes its work and nothing else.
#[test]
fn the_same_transactions_arrive_in_every_configuration() {
    let of = |settings: &[&str]| {
        let all = [
            &["nodes=2", "run.warm_up_seconds=1", "run.measured_seconds=4"],
            settings,
        ]
        .concat();
        let parameters = parameters(&all);
        let load = Arc::new(Load::new(&parameters).unwrap());
        [0, 1, 2, 3].map(|number| model::run(&parameters, &load, number))
    };
    let (one, other) = (of(&[]), of(&["update=force"]));
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one.arrivals, other.arrivals);
    }
    let spread = |values: [f64; 4]| {
        let mean = values.iter().sum::<f64>() / 4.0;
        values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
    };
    let mean = |of: &[Measurement; 4]| [0, 1, 2, 3].map(|at| of[at].response.mean);
    let (one, other) = (mean(&one), mean(&other));
    let difference = [0, 1, 2, 3].map(|at| other[at] - one[at]);
    assert!(
        spread(difference) < 0.5 * (spread(one) + spread(other)),
        "{one:?} and {other:?}"
    );
}

fn busy(settings: &[&str]) -> Measurement {
    let mut all = vec!["run.warm_up_seconds=5", "run.measured_seconds=40"];
    all.extend(settings);
    run(&parameters(&all))
}

#[test]
fn the_parts_add_up_littles_law_holds_and_processors_are_as_busy_as_arithmetic_says() {
    for settings in BUSY {
        let found = busy(settings);
        let parts = &found.composition;
        let sum = parts.input_queue
            + parts.cpu_service
            + parts.cpu_wait
            + parts.io
            + parts.gem
            + parts.lock_wait
            + parts.messages
            + parts.restarts;
        assert!(
            (sum - found.response.mean).abs() < 1e-6,
            "{settings:?}: {sum}"
        );
        assert!(
            found.little.error() < 0.02,
            "{settings:?}: {:?}",
            found.little
        );
        assert!(
            found.servers.iter().all(|station| station.little_holds),
            "{settings:?}"
        );
        let cpu = found.servers[0].utilisation;
        // Path lengths are exponential: the sum of some 25,000 of them varies by 0.6%.
        let error = (cpu - found.cpu_by_arithmetic).abs() / cpu;
        assert!(
            error < 0.02,
            "{settings:?}: {cpu} and {}",
            found.cpu_by_arithmetic
        );
        assert!(!found.saturated, "{settings:?}");
        assert!(
            found.completions > 3_500,
            "{settings:?}: {}",
            found.completions
        );
    }
}

#[test]
fn i11_the_same_seed_gives_the_same_figures_and_another_gives_others() {
    for settings in BUSY {
        let short = [*settings, &["run.measured_seconds=1"][..]].concat();
        let (one, other) = (busy(&short), busy(&short));
        assert_eq!(format!("{one:?}"), format!("{other:?}"), "{settings:?}");
        let another = [&short[..], &["run.seed=2"]].concat();
        assert_ne!(one.response, busy(&another).response, "{settings:?}");
    }
}

/// The GEM paper, section 4.1: 100 TPS of 250,000 instructions on four processors of 10 MIPS.
#[test]
fn the_processors_are_used_to_62_5_percent_for_the_path_length_alone() {
    let settings = [
        "disk.instructions=0",
        "gem.entry_microseconds=0",
        "run.measured_seconds=400",
    ];
    let found = run(&parameters(&settings));
    let cpu = found.servers[0].utilisation;
    assert!((cpu - 0.625).abs() < 0.01, "{cpu}");
}

#[test]
fn more_arrivals_than_the_processors_can_serve_are_called_saturation() {
    let found = run(&parameters(&[
        "arrival.rate_per_node=170",
        "run.measured_seconds=60",
    ]));
    assert!(found.saturated);
    assert!(found.servers[0].utilisation > 0.99);
    // One GEM server cannot do it for 1,000 nodes: the run ends early instead of filling memory.
    let settings = [
        "nodes=1000",
        "run.most_in_system=10000",
        "run.measured_seconds=60",
    ];
    let found = run(&parameters(&settings));
    assert!(found.saturated && found.seconds < 1.0, "{}", found.seconds);
}
