//! Models of snapshots under Shuttle's schedules: their readers, the writer that keeps pages for them and ends them at
//! its bound, and the drop of handles. Run with `RUSTFLAGS="--cfg shuttle"`.
#![cfg(shuttle)]

use sardonyx_base::sync::thread;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::store::{PageRead, PageStore, SnapshotEnded};

const ITERATIONS: usize = 2000;

fn store(pages: u64, kept: u64) -> PageStore {
    let mut store = PageStore::reserve(1 << 20).unwrap();
    store.set_snapshot_bytes_max(kept * PAGE_SIZE as u64);
    store.grow_to(pages).unwrap();
    store
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, ITERATIONS);
}

fn at(page: u64) -> Address {
    Address(page * PAGE_SIZE as u64)
}

/// Writes a number to two words of a page, in two writes: no reader may see them differ.
fn change(store: &mut PageStore, page: u64, n: u64) {
    store.write(at(page), &n.to_le_bytes());
    store.write(Address(at(page).0 + 8), &n.to_le_bytes());
}

/// Reads both words of a page at once.
fn look(snapshot: &impl PageRead<Error = SnapshotEnded>, page: u64) -> Result<u64, SnapshotEnded> {
    let mut buffer = Vec::new();
    let bytes = snapshot.read(at(page), 16, &mut buffer)?;
    let (first, second) = bytes.split_at(8);
    assert_eq!(first, second, "half a change");
    Ok(u64::from_le_bytes(first.try_into().unwrap()))
}

#[test]
fn shuttle_what_was_frozen_is_read() {
    explore(|| {
        let mut store = store(2, 8);
        change(&mut store, 0, 1);
        change(&mut store, 1, 1);
        let old = store.snapshot().unwrap();
        let reader = thread::spawn(move || {
            for page in [0, 1, 0] {
                assert_eq!(look(&*old, page), Ok(1));
            }
        });
        change(&mut store, 0, 2);
        let new = store.snapshot().unwrap();
        let other = thread::spawn(move || {
            assert_eq!(look(&*new, 0), Ok(2));
            assert_eq!(look(&*new, 1), Ok(1));
        });
        change(&mut store, 1, 3);
        change(&mut store, 0, 3);
        reader.join().unwrap();
        other.join().unwrap();
        // No snapshot is left: the plain way.
        change(&mut store, 0, 4);
        assert_eq!(store.bytes_mut()[0], 4);
    });
}

#[test]
fn shuttle_an_ended_one_gives_no_wrong_answer() {
    explore(|| {
        // One copy is all there is: it goes from one page, and from one snapshot, to the next.
        let mut store = store(2, 1);
        for n in 1..4 {
            let snapshot = store.snapshot().unwrap();
            let before = n - 1;
            thread::spawn(move || {
                for page in [0, 1, 0] {
                    match look(&*snapshot, page) {
                        Ok(seen) => assert_eq!(seen, before),
                        Err(SnapshotEnded) => assert!(snapshot.is_ended()),
                    }
                }
            });
            change(&mut store, 0, n);
            change(&mut store, 1, n);
        }
    });
}

#[test]
fn shuttle_the_last_handle_goes_while_the_writer_writes_and_takes_another() {
    explore(|| {
        let mut store = store(2, 4);
        let first = store.snapshot().unwrap();
        let reader = thread::spawn(move || drop(first));
        change(&mut store, 0, 1);
        let second = store.snapshot().unwrap();
        change(&mut store, 0, 2);
        change(&mut store, 1, 2);
        assert_eq!((look(&*second, 0), look(&*second, 1)), (Ok(1), Ok(0)));
        reader.join().unwrap();
        let closing = thread::spawn(move || drop(second));
        change(&mut store, 1, 3);
        closing.join().unwrap();
        store.bytes_mut().fill(0);
    });
}
