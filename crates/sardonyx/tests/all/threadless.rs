//! Without threads a caller does everything: makes room for the log within a batch, and writes transactions without a
//! waiter once there are many.

use crate::common::{Item, Opened, SEGMENT_BYTES, in_every_shape, options};
use sardonyx::disk::GroupLimits;
use sardonyx::procedures::{Procedure, TableSpace};
use sardonyx::{Durability, Error, Options, Shape, Table, Transaction};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::log::policy::{DEFERRED_BYTES_MAX, DEFERRED_TRANSACTIONS_MAX};

/// Sets an item's value.
struct Set(Table<Item>);

impl Procedure for Set {
    type Arguments = (u64, u64);
    type Output = ();
    type Error = String;
    type Located = ();

    fn name(&self) -> &str {
        "set"
    }
    fn locate(&self, _: &(u64, u64), _: &TableSpace) {}
    fn execute(
        &self,
        (id, value): &(u64, u64),
        (): (),
        transaction: &mut Transaction<'_>,
    ) -> Result<(), String> {
        let changed = transaction.update(self.0, *id, |item| {
            item.value = *value;
            item.filler = [*value as u8; 112];
        });
        changed.map(|_| ()).map_err(|error| error.to_string())
    }
}

#[test]
fn i10_a_batch_may_be_larger_than_the_log() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let small = || options(shape).log_bytes_max(4 * SEGMENT_BYTES);
        let opened = Opened::on(&disk, small()).expect("opens");
        (0..10).for_each(|id| opened.put(id, 0).expect("durable"));
        let set = opened.database.register(Set(opened.items)).expect("first");
        let requests: Vec<_> = (1..=10_000).map(|n| (n % 10, n)).collect();
        let ticket = opened.database.submit_batch(&set, requests.clone(), 0);
        let outcomes = ticket.wait().expect("it ran");
        let refused: Vec<_> = outcomes.iter().filter(|one| one.is_err()).collect();
        assert!(
            refused.is_empty(),
            "{} of {} were refused: {:?}",
            refused.len(),
            outcomes.len(),
            refused[0]
        );
        let log_bytes = opened.database.statistics().log.disk_bytes;
        assert!(log_bytes > 4 * 4 * SEGMENT_BYTES, "{log_bytes}");
        let disk = disk.restart(Faults::default());
        drop(opened);
        let opened = Opened::on(&disk, small()).expect("recovers");
        for (id, value) in &requests[requests.len() - 10..] {
            assert_eq!(opened.get(*id), Some(*value));
        }
    });
}

/// Groups so large that they are never closed because they are full.
fn large(shape: Shape) -> Options {
    let limits = GroupLimits {
        group_bytes: 4 << 20,
        transaction_bytes: 1 << 20,
        ..GroupLimits::default()
    };
    let options = options(shape).segment_bytes(6 << 20);
    options.log_bytes_max(48 << 20).group_limits(limits)
}

/// The number of the inserted items that are there if the machine fails now.
fn after_a_crash(disk: &SimulatedDisk) -> u64 {
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, large(Shape::Threadless)).expect("recovers");
    opened
        .database
        .read(|view| view.count(opened.items))
        .expect("reads")
}

/// Inserts an item, and does not wait for it.
type Call<'a> = &'a dyn Fn(&Opened, u64);

#[test]
fn what_nobody_waits_for_is_written_without_another_call_once_there_is_much_of_it() {
    let run = |opened: &Opened, id| {
        let outcome = opened
            .database
            .transaction()
            .durability(Durability::Deferred)
            .run(|transaction| {
                transaction.insert(opened.items, &Item::new(id, id))?;
                Ok::<_, Error>(())
            });
        outcome.expect("it ran");
    };
    let submit = |opened: &Opened, id| {
        let items = opened.items;
        drop(
            opened
                .database
                .transaction()
                .errors()
                .submit(move |transaction| {
                    transaction.insert(items, &Item::new(id, id))?;
                    Ok::<_, Error>(())
                }),
        );
    };
    let calls: [Call<'_>; 2] = [&run, &submit];
    let bound = u64::from(DEFERRED_TRANSACTIONS_MAX);
    for call in calls {
        for (calls, written) in [(bound - 1, 0), (bound, bound), (bound + 1, bound)] {
            let disk = SimulatedDisk::new(1, Faults::default());
            let opened = Opened::on(&disk, large(Shape::Threadless)).expect("opens");
            (0..calls).for_each(|id| call(&opened, id));
            assert_eq!(after_a_crash(&disk), written, "after {calls} calls");
        }
    }
    // Few and large ones.
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, large(Shape::Threadless)).expect("opens");
    let each = 1000;
    for n in 0..DEFERRED_BYTES_MAX as u64 / (each * 128) + 1 {
        let outcome = opened
            .database
            .transaction()
            .durability(Durability::Deferred)
            .run(|transaction| {
                for id in n * each..(n + 1) * each {
                    transaction.insert(opened.items, &Item::new(id, id))?;
                }
                Ok::<_, Error>(())
            });
        outcome.expect("it ran");
    }
    assert!(after_a_crash(&disk) >= each);
}

#[test]
fn flushing_a_checkpoint_closing_and_dropping_write_what_was_deferred() {
    in_every_shape(|shape| {
        for way in 0..4 {
            let disk = SimulatedDisk::new(1, Faults::default());
            let opened = Opened::on(&disk, large(shape)).expect("opens");
            let outcome = opened
                .database
                .transaction()
                .durability(Durability::Deferred)
                .run(|transaction| {
                    transaction.insert(opened.items, &Item::new(1, 1))?;
                    Ok::<_, Error>(())
                });
            outcome.expect("it ran");
            match way {
                0 => opened.database.flush().expect("flushes"),
                1 => opened.database.checkpoint().expect("completes"),
                2 => opened.database.close().expect("closes"),
                _ => drop(opened),
            }
            assert_eq!(after_a_crash(&disk), 1, "way {way}");
        }
    });
}
