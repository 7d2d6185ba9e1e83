//! `INSERT … ON CONFLICT` as a part of a statement with several parts that write. Its result depends on the keys of the
//! rows that are there when it inserts, after the changes of the parts before. These changes are known and not made
//! yet, so their keys are noted here, beside the state before the statement.
//!
//! A row that no part has changed is the same before the statement and now. A row that a part has put in or changed cannot
//! be changed a second time. So no other value of a changed row is needed than its keys.
//!
//! Invariant: each change of a statement is noted once, whichever the number of its parts.

use super::effects::{Effect, Gathered, Touched};
use super::insert::{InsertPlan, Target};
use super::insert_run::{Inserting, found, twice};
use super::write::{check_whole, columns_of, whole_row};
use crate::error::SqlError;
use crate::expression::{Environment, Kept};
use crate::indexed::ColumnValue;
use crate::memory::Memory;
use crate::rows::Values;
use crate::source::Source;
use crate::values::equality_keys::key_of;
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use std::collections::HashMap;

/// The keys in unique indexes that decide conflicts, as far as a statement changes them.
pub(crate) struct Arbiters<'p, 'm> {
    tables: HashMap<u16, OfTable<'p>>,
    memory: Memory<'m>,
}

struct OfTable<'p> {
    /// One of the parts that insert into the table.
    plan: &'p InsertPlan,
    indexes: Vec<OfIndex<'p>>,
}

struct OfIndex<'p> {
    target: &'p Target,
    /// True of a key that a row has which a part puts in or changes; false of one that no row has any more.
    keys: HashMap<Vec<u8>, bool>,
}

/// The row whose key a new row has.
enum Clash {
    None,
    /// The statement itself has put it in, or changes it.
    Own,
    /// This one, which the statement does not change.
    Row(Vec<Value>),
}

impl OfIndex<'_> {
    /// The key of a row as bytes; `None` if it has a null, and collides with no row.
    fn key_of(&self, row: &[Value]) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        for column in &self.target.columns {
            let value = row.get(*column)?;
            if *value == Value::Null && !self.target.nulls_equal {
                return None;
            }
            key_of(value.as_ref(), &mut key);
        }
        Some(key)
    }

    /// Notes a row's key. Returns the bytes that this takes.
    fn note(&mut self, row: &[Value], is_there: bool) -> usize {
        #[cfg(test)]
        noted::KEYS.set(noted::KEYS.get() + 1);
        let Some(key) = self.key_of(row) else {
            return 0;
        };
        let bytes = key.len() + size_of::<(Vec<u8>, bool)>();
        self.keys.insert(key, is_there);
        bytes
    }
}

impl<'p, 'm> Arbiters<'p, 'm> {
    /// Of the tables into which plans insert with `ON CONFLICT`.
    pub fn of(plans: impl Iterator<Item = &'p InsertPlan>, memory: Memory<'m>) -> Self {
        let mut tables: HashMap<u16, OfTable<'p>> = HashMap::new();
        for plan in plans {
            let Some(conflict) = &plan.conflict else {
                continue;
            };
            let table = tables.entry(plan.number).or_insert_with(|| OfTable {
                plan,
                indexes: Vec::new(),
            });
            for target in &conflict.arbiters {
                let mut known = table.indexes.iter();
                if !known.any(|known| known.target.index == target.index) {
                    table.indexes.push(OfIndex {
                        target,
                        keys: HashMap::new(),
                    });
                }
            }
        }
        Arbiters { tables, memory }
    }

    /// Notes the keys of rows that a part changes.
    ///
    /// # Errors
    /// Evaluation and read errors.
    pub fn note(
        &mut self,
        source: &dyn Source,
        effects: &[Effect<'_>],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        for effect in effects {
            let number = match effect {
                Effect::Insert(plan, _) => plan.number,
                Effect::Update(changes, _) => changes.number,
                Effect::Delete(number, _) => *number,
            };
            let Some(table) = self.tables.get_mut(&number) else {
                continue;
            };
            // Rows may exchange their keys: all old ones go before new ones come.
            let (mut gone, mut come) = (Vec::new(), Vec::new());
            let mut memory = with.memory();
            let before = |key: &[Value]| {
                with.context.look_at_row()?;
                let mut there = None;
                source.point(number, key, &mut |row| {
                    there = Some(whole_row(row, table.plan.width)?);
                    Ok(false)
                })?;
                Ok::<_, SqlError>(there)
            };
            match effect {
                Effect::Insert(_, rows) => {
                    for row in rows {
                        with.context.look_at_row()?;
                        come.push(row.clone());
                    }
                }
                Effect::Update(_, changes) => {
                    for change in changes {
                        let Some(there) = change.key().map(before).transpose()?.flatten() else {
                            continue;
                        };
                        let mut row = there.clone();
                        for (column, value) in &change.values {
                            row[*column] = value.clone();
                        }
                        memory.take(&there)?;
                        gone.push(there);
                        come.push(row);
                    }
                }
                Effect::Delete(_, keys) => {
                    for key in keys {
                        if let Some(there) = before(key)? {
                            memory.take(&there)?;
                            gone.push(there);
                        }
                    }
                }
            }
            for row in &mut come {
                ColumnValue::fill(&table.plan.generated, row, with)?;
                memory.take(row)?;
            }
            for index in &mut table.indexes {
                let gone = gone.iter().map(|row| index.note(row, false));
                let mut bytes: usize = gone.sum();
                bytes += come.iter().map(|row| index.note(row, true)).sum::<usize>();
                self.memory.take_bytes(bytes)?;
            }
        }
        Ok(())
    }

    /// Notes a row that comes, in the place of another one if there is one.
    fn replace(
        &mut self,
        number: u16,
        before: Option<&[Value]>,
        row: &[Value],
    ) -> Result<(), SqlError> {
        let table = self.tables.get_mut(&number);
        for index in table.into_iter().flat_map(|table| &mut table.indexes) {
            let gone = before.map_or(0, |before| index.note(before, false));
            let bytes = gone + index.note(row, true);
            self.memory.take_bytes(bytes)?;
        }
        Ok(())
    }

    /// The row with which a new row collides in the indexes that decide it.
    fn clash(
        &self,
        source: &dyn Source,
        (plan, targets): (&InsertPlan, &[Target]),
        row: &[Value],
    ) -> Result<Clash, SqlError> {
        let indexes = self.tables.get(&plan.number);
        for index in indexes.into_iter().flat_map(|table| &table.indexes) {
            let mut targets = targets.iter();
            if !targets.any(|target| target.index == index.target.index) {
                continue;
            }
            let Some(key) = index.key_of(row) else {
                continue;
            };
            match index.keys.get(&key) {
                Some(true) => return Ok(Clash::Own),
                Some(false) => {}
                None => {
                    if let Some(there) = found(source, plan, index.target, row)? {
                        return Ok(Clash::Row(there));
                    }
                }
            }
        }
        Ok(Clash::None)
    }
}

impl InsertPlan {
    /// Finds out the changes of an `INSERT … ON CONFLICT` as a part of a statement, for its whole rows. Subqueries read the
    /// state before the statement, with their kept results.
    ///
    /// # Errors
    /// Evaluation and read errors; `21000` if a row is to be changed twice.
    pub(super) fn decide<'p>(
        &'p self,
        tx: &mut dyn WriteTarget,
        (with, kept): (&Environment<'_>, &Kept),
        rows: Vec<Vec<Value>>,
        (arbiters, touched): (&mut Arbiters<'p, '_>, &mut Touched),
    ) -> Result<Gathered<'p>, SqlError> {
        let Some(conflict) = &self.conflict else {
            return Ok(Gathered::default());
        };
        let mut inserting = Inserting::of(self, with);
        let mut effects: Vec<Effect<'p>> = Vec::new();
        let mut memory = with.memory();
        for mut row in rows {
            with.context.look_at_row()?;
            // Conditions see whole rows. The row gets its number when it is stored.
            inserting.number(&*tx, &mut row)?;
            ColumnValue::fill(&self.generated, &mut row, with)?;
            let checked = check_whole(tx, self.number, &row);
            checked.map_err(|error| inserting.failed(error, &row))?;
            let clash = arbiters.clash(&*tx, (self, &conflict.arbiters), &row)?;
            let mut there = match (clash, &conflict.update) {
                (Clash::None, _) => {
                    arbiters.replace(self.number, None, &row)?;
                    inserting.inserted(&row, &with.over(&*tx, kept))?;
                    memory.take(&row)?;
                    match effects.last_mut() {
                        Some(Effect::Insert(_, rows)) => rows.push(row),
                        _ => effects.push(Effect::Insert(self, vec![row])),
                    }
                    continue;
                }
                (Clash::Own | Clash::Row(_), None) => continue,
                (Clash::Own, Some(_)) => return Err(twice()),
                (Clash::Row(there), Some(_)) => there,
            };
            let Some((changes, condition)) = &conflict.update else {
                continue;
            };
            let key = columns_of(&Values(&there), &self.key)?;
            let before = there.clone();
            there.extend(row);
            if let Some(condition) = condition
                && !condition.holds(&Values(&there), &with.over(&*tx, kept))?
            {
                continue;
            }
            touched.note(self.number, &key, &mut memory)?;
            let reading = &with.over(&*tx, kept);
            let change = changes.of_given(&*tx, &Values(&there), reading, key)?;
            arbiters.replace(self.number, Some(&before), &change.row)?;
            inserting.inserted(&change.row, &with.over(&*tx, kept))?;
            memory.take_bytes(change.bytes())?;
            // Each row is changed alone: rows of one change may exchange keys, and PostgreSQL refuses that here.
            effects.push(Effect::Update(changes, vec![change]));
        }
        memory.keep();
        Ok(Gathered {
            count: inserting.count,
            table: inserting.table,
            effects,
        })
    }
}

/// The number of keys that a test's statements have noted.
#[cfg(test)]
pub(crate) mod noted {
    std::thread_local! {
        pub static KEYS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
}

#[cfg(test)]
mod tests;
