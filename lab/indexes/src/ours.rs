//! The ordered index of tables, as programs use it.

use crate::{Figures, LENGTH, Row, rate, reads, seconds};
use sardonyx_rows::Record;
use sardonyx_rows::schema::{IndexDefinition, IndexKind, KeyPart};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;

const NAME: &str = "by_id";

/// Rows in a transaction.
const BATCH: usize = 1000;

fn definition() -> IndexDefinition {
    let (column, descending) = (0, false);
    IndexDefinition {
        name: NAME.to_string(),
        kind: IndexKind::Ordered,
        unique: true,
        deferrable: false,
        nulls_equal: false,
        key: vec![KeyPart { column, descending }],
    }
}

/// A table with all rows, with the index or without; and the seconds of the inserts.
fn filled(rows: &[Row], indexed: bool) -> Result<(TableSpace, f64), Box<dyn std::error::Error>> {
    let bytes = (rows.len() as u64 * 512).next_multiple_of(1 << 30);
    let (mut space, _) = TableSpace::open(PageStore::reserve(bytes)?, 1)?;
    let mut log = GroupBuilder::with_capacity(1 << 20);
    let mut tx = space.begin(&mut log);
    let table = tx.declare_table::<Row>()?;
    if indexed {
        tx.create_index(table.number(), definition())?;
    }
    tx.commit();
    let mut inserting = 0.0;
    for rows in rows.chunks(BATCH) {
        let mut log = GroupBuilder::with_capacity(1 << 20);
        let mut tx = space.begin(&mut log);
        let mut result = Ok(());
        inserting += seconds(|| {
            result = rows.iter().try_for_each(|row| tx.insert(table, row));
        });
        result?;
        tx.commit();
    }
    Ok((space, inserting))
}

/// Measures it, live and in a snapshot.
pub fn measure(rows: &[Row]) -> Result<Vec<Figures>, Box<dyn std::error::Error>> {
    let count = rows.len() as u64;
    let (mut space, without) = filled(rows, false)?;
    let bytes_without = space.index_bytes();
    let table = space.table::<Row>()?.ok_or(Row::TABLE)?;
    let mut log = GroupBuilder::with_capacity(1 << 20);
    let mut tx = space.begin(&mut log);
    let mut created = Ok(());
    let building = seconds(|| created = tx.create_index(table.number(), definition()));
    created?;
    tx.commit();
    drop(space);

    let (mut space, with) = filled(rows, true)?;
    let bytes = (space.index_bytes() - bytes_without) as f64 / count as f64;
    let snapshot = space.snapshot()?;
    let table = space.table::<Row>()?.ok_or(Row::TABLE)?;
    let live = space.view().index(table, NAME)?;
    let frozen = snapshot.index(table, NAME)?;
    let of_live = reads(
        count,
        |key| {
            live.get_by(key)
                .ok()
                .flatten()
                .map_or(0, |row| row.filler[11])
        },
        |key| {
            let rows = live
                .range(key..)
                .into_iter()
                .flatten()
                .flatten()
                .take(LENGTH);
            rows.fold(0, |sum, row| sum.wrapping_add(row.filler[11]))
        },
    );
    let of_frozen = reads(
        count,
        |key| {
            frozen
                .get_by(key)
                .ok()
                .flatten()
                .map_or(0, |row| row.filler[11])
        },
        |key| {
            let rows = frozen
                .range(key..)
                .into_iter()
                .flatten()
                .flatten()
                .take(LENGTH);
            rows.fold(0, |sum, row| sum.wrapping_add(row.filler[11]))
        },
    );
    let figures = |name: &str, (points, ranges)| Figures {
        name: name.to_string(),
        inserts: rate(count, (with - without).max(f64::MIN_POSITIVE)),
        built: rate(count, building),
        points,
        ranges,
        bytes,
    };
    Ok(vec![
        figures("Sardonyx, live", of_live),
        figures("Sardonyx, a snapshot", of_frozen),
    ])
}
