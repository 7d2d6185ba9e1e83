//! Fingerprints of tables: one comparison finds that a handle's type is not the table's.

use sardonyx_base::hash::{Fnv1a, scattered};
use sardonyx_rows::record::Record;
use sardonyx_rows::schema::Schema;
use sardonyx_storage::catalogue::{Definition, Kind};

pub(crate) fn fingerprint_of_table(definition: &Definition, schema: &Schema) -> u64 {
    let fingerprint = fingerprint_of_definition(definition);
    match schema.begins_with_records() {
        true => fingerprint,
        false => without_records(fingerprint),
    }
}

/// The fingerprint of a table whose rows do not begin with a record of any type.
pub(super) fn without_records(fingerprint: u64) -> u64 {
    scattered(fingerprint)
}

/// The fingerprint of a table's definition.
pub(super) fn fingerprint_of_definition(definition: &Definition) -> u64 {
    let (key_offset, key_bytes) = match definition.kind {
        Kind::Table {
            key_offset,
            key_bytes,
        } => (key_offset, key_bytes),
        Kind::Journal | Kind::Area | Kind::Dropped => (0, 0),
    };
    fingerprint(
        &definition.name,
        definition.record_bytes,
        key_offset,
        key_bytes,
    )
}

/// The fingerprint of a plain record type's table.
#[inline]
pub(crate) fn fingerprint_of<R: Record>() -> u64 {
    const {
        match R::PLAIN {
            Some(plain) => fingerprint(R::TABLE, plain.bytes, plain.key_offset, plain.key_bytes),
            None => 0,
        }
    }
}

/// Distinguishes tables of different names or layouts, in one comparison; for record types at compile time (FNV-1a of
/// 64 bits).
const fn fingerprint(name: &str, record_bytes: usize, key_offset: usize, key_bytes: usize) -> u64 {
    let name = Fnv1a(Fnv1a::of(name.as_bytes()));
    let layout = name.with(record_bytes as u64).with(key_offset as u64);
    layout.with(key_bytes as u64).0
}
