//! `leftovers`, on the memory of a process that was aborted.

use sardonyx_mapped::Options;
use std::path::Path;
use std::process::Command;

/// The directory in which the process of this test creates its memory.
const PLACE: &str = "SARDONYX_LEFTOVERS_PLACE";

/// The memory is that of nodes.
const OF_NODES: &str = "SARDONYX_LEFTOVERS_OF_NODES";

fn leftovers(shared_memory: &Path, more: &[&str]) -> String {
    let mut command = Command::new(crate::PROGRAM);
    command.arg("leftovers").arg("--shared-memory");
    let output = command.arg(shared_memory).args(more).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_dead_processes_left_is_listed_and_removed() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let place = place.path();
    assert!(leftovers(place, &[]).contains("no process left"));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "leftovers::child"])
        .env(PLACE, place);
    assert!(!child.output().unwrap().status.success());

    let listed = leftovers(place, &[]);
    assert!(
        listed.contains("volatile") && listed.contains("--remove"),
        "{listed}"
    );
    let line: serde_json::Value = serde_json::from_str(&leftovers(place, &["--json"])).unwrap();
    assert_eq!(
        (line["durable"].as_bool(), line["removed"].as_bool()),
        (Some(false), Some(false))
    );
    assert!(line["bytes"].as_u64() > Some(1 << 20), "{line}");
    assert!(place.join("left").exists());
    assert!(leftovers(place, &["--remove"]).contains("removed"));
    assert!(!place.join("left").exists());
    assert!(leftovers(place, &[]).contains("no process left"));
}

#[test]
fn the_memory_of_dead_nodes_is_listed_and_removed() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let place = place.path();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "leftovers::child"])
        .env(PLACE, place)
        .env(OF_NODES, "");
    assert!(!child.output().unwrap().status.success());
    let listed = leftovers(place, &[]);
    assert!(
        listed.contains("sardonyx-nodes-") && listed.contains("a database"),
        "{listed}"
    );
    assert!(leftovers(place, &["--remove"]).contains("removed"));
    assert!(leftovers(place, &[]).contains("no process left"));
    // It is created again, and is no leftover while a process uses it.
    let options = sardonyx_sharing::node::NodeOptions {
        pages: 64,
        shared_memory: place.into(),
        ..Default::default()
    };
    let nodes = sardonyx_sharing::node::Nodes::open(place.join("db"), options).unwrap();
    let node = nodes.join().unwrap();
    assert!(leftovers(place, &["--remove"]).contains("no process left"));
    node.run(|tx| tx.write(1, 0, &[1])).unwrap();
}

/// Not a test: the process that is aborted.
#[test]
fn child() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    if std::env::var_os(OF_NODES).is_some() {
        let options = sardonyx_sharing::node::NodeOptions {
            pages: 64,
            shared_memory: place.clone().into(),
            ..Default::default()
        };
        let path = Path::new(&place).join("db");
        let _nodes = sardonyx_sharing::node::Nodes::open(path, options).unwrap();
        std::process::abort();
    }
    let options = Options::new().address_space_bytes(64 << 20);
    let _open = options.shared_memory(place).open_volatile("left").unwrap();
    std::process::abort();
}
