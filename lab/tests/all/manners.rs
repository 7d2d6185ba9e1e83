//! The program and its environment: devices and pipes in place of files, files without an end, and programs that read
//! its JSON.

use crate::common::run;
use serde_json::Value;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Command;

#[test]
fn an_error_is_json_where_json_is_asked_for() {
    for arguments in [
        &["simulate", "--nodes", "0", "--json"][..],
        &["page-touch", "--pages", "0", "--json"],
        &["nonsense", "--json"],
    ] {
        let (printed, said) = run(2, arguments);
        assert_eq!(printed, "", "{arguments:?}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        let told: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        assert!(!told["error"].as_str().unwrap().is_empty(), "{said}");
        assert_eq!(told["exit_code"], 2, "{arguments:?}");
    }
}

#[test]
fn help_has_the_verbs_in_groups_and_the_exit_codes() {
    for verb in ["simulate", "trace"] {
        let help = run(0, &[verb, "--help"]).0;
        assert!(help.contains("Exit code 1"), "{verb}");
    }
    let help = run(0, &["--help"]).0;
    let at = |text: &str| {
        help.find(text)
            .unwrap_or_else(|| panic!("{text} in {help}"))
    };
    let order = [
        "Experiments",
        "  floor",
        "Simulation",
        "  trace",
        "  cluster",
        "Exit codes",
    ];
    assert!(order.map(at).is_sorted(), "{help}");
    assert!(run(0, &["--version"]).0.starts_with("sardonyx-lab "));
}

#[test]
fn nothing_but_a_file_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let generate = |code, name: &str| {
        let place = path(name);
        run(
            code,
            &[
                "trace",
                "generate",
                "--force",
                "-o",
                place.to_str().unwrap(),
            ],
        )
        .1
    };
    // A device and a pipe by another name, as the user of the tests may not be allowed to make a device.
    std::os::unix::fs::symlink("/dev/full", path("device")).unwrap();
    let made = Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(made.success());
    for name in ["device", "pipe"] {
        let said = generate(2, name);
        assert!(said.contains("a device, a pipe or a socket"), "{said}");
    }
    assert!(path("pipe").metadata().unwrap().file_type().is_fifo());
    assert!(path("device").symlink_metadata().unwrap().is_symlink());
    std::os::unix::fs::symlink(path("nowhere"), path("broken")).unwrap();
    assert!(generate(2, "broken").contains("leads nowhere"));
    // The target of a link is replaced, and the link stays; a file with the name of an unfinished one belongs to the
    // user.
    std::fs::write(path("old"), "old").unwrap();
    std::fs::write(path("link.new"), "mine").unwrap();
    std::os::unix::fs::symlink(path("old"), path("link")).unwrap();
    generate(0, "link");
    assert!(path("link").symlink_metadata().unwrap().is_symlink());
    assert!(path("old").metadata().unwrap().len() > 1000);
    assert_eq!(std::fs::read(path("link.new")).unwrap(), b"mine");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 6);
}

#[test]
fn files_without_an_end_are_refused() {
    for (arguments, says) in [
        (["--parameters", "/dev/zero"], "longer than"),
        (["--set", "workload.tables=\"/dev/zero\""], "longer than"),
        (["--gather", "/dev/zero"], "longer than"),
        (["--trace", "/dev/zero"], "/dev/zero"),
    ] {
        let more: &[&str] = match arguments[1].contains("tables") {
            true => &["--preset", "paper-trace"],
            false => &[],
        };
        let arguments = [&["simulate"], &arguments[..], more].concat();
        let (_, said) = run(2, &arguments);
        assert!(said.contains(says), "{said}");
    }
    run(2, &["trace", "stats", "/dev/zero"]);
}

#[test]
fn output_of_a_single_point_is_written_and_said() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("figures");
    let place = place.to_str().unwrap();
    let quick = [
        "--set",
        "run.measured_seconds=1",
        "--set",
        "run.warm_up_seconds=0.1",
    ];
    let quick = [&["simulate", "--replications", "2"], &quick[..]].concat();
    let (printed, _) = run(0, &[&quick[..], &["--output", place]].concat());
    let file = Path::new(place).join("point.csv");
    assert!(
        printed.contains(&format!("written: {}", file.display())),
        "{printed}"
    );
    let csv = std::fs::read_to_string(&file).unwrap();
    assert!(
        csv.starts_with("replications,section,name,unit,mean,half_width"),
        "{csv}"
    );
    let (printed, _) = run(
        0,
        &[&quick[..], &["--output", place, "--sweep", "nodes=1,2"]].concat(),
    );
    assert!(
        printed.contains("sweep.svg") && printed.contains("sweep.csv"),
        "{printed}"
    );
    // A file in its place is reported before the measurement.
    let taken = file.to_str().unwrap();
    for verb in [&quick[..], &["floor", "--seconds", "3000"]] {
        let (printed, said) = run(4, &[verb, &["--output", taken]].concat());
        assert!(
            said.contains("name a directory") && printed.is_empty(),
            "{said}"
        );
    }
    // If there is nothing to write, the option is refused.
    for nothing in ["--print-parameters", "--list-presets"] {
        for wanted in ["--output", "--csv"] {
            run(2, &["simulate", nothing, wanted, place]);
        }
    }
    run(
        2,
        &[
            "simulate", "--figure", "4.1", "--output", place, "--csv", place,
        ],
    );
}
