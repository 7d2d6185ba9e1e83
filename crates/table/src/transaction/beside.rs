//! A table's next content. Any number of transactions build it beside the present one, and one transaction then
//! switches to it. Before that, readers and writers of the table do not see it.
//!
//! The catalogue has the new content as a table of the engine's own without rows. Its pages name the future table, and
//! a life that this does not have yet. If the process ends before the switch, the content is an empty table. It is
//! dropped when the content of any table is begun, with its table, and by [`Transaction::forget_all_beside`].
//!
//! The content may be of another schema than the table, if a definition is to rewrite the rows. [`Redefined`] has that
//! schema, from a trial of the definition on the emptied table. The transaction that switches runs the definition again on
//! the emptied table. So the rows of the content are the only rows that the definition ever meets.
//!
//! A definition may also create the table. Then the content has the number that the table is to get, and the table's
//! catalogue entry is the content's with the table's name ([`Adopting`]).

use super::Transaction;
use crate::View;
use crate::made_beside::{Adopting, MadeBeside};
use crate::table::TableState;
use crate::undo::{TakenOver, Was};
use sardonyx_base::error::Error;
use sardonyx_rows::row::RowWriter;
use sardonyx_rows::schema::{Schema, ValueRef};
use sardonyx_rows::{Conflict, ConflictWith, RESERVED, TableError, WriteRows};
use sardonyx_storage::catalogue::Definition;
use std::sync::Arc;

/// A table's next content. Dropping this handle abandons the content.
#[derive(Debug)]
pub struct Beside {
    table: u16,
    /// The number under which the content is made.
    number: u16,
    /// The life of the table before, and with the content.
    lives: [u32; 2],
    /// The table's schema when this began.
    schema: Arc<Schema>,
    /// The content's schema, if a definition makes another one.
    next: Option<Arc<Schema>>,
    /// The catalogue's entry of the table, if a definition creates it.
    created: Option<Definition>,
    owner: Arc<()>,
}

/// A table without rows as a definition leaves it.
#[derive(Debug)]
pub struct Redefined {
    table: u16,
    before: Before,
    state: TableState,
}

/// A table before a definition.
#[derive(Debug)]
enum Before {
    Schema(Arc<Schema>),
    /// The definition creates it, with this entry of the catalogue.
    Absent(Definition),
}

impl Redefined {
    /// The table's number. A table that the definition creates may get another one.
    #[inline]
    pub fn table(&self) -> u16 {
        self.table
    }

    /// The schema after the definition.
    #[inline]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.state.schema
    }
}

impl Beside {
    /// The table whose content it is.
    #[inline]
    pub fn table(&self) -> u16 {
        self.table
    }
}

#[inline]
fn name_of(table: u16) -> String {
    format!("{RESERVED}next.{table}")
}

#[inline]
fn is_next_content(name: &str) -> bool {
    let rest = name.strip_prefix(RESERVED);
    rest.is_some_and(|rest| rest.starts_with("next."))
}

impl View<'_> {
    /// True if a table has a next content, in progress or left by a dead process.
    #[doc(hidden)]
    #[inline]
    pub fn has_next_contents(&self) -> bool {
        let mut definitions = self.definitions().iter();
        definitions.any(|definition| is_next_content(&definition.name))
    }
}

impl Transaction<'_> {
    /// Begins a table's next content, which is empty. It is checked as the table's rows are, but for references.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another one is being made; [`Error::Refused`] if there is no such table; [`Error::Limit`],
    /// [`Error::Full`]. Nothing is changed then.
    #[doc(hidden)]
    #[inline]
    pub fn begin_beside(&mut self, table: u16) -> Result<Beside, Error> {
        Ok(self.whole(|tx| tx.try_begin_beside(table, None))?)
    }

    /// The same for rows of another schema.
    ///
    /// # Errors
    /// [`Transaction::begin_beside`]; [`Error::Conflict`] if the table's schema has changed since the trial.
    #[doc(hidden)]
    #[inline]
    pub fn begin_redefined(&mut self, redefined: &Redefined) -> Result<Beside, Error> {
        let begin = |tx: &mut Self| match &redefined.before {
            Before::Schema(_) => tx.try_begin_beside(redefined.table, Some(redefined)),
            Before::Absent(definition) => tx.try_begin_created(definition, &redefined.state),
        };
        Ok(self.whole(begin)?)
    }

    /// Tries a definition that creates a table, and undoes it. `create` returns the table's number.
    ///
    /// # Errors
    /// The definition's error. Nothing has changed in any case.
    #[doc(hidden)]
    #[inline]
    pub fn try_create<E: From<Error>>(
        &mut self,
        create: impl FnOnce(&mut Self) -> Result<u16, E>,
    ) -> Result<Redefined, E> {
        let point = self.undo_point();
        let tried = create(self).and_then(|table| {
            let state = self.described_empty(table).map_err(Error::from)?;
            let definition = self.space.catalogue.definitions[usize::from(table)].clone();
            Ok(Redefined {
                table,
                before: Before::Absent(definition),
                state,
            })
        });
        self.undo_to(point);
        tried
    }

    /// Tries a definition on a table without its rows, and undoes it. Returns how it leaves the table.
    ///
    /// # Errors
    /// The definition's error, the errors of [`Transaction::truncate`]. Nothing has changed in any case.
    #[doc(hidden)]
    #[inline]
    pub fn try_redefine<E: From<Error>>(
        &mut self,
        table: u16,
        define: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<Redefined, E> {
        let before = Arc::clone(&self.row_state(table).map_err(Error::from)?.schema);
        let point = self.undo_point();
        let tried = self.redefine_empty(table, define);
        let state = tried.and_then(|()| Ok(self.described_empty(table).map_err(Error::from)?));
        self.undo_to(point);
        Ok(Redefined {
            table,
            before: Before::Schema(before),
            state: state?,
        })
    }

    /// Runs a definition on a table without its rows.
    #[inline]
    fn redefine_empty<T, E: From<Error>>(
        &mut self,
        table: u16,
        define: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.empty(table)?;
        let done = define(self)?;
        // It may have dropped the table.
        self.row_state(table).map_err(Error::from)?;
        Ok(done)
    }

    /// A state without pages that is described as a table is.
    #[inline]
    fn described_empty(&self, table: u16) -> Result<TableState, TableError> {
        self.described_by(table, self.row_state(table)?)
    }

    #[inline]
    fn try_begin_beside(
        &mut self,
        table: u16,
        redefined: Option<&Redefined>,
    ) -> Result<Beside, TableError> {
        let state = self.row_state(table)?;
        if let Some(redefined) = redefined
            && !matches!(&redefined.before, Before::Schema(before) if Arc::ptr_eq(before, &state.schema))
        {
            return Err(self.beside_conflict(table));
        }
        if state.feed.is_some() {
            // Each row that changes is to be kept: in the transactions that change it.
            return Err(self.beside_conflict(table));
        }
        let life_before = state.life;
        let name = name_of(table);
        self.drop_all_left()?;
        if self.next_content(table).is_some() {
            return Err(self.beside_conflict(table));
        }
        self.require_newer_catalogue(table)?;
        let mut definition = self.space.catalogue.definitions[usize::from(table)].clone();
        definition.name = name;
        let number = self.declare(definition)?;
        let schema = Arc::clone(&self.state(table).schema);
        let state = match redefined {
            None => self.described_empty(table)?,
            Some(redefined) => self.described_by(table, &redefined.state)?,
        };
        let (life, owner) = self.give_content(number, table, state)?;
        Ok(Beside {
            table,
            number,
            lives: [life_before, life],
            schema,
            next: redefined.map(|redefined| Arc::clone(redefined.schema())),
            created: None,
            owner,
        })
    }

    /// Begins the content of a table to be created.
    #[inline]
    fn try_begin_created(
        &mut self,
        created: &Definition,
        state: &TableState,
    ) -> Result<Beside, TableError> {
        self.drop_all_left()?;
        let number = self.space.catalogue.next_number();
        // The declaration has the error of a number that is too large.
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        if let Some(made) = self.next_content(number) {
            return Err(self.beside_conflict(made));
        }
        let mut definition = created.clone();
        definition.name = name_of(number);
        let declared = self.declare(definition)?;
        if declared != number {
            return Err(self.beside_conflict(declared));
        }
        let empty = TableState::new(created, self.space.hash)?;
        let empty = empty.ok_or(TableError::UnknownHandle { number })?;
        let (life, owner) = self.give_content(number, number, empty.described_as(state))?;
        Ok(Beside {
            table: number,
            number,
            lives: [life, life],
            schema: Arc::clone(&self.state(number).schema),
            next: Some(Arc::clone(&state.schema)),
            created: Some(created.clone()),
            owner,
        })
    }

    /// An empty state of a table, described as another one.
    #[inline]
    fn described_by(&self, table: u16, by: &TableState) -> Result<TableState, TableError> {
        let definition = &self.space.catalogue.definitions[usize::from(table)];
        let state = TableState::new(definition, self.space.hash)?;
        let state = state.ok_or(TableError::UnknownHandle { number: table })?;
        Ok(state.described_as(by))
    }

    /// The rows under a number are from now on the content of a table, which may be the same. Returns the life that the
    /// content's pages name, and the owner.
    #[inline]
    fn give_content(
        &mut self,
        number: u16,
        table: u16,
        state: TableState,
    ) -> Result<(u32, Arc<()>), TableError> {
        let catalogue = self.space.catalogue.clone();
        let (life, writes) = self.space.catalogue.give_life()?;
        let made = self.state(number);
        let (name, fingerprint) = (made.name.clone(), made.fingerprint);
        self.note(number, Was::Named { name, fingerprint }, catalogue);
        self.write_catalogue(&writes);
        let owner = Arc::new(());
        let mut state = state.in_life(life);
        let own = Arc::clone(&state.schema);
        if !own.foreign_keys.is_empty() {
            let mut own = (*own).clone();
            own.foreign_keys.clear();
            state.take_schema(Arc::new(own), true);
        }
        let mut indexes = own.indexes.iter();
        state.is_checked = !own.checks.is_empty() || indexes.any(|index| index.deferrable);
        state.is_referenced = false;
        state.beside = Some(MadeBeside {
            of: table,
            owner: Arc::downgrade(&owner),
        });
        self.space.may_be_indexed |= state.is_indexed();
        // The undo of the declaration takes any state of the table.
        if let Some(place) = self.space.tables.get_mut(number) {
            *place = Some(state);
        }
        Ok((life, owner))
    }

    /// Inserts a row into a table's next content.
    ///
    /// # Errors
    /// The errors of inserting into the table; [`Error::Conflict`] if it is not made any more.
    #[doc(hidden)]
    #[inline]
    pub fn insert_beside(&mut self, beside: &Beside, row: RowWriter<'_>) -> Result<(), Error> {
        self.check_beside(beside)?;
        self.insert_row_of(beside.number, row)?;
        Ok(())
    }

    /// Deletes the row with a key from a table's next content. Returns false if there is no such row.
    ///
    /// # Errors
    /// The errors of deleting from the table; [`Error::Conflict`] if it is not made any more.
    #[doc(hidden)]
    #[inline]
    pub fn delete_beside(&mut self, beside: &Beside, key: &[ValueRef<'_>]) -> Result<bool, Error> {
        self.check_beside(beside)?;
        let Some(at) = WriteRows::find_row(self, beside.number, key)? else {
            return Ok(false);
        };
        self.delete_row_alone(beside.number, at)?;
        Ok(true)
    }

    /// Returns true if a table is unchanged since its next content was begun.
    #[inline]
    fn is_beside(&self, beside: &Beside) -> bool {
        self.row_state(beside.table).is_ok_and(|state| {
            state.life == beside.lives[0] && Arc::ptr_eq(&state.schema, &beside.schema)
        })
    }

    /// A table's next content becomes its content.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the table has changed but for its rows, or the content is not made any more;
    /// [`Error::Limit`]. Nothing has changed then.
    #[doc(hidden)]
    #[inline]
    pub fn take_over(&mut self, beside: Beside) -> Result<(), Error> {
        self.check_beside(&beside)?;
        let schema = Arc::clone(&beside.schema);
        if beside.next.is_some() {
            return Err(self.beside_conflict(beside.table).into());
        }
        self.switch(beside, schema)
    }

    /// Runs a definition on a table without its rows, and has the table take over a content of the schema that this
    /// makes. The transaction must be undone after an error.
    ///
    /// # Errors
    /// [`Transaction::take_over`]; the definition's error; [`Error::Conflict`] if it makes another schema than in its trial.
    #[doc(hidden)]
    #[inline]
    pub fn take_over_redefined<T, E: From<Error>>(
        &mut self,
        beside: Beside,
        define: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.check_beside(&beside).map_err(Error::from)?;
        if let Some(definition) = &beside.created {
            return self.create_adopting(definition.clone(), &beside, define);
        }
        let table = beside.table;
        let done = self.redefine_empty(table, define)?;
        let now = self.row_state(table).map_err(Error::from)?;
        let schema = Arc::clone(&now.schema);
        if now.feed.is_some() || beside.next.as_deref() != Some(&*schema) {
            return Err(Error::from(self.beside_conflict(table)).into());
        }
        self.switch(beside, schema)?;
        Ok(done)
    }

    /// Runs a definition that creates the table of a content.
    #[inline]
    fn create_adopting<T, E: From<Error>>(
        &mut self,
        definition: Definition,
        beside: &Beside,
        define: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.space.adopting = Some(Adopting {
            definition,
            number: beside.number,
            life: beside.lives[1],
            owner: Arc::downgrade(&beside.owner),
        });
        let done = define(self);
        let is_left = self.space.adopting.take().is_some();
        let done = done?;
        let now = self.row_state(beside.number).map_err(Error::from)?;
        if is_left || now.feed.is_some() || beside.next.as_deref() != Some(&*now.schema) {
            return Err(Error::from(self.beside_conflict(beside.number)).into());
        }
        Ok(done)
    }

    /// The number of a table that is being created, if a content is to be its rows. The content gets the table's name.
    ///
    /// # Errors
    /// [`TableError::Limit`]; nothing has changed then.
    pub(super) fn adopt(&mut self, definition: &Definition) -> Result<Option<u16>, TableError> {
        let adopting = self.space.adopting.as_ref();
        let Some(of) = adopting.filter(|adopting| adopting.is_of(definition)) else {
            return Ok(None);
        };
        let (number, life) = (of.number, of.life);
        let mut catalogue = self.space.catalogue.clone();
        let writes = catalogue.adopt(number, &definition.name, life)?;
        self.check_room_for(&writes)?;
        let state = self.space.tables.state_mut(number);
        let state = state.ok_or(TableError::UnknownHandle { number })?;
        let was = match state.beside.take() {
            Some(made) => Was::Adopted(made),
            None => return Err(TableError::UnknownHandle { number }),
        };
        let before = std::mem::replace(&mut self.space.catalogue, catalogue);
        self.note(number, was, before);
        self.write_catalogue(&writes);
        self.space.adopting = None;
        Ok(Some(number))
    }

    /// A content becomes that of its table, which has this schema.
    #[inline]
    fn switch(&mut self, beside: Beside, schema: Arc<Schema>) -> Result<(), Error> {
        let Beside {
            table,
            number,
            lives,
            ..
        } = beside;
        let before = self.space.catalogue.clone();
        let mut catalogue = before.clone();
        let writes = catalogue.take_over(table, number, lives[1]);
        let writes = writes.map_err(TableError::from)?;
        self.check_room_for(&writes)?;
        let made = self.space.tables.get_mut(number).and_then(Option::take);
        let (Some(mut state), Some(now)) = (made, self.space.tables.state_mut(table)) else {
            return Err(TableError::UnknownHandle { number }.into());
        };
        let own_schema = Arc::clone(&state.schema);
        state.take_schema(schema, now.schema_is_stored);
        state.fingerprint = now.fingerprint;
        // It may have another name by now.
        state.name = now.name.clone();
        state.feed = now.feed.clone();
        state.checks = None;
        state.generated = None;
        state.changes += now.changes;
        let made = state.beside.take();
        let before_it = std::mem::replace(now, state);
        let was = match made {
            Some(made) => Was::TakenOver(Box::new(TakenOver {
                state: before_it,
                from: number,
                made,
                schema: own_schema,
            })),
            None => Was::State(Some(Box::new(before_it))),
        };
        self.note(table, was, before);
        self.space.tables.note_references(table);
        self.space.tables.note_references(number);
        self.space.catalogue = catalogue;
        self.write_catalogue(&writes);
        Ok(())
    }

    /// Drops a table's next content, if it has no owner any more.
    ///
    /// # Errors
    /// [`Error::Limit`]; nothing has changed then.
    #[doc(hidden)]
    #[inline]
    pub fn forget_beside(&mut self, table: u16) -> Result<(), Error> {
        match self.next_content(table) {
            Some(number) if !self.is_being_made(number) => {
                Ok(self.whole(|tx| tx.drop_numbered(number))?)
            }
            _ => Ok(()),
        }
    }

    /// Drops the next contents of all tables that are not made any more: processes that ended left them.
    ///
    /// # Errors
    /// [`Error::Limit`]; nothing has changed then.
    #[doc(hidden)]
    #[inline]
    pub fn forget_all_beside(&mut self) -> Result<(), Error> {
        Ok(self.whole(Self::drop_all_left)?)
    }

    /// The same, in a call that may be undone.
    #[inline]
    fn drop_all_left(&mut self) -> Result<(), TableError> {
        for number in 0..self.space.catalogue.definitions.len() as u16 {
            let name = &self.space.catalogue.definitions[usize::from(number)].name;
            if is_next_content(name) && !self.is_being_made(number) {
                self.drop_numbered(number)?;
            }
        }
        Ok(())
    }

    /// The number under which a table's next content is made, or was.
    #[inline]
    pub(super) fn next_content(&self, table: u16) -> Option<u16> {
        self.space.catalogue.table_named(&name_of(table)).ok()
    }

    /// The number and the life of a table's next content that a statement is making now: no later content has both.
    #[doc(hidden)]
    #[inline]
    pub fn made_beside(&self, table: u16) -> Option<(u16, u32)> {
        // The content of a table that does not exist has the number of that table.
        let number = self.next_content(table).filter(|number| *number != table)?;
        let content = || (number, self.state(number).life);
        self.is_being_made(number).then(content)
    }

    /// Returns true if a content has an owner that builds it.
    #[inline]
    fn is_being_made(&self, number: u16) -> bool {
        let state = self.space.tables.get(usize::from(number));
        let made = state.and_then(Option::as_ref);
        let made = made.and_then(|state| state.beside.as_ref());
        made.is_some_and(|made| made.owner.strong_count() > 0)
    }

    #[inline]
    fn check_beside(&self, beside: &Beside) -> Result<(), TableError> {
        let state = self.space.tables.get(usize::from(beside.number));
        let made = state.and_then(Option::as_ref);
        let made = made.and_then(|state| state.beside.as_ref());
        let is_made = made.is_some_and(|made| made.owner.as_ptr() == Arc::as_ptr(&beside.owner));
        match is_made && self.is_beside(beside) {
            true => Ok(()),
            false => Err(self.beside_conflict(beside.table)),
        }
    }

    #[cold]
    fn beside_conflict(&self, table: u16) -> TableError {
        let table = self.space.name(table);
        TableError::Conflict(Box::new(Conflict::new(table, ConflictWith::Schema)))
    }
}
