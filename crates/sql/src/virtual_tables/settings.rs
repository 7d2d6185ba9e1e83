//! `pg_settings`: the session's parameters, with PostgreSQL 15's descriptions of them.
//!
//! The descriptions are in `settings.txt`, a line for each parameter, as `pg_settings` of PostgreSQL 15 has them: name,
//! unit, category, short and long description, context, type, least and greatest value, words. PostgreSQL's view has no
//! row of a parameter without a line.

use super::Contents::Rows;
use super::{VirtualRows, VirtualTable, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::settings::ShownSetting;
use crate::source::Source;
use crate::types::SqlType::{self, Bool, Int4, Text, TextArray};
use crate::values::arrays::array_of;
use sardonyx::schema::{Value, ValueRef};

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    schema: "pg_catalog",
    name: "pg_settings",
    oid: 12_002,
    columns: &[
        ("name", Text),
        ("setting", Text),
        ("unit", Text),
        ("category", Text),
        ("short_desc", Text),
        ("extra_desc", Text),
        ("context", Text),
        ("vartype", Text),
        ("source", Text),
        ("min_val", Text),
        ("max_val", Text),
        ("enumvals", TextArray),
        ("boot_val", Text),
        ("reset_val", Text),
        ("sourcefile", Text),
        ("sourceline", Int4),
        ("pending_restart", Bool),
    ],
    contents: Rows(settings),
}];

static DESCRIPTIONS: &str = include_str!("settings.txt");

fn settings(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let settings = with.context.settings.borrow();
    let rows = DESCRIPTIONS.lines().filter_map(|line| {
        let described: Vec<&str> = line.split('|').collect();
        let shown = settings.shown(described.first()?)?;
        row(&described, &shown)
    });
    Ok(rows.collect())
}

fn row(described: &[&str], shown: &ShownSetting) -> Option<Vec<Value>> {
    let [
        name,
        unit,
        category,
        short,
        long,
        context,
        kind,
        least,
        most,
        words,
    ] = *described
    else {
        return None;
    };
    let given = |value: &str| match value {
        "" => Value::Null,
        value => text(value),
    };
    let in_unit = |value: &str| Value::Text(in_unit(value, unit));
    let words = match words {
        "" => Value::Null,
        words => array_of(SqlType::Text, words.split(',').map(ValueRef::Text)),
    };
    Some(vec![
        text(name),
        in_unit(&shown.value),
        given(unit),
        text(category),
        text(short),
        given(long),
        text(context),
        text(kind),
        text(shown.source),
        given(least),
        given(most),
        words,
        in_unit(shown.usual),
        in_unit(&shown.reset),
        Value::Null,
        Value::Null,
        Value::Bool(false),
    ])
}

/// Units of memory in bytes, and of time in microseconds.
const UNITS: [(&str, u64); 11] = [
    ("B", 1),
    ("kB", 1 << 10),
    ("8kB", 8 << 10),
    ("MB", 1 << 20),
    ("GB", 1 << 30),
    ("TB", 1 << 40),
    ("ms", 1000),
    ("s", 1_000_000),
    ("min", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

/// A value with a unit, such as `4MB`, in another unit.
fn in_unit(value: &str, unit: &str) -> String {
    let size = |unit: &str| {
        let found = UNITS.iter().find(|(name, _)| *name == unit);
        found.map(|(_, size)| *size)
    };
    let converted = || {
        let end = value.find(|one: char| !one.is_ascii_digit())?;
        let (number, from) = value.split_at(end);
        let size_of_all = number.parse::<u64>().ok()?.checked_mul(size(from)?)?;
        Some((size_of_all / size(unit)?).to_string())
    };
    converted().unwrap_or_else(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::{DESCRIPTIONS, in_unit};

    #[test]
    fn every_description_has_all_parts() {
        for line in DESCRIPTIONS.lines() {
            assert_eq!(line.split('|').count(), 10, "{line}");
        }
    }

    #[test]
    fn values_are_in_the_units_of_the_catalogue() {
        // `SET … TO …; SELECT setting FROM pg_settings` of PostgreSQL 15.
        for (value, unit, setting) in [
            ("4MB", "kB", "4096"),
            ("4GB", "8kB", "524288"),
            ("16MB", "B", "16777216"),
            ("2min", "ms", "120000"),
            ("0", "ms", "0"),
            ("100", "", "100"),
            ("UTF8", "", "UTF8"),
        ] {
            assert_eq!(in_unit(value, unit), setting, "{value} in {unit}");
        }
    }
}
