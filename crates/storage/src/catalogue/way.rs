//! The way in which a database was made, read from its first pages.
//!
//! Tables and operations share the catalogue; the memory of a segment, the tables of nodes and the pages of a page
//! server have marks of their own. Pages that closely coupled nodes use by number have no mark.

use super::{
    CATALOGUE_PAGES, Catalogue, DefinitionBytes, ExtentBytes, MAGIC, is_empty, read_entry,
};
use crate::page::PAGE_SIZE;
use std::fmt;

/// The mark of a database that was made by the mapped way of running transactions.
const SEGMENT_MAGIC: [u8; 8] = *b"SDXSEGMT";
/// The mark of a database in which closely coupled nodes made their tables.
pub const NODES_MAGIC: [u8; 8] = *b"SdxNRows";
/// The mark of the database of a page server, from which loosely coupled nodes have their pages.
pub const PAGE_SERVER_MAGIC: [u8; 8] = *b"SdxPages";

/// The way in which a database was made. It can be opened in no other one, but for tables and operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Way {
    /// Nothing was put into it: any way can open it.
    Empty,
    /// Tables, or operations.
    Tables,
    /// The memory that processes share.
    Memory,
    /// Tables of closely coupled nodes.
    NodeTables,
    /// The page server of loosely coupled nodes.
    PageServer,
    /// Pages that are used by number, as closely coupled nodes do.
    Pages,
}

impl Way {
    /// The way that made these recovered pages.
    pub fn of(pages: &[u8]) -> Way {
        let starts = |magic: &[u8; 8]| pages.starts_with(magic);
        if starts(&SEGMENT_MAGIC) {
            return Way::Memory;
        }
        if starts(&NODES_MAGIC) {
            return Way::NodeTables;
        }
        if starts(&PAGE_SERVER_MAGIC) {
            return Way::PageServer;
        }
        if starts(&MAGIC) {
            return Way::Tables;
        }
        if pages.iter().all(|&byte| byte == 0) {
            return Way::Empty;
        }
        // A damaged root still has the definitions and the extents behind it.
        match lists_something(pages) {
            true => Way::Tables,
            false => Way::Pages,
        }
    }

    /// The way to use such a database.
    fn use_it(self) -> &'static str {
        match self {
            Way::Empty => "open it in any way",
            Way::Tables => "open it as tables or as operations",
            Way::Memory => "open it as memory",
            Way::NodeTables => {
                "open it as closely coupled nodes, as `sql`, `serve` and `import` do; `rows`, `schema` and `export` read its tables"
            }
            Way::PageServer => {
                "open it with the page server of its nodes (`cluster up` if it is in a cluster's directory); `rows`, `schema` \
                 and `export` read the tables of its nodes"
            }
            Way::Pages => {
                "open it as memory or as closely coupled nodes, as it was made (`cluster up` if it is in a cluster's \
                 directory); it has no tables to be read"
            }
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Empty => "an empty database",
            Way::Tables => "a database of tables or operations",
            Way::Memory => "a database of memory that processes share (the heap of a mapped segment)",
            Way::NodeTables => "a database of closely coupled nodes, with tables of theirs",
            Way::PageServer => "the database of the page server of loosely coupled nodes",
            Way::Pages => {
                "a database whose pages are used by number and hold no tables, as those of closely coupled nodes"
            }
        })
    }
}

/// True if pages have a first definition or a first extent behind the root.
fn lists_something(pages: &[u8]) -> bool {
    let Some(bytes) = pages.get(..CATALOGUE_PAGES as usize * PAGE_SIZE) else {
        return false;
    };
    let catalogue = Catalogue::default();
    let (definition, extent) = (catalogue.definition_address(0), catalogue.extent_address(0));
    let defines = !is_empty::<DefinitionBytes>(bytes, definition)
        && read_entry::<DefinitionBytes>(bytes, definition)
            .decode()
            .is_ok();
    let extent: ExtentBytes = read_entry(bytes, extent);
    defines || (extent.first_page == CATALOGUE_PAGES && extent.pages > 0)
}

/// The text of a refusal: the way of the database, and the ways that open it.
pub(super) fn refusal(way: Way) -> String {
    format!("this is {way}: {}", way.use_it())
}
