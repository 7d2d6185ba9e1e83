//! Tickets: waited for by a thread, awaited by a task, asked, dropped, and kept beyond the
//! database; and calls that choose to return before their transaction is durable (I1).

use crate::common::{Opened, block_on, in_every_shape, options};
use sardonyx::disk::GroupPolicy;
use sardonyx::{Durability, Error, Shape, Ticket};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

fn opened(shape: Shape) -> (SimulatedDisk, Opened) {
    let disk = SimulatedDisk::new(1, Faults::default());
    let opened = Opened::on(&disk, options(shape)).expect("opens");
    opened.put(0, 0).expect("durable");
    (disk, opened)
}

/// Adds 1 to item 0 and returns its value.
fn increment(opened: &Opened) -> Ticket<Result<u64, Error>> {
    let items = opened.items;
    opened
        .database
        .transaction()
        .errors()
        .submit(move |transaction| {
            let mut value = 0;
            transaction.update(items, 0, |item| {
                item.value += 1;
                value = item.value;
            })?;
            Ok(value)
        })
}

/// The value of item 0 on the disk if the machine failed now.
fn after_a_crash(disk: &SimulatedDisk, shape: Shape) -> u64 {
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, options(shape)).expect("recovers");
    opened.get(0).unwrap_or(0)
}

#[test]
fn i1_when_a_ticket_says_done_a_crash_loses_nothing_of_it() {
    in_every_shape(|shape| {
        for way in 0..3 {
            let (disk, opened) = opened(shape);
            for _ in 0..5 {
                drop(increment(&opened));
            }
            let ticket = increment(&opened);
            let value = match way {
                0 => ticket.wait().expect("it ran").expect("no error"),
                1 => block_on(ticket).expect("it ran").expect("no error"),
                _ => {
                    opened.database.flush().expect("flushes");
                    while !ticket.is_done() {
                        std::thread::yield_now();
                    }
                    ticket.wait().expect("it ran").expect("no error")
                }
            };
            assert_eq!(value, 6);
            assert_eq!(after_a_crash(&disk, shape), 6, "{shape:?}, way {way}");
            drop(opened);
        }
    });
}

#[test]
fn many_tasks_and_threads_wait_at_once() {
    in_every_shape(|shape| {
        let (_disk, opened) = opened(shape);
        std::thread::scope(|scope| {
            for client in 0..4 {
                let opened = &opened;
                scope.spawn(move || {
                    let mut last = 0;
                    for n in 0..50 {
                        let ticket = increment(opened);
                        let value = match (client + n) % 3 {
                            0 => ticket.wait(),
                            1 => block_on(ticket),
                            _ => {
                                drop(ticket);
                                continue;
                            }
                        };
                        let value = value.expect("it ran").expect("no error");
                        assert!(value > last, "own transactions keep their order");
                        last = value;
                    }
                });
            }
        });
        opened.database.flush().expect("flushes");
        let last = increment(&opened).wait().expect("it ran");
        assert_eq!(last.expect("no error"), 201, "dropped tickets ran, too");
    });
}

/// Awaits several tickets at once, polled in turn.
struct All(Vec<Option<Ticket<Result<u64, Error>>>>, Vec<u64>);

impl Future for All {
    type Output = Vec<u64>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<u64>> {
        let All(tickets, values) = &mut *self;
        for place in tickets.iter_mut() {
            if let Some(ticket) = place
                && let Poll::Ready(value) = Pin::new(ticket).poll(context)
            {
                values.push(value.expect("it ran").expect("no error"));
                *place = None;
            }
        }
        match tickets.iter().all(Option::is_none) {
            true => Poll::Ready(std::mem::take(values)),
            false => Poll::Pending,
        }
    }
}

#[test]
fn one_task_awaits_many_tickets() {
    in_every_shape(|shape| {
        let (_disk, opened) = opened(shape);
        let tickets = (0..100).map(|_| Some(increment(&opened))).collect();
        let mut values = block_on(All(tickets, Vec::new()));
        values.sort_unstable();
        assert_eq!(values, (1..=100).collect::<Vec<_>>());
    });
}

#[test]
fn a_ticket_may_be_kept_beyond_the_database() {
    in_every_shape(|shape| {
        let (disk, opened) = opened(shape);
        let (first, second) = (increment(&opened), increment(&opened));
        opened.database.close().expect("closes");
        assert!(first.is_done() && second.is_done());
        assert_eq!(first.wait().expect("it ran").expect("no error"), 1);
        assert_eq!(block_on(second).expect("it ran").expect("no error"), 2);
        assert_eq!(after_a_crash(&disk, shape), 2);
    });
}

#[test]
fn deferred_transactions_become_durable_in_order_and_by_a_flush() {
    in_every_shape(|shape| {
        let (disk, opened) = opened(shape);
        let items = opened.items;
        let deferred = |value| {
            opened
                .database
                .transaction()
                .durability(Durability::Deferred)
                .run(|transaction| {
                    transaction.update(items, 0, |item| item.value = value)?;
                    Ok::<_, Error>(())
                })
        };
        for value in 1..=20 {
            deferred(value).expect("it ran");
            assert_eq!(opened.get(0), Some(value), "others see it at once");
        }
        // A durable one takes all before it along.
        opened.put(1, 1).expect("durable");
        for value in 21..=30 {
            deferred(value).expect("it ran");
        }
        opened.database.flush().expect("flushes");
        assert_eq!(after_a_crash(&disk, shape), 30);
        drop(opened);
        let (disk, opened) = self::opened(shape);
        let items = opened.items;
        for value in 1..=20 {
            let outcome = opened
                .database
                .transaction()
                .durability(Durability::Deferred)
                .run(|tx| {
                    tx.update(items, 0, |item| item.value = value)?;
                    Ok::<_, Error>(())
                });
            outcome.expect("it ran");
        }
        opened.put(1, 1).expect("durable");
        assert_eq!(after_a_crash(&disk, shape), 20);
    });
}

#[test]
fn without_threads_a_deferred_transaction_alone_is_not_yet_durable() {
    let (disk, opened) = opened(Shape::Threadless);
    let items = opened.items;
    let outcome = opened
        .database
        .transaction()
        .durability(Durability::Deferred)
        .run(|tx| {
            tx.update(items, 0, |item| item.value = 9)?;
            Ok::<_, Error>(())
        });
    outcome.expect("it ran");
    let ticket = increment(&opened);
    assert!(!ticket.is_done());
    assert_eq!(after_a_crash(&disk, Shape::Threadless), 0);
    assert!(matches!(
        ticket.wait(),
        Err(Error::Poisoned(_) | Error::Closed(_))
    ));
}

/// A group that is closed by its count or time, neither of which comes.
const NEVER: GroupPolicy = GroupPolicy::Fixed {
    transactions: 1 << 30,
    time: Duration::from_secs(3600),
};

#[test]
fn flush_checkpoint_and_close_do_not_wait_for_the_groups_time() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Opened::on(&disk, options(shape)).expect("opens");
        opened.put(0, 0).expect("durable");
        drop(opened);
        let opened = Opened::on(&disk, options(shape).group_policy(NEVER)).expect("opens");
        let ticket = increment(&opened);
        if matches!(shape, Shape::Pipelined { .. }) {
            // Behind the first one in its queue.
            let items = opened.items;
            while opened.get(0) != Some(1) {
                std::thread::yield_now();
            }
            assert_eq!(
                opened
                    .database
                    .read(|view| view.count(items))
                    .expect("reads"),
                1
            );
        }
        opened.database.flush().expect("flushes");
        assert_eq!(ticket.wait().expect("it ran").expect("no error"), 1);
        drop(increment(&opened));
        opened.database.checkpoint().expect("completes");
        drop(increment(&opened));
        opened.database.close().expect("closes");
        assert_eq!(after_a_crash(&disk, shape), 3);
    });
}
