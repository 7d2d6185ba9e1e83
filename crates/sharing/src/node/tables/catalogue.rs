//! The definitions of tables and journals: a tree of its own, by their names.
//!
//! The value under a name: the version of this, 1 (1 byte); 1: a table, 2: a journal (1 byte); its number (2 bytes).
//! Then the page of its tree's root, or of a journal the bytes of a row (4 bytes). Of a table then the number of its
//! indexes beside that of the primary key (2 bytes); the page of each one's root (4 bytes each); its schema, encoded.
//!
//! Dropped trees are under a key that is no name, 255 and the number of their table, until their pages are free. The
//! value: the version, 3 and the number as above, the number of trees left (4 bytes), and the page of each one's root.
//! The table may still exist: it was truncated, or has lost an index.
//!
//! Another key that is no name, 254, has the version (8 bytes): the number of changes of the catalogue. So a node that
//! has read it once, committed, reads it again when that differs ([`super::known`]).

use super::super::NodeError;
use super::entries::{self, Keys};
use super::space::{self, Head};
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{Record, RowError, RowFormat, TableError};
use sardonyx_storage::page::PageId;
use sardonyx_storage::tree::{Intent, damaged};
use std::any::TypeId;
use std::ops::Bound;

const VERSION: u8 = 1;
const TABLE: u8 = 1;
const JOURNAL: u8 = 2;
const DROPPED: u8 = 3;
/// The first byte of keys that are no name: those of dropped tables.
const NO_NAME: u8 = 0xff;
pub(super) const KEY_OF_VERSION: [u8; 1] = [0xfe];
const HEADER: usize = 8;

#[derive(Debug)]
pub(crate) struct TableInfo {
    /// Its number, of this database.
    pub number: u16,
    /// The page of its tree's root.
    pub root: u32,
    /// The roots of its indexes beside the primary key's.
    pub indexes: Vec<u32>,
    pub format: RowFormat,
    pub database: u64,
    /// Types of records that are its rows.
    pub checked: Mutex<Vec<TypeId>>,
}

impl TableInfo {
    /// True if it is the same table as another, and unchanged.
    pub fn is_as(&self, other: &TableInfo) -> bool {
        (self.number, self.root, &self.indexes) == (other.number, other.root, &other.indexes)
            && self.format.table() == other.format.table()
            && self.format.schema() == other.format.schema()
    }

    /// Checks that records of a type are its rows.
    pub fn check<R: Record>(&self) -> Result<(), NodeError> {
        let mut checked = self.checked.lock();
        if !checked.contains(&TypeId::of::<R>()) {
            if self.format.table() != R::TABLE {
                let now = self.format.table();
                return Err(differs(
                    R::TABLE,
                    &format!("it was renamed to {now:?} since"),
                ));
            }
            self.format.check_record::<R>()?;
            checked.push(TypeId::of::<R>());
        }
        Ok(())
    }

    /// True if its rows refer to rows of other tables.
    pub fn has_references(&self) -> bool {
        !self.format.schema().foreign_keys.is_empty()
    }

    /// The tree of an index of the schema; `None`: that of the primary key.
    pub fn tree(&self, index: Option<usize>) -> u32 {
        match index {
            None => self.root,
            // There are as many as the format has.
            Some(number) => self.indexes.get(number).copied().unwrap_or_default(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, TABLE];
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.root.to_le_bytes());
        bytes.extend((self.indexes.len() as u16).to_le_bytes());
        let roots = self.indexes.iter();
        roots.for_each(|root| bytes.extend(root.to_le_bytes()));
        bytes.extend(self.format.schema().encode());
        bytes
    }
}

/// The value under a name.
#[derive(Debug)]
pub(super) enum Definition {
    Table(TableInfo),
    Journal { number: u16, row_bytes: u32 },
    Dropped(Dropped),
}

/// A dropped table whose pages are not all free yet.
#[derive(Debug)]
pub(super) struct Dropped {
    number: u16,
    /// The roots of the trees that are left.
    pub trees: Vec<u32>,
}

/// The error for another definition under this name.
#[cold]
pub(super) fn differs(name: &str, text: &str) -> NodeError {
    TableError::SchemaDiffers {
        table: name.to_string(),
        text: text.to_string(),
    }
    .into()
}

#[cold]
pub(super) fn unknown(name: &str) -> NodeError {
    let table = name.to_string();
    TableError::from(RowError::UnknownTable { table }).into()
}

fn decode(name: &str, bytes: &[u8], root: u32, database: u64) -> Result<Definition, NodeError> {
    let damaged = || damaged(PageId(root.into()), 0, "a definition that is none");
    let (&[version, kind, n0, n1, w0, w1, w2, w3], rest) =
        bytes.split_first_chunk::<HEADER>().ok_or_else(damaged)?;
    let number = u16::from_le_bytes([n0, n1]);
    let word = u32::from_le_bytes([w0, w1, w2, w3]);
    match (version, kind) {
        (VERSION, TABLE) => {
            let (count, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
            let bytes = 4 * usize::from(u16::from_le_bytes(*count));
            let (roots, rest) = rest.split_at_checked(bytes).ok_or_else(damaged)?;
            let roots = roots.as_chunks::<4>().0.iter();
            let indexes: Vec<u32> = roots.map(|root| u32::from_le_bytes(*root)).collect();
            let schema = Schema::decode(rest).map_err(|source| TableError::Schema {
                table: name.to_string(),
                source: Box::new(source),
            })?;
            if schema.indexes.len() != indexes.len() {
                return Err(damaged().into());
            }
            Ok(Definition::Table(TableInfo {
                number,
                root: word,
                indexes,
                format: RowFormat::of_any(name, schema)?,
                database,
                checked: Mutex::default(),
            }))
        }
        (VERSION, JOURNAL) if rest.is_empty() => Ok(Definition::Journal {
            number,
            row_bytes: word,
        }),
        (VERSION, DROPPED) if rest.len() as u64 == 4 * u64::from(word) => {
            let roots = rest.as_chunks::<4>().0.iter();
            let trees = roots.map(|root| u32::from_le_bytes(*root)).collect();
            Ok(Definition::Dropped(Dropped { number, trees }))
        }
        _ => Err(damaged().into()),
    }
}

fn key_of_dropped(number: u16) -> [u8; 3] {
    let [a, b] = number.to_be_bytes();
    [NO_NAME, a, b]
}

/// Something of a table that was dropped, if there is any.
pub(super) fn first_dropped(view: &View<'_>) -> Result<Option<Dropped>, NodeError> {
    let Some(head) = Head::read(view, LockMode::Read)? else {
        return Ok(None);
    };
    let keys = Keys {
        lower: Bound::Included(vec![NO_NAME]),
        upper: Bound::Unbounded,
    };
    let found = entries::scan(view, head.catalogue, &keys, 1, false)?;
    let Some((_, bytes)) = found.into_iter().next() else {
        return Ok(None);
    };
    match decode("", &bytes, head.catalogue, 0)? {
        Definition::Dropped(dropped) => Ok(Some(dropped)),
        _ => Err(damaged(PageId(head.catalogue.into()), 0, "a table without a name").into()),
    }
}

/// Notes the rest of a dropped table; nothing, if nothing is left.
pub(super) fn note_dropped(view: &mut View<'_>, dropped: &Dropped) -> Result<(), NodeError> {
    let catalogue = space::prepare(view)?.catalogue;
    let key = key_of_dropped(dropped.number);
    if dropped.trees.is_empty() {
        return entries::remove(view, catalogue, &key).map(drop);
    }
    let mut bytes = vec![VERSION, DROPPED];
    bytes.extend(dropped.number.to_le_bytes());
    bytes.extend((dropped.trees.len() as u32).to_le_bytes());
    let roots = dropped.trees.iter();
    roots.for_each(|root| bytes.extend(root.to_le_bytes()));
    entries::put(view, catalogue, &key, &bytes).map(drop)
}

/// Notes trees of a table, beside those that are noted, to be emptied.
pub(super) fn drop_trees(view: &mut View<'_>, number: u16, trees: &[u32]) -> Result<(), NodeError> {
    let catalogue = space::prepare(view)?.catalogue;
    let key = key_of_dropped(number);
    let mut dropped = Dropped {
        number,
        trees: trees.to_vec(),
    };
    if let Some(bytes) = entries::get(view, catalogue, &key, Intent::Write)?
        && let Definition::Dropped(before) = decode("", &bytes, catalogue, 0)?
    {
        dropped.trees.extend(before.trees);
    }
    note_dropped(view, &dropped)
}

/// Takes a table out, whose trees are at other roots now.
pub(super) fn take_out(
    view: &mut View<'_>,
    name: &str,
    number: u16,
    trees: Vec<u32>,
) -> Result<(), NodeError> {
    let catalogue = space::prepare(view)?.catalogue;
    entries::remove(view, catalogue, name.as_bytes())?;
    drop_trees(view, number, &trees)?;
    raise_version(view)
}

/// The number of changes of the catalogue at this root.
pub(super) fn version(view: &View<'_>, catalogue: u32) -> Result<u64, NodeError> {
    let found = entries::get(view, catalogue, &KEY_OF_VERSION, Intent::Read)?;
    Ok(found.map_or(0, |bytes| version_of(&bytes)))
}

fn version_of(bytes: &[u8]) -> u64 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Counts a change of the catalogue, or of similar contents of tables.
pub(super) fn raise_version(view: &mut View<'_>) -> Result<(), NodeError> {
    let catalogue = space::prepare_to_define(view)?.catalogue;
    let found = entries::get(view, catalogue, &KEY_OF_VERSION, Intent::Write)?;
    let next = found.map_or(0, |bytes| version_of(&bytes)).wrapping_add(1);
    entries::put(view, catalogue, &KEY_OF_VERSION, &next.to_le_bytes()).map(drop)
}

/// Finds the value under a name.
pub(super) fn find(
    view: &View<'_>,
    name: &str,
    database: u64,
) -> Result<Option<Definition>, NodeError> {
    let Some(head) = Head::read(view, LockMode::Read)? else {
        return Ok(None);
    };
    let found = entries::get(view, head.catalogue, name.as_bytes(), Intent::Read)?;
    let decoded = found.map(|bytes| decode(name, &bytes, head.catalogue, database));
    decoded.transpose()
}

/// All of them.
pub(super) fn all(view: &View<'_>, database: u64) -> Result<Vec<(String, Definition)>, NodeError> {
    let Some(head) = Head::read(view, LockMode::Read)? else {
        return Ok(Vec::new());
    };
    let keys = Keys {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
    };
    let found = entries::scan(view, head.catalogue, &keys, usize::MAX, false)?;
    let found = found.into_iter();
    let decoded = found.filter(|(key, _)| *key != KEY_OF_VERSION);
    let decoded = decoded.map(|(name, bytes)| {
        let name = String::from_utf8_lossy(&name).into_owned();
        let definition = decode(&name, &bytes, head.catalogue, database)?;
        Ok((name, definition))
    });
    decoded.collect()
}

fn add(view: &mut View<'_>, name: &str, bytes: &[u8]) -> Result<(), NodeError> {
    let head = space::prepare(view)?;
    match entries::insert(view, head.catalogue, name.as_bytes(), bytes)? {
        true => raise_version(view),
        false => Err(differs(name, "there is something of this name already")),
    }
}

/// The number of a table or journal that is about to be made.
pub(super) fn take_number(view: &mut View<'_>) -> Result<u16, NodeError> {
    space::prepare(view)?;
    Head::take_number(view)
}

/// Makes a table, of whose name there is nothing.
#[cfg(test)]
pub(super) fn make_table(
    view: &mut View<'_>,
    format: RowFormat,
    database: u64,
) -> Result<TableInfo, NodeError> {
    let number = take_number(view)?;
    make_table_numbered(view, number, format, database)
}

/// The same, with a number that was taken.
pub(super) fn make_table_numbered(
    view: &mut View<'_>,
    number: u16,
    format: RowFormat,
    database: u64,
) -> Result<TableInfo, NodeError> {
    let root = space::make_tree(view)?;
    let indexes = format.schema().indexes.iter();
    let indexes: Vec<u32> = indexes
        .map(|_| space::make_tree(view))
        .collect::<Result<_, _>>()?;
    let info = TableInfo {
        number,
        root,
        indexes,
        format,
        database,
        checked: Mutex::default(),
    };
    add(view, info.format.table(), &info.encode())?;
    Ok(info)
}

/// Stores the changed definition of a table.
pub(super) fn change_table(view: &mut View<'_>, info: &TableInfo) -> Result<(), NodeError> {
    let catalogue = space::prepare(view)?.catalogue;
    let name = info.format.table().as_bytes();
    entries::put(view, catalogue, name, &info.encode())?;
    raise_version(view)
}

/// Moves the definition of a table to another name.
pub(super) fn rename_table(
    view: &mut View<'_>,
    info: &TableInfo,
    to: &str,
) -> Result<(), NodeError> {
    let catalogue = space::prepare(view)?.catalogue;
    entries::remove(view, catalogue, info.format.table().as_bytes())?;
    add(view, to, &info.encode())
}

/// Makes a journal, of whose name there is nothing: its number.
pub(super) fn make_journal(
    view: &mut View<'_>,
    name: &str,
    row_bytes: u32,
) -> Result<u16, NodeError> {
    let number = take_number(view)?;
    let mut bytes = vec![VERSION, JOURNAL];
    bytes.extend(number.to_le_bytes());
    bytes.extend(row_bytes.to_le_bytes());
    add(view, name, &bytes)?;
    Ok(number)
}
