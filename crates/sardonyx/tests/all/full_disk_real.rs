//! A real file system that is full: a small one in memory, mounted for this test's process alone. If the system does
//! not let us mount one, the test prints that and does nothing.

use crate::common::{Model, Opened, SHAPES, options};
use sardonyx::Error;
use sardonyx_base::victims::path_of;
use sardonyx_storage::log::LogError;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the child's file system.
const MOUNTED_AT: &str = "SARDONYX_TEST_SMALL_DISK";

/// Runs this test again in a process that has a file system of 8 MiB of its own, which goes with it.
/// `None`: that is not possible here.
fn in_a_small_file_system(test: &str) -> Option<bool> {
    let directory = tempfile::tempdir().expect("a directory");
    let program = std::env::current_exe().expect("this program");
    let script = "mount -t tmpfs -o size=8m small \"$1\" || exit 77; exec \"$2\" --exact \"$3\"";
    let child = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .args([directory.path(), &program, Path::new(test)])
        .env(MOUNTED_AT, directory.path())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    if said.contains("1 passed") {
        return Some(true);
    }
    if said.contains("1 failed") {
        println!("{said}{}", String::from_utf8_lossy(&child.stderr));
        return Some(false);
    }
    None
}

/// A file that takes all the room there is.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).expect("room for a name");
    let mut piece = vec![1; 1 << 20];
    while !piece.is_empty() {
        if file.write_all(&piece).is_err() {
            piece.truncate(piece.len() / 2);
        }
    }
}

fn assert_full(error: &Error) {
    let Some(LogError::Full { reason }) = error.downcast_ref() else {
        panic!("{error:?}");
    };
    assert!(reason.contains("free disk space"), "{reason}");
}

#[test]
fn i14_a_real_disk_that_is_full_for_a_while() {
    let name = path_of(&i14_a_real_disk_that_is_full_for_a_while);
    let Some(root) = std::env::var_os(MOUNTED_AT).map(PathBuf::from) else {
        match in_a_small_file_system(&name) {
            Some(passed) => assert!(passed, "in the small file system"),
            None => println!("skipped: this system lets us mount no file system of our own"),
        }
        return;
    };
    for (number, shape) in SHAPES.into_iter().enumerate() {
        let (path, filler) = (root.join(format!("{number}.sdx")), root.join("filler"));
        let mut model = Model::default();
        let opened = Opened::on_real(&path, options(shape)).unwrap();
        for n in 0..30 {
            opened.put(n, n).unwrap();
            model.put(n, n);
        }
        fill(&filler);
        let mut refused = false;
        for n in 30..3000 {
            match opened.put(n, n) {
                Ok(()) => model.put(n, n),
                Err(error) => {
                    assert_full(&error);
                    refused = true;
                    break;
                }
            }
        }
        assert!(refused, "{shape:?}");
        assert!(opened.database.checkpoint_failure().is_none(), "{shape:?}");
        assert_eq!(opened.contents().expect("readable"), model);
        drop(opened);
        let opened = Opened::on_real(&path, options(shape)).expect("opens on a full disk");
        assert_eq!(opened.contents().expect("readable"), model);
        if let Err(error) = opened.put(0, 1) {
            assert_full(&error);
        } else {
            model.put(0, 1);
        }
        std::fs::remove_file(&filler).unwrap();
        for n in 0..300 {
            // The checkpointer may be about to find out; its error is the same.
            while let Err(error) = opened.put(n, n) {
                assert_full(&error);
                let _ = opened.database.checkpoint();
            }
            model.put(n, n);
        }
        opened.database.checkpoint().unwrap();
        assert!(opened.database.checkpoint_waiting().is_none());
        drop(opened);
        let opened = Opened::on_real(&path, options(shape)).unwrap();
        assert_eq!(opened.contents().expect("readable"), model, "{shape:?}");
        drop(opened);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
