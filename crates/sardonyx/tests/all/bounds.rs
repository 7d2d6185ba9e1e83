//! The bounds (I10): of memory, of the log, of the queues and of the log's readers. Beyond them a call is refused with
//! a typed error or waits, nothing is lost, and work goes on afterwards.

use crate::common;
use crate::common::{Item, Opened, in_every_shape, in_every_threaded_shape, options};
use crate::held::HeldDisk;
use sardonyx::Transaction;
use sardonyx::disk::GroupLimits;
use sardonyx::procedures::{Procedure, TableSpace};
use sardonyx::{Durability, Error, Table};
use sardonyx_rows::TableError;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::log::LogError;
use sardonyx_storage::store::StoreError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn is_memory_full(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(TableError::Store(StoreError::Full { asked_bytes, limit_bytes }))
        if asked_bytes > limit_bytes)
}

#[test]
fn i10_memory_at_its_bound_is_a_typed_refusal_and_freed_records_make_room() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let small = || options(shape).memory_bytes_max(2 << 20);
        let opened = Opened::on(&disk, small()).expect("opens");
        let items = opened.items;
        let insert = |opened: &Opened, id| {
            opened
                .database
                .transaction()
                .durability(Durability::Deferred)
                .run(|tx| {
                    tx.insert(items, &Item::new(id, id))?;
                    Ok::<_, Error>(())
                })
        };
        let mut there = 0;
        let error = loop {
            match insert(&opened, there) {
                Ok(()) => there += 1,
                Err(error) => break error,
            }
        };
        assert!(is_memory_full(&error), "{error}");
        assert!(
            error.to_string().contains("raise the memory limit"),
            "{error}"
        );
        // A table grows by larger and larger extents, so the last one may not have fitted.
        assert!(there > 6000, "{there} records");
        // Again refused, and changes that need no memory go on.
        assert!(is_memory_full(&insert(&opened, there).unwrap_err()));
        opened.put(0, 7).expect("an update");
        let outcome = opened.database.run(|tx| {
            assert!(tx.delete(items, 1)?);
            tx.insert(items, &Item::new(1_000_000, 1))?;
            Ok::<_, Error>(())
        });
        outcome.expect("in the freed place");
        let before = opened.contents().expect("readable");
        assert_eq!(before.items.len() as u64, there);
        opened.database.checkpoint().expect("completes");
        drop(opened);
        let opened = Opened::on(&disk, small()).expect("as much as before fits");
        assert_eq!(opened.contents().expect("readable"), before);
        assert!(is_memory_full(&insert(&opened, there).unwrap_err()));
        drop(opened);
        let opened = Opened::on(&disk, options(shape)).expect("with a higher bound");
        insert(&opened, there).expect("goes on");
        drop(opened);
        let error = Opened::on(&disk, options(shape).memory_bytes_max(1 << 20)).unwrap_err();
        assert!(error.to_string().contains("memory"), "{error}");
    });
}

#[test]
fn i10_a_full_log_waits_for_a_checkpoint_even_if_none_is_due() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        // Never due by itself.
        let options = options(shape)
            .log_bytes_max(4 * common::SEGMENT_BYTES)
            .checkpoint_interval_bytes(1 << 40);
        let opened = Opened::on(&disk, options).expect("opens");
        for n in 0..400 {
            opened.put(n % 50, n).expect("room comes");
        }
        let statistics = opened.database.statistics();
        assert!(statistics.checkpoint.checkpoints > 0, "{statistics:?}");
        let log_bytes = statistics.log.disk_bytes;
        assert!(log_bytes > 4 * common::SEGMENT_BYTES, "{log_bytes}");
        let files = disk.files();
        let segments = files.iter().filter(|name| name.starts_with("log/")).count();
        assert!(segments <= 4, "{files:?}");
    });
}

#[test]
fn i10_a_full_log_that_nothing_can_free_is_a_typed_refusal() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let options = || options(shape).log_bytes_max(4 * common::SEGMENT_BYTES);
        let opened = Opened::on(&disk, options()).expect("opens");
        opened.put(0, 0).expect("durable");
        let mut put = 0;
        // The backup cannot be written: its place is taken by a directory.
        disk.create_directory("backup/stripe-000").expect("made");
        let error = loop {
            match opened.put(put % 50, put) {
                Ok(()) => put += 1,
                Err(error) => break error,
            }
        };
        let Some(LogError::Full { reason }) = error.downcast_ref() else {
            panic!("{error:?}")
        };
        assert!(reason.contains("backup"), "{reason}");
        assert!(put > 20, "{put}");
        assert!(opened.put(1, 1).is_err(), "refused again");
        assert!(opened.database.checkpoint().is_err());
        let before = opened.contents().expect("reading goes on");
        drop(opened);
        let disk = disk.restart(Faults::default());
        let opened = Opened::on(&disk, options().log_bytes_max(16 * common::SEGMENT_BYTES));
        let opened = opened.expect("with more log");
        assert_eq!(opened.contents().expect("readable"), before);
    });
}

#[test]
fn i10_readers_of_a_journal_beside_a_writer_at_the_logs_bound() {
    in_every_threaded_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let options = options(shape).log_bytes_max(4 * common::SEGMENT_BYTES);
        let opened = Opened::on(&disk, options).expect("opens");
        for n in 0..10 {
            opened.put(n, n).expect("durable");
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for n in 0..300 {
                    opened.put(n % 50, n).expect("room comes");
                }
                stop.store(true, Ordering::SeqCst);
            });
            // The writer meets the bound meanwhile, and the log is freed under the reader.
            while !stop.load(Ordering::SeqCst) {
                let mut rows = 0;
                let read = opened.database.journal_rows(opened.notes, |_| {
                    rows += 1;
                    std::thread::yield_now();
                    true
                });
                read.expect("readable");
                assert!(rows >= 10);
            }
            writer.join().expect("ends");
        });
    });
}

/// A large change.
struct Fill(Table<Item>);

impl Procedure for Fill {
    type Arguments = u64;
    type Output = ();
    type Error = String;
    type Located = ();

    fn name(&self) -> &str {
        "fill"
    }

    fn locate(&self, _: &u64, _: &TableSpace) {}

    fn execute(&self, first: &u64, (): (), tx: &mut Transaction<'_>) -> Result<(), String> {
        for id in *first..*first + 30 {
            let inserted = tx.insert(self.0, &Item::new(id, id));
            inserted.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

#[test]
fn i10_while_the_disk_stands_still_writers_wait_and_memory_is_bounded() {
    in_every_threaded_shape(|shape| {
        let held = HeldDisk::new(SimulatedDisk::new(1, Faults::default()));
        let limits = GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 16 << 10,
            depth: 1,
            buffers: 3,
        };
        let options = options(shape).group_limits(limits);
        let opened = Opened::on_any(Arc::new(held.disk.clone()), options).expect("opens");
        let items = opened.items;
        let fill = opened.database.register(Fill(items)).expect("first");
        let waiting = held.hold_back();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2usize)
                .map(|client| {
                    let (opened, fill) = (&opened, &fill);
                    scope.spawn(move || {
                        for n in 0..10 {
                            let first = 10_000 * client as u64 + 100 * n;
                            let ticket = opened.database.submit_batch(fill, vec![first], client);
                            ticket.wait().expect("durable")[0]
                                .clone()
                                .expect("inserted");
                        }
                    })
                })
                .collect();
            // No writer gets a result, however long it takes.
            for _ in 0..1000 {
                std::thread::yield_now();
                assert!(writers.iter().all(|writer| !writer.is_finished()));
            }
            assert_eq!(
                opened.database.statistics().log.transactions,
                2,
                "the tables"
            );
            drop(waiting);
        });
        assert_eq!(
            opened.contents().expect("readable").items.len(),
            2 * 10 * 30
        );
    });
}
