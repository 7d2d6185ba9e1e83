//! The cost of an uncontended lock: request and release together, in nanoseconds. Prints the median and the fastest of
//! many batches, each over many objects.
//!
//! ```text
//! cargo run --release -p sardonyx-lock --example uncontended
//! ```

use sardonyx_lock::{
    Asker, EXCLUSIVE, LockSpace, Locks, Mode, Owner, PAGES, Quantity, Resource, SHARED,
};
use std::hint::black_box;
use std::time::Instant;

/// Objects in a batch. A page's lock is seldom taken again while it is in the nearest cache.
const OBJECTS: u64 = 4096;
const BATCHES: usize = 2001;

static COUNTERS: LockSpace = LockSpace::new("counters", &[&[true]]);

fn main() {
    let locks = Locks::new();
    let transaction = Owner::transaction(1);
    let subtransaction = transaction.subtransaction(1);
    let asker = |holder| Asker {
        holder,
        waiter: subtransaction,
        age: 1,
        compensation: false,
    };
    let page = |object| Resource {
        space: PAGES.number(),
        object,
    };
    let lock = |object, mode| {
        let granted = locks.request(asker(subtransaction), &PAGES, object, mode);
        black_box(granted).expect("nobody else is there");
    };
    measure("exclusive page", |object| {
        lock(object, EXCLUSIVE);
        locks.release(subtransaction, [page(object)]);
    });
    measure("shared page", |object| {
        lock(object, SHARED);
        locks.release(subtransaction, [page(object)]);
    });
    measure("shared, then exclusive page", |object| {
        lock(object, SHARED);
        lock(object, EXCLUSIVE);
        locks.release(subtransaction, [page(object)]);
    });
    measure("object of a transaction", |object| {
        let granted = locks.try_request(asker(transaction), &COUNTERS, object, Mode(0));
        black_box(granted).expect("nobody else is there");
        let space = COUNTERS.number();
        locks.release(transaction, [Resource { space, object }]);
    });
    measure("reservation", |object| {
        let quantity = Quantity {
            value: 5,
            change: -1,
            low: 0,
            high: 10,
        };
        black_box(locks.try_reserve(transaction, &COUNTERS, object, quantity));
        let space = COUNTERS.number();
        locks.release_reservations(transaction, [Resource { space, object }]);
    });
    // Three pages at a time, as a subtransaction has them.
    measure("page of three", |object| {
        lock(object, EXCLUSIVE);
        if object % 3 == 2 {
            locks.release(subtransaction, (object - 2..=object).map(page));
        }
    });
}

/// Measures the time of `body` for one object.
fn measure(name: &str, mut body: impl FnMut(u64)) {
    let mut batches: Vec<f64> = Vec::with_capacity(BATCHES);
    for batch in 0..BATCHES as u64 {
        let begun = Instant::now();
        for object in 0..OBJECTS {
            body(batch * OBJECTS + object);
        }
        batches.push(begun.elapsed().as_nanos() as f64 / OBJECTS as f64);
    }
    batches.sort_by(f64::total_cmp);
    let (fastest, median) = (batches[0], batches[BATCHES / 2]);
    println!("{name:<28} {median:6.1} ns (fastest batch {fastest:.1})");
}
