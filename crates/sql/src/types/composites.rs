//! Composite types: a list of fields with their types. A value is the text that PostgreSQL writes for it, with moments in
//! UTC ([`crate::values::composites`]).

use super::enums::{Content, Definition};
use super::{SqlType, TypeSpec};
use crate::error::SqlError;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A field of a composite type.
#[derive(Clone, Debug)]
pub(crate) struct CompositeField {
    pub name: String,
    pub spec: TypeSpec,
}

/// Types of users are compared by their entries: one that has got a label, or that has been created again, is another one.
impl PartialEq for CompositeField {
    fn eq(&self, other: &CompositeField) -> bool {
        let key = |of: TypeSpec| (of.kind.number(), of.modifier, of.collation);
        self.name == other.name && key(self.spec) == key(other.spec)
    }
}

/// A handle of a composite type. Two are equal if they are of one type of a database.
#[derive(Clone, Copy)]
pub struct CompositeType(&'static Definition);

impl PartialEq for CompositeType {
    fn eq(&self, other: &CompositeType) -> bool {
        self.0.oid == other.0.oid
    }
}

impl Eq for CompositeType {}

impl Hash for CompositeType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.oid.hash(state);
    }
}

impl fmt::Debug for CompositeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

fn content(fields: &[CompositeField]) -> Content<'_> {
    Content {
        labels: &[],
        fields: Some(fields),
    }
}

impl CompositeType {
    /// The type with this number, name and fields.
    pub(crate) fn of(oid: u32, kept: &str, fields: &[CompositeField]) -> CompositeType {
        CompositeType(Definition::kept(oid, kept, content(fields)))
    }

    /// Checks that such a type may be created, or be changed.
    ///
    /// # Errors
    /// `54000` if the process has read too many.
    pub(crate) fn check_room(
        oid: u32,
        kept: &str,
        fields: &[CompositeField],
    ) -> Result<(), SqlError> {
        Definition::check_room(oid, kept, content(fields))
    }

    /// The type whose definition this is.
    pub(super) fn of_entry(entry: &'static Definition) -> CompositeType {
        CompositeType(entry)
    }

    /// Its name and schema.
    pub(crate) fn definition(self) -> &'static Definition {
        self.0
    }

    pub(crate) fn fields(self) -> &'static [CompositeField] {
        self.0.fields.as_deref().unwrap_or_default()
    }

    /// The levels of composite types, and of arrays of them, in a value: 1 without any in its fields.
    pub(crate) fn depth(self) -> usize {
        self.0.depth
    }
}

/// The levels of composite types, and of arrays of them, in a type.
pub(crate) fn composite_depth(kind: SqlType) -> usize {
    match kind {
        SqlType::Composite(of) => of.depth(),
        SqlType::CompositeArray(of) => 1 + of.depth(),
        _ => 0,
    }
}

/// The levels in a value of a type with these fields.
pub(super) fn depth_of(fields: &[CompositeField]) -> usize {
    let depths = fields.iter().map(|field| composite_depth(field.spec.kind));
    1 + depths.max().unwrap_or(0)
}
