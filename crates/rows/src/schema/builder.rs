//! Building a schema at run time: columns, keys, references and conditions by name; their places are computed.

use super::{
    Column, ForeignKey, IndexDefinition, IndexKind, KeyPart, NullBit, OnDelete, PRIMARY, Schema,
    SchemaError, Type, Unchecked, Value,
};
use crate::condition::declared_check;
use sardonyx_storage::catalogue::RECORD_BYTES_MAX;
use std::sync::Arc;

/// A builder of a schema; [`Schema::new`] begins one.
///
/// Properties of a column ([`nullable`](Self::nullable), [`default`](Self::default_value)) apply to the last column
/// before them. Properties of an index ([`ordered`](Self::ordered), [`unique`](Self::unique)) apply to the last index,
/// or the primary key. Errors are returned when it is built.
///
/// ```
/// # use sardonyx_rows as sardonyx;
/// use sardonyx::schema::{Schema, Type};
/// let orders = Schema::new()
///     .column("id", Type::U64)
///     .column("owner", Type::U64)
///     .column("state", Type::Text).default_value("open")
///     .column("paid", Type::Timestamp).nullable()
///     .primary_key(["id"])
///     .index("by_owner", ["owner", "id desc"]).ordered()
///     .build()?;
/// assert_eq!((orders.columns.len(), orders.row_bytes), (4, 48));
/// # Ok::<(), sardonyx_rows::schema::SchemaError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a schema is made by `build`, or by `create_table`"]
pub struct SchemaBuilder {
    columns: Vec<(Column, bool)>,
    primary: Option<Index>,
    indexes: Vec<Index>,
    /// True if the primary key was declared last.
    of_primary: bool,
    references: Vec<Reference>,
    checks: Vec<(String, String)>,
    misplaced: Option<&'static str>,
}

#[derive(Clone, Debug, Default)]
struct Index {
    definition: IndexDefinition,
    key: Vec<String>,
}

#[derive(Clone, Debug)]
struct Reference {
    name: String,
    columns: Vec<String>,
    table: String,
    referenced: Vec<String>,
    on_delete: OnDelete,
}

/// The tables that a schema may refer to, by name: their numbers and schemas.
pub type TablesByName<'a> = &'a dyn Fn(&str) -> Option<(u16, Arc<Schema>)>;

impl Schema {
    /// Begins a schema. (An empty one is [`Schema::default`].)
    #[expect(
        clippy::new_ret_no_self,
        reason = "it has no columns until it is built"
    )]
    pub fn new() -> SchemaBuilder {
        SchemaBuilder::default()
    }
}

impl SchemaBuilder {
    /// Adds a column.
    pub fn column(mut self, name: &str, kind: Type) -> Self {
        let column = Column {
            name: name.to_string(),
            kind,
            default: Value::Null,
            offset: 0,
            null: None,
            dropped: false,
            since_shape: 0,
        };
        self.columns.push((column, false));
        self
    }

    /// The last column may be without a value.
    pub fn nullable(mut self) -> Self {
        match self.columns.last_mut() {
            Some((_, nullable)) => *nullable = true,
            None => self.misplaced = Some("`nullable` is called before any column"),
        }
        self
    }

    /// The value of the last column in rows that are inserted without one. A whole number is valid for a float, too.
    pub fn default_value(mut self, value: impl Into<Value>) -> Self {
        match self.columns.last_mut() {
            Some((column, _)) => {
                column.default = match (column.kind, value.into()) {
                    (Type::F32 | Type::F64, Value::Int(value)) => Value::Float(value as f64),
                    (_, value) => value,
                }
            }
            None => self.misplaced = Some("`default_value` is called before any column"),
        }
        self
    }

    /// The columns of the primary key, found by hash unless it is [`ordered`](Self::ordered); `"id desc"` for
    /// descending order.
    pub fn primary_key<'n>(mut self, columns: impl IntoIterator<Item = &'n str>) -> Self {
        let mut primary = Index::new(PRIMARY, columns);
        primary.definition.unique = true;
        self.primary = Some(primary);
        self.of_primary = true;
        self
    }

    /// Adds an index: by hash and not unique, unless it is declared [`ordered`](Self::ordered) or
    /// [`unique`](Self::unique).
    pub fn index<'n>(mut self, name: &str, columns: impl IntoIterator<Item = &'n str>) -> Self {
        self.indexes.push(Index::new(name, columns));
        self.of_primary = false;
        self
    }

    /// The last index, or the primary key, is ordered: it finds ranges, too.
    pub fn ordered(mut self) -> Self {
        self.last_index().definition.kind = IndexKind::Ordered;
        self
    }

    /// No two rows have one key in the last index.
    pub fn unique(mut self) -> Self {
        self.last_index().definition.unique = true;
        self
    }

    /// No two rows have one key in the last index when a statement, or a transaction that defers it, ends.
    pub fn deferrable(mut self) -> Self {
        let index = self.last_index();
        index.definition.unique = false;
        index.definition.deferrable = true;
        self
    }

    /// Nulls in the key of the last index are equal: no two rows have null there, if it is unique.
    pub fn nulls_equal(mut self) -> Self {
        self.last_index().definition.nulls_equal = true;
        self
    }

    fn last_index(&mut self) -> &mut Index {
        match (self.of_primary, self.indexes.last_mut()) {
            (false, Some(index)) => index,
            (true, _) => self.primary.get_or_insert_default(),
            (false, None) => {
                self.misplaced =
                    Some("`ordered` and `unique` must follow a primary key or an index");
                self.primary.get_or_insert_default()
            }
        }
    }

    /// Refers to rows of another table: the columns' values are the key there, of a unique index, or null. While
    /// there are such rows here the one there is not deleted; see [`cascade`](Self::cascade).
    pub fn foreign_key<'n>(
        mut self,
        name: &str,
        columns: impl IntoIterator<Item = &'n str>,
        table: &str,
        referenced: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let names = |names: &mut dyn Iterator<Item = &'n str>| names.map(str::to_string).collect();
        self.references.push(Reference {
            name: name.to_string(),
            columns: names(&mut columns.into_iter()),
            table: table.to_string(),
            referenced: names(&mut referenced.into_iter()),
            on_delete: OnDelete::Restrict,
        });
        self
    }

    /// Rows are deleted with the row that the last reference is to.
    pub fn cascade(mut self) -> Self {
        match self.references.last_mut() {
            Some(reference) => reference.on_delete = OnDelete::Cascade,
            None => self.misplaced = Some("`cascade` must follow a reference"),
        }
        self
    }

    /// Sets the action of the last reference when the referenced row is deleted.
    pub fn on_delete(mut self, action: OnDelete) -> Self {
        match self.references.last_mut() {
            Some(reference) => reference.on_delete = action,
            None => self.misplaced = Some("`on_delete` must follow a reference"),
        }
        self
    }

    /// Adds a condition that every row meets, in SQL. A program that does not speak SQL may declare
    /// [a part of it](crate::condition).
    #[inline]
    pub fn check(mut self, name: &str, condition: &str) -> Self {
        self.checks.push((name.to_string(), condition.to_string()));
        self
    }

    /// The names of its references to other tables.
    pub fn reference_names(&self) -> impl Iterator<Item = &str> {
        self.references.iter().map(|reference| &*reference.name)
    }

    /// The schema, of a table that refers to no other.
    ///
    /// # Errors
    /// The first error of the schema.
    pub fn build(self) -> Result<Schema, SchemaError> {
        self.build_with("", &|_| None)
    }

    /// The schema of a table of this name.
    ///
    /// # Errors
    /// The first error of the schema.
    pub fn build_with(self, name: &str, tables: TablesByName<'_>) -> Result<Schema, SchemaError> {
        if let Some(reason) = self.misplaced {
            return Err(SchemaError::Misplaced { reason });
        }
        let mut schema = self.rows()?;
        for reference in &self.references {
            let to_itself = reference.table == name;
            let (table, there) = match tables(&reference.table) {
                Some((table, _)) if to_itself => (table, schema.clone()),
                Some((table, there)) => (table, (*there).clone()),
                None => {
                    return Err(SchemaError::UnknownTable {
                        reference: reference.name.clone(),
                        table: reference.table.clone(),
                    });
                }
            };
            let user = format!("reference {:?}", reference.name);
            let numbers = |of: &Schema, names: &[String]| {
                let numbers = names.iter().map(|name| {
                    let number = of.column(name);
                    number.ok_or_else(|| of.unknown_column(name, &user))
                });
                numbers.collect::<Result<Vec<_>, _>>()
            };
            let reference = ForeignKey {
                name: reference.name.clone(),
                columns: numbers(&schema, &reference.columns)?,
                table,
                referenced: numbers(&there, &reference.referenced)?,
                on_delete: reference.on_delete,
                unchecked: Unchecked::default(),
            };
            schema.check_reference(&reference, &there)?;
            schema.foreign_keys.push(reference);
        }
        schema.check()?;
        Ok(schema)
    }

    /// The schema without references.
    pub fn rows(&self) -> Result<Schema, SchemaError> {
        let mut schema = Schema {
            columns: self
                .columns
                .iter()
                .map(|(column, _)| column.clone())
                .collect(),
            checks: self.checks.clone(),
            ..Schema::default()
        };
        schema.check_counts()?;
        schema.check_columns()?;
        let checks = self.checks.iter().map(|(name, condition)| {
            let declared = declared_check(condition, &schema);
            let declared = declared.map_err(|source| SchemaError::Condition {
                name: name.clone(),
                source,
            })?;
            Ok((name.clone(), declared))
        });
        schema.checks = checks.collect::<Result<_, SchemaError>>()?;
        if let Some(primary) = &self.primary {
            schema.primary = primary.resolve(&schema)?;
        }
        for index in &self.indexes {
            let index = index.resolve(&schema)?;
            schema.indexes.push(index);
        }
        self.place(&mut schema)?;
        schema.check()?;
        Ok(schema)
    }

    /// Sets the columns' offsets. First come those of the primary key, in its order, so that it is
    /// [plain](Schema::plain_key) if it can be. Then come the others, from the largest alignment to the smallest, each
    /// at the first free place; then the null bits.
    fn place(&self, schema: &mut Schema) -> Result<(), SchemaError> {
        let in_key = |column: usize| schema.primary.key.iter().position(|p| p.column == column);
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by_key(|&column| {
            let alignment = schema.columns[column].kind.align();
            (in_key(column).unwrap_or(usize::MAX), usize::MAX - alignment)
        });
        let mut taken = vec![false; RECORD_BYTES_MAX];
        for number in order {
            let kind = schema.columns[number].kind;
            let offset = first_free(&mut taken, kind).ok_or_else(|| self.too_long())?;
            schema.columns[number].offset = offset;
        }
        let mut bit = None;
        for (column, (_, nullable)) in schema.columns.iter_mut().zip(&self.columns) {
            if !nullable {
                continue;
            }
            let next = match bit {
                Some(NullBit { byte, bit }) if bit < 7 => NullBit { byte, bit: bit + 1 },
                _ => {
                    let byte = first_free(&mut taken, Type::U8).ok_or_else(|| self.too_long())?;
                    NullBit {
                        byte: byte as u32,
                        bit: 0,
                    }
                }
            };
            column.null = Some(next);
            bit = Some(next);
        }
        let used = taken
            .iter()
            .rposition(|taken| *taken)
            .map_or(0, |at| at + 1);
        schema.row_bytes = used.next_multiple_of(8);
        Ok(())
    }

    fn too_long(&self) -> SchemaError {
        let values: usize = self
            .columns
            .iter()
            .map(|(column, _)| column.kind.bytes())
            .sum();
        let nullable = self.columns.iter().filter(|(_, nullable)| *nullable);
        SchemaError::RowTooLong {
            bytes: (values + nullable.count().div_ceil(8)).next_multiple_of(8),
            limit: RECORD_BYTES_MAX,
        }
    }
}

/// Takes the first place in a row's fixed part that is free for a value of this type.
pub(super) fn first_free(taken: &mut [bool], kind: Type) -> Option<usize> {
    let last = taken.len().checked_sub(kind.bytes())?;
    let mut places = (0..=last).step_by(kind.align());
    let offset = places.find(|&at| !taken[at..at + kind.bytes()].contains(&true))?;
    taken[offset..offset + kind.bytes()].fill(true);
    Some(offset)
}

impl Index {
    fn new<'n>(name: &str, columns: impl IntoIterator<Item = &'n str>) -> Self {
        Index {
            definition: IndexDefinition {
                name: name.to_string(),
                ..IndexDefinition::default()
            },
            key: columns.into_iter().map(str::to_string).collect(),
        }
    }

    fn resolve(&self, schema: &Schema) -> Result<IndexDefinition, SchemaError> {
        let user = format!("index {:?}", self.definition.name);
        let parts = self.key.iter().map(|name| {
            if let Some(column) = schema.column(name) {
                return Ok(KeyPart {
                    column,
                    descending: false,
                });
            }
            // A column whose name ends like this was found above.
            let (name, descending) = match name.strip_suffix(" desc") {
                Some(name) => (name, true),
                None => (name.strip_suffix(" asc").unwrap_or(name), false),
            };
            let column = schema.column(name.trim());
            let column = column.ok_or_else(|| schema.unknown_column(name.trim(), &user))?;
            Ok(KeyPart { column, descending })
        });
        Ok(IndexDefinition {
            key: parts.collect::<Result<_, _>>()?,
            ..self.definition.clone()
        })
    }
}

/// A schema, or its builder.
pub trait IntoSchema: Clone {
    /// The rows: the schema without references to other tables, if it is still to be built.
    #[doc(hidden)]
    fn rows(&self) -> Result<Schema, SchemaError>;

    /// The schema of a table of this name, among these tables, the new one included.
    #[doc(hidden)]
    fn into_schema(self, name: &str, tables: TablesByName<'_>) -> Result<Schema, SchemaError>;
}

impl IntoSchema for Schema {
    fn rows(&self) -> Result<Schema, SchemaError> {
        self.check()?;
        Ok(self.clone())
    }

    fn into_schema(self, _: &str, _: TablesByName<'_>) -> Result<Schema, SchemaError> {
        Ok(self)
    }
}

impl IntoSchema for SchemaBuilder {
    fn rows(&self) -> Result<Schema, SchemaError> {
        match self.misplaced {
            Some(reason) => Err(SchemaError::Misplaced { reason }),
            None => SchemaBuilder::rows(self),
        }
    }

    fn into_schema(self, name: &str, tables: TablesByName<'_>) -> Result<Schema, SchemaError> {
        self.build_with(name, tables)
    }
}
