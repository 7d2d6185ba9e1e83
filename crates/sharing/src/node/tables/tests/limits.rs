//! Refusals, and that they have no effect: too large a transaction, too small a buffer. And concurrent acts of two
//! nodes: both make a table, or each wants the other's.

use super::place::{BUFFER_PAGES, Loose, Place, on_both, storage};
use super::verbs::{Account, account};
use crate::node::loose::LooseOptions;
use crate::node::{NodeError, TableNode};
use sardonyx_base::waiting::{self, Interrupt, Reason};
use sardonyx_rows::TableError;
use sardonyx_rows::constraints::Due;
use sardonyx_rows::schema::{Schema, SchemaBuilder, Type};
use std::sync::{Arc, Barrier};
use std::time::Duration;

fn texts() -> SchemaBuilder {
    Schema::new()
        .column("key", Type::U64)
        .column("text", Type::Text)
        .primary_key(["key"])
        .ordered()
}

fn too_large_a_transaction_is_refused_and_leaves_nothing<P: Place>() -> Result<(), NodeError> {
    let place = P::with(storage(), 1024);
    let node = place.join()?;
    node.create_table("texts", texts())?;
    let insert = |bytes: usize| {
        node.run(|tx| {
            let mut rows = tx.rows("texts")?;
            rows.insert(&[("key", 1.into()), ("text", "small".into())])?;
            Ok(rows.insert(&[("key", 2.into()), ("text", "l".repeat(bytes).into())])?)
        })
    };
    let mut bytes = 16 << 10;
    let refused = loop {
        match insert(bytes) {
            Ok(()) => node.run(|tx| {
                let mut rows = tx.rows("texts")?;
                rows.delete(&[1.into()])?;
                rows.delete(&[2.into()]).map(drop)
            })?,
            Err(refused) => break refused,
        }
        bytes *= 2;
        assert!(bytes < 1 << 24, "nothing is too large");
    };
    assert!(
        matches!(refused, NodeError::TransactionTooLarge { .. }),
        "{refused}"
    );
    assert_eq!(node.check_tables()?.rows, 0);
    // A transaction that continues after it has the rest.
    node.run(|tx| {
        let mut rows = tx.rows("texts")?;
        let refused = rows.insert(&[("key", 2.into()), ("text", "l".repeat(bytes).into())]);
        assert!(refused.is_err());
        rows.insert(&[("key", 1.into()), ("text", "small".into())])
    })?;
    assert_eq!(node.check_tables()?.rows, 1);
    Ok(())
}

/// A page that is changed stays in the buffer until its transaction ends.
fn a_full_buffer_refuses_and_loses_nothing<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let node = place.join()?;
    let accounts = node.table::<Account>()?;
    for first in (0..12_000).step_by(200) {
        node.run(|tx| {
            (first..first + 200).try_for_each(|id| tx.insert(accounts, &account(id, 0)))
        })?;
    }
    assert!(node.check_tables()?.nodes > BUFFER_PAGES as u64);
    let change_all = |tx: &mut crate::node::Transaction<'_>| {
        let mut changed = 0;
        for id in (0..12_000).step_by(20) {
            match tx.update(accounts, id, |account| account.balance += 1) {
                Err(NodeError::BufferFull { frames }) => {
                    assert_eq!(frames, BUFFER_PAGES);
                    return Ok((changed, true));
                }
                other => changed += i64::from(other?.is_some()),
            }
        }
        Ok::<_, NodeError>((changed, false))
    };
    let refused = node.run(|tx| match change_all(tx)? {
        (_, true) => Err(NodeError::TooManyTables),
        (changed, false) => panic!("{changed} rows in a small buffer"),
    });
    assert!(
        matches!(refused, Err::<(), _>(NodeError::TooManyTables)),
        "{refused:?}"
    );
    let sum = |node: &P::Node| {
        node.run(|tx| {
            let mut sum = 0;
            for row in tx.scan(accounts)? {
                sum += row?.balance;
            }
            Ok::<i64, NodeError>(sum)
        })
    };
    assert_eq!(sum(&node)?, 0);
    // A transaction that continues after the error commits its earlier changes.
    let changed = node.run(|tx| Ok::<i64, NodeError>(change_all(tx)?.0))?;
    let other = place.join()?;
    assert!(changed > 0);
    assert_eq!(sum(&other)?, changed);
    other.check_tables()?;
    Ok(())
}

fn nodes_that_make_the_same_things_at_once_have_the_same<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let nodes = [place.join()?, place.join()?, place.join()?];
    let at_once = Barrier::new(nodes.len());
    let made: Vec<Vec<u16>> = std::thread::scope(|scope| {
        let threads = nodes.each_ref().map(|node| {
            let at_once = &at_once;
            scope.spawn(move || {
                let numbers = (0..6).map(|n| {
                    at_once.wait();
                    node.create_table(&format!("texts{n}"), texts()).unwrap()
                });
                let mut numbers: Vec<u16> = numbers.collect();
                numbers.push(node.table::<Account>().unwrap().number());
                numbers
            })
        });
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(made.iter().all(|numbers| *numbers == made[0]), "{made:?}");
    assert_eq!(nodes[1].table_names()?.len(), 7);
    assert_eq!(nodes[2].check_tables()?.tables, 7);
    Ok(())
}

/// Each has a row and wants the other's: one is run again, even if its closure ignores the error.
fn a_deadlock_s_victim_is_run_again<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let nodes = [place.join()?, place.join()?];
    let accounts = nodes[0].table::<Account>()?;
    // Far apart, so in different leaves.
    nodes[0].run(|tx| (0..600).try_for_each(|id| tx.insert(accounts, &account(id, 0))))?;
    let both_have = Barrier::new(2);
    let runs: usize = std::thread::scope(|scope| {
        let threads = [(0, 599), (599, 0)].map(|(has, wants)| {
            let both_have = &both_have;
            let node = &nodes[usize::from(has == 0)];
            scope.spawn(move || {
                let mut runs = 0;
                let done = node.run(|tx| {
                    runs += 1;
                    let add = |account: &mut Account| account.balance += 1;
                    tx.update(accounts, has, add)?;
                    if runs == 1 {
                        both_have.wait();
                    }
                    // The result is not used.
                    let _ = tx.update(accounts, wants, add);
                    Ok::<(), NodeError>(())
                });
                done.unwrap();
                runs
            })
        });
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert!(runs > 2, "nobody was run again");
    for id in [0, 599] {
        let found = nodes[0].run(|tx| tx.get(accounts, id))?;
        assert_eq!(found, Some(account(id, 2)));
    }
    Ok(())
}

on_both!(
    too_large_a_transaction_is_refused_and_leaves_nothing,
    a_full_buffer_refuses_and_loses_nothing,
    nodes_that_make_the_same_things_at_once_have_the_same,
    a_deadlock_s_victim_is_run_again,
    a_wait_for_a_page_is_ended_from_outside_and_leaves_nothing,
    marks_and_held_references_are_the_transactions,
    a_savepoint_of_another_transaction_is_refused,
);

fn a_savepoint_of_another_transaction_is_refused<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let node = place.join()?;
    node.table::<Account>()?;
    let before = node.run(|tx| Ok::<_, NodeError>(tx.tables()?.savepoint()))?;
    node.run(|tx| {
        let mut tables = tx.tables()?;
        let own = tables.savepoint();
        assert!(tables.rollback_to(before).is_err() && tables.release(before).is_err());
        tables.release(own)?;
        Ok::<_, NodeError>(())
    })
}

fn marks_and_held_references_are_the_transactions<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let node = place.join()?;
    let schema = Schema::new().column("id", Type::U64).primary_key(["id"]);
    let referring = schema.clone().column("of", Type::U64);
    let referring = referring.foreign_key("refers", ["of"], "parents", ["id"]);
    node.create_table("parents", schema)?;
    node.create_table("children", referring)?;
    node.run(|tx| {
        let first = tx.tables()?.savepoint();
        tx.rows("parents")?.insert(&[("id", 1.into())])?;
        let second = tx.tables()?.savepoint();
        assert_ne!(first, second);
        tx.rows("parents")?.insert(&[("id", 2.into())])?;
        tx.tables()?.rollback_to(second)?;
        assert_eq!(tx.rows("parents")?.count()?, 1);
        tx.tables()?.rollback_to(first)?;
        assert_eq!(tx.rows("parents")?.count()?, 0);
        assert!(
            tx.tables()?.rollback_to(second).is_err(),
            "it was made behind"
        );
        let third = tx.tables()?.savepoint();
        tx.rows("parents")?.insert(&[("id", 3.into())])?;
        assert!(
            tx.tables()?.rollback_to(second).is_err(),
            "not the third one"
        );
        tx.tables()?.rollback_to(third)?;
        tx.tables()?.hold_references(true);
        tx.rows("children")?
            .insert(&[("id", 1.into()), ("of", 7.into())])?;
        assert_eq!(tx.tables()?.held_references().len(), 1);
        let refused = tx.tables()?.check_held(|_| Due::NOW).unwrap_err();
        assert!(
            matches!(refused, TableError::NoSuchReference { .. }),
            "{refused}"
        );
        tx.rows("parents")?.insert(&[("id", 7.into())])?;
        tx.tables()?.check_held(|_| Due::NOW)?;
        assert_eq!(tx.tables()?.held_references(), []);
        Ok::<_, NodeError>(())
    })?;
    // Held and never checked by the program, they are checked before the commit.
    let orphaned = node.run(|tx| {
        tx.tables()?.hold_references(true);
        tx.rows("children")?
            .insert(&[("id", 2.into()), ("of", 8.into())])?;
        Ok::<_, NodeError>(())
    });
    let told = orphaned.unwrap_err().to_string();
    assert!(told.contains("refers"), "{told}");
    node.run(|tx| {
        assert_eq!(tx.rows("children")?.count()?, 1);
        Ok(())
    })
}

fn a_wait_for_a_page_is_ended_from_outside_and_leaves_nothing<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let (one, other) = (place.join()?, place.join()?);
    let accounts = one.table::<Account>()?;
    one.run(|tx| (0..600).try_for_each(|id| tx.insert(accounts, &account(id, 0))))?;
    let interrupt = Arc::new(Interrupt::default());
    let change = |balance| {
        other.run(|tx| {
            tx.update(accounts, 599, |account| account.balance = balance)?;
            let waited = tx.update(accounts, 0, |account| account.balance = balance);
            // It goes on with nothing.
            match waited {
                Err(NodeError::Interrupted(Reason::Request)) => Ok(()),
                waited => waited.map(drop),
            }
        })
    };
    one.run(|tx| {
        tx.update(accounts, 0, |account| account.balance = 1)?;
        interrupt.request();
        let waited = waiting::interruptible(&interrupt, None, || change(2));
        let is_interrupted = matches!(waited, Err(NodeError::Interrupted(Reason::Request)));
        assert!(is_interrupted, "{waited:?}");
        Ok::<(), NodeError>(())
    })?;
    let balances = || {
        one.run(|tx| {
            let of = |found: Option<Account>| found.map(|account| account.balance);
            Ok::<_, NodeError>((of(tx.get(accounts, 0)?), of(tx.get(accounts, 599)?)))
        })
    };
    assert_eq!(balances()?, (Some(1), Some(0)));
    waiting::interruptible(&interrupt, None, || change(3))?;
    assert_eq!(balances()?, (Some(3), Some(3)));
    Ok(())
}

#[test]
fn who_has_waited_too_long_is_undone_whatever_its_closure_makes_of_that() -> Result<(), NodeError> {
    let place = Loose::new();
    let options = LooseOptions {
        lock_patience: Duration::from_millis(30),
        ..place.options()
    };
    let (one, other) = (place.join()?, place.join_as(options)?);
    let accounts = one.table::<Account>()?;
    one.run(|tx| (0..600).try_for_each(|id| tx.insert(accounts, &account(id, 0))))?;
    one.run(|tx| {
        tx.update(accounts, 0, |account| account.balance = 1)?;
        // On a busy machine the first lock may come too late, too.
        let mut has_one = false;
        while !has_one {
            let waits = other.run(|tx| {
                tx.update(accounts, 599, |account| account.balance = 2)?;
                has_one = true;
                let waited = tx.update(accounts, 0, |account| account.balance = 2);
                assert!(
                    matches!(waited, Err(NodeError::TimedOut { .. })),
                    "{waited:?}"
                );
                let after = tx.get(accounts, 599);
                assert!(
                    matches!(after, Err(NodeError::TimedOut { .. })),
                    "{after:?}"
                );
                Ok::<(), NodeError>(())
            });
            assert!(
                matches!(waits, Err(NodeError::TimedOut { .. })),
                "{waits:?}"
            );
        }
        Ok::<(), NodeError>(())
    })?;
    let found = one.run(|tx| Ok::<_, NodeError>((tx.get(accounts, 0)?, tx.get(accounts, 599)?)))?;
    assert_eq!(found, (Some(account(0, 1)), Some(account(599, 0))));
    Ok(())
}
