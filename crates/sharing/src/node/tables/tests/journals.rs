//! Journals: one order over all nodes, exactly the rows of committed transactions, read from any position, while the
//! log is freed under the reader.

use super::place::{BUFFER_PAGES, Close, Place, on_both, serve, storage};
use super::verbs::Account;
use crate::node::loose::tests::{proxy::Proxy, register};
use crate::node::loose::{LooseNode, LooseOptions, Serving};
use crate::node::{NodeError, TableNode};
use sardonyx_base::resident::Resident;
use sardonyx_rows::PlainJournalRow;
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::journal::{JournalPosition, RowRange};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::manifest::Manifest;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Entry {
    node: u64,
    number: u64,
    fill: [u64; 30],
}

impl PlainJournalRow for Entry {
    const NAME: &'static str = "entries";
}

#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct Other {
    number: u64,
}

impl PlainJournalRow for Other {
    const NAME: &'static str = "entries";
}

#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
struct Named {
    number: u64,
}

impl PlainJournalRow for Named {
    const NAME: &'static str = "accounts";
}

fn entry(node: u64, number: u64) -> Entry {
    let fill = [number; 30];
    Entry { node, number, fill }
}

fn rows_of_committed_transactions_in_one_order_and_from_any_position<P: Place>()
-> Result<(), NodeError> {
    let mut place = P::new();
    {
        let (one, other) = (place.join()?, place.join()?);
        let entries = one.journal::<Entry>()?;
        let same = other.journal::<Entry>()?;
        assert_eq!(entries.number(), same.number());
        for number in 0..20 {
            let (node, journal) = if number % 2 == 0 {
                (&one, &entries)
            } else {
                (&other, &same)
            };
            node.run(|tx| {
                tx.append(journal, &entry(number % 2, number))?;
                tx.append(journal, &entry(number % 2, 1000 + number))
            })?;
            let failed = node.run(|tx| {
                tx.append(journal, &entry(9, 9))?;
                Err::<(), _>(NodeError::TooManyTables)
            });
            assert!(failed.is_err());
        }
        assert!(
            one.journal::<Other>()
                .unwrap_err()
                .to_string()
                .contains("256 bytes")
        );
        one.table::<Account>()?;
        assert!(other.journal::<Named>().is_err());
    }
    place.reopen();
    let node = place.join()?;
    let entries = node.journal::<Entry>()?;
    let rows: Vec<(JournalPosition, Entry)> =
        node.journal_range(entries, ..)?.collect::<Result<_, _>>()?;
    let numbers: Vec<u64> = rows.iter().map(|(_, row)| row.number).collect();
    let expected: Vec<u64> = (0..20).flat_map(|number| [number, 1000 + number]).collect();
    assert_eq!(numbers, expected);
    assert!(rows.is_sorted_by_key(|(position, _)| *position));
    let (from, to) = (rows[7].0, rows[30].0);
    let some: Vec<_> = node
        .journal_range(entries, from..=to)?
        .collect::<Result<_, _>>()?;
    assert_eq!(some, rows[7..=30]);
    Ok(())
}

/// A log of eight small segments, which is freed again and again.
fn small() -> StorageOptions {
    StorageOptions {
        segment_bytes: 128 << 10,
        log_bytes_max: 1 << 20,
        limits: GroupLimits {
            group_bytes: 32 << 10,
            transaction_bytes: 32 << 10,
            ..GroupLimits::default()
        },
        ..storage()
    }
}

/// Rows that were durable when reading began are given to the end, though their log was overwritten long ago.
fn i13_a_reader_whose_log_is_overwritten_goes_on_in_the_archive<P: Place>() -> Result<(), NodeError>
{
    let place = P::with(small(), BUFFER_PAGES);
    let node = place.join()?;
    let entries = node.journal::<Entry>()?;
    let append = |rows: std::ops::Range<u64>| {
        for first in rows.step_by(20) {
            node.run(|tx| {
                let rows = first..first + 20;
                rows.clone()
                    .try_for_each(|row| tx.append(&entries, &entry(0, row)))
            })?;
        }
        Ok::<(), NodeError>(())
    };
    append(0..2000)?;
    let mut rows = node.journal_range(entries, ..)?;
    for number in 0..5 {
        assert_eq!(
            rows.next().transpose()?.map(|row| row.1),
            Some(entry(0, number))
        );
    }
    // Four times as much as the log holds.
    append(2000..16_000)?;
    let rest: Vec<u64> = rows
        .map(|row| Ok(row?.1.number))
        .collect::<Result<_, NodeError>>()?;
    assert_eq!(rest, (5..2000).collect::<Vec<_>>());
    Ok(())
}

/// A log that ends before a group that is known to be durable was freed: that is no end, as nodes rely on.
#[test]
fn i13_an_early_end_of_the_log_is_no_end() -> Result<(), NodeError> {
    let place = Close::new();
    let node = place.join()?;
    let entries = node.journal::<Entry>()?;
    node.run(|tx| tx.append(&entries, &entry(0, 0)))?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open_for_reading(place.directory.path()).unwrap());
    let manifest = Manifest::read(&*disk).unwrap();
    let rows = |before_group| {
        let all = JournalPosition::START..JournalPosition::END;
        let rows = RowRange::open(&disk, &manifest, Some(entries.number()), all);
        rows.unwrap().until_group(before_group)
    };
    let group = rows(1000).next_row().unwrap().expect("a row").place.group;
    let mut there_is = rows(group + 1);
    assert!(there_is.next_row().unwrap().is_some() && there_is.next_row().unwrap().is_none());
    let mut missing = rows(group + 2);
    assert!(missing.next_row().unwrap().is_some());
    let told = missing.next_row();
    assert!(told.is_err(), "{told:?}");
    Ok(())
}

fn i13_a_reader_is_given_every_row_though_the_log_is_freed_under_it<P: Place>()
-> Result<(), NodeError> {
    const ROWS: u64 = 12_000;
    let place = P::with(small(), BUFFER_PAGES);
    let (node, reader) = (place.join()?, place.join()?);
    let entries = node.journal::<Entry>()?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for first in (0..ROWS).step_by(20) {
                let rows = first..first + 20;
                node.run(|tx| {
                    rows.clone()
                        .try_for_each(|row| tx.append(&entries, &entry(0, row)))
                })
                .unwrap();
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let mut most = 0;
        loop {
            let was_over = is_over.load(Ordering::SeqCst);
            let mut next = 0;
            for row in reader.journal_range(entries, ..)? {
                let (_, row) = row?;
                assert_eq!(row, entry(0, next));
                next += 1;
            }
            assert!(next >= most, "{next} rows after {most}");
            most = next;
            if was_over {
                assert_eq!(most, ROWS);
                return Ok(());
            }
        }
    })
}

/// The reader's connection breaks, and the page server is another one.
#[test]
fn a_loosely_coupled_reader_is_given_each_row_once_whatever_breaks() -> Result<(), NodeError> {
    const ROWS: u64 = 6000;
    let (database, members) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut server = Some(serve(database.path(), 512, storage()));
    let proxy = Proxy::start();
    let lead = |server: &Option<Serving>| proxy.lead_to(server.as_ref().map(Serving::address));
    lead(&server);
    let register = register(members.path())?;
    let node = LooseNode::join(register, LooseOptions::new(proxy.address()))?;
    let entries = node.journal::<Entry>()?;
    for first in (0..ROWS).step_by(500) {
        let rows = first..first + 500;
        node.run(|tx| {
            rows.clone()
                .try_for_each(|row| tx.append(&entries, &entry(0, row)))
        })?;
    }
    let mut next = 0;
    for row in node.journal_range(entries, ..)? {
        assert_eq!(row?.1, entry(0, next));
        next += 1;
        match next % 1000 {
            0 => {
                // Another process may get its port.
                proxy.lead_to(None);
                drop(server.take());
                server = Some(serve(database.path(), 512, storage()));
                lead(&server);
            }
            500 => proxy.cut(),
            _ => {}
        }
    }
    assert_eq!(next, ROWS);
    Ok(())
}

on_both!(
    rows_of_committed_transactions_in_one_order_and_from_any_position,
    i13_a_reader_whose_log_is_overwritten_goes_on_in_the_archive,
    i13_a_reader_is_given_every_row_though_the_log_is_freed_under_it,
);
