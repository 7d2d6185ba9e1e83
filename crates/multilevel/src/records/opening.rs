//! The memory of the tables, made of their pages when a database is opened.

use super::RowsOf;
use super::memory::{SHARDS, Shard, TableMemory};
use super::room::Room;
use sardonyx_base::hash::IntegerMap;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::atomic::AtomicU64;
use sardonyx_rows::layout::PageKind;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{TableError, beyond_rows};
use sardonyx_storage::catalogue::{Catalogue, Kind};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_table::read_contents;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All tables of a database, by number, of its pages when it is opened; `schemas` are all that are stored. Tables that
/// have more than rows are left out: no operation may name them ([`Database::table`](crate::Database::table)).
pub(crate) fn read_tables(
    bytes: &[u8],
    catalogue: &Catalogue,
    schemas: &BTreeMap<u16, Schema>,
) -> Result<IntegerMap<u16, Arc<TableMemory>>, TableError> {
    let mut tables = IntegerMap::default();
    for (number, definition) in catalogue.definitions.iter().enumerate() {
        let number = number as u16;
        if !matches!(definition.kind, Kind::Table { .. }) || beyond_rows(number, schemas).is_some()
        {
            continue;
        }
        let schema = schemas.get(&number);
        let mut table = TableMemory::new(number, RowsOf::new(definition, schema)?);
        let mut index: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        let contents = read_contents(bytes, catalogue, number, schema, |address| {
            let key = table.key_in(bytes, address)?;
            let hash = table.hash(&key);
            let shard = &mut index[(hash >> 32) as usize % SHARDS];
            let mut second = None;
            for (_, other) in shard.iter_hash(hash).filter(|(of, _)| *of == hash) {
                if table.key_in(bytes, *other)? == key {
                    second = Some(*other);
                }
            }
            if second.is_none() {
                shard.insert_unique(hash, (hash, address), |(hash, _)| *hash);
            }
            Ok(second.is_none())
        })?;
        let mut room = Room::default();
        room.known = contents.pages_used;
        let rows = PageKind::Rows { shape: 0 };
        for page in contents.with_room.into_iter().rev() {
            room.of(rows).list(page);
            let at = page.address().0 as usize;
            let is_empty = table
                .layout()
                .occupied_from(&bytes[at..][..PAGE_SIZE], 0)
                .is_none();
            // Or each opening would leave empty pages to rows alone.
            if table.has_values() && is_empty {
                room.empty.list(page);
            }
        }
        for (class, page) in contents.cells.into_iter().rev() {
            room.of(PageKind::Values { class }).list(page);
        }
        for page in contents.empty.into_iter().rev() {
            room.empty.list(page);
        }
        table.pages_used = AtomicU64::new(contents.pages_used);
        table.index = index.into_iter().map(Mutex::new).collect();
        table.room = Mutex::new(room);
        tables.insert(number, Arc::new(table));
    }
    Ok(tables)
}
