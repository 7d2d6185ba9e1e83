//! Memory that the commands of a flight will read, asked for ahead, so that their cache misses overlap.
//!
//! ```text
//! key ──▶ place in the index ──▶ row of the key ──▶ its value
//!                                     └──▶ hint of an element ──▶ row of the element ──▶ its name and value
//! ```
//!
//! Each arrow is a step, made for all commands before the next one begins: what it reads was asked for by the step before.
//!
//! Invariant: nothing that a command answers depends on what was asked for. A row may move, come or go between asking and
//! running, and a hint may be wrong. The hashes of keys are kept for the commands ([`Hashes`]); they depend on the bytes of a
//! key and its table alone.

use crate::command::{ELEMENT, ELEMENT_BEHIND};
use crate::data::{Entry, Hashes, Place};
use crate::keyspace::Shared;
use crate::request::{Call, Request, What};
use sardonyx::low_level::Address;
use sardonyx::procedures::{Prefetch, TableSpace};
use smallvec::SmallVec;

/// Requests of one step; commands with elements among them.
const AT_ONCE: usize = 64;

/// An element: the table of its row, the place of its hint, and then the address that the hint has.
struct Element {
    table: u16,
    place: Place,
    at: Option<Address>,
}

/// The commands of requests that run one by one.
fn calls(requests: &[Request]) -> impl Iterator<Item = (&Request, &Call)> {
    requests.iter().filter_map(|request| match &request.what {
        What::One(call) => Some((request, call)),
        What::All(..) | What::Watch(..) => None,
    })
}

/// The number of the part that is the first element that a command names.
fn element(call: &Call) -> Option<usize> {
    let part = match call.command.flags & (ELEMENT | ELEMENT_BEHIND) {
        ELEMENT => 2,
        ELEMENT_BEHIND => 3,
        _ => return None,
    };
    (part < call.line.len()).then_some(part)
}

/// Asks for the memory of all requests of a batch.
pub(crate) fn ask(shared: &Shared, requests: &[Request], space: &TableSpace) {
    let keys = hash_keys(shared, requests, space);
    // One key is a chain of reads, in which nothing overlaps.
    if keys < 2 {
        return;
    }
    each_hash(requests, |table, hash| {
        space.prefetch_hashed(Prefetch::Record, table, hash);
    });
    let mut elements = SmallVec::<[Element; AT_ONCE]>::new();
    let mut last = None;
    for (request, call) in calls(requests) {
        let Some(hashes) = request.hashes.get() else {
            continue;
        };
        let Some(part) = element(call) else {
            let values = |hash| space.prefetch_values(hashes.table(), hash);
            hashes.all().for_each(values);
            continue;
        };
        let key = (hashes.table(), hashes.first(), call.line.part(1));
        let found = match last {
            Some((there, found)) if there == key => found,
            _ => {
                let found = elements_of(shared, space, key);
                last = Some((key, found));
                found
            }
        };
        if let Some((id, table)) = found {
            let place = shared.places.of(id, call.line.part(part));
            shared.places.prefetch(place);
            hashes.keep_element(part, id, place);
            let at = None;
            elements.push(Element { table, place, at });
        }
    }
    for element in &mut elements {
        element.at = shared.places.hint(element.place);
        if let Some(at) = element.at {
            space.prefetch_row_at(at);
        }
    }
    for element in &elements {
        if let Some(at) = element.at {
            space.prefetch_values_at(element.table, at);
        }
    }
}

/// Computes the hashes of all keys, and asks for their places in the index. Returns their number.
fn hash_keys(shared: &Shared, requests: &[Request], space: &TableSpace) -> usize {
    let view = space.view();
    let (mut keys, mut found, mut last) = (0, None, None);
    for (request, call) in calls(requests) {
        if call.line.len() < 2 {
            continue;
        }
        let database = request.database.get();
        let pair = match found {
            Some((there, pair)) if there == database => pair,
            _ => {
                let pair = shared.databases.find(&view, database);
                found = Some((database, pair));
                pair
            }
        };
        let (Some(pair), key) = (pair, call.line.part(1)) else {
            continue;
        };
        // Commands of one flight often have one key.
        let first = match last {
            Some((table, there, hash)) if (table, there) == (pair.kv, key) => hash,
            _ => {
                let hash = space.hash_of(pair.kv, key);
                last = Some((pair.kv, key, hash));
                hash
            }
        };
        let Some(first) = first else { continue };
        let further = |key: &[u8]| space.hash_of(pair.kv, key);
        let hashes = Hashes::new(call.command, &call.line, (pair.kv, first), further);
        for hash in hashes.all() {
            space.prefetch_hashed(Prefetch::Index, pair.kv, hash);
        }
        keys += hashes.len();
        // A batch is hashed again if a request of it cannot be: with the same hashes.
        let _ = request.hashes.set(hashes);
    }
    keys
}

fn each_hash(requests: &[Request], mut each: impl FnMut(u16, u64)) {
    for (request, _) in calls(requests) {
        if let Some(hashes) = request.hashes.get() {
            hashes.all().for_each(|hash| each(hashes.table(), hash));
        }
    }
}

/// The id of the key's elements, and their table, if the key has elements.
fn elements_of(
    shared: &Shared,
    space: &TableSpace,
    (table, hash, key): (u16, u64, &[u8]),
) -> Option<(u64, u16)> {
    let row = space.row_by_hash(table, hash, key)?;
    let entry = Entry::of(&row).ok()?;
    Some((entry.id, shared.numbers.table_of(entry.kind)?))
}
