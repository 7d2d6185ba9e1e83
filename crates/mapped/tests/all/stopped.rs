//! A process that is stopped (not killed) at any step: the others learn which process it is, and wait no longer than
//! they choose (I13). Its locks stay its own, so that nothing is broken when it goes on (I12).

use crate::common::{self, Fallible, PAGE, options, role, say, spawn, unique, word};
use sardonyx_mapped::planted::{self, Step};
use sardonyx_mapped::{
    MechanismKind, Memory, MemoryAccess, Options, RunError, Segment, SegmentError, StoppedProcess,
};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const BEST: MechanismKind = MechanismKind::Best;
const ACCOUNTS: std::ops::Range<u64> = 1..9;
const PAGES: u64 = 64;

/// The other process.
#[test]
fn child() {
    let Some(role) = role() else { return };
    match role[0].as_str() {
        "steps" => steps(options(BEST).open_volatile(&role[1]).unwrap(), &role),
        "durable" => {
            planted::stop_at(Step::ALL[role[2].parse::<usize>().unwrap()], 2);
            steps(durable().open(&role[1]).unwrap(), &role);
        }
        "driver" => {
            let segment = durable().open(&role[1]).unwrap();
            segment.run(|tx| tx.grow_to(PAGES * PAGE)).unwrap();
            say("open");
            // Until the test ends.
            let _ = std::io::stdin().read_line(&mut String::new());
        }
        other => panic!("no role {other}"),
    }
}

/// Moves money until it has been stopped, and a little longer.
fn steps(segment: Segment, role: &[String]) {
    planted::stop_at(Step::ALL[role[2].parse::<usize>().unwrap()], 2);
    let mut left = 3;
    for round in 0..600 {
        transfer(&segment, round).unwrap();
        if round % 8 == 0 {
            // Slots are taken, and the segment grows.
            drop(segment.session().unwrap());
            let bytes = segment.length() + PAGE;
            let _ = segment.run(|tx| tx.grow_to(bytes));
        }
        left -= i32::from(planted::has_stopped());
        if left == 0 {
            break;
        }
    }
}

/// Moves one from an account to another, and writes much of a page, so that the ring wraps.
fn transfer(segment: &Segment, round: u64) -> Result<(), RunError<Box<dyn std::error::Error>>> {
    let account = |n: u64| ACCOUNTS.start + n % (ACCOUNTS.end - ACCOUNTS.start);
    segment.run(|tx| -> Fallible {
        let (from, to) = (account(round), account(round * 5 + 3));
        let some = tx.read(word(from, 0))?;
        tx.write(word(from, 0), some.wrapping_sub(1))?;
        let some = tx.read(word(to, 0))?;
        tx.write(word(to, 0), some.wrapping_add(1))?;
        for index in 0..512 {
            tx.write(word(account(0) + 20, index), round)?;
        }
        Ok(())
    })
}

fn durable() -> Options {
    options(BEST).storage(StorageOptions {
        segment_bytes: 1 << 20,
        block_bytes: 64 << 10,
        log_bytes_max: 8 << 20,
        log_bytes_prepared: 2 << 20,
        limits: GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 256 << 10,
            ..GroupLimits::default()
        },
        ..StorageOptions::default()
    })
}

/// Returns when a child is stopped (`true`) or has ended.
fn wait_until_stopped(child: &Child) -> bool {
    let mut status = 0;
    // SAFETY: waits for a child of this process; the status is valid.
    let waited = unsafe { libc::waitpid(child.id() as i32, &raw mut status, libc::WUNTRACED) };
    assert_eq!(waited, child.id() as i32);
    libc::WIFSTOPPED(status)
}

fn send(child: &Child, signal: i32) {
    // SAFETY: sends a signal to a child that was not waited for until its end.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// A process that is stopped, as an error says.
fn named(error: &RunError<Box<dyn std::error::Error>>) -> (u32, char) {
    match error {
        RunError::Segment(
            SegmentError::ProcessStopped { process, state, .. }
            | SegmentError::NotDurableYet { process, state, .. },
        ) => (*process, *state),
        other => panic!("{other}"),
    }
}

/// Options that count the notifications, and do not wait.
fn impatient(options: Options, told: &Arc<AtomicU32>) -> Options {
    let told = told.clone();
    options
        .stopped_process_wait(Duration::ZERO)
        .on_stopped_process(move |stopped: &StoppedProcess| {
            assert!(stopped.process != std::process::id() && stopped.state == 'T');
            told.fetch_add(1, Ordering::SeqCst);
        })
}

#[test]
fn i13_a_process_that_stops_at_any_step_is_named_and_nothing_breaks_when_it_goes_on() {
    let elsewhere = [
        Step::BeforeName,
        Step::Burying,
        Step::Leading,
        Step::GroupWritten,
    ];
    let (mut stopped, mut held_up) = (0, Vec::new());
    for (n, step) in Step::ALL.iter().enumerate() {
        if elsewhere.contains(step) {
            continue;
        }
        let told = Arc::new(AtomicU32::new(0));
        let name = unique("stopped");
        let segment = impatient(options(BEST), &told)
            .open_volatile(&name)
            .unwrap();
        segment.run(|tx| tx.grow_to(PAGES * PAGE)).unwrap();
        transfer(&segment, 1).unwrap();
        let (mut child, _told) = spawn(module_path!(), &["steps", &name, &n.to_string()]).apart();
        if wait_until_stopped(&child) {
            stopped += 1;
            if let Err(error) = transfer(&segment, 2) {
                assert_eq!(named(&error), (child.id(), 'T'), "{step:?}");
                assert!(told.load(Ordering::SeqCst) > 0, "{step:?}: nobody was told");
                assert!(segment.statistics().stopped_processes > 0);
                held_up.push(*step);
            }
            send(&child, libc::SIGCONT);
            assert!(child.wait().unwrap().success(), "{step:?}");
        }
        transfer(&segment, 3).unwrap();
        let snapshot = segment.snapshot().unwrap();
        assert_eq!(common::sum(&snapshot, ACCOUNTS), 0, "{step:?}");
        drop((snapshot, segment));
        let _ = std::fs::remove_file(format!("/dev/shm/{name}"));
    }
    println!("{stopped} steps, others held up at {held_up:?}");
    assert!(stopped >= 18, "a process stopped at {stopped} steps only");
    // Other processes are held up while the commit lock is held, and at no other step.
    assert!(held_up.contains(&Step::CommitLocked) && held_up.contains(&Step::BeforeUnlock));
    let free = [Step::Pinned, Step::Registered, Step::Gathered];
    assert!(
        !free.iter().any(|step| held_up.contains(step)),
        "{held_up:?}"
    );
}

#[test]
fn i13_a_commit_is_not_durable_yet_while_the_leader_is_stopped_and_can_be_waited_for_again() {
    for step in [Step::Leading, Step::GroupWritten] {
        let directory = tempfile::tempdir().unwrap();
        let told = Arc::new(AtomicU32::new(0));
        let segment = open(&told, directory.path());
        let n = Step::ALL.iter().position(|other| *other == step).unwrap();
        let path = directory.path().display().to_string();
        let (mut child, _told) = spawn(module_path!(), &["durable", &path, &n.to_string()]).apart();
        assert!(wait_until_stopped(&child));
        let error = transfer(&segment, 2).unwrap_err();
        assert_eq!(named(&error), (child.id(), 'T'));
        assert!(matches!(
            error,
            RunError::Segment(SegmentError::NotDurableYet { .. })
        ));
        // It is committed nevertheless.
        let page = word(ACCOUNTS.start + 20, 0);
        assert_eq!(segment.snapshot().unwrap().read(page).unwrap(), 2);
        let (_, ticket) = segment.run_later(|tx| tx.write(page, 77)).unwrap();
        let error = ticket.wait().unwrap_err();
        assert!(
            matches!(error, SegmentError::NotDurableYet { .. }),
            "{error}"
        );
        assert!(told.load(Ordering::SeqCst) >= 2);
        send(&child, libc::SIGCONT);
        while let Err(error) = ticket.wait() {
            assert!(
                matches!(error, SegmentError::NotDurableYet { .. }),
                "{error}"
            );
        }
        assert!(child.wait().unwrap().success());
        drop(segment);
        let segment = open(&told, directory.path());
        let snapshot = segment.snapshot().unwrap();
        assert_eq!(common::sum(&snapshot, ACCOUNTS), 0);
    }
}

#[test]
fn i13_a_log_that_gets_no_room_since_the_driver_is_stopped_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let told = Arc::new(AtomicU32::new(0));
    let path = directory.path().display().to_string();
    let mut command = common::command(module_path!(), &["driver", &path]);
    let command = command.stdin(std::process::Stdio::piped());
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    {
        use std::io::BufRead;
        let out = std::io::BufReader::new(child.stdout.as_mut().unwrap());
        assert!(out.lines().any(|line| line.unwrap().contains("@open")));
    }
    let segment = open(&told, directory.path());
    send(&child, libc::SIGSTOP);
    assert!(wait_until_stopped(&child));
    let error = (0..4096).find_map(|round| transfer(&segment, round).err());
    let error = error.expect("the log has no end");
    assert_eq!(named(&error), (child.id(), 'T'));
    assert!(error.to_string().contains("background work"), "{error}");
    let checkpoint = segment.checkpoint().unwrap_err();
    assert!(
        checkpoint.to_string().contains("background work"),
        "{checkpoint}"
    );
    // A death sets the others free.
    child.kill().unwrap();
    child.wait().unwrap();
    while let Err(error) = transfer(&segment, 1) {
        named(&error);
    }
    segment.checkpoint().unwrap();
}

fn open(told: &Arc<AtomicU32>, directory: &Path) -> Segment {
    let segment = impatient(durable(), told).open(directory).unwrap();
    segment.run(|tx| tx.grow_to(PAGES * PAGE)).unwrap();
    segment
}

#[test]
fn who_wants_to_go_first_is_told_that_the_one_who_has_it_is_stopped() {
    let name = unique("first");
    let told = Arc::new(AtomicU32::new(0));
    let segment = impatient(options(BEST), &told)
        .open_volatile(&name)
        .unwrap();
    segment.run(|tx| tx.grow_to(PAGES * PAGE)).unwrap();
    let n = Step::ALL
        .iter()
        .position(|step| *step == Step::CommitLocked);
    let (mut child, _told) =
        spawn(module_path!(), &["steps", &name, &n.unwrap().to_string()]).apart();
    assert!(wait_until_stopped(&child));
    let refused = segment.run_alone(|_| Ok::<(), Box<dyn std::error::Error>>(()));
    assert_eq!(named(&refused.unwrap_err()), (child.id(), 'T'));
    child.kill().unwrap();
    child.wait().unwrap();
    let done = segment.run_alone(|tx| tx.write(word(3, 0), 1));
    done.unwrap().1.wait().unwrap();
    drop(segment);
    let _ = std::fs::remove_file(format!("/dev/shm/{name}"));
}
