//! System calls that read from a view: `write(2)` and `send(2)` of a transaction's data. The kernel cannot make a page
//! right, so pages that others changed have to be right before.

use crate::common::{self, MECHANISMS, PAGE, options, word};
use sardonyx_mapped::{Access, MechanismKind, Memory, MemoryAccess, Segment, Snapshot};
use std::io::{Read, Seek, Write};
use std::os::unix::net::UnixStream;

const PAGES: u64 = 24;

/// A segment in which a session's view must be made right first. Another session has changed its pages since, and an
/// old snapshot keeps some of the changes from being folded.
struct Changed {
    segment: Segment,
    old: Option<Snapshot>,
}

fn changed(mechanism: MechanismKind, ready: bool) -> Changed {
    let segment = options(mechanism)
        .ready_for_system_calls(ready)
        .open_private()
        .unwrap();
    fill(&segment, |page| page);
    let mut own = segment.session().unwrap();
    own.begin(Default::default()).unwrap();
    let touch = own.touch(0..PAGES * PAGE, Access::Read);
    touch.unwrap();
    own.commit().unwrap();
    // Changes that are folded, and changes that are not.
    fill(&segment, |page| 1000 + page);
    let old = segment.snapshot().unwrap();
    fill(&segment, |page| match page % 3 {
        0 => 1000 + page,
        _ => 2000 + page,
    });
    segment.give_back(own);
    Changed {
        segment,
        old: Some(old),
    }
}

fn fill(segment: &Segment, value: impl Fn(u64) -> u64) {
    let filled = segment.run(|tx| -> common::Fallible {
        tx.grow_to(PAGES * PAGE)?;
        for page in 0..PAGES {
            tx.write(word(page, 7), value(page))?;
        }
        Ok(())
    });
    filled.unwrap();
}

fn expected() -> Vec<u8> {
    let mut bytes = vec![0; (PAGES * PAGE) as usize];
    for page in 0..PAGES {
        let value = match page % 3 {
            0 => 1000 + page,
            _ => 2000 + page,
        };
        let at = (page * PAGE) as usize + 56;
        bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

/// Writes the memory to a file, a pipe and a socket by single system calls from it, and compares.
fn write_everywhere(memory: &[u8], what: &str) {
    let memory = &memory[..(PAGES * PAGE) as usize];
    let mut file = tempfile::tempfile().unwrap();
    let (mut here, mut there) = UnixStream::pair().unwrap();
    let (mut out, mut into) = std::io::pipe().unwrap();
    let mut found = Vec::new();
    for part in memory.chunks(8 * PAGE as usize) {
        let mut sink = vec![0; part.len()];
        assert_eq!(file.write(part).unwrap_or(0), part.len(), "a file, {what}");
        assert_eq!(into.write(part).unwrap_or(0), part.len(), "a pipe, {what}");
        out.read_exact(&mut sink).unwrap();
        assert!(sink == part, "a pipe, {what}");
        assert_eq!(
            here.write(part).unwrap_or(0),
            part.len(),
            "a socket, {what}"
        );
        there.read_exact(&mut sink).unwrap();
        assert!(sink == part, "a socket, {what}");
    }
    file.rewind().unwrap();
    file.read_to_end(&mut found).unwrap();
    assert!(found == expected(), "the snapshot's bytes, {what}");
}

fn available() -> impl Iterator<Item = MechanismKind> {
    MECHANISMS.into_iter().filter(|kind| kind.resolve().is_ok())
}

#[test]
fn a_snapshot_can_be_written_by_system_calls() {
    for mechanism in available() {
        for ready in [false, true] {
            let changed = changed(mechanism, ready);
            let what = format!("{mechanism:?}, {ready}");
            // By a view that has seen older states, and by a new one.
            let first = changed.segment.snapshot().unwrap();
            let second = changed.segment.snapshot().unwrap();
            write_everywhere(first.bytes(), &what);
            write_everywhere(second.bytes(), &what);
            // Also when others go on.
            fill(&changed.segment, |page| 3000 + page);
            write_everywhere(second.bytes(), &what);
        }
    }
}

#[test]
fn a_transaction_that_touches_can_be_written_by_system_calls() {
    for mechanism in available() {
        let changed = changed(mechanism, false);
        let written = changed.segment.run(|tx| -> common::Fallible {
            tx.touch(0..PAGES * PAGE, Access::Read)?;
            write_everywhere(tx.bytes(), &format!("{mechanism:?}"));
            Ok(())
        });
        written.unwrap();
    }
}

#[test]
fn a_transaction_that_may_write_is_ready_where_that_was_asked_for() {
    for mechanism in available().filter(|kind| *kind != MechanismKind::Signal) {
        let mut changed = changed(mechanism, true);
        let what = format!("{mechanism:?}");
        let written = changed.segment.run(|tx| -> common::Fallible {
            write_everywhere(tx.bytes(), &what);
            // Its own writes, too.
            tx.write(word(1, 7), 5)?;
            let mut file = tempfile::tempfile()?;
            let page = &tx.bytes()[PAGE as usize..2 * PAGE as usize];
            assert_eq!(file.write(page)?, page.len());
            tx.write(word(1, 7), 2001)?;
            Ok(())
        });
        written.unwrap();
        changed.old = None;
    }
}

#[test]
fn outside_of_a_transaction_the_memory_can_be_read_by_system_calls_where_that_was_asked_for() {
    for mechanism in available() {
        let changed = changed(mechanism, true);
        let mut session = changed.segment.session().unwrap();
        for round in 0..3 {
            session.begin(Default::default()).unwrap();
            if round == 1 {
                // A conflict must leave it readable, too.
                session.touch(0..PAGES * PAGE, Access::Write).unwrap();
                session
                    .with_running(|tx| tx.write(word(0, 7), 9))
                    .unwrap()
                    .unwrap();
                fill(&changed.segment, |page| 4000 + page);
                assert!(session.commit().is_err());
            } else {
                session.commit().unwrap();
            }
            let length = (PAGES * PAGE) as usize;
            // SAFETY: as above; the view is not written to.
            let memory = unsafe { std::slice::from_raw_parts(session.address(), length) };
            let mut file = tempfile::tempfile().unwrap();
            assert_eq!(file.write(memory).unwrap_or(0), length, "{mechanism:?}");
        }
        // And the next transaction does not rely on the content read there.
        session.begin(Default::default()).unwrap();
        for page in 0..PAGES {
            // SAFETY: as above.
            let seen = unsafe {
                session
                    .address()
                    .add((page * PAGE) as usize + 56)
                    .cast::<u64>()
                    .read()
            };
            assert_eq!(seen, 4000 + page, "{mechanism:?}");
        }
        session.abort().unwrap();
    }
}

#[test]
fn pages_that_others_changed_count_as_read_only_when_they_are_read() {
    for mechanism in available() {
        let Changed { segment, old } = changed(mechanism, false);
        drop(old);
        let mut session = segment.session().unwrap();
        for _ in 0..3 {
            session.begin(Default::default()).unwrap();
            session
                .with_running(|tx| tx.write(word(2, 0), 1))
                .unwrap()
                .unwrap();
            let theirs = segment.run(|tx| -> common::Fallible {
                let before = tx.read(word(5, 7))?;
                tx.write(word(5, 7), before + 1)?;
                Ok(())
            });
            theirs.unwrap();
            session.commit().unwrap();
        }
    }
}

#[test]
fn what_others_changed_is_seen_after_a_conflict() {
    for mechanism in available() {
        for ready in [false, true] {
            let Changed { segment, old } = changed(mechanism, ready);
            let mut session = segment.session().unwrap();
            let add = |session: &mut sardonyx_mapped::Session, page: u64| {
                let add = |tx: &mut sardonyx_mapped::Transaction<'_>| -> common::Fallible<u64> {
                    let value = tx.read(word(page, 9))? + 1;
                    tx.write(word(page, 9), value)?;
                    Ok(value)
                };
                session.with_running(add).unwrap().unwrap()
            };
            for page in 0..8 {
                session.begin(Default::default()).unwrap();
                assert_eq!(add(&mut session, page), 1);
                session.commit().unwrap();
            }
            // Unfolded, until the old snapshot goes; then all of it is folded.
            session.begin(Default::default()).unwrap();
            add(&mut session, 8);
            let mut other = segment.session().unwrap();
            for page in 0..9 {
                other.begin(Default::default()).unwrap();
                add(&mut other, page);
                other.commit().unwrap();
            }
            assert!(session.commit().is_err());
            drop(old);
            fill(&segment, |page| 5000 + page);
            session.begin(Default::default()).unwrap();
            let found: Vec<_> = (0..9).map(|page| add(&mut session, page)).collect();
            assert_eq!(found, [3, 3, 3, 3, 3, 3, 3, 3, 2], "{mechanism:?}, {ready}");
            session.commit().unwrap();
        }
    }
}
