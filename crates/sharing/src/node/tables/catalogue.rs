//! Which tables and journals there are: a tree of its own, by their names.
//!
//! What stands under a name: the version of this, 1 (1 byte); 1: a table, 2: a journal (1 byte); its number (2 bytes);
//! the page of its tree's root, or of a journal the bytes of a row (4 bytes). Of a table then how many indexes it has
//! beside that of the primary key (2 bytes), the page of each one's root (4 bytes each), and its schema, encoded.
//!
//! A table that was dropped has its number under a key that is no name, 255 and the number, until its pages have gone
//! back: the version, 3 and the number as above, how many trees are left (4 bytes), and the page of each one's root.
//!
//! What is there stays as it is, so a node that has read it once, committed, need not read it again ([`Known`]), unless
//! the root is a mark that the table was dropped.

use super::super::NodeError;
use super::entries::{self, Keys};
use super::space::{self, Head};
use super::view::View;
use crate::protocol::LockMode;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{RowError, RowFormat, TableError};
use sardonyx_storage::page::PageId;
use sardonyx_storage::tree::{Intent, damaged};
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

const VERSION: u8 = 1;
const TABLE: u8 = 1;
const JOURNAL: u8 = 2;
const DROPPED: u8 = 3;
/// What no name begins with.
const NO_NAME: u8 = 0xff;
const HEADER: usize = 8;

/// A table that is there.
#[derive(Debug)]
pub(crate) struct TableInfo {
    /// Its number, of this database.
    pub number: u16,
    /// The page of its tree's root.
    pub root: u32,
    /// Those of its indexes beside the primary key's.
    pub indexes: Vec<u32>,
    /// How its rows are bytes.
    pub format: RowFormat,
    /// Which database it is of.
    pub database: u64,
}

/// What stands under a name.
#[derive(Debug)]
pub(super) enum Definition {
    Table(TableInfo),
    Journal { number: u16, row_bytes: u32 },
    Dropped(Dropped),
}

/// A table that was dropped and whose pages have not all gone back.
#[derive(Debug)]
pub(super) struct Dropped {
    number: u16,
    /// The roots of the trees that are left.
    pub trees: Vec<u32>,
}

/// The tables that a node has read of.
#[derive(Debug, Default)]
pub(in super::super) struct Known {
    tables: Mutex<HashMap<String, Arc<TableInfo>>>,
}

impl Known {
    pub fn get(&self, name: &str) -> Option<Arc<TableInfo>> {
        self.tables.lock().get(name).cloned()
    }

    /// There may be another table of this name.
    pub fn forget(&self, name: &str) {
        self.tables.lock().remove(name);
    }

    /// What is committed is known from now on.
    pub fn note(&self, info: &Arc<TableInfo>) {
        let name = info.format.table().to_string();
        self.tables.lock().insert(name, info.clone());
    }
}

/// That there is something else of this name.
#[cold]
pub(super) fn differs(name: &str, text: &str) -> NodeError {
    TableError::SchemaDiffers {
        table: name.to_string(),
        text: text.to_string(),
    }
    .into()
}

/// That there is no such table.
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
                format: RowFormat::new(name, schema)?,
                database,
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

/// The key of a table that was dropped.
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

/// Notes what is left of a table that was dropped; nothing, if nothing is.
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

/// Takes a table out, whose trees are at other roots now.
pub(super) fn take_out(
    view: &mut View<'_>,
    name: &str,
    number: u16,
    trees: Vec<u32>,
) -> Result<(), NodeError> {
    let catalogue = space::prepare(view)?.catalogue;
    entries::remove(view, catalogue, name.as_bytes())?;
    note_dropped(view, &Dropped { number, trees })
}

/// What stands under a name.
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
    let decoded = found.into_iter().map(|(name, bytes)| {
        let name = String::from_utf8_lossy(&name).into_owned();
        let definition = decode(&name, &bytes, head.catalogue, database)?;
        Ok((name, definition))
    });
    decoded.collect()
}

fn add(view: &mut View<'_>, name: &str, bytes: &[u8]) -> Result<(), NodeError> {
    let head = space::prepare(view)?;
    match entries::insert(view, head.catalogue, name.as_bytes(), bytes)? {
        true => Ok(()),
        false => Err(differs(name, "there is something of this name already")),
    }
}

/// Makes a table, of whose name there is nothing.
pub(super) fn make_table(
    view: &mut View<'_>,
    format: RowFormat,
    database: u64,
) -> Result<TableInfo, NodeError> {
    space::prepare(view)?;
    let number = Head::take_number(view)?;
    let root = space::make_tree(view)?;
    let mut bytes = vec![VERSION, TABLE];
    bytes.extend(number.to_le_bytes());
    bytes.extend(root.to_le_bytes());
    let indexes = format.schema().indexes.iter();
    let indexes: Vec<u32> = indexes
        .map(|_| space::make_tree(view))
        .collect::<Result<_, _>>()?;
    bytes.extend((indexes.len() as u16).to_le_bytes());
    indexes
        .iter()
        .for_each(|root| bytes.extend(root.to_le_bytes()));
    bytes.extend(format.schema().encode());
    add(view, format.table(), &bytes)?;
    Ok(TableInfo {
        number,
        root,
        indexes,
        format,
        database,
    })
}

/// Makes a journal, of whose name there is nothing: its number.
pub(super) fn make_journal(
    view: &mut View<'_>,
    name: &str,
    row_bytes: u32,
) -> Result<u16, NodeError> {
    space::prepare(view)?;
    let number = Head::take_number(view)?;
    let mut bytes = vec![VERSION, JOURNAL];
    bytes.extend(number.to_le_bytes());
    bytes.extend(row_bytes.to_le_bytes());
    add(view, name, &bytes)?;
    Ok(number)
}
