//! Whoever reads a journal stops nobody (I13): writers go on for many laps of a small log while a
//! reader stands still, and a reader may write to the database that it reads.

mod common;

use common::{Note, Opened, SHAPES, options};
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
                    // It stands still three times: in the archive or the log, whatever it reads then.
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
            // Also a reading inside of it, which is given what was written meanwhile.
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
