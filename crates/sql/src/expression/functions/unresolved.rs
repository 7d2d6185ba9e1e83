//! The errors of calls for which no function, or more than one, is chosen.

use super::ranges::OF_MULTIRANGES;
use crate::error::{SqlError, code};
use crate::types::SqlType;

fn written(name: &str, kinds: &[SqlType]) -> String {
    let kinds: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    format!("{name}({})", kinds.join(", "))
}

/// The error of a call that several functions take alike.
#[cold]
pub(crate) fn not_unique(name: &str, kinds: &[SqlType]) -> SqlError {
    let text = format!("function {} is not unique", written(name, kinds));
    let error = SqlError::new("42725", text);
    error.hint(
        "Could not choose a best candidate function. You might need to add explicit type casts.",
    )
}

#[cold]
pub(super) fn without_type() -> SqlError {
    SqlError::new(
        code::DATATYPE_MISMATCH,
        "could not determine polymorphic type because input has type unknown",
    )
}

/// Functions that types which are not supported have, too: addresses of network cards, and strings of bits. Of a literal
/// without a type it is not known which one is meant.
pub(super) const OF_OTHER_TYPES: [&str; 2] = ["trunc", "bit_count"];

/// The error of a call that no function takes.
#[cold]
pub(super) fn missing(name: &str, kinds: &[SqlType]) -> SqlError {
    let rest = name
        .strip_prefix("json")
        .map(|rest| rest.trim_start_matches('b'));
    let records = ["_each", "_each_text", "_to_record", "_to_recordset"];
    match rest {
        Some(rest) if records.contains(&rest) => {
            SqlError::unsupported(format!("{name} is supported in FROM only"))
        }
        _ => unknown(name, kinds),
    }
}

/// The error of a function that does not exist for arguments of these types.
#[cold]
pub(crate) fn unknown(name: &str, kinds: &[SqlType]) -> SqlError {
    if OF_MULTIRANGES.contains(&name) {
        return SqlError::unsupported(format!("multiranges are not supported: {name}"));
    }
    SqlError::new(
        code::UNKNOWN_FUNCTION,
        format!("function {} does not exist", written(name, kinds)),
    )
    .hint("No function matches the given name and argument types. You might need to add explicit type casts.")
}
