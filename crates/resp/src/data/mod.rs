//! Keys and their values inside a transaction: the basis of the commands.
//!
//! [`Data`] is a [state](State) of the tables of [`tables`], with the time and the random numbers of a request. Its
//! methods know which rows belong to a key; commands know Redis' answers. Reading methods are written over any state,
//! and compiled for each; changing methods are written over a transaction, [`Live`].
//!
//! Invariants: those of [`tables`]; a key whose time has come is not seen, and is deleted by the first command that
//! changes its place. Tests: `model`, `golden/expiry.txt`.

mod columns;
pub(crate) mod databases;
mod effects;
mod elements;
mod filled;
mod hashes;
mod key_rows;
mod keys;
mod kind;
mod layouts;
pub(crate) mod libraries;
mod lists;
pub(crate) mod older;
mod places;
mod removal;
mod room;
mod selection;
mod state;
mod streams;
mod strings;
pub(crate) mod table_names;
pub(crate) mod tables;
mod values;
mod watching;

pub(crate) use effects::Effects;
pub(crate) use elements::{Elements, Pair};
pub(crate) use filled::Filled;
pub(crate) use hashes::Hashes;
pub(crate) use keys::{Entry, Expiry};
pub(crate) use kind::Kind;
pub(crate) use layouts::{KeyLayout, Layouts};
pub(crate) use places::{Place, Places};
pub(crate) use room::Room;
#[cfg(feature = "lua")]
pub(crate) use room::Spent;
pub(crate) use state::{Live, State};
pub(crate) use streams::{EntryId, Fields, Group, Pending, Stream};
pub(crate) use strings::Text;
pub(crate) use tables::Numbers;
pub(crate) use values::check_storable;
pub(crate) use watching::Seen;

use crate::channels::Messages;
use crate::command::line::Line;
use crate::failure::Failure;
use crate::functions::Caller;
use crate::shared::Shared;
use databases::KeyTables;
use sardonyx::Error;
use sardonyx::low_level::Committed;
use sardonyx_base::random::Random;
use std::cell::Cell;

/// The longest key of a row of `kv`, and the longest field or member, in bytes. A zero byte counts twice.
pub const KEY_BYTES_MAX: usize = 4000;

/// Keys in a state of the tables.
pub(crate) struct Data<'t, S> {
    pub state: &'t mut S,
    pub shared: &'t Shared,
    /// Milliseconds since 1970.
    pub now: i64,
    pub random: Random,
    /// The database in which commands run.
    pub database: u8,
    /// Its tables, if it has ever had a key.
    pair: Option<KeyTables>,
    /// The command's line with the hashes of its keys, if these are known.
    pub hashed: Option<(&'t Line, &'t Hashes)>,
    /// The room for data gathered for the answer.
    pub room: &'t Room,
    /// Bytes that were gathered, or that took as long to pass: what the commands cost besides their changes.
    pub gathered: Cell<usize>,
    /// The caller's name and its further functions, while a command runs that calls functions.
    pub caller: Option<&'t Caller>,
    /// The command that runs reads keys.
    pub only_reads: bool,
    /// The session whose commands run.
    pub client: u64,
    /// A script has run a command that reads.
    pub script_has_read: bool,
    /// The committed state that is read beside a long transaction.
    pub beside: Option<&'t Committed>,
    /// Messages to post once the transaction commits.
    pub messages: Messages,
    /// Further effects.
    pub effects: Effects,
}

impl<'t, S: State> Data<'t, S> {
    /// The keys of a database, at a time in milliseconds since 1970.
    #[inline]
    pub fn new(
        state: &'t mut S,
        shared: &'t Shared,
        (now, seed): (i64, u64),
        room: &'t Room,
        database: u8,
    ) -> Data<'t, S> {
        Data {
            pair: shared.databases.find(state, database),
            state,
            shared,
            now,
            random: Random::new(seed),
            database,
            hashed: None,
            room,
            gathered: Cell::new(0),
            caller: None,
            only_reads: false,
            client: 0,
            script_has_read: false,
            beside: None,
            messages: Messages::default(),
            effects: Effects::default(),
        }
    }
}

impl<S> Data<'_, S> {
    /// The hash of a key in a table, if it is known: the key is not compared, but must be the command's own part.
    #[inline]
    fn hash_of(&self, table: u16, key: &[u8]) -> Option<u64> {
        let (line, hashes) = self.hashed?;
        hashes.of(line, table, key)
    }

    /// A number below a bound, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        below(&mut self.random, bound)
    }
}

/// A number below a bound, which is not 0.
fn below(random: &mut Random, bound: u64) -> u64 {
    // Multiplied instead of divided: without the bias of a remainder.
    let wide = u128::from(random.next()) * u128::from(bound);
    (wide >> 64) as u64
}

/// Bytes of a column that has bytes.
pub(crate) fn bytes(value: sardonyx::schema::ValueRef<'_>) -> &[u8] {
    match value {
        sardonyx::schema::ValueRef::Bytes(bytes) => bytes,
        _ => &[],
    }
}

/// A number of a column of whole numbers.
pub(crate) fn whole(value: sardonyx::schema::ValueRef<'_>) -> i128 {
    match value {
        sardonyx::schema::ValueRef::Int(number) => number,
        _ => 0,
    }
}

/// The engine's check, with Redis' words for keys that are too long.
pub(crate) fn check_key(key: &[u8]) -> Result<(), Failure> {
    let zeroes = || key.iter().filter(|byte| **byte == 0).count();
    match key.len() > KEY_BYTES_MAX / 2 && key.len() + zeroes() > KEY_BYTES_MAX {
        true => Err(Failure::Said(format!(
            "ERR a key, field or member has at most {KEY_BYTES_MAX} bytes, zero bytes counted twice; this one has {}",
            key.len()
        ))),
        false => Ok(()),
    }
}

/// A table's error as the engine's.
pub(crate) fn engine<T, E: Into<Error>>(result: Result<T, E>) -> Result<T, Failure> {
    result.map_err(|error| Failure::Engine(error.into()))
}
