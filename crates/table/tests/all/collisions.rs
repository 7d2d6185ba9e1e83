//! Keys whose hashes are the same: chosen for a hash that is known, since otherwise there is no choosing.

use crate::support::{STORE_BYTES, World, hash, in_detail};
use sardonyx_base::resident::Resident;
use sardonyx_rows::{Table, TableError, record};
use sardonyx_storage::store::PageStore;
use sardonyx_table::{KeyHash, TableSpace};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
struct Wide {
    key: [u64; 2],
    value: u64,
}
record!(Wide { table: "wide", key: key: [u64; 2] });

/// Two words are hashed one after the other, so the second can undo the effect of the first.
fn colliding(n: u64) -> Wide {
    let second = hash().of(&(n ^ 16).to_le_bytes());
    let key = [n, second];
    Wide { key, value: n }
}

fn declare(world: &mut World) -> Table<Wide> {
    world.commit(|tx| tx.declare_table().expect("declare"))
}

#[test]
fn a_row_does_not_follow_another_key_whose_hash_and_place_are_the_same() {
    let (one, other) = (colliding(1), colliding(2));
    assert_eq!(
        hash().of(one.key.as_bytes()),
        hash().of(other.key.as_bytes())
    );
    let mut world = World::with_memory(STORE_BYTES);
    let table = declare(&mut world);
    let row = world.commit(|tx| tx.insert_and_find(table, &one).expect("insert"));
    world.commit(|tx| {
        assert!(tx.delete(table, one.key).expect("delete"));
        let second = tx.insert_and_find(table, &other).expect("insert");
        let found = in_detail(tx.record(row).copied());
        assert!(
            matches!(found, Err(TableError::StaleRow { .. })),
            "{found:?}"
        );
        assert_eq!(tx.record(second).copied().ok(), Some(other));
    });
    world.commit(|tx| {
        // The same key in the very place is the same row.
        assert!(tx.delete(table, other.key).expect("delete"));
        tx.insert(table, &one).expect("insert");
        assert_eq!(tx.record(row).copied().ok(), Some(one));
    });
}

#[test]
fn colliding_keys_are_found_each_by_itself() {
    let mut world = World::with_memory(STORE_BYTES);
    let table = declare(&mut world);
    world.commit(|tx| {
        for n in 0..400 {
            tx.insert(table, &colliding(n)).expect("insert");
        }
        for n in (0..400).step_by(3) {
            assert!(tx.delete(table, colliding(n).key).expect("delete"));
        }
    });
    for workers in [1, 2] {
        let view = world.space.view();
        for n in 0..400 {
            let found = view.get(table, colliding(n).key).expect("read").copied();
            assert_eq!(found, (n % 3 != 0).then(|| colliding(n)));
        }
        world.reopen(workers);
    }
}

/// Keys that take 64,000 times 64,000 steps in a known hash take the time of any keys in the hash of an opening.
/// Otherwise this test would take minutes.
#[test]
fn keys_that_collide_in_one_hash_do_not_in_that_of_another_opening() {
    let store = PageStore::reserve(STORE_BYTES).expect("reserve");
    let mut world = World::with_memory(STORE_BYTES);
    world.space = TableSpace::open_with(store, 1, KeyHash::from_seed(8))
        .expect("open")
        .0;
    let table = declare(&mut world);
    for some in 0..64 {
        world.commit(|tx| {
            for n in some * 1000..(some + 1) * 1000 {
                tx.insert(table, &colliding(n)).expect("insert");
            }
        });
    }
    assert_eq!(world.space.view().count(table).expect("read"), 64_000);
}
