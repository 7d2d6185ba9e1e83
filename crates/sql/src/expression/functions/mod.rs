//! Functions: a table each for texts, numbers and so on, with one entry and its code for a function.
//!
//! Names are looked up here, `pg_proc` lists the entries, and `docs/sql.md` shows them; a test compares. The types of
//! the arguments choose among functions of one name ([`resolve`]).

mod arrays;
mod bits;
mod bytes;
mod catalogue;
mod catalogue_numbers;
mod choice;
mod definition;
mod dumping;
mod encodings;
mod enums;
mod floats;
mod formats;
mod forms;
mod hashes;
mod hstores;
mod intervals;
mod json;
mod json_parts;
mod json_paths;
mod json_records;
mod likes;
mod modifiers;
mod named_tables;
mod networks;
mod numbers;
mod objects;
mod ranges;
mod records;
mod regexes;
mod routines;
mod sampled;
mod searches;
mod server;
mod session;
mod sessions;
mod similar;
mod sizes;
mod spread;
mod storage;
mod templates;
mod texts;
mod times;
mod trigrams;
mod unresolved;
mod waiting;
mod whole_names;
mod zoned_times;
mod zones;

pub(crate) use arrays::ORDINALS;
pub(crate) use arrays::no_step;
pub(super) use arrays::{COMPARED, ELEMENT_AT, KEY, MADE, SLICE};
use catalogue_numbers::place_numbered;
pub(crate) use catalogue_numbers::{function_number, number_at};
pub(crate) use choice::element_number;
pub(super) use choice::in_session;
pub(super) use choice::{concatenated, resolve};
use definition::Definition;
pub(crate) use definition::{Function, Kind, Volatility};
pub(super) use dumping::NAME_BYTE;
pub(crate) use dumping::{OPTION_NAME, OPTION_VALUE, SEQUENCE_IS_CALLED, SEQUENCE_LAST};
pub(super) use enums::OUTSIDE_OF_DOMAIN;
pub(super) use hstores::HSTORE_KEY;
pub(super) use intervals::LENGTH;
pub(super) use json::{JSON_MOMENT, NOT_A_NAME};
pub(super) use json_parts::{JSON_KEY, PATH, PATH_TEXT};
pub(crate) use json_records::{EACH_NAME, EACH_TEXT, EACH_VALUE, RECORD_COLUMN};
pub(super) use networks::INET_TEXT;
pub(super) use numbers::{GREATEST, LEAST};
pub(super) use objects::{OBJECT_NAME, OBJECT_NUMBER, TABLE_NUMBER, TABLE_OF_TEXT};
pub(crate) use objects::{names_tables, object_name};
pub(crate) use records::ROW;
pub(super) use records::{ROW_FIELD, ROW_IS_NULL, ROW_KEY, ROW_ORDER};
pub(crate) use routines::TriggerDepth;
pub(crate) use sampled::{OF_SEED, SAMPLED, percentage};
pub(super) use searches::VECTOR_KEY;
pub(crate) use session::NEXT;
pub(crate) use sessions::address_of;
pub(super) use spread::{SPREAD, place_of};
pub(super) use texts::{
    COLLATION_KEY, COLLATION_ORDER, LOWER, MATCHES, MATCHES_ANY_CASE, PADDED, TRIMMED, UPPER,
    WITH_ALL_DIGITS,
};
pub(super) use times::PRESENT;
pub(crate) use unresolved::{not_unique, unknown};

use crate::types::SqlType;
use std::collections::HashMap;
use std::sync::LazyLock;

static TABLES: [&[Definition]; 39] = [
    texts::TABLE,
    formats::TABLE,
    forms::TABLE,
    regexes::TABLE,
    similar::TABLE,
    trigrams::TABLE,
    encodings::TABLE,
    bytes::TABLE,
    bits::TABLE,
    likes::TABLE,
    hashes::TABLE,
    numbers::TABLE,
    floats::TABLE,
    times::TABLE,
    zones::TABLE,
    zoned_times::TABLE,
    templates::TABLE,
    intervals::TABLE,
    arrays::TABLE,
    enums::TABLE,
    json::TABLE,
    json_parts::TABLE,
    json_paths::TABLE,
    json_records::TABLE,
    hstores::TABLE,
    networks::TABLE,
    ranges::TABLE,
    searches::TABLE,
    server::TABLE,
    session::TABLE,
    sessions::TABLE,
    sizes::TABLE,
    storage::TABLE,
    waiting::TABLE,
    catalogue::TABLE,
    modifiers::TABLE,
    dumping::TABLE,
    objects::TABLE,
    routines::TABLE,
];

/// All functions that have a name in SQL.
pub(crate) fn all() -> impl Iterator<Item = Function> {
    TABLES.iter().flat_map(|table| table.iter().map(Function))
}

/// The functions of a name, for different arguments.
pub(super) fn named(name: &str) -> &'static [Function] {
    static NAMED: LazyLock<HashMap<&str, Vec<Function>>> = LazyLock::new(|| {
        let mut named: HashMap<_, Vec<_>> = HashMap::new();
        for function in all() {
            named.entry(function.0.name).or_default().push(function);
        }
        named
    });
    NAMED.get(name).map_or(&[], Vec::as_slice)
}

/// True if functions of a name take a text for an argument of another type of characters, at a place of so many.
pub(super) fn takes_text(name: &str, (at, count): (usize, usize), kind: SqlType) -> bool {
    if !matches!(kind, SqlType::Varchar | SqlType::Char | SqlType::Name) {
        return false;
    }
    let has_count = |function: &&Function| function.0.arguments.len() == count;
    let takes = |kind: SqlType| {
        let mut functions = named(name).iter().filter(has_count);
        functions.any(|function| function.0.arguments.get(at) == Some(&Kind::Of(kind)))
    };
    takes(SqlType::Text) && !takes(kind)
}
