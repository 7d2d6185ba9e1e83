//! Casts that depend on the session: on its time zone, its order of dates and its style of intervals.

use crate::types::SqlType;

/// True if a cast from a type to another depends on the session's time zone.
pub(crate) fn crosses_zone(from: SqlType, to: SqlType) -> bool {
    // A time with a zone has its own, which it gets from the session's.
    match (from.single(), to.single()) {
        (_, SqlType::Timetz) => {
            return !matches!(from.single(), SqlType::Timetz | SqlType::Unknown);
        }
        (SqlType::Timetz, _) => return false,
        _ => {}
    }
    match (is_row(from), is_row(to)) {
        (true, false) => return to.single().is_text() && asks_session(from),
        (false, true) => return from.single().is_text() && asks_session(to),
        // The types of a record's fields are known when it is computed.
        (true, true) => return from.is_record() && !to.is_record(),
        (false, false) => {}
    }
    let has_zone = |kind: SqlType| kind.single() == SqlType::Timestamptz;
    has_zone(from) != has_zone(to) && from != SqlType::Unknown
}

/// True for rows, and for arrays of them.
fn is_row(kind: SqlType) -> bool {
    matches!(kind.single(), SqlType::Record | SqlType::Composite(_))
}

/// True if the texts of a type's values depend on the session: of moments, days and intervals, also in rows.
fn asks_session(kind: SqlType) -> bool {
    match kind.single() {
        SqlType::Record | SqlType::Interval => true,
        SqlType::Composite(of) => of.fields().iter().any(|one| asks_session(one.spec.kind)),
        kind => kind.is_of_days(),
    }
}

/// True if a cast from a type to another reads dates, whose parts have the session's order.
pub(crate) fn reads_dates(from: SqlType, to: SqlType) -> bool {
    from.single().is_text() && matches!(to.single(), SqlType::Date | SqlType::Timestamp)
}

/// True if a cast from a type to another writes intervals, in the session's style.
pub(crate) fn writes_intervals(from: SqlType, to: SqlType) -> bool {
    from.single() == SqlType::Interval && to.single().is_text()
}
