//! The harness on the types that come with the engine: bounded counters and the ordered index.

use proptest::prelude::*;
use sardonyx_multilevel::counter::{Add, Counter, Get, Set};
use sardonyx_multilevel::harness::{Call, Check, Failures, Harness};
use sardonyx_multilevel::index::{Entry, OrderedIndex};
use sardonyx_multilevel::{Area, Operation, PlainPages};
use std::sync::LazyLock;

const AREA: Area = Area(0);

fn counters(pages: &mut PlainPages) {
    assert_eq!(pages.area(1), AREA);
    for number in 0..3 {
        let counter = Counter::new(AREA, number);
        Set::within(counter, 4, 0, 10).execute(pages).unwrap();
    }
}

fn counter() -> impl Strategy<Value = Counter> {
    (0u64..3).prop_map(|number| Counter::new(AREA, number))
}

fn on_counters() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => (counter(), -7i64..8).prop_map(|(c, by)| Call::recorded(Add::to(c, by))),
        1 => (counter(), 0i64..9).prop_map(|(c, to)| Call::of(Set::within(c, to, 0, 10))),
        1 => counter().prop_map(|c| Call::of(Get(c))),
    ]
}

/// A refused change proves that it could not be at that time, and no more.
#[test]
fn counters_keep_what_their_locks_promise() {
    let harness = Harness::new(counters, on_counters());
    let coverage = harness.failures(Failures::Ignored).assert();
    assert!(
        coverage.admitted > 200 && coverage.admitted < coverage.pairs,
        "{coverage:?}"
    );
    assert!(
        coverage.undone > 200 && coverage.failed > 50,
        "{coverage:?}"
    );
    assert!(
        coverage.aborted > 50 && coverage.waited > 50,
        "{coverage:?}"
    );
}

/// Short keys, and long ones of which few fit into a page.
static KEYS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let long = |first: u8| {
        let mut key = vec![first; 900];
        key[0] = b'm';
        key
    };
    let short = [&b"a"[..], b"b", b"c", b"n", b"z"].map(<[u8]>::to_vec);
    short.into_iter().chain((1..8).map(long)).collect()
});

static VALUES: [&[u8]; 3] = [b"", b"one", &[7; 900]];

fn index(pages: &mut PlainPages) {
    assert_eq!(pages.area(0), AREA);
}

fn on_index() -> impl Strategy<Value = Call> {
    let key = || (0..KEYS.len()).prop_map(|number| &KEYS[number][..]);
    let value = || (0..VALUES.len()).prop_map(|number| VALUES[number]);
    let of = OrderedIndex::of(AREA);
    prop_oneof![
        3 => (key(), value()).prop_map(move |(k, v)| Call::of(of.insert(k, v))),
        2 => (key(), value()).prop_map(move |(k, v)| Call::of(of.put(k, v))),
        3 => key().prop_map(move |k| Call::of(of.delete(k))),
        1 => key().prop_map(move |k| Call::of(of.get(k))),
        1 => (key(), key(), 1usize..4, any::<bool>()).prop_map(move |(low, high, limit, down)| {
            let scan = of.scan(low..high).limit(limit);
            Call::of(if down { scan.descending() } else { scan })
        }),
    ]
}

/// The entries of the index, which has to be sound.
fn entries(pages: &mut PlainPages) -> Vec<Entry> {
    let index = OrderedIndex::of(AREA);
    index.check(pages).unwrap();
    index.scan(..).execute(pages).unwrap()
}

#[test]
fn the_index_keeps_what_its_locks_promise() {
    let harness = Harness::new(index, on_index());
    let coverage = harness.comparing(entries).cases(120).assert();
    assert!(
        coverage.admitted > 500 && coverage.admitted < coverage.pairs,
        "{coverage:?}"
    );
    assert!(
        coverage.undone > 100 && coverage.failed > 10,
        "{coverage:?}"
    );
    assert!(
        coverage.aborted > 50 && coverage.waited > 50,
        "{coverage:?}"
    );
}

/// There are many trees for the same entries.
#[test]
fn the_bytes_of_an_index_are_not_what_counts() {
    let harness = Harness::new(index, on_index());
    let found = harness.check().unwrap_err();
    let by_bytes = [Check::Undo, Check::Order, Check::UndoBehindAnother];
    assert!(by_bytes.contains(&found.check), "{found}");
}
