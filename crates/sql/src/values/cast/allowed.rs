//! The casts that there are between types, and where each is made by itself: PostgreSQL's `pg_cast`, and the casts by texts.

use crate::types::SqlType;

/// The context in which a value of one type is converted to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Coercion {
    /// In an expression.
    Implicit,
    /// Stored into a column.
    Assignment,
    /// Asked for.
    Explicit,
}

/// True if one type can be cast to another.
pub(crate) fn can_cast(from: SqlType, to: SqlType, how: Coercion) -> bool {
    use SqlType::{Bool, Date, Int2, Int4, Int8, Time, Timestamp, Timestamptz, Timetz};
    if from == to || from == SqlType::Unknown {
        return true;
    }
    match (from, to) {
        (SqlType::Composite(_), SqlType::Record)
        | (SqlType::CompositeArray(_), SqlType::RecordArray)
        | (SqlType::Record, SqlType::Composite(_)) => return true,
        (SqlType::RecordArray, SqlType::CompositeArray(_)) => return how == Coercion::Explicit,
        (_, to) if to.is_record() => return false,
        _ => {}
    }
    let rank = |kind| match kind {
        Int2 => Some(1),
        Int4 | SqlType::Oid => Some(2),
        kind if kind.is_object() => Some(2),
        Int8 => Some(3),
        SqlType::Numeric => Some(4),
        SqlType::Float4 => Some(5),
        SqlType::Float8 => Some(6),
        _ => None,
    };
    if let (Some(level), Some(wanted)) = (rank(from), rank(to)) {
        return match (is_number_of(from), is_number_of(to)) {
            (true, true) => are_aliases(from, to),
            (true, false) => how >= Coercion::Assignment && matches!(to, Int4 | Int8),
            (false, true) => level < 4,
            (false, false) => level <= wanted || how >= Coercion::Assignment,
        };
    }
    let least = match (from, to) {
        // A `"char"` is of no category of texts.
        (SqlType::OneChar, SqlType::Text) => Some(Coercion::Implicit),
        (SqlType::OneChar, to) if to.is_text() => Some(Coercion::Assignment),
        (SqlType::Name, SqlType::OneChar) => Some(Coercion::Explicit),
        (from, SqlType::OneChar) if from.is_text() => Some(Coercion::Assignment),
        (SqlType::OneChar, Int4) | (Int4, SqlType::OneChar) => Some(Coercion::Explicit),
        (SqlType::OneChar, _) | (_, SqlType::OneChar) => return false,
        (SqlType::Name, SqlType::Varchar | SqlType::Char) => Some(Coercion::Assignment),
        (from, to) if from.is_text() && to.is_text() => Some(Coercion::Implicit),
        _ => None,
    };
    if let Some(least) = least {
        return how >= least;
    }
    if let (Some(from), Some(to)) = (from.element(), to.element()) {
        return can_cast(from, to, how);
    }
    match (from, to) {
        (Date, Timestamp | Timestamptz) | (Timestamp, Timestamptz) => true,
        (SqlType::Json, SqlType::Jsonb) | (SqlType::Jsonb, SqlType::Json) => {
            how >= Coercion::Assignment
        }
        // PostgreSQL has no such assignment.
        (SqlType::Hstore, SqlType::Json | SqlType::Jsonb)
        | (SqlType::TextArray, SqlType::Hstore) => how == Coercion::Explicit,
        (SqlType::Jsonb, to) if to == Bool || to.is_number() => how == Coercion::Explicit,
        (Time, SqlType::Interval | Timetz) | (SqlType::Cidr, SqlType::Inet) => true,
        (SqlType::Bit, SqlType::Varbit) | (SqlType::Varbit, SqlType::Bit) => true,
        (Int4 | Int8, SqlType::Bit) | (SqlType::Bit, Int4 | Int8) => how == Coercion::Explicit,
        (SqlType::Inet, SqlType::Cidr) => how >= Coercion::Assignment,
        (SqlType::Interval, Time) => how >= Coercion::Assignment,
        (Timestamptz, Timestamp | Timetz)
        | (Timestamp | Timestamptz, Date | Time)
        | (Timetz, Time) => how >= Coercion::Assignment,
        (Bool, Int4) | (Int4, Bool) => how == Coercion::Explicit,
        (_, to) if to.is_text() => how >= Coercion::Assignment,
        (from, _) if from.is_text() => how == Coercion::Explicit,
        _ => false,
    }
}

/// True for the types whose values are numbers of objects of the catalogue.
pub(crate) fn is_number_of(kind: SqlType) -> bool {
    kind == SqlType::Oid || kind.is_object()
}

/// True for two types of numbers of objects, one of which is cast to the other.
fn are_aliases(one: SqlType, other: SqlType) -> bool {
    let is_function = |kind| matches!(kind, SqlType::Regproc | SqlType::Regprocedure);
    one == SqlType::Oid || other == SqlType::Oid || is_function(one) && is_function(other)
}

/// True if an earlier version cast one type to another, as texts that the database keeps may do still: the elements of
/// arrays by their texts, numbers of objects to all numbers, and a `"char"` as a text.
pub(crate) fn could_cast(from: SqlType, to: SqlType, how: Coercion) -> bool {
    if let (Some(_), Some(_)) = (from.element(), to.element()) {
        return how == Coercion::Explicit;
    }
    match (from, to) {
        (from, to) if is_number_of(from) => to.is_number(),
        (SqlType::OneChar, to) => how == Coercion::Explicit && !to.is_record(),
        (from, SqlType::OneChar) => how >= Coercion::Assignment && !from.is_record(),
        _ => false,
    }
}

/// True if an earlier version cast one type to another by itself: numbers of objects were whole numbers of four bytes.
pub(crate) fn could_be_implicit(from: SqlType, to: SqlType) -> bool {
    use SqlType::{Int2, Int4, Int8};
    match (is_number_of(from), is_number_of(to)) {
        (true, true) => true,
        (true, false) if to.is_number() => matches!(to, Int4 | Int8),
        (false, true) if from.is_number() => matches!(from, Int2 | Int4),
        _ => can_cast(from, to, Coercion::Implicit),
    }
}
