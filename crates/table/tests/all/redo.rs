//! The redo records of transactions: they make a copy of the pages (DB') equal to the pages. Applied again, from
//! anywhere on, they change nothing (I3). Applied up to any transaction's end they give that transaction's state (I4).

use crate::support;
use crate::support::{Account, Event, Large, Model, Sample, Small, Tables, World, apply, store_of};
use proptest::prelude::*;
use sardonyx_base::resident::Resident;
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_table::{TableSpace, Transaction};

/// A key and its action: 0 deletes, the rest inserts or changes.
type Change = (u32, u32);

/// Deterministic mixed changes to three tables, mirrored in the model.
fn change(tx: &mut Transaction<'_>, tables: &Tables, model: &mut Model, changes: &[Change]) {
    for &(key, value) in changes {
        if value == 0 {
            tx.delete(tables.small, key).expect("delete");
            tx.delete(tables.large, Large::sample_key(key))
                .expect("delete");
            model.small.remove(&key);
            model.large.remove(&key);
        } else if let Some(small) = model.small.get_mut(&key) {
            small.value = value;
            let row = tx.find(tables.small, key).expect("there");
            tx.set(row, Small::value_field(), value).expect("set");
            let scribble = |record: &mut Large| record.scribble(value);
            let found = tx.update(tables.large, Large::sample_key(key), scribble);
            assert_eq!(found.expect("update"), Some(()));
            model.large.entry(key).and_modify(scribble);
        } else {
            let (small, large) = (Small::sample(key, value), Large::sample(key, value));
            tx.insert(tables.small, &small).expect("insert");
            tx.insert(tables.large, &large).expect("insert");
            model.small.insert(key, small);
            model.large.insert(key, large);
        }
    }
}

fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change = (0u32..40, prop_oneof![1 => Just(0), 3 => any::<u32>()]);
    prop::collection::vec(prop::collection::vec(change, 1..8), 1..20)
}

/// Runs the transactions; every one's redo records, and the state after it.
fn run(transactions: &[Vec<Change>]) -> (World, Tables, Vec<Vec<u8>>, Vec<Model>) {
    let mut world = World::with_memory(support::STORE_BYTES);
    let mut tx = world.space.begin(&mut world.log);
    let tables = Tables::declare(&mut tx);
    tx.commit();
    let mut payloads = vec![world.log.payload().to_vec()];
    world.redo();
    let mut models = vec![Model::default()];
    for changes in transactions {
        let mut model = models.last().expect("at least one").clone();
        let mut tx = world.space.begin(&mut world.log);
        change(&mut tx, &tables, &mut model, changes);
        tx.commit();
        payloads.push(world.log.payload().to_vec());
        world.redo();
        models.push(model);
    }
    (world, tables, payloads, models)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(20)))]

    #[test]
    fn i3_any_suffix_of_the_log_applied_again_changes_nothing(
        transactions in changes(),
        from in any::<prop::sample::Index>(),
        times in 1usize..3,
    ) {
        let (mut world, _, payloads, _) = run(&transactions);
        for _ in 0..times {
            for payload in &payloads[from.index(payloads.len())..] {
                apply(&mut world.redone, payload);
            }
        }
        world.check_redone();
    }

    #[test]
    fn i4_the_log_up_to_any_transactions_end_gives_its_state(transactions in changes()) {
        let (_, tables, payloads, models) = run(&transactions);
        let mut pages = Vec::new();
        for (payload, model) in payloads.iter().zip(&models) {
            apply(&mut pages, payload);
            let (space, _) = TableSpace::open(store_of(&pages), 1).expect("open");
            model.check(&space.view(), &tables);
        }
    }

    #[test]
    fn i4_the_last_record_of_a_transaction_and_no_other_ends_it(transactions in changes()) {
        let (_, _, payloads, _) = run(&transactions);
        for payload in payloads {
            let ends: Vec<_> = Records::new(&payload)
                .map(|record| record.expect("decodes").ends_transaction)
                .collect();
            if let Some((last, others)) = ends.split_last() {
                prop_assert!(*last && others.iter().all(|end| !end));
            }
        }
    }

    #[test]
    fn i8_an_undone_transaction_leaves_the_pages_and_the_log_as_they_were(
        before in changes(),
        undone in changes(),
        declare in any::<bool>(),
    ) {
        let (mut world, tables, _, models) = run(&before);
        let model = models.last().expect("at least one");
        let pages = world.space.pages().to_vec();
        // A transaction of the same group was committed before.
        let mut tx = world.space.begin(&mut world.log);
        let journal = tx.declare_journal::<Event>().expect("declare");
        tx.commit();
        let logged = world.log.payload().to_vec();
        let catalogue = world.space.pages()[..pages.len().min(25 * 4096)].to_vec();
        let mut inside = model.clone();
        let mut tx = world.space.begin(&mut world.log);
        for changes in &undone {
            change(&mut tx, &tables, &mut inside, changes);
        }
        if declare {
            let table = tx.declare_table::<Undeclared>().expect("declare");
            for key in 0..100 {
                tx.insert(table, &Undeclared { key, text: [1; 248] }).expect("insert");
            }
        }
        let event = Event { what: 1, much: [2; 9], end: [3; 7] };
        tx.append(journal, &event).expect("append");
        tx.abort();
        prop_assert!(world.log.payload() == logged);
        prop_assert_eq!(world.log.transactions(), 1);
        let now = world.space.pages();
        prop_assert!(now[..catalogue.len()] == catalogue);
        prop_assert!(now[catalogue.len()..pages.len()] == pages[catalogue.len()..]);
        prop_assert!(now[pages.len()..].iter().all(|&byte| byte == 0));
        prop_assert!(world.space.table::<Undeclared>().expect("no other").is_none());
        model.check(&world.space.view(), &tables);
        world.redo();
        // And the next transactions find places as if nothing had been.
        let mut next = model.clone();
        for changes in &undone {
            world.commit(|tx| change(tx, &tables, &mut next, changes));
        }
        next.check(&world.space.view(), &tables);
        prop_assert_eq!(world.reopen(2).records, next.len() as u64);
        next.check(&world.space.view(), &tables);
    }
}

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Undeclared {
    key: u64,
    text: [u8; 248],
}
sardonyx_rows::record!(Undeclared { table: "undeclared", key: key: u64 });

#[test]
fn an_update_logs_only_the_words_that_differ() {
    let (mut world, tables) = World::new();
    world.commit(|tx| {
        tx.insert(tables.accounts, &Account::sample(1, 5))
            .expect("insert");
    });
    let mut written = |change: fn(&mut Account)| {
        let mut tx = world.space.begin(&mut world.log);
        let key = Account::sample_key(1);
        let updated = tx.update(tables.accounts, key, change);
        assert_eq!(updated.expect("update"), Some(()));
        tx.commit();
        let sizes: Vec<_> = Records::new(world.log.payload())
            .map(|record| match record.expect("decodes").body {
                Body::Write { bytes, .. } => bytes.len(),
                other => panic!("no write: {other:?}"),
            })
            .collect();
        world.log = GroupBuilder::with_capacity(4096);
        sizes
    };
    assert!(written(|_| {}).is_empty());
    assert_eq!(written(|account| account.flags ^= 1), [8]);
    assert_eq!(written(|account| account.words[1] += 1), [8]);
    // One equal word between two others is logged with them; two are not.
    assert_eq!(written(|a| (a.words[1], a.words[3]) = (90, 91)), [24]);
    assert_eq!(written(|a| (a.words[1], a.words[4]) = (92, 93)), [8, 8]);
    assert_eq!(written(|a| (a.balance, a.flags) = (1, 77)), [8, 8]);
}

#[test]
fn journal_rows_are_logged_as_they_are_and_change_no_page() {
    let mut world = World::with_memory(support::STORE_BYTES);
    let journal = world.commit(|tx| tx.declare_journal::<Event>().expect("declare"));
    let pages = world.space.pages().to_vec();
    let event = Event {
        what: 8,
        much: [9; 9],
        end: [7; 7],
    };
    let mut tx = world.space.begin(&mut world.log);
    tx.append(journal, &event).expect("append");
    assert!(tx.commit());
    let records: Vec<_> = Records::new(world.log.payload()).collect();
    let [Ok(record)] = &records[..] else {
        panic!("{records:?}");
    };
    let row = event.as_bytes();
    let number = journal.number();
    assert_eq!(
        record.body,
        Body::Journal {
            journal: number,
            row
        }
    );
    assert!(record.ends_transaction);
    assert!(world.space.pages() == pages);
}
