//! All that a database's tables hold, and whether the indexes agree with it.
use crate::common::options;
use sardonyx::disk::{GroupLimits, SimulatedDisk};
use sardonyx::schema::{Schema, Value};
use sardonyx::{Error, Options, Shape, Tables};
use sardonyx_storage::catalogue::Kind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// By name: the schema, and the rows.
pub type Contents = BTreeMap<String, (String, BTreeSet<String>)>;

pub fn small_options() -> Options {
    let limits = GroupLimits {
        group_bytes: 64 << 10,
        transaction_bytes: 128 << 10,
        depth: 2,
        buffers: 6,
    };
    let options = options(Shape::Threadless).segment_bytes(256 << 10);
    options.log_bytes_max(2 << 20).group_limits(limits)
}

pub fn open(disk: SimulatedDisk) -> Result<Tables, Error> {
    small_options().open_tables_on(Arc::new(disk))
}

pub fn contents(database: &Tables) -> Contents {
    let read = database.read(|view| {
        let tables = view.definitions().iter();
        let tables = tables.filter(|definition| matches!(definition.kind, Kind::Table { .. }));
        let names = tables.map(|definition| &definition.name);
        let mut contents = Contents::new();
        for name in names.filter(|name| !name.starts_with("sardonyx.")) {
            let rows = view.rows(name)?;
            let mut all = BTreeSet::new();
            for row in rows.scan() {
                let row = row?;
                let values = row.to_values()?;
                let key: Vec<_> = key_of(rows.schema(), &values);
                let found = rows.get(&key)?.map(|found| found.address());
                assert_eq!(found, Some(row.address()), "{name}: {key:?}");
                all.insert(format!("{values:?}"));
            }
            assert_eq!(rows.count().expect("counted"), all.len() as u64, "{name}");
            contents.insert(name.clone(), (format!("{:?}", rows.schema()), all));
        }
        Ok::<_, Error>(contents)
    });
    read.expect("readable")
}

/// The values of the key among those of the columns that are not dropped.
fn key_of(schema: &Schema, values: &[Value]) -> Vec<Value> {
    let parts = schema.primary.key.iter();
    let place = |column| {
        schema
            .live_columns()
            .position(|(number, _)| number == column)
    };
    parts
        .map(|part| values[place(part.column).expect("not dropped")].clone())
        .collect()
}

/// Takes every row out of every index and puts it in again, in a transaction that is undone: a row that an index did not
/// have, or has without a row, is noticed by the checks of the engine.
pub fn check_indexes(database: &Tables, contents: &Contents) {
    let undone = database.run(|tx| {
        let mut taken = Vec::new();
        // Tables that refer to others come first.
        for pass in 0..2 {
            for name in contents.keys() {
                let refers = !tx.rows(name)?.schema().foreign_keys.is_empty();
                if refers != (pass == 0) {
                    continue;
                }
                let schema = tx.rows(name)?.schema().clone();
                let there = tx.rows(name)?;
                let rows = there.scan().map(|row| row?.to_values());
                let rows = rows.collect::<Result<Vec<_>, Error>>()?;
                for values in &rows {
                    assert!(tx.rows(name)?.delete(&key_of(&schema, values))?, "{name}");
                }
                taken.push((name, rows));
            }
        }
        for (name, rows) in taken.iter().rev() {
            for values in rows {
                tx.rows(name)?.insert_values(values)?;
            }
        }
        Err::<(), _>(Error::other("as planned"))
    });
    assert!(matches!(undone, Err(Error::Other(_))), "{undone:?}");
}
