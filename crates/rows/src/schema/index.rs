//! Indexes and references of a schema.

/// An index of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexDefinition {
    /// Its name, unique in the table.
    pub name: String,
    /// The structure that finds rows by it.
    pub kind: IndexKind,
    /// True if no two rows may have one key. Rows with a null in the key are equal only with `nulls_equal`.
    pub unique: bool,
    /// True if two rows may have one key until a statement or the transaction ends, as [`HeldReferences`] are checked. Such
    /// an index is not `unique`.
    ///
    /// [`HeldReferences`]: crate::constraints::HeldReferences
    pub deferrable: bool,
    /// True if nulls in its key are equal, so that two rows with a null there may have one key, too. Usually they are not.
    pub nulls_equal: bool,
    /// The columns of its key, in order.
    pub key: Vec<KeyPart>,
}

impl IndexDefinition {
    /// True if no two rows have one key when a transaction ends.
    pub fn tells_apart(&self) -> bool {
        self.unique || self.deferrable
    }

    /// The numbers of the columns of its key.
    pub fn columns(&self) -> Vec<usize> {
        self.key.iter().map(|part| part.column).collect()
    }
}

/// The way to find keys: it decides whether an index gives ranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IndexKind {
    /// By whole keys only, fastest.
    #[default]
    Hash,
    /// By keys, ranges and prefixes of keys, in order.
    Ordered,
}

/// A column of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyPart {
    /// The column's number.
    pub column: usize,
    /// True if larger values come first. Nulls come last in ascending order, first in descending.
    pub descending: bool,
}

/// Columns whose values are a key of another table, or null.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKey {
    /// Its name, unique in the table.
    pub name: String,
    /// The columns' numbers.
    pub columns: Vec<usize>,
    /// The other table's number in the catalogue.
    pub table: u16,
    /// The columns there, which are the key of one of its unique indexes.
    pub referenced: Vec<usize>,
    /// The action on the rows when the row that they refer to is deleted.
    pub on_delete: OnDelete,
    /// The changes that are not checked.
    pub unchecked: Unchecked,
}

/// The changes of rows that a reference does not check: `ALTER TABLE … DISABLE TRIGGER ALL` of one of its tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unchecked {
    /// The changes of rows that refer.
    pub rows: bool,
    /// The changes of rows to which others refer. No action follows them either.
    pub referenced: bool,
}

/// The action on rows whose referenced row is deleted. In every case a referenced row cannot get another key while
/// rows refer to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDelete {
    /// It is not deleted.
    #[default]
    Restrict,
    /// They are deleted, too.
    Cascade,
    /// Their columns become null.
    SetNull,
    /// Their columns get their defaults, to which a row must be there.
    SetDefault,
}
