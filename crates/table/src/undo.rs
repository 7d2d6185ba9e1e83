//! The steps to undo the running transaction: before-images of bytes, and changes of memory. They are undone from the
//! end, so that every step finds the state that it was made in.
//!
//! The arena is kept from transaction to transaction, so that nothing is allocated on the hot path.
//!
//! Source: TPK paper, Figure 2 ("copy all records to be modified, for use in case of abort").

use crate::index::HashIndex;
use crate::made_beside::MadeBeside;
use crate::secondary::{Secondary, What};
use crate::space::TableSpace;
use crate::table::{SchemaBefore, Slot, TableState, remove_from_index};
use crate::tables::Tables;
use sardonyx_rows::constraints::Marks;
use sardonyx_rows::key::KeyShape;
use sardonyx_rows::schema::Schema;
use sardonyx_storage::catalogue::Catalogue;
use sardonyx_storage::log::seal::LogMark;
use sardonyx_storage::page::{Address, PageId};
use std::sync::Arc;

/// A point in a running transaction, to whose state its steps can be undone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoPoint {
    pub steps: usize,
    pub log: LogMark,
}

/// One step to undo.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// These bytes were here; their images are at the arena's end.
    Bytes { address: Address, length: u32 },
    /// A record was put into a place: taken from the free list, or fresh.
    Inserted {
        table: u16,
        address: Address,
        freed: bool,
        fresh_before: Slot,
    },
    /// A record was removed, and its place put into the free list, if it is of the newest shape.
    Deleted {
        table: u16,
        address: Address,
        freed: bool,
    },
    /// The occupancy of a value page, or its use, changed; it was made one for cells of `class` if it was none before.
    /// Pushed before the bytes change.
    Values { table: u16, page: PageId, class: u8 },
    /// A page was taken. It was never used, and the page before left free places; or it is an empty one of an earlier
    /// shape, with places of its own.
    PageTaken {
        table: u16,
        places: u32,
        fresh_before: Slot,
    },
    /// A row was put into these ordered indexes of its table, as bits.
    Indexed {
        table: u16,
        address: Address,
        indexes: u32,
    },
    /// A row was taken out of these.
    Unindexed {
        table: u16,
        address: Address,
        indexes: u32,
    },
    /// A table got an ordered index, behind those that it had.
    IndexCreated { table: u16 },
    /// A table lost an ordered index, the last of [`Undo::indexes`]; it was the one with this number.
    IndexDropped { table: u16, number: u8 },
    /// An ordered index of a table has another name; its former definition is the last of [`Undo::renamed`].
    IndexRenamed { table: u16, number: u8 },
    /// The hashes of a table's primary keys are others; those before are the last of [`Undo::hashes`].
    HashReplaced { table: u16 },
    /// Tables, or their names or extents, changed; the last of [`Undo::replaced`] is the former state.
    Replaced,
    /// A table got another schema; the one before is the last of [`Undo::schemas`].
    Schema { table: u16 },
}

/// The running transaction's steps.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    steps: Vec<Step>,
    images: Vec<u8>,
    schemas: Vec<SchemaBefore>,
    replaced: Vec<Replaced>,
    /// Indexes that were dropped.
    indexes: Vec<Secondary>,
    /// The definitions of indexes from before they were renamed.
    renamed: Vec<Arc<What>>,
    /// Indexes of primary keys that were replaced.
    hashes: Vec<HashedBefore>,
    /// Entries of ordered indexes that were inserted or removed.
    index_changes: usize,
    /// Places that the transaction marked, each behind the one before.
    marks: Marks<UndoPoint>,
}

/// The former index of a table's primary keys.
#[derive(Debug)]
pub(crate) struct HashedBefore {
    pub index: HashIndex,
    pub is_hashed: bool,
    pub key: Option<Arc<KeyShape>>,
}

/// The state from before a table was dropped, emptied at once, renamed, or got free pages.
#[derive(Debug)]
pub(crate) struct Replaced {
    pub catalogue: Catalogue,
    pub table: u16,
    pub was: Was,
}

/// A table's former state.
#[derive(Debug)]
pub(crate) enum Was {
    State(Option<Box<TableState>>),
    /// With the same pages, but another name.
    Named {
        name: Arc<str>,
        fingerprint: u64,
    },
    /// With an extent less.
    Smaller,
    /// Not there: it has got a new number.
    Absent,
    /// In this state, before it took over the content under another number.
    TakenOver(Box<TakenOver>),
    /// The content of a table that did not exist.
    Adopted(MadeBeside),
}

/// A table before it took over its next content.
#[derive(Debug)]
pub(crate) struct TakenOver {
    pub state: TableState,
    /// The number of the content, and its former state.
    pub from: u16,
    pub made: MadeBeside,
    pub schema: Arc<Schema>,
}

impl Undo {
    #[inline(always)]
    pub fn push_bytes(&mut self, address: Address, image: &[u8]) {
        self.images.extend_from_slice(image);
        self.steps.push(Step::Bytes {
            address,
            length: image.len() as u32,
        });
    }

    pub fn push(&mut self, step: Step) {
        debug_assert!(!matches!(step, Step::Bytes { .. }));
        self.steps.push(step);
    }

    /// Notes a former state.
    pub fn push_replaced(&mut self, mut before: Replaced) {
        before.catalogue = before.catalogue.kept();
        self.replaced.push(before);
        self.steps.push(Step::Replaced);
    }

    /// Returns true if a table was replaced or an index dropped: their memory is freed once undo is no longer
    /// possible.
    #[inline]
    pub fn keeps_memory(&self) -> bool {
        !self.replaced.is_empty() || !self.indexes.is_empty() || !self.hashes.is_empty()
    }

    /// Takes the replaced states, once undo is no longer possible.
    pub fn take_replaced(&mut self) -> Vec<Replaced> {
        std::mem::take(&mut self.replaced)
    }

    /// Places to which the transaction may go back.
    pub fn marks(&mut self) -> &mut Marks<UndoPoint> {
        &mut self.marks
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Notes which schema a table had.
    pub fn push_schema(&mut self, table: u16, before: SchemaBefore) {
        self.schemas.push(before);
        self.steps.push(Step::Schema { table });
    }

    /// Notes that so many entries of indexes are about to change; returns how many are in all.
    pub fn count_index_changes(&mut self, more: u32) -> usize {
        self.index_changes += more as usize;
        self.index_changes
    }

    /// Notes an index that a table lost.
    pub fn push_index(&mut self, table: u16, number: u8, index: Secondary) {
        self.indexes.push(index);
        self.steps.push(Step::IndexDropped { table, number });
    }

    /// Notes how an index was defined before it was renamed.
    pub fn push_renamed(&mut self, table: u16, number: u8, before: Arc<What>) {
        self.renamed.push(before);
        self.steps.push(Step::IndexRenamed { table, number });
    }

    /// Notes how a table's primary keys were hashed.
    pub fn push_hash(&mut self, table: u16, before: HashedBefore) {
        self.hashes.push(before);
        self.steps.push(Step::HashReplaced { table });
    }

    /// Hashes that were replaced, for good when the transaction has ended.
    pub fn replaced_hash(&mut self) -> Option<HashIndex> {
        Some(self.hashes.pop()?.index)
    }

    /// An index that was dropped, for good when the transaction has ended.
    pub fn dropped_index(&mut self) -> Option<Secondary> {
        self.indexes.pop()
    }

    /// Takes the last step; for bytes, their image stays at the end until `drop_image`.
    pub fn pop(&mut self) -> Option<Step> {
        self.steps.pop()
    }

    /// The image of the step of bytes that was pushed last.
    pub fn last_image(&self, length: usize) -> &[u8] {
        &self.images[self.images.len() - length..]
    }

    pub fn drop_image(&mut self, length: usize) {
        self.images.truncate(self.images.len() - length);
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.marks.is_empty()
    }

    #[inline]
    pub fn clear(&mut self) {
        self.steps.clear();
        self.images.clear();
        self.index_changes = 0;
        self.marks.truncate(0);
        self.renamed.clear();
        if !self.schemas.is_empty() {
            self.schemas.clear();
        }
    }
}

/// Undoes the steps behind the first ones, of which there are so many.
pub(crate) fn undo_steps(space: &mut TableSpace, first: usize) {
    let replaced = space.undo.replaced.len();
    while space.undo.len() > first
        && let Some(step) = space.undo.pop()
    {
        undo_step(space, step);
    }
    if space.undo.replaced.len() < replaced {
        let kept = std::mem::take(&mut space.catalogue);
        space.catalogue = kept.restored();
    }
}

/// Undoes one step, the last that is not undone yet.
fn undo_step(space: &mut TableSpace, step: Step) {
    let TableSpace {
        store,
        indexes,
        leaving,
        tables,
        catalogue,
        undo,
        epoch,
        ..
    } = space;
    match step {
        Step::Bytes { address, length } => {
            let length = length as usize;
            store.write(address, undo.last_image(length));
            undo.drop_image(length);
        }
        Step::Inserted {
            table,
            address,
            freed,
            fresh_before,
        } => {
            let state = state_of(tables, table);
            remove_from_index(state, indexes, store.bytes(), address);
            if freed {
                state.free.push(address);
            }
            state.fresh = fresh_before;
            *epoch += 1;
        }
        Step::Deleted {
            table,
            address,
            freed,
        } => {
            let state = state_of(tables, table);
            if freed {
                let place = state.free.pop();
                debug_assert_eq!(place, Some(address));
            }
            if state.is_hashed {
                let hash = state.hash_at(store.bytes(), address);
                state.index.insert(indexes, hash, address);
            }
        }
        Step::Values { table, page, class } => {
            let state = state_of(tables, table);
            let named = state.number_in_pages(table);
            state.values.refresh(store.bytes(), named, page, class);
        }
        Step::PageTaken {
            table,
            places,
            fresh_before,
        } => {
            let state = state_of(tables, table);
            state.free.truncate(state.free.len() - places as usize);
            state.fresh = fresh_before;
        }
        Step::Indexed {
            table,
            address,
            indexes: bits,
        } => {
            let state = state_of(tables, table);
            for index in chosen(&mut state.secondary, bits) {
                let removed = index.remove(indexes, store.bytes(), address);
                removed.expect("its key was read before");
            }
        }
        Step::Unindexed {
            table,
            address,
            indexes: bits,
        } => {
            let state = state_of(tables, table);
            for index in chosen(&mut state.secondary, bits) {
                let inserted = index.insert(indexes, store.bytes(), address, &String::new);
                inserted.expect("it was there, and there is room for its entry");
            }
        }
        Step::IndexCreated { table } => {
            let index = state_of(tables, table).secondary.pop();
            leaving.push(index.expect("it was created").tree);
        }
        Step::HashReplaced { table } => {
            let state = state_of(tables, table);
            let before = undo.hashes.pop().expect("noted with the step");
            state.index.clear(indexes);
            state.index = before.index;
            (state.is_hashed, state.hashed_key) = (before.is_hashed, before.key);
        }
        Step::IndexDropped { table, number } => {
            let index = undo.indexes.pop().expect("noted with the step");
            let secondary = &mut state_of(tables, table).secondary;
            secondary.insert(usize::from(number), index);
        }
        Step::IndexRenamed { table, number } => {
            let before = undo.renamed.pop().expect("noted with the step");
            state_of(tables, table).secondary[usize::from(number)].what = before;
        }
        Step::Schema { table } => {
            let state = state_of(tables, table);
            state.restore_schema(undo.schemas.pop().expect("noted with the step"));
            state.note_hashed();
            tables.note_references(table);
        }
        Step::Replaced => {
            let before = undo.replaced.pop().expect("noted with the step");
            *catalogue = before.catalogue;
            if matches!(before.was, Was::Absent) {
                if let Some(mut state) = tables.pop() {
                    state.release(indexes, leaving);
                }
                return;
            }
            let place = tables.get_mut(before.table).expect("it has a number");
            match (before.was, &mut *place) {
                (Was::State(state), now) => {
                    if let Some(now) = now {
                        now.release(indexes, leaving);
                    }
                    *place = state.map(|state| *state);
                }
                (Was::Named { name, fingerprint }, Some(now)) => {
                    now.name = name;
                    now.fingerprint = fingerprint;
                }
                (Was::Smaller, Some(now)) => drop(now.extents.pop()),
                (Was::Adopted(made), Some(now)) => now.beside = Some(made),
                (Was::TakenOver(was), Some(now)) => {
                    let mut content = std::mem::replace(now, was.state);
                    content.take_schema(was.schema, true);
                    content.beside = Some(was.made);
                    let from = tables.get_mut(was.from).expect("it has a number");
                    *from = Some(content);
                    tables.note_references(was.from);
                }
                (_, None) | (Was::Absent, _) => unreachable!("it is a table"),
            }
            tables.note_references(before.table);
            *epoch += 1;
        }
    }
}

/// The indexes whose bits are set.
pub(crate) fn chosen(indexes: &mut [Secondary], bits: u32) -> impl Iterator<Item = &mut Secondary> {
    let numbered = indexes.iter_mut().enumerate();
    let chosen = numbered.filter(move |(number, _)| bits >> number & 1 == 1);
    chosen.map(|(_, index)| index)
}

fn state_of(tables: &mut Tables, table: u16) -> &mut TableState {
    tables.state_mut(table).expect("it is a table")
}
