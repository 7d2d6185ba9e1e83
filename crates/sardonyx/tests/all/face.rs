//! The face, as a new user meets it: one error, closures without annotations, closing through a shared reference,
//! transactions that do not borrow, and one sentence for combinations that do not work.

use crate::common;
use crate::common::{Item, Opened, in_every_shape, options};
use sardonyx::disk::{Faults, SimulatedDisk};
use sardonyx::memory::{MemoryAccess, MemoryRange, P};
use sardonyx::operations::counter::{Add, Counter, Get, Set};
use sardonyx::{Durability, Error, Memory, Operations, Options, Shape, Tables, record};
use std::sync::Arc;
use std::thread;

record! {
    /// The stock of an article.
    #[table("articles", key = code)]
    #[derive(Debug, PartialEq)]
    struct Article {
        code: u64,
        stock: u64,
    }
}

record! {
    #[journal("sales")]
    struct Sale {
        code: u64,
        count: u64,
    }
}

#[derive(Debug, PartialEq, thiserror::Error)]
enum Sold {
    #[error("{0} is out of stock")]
    Out(u64),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Comparable, for the test.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct EngineError(#[from] Error);

impl PartialEq for EngineError {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl From<Error> for Sold {
    fn from(error: Error) -> Self {
        Sold::Engine(error.into())
    }
}

impl From<Sold> for Error {
    fn from(sold: Sold) -> Self {
        Error::other(sold)
    }
}

fn small() -> Options {
    Options::new().log_bytes_prepared(0).segment_bytes(24 << 20)
}

#[test]
fn closures_need_no_annotation_and_errors_of_ones_own_go_in_and_come_out() {
    let directory = tempfile::tempdir().unwrap();
    let shop = small().open_tables(directory.path()).unwrap();
    let articles = shop.table::<Article>().unwrap();
    let sales = shop.journal::<Sale>().unwrap();
    shop.run(|tx| {
        tx.insert(articles, &Article { code: 7, stock: 1 })?;
        Ok(())
    })
    .unwrap();
    let sell = || {
        shop.run(|tx| {
            let stock = tx.get(articles, 7)?.map_or(0, |article| article.stock);
            let left = stock.checked_sub(1).ok_or(Sold::Out(7))?;
            tx.append(sales, &Sale { code: 7, count: 1 })?;
            tx.update(articles, 7, |article| article.stock = left)
        })
    };
    assert_eq!(sell().unwrap(), Some(()));
    let error = sell().unwrap_err();
    assert!(matches!(error, Error::Other(_)), "{error:?}");
    assert_eq!(error.to_string(), "7 is out of stock");
    assert_eq!(error.downcast::<Sold>().unwrap(), Sold::Out(7));
    // By a text, and by its own type.
    let said = shop
        .run(|_| Err::<(), Error>("closed today".into()))
        .unwrap_err();
    assert_eq!(format!("{said:?}"), "closed today");
    let typed: Result<(), Sold> = shop.transaction().errors().run(|tx| {
        tx.insert(articles, &Article { code: 7, stock: 1 })?;
        Err(Sold::Out(8))
    });
    let Err(Sold::Engine(EngineError(Error::Duplicate(cause)))) = &typed else {
        panic!("{typed:?}");
    };
    assert!(cause.to_string().contains("\"articles\""), "{cause}");
    let mut sold = 0;
    shop.journal_rows(sales, |sale| {
        sold += sale.code / 7 * sale.count;
        true
    })
    .unwrap();
    assert_eq!(sold, 1);
}

#[test]
fn i8_tables_are_closed_through_a_shared_reference_and_then_say_so() {
    in_every_shape(|shape| {
        let disk = SimulatedDisk::new(1, Faults::default());
        let opened = Arc::new(Opened::on(&disk, options(shape)).unwrap());
        let (items, notes) = (opened.items, opened.notes);
        // Others go on until it is closed, and get an error then.
        let busy: Vec<_> = (0..2u64)
            .map(|thread| {
                let opened = opened.clone();
                thread::spawn(move || {
                    for n in 1.. {
                        match opened.put(thread, n) {
                            Ok(()) => continue,
                            Err(Error::Closed(_)) => return n - 1,
                            Err(error) => panic!("{error:?}"),
                        }
                    }
                    unreachable!()
                })
            })
            .collect();
        while opened.get(0).is_none() || opened.get(1).is_none() {
            thread::yield_now();
        }
        let closers: Vec<_> = (0..2)
            .map(|_| {
                let opened = opened.clone();
                thread::spawn(move || opened.database.close())
            })
            .collect();
        for closer in closers {
            closer.join().unwrap().unwrap();
        }
        let last = busy.into_iter().map(|thread| thread.join().unwrap());
        let last: Vec<u64> = last.collect();
        let database = &opened.database;
        let closed = |what: &str, outcome: Result<(), Error>| {
            assert!(
                matches!(outcome, Err(Error::Closed(_))),
                "{what}: {outcome:?}"
            );
        };
        closed("run", database.run(|_| Ok(())));
        closed(
            "run, deferred",
            database
                .transaction()
                .durability(Durability::Deferred)
                .run(|_| Ok(())),
        );
        closed(
            "run, typed",
            database.transaction().errors().run(|_| Ok(())),
        );
        closed("submit", database.submit(|_| Ok(())).wait());
        closed("await", common::block_on(database.submit(|_| Ok(()))));
        closed(
            "read",
            database.read(|view| {
                assert!(view.get(items, 0)?.is_none());
                Ok(())
            }),
        );
        closed("rows", database.journal_rows(notes, |_| true));
        closed("flush", database.flush());
        closed("checkpoint", database.checkpoint());
        closed("table", database.table::<Item>().map(drop));
        database.close().unwrap();
        assert!(database.statistics().committed > 0);
        // It is free for another, while the old handle exists.
        let again = Opened::on(&disk, options(shape)).unwrap();
        assert_eq!([again.get(0), again.get(1)], [Some(last[0]), Some(last[1])]);
    });
}

#[test]
fn memory_is_closed_through_a_shared_reference_and_then_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let memory = small().open_memory(directory.path()).unwrap();
    let counter: P<u64> = P::from_offset(8192);
    memory.run(|tx| Ok(tx.grow_to(16384)?)).unwrap();
    let ticket = memory.submit(|tx| {
        *tx.get_mut(counter)? += 1;
        Ok(7)
    });
    assert_eq!(ticket.unwrap().wait().unwrap(), 7);
    let other = memory.clone();
    let mut session = memory.begin().unwrap();
    session
        .with_running(|tx| tx.write(counter, 2))
        .unwrap()
        .unwrap();
    let handed = thread::spawn(move || session.commit().map(|position| (session, position)));
    let (session, position) = handed.join().unwrap().unwrap();
    memory.ticket(position).wait().unwrap();
    drop(session);
    memory.close().unwrap();
    memory.close().unwrap();
    let closed = |outcome: Result<(), Error>| {
        assert!(matches!(outcome, Err(Error::Closed(_))), "{outcome:?}");
    };
    closed(other.run(|_| Ok(())));
    closed(other.snapshot().map(drop));
    closed(other.begin().map(drop));
    closed(other.flush());
    closed(other.checkpoint());
    assert_eq!(other.length(), 0);
    // It is free for another way, which reports that these bytes are no tables.
    let tables = small().open_tables(directory.path());
    assert!(matches!(tables, Err(Error::Refused(_))), "{tables:?}");
    let memory = small().open_memory(directory.path()).unwrap();
    assert_eq!(memory.snapshot().unwrap().read(counter).unwrap(), 2);
}

#[test]
fn memory_without_a_log_is_shared_by_name_and_one_may_write_alone() {
    let name = format!("sardonyx-face-{}", std::process::id());
    let open = || small().open_volatile_memory(&name).unwrap();
    let memory = open();
    assert!(!memory.is_durable());
    let counter: P<u64> = P::from_offset(4096);
    memory.run(|tx| Ok(tx.grow_to(8192)?)).unwrap();
    let add = |times: u64| {
        for _ in 0..times {
            memory
                .run(|tx| {
                    *tx.get_mut(counter)? += 1;
                    Ok(())
                })
                .unwrap();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| add(200));
        for _ in 0..200 {
            let mut runs = 0;
            let alone = memory.submit_alone(|tx| {
                runs += 1;
                *tx.get_mut(counter)? += 1;
                Ok(())
            });
            alone.unwrap().wait().unwrap();
            assert_eq!(runs, 1, "nobody commits meanwhile");
        }
    });
    let other = open();
    assert_eq!(other.snapshot().unwrap().read(counter).unwrap(), 400);
    memory.close().unwrap();
    other.close().unwrap();
    assert_eq!(open().length(), 0, "it went with its last user");
}

#[test]
fn operations_are_closed_through_a_shared_reference_and_their_transactions_undone_at_the_next_opening()
 {
    for shape in [Shape::Coalesced, Shape::Threadless] {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            small()
                .shape(shape)
                .open_operations(directory.path())
                .unwrap()
        };
        let shop = open();
        let stock = Counter::new(shop.area("stock", 1).unwrap(), 0);
        shop.run(|tx| tx.call(&Set::within(stock, 10, 0, 100)))
            .unwrap();
        // A visitor's session: beside the database, and sent from thread to thread.
        let visitor = (shop.clone(), shop.begin());
        let visitor = thread::spawn(move || {
            visitor.1.call(&Add::to(stock, -4)).unwrap();
            visitor
        });
        let (handle, basket) = visitor.join().unwrap();
        let kept = handle.begin();
        kept.call(&Add::to(stock, -1)).unwrap();
        kept.commit().unwrap();
        handle.close().unwrap();
        shop.close().unwrap();
        let closed = |what: &str, outcome: Result<(), Error>| {
            assert!(
                matches!(outcome, Err(Error::Closed(_))),
                "{what}: {outcome:?}"
            );
        };
        closed("call", basket.call(&Add::to(stock, -4)));
        closed("commit", basket.commit());
        closed("run", shop.run(|tx| tx.call(&Add::to(stock, -4))));
        closed("flush", shop.flush());
        closed("checkpoint", shop.checkpoint());
        closed("area", shop.area("more", 1).map(drop));
        let shop = open();
        assert_eq!(shop.run(|tx| tx.call(&Get(stock))).unwrap(), 9);
        shop.close().unwrap();
    }
}

#[test]
fn one_way_at_a_time_and_the_others_are_refused_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let tables = small().open_tables(path).unwrap();
    let refused = |outcome: Result<(), Error>| {
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Locked(_)), "{error:?}");
        let text = format!("{error:?}");
        assert!(text.contains("LOCK") && text.contains("close it"), "{text}");
    };
    refused(small().open_tables(path).map(drop));
    refused(small().open_memory(path).map(drop));
    refused(small().open_operations(path).map(drop));
    tables.close().unwrap();
    let memory: Memory = small().open_memory(path).unwrap();
    refused(small().open_tables(path).map(drop));
    refused(small().open_operations(path).map(drop));
    small().open_memory(path).unwrap();
    memory.close().unwrap();
    let operations: Operations = small().open_operations(path).unwrap();
    refused(small().open_memory(path).map(drop));
    refused(small().open_tables(path).map(drop));
    operations.close().unwrap();
    let absent = path.join("nothing");
    let absent: Result<Tables, Error> = Options::new().create(false).open_tables(absent);
    assert!(matches!(absent, Err(Error::NotFound(_))));
}
