//! The places of columns in the rows of keys and of elements, by which commands read these rows.
//!
//! A place holds for the schema that it was taken from. So places are found by the table and its schema, and databases may be
//! exchanged. The first schemas that tables have are kept, up to a bound; tables of others are read in the general way, by their
//! columns' numbers.

use super::columns::{element, kv};
use sardonyx::low_level::{Address, FixedRow};
use sardonyx::schema::{NullBit, Schema, Type};
use std::sync::{Arc, OnceLock};

/// The places in rows of keys.
#[derive(Debug)]
pub(crate) struct KeyLayout {
    pub schema: Arc<Schema>,
    pub key: usize,
    pub value: usize,
    pub(super) id: usize,
    pub(super) kind: usize,
    pub(super) length: usize,
    pub(super) first: usize,
    pub(super) expires: usize,
    pub(super) expires_null: NullBit,
    /// True if the length and the first position are in no key.
    pub(super) counts_alone: bool,
    /// True if rows have no other columns.
    pub(super) is_whole: bool,
}

/// The places in rows of elements.
#[derive(Debug)]
pub(crate) struct ElementLayout {
    pub schema: Arc<Schema>,
    pub id: usize,
    pub name: usize,
}

/// Schemas of tables of one sort that are kept.
const SCHEMAS_MAX: usize = 64;
/// Schemas that a table is compared with: more than few changes of its schema are rare.
const TRIED_MAX: usize = 8;

/// The layouts of the tables of one process.
#[derive(Debug)]
pub(crate) struct Layouts {
    keys: Kept<KeyLayout>,
    elements: Kept<ElementLayout>,
}

/// The layouts of schemas, where the schema has its columns in fixed places.
#[derive(Debug)]
struct Kept<L>([OnceLock<(Arc<Schema>, Option<L>)>; SCHEMAS_MAX]);

impl<L> Kept<L> {
    fn new() -> Kept<L> {
        Kept(std::array::from_fn(|_| OnceLock::new()))
    }

    /// The layout of a schema of a table, which is made if there is room for it.
    #[inline]
    fn of(
        &self,
        table: u16,
        schema: &Arc<Schema>,
        make: impl Fn(&Arc<Schema>) -> Option<L>,
    ) -> Option<&L> {
        // The schema is kept, so no other one gets its address.
        (0..TRIED_MAX)
            .find_map(|tried| {
                let place = &self.0[(usize::from(table) + tried) % SCHEMAS_MAX];
                let (of, layout) = place.get_or_init(|| (Arc::clone(schema), make(schema)));
                Arc::ptr_eq(of, schema).then_some(layout)
            })?
            .as_ref()
    }
}

impl Layouts {
    pub fn new() -> Layouts {
        Layouts {
            keys: Kept::new(),
            elements: Kept::new(),
        }
    }

    /// The layout of a table of keys.
    #[inline]
    pub fn keys(&self, table: u16, schema: &Arc<Schema>) -> Option<&KeyLayout> {
        self.keys.of(table, schema, KeyLayout::of)
    }

    /// The layout of a table of elements that have names.
    #[inline]
    pub fn elements(&self, table: u16, schema: &Arc<Schema>) -> Option<&ElementLayout> {
        self.elements.of(table, schema, ElementLayout::of)
    }
}

/// The place of a column of a type that each row has, which is never null.
fn place(schema: &Schema, number: usize, kind: Type) -> Option<usize> {
    let column = schema.columns.get(number)?;
    let is_it = column.kind == kind && !column.dropped && column.since_shape == 0;
    (is_it && column.null.is_none()).then_some(column.offset)
}

impl KeyLayout {
    /// `None` if the columns are others.
    fn of(schema: &Arc<Schema>) -> Option<KeyLayout> {
        let at = |number, kind| place(schema, number, kind);
        let expires = schema.columns.get(kv::EXPIRES)?;
        let is_time = expires.kind == Type::Timestamp && !expires.dropped;
        let keys = schema.indexes.iter().chain([&schema.primary]);
        let mut parts = keys.flat_map(|index| &index.key);
        let counts_alone = parts.all(|part| ![kv::LENGTH, kv::FIRST].contains(&part.column));
        Some(KeyLayout {
            counts_alone,
            is_whole: schema.columns.len() == kv::EXPIRES + 1,
            schema: Arc::clone(schema),
            key: at(kv::KEY, Type::Bytes)?,
            value: at(kv::VALUE, Type::Bytes)?,
            id: at(kv::ID, Type::U64)?,
            kind: at(kv::KIND, Type::Text)?,
            length: at(kv::LENGTH, Type::U64)?,
            first: at(kv::FIRST, Type::I64)?,
            expires: expires.offset,
            expires_null: expires
                .null
                .filter(|_| is_time && expires.since_shape == 0)?,
        })
    }
}

impl ElementLayout {
    fn of(schema: &Arc<Schema>) -> Option<ElementLayout> {
        Some(ElementLayout {
            schema: Arc::clone(schema),
            id: place(schema, element::ID, Type::U64)?,
            name: place(schema, element::NAME, Type::Bytes)?,
        })
    }

    /// True if a row at an address of the table is the element of this name of a key; `None` if that is not known here.
    #[inline]
    pub fn is(&self, row: &FixedRow<'_>, id: u64, name: &[u8]) -> Option<bool> {
        match row.word(self.id) == id {
            true => row.is(self.name, name),
            false => Some(false),
        }
    }
}

/// A row of elements that was found at its hint, or not: [`None`] if that is not known here.
pub(crate) type AtHint = Option<Option<Address>>;

#[cfg(test)]
mod tests;
