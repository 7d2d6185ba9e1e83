//! Packing: the contents of a table space written again into new pages, as few as its rows take.
//!
//! Of each table first the rows and the cells of their values are counted. So it is known how many pages of each use
//! it needs. Then they are copied, in the order of their places: rows into pages of the newest shape, values into new
//! cells. Columns that were added later have their defaults in rows of before then, as if each had been changed.
//! Values of dropped columns of text and bytes are not copied.
//!
//! Tables keep their numbers, which journals, references and schemas name. Areas are copied as they are.

use crate::space::TableSpace;
use crate::table::{TableState, page_bytes};
use sardonyx_rows::TableError;
use sardonyx_rows::layout::{PageKind, PageLayout, PageUse};
use sardonyx_rows::row::{RowRef, set_column};
use sardonyx_rows::schema::{Schema, ValueRef};
use sardonyx_rows::values::{CLASSES, NEXT_BYTES, Reference, layout_of, next_cell, read_value};
use sardonyx_storage::catalogue::Catalogue;
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};
use sardonyx_storage::store::PageStore;

/// The space that a table needs.
#[derive(Clone, Debug, Default)]
struct Needs {
    rows: u64,
    /// Cells by size class.
    cells: [u64; CLASSES],
}

impl Needs {
    #[inline]
    fn add_value(&mut self, length: usize) {
        let mut left = length;
        while left > 0 {
            let (class, bytes) = next_cell(left);
            self.cells[usize::from(class)] += 1;
            left -= bytes;
        }
    }

    #[inline]
    fn row_pages(&self, layout: PageLayout) -> u64 {
        self.rows.div_ceil(layout.records as u64)
    }

    /// Pages of the cells of a class.
    #[inline]
    fn value_pages(&self, class: usize) -> u64 {
        self.cells[class].div_ceil(layout_of(class as u8).records as u64)
    }

    #[inline]
    fn pages(&self, layout: PageLayout) -> u64 {
        self.row_pages(layout)
            + (0..CLASSES)
                .map(|class| self.value_pages(class))
                .sum::<u64>()
    }
}

impl TableSpace {
    /// The same tables, journals and areas in a store of their own, of at most so many bytes. Each table has as many
    /// pages as its rows take. [`TableSpace::open`] opens the tables of it.
    ///
    /// ```
    /// # use sardonyx_storage::store::PageStore;
    /// # use sardonyx_table::TableSpace;
    /// let (space, _) = TableSpace::open(PageStore::reserve(1 << 20)?, 1)?;
    /// assert_eq!(space.packed(1 << 20)?.pages(), 0);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TableError::Store`] if there is no memory, or not so much; [`TableError::Catalogue`] (`Limit`) if areas leave
    /// too many free pieces.
    #[inline]
    pub fn packed(&self, bytes_max: u64) -> Result<PageStore, TableError> {
        let mut store = PageStore::reserve(bytes_max)?;
        let mut needs = Vec::with_capacity(self.tables.len());
        for state in &self.tables {
            needs.push(match state {
                Some(state) => needs_of(self.store.bytes(), state)?,
                None => Needs::default(),
            });
        }
        let catalogue = self.catalogue.packed(&|number| {
            let number = usize::from(number);
            self.tables[number]
                .as_ref()
                .map_or(0, |state| needs[number].pages(state.layout))
        })?;
        store.grow_to(catalogue.pages)?;
        for write in catalogue.whole() {
            let at = write.address.0 as usize;
            store.bytes_mut()[at..][..write.bytes.len()].copy_from_slice(&write.bytes);
        }
        for area in catalogue.areas() {
            for extent in catalogue.extents_of(area) {
                let start = extent.first_page.address().0 as usize;
                let bytes = start..start + extent.pages as usize * PAGE_SIZE;
                store.bytes_mut()[bytes.clone()].copy_from_slice(&self.store.bytes()[bytes]);
            }
        }
        for (number, (state, needs)) in self.tables.iter().zip(&needs).enumerate() {
            if let Some(state) = state {
                let number = number as u16;
                Packing::new(&catalogue, number, state, needs, store.bytes_mut())
                    .copy(self.store.bytes())?;
            }
        }
        Ok(store)
    }
}

/// The columns of a row that its page's shape has not, with their values.
#[inline]
fn added(
    schema: &Schema,
    shape: u8,
) -> impl Iterator<Item = (&sardonyx_rows::schema::Column, ValueRef<'_>)> {
    let live = schema.live_columns();
    live.filter(move |(_, column)| column.since_shape > shape)
        .map(|(_, column)| (column, column.default.as_ref()))
}

#[inline]
fn needs_of(pages: &[u8], state: &TableState) -> Result<Needs, TableError> {
    let mut needs = Needs::default();
    let schema = &state.schema;
    let has_values = schema.variable_columns().next().is_some();
    for address in state.records(pages) {
        needs.rows += 1;
        if !has_values {
            continue;
        }
        let row = RowRef::new(pages, schema, &state.name, address)?;
        for (_, column) in schema.live_columns().filter(|(_, c)| c.kind.is_variable()) {
            let length = match column.since_shape > row.shape() {
                true => default_bytes(column.default.as_ref()).len(),
                false => Reference::at(row.fixed(), column.offset).len(),
            };
            if length > sardonyx_rows::values::INLINE_BYTES_MAX {
                needs.add_value(length);
            }
        }
    }
    Ok(needs)
}

/// The bytes of a default of text or bytes.
#[inline]
fn default_bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(text) => text.as_bytes(),
        ValueRef::Bytes(bytes) => bytes,
        _ => &[],
    }
}

/// A table that is being copied into its new pages.
struct Packing<'a> {
    state: &'a TableState,
    /// The new pages: all of the store.
    to: &'a mut [u8],
    /// The table's, in order.
    pages: Vec<PageId>,
    /// Rows that were copied.
    rows: u64,
    row_pages: u64,
    /// By class: the first of its pages, by its place among the table's, and cells that were filled.
    cells: [(u64, u64); CLASSES],
}

impl<'a> Packing<'a> {
    #[inline]
    fn new(
        catalogue: &Catalogue,
        number: u16,
        state: &'a TableState,
        needs: &Needs,
        to: &'a mut [u8],
    ) -> Self {
        let pages = catalogue
            .extents_of(number)
            .flat_map(|extent| extent.first_page.0..extent.end())
            .map(PageId)
            .collect();
        let row_pages = needs.row_pages(state.layout);
        let mut packing = Packing {
            state,
            to,
            pages,
            rows: 0,
            row_pages,
            cells: [(0, 0); CLASSES],
        };
        let with_sum = catalogue.version() > 1;
        let life = catalogue.life(number);
        let word = |kind| {
            PageUse {
                table: number,
                life,
                kind,
            }
            .word(with_sum)
        };
        let shape = state.shape();
        packing.name_pages(0..row_pages, word(PageKind::Rows { shape }));
        let mut first = row_pages;
        for class in 0..CLASSES {
            let behind = first + needs.value_pages(class);
            packing.cells[class].0 = first;
            packing.name_pages(first..behind, word(PageKind::Values { class: class as u8 }));
            first = behind;
        }
        debug_assert_eq!(first, packing.pages.len() as u64);
        packing
    }

    /// Writes the last word of pages.
    #[inline]
    fn name_pages(&mut self, pages: std::ops::Range<u64>, word: u64) {
        for page in pages {
            let at = PageLayout::table_word(self.pages[page as usize]).0 as usize;
            self.to[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Copies all rows.
    #[inline]
    fn copy(mut self, from: &[u8]) -> Result<(), TableError> {
        let schema = &*self.state.schema;
        let (mut fixed, mut value) = (Vec::new(), Vec::new());
        let is_plain = schema.variable_columns().next().is_none();
        for address in self.state.records(from) {
            let content = page_bytes(from, address.page());
            if is_plain && self.state.is_of_newest_shape(content) {
                let bytes = &from[address.0 as usize..][..self.state.layout.stride];
                self.put_row(bytes);
                continue;
            }
            let row = RowRef::new(from, schema, &self.state.name, address)?;
            fixed.clear();
            fixed.extend_from_slice(row.fixed());
            fixed.resize(schema.row_bytes, 0);
            let there = schema.variable_columns();
            for column in there.filter(|column| column.since_shape <= row.shape()) {
                let before = Reference::at(&fixed, column.offset);
                let after = match before.cell() {
                    _ if column.dropped => Reference::default(),
                    None => before,
                    Some(_) => {
                        value.clear();
                        read_value(from, &before, &self.state.name, &mut value)?;
                        self.put_value(&value)
                    }
                };
                fixed[column.offset..][..after.0.len()].copy_from_slice(&after.0);
            }
            for (column, default) in added(schema, row.shape()) {
                set_column(&mut fixed, &self.state.name, column, default, |_, bytes| {
                    Ok(Reference::inline(bytes).unwrap_or_else(|| self.put_value(bytes)))
                })?;
            }
            self.put_row(&fixed);
        }
        debug_assert_eq!(
            self.rows.div_ceil(self.state.layout.records as u64),
            self.row_pages
        );
        Ok(())
    }

    /// Puts a row's fixed part at the next place.
    #[inline]
    fn put_row(&mut self, bytes: &[u8]) {
        let layout = self.state.layout;
        let place = self.rows;
        self.rows += 1;
        let at = self.take(layout, 0, place);
        self.to[at.0 as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Puts a value that is too long for its reference into cells.
    #[inline]
    fn put_value(&mut self, value: &[u8]) -> Reference {
        let mut cells = Vec::new();
        let mut left = value.len();
        while left > 0 {
            let (class, bytes) = next_cell(left);
            let (first, place) = self.cells[usize::from(class)];
            self.cells[usize::from(class)].1 += 1;
            cells.push((self.take(layout_of(class), first, place), bytes));
            left -= bytes;
        }
        let mut rest = value;
        for (number, (cell, bytes)) in cells.iter().enumerate() {
            let mut at = cell.0 as usize;
            if let Some((next, _)) = cells.get(number + 1) {
                self.to[at..at + NEXT_BYTES].copy_from_slice(&next.0.to_le_bytes());
                at += NEXT_BYTES;
            }
            let (part, behind) = rest.split_at(*bytes);
            self.to[at..at + part.len()].copy_from_slice(part);
            rest = behind;
        }
        Reference::outside(value, cells[0].0)
    }

    /// Occupies a place among those in the pages from `first` on: its address.
    #[inline]
    fn take(&mut self, layout: PageLayout, first: u64, place: u64) -> Address {
        let records = layout.records as u64;
        let page = self.pages[(first + place / records) as usize];
        let slot = (place % records) as usize;
        let (word, bit) = layout.occupancy(page, slot);
        let word = &mut self.to[word.0 as usize..][..8];
        let before = u64::from_le_bytes((&*word).try_into().expect("8 bytes"));
        word.copy_from_slice(&(before | bit).to_le_bytes());
        layout.record(page, slot)
    }
}
