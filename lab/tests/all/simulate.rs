//! `simulate` as its users run it: a real process, its output, its exit codes.

use crate::common;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// Short runs: 100 transactions or so.
const SHORT: [&str; 6] = [
    "--set",
    "run.warm_up_seconds=0.5",
    "--set",
    "run.measured_seconds=1",
    "--replications",
    "3",
];

fn simulate(arguments: &[&str]) -> Output {
    common::command(&[&["simulate"], arguments].concat())
        .output()
        .unwrap()
}

fn run(code: i32, arguments: &[&str]) -> (String, String) {
    common::ended(code, arguments, &simulate(arguments))
}

fn short(more: &[&str]) -> String {
    run(0, &[&SHORT, more].concat()).0
}

fn file(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for more in [
        &["--nodes", "2", "--routing", "random"][..],
        &[
            "--nodes",
            "2",
            "--coupling",
            "loose",
            "--routing",
            "random",
            "--json",
        ],
    ] {
        let with = |threads: &str, seed: &str| {
            short(&[more, &["--threads", threads, "--seed", seed]].concat())
        };
        let first = with("1", "5");
        assert_eq!(first, with("2", "5"));
        assert_ne!(
            first.replace("seed 5", ""),
            with("1", "6").replace("seed 6", "")
        );
    }
}

#[test]
fn what_is_printed_for_people_has_every_section() {
    let printed = short(&["--nodes", "2", "--routing", "random", "--update", "force"]);
    let first = "2 nodes, closely coupled (GEM locking), FORCE, random routing, debit-credit, \
                 100 TPS per node\n3 replications of 1 s after 0.5 s of warm-up, seed 1\n";
    assert!(printed.starts_with(first), "{printed}");
    for heading in [
        "response time ",
        "composed of ",
        "throughput ",
        "servers ",
        "pages per transaction ",
        "locks per transaction ",
        "messages per transaction ",
        "check ",
    ] {
        let count = printed
            .lines()
            .filter(|line| line.starts_with(heading))
            .count();
        assert_eq!(count, 1, "{heading:?} in:\n{printed}");
    }
    for row in [
        "cpu ",
        "gem ",
        "disks of account ",
        "branch_teller ",
        "CPU service ",
    ] {
        assert!(
            printed.lines().any(|line| line.starts_with(row)),
            "{row:?} in:\n{printed}"
        );
    }
}

#[test]
fn json_and_csv_hold_the_same_figures() {
    let directory = tempfile::tempdir().unwrap();
    let csv = directory.path().join("figures.csv");
    let printed = short(&["--json", "--csv", csv.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(report["parameters"]["nodes"], 1);
    assert_eq!(report["replications"].as_array().unwrap().len(), 3);
    let figures = report["summary"].as_array().unwrap();
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + figures.len());
    assert_eq!(
        csv.lines().next().unwrap(),
        "replications,section,name,unit,mean,half_width"
    );
    for (line, figure) in csv.lines().skip(1).zip(figures) {
        assert!(line.contains(figure["section"].as_str().unwrap()), "{line}");
        let mut backwards = line.rsplit(',');
        for column in ["half_width", "mean"] {
            let number: f64 = backwards.next().unwrap().parse().unwrap();
            assert_eq!(number, figure[column].as_f64().unwrap(), "{line}");
        }
    }
}

#[test]
fn processors_and_littles_law_agree_with_arithmetic() {
    let printed = run(0, &["--precision", "0.02", "--json"]).0;
    let report: Value = serde_json::from_str(&printed).unwrap();
    let mean = |section: &str, name: &str| {
        let mut figures = report["summary"].as_array().unwrap().iter();
        let found = figures.find(|one| one["section"] == section && one["name"] == name);
        found.unwrap()["mean"].as_f64().unwrap()
    };
    // 250,000 instructions, and 3,000 for each of about 2.6 I/Os, of 40 million a second.
    let rate = mean("throughput", "transactions");
    let used = mean("servers", "cpu: utilisation");
    assert!((used / rate - 0.648).abs() < 0.01, "{used}% at {rate} TPS");
    let (population, product) = (
        mean("checks", "Little: number in system"),
        mean("checks", "Little: arrivals x response"),
    );
    assert!(
        (population / product - 1.0).abs() < 0.02,
        "{population} and {product}"
    );
    assert_eq!(report["warnings"], Value::Array(Vec::new()));
}

#[test]
fn printed_parameters_are_read_back_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let printed = |arguments: &[&str]| run(0, &[&["--print-parameters"], arguments].concat()).0;
    let paper = printed(&[]);
    assert!(
        paper.starts_with("# The parameters of Erhard Rahm"),
        "{paper}"
    );
    let json = |arguments: &[&str]| printed(&[&["--json"], arguments].concat());
    let mine = file(directory.path(), "paper.toml", &paper);
    assert_eq!(json(&["--parameters", &mine]), json(&[]));
    for preset in [
        "paper-trace",
        "paper-gem",
        "nvme-tcp",
        "nvme-rdma",
        "cxl",
        "cxl-persistent",
        "cloud-block",
    ] {
        let chosen = [
            "--preset",
            preset,
            "--nodes",
            "3",
            "--set",
            "partition.account.storage=gem",
        ];
        let mine = file(directory.path(), "mine.toml", &printed(&chosen));
        assert_eq!(json(&["--parameters", &mine]), json(&chosen), "{preset}");
        assert!(run(0, &["--list-presets"]).0.contains(preset), "{preset}");
    }
}

#[test]
fn bad_parameters_name_file_line_key_and_range() {
    let directory = tempfile::tempdir().unwrap();
    let mine = |text: &str| file(directory.path(), "mine.toml", text);
    for (given, expected) in [
        (
            "nodes = 5\n[node]\nmips = 0\n",
            "mine.toml line 3: node.mips = 0 is out of range: choose",
        ),
        (
            "\n[node]\nmisp = 1\n",
            "mine.toml line 3: node.misp: unknown field",
        ),
        (
            "nodes = \"many\"\n",
            "mine.toml line 1: nodes: invalid type",
        ),
        ("nodes == 1\n", "mine.toml line 1: this is not TOML"),
    ] {
        let (printed, said) = run(2, &["--parameters", &mine(given)]);
        assert!(said.contains(expected), "{given:?}: {said}");
        assert_eq!(printed, "");
    }
    for (arguments, expected) in [
        (
            &["--nodes", "0"][..],
            "nodes = 0 is out of range: choose 1 to 1000",
        ),
        (&["--rate", "fast"], "arrival.rate_per_node: invalid type"),
        (
            &["--coupling", "tight"],
            "unknown variant `tight`, expected `close` or `loose`",
        ),
        (&["--set", "node.mips"], "write KEY=VALUE"),
        (
            &["--preset", "abacus"],
            "choose one of paper, paper-trace, paper-gem, nvme-tcp",
        ),
        (
            &["--parameters", "/nonexistent.toml"],
            "/nonexistent.toml cannot be read",
        ),
        (&["--throughput-at-cpu", "120%"], "below 100%"),
    ] {
        let (_, said) = run(2, arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_saturated_system_says_so() {
    let printed = short(&["--rate", "250"]);
    assert!(
        printed.contains("WARNING: saturated: in 3 of 3 replications"),
        "{printed}"
    );
}

#[test]
fn presets_of_today_bear_their_rate_in_every_configuration() {
    for preset in [
        "nvme-tcp",
        "nvme-rdma",
        "cxl",
        "cxl-persistent",
        "cloud-block",
    ] {
        // A tenth of the time: 3,400 transactions a node and replication.
        let windows: &[&str] = if preset == "cloud-block" {
            &[
                "--set",
                "run.warm_up_seconds=0.05",
                "--set",
                "run.measured_seconds=0.02",
            ]
        } else {
            &[
                "--set",
                "run.warm_up_seconds=0.012",
                "--set",
                "run.measured_seconds=0.005",
            ]
        };
        for (coupling, update) in [("close", "noforce"), ("loose", "force")] {
            let chosen = [
                "--preset",
                preset,
                "--coupling",
                coupling,
                "--update",
                update,
            ];
            let rest = [
                "--nodes",
                "2",
                "--routing",
                "random",
                "--replications",
                "2",
                "--json",
            ];
            let (printed, _) = run(0, &[&chosen, &rest[..], windows].concat());
            let report: Value = serde_json::from_str(&printed).unwrap();
            assert_eq!(report["warnings"], Value::Array(Vec::new()), "{chosen:?}");
            let mut figures = report["summary"].as_array().unwrap().iter();
            let cpu = figures
                .find(|one| one["name"] == "cpu: utilisation")
                .unwrap();
            let cpu = cpu["mean"].as_f64().unwrap();
            assert!(
                (10.0..60.0).contains(&cpu),
                "{chosen:?}: processors at {cpu}%"
            );
        }
    }
}

#[test]
fn the_rate_at_a_utilisation_is_found_or_its_limit_is_named() {
    let printed = short(&["--throughput-at-cpu", "80%", "--json"]);
    let found: Value = serde_json::from_str(&printed).unwrap();
    let rate = found["rate_per_node"]["mean"].as_f64().unwrap();
    // 40 million instructions a second, 80% of them, and 258,000 a transaction.
    assert!((rate - 123.0).abs() < 6.0, "{rate}");
    let few_disks = ["--set", "partition.account.disks_per_node=1"];
    let asked = [&SHORT[..], &few_disks, &["--throughput-at-cpu", "80%"]].concat();
    let (_, said) = run(1, &asked);
    assert!(
        said.contains("cannot be reached") && said.contains("disks of account"),
        "{said}"
    );
}

#[test]
fn a_damaged_trace_is_damage_as_it_is_for_the_trace_verb() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("damaged.trace");
    let sound = sardonyx_workload::trace::synthetic::generate(1);
    let form = sardonyx_workload::trace::Form::Binary;
    let mut bytes = sound.write(form, Vec::new(), "-").unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    let (_, said) = run(1, &["--preset", "paper-trace", "--trace", file]);
    assert!(said.contains("damaged.trace, at byte"), "{said}");
}

#[test]
fn a_sweep_is_a_table_a_picture_and_every_figure() {
    let directory = tempfile::tempdir().unwrap();
    let (place, csv) = (
        directory.path().join("pictures"),
        directory.path().join("all.csv"),
    );
    let (place, csv) = (place.to_str().unwrap(), csv.to_str().unwrap());
    let one = [
        "--sweep",
        "node.mips=10..40*2",
        "--output",
        place,
        "--csv",
        csv,
    ];
    let printed = short(&one);
    let rows: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0][0], "node.mips");
    let response = |row: usize| rows[row][1].parse::<f64>().unwrap();
    assert_eq!([rows[1][0], rows[2][0], rows[3][0]], ["10", "20", "40"]);
    assert!(
        response(1) > response(2) && response(2) > response(3),
        "{printed}"
    );
    let file = |name: &str| std::fs::read_to_string(format!("{place}/{name}")).unwrap();
    assert!(file("sweep.svg").starts_with("<svg"));
    assert_eq!(file("sweep.csv").lines().count(), 4);
    let csv = std::fs::read_to_string(csv).unwrap();
    assert!(csv.starts_with("node.mips,replications,section,"), "{csv}");
    assert!(
        csv.lines()
            .any(|line| line.starts_with("40,3,servers,cpu: utilisation,%,")),
        "{csv}"
    );

    let two = [
        "--sweep",
        "nodes=1,2",
        "--sweep",
        "routing=affinity,random",
        "--show",
    ];
    let two = [&two[..], &["pages/branch_teller: buffer hits"]].concat();
    let printed = short(&two);
    let row = |name: &str| {
        let line = printed.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace()
            .skip(1)
            .map(|cell| cell.parse().unwrap())
            .collect::<Vec<f64>>()
    };
    let (affinity, random) = (row("affinity"), row("random"));
    assert_eq!(affinity[0], random[0], "one node has no choice");
    assert!(random[1] < affinity[1] - 10.0, "{printed}");
    let points: Value = serde_json::from_str(&short(&[&two[..], &["--json"]].concat())).unwrap();
    assert_eq!(points[3]["set"]["routing"], "random");
    assert_eq!(points[3]["set"]["nodes"], "2");

    for (arguments, expected) in [
        (&["--sweep", "nodes=0..3"][..], "nodes = 0 is out of range"),
        (
            &["--sweep", "nodes=3..1"],
            "the last value is below the first",
        ),
        (
            &["--sweep", "nodes=1,2", "--throughput-at-cpu", "80%"],
            "cannot be used with",
        ),
        (&["--show", "servers/gem: wait"], "--sweep"),
    ] {
        let (_, said) = run(2, arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_figure_is_a_table_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("figures");
    let place = place.to_str().unwrap();
    let printed = short(&["--figure", "4.2", "--output", place]);
    assert!(printed.starts_with("Figure 4.2: "), "{printed}");
    for name in ["figure-4.2.csv", "figure-4.2.svg", "report.html"] {
        let file = format!("{place}/{name}");
        assert!(printed.contains(&format!("written: {file}")), "{printed}");
        assert!(!std::fs::read(file).unwrap().is_empty());
    }
    let again = short(&["--figure", "4.2", "--output", place, "--json"]);
    let report: Value = serde_json::from_str(&again).unwrap();
    let figure = &report["figures"][0];
    assert_eq!(figure["figure"], "4.2");
    assert!(figure["curves"].as_array().unwrap().len() >= 4);
    assert!(figure["curves"][0]["points"][0]["mean"].as_f64().unwrap() > 30.0);
    let (_, said) = run(2, &["--figure", "4.9", "--output", place]);
    assert!(said.contains("choose one of 4.1, 4.2"), "{said}");
    let (_, said) = run(2, &["--figure", "4.2"]);
    assert!(said.contains("--output DIR"), "{said}");
}

#[test]
fn parts_run_apart_are_the_same_bytes_together() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--sweep", "nodes=1,2", "--set", "run.warm_up_seconds=0.5"];
    let options = [
        &options[..],
        &["--set", "run.measured_seconds=2", "--precision", "0.03"],
    ]
    .concat();
    let with = |more: &[&str]| run(0, &[&options, more].concat()).0;
    let mut parts = String::new();
    let mut rounds = 0;
    let gathered = loop {
        let path = file(directory.path(), "parts.jsonl", &parts);
        let missing = with(&["--gather", &path, "--missing"]);
        if missing.is_empty() {
            break with(&["--gather", &path, "--json"]);
        }
        let (_, said) = run(2, &[&options[..], &["--gather", &path]].concat());
        assert!(said.contains("are missing"), "{said}");
        for line in missing.lines() {
            let missing: Value = serde_json::from_str(line).unwrap();
            let range = format!("{}..{}", missing["first"], missing["last"]);
            let point = missing["point"].to_string();
            parts += &with(&["--only-point", &point, "--only-replications", &range]);
        }
        rounds += 1;
    };
    assert!(rounds > 1, "more than the least replications were needed");
    assert_eq!(gathered, with(&["--json"]));
    let (_, said) = run(
        2,
        &[&options[..], &["--only-replications", "0..1"]].concat(),
    );
    assert!(said.contains("of which point"), "{said}");
    let which = ["--only-point", "2", "--only-replications", "0..1"];
    let (_, said) = run(2, &[&options[..], &which].concat());
    assert!(said.contains("there are 2 points, from 0"), "{said}");
}

#[test]
fn help_has_examples_and_exit_codes() {
    let (help, _) = run(0, &["--help"]);
    assert!(
        help.contains("Examples:") && help.contains("Exit code 1"),
        "{help}"
    );
}
