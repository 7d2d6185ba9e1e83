//! Columns that are generated of others: those that a table declares, and those of its indexes.
//!
//! An index on an expression is an index on a column that always has the expression's value. A partial index begins with a
//! column that is true where the index's condition is, and null elsewhere: rows with a null in a key are never equal, so
//! the condition's rows alone are unique. Both columns are the index's own ([`Schema::is_index_column`]). They come with the
//! first index that needs them, and are dropped with the last one.
//!
//! Invariant: a row in whose shape a generated column is has the expression's value there. Rows of earlier shapes move to
//! the newest one before an index has such a column.

use super::{Column, Declared, DeclaredDefault, IndexDefinition, Schema, SchemaError, Type, Value};
use crate::condition::SqlCheck;

/// The beginning of the name of a column with the value of an index's expression.
pub const INDEX_KEY: &str = "sardonyx.key.";
/// The beginning of the name of a column that is true where an index's condition is.
pub const INDEX_WHERE: &str = "sardonyx.where.";

/// A column that is generated, to be added to a table.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratedColumn {
    /// Unique in the table.
    pub name: String,
    /// The engine's type, in which values are stored.
    pub kind: Type,
    /// The number of its type in PostgreSQL's catalogue.
    pub declared: u32,
    /// The type's modifier; -1 for none.
    pub modifier: i32,
    /// The expression, as [`SqlCheck`] writes it.
    pub expression: String,
}

impl Schema {
    /// With one more column, which is generated. Rows of the shapes before do not have its value yet.
    ///
    /// # Errors
    /// The errors of [`Schema::with_column`]; [`SchemaError::Declared`] if the expression can be none.
    #[inline]
    pub fn with_generated_column(&self, column: &GeneratedColumn) -> Result<Schema, SchemaError> {
        let mut schema = self.with_column(&column.name, column.kind, true, Value::Null)?;
        schema.declared.push(Declared {
            kind: column.declared,
            modifier: column.modifier,
            default: Some(DeclaredDefault::Generated(column.expression.clone())),
            // The new column is the last.
            ..Declared::of(self.columns.len())
        });
        schema.check()?;
        Ok(schema)
    }

    /// True if a column is generated for indexes, and none of the table's own.
    pub fn is_index_column(&self, number: usize) -> bool {
        let Some(Column { name, dropped, .. }) = self.columns.get(number) else {
            return false;
        };
        let has_name = name.starts_with(INDEX_KEY) || name.starts_with(INDEX_WHERE);
        let declared = || self.declared(number);
        !dropped && has_name && declared().is_some_and(|there| there.generated().is_some())
    }

    /// The columns that are neither dropped nor indexes' own, with their numbers.
    pub fn own_columns(&self) -> impl Iterator<Item = (usize, &Column)> {
        let live = self.live_columns();
        live.filter(|(number, _)| !self.is_index_column(*number))
    }

    /// True if an index has entries only for the rows for which a condition is true: its first column is generated
    /// from it.
    pub fn is_partial(&self, index: &IndexDefinition) -> bool {
        let first = index.key.first();
        first.is_some_and(|part| {
            let name = self.columns.get(part.column).map(|column| &column.name);
            self.is_index_column(part.column)
                && name.is_some_and(|name| name.starts_with(INDEX_WHERE))
        })
    }

    /// Without the columns of indexes that no index names any more.
    #[must_use]
    #[inline]
    pub fn without_unused_columns(mut self) -> Schema {
        for number in 0..self.columns.len() {
            let mut indexes = self.indexes.iter();
            let is_used = indexes.any(|index| index.key.iter().any(|part| part.column == number));
            if self.is_index_column(number) && !is_used {
                self.columns[number].dropped = true;
                self.declared.retain(|declared| declared.column != number);
            }
        }
        self
    }

    /// The generated columns that read a column, dropped ones left out.
    pub fn generated_of(&self, number: usize) -> impl Iterator<Item = usize> + '_ {
        let declared = self.declared.iter();
        let generated = declared.filter_map(|there| Some((there.column, there.generated()?)));
        generated
            .filter(move |(_, text)| {
                let expression = SqlCheck::parse(text).ok().flatten();
                let columns = expression.map(|expression| expression.columns);
                let mut columns = columns.into_iter().flatten();
                columns.any(|column| column.number == number)
            })
            .map(|(column, _)| column)
    }

    /// Checks that a column can be generated: from existing columns, of which generated ones come before it.
    pub(super) fn check_generated(&self, number: usize, text: &str) -> Result<(), SchemaError> {
        let column = &self.columns[number];
        let wrong = |reason| SchemaError::Declared {
            column: column.name.clone(),
            reason,
        };
        let (count, limit) = (text.len(), super::DECLARED_BYTES_MAX);
        if count > limit {
            let what = "the length of an expression in bytes";
            return Err(SchemaError::TooMany { what, count, limit });
        }
        let Ok(Some(expression)) = SqlCheck::parse(text) else {
            return Err(wrong("is generated by no expression of SQL"));
        };
        if !column.is_nullable() {
            return Err(wrong("is generated, and has no place for a null"));
        }
        if self.primary.key.iter().any(|part| part.column == number) {
            return Err(wrong("is generated, and in the primary key"));
        }
        for read in &expression.columns {
            match self.columns.get(read.number) {
                Some(column) if !column.dropped => {}
                _ => return Err(self.unknown_column(&read.name, "a generated column")),
            }
            let declared = self.declared(read.number);
            let is_generated = declared.is_some_and(|there| there.generated().is_some());
            if is_generated && read.number >= number {
                return Err(wrong("is generated of a column that is computed behind it"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{IndexKind, KeyPart};

    fn lower(of: usize) -> String {
        format!("$sql {of}:25:-1:\"name\" => lower(name)")
    }

    fn column(name: &str, expression: String) -> GeneratedColumn {
        GeneratedColumn {
            name: name.to_string(),
            kind: Type::Text,
            declared: 25,
            modifier: -1,
            expression,
        }
    }

    fn table() -> Schema {
        let schema = Schema::new()
            .column("id", Type::U64)
            .column("name", Type::Text)
            .primary_key(["id"]);
        schema.build().expect("a schema")
    }

    #[test]
    fn a_generated_column_is_of_version_4_and_reads_as_it_was_written() {
        let schema = table().with_generated_column(&column("sardonyx.key.2", lower(1)));
        let schema = schema.expect("a schema");
        let bytes = schema.encode();
        assert_eq!(bytes[..2], [4, 0]);
        assert_eq!(Schema::decode(&bytes), Ok(schema.clone()));
        assert!(schema.is_index_column(2) && !schema.is_index_column(1));
        assert_eq!(schema.generated_of(1).collect::<Vec<_>>(), [2]);
        assert_eq!(
            schema.user_of(1).as_deref(),
            Some("generated column \"sardonyx.key.2\"")
        );
    }

    #[test]
    fn columns_of_indexes_go_with_the_last_index_that_names_them() {
        let schema = table().with_generated_column(&column("sardonyx.key.2", lower(1)));
        let mut schema = schema.expect("a schema");
        schema.indexes.push(IndexDefinition {
            name: "i".to_string(),
            kind: IndexKind::Ordered,
            unique: true,
            deferrable: false,
            nulls_equal: false,
            key: vec![KeyPart {
                column: 2,
                descending: false,
            }],
        });
        assert_eq!(schema.clone().without_unused_columns(), schema);
        schema.indexes.clear();
        let without = schema.without_unused_columns();
        assert!(without.columns[2].dropped && without.declared.is_empty());
        assert_eq!(without.check(), Ok(()));
        assert_eq!(without.encode()[..2], [1, 0]);
    }

    #[test]
    fn what_cannot_be_generated_is_refused() {
        let refused = |of: String| table().with_generated_column(&column("g", of)).is_err();
        assert!(refused("name".to_string()));
        assert!(refused(lower(7)));
        // Of itself.
        assert!(refused(lower(2)));
    }
}
