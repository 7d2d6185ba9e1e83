//! Functions that tools ask about the objects of a database: definitions, comments, sizes and rights.

use super::definition::*;
use super::named_tables::with_tables;
use super::session::user_numbered;
use super::whole_names::{finds_public, whole};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::names::object_name;
use crate::path::{PUBLIC, written, written_whole};
use crate::relation::{Relation, table_oid};
use crate::types::{SqlType, TypeSpec, without_values};
use crate::user_types::{self, UserType, UserTypes};
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    col_description(OID, INT4) -> TEXT, column_description, "comment on a column", stable;
    oidvectortypes(OIDVECTOR) -> TEXT, vector_types, "names of the types in a vector, between commas", stable;
    format_type(OID, INT4) -> TEXT, format_type, "type with its length, as SQL", stable, on_null;
    getdatabaseencoding() -> NAME, |_, _| text("UTF8"), "name of the encoding: `UTF8`", stable;
    has_any_column_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_column_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_database_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_function_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_schema_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_sequence_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    has_table_privilege(ANY) -> BOOL, |_, _| yes(), "true: rights are the server's", stable, variadic, on_null;
    nameconcatoid(NAME, OID) -> NAME, |a, _| Ok(Value::Text(object_name(a.text(0), "", &a.oid(1).unwrap_or_default().to_string()))), "name, cut if it is long, with a number behind it";
    obj_description(OID) -> TEXT, description, "comment on an object", stable;
    obj_description(OID, TEXT) -> TEXT, description, "comment on an object of a table of the catalogue", stable;
    pg_collation_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_conversion_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_encoding_to_char(INT4) -> NAME, |_, _| text("UTF8"), "name of an encoding: `UTF8`", stable;
    pg_function_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_get_constraintdef(OID) -> TEXT, constraint, "constraint as SQL", stable;
    pg_get_constraintdef(OID, BOOL) -> TEXT, pretty_constraint, "constraint as SQL", stable;
    pg_get_expr(TEXT, OID) -> TEXT, |a, with| whole(Value::Text(a.text(0).to_string()), with), "expression of the catalogue as SQL, in which it is kept", stable;
    pg_get_expr(TEXT, OID, BOOL) -> TEXT, |a, with| whole(Value::Text(a.text(0).to_string()), with), "expression of the catalogue as SQL, in which it is kept", stable;
    pg_get_indexdef(OID) -> TEXT, index, "index as SQL", stable;
    pg_get_indexdef(OID, INT4, BOOL) -> TEXT, index, "name of an index's column", stable;
    pg_get_partkeydef(OID) -> TEXT, |_, _| none(), "null: no table is partitioned", stable;
    pg_get_ruledef(OID) -> TEXT, |_, _| none(), "null: there are no rules", stable;
    pg_get_ruledef(OID, BOOL) -> TEXT, |_, _| none(), "null: there are no rules", stable;
    pg_get_serial_sequence(TEXT, TEXT) -> TEXT, serial_sequence, "sequence of a table's column", stable;
    pg_get_statisticsobjdef(OID) -> TEXT, |_, _| none(), "null: there are no statistics", stable;
    pg_get_statisticsobjdef_columns(OID) -> TEXT, |_, _| none(), "null: there are no statistics", stable;
    pg_get_userbyid(OID) -> NAME, user_numbered, "name of the user", stable;
    pg_get_viewdef(OID) -> TEXT, view, "query of a view", stable;
    pg_get_viewdef(OID, BOOL) -> TEXT, view, "query of a view", stable;
    pg_get_viewdef(OID, INT4) -> TEXT, view, "query of a view", stable;
    pg_opclass_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_operator_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_opfamily_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_partition_ancestors(REGCLASS) -> REGCLASS, |_, _| none(), "null: no table is partitioned", stable;
    pg_relation_filepath(REGCLASS) -> TEXT, |_, _| none(), "null: a table has no file of its own", stable;
    pg_relation_is_publishable(REGCLASS) -> BOOL, |_, _| Ok(Value::Bool(false)), "false", stable;
    pg_relation_is_updatable(REGCLASS, BOOL) -> INT4, updatable, "28 of a table, whose rows can be inserted, changed and deleted; else 0", stable;
    pg_stat_get_numscans(OID) -> INT8, |_, _| none(), "null: scans are not counted", stable;
    pg_sequence_last_value(REGCLASS) -> INT8, last_number, "last number of a sequence; null if it has given none", stable;
    pg_statistics_obj_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_table_is_visible(OID) -> BOOL, is_visible, "true of tables that are found without a schema; null if there is none of the number", stable;
    pg_tablespace_location(OID) -> TEXT, |_, _| text(""), "empty: the tablespaces are the database's own directory", stable;
    pg_ts_config_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_ts_dict_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_ts_parser_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_ts_template_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_type_is_visible(OID) -> BOOL, |_, _| yes(), "true", stable;
    pg_typeof(ANY) -> REGTYPE, |a, _| int(a.kind(0).oid()), "type of a value", on_null;
    shobj_description(OID, TEXT) -> TEXT, description, "comment on a database", stable;
};

fn yes() -> Answer {
    Ok(Value::Bool(true))
}

fn none() -> Answer {
    Ok(Value::Null)
}

fn is_visible(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let is_visible = a
        .oid(0)
        .and_then(|oid| with_tables(with, |tables, path| tables.is_visible(path, oid)));
    Ok(is_visible.map_or(Value::Null, Value::Bool))
}

fn updatable(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let number = a.oid(0).and_then(|oid| oid.checked_sub(table_oid(0)));
    let number = number.and_then(|number| u16::try_from(number).ok());
    let relation = number.zip(with.reading).map(|(number, reading)| {
        let relation = Relation::numbered(reading.source, number);
        relation.is_ok_and(|relation| relation.notes.materialized.is_none())
    });
    int(if relation == Some(true) { 28 } else { 0 })
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
pub(super) fn type_name(
    oid: u32,
    modifier: i32,
    with: &Environment<'_>,
) -> Result<String, SqlError> {
    if oid == 0 {
        return Ok("-".to_string());
    }
    if let Some(reading) = with.reading
        && let types = UserTypes::of(reading.source)?
        && let Some((
            name,
            UserType {
                domain: Some(_), ..
            },
        )) = types.with_oid(oid)
    {
        return Ok(match finds_public(with)? {
            true => written(name),
            false => written_whole(name),
        });
    }
    let kind = match (SqlType::from_oid(oid), with.reading) {
        (Some(kind), _) => Some(kind),
        (None, Some(reading)) => UserTypes::of(reading.source)?.numbered(oid),
        (None, None) => None,
    };
    if let Some(own) = kind.filter(|kind| is_of_user(*kind))
        && !finds_public(with)?
    {
        let name = with_modifier(own, modifier);
        return Ok(match name.contains('.') {
            true => name,
            false => format!("{PUBLIC}.{name}"),
        });
    }
    let without_values = || without_values::numbered(oid).map_or("???", |one| one.sql);
    Ok(kind.map_or_else(
        || without_values().to_string(),
        |kind| with_modifier(kind, modifier),
    ))
}

/// True for a type that users or extensions made.
fn is_of_user(kind: SqlType) -> bool {
    kind.single() == SqlType::Hstore || user_types::is_of_user(kind.oid())
}

/// A type's name with a modifier. A type without modifiers shows any number that is given.
fn with_modifier(kind: SqlType, modifier: i32) -> String {
    use SqlType::{Bit, Bool, Char, Float4, Float8, Int2, Int4, Int8, Interval, Numeric};
    use SqlType::{Time, Timestamp, Timestamptz, Timetz, Varbit, Varchar};
    let name = TypeSpec::new(kind, modifier).to_sql();
    let element = kind.element().unwrap_or(kind);
    let has_own = matches!(
        element,
        Bit | Bool
            | Char
            | Float4
            | Float8
            | Int2
            | Int4
            | Int8
            | Interval
            | Numeric
            | Time
            | Timestamp
            | Timestamptz
            | Timetz
            | Varbit
            | Varchar
    );
    match name.strip_suffix("[]") {
        _ if modifier < 0 || has_own || element.is_bits() => name,
        Some(element) => format!("{element}({modifier})[]"),
        None => format!("{name}({modifier})"),
    }
}

fn index(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (Some(oid), Some(reading)) = (a.oid(0), with.reading) else {
        return none();
    };
    let column = usize::try_from(a.int(1)).unwrap_or(0);
    let catalogue = with.context.catalogue;
    let settings = with.context.settings.borrow();
    let path = a.is_true(2).then(|| settings.path().as_ref());
    whole(
        catalogue.index_definition(reading.source, oid, column, path)?,
        with,
    )
}

fn view(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match (a.oid(0), with.reading) {
        (Some(oid), Some(reading)) => {
            let catalogue = with.context.catalogue;
            whole(catalogue.view_definition(reading.source, oid)?, with)
        }
        _ => none(),
    }
}

fn constraint(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match (a.oid(0), with.reading) {
        (Some(oid), Some(reading)) => {
            let catalogue = with.context.catalogue;
            whole(catalogue.constraint_definition(reading.source, oid)?, with)
        }
        _ => none(),
    }
}

/// The same for people to read: without the parentheses around a whole condition.
fn pretty_constraint(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    Ok(match constraint(a, with)? {
        Value::Text(text) if a.is_true(1) => {
            let inner = text.strip_prefix("CHECK ((");
            let inner = inner.and_then(|inner| inner.rsplit_once("))"));
            match inner {
                Some((condition, behind)) => Value::Text(format!("CHECK ({condition}){behind}")),
                None => Value::Text(text),
            }
        }
        value => value,
    })
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

fn last_number(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match (with.reading, a.oid(0)) {
        (Some(reading), Some(number)) => {
            let catalogue = with.context.catalogue;
            catalogue.last_number(reading.source, with, number)
        }
        _ => none(),
    }
}

fn serial_sequence(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let Some(reading) = with.reading else {
        return none();
    };
    let catalogue = with.context.catalogue;
    catalogue.serial_sequence(reading.source, with, a.text(0), a.text(1))
}
