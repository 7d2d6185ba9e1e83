//! The process around a segment: fork, handlers of its own for SIGSEGV, stacks that overflow, and
//! system calls that write into a view.

use crate::common::{
    self, MECHANISMS, PAGE, alone, command, mechanism_of, options, private, role, say, word,
};
use sardonyx_mapped::{Access, MechanismKind, Memory, MemoryAccess, Segment, SegmentError};
use std::io::{Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The address for which the host's handler was called.
static FAULTED: AtomicUsize = AtomicUsize::new(0);
/// A page of the host's that may not be touched until its handler lets it.
static OWN: AtomicUsize = AtomicUsize::new(0);

#[test]
fn child() {
    let Some(role) = role() else { return };
    let mechanism = mechanism_of(&role[1]);
    match role[0].as_str() {
        "fork" => fork(mechanism, &role[2]),
        "nested" => nested(mechanism, &role[2], &role[3]),
        "sent" => sent(mechanism, &role[2]),
        "handler" => own_handler(mechanism, &role[2]),
        "overflow" => overflow(mechanism),
        "null" => fault_elsewhere(mechanism),
        other => panic!("no role {other}"),
    }
}

fn run(role: &[&str]) -> std::process::Output {
    command(module_path!(), role).output().unwrap()
}

fn said(output: &std::process::Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(|line| line.split_once('@'));
    lines.map(|(_, said)| said).collect::<Vec<_>>().join(" ")
}

fn add(segment: &Segment) -> u64 {
    segment
        .run(|tx| -> common::Fallible<u64> {
            let value = tx.read(word(1, 0))? + 1;
            tx.write(word(1, 0), value)?;
            Ok(value)
        })
        .unwrap()
}

/// Forks by the C library, or by a system call that its handlers do not see.
fn fork_by(how: &str) -> libc::pid_t {
    match how {
        // SAFETY: the child calls nothing that needs another thread of the parent.
        "library" => unsafe { libc::fork() },
        // SAFETY: as above; `clone` with no flags but the signal at its end is a fork.
        _ => unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t },
    }
}

/// The word in a page of a view.
fn word_at(start: *const u8, page: u64) -> *mut u64 {
    start
        .wrapping_add((page * PAGE) as usize)
        .cast::<u64>()
        .cast_mut()
}

fn fork(mechanism: MechanismKind, how: &str) {
    let segment = private(mechanism, 16);
    add(&segment);
    let snapshot = segment.snapshot().unwrap();
    let mut session = segment.session().unwrap();
    session.begin(Default::default()).unwrap();
    let (theirs, view) = (snapshot.address(), session.address());
    match fork_by(how) {
        0 => {
            let forked = matches!(
                segment.run(|tx| tx.write(word(1, 0), 99)),
                Err(sardonyx_mapped::RunError::Segment(SegmentError::Forked))
            );
            let snapshot_too = matches!(segment.snapshot(), Err(SegmentError::Forked))
                && segment.slowest_reader().is_none()
                && segment.length() == 0;
            let plain = plain_memory(theirs, view);
            drop(snapshot);
            drop(session);
            drop(segment);
            // Its own segment works in the child.
            let own = private(mechanism, 16);
            let works = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (1..40).all(|n| add(&own) == n) && two_sessions(&own)
            }));
            let works = works.unwrap_or(false);
            let code = i32::from(!forked)
                + 2 * i32::from(!snapshot_too)
                + 4 * i32::from(!works)
                + 8 * i32::from(!plain);
            // SAFETY: ends the child at once, without the exit handlers of its parent's libraries.
            unsafe { libc::_exit(code) };
        }
        pid => {
            let mut status = 0;
            // SAFETY: waits for the child just made.
            unsafe { libc::waitpid(pid, &raw mut status, 0) };
            say(format!("child {}", libc::WEXITSTATUS(status)));
            say(format!("signal {}", libc::WTERMSIG(status)));
        }
    }
    assert_eq!(snapshot.read(word(1, 0)).unwrap(), 1);
    session.abort().unwrap();
    assert_eq!(add(&segment), 2);
    say("parent goes on");
}

/// True if the parent's views are plain memory in the child: some committed state, to be read, to be written, and to
/// be read by system calls.
fn plain_memory(snapshot: *const u8, view: *const u8) -> bool {
    let mut file = tempfile::tempfile().unwrap();
    // SAFETY: the parent's views, of 16 pages each, are copied into a child.
    unsafe {
        for start in [snapshot, view] {
            let committed = word_at(start, 1).read_volatile() == 1;
            word_at(start, 1).write_volatile(77);
            word_at(start, 9).write_volatile(78);
            let stays = word_at(start, 1).read_volatile() == 77;
            let memory = std::slice::from_raw_parts(start, 16 * PAGE as usize);
            if !committed || !stays || file.write(memory).ok() != Some(memory.len()) {
                return false;
            }
        }
    }
    true
}

/// True if one session sees the other's commits, and a conflict is found.
fn two_sessions(segment: &Segment) -> bool {
    let (mut one, mut other) = (segment.session().unwrap(), segment.session().unwrap());
    let begin = |session| sardonyx_mapped::Transaction::begin(session, Default::default());
    let (mut first, mut second) = (begin(&mut one).unwrap(), begin(&mut other).unwrap());
    let before = first.read(word(1, 0)).unwrap();
    first.write(word(1, 0), before + 1).unwrap();
    second.write(word(1, 0), before + 2).unwrap();
    let committed = first.commit().is_ok();
    let refused = matches!(second.commit(), Err(SegmentError::Conflict { .. }));
    let snapshot = segment.snapshot().unwrap();
    committed && refused && snapshot.read(word(1, 0)).unwrap() == before + 1
}

#[test]
fn a_forked_child_is_refused_and_its_parent_is_not_harmed() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        for how in ["library", "call"] {
            let output = run(&["fork", &format!("{mechanism:?}"), how]);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                said(&output),
                "child 0 signal 0 parent goes on",
                "{mechanism:?}, {how}: {stderr}"
            );
            assert!(output.status.success(), "{mechanism:?}, {how}: {stderr}");
        }
    }
}

extern "C" fn on_own_fault(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes valid information; the page was mapped by `own_handler`.
    unsafe {
        let address = (*info).si_addr().addr();
        FAULTED.store(address, Ordering::SeqCst);
        let own = OWN.load(Ordering::SeqCst) as *mut libc::c_void;
        libc::mprotect(own, PAGE as usize, libc::PROT_READ | libc::PROT_WRITE);
    }
}

fn install() {
    // SAFETY: the structure is valid, and the handler has the signature of SA_SIGINFO.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_own_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
    }
}

/// A host that protects a page of its own, as garbage collectors do, and then uses a segment.
fn own_handler(mechanism: MechanismKind, when: &str) {
    if when == "before" {
        install();
    }
    let segment = private(mechanism, 16);
    add(&segment);
    // SAFETY: a new mapping, of this test alone.
    let own = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(
            std::ptr::null_mut(),
            PAGE as usize,
            libc::PROT_NONE,
            flags,
            -1,
            0,
        )
    };
    OWN.store(own.addr(), Ordering::SeqCst);
    segment
        .run(|tx| -> common::Fallible {
            tx.write(word(2, 0), 5)?;
            // SAFETY: it faults, and the handler then lets it be written.
            unsafe { own.cast::<u64>().write_volatile(7) };
            tx.write(word(3, 0), 6)?;
            Ok(())
        })
        .unwrap();
    assert_eq!(FAULTED.load(Ordering::SeqCst), own.addr());
    let snapshot = segment.snapshot().unwrap();
    assert_eq!(snapshot.read(word(3, 0)).unwrap(), 6);
    say("both");
}

#[test]
fn a_host_with_a_handler_of_its_own_gets_its_faults() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let output = run(&["handler", &format!("{mechanism:?}"), "before"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said(&output), "both", "{mechanism:?}: {stderr}");
    }
}

/// The address in the view that the handler of a signal touches; `TIMES` counts its calls.
static TOUCHED: AtomicUsize = AtomicUsize::new(0);
static TIMES: AtomicUsize = AtomicUsize::new(0);
const TOUCHED_PAGES: u64 = 16;

/// Reads every page of a view, and writes to some.
extern "C" fn on_signal(_: i32) {
    let start = TOUCHED.load(Ordering::SeqCst) as *const u8;
    for page in 0..TOUCHED_PAGES {
        // SAFETY: the view has so many pages; the test is one in which a handler touches them.
        unsafe { word_at(start, page).read_volatile() };
    }
    TIMES.fetch_add(1, Ordering::SeqCst);
}

/// The library's own handler, which another one calls.
static OURS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn chained(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
    // SAFETY: the handler that `nested` found to be installed, with SA_SIGINFO.
    let ours: Handler = unsafe { std::mem::transmute(OURS.load(Ordering::SeqCst)) };
    ours(signal, info, context);
}

/// A program with a handler that touches the segment, called at the worst of moments: in the middle of
/// the library's fault handler, and of its changes of a view.
fn nested(mechanism: MechanismKind, step: &str, how: &str) {
    // A hang is a failure: it would use this up.
    let limit = libc::rlimit {
        rlim_cur: 20,
        rlim_max: 20,
    };
    // SAFETY: the structures are valid, and the handlers have the signatures that the flags say.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CPU, &raw const limit);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
    }
    let segment = private(mechanism, TOUCHED_PAGES);
    let mut session = segment.session().unwrap();
    if how == "chained" {
        // SAFETY: as above.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut ours: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = chained as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut ours);
            OURS.store(ours.sa_sigaction, Ordering::SeqCst);
        }
    }
    TOUCHED.store(session.address().addr(), Ordering::SeqCst);
    let change = |value: u64| {
        let changed = segment.run(|tx| -> common::Fallible {
            for page in 0..TOUCHED_PAGES {
                tx.write(word(page, 1), value)?;
            }
            Ok(())
        });
        changed.unwrap();
    };
    change(1);
    sardonyx_mapped::planted::raise_at(match step {
        "resolving" => sardonyx_mapped::planted::Step::Resolving,
        _ => sardonyx_mapped::planted::Step::TurnTaken,
    });
    for round in 2..12 {
        // An old snapshot keeps later commits from being folded: pages are to be made, not only shown.
        let old = segment.snapshot().unwrap();
        change(round);
        session.begin(Default::default()).unwrap();
        for page in 0..TOUCHED_PAGES {
            // SAFETY: the view has so many pages, and the transaction runs.
            let seen = unsafe { word_at(session.address(), page).add(1).read_volatile() };
            assert_eq!(seen, round, "{mechanism:?}");
        }
        let bytes = 3 * PAGE;
        session.touch(PAGE..bytes, Access::Write).unwrap();
        // SAFETY: as above.
        unsafe { word_at(session.address(), 2).add(3).write_volatile(round) };
        session.commit().unwrap();
        drop(old);
    }
    assert!(TIMES.load(Ordering::SeqCst) > 0);
    let snapshot = segment.snapshot().unwrap();
    assert_eq!(snapshot.read(word(2, 3)).unwrap(), 11);
    say("went on");
}

#[test]
fn a_signals_handler_that_touches_the_segment_never_meets_a_half_made_change() {
    let mechanisms = [MechanismKind::Asynchronous, MechanismKind::Signal];
    for mechanism in mechanisms.into_iter().filter(|kind| kind.resolve().is_ok()) {
        for step in ["resolving", "turn"] {
            for how in ["alone", "chained"] {
                let output = run(&["nested", &format!("{mechanism:?}"), step, how]);
                let stderr = String::from_utf8_lossy(&output.stderr);
                let status = output.status;
                assert_eq!(
                    said(&output),
                    "went on",
                    "{mechanism:?}, {step}, {how}: {status}: {stderr}"
                );
            }
        }
    }
}

/// A SIGSEGV sent by a program is none of the library's, with any look.
fn sent(mechanism: MechanismKind, how: &str) {
    let handler = match how {
        "ignored" => libc::SIG_IGN,
        _ => libc::SIG_DFL,
    };
    // SAFETY: the structure is valid.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
    }
    let segment = private(mechanism, 16);
    // SAFETY: sends a signal to this thread.
    unsafe { libc::raise(libc::SIGSEGV) };
    add(&segment);
    say("alive");
}

#[test]
fn a_fault_signal_that_was_sent_does_what_it_did_before() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let killed = run(&["sent", &format!("{mechanism:?}"), "default"]);
        assert_eq!(killed.status.signal(), Some(libc::SIGSEGV), "{mechanism:?}");
        let ignored = run(&["sent", &format!("{mechanism:?}"), "ignored"]);
        assert_eq!(said(&ignored), "alive", "{mechanism:?}: {}", ignored.status);
    }
}

fn overflow(mechanism: MechanismKind) {
    fn deeper(depth: u64) -> u64 {
        let mut frame = [depth; 256];
        std::hint::black_box(&mut frame);
        if depth == u64::MAX {
            0
        } else {
            deeper(depth + 1) + frame[0]
        }
    }
    let segment = private(mechanism, 16);
    segment.run(|tx| tx.write(word(2, 0), deeper(0))).unwrap();
}

#[test]
fn a_stack_overflow_in_a_transaction_is_still_said() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let output = run(&["overflow", &format!("{mechanism:?}")]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{stderr}");
        assert!(stderr.contains("has overflowed its stack"), "{stderr}");
    }
}

fn fault_elsewhere(mechanism: MechanismKind) {
    let segment = private(mechanism, 16);
    let nowhere = std::hint::black_box(64 as *mut u64);
    // SAFETY: none: it is to crash, and not to hang or to be swallowed.
    let _ = segment.run(|tx| tx.write(word(2, 0), unsafe { nowhere.read_volatile() }));
}

#[test]
fn a_fault_elsewhere_kills_as_ever() {
    for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
        let output = run(&["null", &format!("{mechanism:?}")]);
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{mechanism:?}");
    }
}

#[test]
fn a_read_into_the_view_is_a_write() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 3 * PAGE as usize]).unwrap();
    for mechanism in [MechanismKind::Asynchronous, MechanismKind::Signal] {
        let segment = private(mechanism, 16);
        file.rewind().unwrap();
        segment
            .run(|tx| -> common::Fallible {
                tx.touch(2 * PAGE..5 * PAGE, Access::Write)?;
                file.read_exact(&mut tx.bytes_mut()[2 * PAGE as usize..5 * PAGE as usize])?;
                Ok(())
            })
            .unwrap();
        let snapshot = segment.snapshot().unwrap();
        let seen = &snapshot.bytes()[2 * PAGE as usize..5 * PAGE as usize];
        assert!(seen.iter().all(|byte| *byte == 7), "{mechanism:?}");
        let around = [1, 5].map(|page| snapshot.read(word(page, 0)).unwrap());
        assert_eq!(around, [0, 0]);
    }
}

#[test]
fn every_other_page_is_read_and_written_or_refused() {
    alone(|| {
        for mechanism in MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok()) {
            // More than the kernel has mappings for, where a page needs some.
            let bytes: u64 = match mechanism {
                MechanismKind::Signal => 256 << 20,
                _ => 64 << 20,
            };
            let segment = options(mechanism)
                .versions_bytes(64 << 20)
                .open_private()
                .unwrap();
            segment.run(|tx| tx.grow_to(bytes)).unwrap();
            let pages = bytes / PAGE;
            let outcome = segment.run(|tx| -> common::Fallible {
                for page in (1..pages).step_by(2) {
                    tx.touch(page * PAGE..(page + 1) * PAGE, Access::Write)?;
                    tx.write(word(page, 0), page)?;
                }
                Ok(())
            });
            let snapshot = match outcome {
                Ok(()) => segment.snapshot().unwrap(),
                // Two mappings for each page.
                Err(error) if mechanism == MechanismKind::Signal => {
                    assert!(
                        error.to_string().contains("cannot make pages accessible"),
                        "{error}"
                    );
                    add(&segment);
                    continue;
                }
                Err(error) => panic!("{mechanism:?}: {error}"),
            };
            for page in (1..pages).step_by(2) {
                assert_eq!(snapshot.read(word(page, 0)).unwrap(), page, "{mechanism:?}");
            }
        }
    });
}
