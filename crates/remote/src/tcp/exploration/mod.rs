//! Exploration of a log over TCP: processes with the client's code, and a server with its own, over a network in virtual
//! time. Processes claim the log, append, follow, trim, and replace a register. They are killed, and wait for any time
//! between an answer and its use. Requests are lost, done later or done without an answer; connections break within a
//! request or an answer. The server stops, is started again, and has an empty store for a while. All is drawn from a seed
//! (I11).
//!
//! The server keeps all in memory, stable at once: crashes of its log are explored by
//! `sardonyx_storage::remote_log::entry_log`. Not simulated are greetings and TLS, which `tests` has over sockets, and the
//! leases of hosts, which `remote_log::primary` explores over any register.
//!
//! The checker is that of [several copies](crate::copies). Beside that, a register read has what was written to it, and
//! nothing older than its reader knows. Rules of the client and the server are left out once, and that is found.
//!
//! A failure prints the seed. `SARDONYX_SEED=… cargo test -p sardonyx-remote --lib tcp::exploration` replays it alone;
//! `SARDONYX_SEEDS=4000 …` goes further.

mod network;
mod process;
mod world;

use super::planted::{PLANTED, Planted};
use crate::copies::exploration::checker::has_found;
use sardonyx_base::random::of_a_seed;
use sardonyx_base::seeds::{Seeds, first_failure_with};
use world::{Seen, World};

fn run(seed: u64) -> Seen {
    of_a_seed(seed, || World::new(seed).run())
}

#[test]
fn i12_hundreds_of_seeds() {
    let seeds = Seeds::new(0, 64);
    let mut all = Seen::default();
    let explore = |seed| {
        let seen = run(seed);
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

/// The texts of a run that is wrong.
fn is_found(text: &str) -> bool {
    has_found(text) || text.contains("the register") || text.contains("the log ends here")
}

fn assert_found(planted: Planted) {
    PLANTED.set(Some(planted));
    let found = first_failure_with(0..300, is_found, |seed| _ = run(seed));
    PLANTED.set(None);
    println!("{planted:?}: {found:?}");
    assert!(found.is_some(), "{planted:?} is not found");
}

/// A test for each planted error: they run beside each other.
macro_rules! planted_errors_are_found {
    ($($test:ident: $planted:ident,)*) => { $(
        #[test]
        fn $test() {
            assert_found(Planted::$planted);
        }
    )* };
}

planted_errors_are_found! {
    a_connection_that_is_kept_after_a_request_without_an_answer_is_found: KeptAfterSilence,
    a_store_that_is_another_one_by_now_and_is_asked_is_found: AnyStoreAsked,
    a_server_that_calls_an_entry_created_that_met_another_one_is_found: ConflictIsCreation,
    a_client_that_calls_an_entry_without_an_answer_created_is_found: SilenceIsCreation,
}
