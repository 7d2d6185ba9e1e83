//! `UPDATE` and `DELETE`: all rows are found before the first is changed, so that no change is found again.

use super::changes::{Change, Changes, Found, compile_changes};
use super::effects::{Effect, Gathered, Touched, delete};
use super::output::{Output, compile_items};
use super::planning::Planning;
use super::target::{Among, Target, TargetDraft};
use super::triggers::{Event, RowTriggers};
pub(crate) use super::whole::{check_whole, insert_whole, whole, with_row};
use crate::error::SqlError;
use crate::expression::{Environment, Kept, Scope};
use crate::rows::{InputRow, Table, Values};
use crate::source::Source;
use crate::write_target::WriteTarget;
use sardonyx::schema::{OnDelete, Value};
use sqlparser::ast::{self, FromTable, SelectItem, UpdateTableFromKind};
use std::sync::Arc;

/// A compiled `UPDATE`.
#[derive(Debug)]
pub(crate) struct UpdatePlan {
    pub target: Target,
    pub changes: Changes,
    pub returning: Option<Output>,
}

/// A compiled `DELETE`.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub target: Target,
    pub returning: Option<Output>,
    /// True if foreign keys refer to the table's rows.
    pub is_referenced: bool,
    /// True if rows of other tables are deleted or changed with them.
    pub takes_others: bool,
    pub triggers: Option<Arc<RowTriggers>>,
}

/// Compiles `UPDATE`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_update(
    planning: &mut Planning<'_>,
    update: &ast::Update,
) -> Result<UpdatePlan, SqlError> {
    let others = match &update.from {
        None => &[][..],
        Some(UpdateTableFromKind::AfterSet(others)) => others,
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(SqlError::syntax("FROM stands behind SET"));
        }
    };
    let draft = TargetDraft::new(planning, "UPDATE", &update.table, others)?;
    let (relation, scope) = (&draft.relation, &draft.scope);
    let changes = compile_changes(planning, relation, scope, &update.assignments)?;
    let returning = compile_returning(planning, scope, update.returning.as_deref())?;
    let mut target = draft.finish(planning, update.selection.as_ref())?;
    target.mode = changes.row_mode();
    Ok(UpdatePlan {
        target,
        changes,
        returning,
    })
}

/// Compiles `DELETE`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_delete(
    planning: &mut Planning<'_>,
    delete: &ast::Delete,
) -> Result<DeletePlan, SqlError> {
    let tables = match &delete.from {
        FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables) => tables,
    };
    let [table] = tables.as_slice() else {
        return Err(SqlError::unsupported(
            "DELETE changes one table: others stand behind USING",
        ));
    };
    let others = delete.using.as_deref().unwrap_or_default();
    let draft = TargetDraft::new(planning, "DELETE", table, others)?;
    let returning = compile_returning(planning, &draft.scope, delete.returning.as_deref())?;
    Ok(DeletePlan {
        triggers: RowTriggers::of(planning, &draft.relation)?,
        is_referenced: is_referenced(planning.source, draft.relation.number),
        takes_others: takes_others(planning.source, draft.relation.number),
        target: draft.finish(planning, delete.selection.as_ref())?,
        returning,
    })
}

/// Compiles `RETURNING`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn compile_returning(
    planning: &mut Planning<'_>,
    scope: &Scope,
    items: Option<&[SelectItem]>,
) -> Result<Option<Output>, SqlError> {
    let Some(items) = items else {
        return Ok(None);
    };
    let mut compiler = planning.compiler(scope);
    let mut items = compile_items(&mut compiler, scope, items)?;
    super::output::decide(&mut compiler, &mut items)?;
    Ok(Some(Output::new(items)))
}

/// True if rows of this table or of another one refer to this table's rows.
pub(crate) fn is_referenced(source: &dyn Source, number: u16) -> bool {
    !source.referring(number).is_empty()
}

/// All columns of a row, by number.
pub(crate) fn whole_row(row: &dyn InputRow, width: usize) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(width);
    for column in 0..width {
        values.push(row.value(column)?.to_value());
    }
    Ok(values)
}

/// True if rows are deleted or changed with rows of this table that are deleted.
fn takes_others(source: &dyn Source, number: u16) -> bool {
    let referring = source.referring(number);
    let mut schemas = referring.iter().filter_map(|by| source.schema(*by));
    schemas.any(|schema| {
        let mut keys = schema.foreign_keys.iter();
        keys.any(|key| key.table == number && key.on_delete != OnDelete::Restrict)
    })
}

/// Returns the values of some columns.
pub(crate) fn columns_of(row: &dyn InputRow, columns: &[usize]) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(columns.len());
    for column in columns {
        values.push(row.value(*column)?.to_value());
    }
    Ok(values)
}

impl UpdatePlan {
    /// Runs the statement over the given rows. Returns the number of changed rows and the rows of `RETURNING`.
    ///
    /// # Errors
    /// Evaluation, read and write errors.
    pub fn run(
        &self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
        among: Among<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let by_key = self.changes.moves || self.changes.may_collide;
        let changes = self.changes_of(&*tx, with, among, by_key, &mut |_| Ok(true))?;
        let table = self.returned(&*tx, &changes, with)?;
        // Reading is finished.
        self.changes.apply(tx, &changes, with)?;
        Ok((changes.len() as u64, table))
    }

    /// Finds out the changes as a part of a statement, except of rows that another part has changed.
    ///
    /// # Errors
    /// Evaluation and read errors.
    pub fn gather(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        touched: &mut Touched,
    ) -> Result<Gathered<'_>, SqlError> {
        let mut memory = with.memory();
        let number = self.target.number;
        let mut is_free = |key: &[Value]| touched.note(number, key, &mut memory);
        // An address may be that of another row once other parts have made their changes.
        let changes = self.changes_of(source, with, Among::All, true, &mut is_free)?;
        let table = self.returned(source, &changes, with)?;
        for change in &changes {
            memory.take_bytes(change.bytes())?;
        }
        memory.take(&table.values)?;
        memory.keep();
        Ok(Gathered {
            count: changes.len() as u64,
            table,
            effects: vec![Effect::Update(&self.changes, changes)],
        })
    }

    /// The changes of the rows for whose keys `is_free` holds, if rows are found by keys.
    fn changes_of(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        among: Among<'_>,
        by_key: bool,
        is_free: &mut dyn FnMut(&[Value]) -> Result<bool, SqlError>,
    ) -> Result<Vec<Change>, SqlError> {
        let mut changes = Vec::new();
        let own = Kept::default();
        let reading = &with.over(source, with.kept(&own));
        let mut memory = reading.memory();
        let shown = match &self.returning {
            Some(_) => self.target.width,
            None => 0,
        };
        self.target.walk(source, reading, among, &mut |row| {
            let found = match row.address() {
                Some(address) if !by_key => Found::At(address),
                _ => Found::Key(self.target.key_of(row)?),
            };
            match &found {
                Found::At(_) => memory.take_bytes(size_of::<Found>())?,
                Found::Key(key) => {
                    if !is_free(key)? {
                        return Ok(());
                    }
                    memory.take(key)?;
                }
            }
            let change = (self.changes).of_row(source, row, reading, found, shown)?;
            if change.is_left_out {
                return Ok(());
            }
            memory.take(&change.row)?;
            memory.take(&change.before)?;
            changes.push(change);
            Ok(())
        })?;
        Ok(changes)
    }

    /// The rows of `RETURNING`. Its subqueries read the state before the changes.
    fn returned(
        &self,
        source: &dyn Source,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<Table, SqlError> {
        let mut table = Table::default();
        if let Some(output) = &self.returning {
            let own = Kept::default();
            let reading = &with.over(source, with.kept(&own));
            table.width = output.width();
            for change in changes {
                output.push_shown(&Values(&change.row), reading, &mut table.values)?;
                table.rows += 1;
            }
        }
        Ok(table)
    }
}

impl DeletePlan {
    /// Runs the statement over the given rows. Returns the number of deleted rows and the rows of `RETURNING`.
    ///
    /// # Errors
    /// Evaluation, read and delete errors.
    pub fn run(
        &self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
        among: Among<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let (keys, table) = self.keys_of(&*tx, with, among, &mut |_| Ok(true))?;
        delete(tx, self.target.number, &keys, with)?;
        Ok((keys.len() as u64, table))
    }

    /// Finds out the rows as a part of a statement, except those that another part has changed.
    ///
    /// # Errors
    /// Evaluation and read errors.
    pub fn gather(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        touched: &mut Touched,
    ) -> Result<Gathered<'_>, SqlError> {
        let mut memory = with.memory();
        let number = self.target.number;
        let mut is_free = |key: &[Value]| touched.note(number, key, &mut memory);
        let (keys, table) = self.keys_of(source, with, Among::All, &mut is_free)?;
        for key in &keys {
            memory.take(key)?;
        }
        memory.take(&table.values)?;
        memory.keep();
        Ok(Gathered {
            count: keys.len() as u64,
            table,
            effects: vec![Effect::Delete(number, keys)],
        })
    }

    /// The keys for which `is_free` holds, with the rows of `RETURNING`.
    fn keys_of(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        among: Among<'_>,
        is_free: &mut dyn FnMut(&[Value]) -> Result<bool, SqlError>,
    ) -> Result<(Vec<Vec<Value>>, Table), SqlError> {
        let mut keys = Vec::new();
        let mut table = Table {
            width: self.returning.as_ref().map_or(0, Output::width),
            ..Table::default()
        };
        let own = Kept::default();
        let reading = &with.over(source, with.kept(&own));
        let mut memory = reading.memory();
        self.target.walk(source, reading, among, &mut |row| {
            let key = self.target.key_of(row)?;
            if !is_free(&key)? {
                return Ok(());
            }
            if let Some(triggers) = &self.triggers {
                let old = whole_row(row, triggers.width)?;
                let rows = (Some(&old[..]), None);
                let given = triggers.before(source, Event::Delete, rows, None, reading)?;
                if given.is_none() {
                    return Ok(());
                }
                triggers.note(Event::Delete, rows, None, with)?;
            }
            memory.take(&key)?;
            keys.push(key);
            if let Some(output) = &self.returning {
                let from = table.values.len();
                output.push_shown(row, reading, &mut table.values)?;
                memory.take(&table.values[from..])?;
                table.rows += 1;
            }
            Ok(())
        })?;
        Ok((keys, table))
    }
}
