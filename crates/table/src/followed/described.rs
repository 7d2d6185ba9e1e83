//! The catalogue and the schemas after a group of the log, compared with the known tables.
//!
//! A table that only got more pages continues. One whose definition, life or schema differs is rebuilt from its pages,
//! which takes as long as at an opening. A created index is built likewise. All others are not concerned.

use super::touched::Touched;
use super::{FollowedSpace, forget_places};
use crate::index_builds::build_ordered_of;
use crate::rebuild::rebuild_table;
use crate::schemas::{definition_of_schemas, read_schemas};
use crate::space::TableSpace;
use crate::table::TableState;
use sardonyx_rows::TableError;
use sardonyx_rows::schema::Schema;
use sardonyx_storage::catalogue::{CATALOGUE_PAGES, Catalogue, UNDO_AREA, unfinished};
use sardonyx_storage::page::PageId;
use std::sync::Arc;

/// The owner of each page.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// The first page, the one behind the last, and the table or area; in the order of the pages.
    extents: Vec<(u64, u64, u16)>,
    /// The table of schemas, if there is one.
    schemas: Option<u16>,
    /// The table in which multi-level transactions keep their undo, if the database ever had any.
    undo: Option<u16>,
    /// The catalogue's own pages behind the first ones: the first of each run, and the one behind its last.
    catalogue: Vec<(u64, u64)>,
    /// Tables that were rebuilt with the group that is being applied, by number.
    rebuilt: Vec<u16>,
}

impl Owners {
    /// The owners of the pages, from a catalogue.
    pub fn of(catalogue: &Catalogue) -> Result<Owners, TableError> {
        let numbers = 0..catalogue.definitions.len() as u16;
        let mut extents: Vec<_> = numbers
            .flat_map(|number| {
                let extents = catalogue.extents_of(number);
                extents.map(move |extent| (extent.first_page.0, extent.end(), number))
            })
            .collect();
        extents.sort_unstable();
        Ok(Owners {
            extents,
            schemas: catalogue.number_of(&definition_of_schemas())?,
            undo: catalogue.area(UNDO_AREA)?,
            catalogue: catalogue.own_runs(),
            rebuilt: Vec::new(),
        })
    }

    /// True if a page is one of the catalogue's.
    #[inline]
    pub fn is_catalogue(&self, page: PageId) -> bool {
        let mut runs = self.catalogue.iter();
        page.0 < CATALOGUE_PAGES || runs.any(|(first, end)| (*first..*end).contains(&page.0))
    }

    /// The table or area that has a page.
    #[inline]
    pub fn of_page(&self, page: PageId) -> Option<u16> {
        let behind = self.extents.partition_point(|(first, ..)| *first <= page.0);
        let (_, end, number) = *self.extents.get(behind.checked_sub(1)?)?;
        (page.0 < end).then_some(number)
    }

    /// True if the tables are to be described again when this table or area changes.
    pub fn has_descriptions(&self, number: u16) -> bool {
        [self.schemas, self.undo].contains(&Some(number))
    }

    /// True if the table's indexes have all rows of the group that is being applied.
    pub fn was_rebuilt(&self, table: u16) -> bool {
        self.rebuilt.contains(&table)
    }

    /// The next group is another one.
    pub fn forget_rebuilt(&mut self) {
        self.rebuilt.clear();
    }
}

impl FollowedSpace {
    /// Takes the tables and their descriptions from the pages.
    pub(super) fn describe(&mut self, touched: &mut Touched) -> Result<(), TableError> {
        let TableSpace {
            store,
            tables,
            indexes,
            leaving,
            catalogue: before,
            workers,
            hash,
            ..
        } = &mut self.space;
        let catalogue = Catalogue::read(store)?;
        unfinished::refuse(store.bytes(), &catalogue)?;
        let mut schemas = read_schemas(store.bytes(), &catalogue)?;
        let mut rebuilt = Vec::new();
        while tables.len() > catalogue.definitions.len() {
            if let Some(mut gone) = tables.pop() {
                gone.release(indexes, leaving);
            }
        }
        while tables.len() < catalogue.definitions.len() {
            tables.push(None);
        }
        for number in 0..catalogue.definitions.len() as u16 {
            let schema = schemas.remove(&number);
            if let Some(state) = &tables[usize::from(number)]
                && is_as_before(before, &catalogue, number, state, schema.as_ref())
            {
                let known = state.extents.len();
                let mut more = catalogue.extents_of(number).skip(known).peekable();
                if more.peek().is_some()
                    && let Some(state) = tables.state_mut(number)
                {
                    state.extents.extend(more);
                }
                continue;
            }
            let place = tables.get_mut(number).expect("it has a number");
            if let Some(mut state) = place.take() {
                state.release(indexes, leaving);
            }
            let (pages, schema) = (store.bytes(), schema.map(Arc::new));
            let made = rebuild_table(pages, &catalogue, number, schema, indexes, *workers, *hash)?;
            if let Some(mut state) = made {
                let definition = &catalogue.definitions[usize::from(number)];
                build_ordered_of(pages, definition, &mut state, indexes, *workers)?;
                forget_places(&mut state);
                *place = Some(state);
                rebuilt.push(number);
            }
            tables.note_references(number);
        }
        self.owners = Owners {
            rebuilt,
            ..Owners::of(&catalogue)?
        };
        self.space.catalogue = catalogue;
        // Their entries were built with all others.
        touched
            .rows
            .retain(|_, (table, _)| !self.owners.was_rebuilt(*table));
        Ok(())
    }
}

/// True if a table is as it was, but for more pages behind those that it had.
fn is_as_before(
    before: &Catalogue,
    now: &Catalogue,
    number: u16,
    state: &TableState,
    schema: Option<&Schema>,
) -> bool {
    let place = usize::from(number);
    let is_same_schema = match schema {
        Some(schema) => state.schema_is_stored && *state.schema == *schema,
        None => !state.schema_is_stored,
    };
    before.definitions.get(place) == now.definitions.get(place)
        && state.life == now.life(number)
        && is_same_schema
        && {
            let extents: Vec<_> = now.extents_of(number).collect();
            extents.starts_with(&state.extents)
        }
}
