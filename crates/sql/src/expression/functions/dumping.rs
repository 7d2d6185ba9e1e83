//! Functions of the catalogue that `pg_dump` calls: the usual rights of objects, options of foreign tables, bodies of functions,
//! and the state of a sequence, which is a row of the sequence.

use super::definition::*;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::names::quoted;
use crate::types::SqlType;
use crate::values::arrays::array_of;
use crate::values::arrays::elements;
use sardonyx::schema::{Value, ValueRef};

pub(super) static TABLE: &[Definition] = functions! {
    acldefault(ONE_CHAR, OID) -> TEXTS, usual_rights, "rights of a new object: of a table `r`, a sequence `s`, a function `f`, a schema `n`, a type `T` and so on", stable;
    pg_get_function_sqlbody(OID) -> TEXT, |_, _| Ok(Value::Null), "null: bodies are texts", stable;
};

/// The names of options: `name=value`.
pub(crate) static OPTION_NAME: Definition =
    Definition::new("option_name", &[TEXTS], TEXT, |a, _| options(a, true), "").rows();

/// The values of options.
pub(crate) static OPTION_VALUE: Definition =
    Definition::new("option_value", &[TEXTS], TEXT, |a, _| options(a, false), "").rows();

/// A byte of a name, as a subscript gives it; null outside of it.
pub(in crate::expression) static NAME_BYTE: Definition =
    Definition::new("name_byte", &[NAME, INT4], ONE_CHAR, |a, _| byte_of(a), "");

/// The last number of a sequence by its kept name, or the first one.
pub(crate) static SEQUENCE_LAST: Definition = Definition::new(
    "sequence_last_value",
    &[TEXT],
    INT8,
    |a, with| int(state(a, with)?.0),
    "",
)
.volatile()
.session();

/// True if the last number of a sequence was drawn.
pub(crate) static SEQUENCE_IS_CALLED: Definition = Definition::new(
    "sequence_is_called",
    &[TEXT],
    BOOL,
    |a, with| Ok(Value::Bool(state(a, with)?.1)),
    "",
)
.volatile()
.session();

fn state(a: Arguments<'_>, with: &Environment<'_>) -> Result<(i64, bool), SqlError> {
    with.context.database()?;
    let state = with.context.sequence_state(a.text(0));
    state.ok_or_else(|| SqlError::unknown_table(a.text(0)))
}

/// Source: PostgreSQL 15, `acldefault`.
fn usual_rights(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (of_all, of_owner) = match a.text(0) {
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        "p" => ("", "sA"),
        "c" => ("", ""),
        other => {
            let text = format!("unrecognized objtype abbreviation: {other}");
            return Err(SqlError::new("XX000", text));
        }
    };
    let owner = quoted(&with.context.user);
    let given = [
        (of_all, format!("={of_all}/{owner}")),
        (of_owner, format!("{owner}={of_owner}/{owner}")),
    ];
    let given = given.iter().filter(|(rights, _)| !rights.is_empty());
    let given = given.map(|(_, text)| ValueRef::Text(text));
    Ok(array_of(SqlType::Text, given))
}

fn options(a: Arguments<'_>, wants_name: bool) -> Answer {
    let options = elements(a.text(0)).into_iter().flatten();
    let parts: Vec<Option<String>> = options
        .map(|option| match (option.split_once('='), wants_name) {
            (Some((name, _)), true) => Some(name.to_string()),
            (Some((_, value)), false) => Some(value.to_string()),
            (None, true) => Some(option),
            (None, false) => None,
        })
        .collect();
    let parts = parts.iter();
    let parts = parts.map(|part| part.as_deref().map_or(ValueRef::Null, ValueRef::Text));
    Ok(array_of(SqlType::Text, parts))
}

/// A name has 64 bytes; those behind its end are 0.
fn byte_of(a: Arguments<'_>) -> Answer {
    const NAME_BYTES: usize = 64;
    let at = usize::try_from(a.int(1)).ok().filter(|at| *at < NAME_BYTES);
    let Some(at) = at else {
        return Ok(Value::Null);
    };
    text(match a.text(0).as_bytes().get(at) {
        Some(byte) if byte.is_ascii() => char::from(*byte).to_string(),
        Some(byte) => format!("\\{byte:03o}"),
        None => String::new(),
    })
}
