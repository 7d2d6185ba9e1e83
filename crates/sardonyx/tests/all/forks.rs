//! A child made by `fork` is refused everything, in every shape and by every kind of fork, while other threads hold
//! the locks. Nothing that it does, closing and dropping included, harms its parent. The parent's acknowledged
//! transactions are there, and nothing of the child's.
//!
//! The C library does not know of a child made by the raw system call. So it may not even allocate memory while its
//! parent's threads do. So with threads such a child does only work that needs no memory.
//!
//! Each test is alone in its process: the children inherit the locks that other tests' threads hold.

use crate::alone::alone;
use crate::common;
use crate::common::{Item, Note, Opened, PIPELINED, block_on, options};
use crate::fork::{Door, FORKS, Fork, end};
use sardonyx::disk::GroupPolicy;
use sardonyx::procedures::Procedure;
use sardonyx::{Durability, Error, Shape, Tables, Ticket, Transaction};
use sardonyx_storage::log::LogError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SHAPES: [Shape; 4] = [
    PIPELINED,
    Shape::Pipelined {
        input_threads: 2,
        output_threads: 2,
    },
    Shape::Coalesced,
    Shape::Threadless,
];

/// Transactions that are acknowledged to the parent as durable, in one run.
const ACKNOWLEDGED: u64 = 310;
/// The first id that no parent writes.
const OF_CHILDREN: u64 = 1_000_000;

fn is_forked<T>(outcome: Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Forked(_)))
}

fn put(opened: &Opened, id: u64) -> Result<(), Error> {
    opened.put(id, id + 7)
}

struct Put(sardonyx::Table<Item>);

impl Procedure for Put {
    type Arguments = u64;
    type Located = ();
    type Output = ();
    type Error = Error;

    fn name(&self) -> &str {
        "put"
    }

    fn locate(&self, _: &u64, _: &sardonyx::procedures::TableSpace) {}

    fn execute(&self, id: &u64, (): (), tx: &mut Transaction<'_>) -> Result<(), Error> {
        tx.insert(self.0, &Item::new(*id, *id + 7))?;
        Ok(())
    }
}

/// Every call of the face, in a child: which ones were not refused.
fn calls_not_refused(
    opened: &Opened,
    tickets: Vec<Ticket<Result<(), Error>>>,
) -> Vec<&'static str> {
    let (database, items) = (&opened.database, opened.items);
    let mut wrong = Vec::new();
    let mut check = |name, refused: bool| {
        if !refused {
            wrong.push(name);
        }
    };
    let insert = move |tx: &mut Transaction<'_>| -> Result<(), Error> {
        tx.insert(items, &Item::new(OF_CHILDREN, 1))?;
        Ok(())
    };
    check("run", is_forked(database.run(insert)));
    let deferred = database
        .transaction()
        .durability(Durability::Deferred)
        .run(insert);
    check("run deferred", is_forked(deferred));
    let ticket = database.transaction().errors().submit(insert);
    check("is_done", ticket.is_done());
    check("submit", matches!(ticket.wait(), Err(Error::Forked(_))));
    let awaited = block_on(database.transaction().errors().submit(insert));
    check("await", matches!(awaited, Err(Error::Forked(_))));
    drop(database.transaction().errors().submit(insert));
    for (n, ticket) in tickets.into_iter().enumerate() {
        check("an older ticket is done", ticket.is_done());
        let outcome = match n % 2 {
            0 => ticket.wait(),
            _ => block_on(ticket),
        };
        check("an older ticket", matches!(outcome, Err(Error::Forked(_))));
    }
    check("register", is_forked(database.register(Put(items))));
    check("table", is_forked(database.table::<Item>()));
    check("journal", is_forked(database.journal::<Note>()));
    check("flush", is_forked(database.flush()));
    check("checkpoint", is_forked(database.checkpoint()));
    let rows = database.journal_rows(opened.notes, |_| true);
    check("journal_rows", is_forked(rows));
    check("statistics", database.statistics().log.groups == 0);
    let _ = (
        database.is_checkpointing(),
        database.recovery(),
        database.rebuild(),
    );
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| opened.get(1)));
    check("read", read.is_err());
    // The tools' handles below.
    let engine = database.engine();
    check("commit", engine.commit().check().is_err());
    check(
        "prepare",
        engine.commit().segments().prepare_next().is_err(),
    );
    wrong
}

/// The child's last action on the database.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Drop,
    Close,
    Exit,
}

/// Forks in the middle of other threads' transactions, with tickets of its own not waited for.
fn parents_and_children(shape: Shape, fork: Fork, policy: GroupPolicy) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("forks.sdx");
    let options = || options(shape).group_policy(policy);
    let opened = Arc::new(Opened::on_real(&path, options()).unwrap());
    let registered = opened.database.register(Put(opened.items)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let threads = if fork == Fork::Library { 2 } else { 0 };
    let busy: Vec<_> = (1..=threads)
        .map(|thread| {
            let (opened, stop) = (opened.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut count = 0;
                while !stop.load(Ordering::Relaxed) {
                    put(&opened, thread * 100_000 + count).unwrap();
                    opened.database.statistics();
                    count += 1;
                }
                (thread, count)
            })
        })
        .collect();
    let endings = [Ending::Drop, Ending::Close, Ending::Exit];
    let mut children = Vec::new();
    for id in 0..ACKNOWLEDGED {
        put(&opened, id).unwrap();
        if id % 52 != 17 {
            continue;
        }
        let ending = endings[id as usize / 52 % 3];
        let items = opened.items;
        let mine = |id: u64| {
            opened.database.transaction().errors().submit(move |tx| {
                tx.insert(items, &Item::new(id, id + 7))?;
                Ok::<(), Error>(())
            })
        };
        let own = |n: u64| 50_000 + id * 10 + n;
        let tickets: Vec<_> = (0..3).map(|n| mine(own(n))).collect();
        children.push(fork.child(|| {
            if fork == Fork::Raw && shape.is_threaded() {
                let database = &opened.database;
                let commit = database.engine().commit();
                return is_forked(database.run(|_| Ok::<_, Error>(())))
                    && is_forked(database.flush())
                    && is_forked(database.checkpoint())
                    && tickets.iter().all(Ticket::is_done)
                    && matches!(commit.check(), Err(LogError::Forked));
            }
            let wrong = calls_not_refused(&opened, tickets);
            let batch = vec![OF_CHILDREN + 1; 5];
            let batch = opened.database.submit_batch(&registered, batch, 3);
            let refused = matches!(batch.wait(), Err(Error::Forked(_)))
                && is_forked(opened.database.call(&registered, OF_CHILDREN + 2));
            if !wrong.is_empty() || !refused {
                eprintln!("{shape:?} {fork:?} {policy:?}: not refused: {wrong:?}");
                return false;
            }
            // SAFETY: nothing else uses it in this child, which ends without dropping it again.
            let database: Tables = unsafe { std::ptr::read(&raw const opened.database) };
            match ending {
                Ending::Drop => drop(database),
                Ending::Close => assert!(is_forked(database.close())),
                Ending::Exit => std::mem::forget(database),
            }
            true
        }));
    }
    // The lock is still the parent's, after all actions of the children.
    assert!(
        children.into_iter().all(|child| child.ends_content()),
        "{shape:?} {fork:?} {policy:?}"
    );
    assert!(
        matches!(options().open_tables(&path), Err(Error::Locked(_))),
        "it is locked"
    );
    stop.store(true, Ordering::Relaxed);
    let mut expected: Vec<u64> = (0..ACKNOWLEDGED).collect();
    for (thread, count) in busy.into_iter().map(|thread| thread.join().unwrap()) {
        expected.extend((0..count).map(|n| thread * 100_000 + n));
    }
    let opened = Arc::into_inner(opened).unwrap();
    opened.database.close().unwrap();
    let opened = Opened::on_real(&path, options()).unwrap();
    let contents = opened.contents().unwrap();
    for id in expected {
        assert_eq!(
            contents.items.get(&id),
            Some(&(id + 7)),
            "{shape:?} {fork:?}: {id}"
        );
    }
    let last = contents.items.last_key_value().unwrap();
    assert!(
        *last.0 < OF_CHILDREN,
        "{shape:?} {fork:?}: a child's {last:?}"
    );
}

#[test]
fn i1_i9_a_forked_child_is_refused_and_its_parent_is_not_harmed() {
    alone(|| {
        common::hide_planned_panics();
        let fixed = GroupPolicy::Fixed {
            transactions: 3,
            time: Duration::from_micros(300),
        };
        for shape in SHAPES {
            for fork in FORKS {
                parents_and_children(shape, fork, GroupPolicy::Adaptive);
            }
            parents_and_children(shape, Fork::Library, fixed);
        }
    });
}

/// A transaction's own code forks: its child cannot commit, by none of the ways to run it.
#[test]
fn i8_a_child_made_inside_a_transaction_does_not_commit_it() {
    alone(|| {
        for shape in SHAPES {
            for fork in FORKS {
                if fork == Fork::Raw && shape.is_threaded() {
                    continue;
                }
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("inside.sdx");
                let opened = Opened::on_real(&path, options(shape)).unwrap();
                let (database, items) = (&opened.database, opened.items);
                for (n, durability) in [Durability::Durable, Durability::Deferred]
                    .into_iter()
                    .enumerate()
                {
                    let n = n as u64;
                    let mut child = None;
                    let outcome = database.transaction().durability(durability).run(|tx| {
                        child = fork.here();
                        let id = if child.is_some() { n } else { OF_CHILDREN };
                        tx.insert(items, &Item::new(id, id))?;
                        Ok::<_, Error>(())
                    });
                    match child {
                        None => end(is_forked(outcome) && is_forked(database.flush())),
                        Some(child) => {
                            assert!(child.ends_content(), "{shape:?} {fork:?} {durability:?}")
                        }
                    }
                    outcome.unwrap();
                }
                let forked = database.read(|_| Ok(fork.here()));
                let child = forked.expect("reads");
                match child {
                    None => end(is_forked(database.flush())),
                    Some(child) => assert!(child.ends_content(), "{shape:?} {fork:?}"),
                }
                // On a stage's thread in some shapes, whose copy ends in the child by itself.
                let ticket = database.transaction().errors().submit(move |tx| {
                    let child = fork.here();
                    let id = if child.is_some() { 2 } else { OF_CHILDREN };
                    tx.insert(items, &Item::new(id, id))?;
                    Ok::<_, Error>(child)
                });
                match ticket.wait() {
                    Ok(child) => {
                        assert!(child.unwrap().unwrap().ends_content(), "{shape:?} {fork:?}")
                    }
                    Err(error) => end(matches!(error, Error::Forked(_))),
                }
                put(&opened, 3).unwrap();
                opened.database.close().unwrap();
                let opened = Opened::on_real(&path, options(shape)).unwrap();
                let ids: Vec<_> = opened.contents().unwrap().items.into_keys().collect();
                assert_eq!(ids, [0, 1, 2, 3], "{shape:?} {fork:?}");
            }
        }
    });
}

/// A child that lives on does not keep the database locked when its parent has closed it or died; and
/// it can open databases of its own, and this one in its turn.
#[test]
fn i9_a_child_that_outlives_its_parent_does_not_keep_the_database_locked() {
    alone(|| {
        for (fork, shape) in [(Fork::Library, PIPELINED), (Fork::Raw, Shape::Threadless)] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("outlived.sdx");
            let opened = Opened::on_real(&path, options(shape)).unwrap();
            put(&opened, 1).unwrap();
            let (ready, door) = (Door::new(), Door::new());
            let own = directory.path().join("own.sdx");
            let child = fork.child(|| {
                let own = Opened::on_real(&own, options(shape)).unwrap();
                put(&own, 1).unwrap();
                // Its parent's database is locked, for it as for others.
                let locked = Opened::on_real(&path, options(shape)).is_err();
                let refused = is_forked(opened.database.flush());
                ready.open();
                door.wait();
                let both = locked && refused && own.database.close().is_ok();
                let taken = Opened::on_real(&path, options(shape)).unwrap();
                both && put(&taken, 3).is_ok() && taken.contents().unwrap().items.len() == 3
            });
            ready.wait();
            opened.database.close().unwrap();
            let again = Opened::on_real(&path, options(shape)).unwrap();
            put(&again, 2).unwrap();
            again.database.close().unwrap();
            door.open();
            assert!(child.ends_content(), "{fork:?}");

            // The parent dies, its child goes on; the next opening gets the lock.
            let (left, door) = (Door::new(), Door::new());
            let parent = Fork::Library.child(|| {
                let opened = Opened::on_real(&path, options(shape)).unwrap();
                put(&opened, 4).unwrap();
                let orphan = fork.child(|| {
                    // Made by the raw call, it has the lock until it uses the database for the first time; else
                    // it has left it before its own code runs.
                    if fork == Fork::Library {
                        left.open();
                    }
                    let refused = is_forked(opened.database.flush());
                    left.open();
                    door.wait();
                    refused
                });
                left.wait();
                std::mem::forget((orphan, opened));
                true
            });
            assert!(parent.ends_content(), "{fork:?}");
            let opened = Opened::on_real(&path, options(shape)).unwrap();
            assert_eq!(opened.contents().unwrap().items.len(), 4, "{fork:?}");
            door.open();
        }
    });
}
