//! The catalogue of a database, as every verb that recovers prints it.

use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units;
use sardonyx_storage::catalogue::unfinished;
use sardonyx_storage::catalogue::{Catalogue, CatalogueError, Definition, Kind};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;
use serde::Serialize;

/// Tables, journals and areas, and unfinished multi-level transactions.
#[derive(Clone, Serialize, Debug)]
pub struct CatalogueFigures {
    /// In the order of their numbers.
    pub definitions: Vec<Line>,
    /// Multi-level transactions that have not ended: their changes may still be undone.
    pub unfinished_transactions: u64,
}

/// A table, journal or area.
#[derive(Clone, Serialize, Debug)]
pub struct Line {
    number: usize,
    name: String,
    /// `table`, `journal` or `area`.
    kind: &'static str,
    /// Of a record or row; 0 for an area.
    record_bytes: usize,
    extents: usize,
    pages: u64,
    /// Of a table whose pages were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    /// Of a table whose pages were read: names and types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Serialize, Debug)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    nullable: bool,
}

impl Line {
    fn of(catalogue: &Catalogue, number: usize, definition: &Definition) -> Self {
        let extents = || catalogue.extents_of(number as u16);
        Line {
            number,
            name: definition.name.clone(),
            kind: match definition.kind {
                Kind::Table { .. } => "table",
                Kind::Journal => "journal",
                Kind::Area => "area",
                Kind::Dropped => "dropped",
            },
            record_bytes: definition.record_bytes,
            extents: extents().count(),
            pages: extents().map(|extent| extent.pages).sum(),
            rows: None,
            columns: Vec::new(),
        }
    }
}

impl Line {
    fn columns_in_words(&self) -> String {
        let in_words = |column: &Column| {
            let null = if column.nullable { "?" } else { "" };
            format!("{} {}{null}", column.name, column.kind)
        };
        let columns: Vec<String> = self.columns.iter().map(in_words).collect();
        columns.join(", ")
    }
}

impl CatalogueFigures {
    /// The figures of a catalogue's pages.
    pub fn of(pages: &[u8], catalogue: &Catalogue) -> Self {
        let definitions = catalogue.definitions.iter().enumerate();
        CatalogueFigures {
            definitions: definitions
                .map(|(number, definition)| Line::of(catalogue, number, definition))
                .collect(),
            unfinished_transactions: unfinished::count(pages, catalogue),
        }
    }

    /// The figures of recovered pages; `None` if they hold no tables: the database is empty, or the mapped way created
    /// it.
    ///
    /// # Errors
    /// The catalogue is not valid.
    pub fn of_store(store: &mut PageStore) -> Result<Option<Self>, CatalogueError> {
        if !Catalogue::is_in(store.bytes()) {
            return Ok(None);
        }
        let catalogue = Catalogue::read(store)?;
        Ok(Some(Self::of(store.bytes(), &catalogue)))
    }

    /// Adds the figures that need the tables' pages: the number of rows, and the columns.
    pub fn look_into(&mut self, space: &TableSpace) {
        let view = space.view();
        for line in &mut self.definitions {
            let Ok(rows) = view.rows_of(line.number as u16) else {
                continue;
            };
            line.rows = rows.count().ok();
            let columns = rows.schema().live_columns();
            let columns = columns.map(|(_, column)| Column {
                name: column.name.clone(),
                kind: column.kind.to_string(),
                nullable: column.is_nullable(),
            });
            line.columns = columns.collect();
        }
    }

    /// The warning about unfinished transactions, if there are any.
    pub fn warning(&self) -> Option<String> {
        let transactions = self.unfinished_transactions;
        let error = CatalogueError::Unfinished { transactions };
        (transactions > 0).then(|| error.to_string())
    }

    /// Adds the numbers to a sheet.
    pub fn print(&self, sheet: &mut Sheet) {
        sheet.heading("Catalogue");
        for (plural, kind) in [
            ("tables", "table"),
            ("journals", "journal"),
            ("areas", "area"),
        ] {
            let of_kind = || self.definitions.iter().filter(|line| line.kind == kind);
            let bytes = of_kind().map(|line| line.pages).sum::<u64>() * PAGE_SIZE as u64;
            let count = units::count(of_kind().count() as u64);
            match bytes {
                0 => sheet.figure(plural, count),
                _ => sheet.remarked(plural, count, units::bytes(bytes)),
            }
        }
        if self.unfinished_transactions > 0 {
            let count = units::count(self.unfinished_transactions);
            let remark = "multi-level: opening it that way undoes them";
            sheet.remarked("unfinished transactions", count, remark);
        }
    }

    /// The catalogue as a table, a line for each definition.
    pub fn table(&self) -> Table {
        let names = [
            "#number",
            "kind",
            "name",
            "#record bytes",
            "#extents",
            "#pages",
            "#rows",
            "columns",
        ];
        let mut table = Table::new(names);
        for line in &self.definitions {
            table.row([
                line.number.to_string(),
                line.kind.into(),
                line.name.clone(),
                line.record_bytes.to_string(),
                line.extents.to_string(),
                line.pages.to_string(),
                line.rows.map_or(String::new(), |rows| rows.to_string()),
                line.columns_in_words(),
            ]);
        }
        table
    }
}
