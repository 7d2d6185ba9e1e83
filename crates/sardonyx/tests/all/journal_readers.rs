//! A reader of a journal stops no writer (I13): writers go on for many laps of a small log while a reader pauses, and
//! a reader may write to the database that it reads.

use crate::common;
use crate::common::{Note, Opened, SHAPES, options};
use sardonyx::Shape;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::sync::mpsc;

/// Rows before a reader begins.
const ROWS: u64 = 60;

/// Transactions during a reading; a log of four segments of 16 groups is freed many times meanwhile.
const MEANWHILE: u64 = 600;

fn opened(shape: Shape) -> Opened {
    let disk = SimulatedDisk::new(1, Faults::default());
    let options = options(shape).log_bytes_max(4 * common::SEGMENT_BYTES);
    let opened = Opened::on(&disk, options).expect("opens");
    for n in 0..ROWS {
        opened.put(n, n).expect("durable");
    }
    opened
}

#[test]
fn i13_a_reader_that_stands_still_stops_no_writer() {
    for shape in SHAPES {
        let opened = opened(shape);
        std::thread::scope(|scope| {
            let (begun, has_begun) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let opened = &opened;
            let reader = scope.spawn(move || {
                let mut rows = Vec::new();
                let read = opened.database.journal_rows(opened.notes, |note| {
                    rows.push(note.amount);
                    // It pauses three times: in the archive or the log, depending on its position.
                    if rows.len() % 20 == 1 {
                        begun.send(()).expect("somebody waits");
                        may_go_on.recv().expect("somebody lets it");
                    }
                    true
                });
                read.map(|()| rows)
            });
            for _ in 0..3 {
                has_begun.recv().expect("it reads");
                for n in 0..MEANWHILE / 3 {
                    opened
                        .put(n % 50, 1000 + n)
                        .expect("nobody holds the log back");
                }
                go_on.send(()).expect("it waits");
            }
            let rows = reader.join().expect("ends").expect("readable");
            assert!(rows.into_iter().eq(0..ROWS), "{shape:?}");
        });
        let all = opened.contents().expect("readable").notes.len() as u64;
        assert_eq!(all, ROWS + MEANWHILE, "{shape:?}");
    }
}

#[test]
fn i13_a_reader_writes_to_the_database_that_it_reads() {
    for shape in SHAPES {
        let opened = opened(shape);
        let mut rows = Vec::new();
        let read = opened.database.journal_rows(opened.notes, |note: Note| {
            rows.push(note.amount);
            for n in 0..MEANWHILE / ROWS {
                opened.put(n, 1000 + n).expect("it is not in its own way");
            }
            // Also a reading inside of it, which gets the rows written meanwhile.
            if rows.len() % 30 == 0 {
                let mut inner = 0;
                let read = opened.database.journal_rows(opened.notes, |_| {
                    inner += 1;
                    true
                });
                read.expect("readable");
                assert_eq!(inner, ROWS + rows.len() as u64 * (MEANWHILE / ROWS));
            }
            true
        });
        read.expect("readable");
        assert!(rows.into_iter().eq(0..ROWS), "{shape:?}");
    }
}

#[test]
fn a_reader_stops_where_the_durable_journal_ended_when_it_began() {
    for shape in SHAPES {
        let opened = opened(shape);
        let mut rows = 0;
        let read = opened.database.journal_rows(opened.notes, |_| {
            rows += 1;
            opened.put(1, 1).expect("durable");
            opened.database.checkpoint().expect("it archives them");
            true
        });
        read.expect("readable");
        assert_eq!(rows, ROWS, "{shape:?}");
    }
}

/// Every range of positions, with any bounds, from both ends: in the log, in the archive, and in both.
#[test]
fn ranges_have_the_rows_between_their_bounds_from_both_ends() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let opened = opened(Shape::Threadless);
    opened.database.checkpoint().expect("completes");
    let (items, notes) = (opened.items, opened.notes);
    // Several in one transaction, and one that has none.
    for n in 0..4 {
        let appended = opened.database.run(|tx| {
            tx.insert(items, &common::Item::new(1000 + n, n))?;
            for row in 0..n {
                let (account, amount) = (n, ROWS + n * (n - 1) / 2 + row);
                tx.append(notes, &Note { account, amount })?;
            }
            Ok(())
        });
        appended.expect("durable");
    }
    let all = opened.database.journal_range(notes, ..).expect("opens");
    let all: Vec<_> = all.map(|row| row.expect("readable")).collect();
    assert!((0..ROWS + 6).eq(all.iter().map(|(_, note)| note.amount)));
    let picked = [
        0,
        1,
        ROWS as usize - 1,
        ROWS as usize,
        all.len() - 2,
        all.len() - 1,
    ];
    for (first, last) in picked.iter().flat_map(|a| picked.map(|b| (*a, b))) {
        let (from, to) = (all[first].0, all[last].0);
        let ranges = [
            ((Included(from), Included(to)), first..last + 1),
            ((Included(from), Excluded(to)), first..last),
            ((Excluded(from), Included(to)), first + 1..last + 1),
            ((Excluded(from), Excluded(to)), first + 1..last),
            ((Excluded(from), Unbounded), first + 1..all.len()),
            ((Unbounded, Included(to)), 0..last + 1),
        ];
        for (bounds, expected) in ranges {
            let expected = all.get(expected).unwrap_or_default();
            let rows = || opened.database.journal_range(notes, bounds).expect("opens");
            let forward: Vec<_> = rows().map(|row| row.expect("readable")).collect();
            assert_eq!(forward, expected, "{first} to {last}");
            let mut backward: Vec<_> = rows().rev().map(|row| row.expect("readable")).collect();
            backward.reverse();
            assert_eq!(backward, expected, "{first} to {last}, in reverse");
            let (mut both, mut met) = (rows(), Vec::new());
            while let Some(row) = both.next() {
                met.push(row.expect("readable").1.amount);
                met.extend(both.next_back().map(|row| row.expect("readable").1.amount));
            }
            met.sort_unstable();
            assert!(
                met.into_iter()
                    .eq(expected.iter().map(|(_, note)| note.amount))
            );
        }
    }
}
