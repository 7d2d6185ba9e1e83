//! `pg_timezone_names` and `pg_timezone_abbrevs`: the time zones of the bundled database, at the transaction's moment.

use super::Contents::Rows;
use super::{VirtualRows, VirtualTable, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::source::Source;
use crate::types::SqlType::{Bool, Interval, Text};
use crate::values::intervals;
use crate::values::zone_lists::{ListedZone, abbreviations_at, places_at};
use sardonyx::schema::Value;

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_timezone_names",
        oid: 12_030,
        columns: &[
            ("name", Text),
            ("abbrev", Text),
            ("utc_offset", Interval),
            ("is_dst", Bool),
        ],
        contents: Rows(names),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_timezone_abbrevs",
        oid: 12_031,
        columns: &[("abbrev", Text), ("utc_offset", Interval), ("is_dst", Bool)],
        contents: Rows(abbreviations),
    },
];

fn names(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let zones = places_at(with.context.transaction.moment).into_iter();
    let rows = zones.map(|zone| {
        let mut row = vec![text(&zone.name)];
        row.extend(described(&zone));
        row
    });
    Ok(rows.collect())
}

fn abbreviations(_: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let zones = abbreviations_at(with.context.transaction.moment);
    Ok(zones.iter().map(|zone| described(zone).to_vec()).collect())
}

/// The abbreviation of a zone, its distance from UTC, and true for daylight saving.
fn described(zone: &ListedZone) -> [Value; 3] {
    let distance = intervals::Interval {
        micros: zone.east * 1_000_000,
        ..intervals::Interval::default()
    };
    [
        text(&zone.abbreviation),
        Value::Text(distance.to_string()),
        Value::Bool(zone.is_saving),
    ]
}
