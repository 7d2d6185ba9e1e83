//! Changes of tables' definitions by Python: in a transaction of their own (``Tables``), and in a running one
//! (``TableTransaction``). Both classes inherit their methods from one, [`Definitions`].

use crate::row::names;
use crate::table_transaction::TableTransaction;
use crate::tables::Tables;
use crate::value::from_python;
use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sardonyx::schema::{
    ForeignKey, IndexDefinition, IndexKind, KeyPart, OnDelete, Schema, SchemaBuilder, Type, Value,
};
use sardonyx::{Error, Transaction};
use std::sync::Arc;

/// A change of tables' definitions.
pub trait Change: FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'static {}

impl<F: FnOnce(&mut Transaction<'_>) -> Result<(), Error> + Send + 'static> Change for F {}

/// Changes of tables' definitions, the base of ``Tables`` and ``TableTransaction``.
#[pyclass(subclass, frozen, module = "sardonyx", name = "_Definitions")]
pub struct Definitions;

impl Definitions {
    /// A new object of a class that has these methods.
    pub fn of<T: PyClass<BaseType = Definitions>>(object: T) -> PyClassInitializer<T> {
        PyClassInitializer::from(Definitions).add_subclass(object)
    }
}

/// Makes a change: in a transaction of its own, or in the running one.
fn define(definitions: &Bound<'_, Definitions>, change: impl Change) -> PyResult<()> {
    let py = definitions.py();
    match definitions.cast::<Tables>() {
        Ok(tables) => tables.get().define(py, change),
        Err(_) => definitions
            .cast::<TableTransaction>()?
            .get()
            .define(py, change),
    }
}

#[pymethods]
impl Definitions {
    /// Makes a table: ``create_table("accounts", {"id": "i64", "owner": "text?"}, key="id")``. A type with a
    /// question mark may be ``None``. The key is a column, or a list of columns.
    ///
    /// ``ordered=True`` makes the key an ordered index, by the name ``"primary"``; else a hash finds whole keys.
    /// ``indexes={"by_owner": ["owner", "id desc"]}`` are ordered. ``unique={"by_mail": ["mail"]}`` are ordered,
    /// and refuse a second row of equal values (``Duplicate``). ``checks={"solvent": "balance >= 0"}`` are conditions
    /// of SQL that every row meets (``Refused``). Of a table that exists, an equal definition is accepted, and
    /// another one is refused.
    #[pyo3(signature = (name, columns, *, key, ordered = false, indexes = None, unique = None, checks = None))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn create_table(
        slf: &Bound<'_, Self>,
        name: String,
        columns: &Bound<'_, PyDict>,
        key: &Bound<'_, PyAny>,
        ordered: bool,
        indexes: Option<&Bound<'_, PyDict>>,
        unique: Option<&Bound<'_, PyDict>>,
        checks: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let schema = schema_of(columns, key, ordered, [indexes, unique, checks])?;
        define(slf, create_table(name, schema))
    }

    /// Adds a column to a table: existing rows get the default, or ``None`` (``"text?"``).
    #[pyo3(signature = (table, column, kind, *, default = None))]
    fn add_column(
        slf: &Bound<'_, Self>,
        table: String,
        column: String,
        kind: &str,
        default: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        define(slf, add_column(table, column, kind, default)?)
    }

    /// Drops a column of a table.
    fn drop_column(slf: &Bound<'_, Self>, table: String, column: String) -> PyResult<()> {
        define(slf, move |tx| tx.drop_column(&table, &column))
    }

    /// Gives a column another name.
    fn rename_column(
        slf: &Bound<'_, Self>,
        table: String,
        column: String,
        to: String,
    ) -> PyResult<()> {
        define(slf, move |tx| tx.rename_column(&table, &column, &to))
    }

    /// Gives a table an ordered index: ``create_index("orders", "by_customer", ["customer", "id desc"])``.
    #[pyo3(signature = (table, name, columns, *, unique = false))]
    fn create_index(
        slf: &Bound<'_, Self>,
        table: String,
        name: String,
        columns: &Bound<'_, PyAny>,
        unique: bool,
    ) -> PyResult<()> {
        define(slf, create_index(table, name, names(columns)?, unique))
    }

    /// Drops an index of a table.
    fn drop_index(slf: &Bound<'_, Self>, table: String, name: String) -> PyResult<()> {
        define(slf, drop_index(table, name))
    }

    /// Lets columns of a table refer to rows of another, by its key or by columns of a unique index:
    /// ``add_foreign_key("orders", "of_customer", "customer", "customers")``. ``on_delete`` is ``"restrict"``,
    /// ``"cascade"``, ``"set null"`` or ``"set default"``.
    #[pyo3(signature = (table, name, columns, references, to = None, *, on_delete = "restrict"))]
    #[expect(clippy::too_many_arguments, reason = "Python's keywords")]
    fn add_foreign_key(
        slf: &Bound<'_, Self>,
        table: String,
        name: String,
        columns: &Bound<'_, PyAny>,
        references: String,
        to: Option<&Bound<'_, PyAny>>,
        on_delete: &str,
    ) -> PyResult<()> {
        let reference = Reference {
            name,
            columns: names(columns)?,
            to: (references, to.map(names).transpose()?),
            on_delete: rule_of(on_delete)?,
        };
        define(slf, add_reference(table, reference))
    }

    /// Drops a foreign key of a table.
    fn drop_foreign_key(slf: &Bound<'_, Self>, table: String, name: String) -> PyResult<()> {
        define(slf, drop_reference(table, name))
    }

    /// Drops a table with all its rows.
    fn drop_table(slf: &Bound<'_, Self>, table: String) -> PyResult<()> {
        define(slf, move |tx| tx.drop_table(&table))
    }

    /// Gives a table another name.
    fn rename_table(slf: &Bound<'_, Self>, table: String, to: String) -> PyResult<()> {
        define(slf, move |tx| tx.rename_table(&table, &to))
    }
}

/// A foreign key by names.
struct Reference {
    name: String,
    columns: Vec<String>,
    /// The other table, and its columns unless they are its key.
    to: (String, Option<Vec<String>>),
    on_delete: OnDelete,
}

/// A table's schema. `definitions`: its indexes, unique indexes and checks, by their names.
fn schema_of(
    columns: &Bound<'_, PyDict>,
    key: &Bound<'_, PyAny>,
    ordered: bool,
    [indexes, unique, checks]: [Option<&Bound<'_, PyDict>>; 3],
) -> PyResult<SchemaBuilder> {
    let mut schema = Schema::new();
    for (column, kind) in columns {
        let (kind, nullable) = column_type(&kind.extract::<String>()?)?;
        schema = schema.column(&column.extract::<String>()?, kind);
        if nullable {
            schema = schema.nullable();
        }
    }
    let key = names(key)?;
    schema = schema.primary_key(key.iter().map(String::as_str));
    if ordered {
        schema = schema.ordered();
    }
    for (definitions, unique) in [(indexes, false), (unique, true)] {
        for (index, columns) in definitions.into_iter().flatten() {
            let columns = names(&columns)?;
            let index: String = index.extract()?;
            schema = schema.index(&index, columns.iter().map(String::as_str));
            schema = schema.ordered();
            if unique {
                schema = schema.unique();
            }
        }
    }
    for (check, condition) in checks.into_iter().flatten() {
        schema = schema.check(&check.extract::<String>()?, &condition.extract::<String>()?);
    }
    Ok(schema)
}

/// Makes a table, or accepts an equal one.
fn create_table(name: String, schema: SchemaBuilder) -> impl Change {
    move |tx: &mut Transaction<'_>| tx.create_table(&name, schema).map(drop)
}

/// Adds a column of a type, which may have a question mark.
fn add_column(
    table: String,
    column: String,
    kind: &str,
    default: Option<&Bound<'_, PyAny>>,
) -> PyResult<impl Change> {
    let (kind, nullable) = column_type(kind)?;
    let default = default.map_or(Ok(Value::Null), from_python)?;
    Ok(move |tx: &mut Transaction<'_>| tx.add_column(&table, &column, kind, nullable, default))
}

/// Gives a table an ordered index.
fn create_index(table: String, name: String, columns: Vec<String>, unique: bool) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, schema) = definition_of(tx, &table)?;
        let key = columns.iter().map(|column| {
            let (column, descending) = match column.strip_suffix(" desc") {
                Some(column) => (column, true),
                None => (&**column, false),
            };
            let column = column_number(&schema, &table, column)?;
            Ok(KeyPart { column, descending })
        });
        let definition = IndexDefinition {
            key: key.collect::<Result<_, Error>>()?,
            name,
            kind: IndexKind::Ordered,
            unique,
            deferrable: false,
            nulls_equal: false,
        };
        tx.create_index(number, definition)
    }
}

fn drop_index(table: String, name: String) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, _) = definition_of(tx, &table)?;
        tx.drop_index(number, &name)
    }
}

/// Gives a table a foreign key.
fn add_reference(table: String, reference: Reference) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, schema) = definition_of(tx, &table)?;
        let (to, columns) = &reference.to;
        let (other, parent) = definition_of(tx, to)?;
        let numbers = |schema: &Schema, table: &str, names: &[String]| {
            let names = names.iter();
            names
                .map(|name| column_number(schema, table, name))
                .collect::<Result<Vec<_>, _>>()
        };
        let reference = ForeignKey {
            columns: numbers(&schema, &table, &reference.columns)?,
            table: other,
            referenced: match columns {
                Some(columns) => numbers(&parent, to, columns)?,
                None => parent.primary.key.iter().map(|part| part.column).collect(),
            },
            on_delete: reference.on_delete,
            unchecked: Default::default(),
            name: reference.name,
        };
        tx.add_reference(number, reference)
    }
}

/// Drops a foreign key of a table.
fn drop_reference(table: String, name: String) -> impl Change {
    move |tx: &mut Transaction<'_>| {
        let (number, _) = definition_of(tx, &table)?;
        tx.drop_reference(number, &name)
    }
}

/// The rule for rows whose other row is deleted.
fn rule_of(said: &str) -> PyResult<OnDelete> {
    match said {
        "restrict" => Ok(OnDelete::Restrict),
        "cascade" => Ok(OnDelete::Cascade),
        "set null" => Ok(OnDelete::SetNull),
        "set default" => Ok(OnDelete::SetDefault),
        other => Err(PyValueError::new_err(format!(
            "on_delete is \"restrict\", \"cascade\", \"set null\" or \"set default\", and not {other:?}"
        ))),
    }
}

/// A column's type, and true if it may be ``None``: with a question mark.
fn column_type(text: &str) -> PyResult<(Type, bool)> {
    let name = text.strip_suffix('?').unwrap_or(text);
    let kind = name.parse::<Type>();
    let kind = kind.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((kind, name.len() < text.len()))
}

/// A table's number and schema.
fn definition_of(tx: &mut Transaction<'_>, table: &str) -> Result<(u16, Arc<Schema>), Error> {
    let schema = tx.rows(table)?.schema().clone();
    let number = tx.view().definitions().named(table);
    let number =
        number.ok_or_else(|| Error::Refused(format!("there is no table {table:?}").into()))?;
    Ok((number, schema.into()))
}

fn column_number(schema: &Schema, table: &str, name: &str) -> Result<usize, Error> {
    let mut columns = schema.live_columns();
    let found = columns.find(|(_, column)| column.name == name);
    found
        .map(|(number, _)| number)
        .ok_or_else(|| Error::Refused(format!("table {table:?} has no column {name:?}").into()))
}
