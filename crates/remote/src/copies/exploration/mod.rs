//! Exploration of a log on several places. Processes claim the log, append, follow and let copies in, one request after
//! the other, in an order drawn from a seed (I11). Copies lose answers, execute requests twice or later, are cut off
//! from some processes and not from others, stop, and come back behind, empty, or with a lost or cut entry. Places are added to the set and removed
//! from it. Processes are stopped or killed. The keeper is a store in memory, or the registers in an etcd.
//!
//! The processes are threads of which one runs at a time: at each request it hands on to the next one that is drawn. So a
//! seed gives the same run each time, and the code that runs is the store's own.
//!
//! The checker knows the acknowledged and the read entries. A process that claims the log has all acknowledged ones,
//! and no epoch acknowledges an entry that a later one lacks. An entry read under a number stays, and at the end each
//! copy alone has everything. Rules of [`super`] are left out once, and that is found here, or by hand in its tests.
//!
//! A failure prints the seed. `SARDONYX_SEED=… cargo test -p sardonyx-remote --lib copies::exploration` replays it alone;
//! `SARDONYX_SEEDS=4000 …` goes further.

pub(crate) mod checker;
mod client;
mod handle;
mod state;
mod world;

use super::planted::{PLANTED, Planted};
use checker::{Seen, has_found};
use sardonyx_base::seeds::{Seeds, first_failure_with};
use world::World;

#[test]
fn i12_hundreds_of_seeds() {
    let seeds = Seeds::new(0, 48);
    let mut all = Seen::default();
    let explore = |seed| {
        let seen = World::run(seed, None);
        (seen, seen)
    };
    seeds.explore_alike(16, explore, |seen| all.add(&seen));
    println!("{all:?}");
    if !seeds.is_replay() {
        // The runs come upon everything that the rules are for.
        let least = seeds.count() / 8;
        assert!(all.counts().iter().all(|seen| *seen > least), "{all:?}");
    }
}

/// The error is found within 300 seeds. The search begins shortly before the seed that found it when this was written: some
/// are found by one history in hundreds.
fn assert_found(planted: Planted, first: u64) {
    PLANTED.set(Some(planted));
    // A run that ends otherwise shows nothing of the copies.
    let found = first_failure_with(first..first + 300, has_found, |seed| {
        World::run(seed, Some(planted));
    });
    PLANTED.set(None);
    println!("{planted:?}: {found:?}");
    assert!(found.is_some(), "{planted:?} is not found");
}

/// A test for each planted error: they run beside each other.
macro_rules! planted_errors_are_found {
    ($($test:ident: $planted:ident from $first:literal,)*) => { $(
        #[test]
        fn $test() {
            assert_found(Planted::$planted, $first);
        }
    )* };
}

planted_errors_are_found! {
    an_acknowledgement_before_all_have_it_is_found: AcknowledgedBeforeAll from 0,
    a_copy_left_out_without_the_register_is_found: LeftOutWithoutRegister from 0,
    a_copy_that_joins_without_comparing_is_found: JoinedWithoutComparing from 295,
    a_read_from_the_head_alone_is_found: ReadFromHead from 165,
    an_empty_copy_that_is_trusted_is_found: EmptyTrusted from 215,
    a_copy_that_is_added_in_sync_is_found: AddedInSync from 0,
    a_copy_whose_recorded_number_is_trusted_is_found: RecordedTrusted from 0,
}

#[cfg(feature = "etcd")]
#[test]
fn i12_an_etcd_whose_puts_compare_no_revision_is_found() {
    state::PUTS_COMPARE_NOTHING.set(true);
    let found = first_failure_with(185..485, has_found, |seed| {
        World::run(seed, None);
    });
    state::PUTS_COMPARE_NOTHING.set(false);
    println!("{found:?}");
    assert!(found.is_some_and(|(seed, _)| !seed.is_multiple_of(2)));
}
