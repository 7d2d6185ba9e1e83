//! The fields and digits that an interval type has: `interval day to minute`, `interval second(3)`.
//!
//! They are in a type's modifier as in PostgreSQL: a bit for each field in the upper half, the digits of a second's
//! fraction in the lower one.
//!
//! Source: PostgreSQL 15, `AdjustIntervalForTypmod` and `DecodeInterval`.

pub(crate) const MONTH: i32 = 1 << 1;
pub(crate) const YEAR: i32 = 1 << 2;
pub(crate) const DAY: i32 = 1 << 3;
pub(crate) const HOUR: i32 = 1 << 10;
pub(crate) const MINUTE: i32 = 1 << 11;
pub(crate) const SECOND: i32 = 1 << 12;
/// The modifier has no fields, and no digits.
pub(crate) const ALL_FIELDS: i32 = 0x7FFF;
pub(crate) const ALL_DIGITS: i32 = 0xFFFF;

/// Fields as SQL writes them.
const NAMES: [(i32, &str); 13] = [
    (YEAR, "year"),
    (MONTH, "month"),
    (DAY, "day"),
    (HOUR, "hour"),
    (MINUTE, "minute"),
    (SECOND, "second"),
    (YEAR | MONTH, "year to month"),
    (DAY | HOUR, "day to hour"),
    (DAY | HOUR | MINUTE, "day to minute"),
    (DAY | HOUR | MINUTE | SECOND, "day to second"),
    (HOUR | MINUTE, "hour to minute"),
    (HOUR | MINUTE | SECOND, "hour to second"),
    (MINUTE | SECOND, "minute to second"),
];

/// The modifier of fields, as SQL writes them, and of at most six digits. `None` if there are no such fields.
pub(crate) fn modifier_of(fields: Option<&str>, digits: Option<u64>) -> Option<i32> {
    let range = match fields {
        None => ALL_FIELDS,
        Some(fields) => {
            let fields = fields.to_ascii_lowercase();
            NAMES.iter().find(|(_, name)| *name == fields)?.0
        }
    };
    if digits.is_some() && range != ALL_FIELDS && range & SECOND == 0 {
        return None;
    }
    Some(match (range, digits) {
        (ALL_FIELDS, None) => -1,
        (range, digits) => range << 16 | digits.map_or(ALL_DIGITS, |digits| digits.min(6) as i32),
    })
}

/// The SQL of a modifier behind `interval`.
pub(crate) fn shown(modifier: i32) -> String {
    if modifier < 0 {
        return String::new();
    }
    let (range, digits) = (modifier >> 16 & ALL_FIELDS, modifier & ALL_DIGITS);
    let fields = NAMES.iter().find(|(known, _)| *known == range);
    let fields = fields.map_or(String::new(), |(_, name)| format!(" {name}"));
    match digits {
        ALL_DIGITS => fields,
        digits => format!("{fields}({digits})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_those_of_postgresql() {
        // `select atttypmod` of columns of these types.
        for (fields, digits, modifier, text) in [
            (None, None, -1, ""),
            (None, Some(3), 2_147_418_115, "(3)"),
            (
                Some("DAY TO SECOND"),
                Some(2),
                470_286_338,
                " day to second(2)",
            ),
            (Some("year"), None, 327_679, " year"),
            (Some("hour to minute"), None, 201_392_127, " hour to minute"),
        ] {
            assert_eq!(modifier_of(fields, digits), Some(modifier), "{fields:?}");
            assert_eq!(shown(modifier), text);
        }
        assert_eq!(modifier_of(Some("day"), Some(3)), None);
        assert_eq!(modifier_of(Some("day to year"), None), None);
    }
}
