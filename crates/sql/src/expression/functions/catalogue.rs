//! Functions that tools ask about the objects of a database: definitions, comments, sizes and rights.

use super::definition::*;
use super::session::user;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::path::{is_of_catalogue, name_in, unknown_schema, written};
use crate::schemas::has_schema;
use crate::text::text_of;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::{TypeNames, UserType, UserTypes};
use crate::values::arithmetic::decimal_of;
use sardonyx::schema::{Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    col_description(OID, INT4) -> TEXT, column_description, "comment on a column", stable;
    oidvectortypes(OIDVECTOR) -> TEXT, vector_types, "names of the types in a vector, between commas", stable;
    format_type(OID, INT4) -> TEXT, format_type, "type with its length, as SQL", stable, on_null;
    has_column_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_database_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_schema_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_table_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    obj_description(OID) -> TEXT, description, "comment on an object", stable;
    obj_description(OID, TEXT) -> TEXT, description, "comment on an object of a table of the catalogue", stable;
    pg_collation_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_encoding_to_char(INT4) -> NAME, |_, _| text("UTF8"), "name of an encoding: `UTF8`", stable;
    pg_function_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_get_constraintdef(OID) -> TEXT, constraint, "constraint as SQL", stable;
    pg_get_constraintdef(OID, BOOL) -> TEXT, constraint, "constraint as SQL", stable;
    pg_get_expr(TEXT, OID) -> TEXT, |a, _| text(a.text(0)), "expression of the catalogue as SQL, in which it is kept", stable;
    pg_get_expr(TEXT, OID, BOOL) -> TEXT, |a, _| text(a.text(0)), "expression of the catalogue as SQL, in which it is kept", stable;
    pg_get_function_arguments(OID) -> TEXT, |_, _| none(), "null", stable;
    pg_get_function_result(OID) -> TEXT, |_, _| none(), "null", stable;
    pg_get_functiondef(OID) -> TEXT, |_, _| none(), "null: functions are not defined in SQL", stable;
    pg_get_indexdef(OID) -> TEXT, index, "index as SQL", stable;
    pg_get_indexdef(OID, INT4, BOOL) -> TEXT, index, "name of an index's column", stable;
    pg_get_partkeydef(OID) -> TEXT, |_, _| none(), "null: no table is partitioned", stable;
    pg_get_ruledef(OID) -> TEXT, |_, _| none(), "null: there are no rules", stable;
    pg_get_ruledef(OID, BOOL) -> TEXT, |_, _| none(), "null: there are no rules", stable;
    pg_get_serial_sequence(TEXT, TEXT) -> TEXT, serial_sequence, "sequence of a table's column", stable;
    pg_get_statisticsobjdef(OID) -> TEXT, |_, _| none(), "null: there are no statistics", stable;
    pg_get_statisticsobjdef_columns(OID) -> TEXT, |_, _| none(), "null: there are no statistics", stable;
    pg_get_triggerdef(OID) -> TEXT, |_, _| none(), "null: there are no triggers", stable;
    pg_get_triggerdef(OID, BOOL) -> TEXT, |_, _| none(), "null: there are no triggers", stable;
    pg_get_userbyid(OID) -> NAME, user, "name of the user", stable;
    pg_get_viewdef(OID) -> TEXT, view, "query of a view", stable;
    pg_get_viewdef(OID, BOOL) -> TEXT, view, "query of a view", stable;
    pg_get_viewdef(OID, INT4) -> TEXT, view, "query of a view", stable;
    pg_indexes_size(REGCLASS) -> INT8, |_, _| int(0), "0: sizes are not counted", stable;
    pg_opclass_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_operator_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_opfamily_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_partition_ancestors(REGCLASS) -> REGCLASS, |_, _| none(), "null: no table is partitioned", stable;
    pg_relation_is_publishable(REGCLASS) -> BOOL, |_, _| Ok(Value::Bool(false)), "false", stable;
    pg_relation_size(REGCLASS) -> INT8, |_, _| int(0), "0: sizes are not counted", stable;
    pg_relation_size(REGCLASS, TEXT) -> INT8, |_, _| int(0), "0: sizes are not counted", stable;
    pg_size_pretty(INT8) -> TEXT, |a, _| size_pretty(a.int(0).into(), 0), "number of bytes with a unit";
    pg_size_pretty(NUMERIC) -> TEXT, numeric_size, "number of bytes with a unit";
    pg_statistics_obj_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_table_is_visible(OID) -> BOOL, is_visible, "true of tables that are found without a schema; null if there is none of the number", stable;
    pg_table_size(REGCLASS) -> INT8, |_, _| int(0), "0: sizes are not counted", stable;
    pg_total_relation_size(REGCLASS) -> INT8, |_, _| int(0), "0: sizes are not counted", stable;
    pg_type_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_typeof(ANY) -> TEXT, |a, _| text(a.kind(0).name()), "name of a value's type", on_null;
    shobj_description(OID, TEXT) -> TEXT, description, "comment on a database", stable;
    to_regclass(TEXT) -> REGCLASS, |a, with| Ok(table_number(a, with)?.map_or(Value::Null, number)), "number of a table; null if there is none", stable;
    to_regtype(TEXT) -> OID, |a, with| Ok(type_named(a.text(0), with)?.map_or(Value::Null, number)), "number of a type; null if there is none", stable;
};

/// The name of a table's number.
pub(crate) static TABLE_NAME: Definition = Definition::new(
    "regclassout",
    &[REGCLASS],
    TEXT,
    |a, with| {
        let oid = a.oid(0);
        let settings = with.context.settings.borrow();
        let draws = with.context.draws.borrow();
        let name = oid.and_then(|oid| draws.tables.name(settings.path(), oid));
        text(name.unwrap_or_else(|| oid.unwrap_or(0).to_string()))
    },
    "",
)
.stable();

/// The number of a type's name.
pub(crate) static TYPE_NUMBER: Definition = Definition::new(
    "regtypein",
    &[TEXT],
    OID,
    |a, with| {
        let name = a.text(0);
        if let Ok(number) = name.parse::<u32>() {
            return int(number);
        }
        match type_named(name, with)? {
            Some(oid) => int(oid),
            None => Err(SqlError::new(
                code::UNKNOWN_OBJECT,
                format!("type \"{name}\" does not exist"),
            )),
        }
    },
    "",
)
.stable();

/// The number of a table's name.
pub(crate) static TABLE_NUMBER: Definition = Definition::new(
    "regclassin",
    &[TEXT],
    REGCLASS,
    |a, with| {
        let found = table_number(a, with)?;
        found.map_or_else(|| Err(no_table(a.text(0), with)), int)
    },
    "",
)
.stable();

/// The error of a text that names no table: an unknown schema goes first.
fn no_table(text: &str, with: &Environment<'_>) -> SqlError {
    let schema = name_in(text).ok().and_then(|(schema, _)| schema);
    if let (Some(schema), Some(reading)) = (schema, with.reading)
        && !is_of_catalogue(&schema)
        && has_schema(reading.source, &schema).is_ok_and(|is_there| !is_there)
    {
        return unknown_schema(&schema);
    }
    SqlError::unknown_table(text)
}

fn yes() -> Answer {
    Ok(Value::Bool(true))
}

fn none() -> Answer {
    Ok(Value::Null)
}

fn number(oid: u32) -> Value {
    Value::Int(oid.into())
}

fn is_visible(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let settings = with.context.settings.borrow();
    let draws = with.context.draws.borrow();
    let is_visible = a
        .oid(0)
        .map(|oid| draws.tables.is_visible(settings.path(), oid));
    Ok(is_visible.flatten().map_or(Value::Null, Value::Bool))
}

/// The number of a table by its name, or by the number as a text.
fn table_number(a: Arguments<'_>, with: &Environment<'_>) -> Result<Option<u32>, SqlError> {
    let name = a.text(0);
    if let Ok(number) = name.parse() {
        return Ok(Some(number));
    }
    let settings = with.context.settings.borrow();
    let draws = with.context.draws.borrow();
    draws.tables.number(settings.path(), name)
}

/// The type of a name in a text.
///
/// # Errors
/// `42601`, `42602` for a text that is no name.
fn type_named(text: &str, with: &Environment<'_>) -> Result<Option<u32>, SqlError> {
    if let Some(kind) = SqlType::named(text) {
        return Ok(Some(kind.oid()));
    }
    let (of_array, text) = match text.strip_suffix("[]") {
        Some(element) => (true, element),
        None => (false, text),
    };
    let (Some(reading), Ok((schema, name))) = (with.reading, name_in(text)) else {
        return Ok(None);
    };
    let settings = with.context.settings.borrow();
    let names = TypeNames::of(reading.source, settings.path())?;
    let found = match schema.as_deref() {
        Some("pg_catalog") => SqlType::named(&name),
        schema => match names.find(schema, &name) {
            Some((_, found)) => return Ok(Some(found.oid + u32::from(of_array))),
            None => SqlType::named(&name).filter(|_| schema.is_none()),
        },
    };
    let kind = found.map(|kind| if of_array { kind.array() } else { kind });
    Ok(kind.map(SqlType::oid))
}

fn vector_types(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let mut names = Vec::new();
    for number in a.text(0).split_ascii_whitespace() {
        let oid = number.parse().unwrap_or_default();
        names.push(type_name(oid, -1, with)?);
    }
    Ok(Value::Text(names.join(", ")))
}

fn format_type(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let Some(oid) = a.oid(0) else {
        return none();
    };
    let modifier = a.given_int(1).map_or(-1, |modifier| modifier as i32);
    Ok(Value::Text(type_name(oid, modifier, with)?))
}

/// The name of a type with its modifier, as SQL writes it.
fn type_name(oid: u32, modifier: i32, with: &Environment<'_>) -> Result<String, SqlError> {
    if let Some(reading) = with.reading
        && let types = UserTypes::of(reading.source)?
        && let Some((
            name,
            UserType {
                domain: Some(_), ..
            },
        )) = types.with_oid(oid)
    {
        return Ok(written(name));
    }
    let kind = match (SqlType::from_oid(oid), with.reading) {
        (Some(kind), _) => Some(kind),
        (None, Some(reading)) => UserTypes::of(reading.source)?.numbered(oid),
        (None, None) => None,
    };
    Ok(kind.map_or("???".into(), |kind| TypeSpec::new(kind, modifier).to_sql()))
}

fn numeric_size(a: Arguments<'_>, _: &Environment<'_>) -> Answer {
    if let ValueRef::NonFinite(value) = a.value(0) {
        return text(format!("{value} PB"));
    }
    let (units, scale) = decimal_of(a.value(0)).unwrap_or_default();
    size_pretty(units, scale)
}

/// A number of bytes, in units of `10^-scale`, with the unit from which on it is not long. Bytes alone have a fraction.
fn size_pretty(units: i128, scale: u8) -> Answer {
    let one = 10_i128.pow(u32::from(scale));
    if (units / one).unsigned_abs() < 10 * 1024 {
        let shown = text_of(SqlType::Numeric, ValueRef::Decimal(units, scale));
        return text(format!("{} bytes", shown.unwrap_or_default()));
    }
    // Twice the number of each unit, for rounding.
    let mut doubled = units / one / 512;
    let mut names = ["kB", "MB", "GB", "TB", "PB"].into_iter().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() || doubled.unsigned_abs() < 20 * 1024 - 1 {
            let rounded = (doubled + if doubled < 0 { -1 } else { 1 }) / 2;
            return text(format!("{rounded} {name}"));
        }
        doubled /= 1024;
    }
    text("")
}

fn index(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (Some(oid), Some(reading)) = (a.oid(0), with.reading) else {
        return none();
    };
    let column = usize::try_from(a.int(1)).unwrap_or(0);
    let catalogue = with.context.catalogue;
    catalogue.index_definition(reading.source, oid, column)
}

fn view(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match (a.oid(0), with.reading) {
        (Some(oid), Some(reading)) => {
            let catalogue = with.context.catalogue;
            catalogue.view_definition(reading.source, oid)
        }
        _ => none(),
    }
}

fn constraint(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match (a.oid(0), with.reading) {
        (Some(oid), Some(reading)) => {
            let catalogue = with.context.catalogue;
            catalogue.constraint_definition(reading.source, oid)
        }
        _ => none(),
    }
}

fn description(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    described(a, with, 0, a.given_text(1))
}

fn column_description(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let column = u32::try_from(a.int(1)).unwrap_or(u32::MAX);
    described(a, with, column, Some("pg_class"))
}

fn described(a: Arguments<'_>, with: &Environment<'_>, column: u32, table: Option<&str>) -> Answer {
    match (a.oid(0), with.reading) {
        (Some(oid), Some(reading)) => {
            let catalogue = with.context.catalogue;
            catalogue.description(reading.source, with, (oid, column), table)
        }
        _ => none(),
    }
}

fn serial_sequence(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let Some(reading) = with.reading else {
        return none();
    };
    let catalogue = with.context.catalogue;
    let settings = with.context.settings.borrow();
    catalogue.serial_sequence(reading.source, settings.path(), a.text(0), a.text(1))
}
