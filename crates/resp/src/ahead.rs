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

use crate::command::line::Line;
use crate::command::{Command, ELEMENT, ELEMENT_BEHIND};
use crate::data::{Entry, Hashes, KeyLayout, Place};
use crate::request::{Request, What};
use crate::shared::Shared;
use sardonyx::low_level::{Address, ValuePlaces};
use sardonyx::procedures::TableSpace;
use sardonyx::rows::ReadRows;
use smallvec::SmallVec;
use std::cell::OnceCell;

/// Requests of one step; commands with elements among them.
const AT_ONCE: usize = 64;

/// An element: the table of its row, the place of its hint, and then the address that the hint has.
struct Element {
    table: u16,
    place: Place,
    at: Option<Address>,
}

/// A command that runs as a transaction of its own.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<'r> {
    pub command: &'static Command,
    pub line: &'r Line,
    pub database: u8,
    /// The hashes of its keys, to be computed.
    pub hashes: &'r OnceCell<Hashes>,
}

impl<'r> Ahead<'r> {
    /// A request's command, if that runs alone.
    pub fn of(request: &'r Request) -> Option<Ahead<'r>> {
        match &request.what {
            What::One(call) => Some(Ahead {
                command: call.command,
                line: &call.line,
                database: request.database.get(),
                hashes: &request.hashes,
            }),
            What::All(..) | What::Watch(..) => None,
        }
    }

    /// The number of the part that is the first element that the command names.
    fn element(self) -> Option<usize> {
        let part = match self.command.flags & (ELEMENT | ELEMENT_BEHIND) {
            ELEMENT => 2,
            ELEMENT_BEHIND => 3,
            _ => return None,
        };
        (part < self.line.len()).then_some(part)
    }
}

/// Asks for the memory of all these commands.
pub(crate) fn ask<'r>(
    shared: &Shared,
    calls: impl Iterator<Item = Ahead<'r>> + Clone,
    space: &TableSpace,
) {
    let keys = hash_keys(shared, calls.clone(), space);
    // One key is a chain of reads, in which nothing overlaps.
    if keys < 2 {
        return;
    }
    // The rows of all keys, in their order.
    let mut rows = SmallVec::<[Option<Address>; AT_ONCE]>::new();
    let mut last = (0, None);
    for hashes in calls.clone().filter_map(|call| call.hashes.get()) {
        for hash in hashes.all() {
            // Commands of one flight often have one key.
            if last.0 != hash {
                last = (hash, space.prefetch_candidate(hashes.table(), hash));
            }
            rows.push(last.1);
        }
    }
    let (mut rows, mut of_keys) = (rows.iter().copied(), Places::default());
    let mut elements = SmallVec::<[Element; AT_ONCE]>::new();
    let mut last = None;
    for call in calls {
        let Some(hashes) = call.hashes.get() else {
            continue;
        };
        let of_call = rows.by_ref().take(hashes.len());
        let Some(part) = call.element() else {
            let values = of_keys.of(space, hashes.table());
            of_call
                .flatten()
                .for_each(|at| space.prefetch_values_at(values, at));
            continue;
        };
        of_call.for_each(drop);
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
    let mut of_elements = Places::default();
    for element in &elements {
        if let Some(at) = element.at {
            space.prefetch_values_at(of_elements.of(space, element.table), at);
        }
    }
}

/// The places of values in the rows of the table that was asked for last.
#[derive(Default)]
struct Places(Option<(u16, ValuePlaces)>);

impl Places {
    fn of(&mut self, space: &TableSpace, table: u16) -> &ValuePlaces {
        if self.0.as_ref().is_some_and(|(of, _)| *of != table) {
            self.0 = None;
        }
        let places = || (table, space.value_places(table));
        &self.0.get_or_insert_with(places).1
    }
}

/// Computes the hashes of all keys, and asks for their places in the index. Returns their number.
fn hash_keys<'r>(
    shared: &Shared,
    calls: impl Iterator<Item = Ahead<'r>>,
    space: &TableSpace,
) -> usize {
    let view = space.view();
    let (mut keys, mut found, mut last) = (0, None, None);
    for call in calls {
        if call.line.len() < 2 {
            continue;
        }
        let database = call.database;
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
        let hashes = Hashes::new(call.command, call.line, (pair.kv, first), further);
        for hash in hashes.all() {
            space.prefetch_place(pair.kv, hash);
        }
        keys += hashes.len();
        // A batch is hashed again if a request of it cannot be: with the same hashes.
        let _ = call.hashes.set(hashes);
    }
    keys
}

/// The id of the key's elements, and their table, if the key has elements.
fn elements_of(
    shared: &Shared,
    space: &TableSpace,
    (table, hash, key): (u16, u64, &[u8]),
) -> Option<(u64, u16)> {
    let of = |entry: Entry| Some((entry.id, shared.numbers.table_of(entry.kind)?));
    if let Some(layout) = layout_of(shared, space, table)
        && let Some(found) = space.fixed_by_hash((table, &layout.schema), hash, (key, layout.key))
    {
        return of(layout.entry(&found?)?);
    }
    let row = space.row_by_hash(table, hash, key)?;
    of(Entry::of(&row).ok()?)
}

fn layout_of<'s>(shared: &'s Shared, space: &TableSpace, table: u16) -> Option<&'s KeyLayout> {
    let view = space.view();
    let schema = view.row_schema(table)?;
    shared.layouts.keys(table, schema)
}
