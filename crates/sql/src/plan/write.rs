//! `UPDATE` and `DELETE`: all rows are found before the first is changed, so that no change is found again.

use super::cascades::Cascade;
use super::output::{Output, compile_items};
use super::planning::Planning;
use super::rewriting::Among;
use super::target::{Target, TargetDraft, key_columns};
use super::whole::conditions_first;
pub(crate) use super::whole::{check_whole, insert_whole, whole, with_row};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Expr, Kept, Scope};
use crate::index_names::changed_with;
use crate::indexed::ColumnValue;
use crate::names::parts_of;
use crate::relation::{Relation, RelationColumn, StoredColumn};
use crate::rows::{InputRow, Table, Values};
use crate::source::Source;
use crate::values::cast::Coercion;
use crate::write_target::WriteTarget;
use sardonyx::low_level::Address;
use sardonyx::rows::RowWriter;
use sardonyx::schema::Value;
use sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr as Tree, FromTable, SelectItem, UpdateTableFromKind,
};
use std::collections::BTreeSet;

/// A compiled `UPDATE`.
#[derive(Debug)]
pub(crate) struct UpdatePlan {
    pub target: Target,
    pub changes: Changes,
    pub returning: Option<Output>,
}

/// The columns that are set, with facts about their table.
#[derive(Debug)]
pub(crate) struct Changes {
    pub number: u16,
    /// The number of columns of the engine's schema.
    pub width: usize,
    pub set: Vec<(StoredColumn, Expr)>,
    /// All visible columns.
    pub columns: Vec<StoredColumn>,
    /// The columns of the engine's primary key.
    pub key: Vec<usize>,
    /// True if a column of the primary key is set.
    pub moves: bool,
    /// True if a column of another unique index is set.
    pub may_collide: bool,
    /// True if a foreign key refers to a column that is set.
    pub is_referenced: bool,
    /// The foreign keys whose rows follow the columns that are set.
    pub cascades: Vec<Cascade>,
    /// The generated columns.
    pub generated: Vec<ColumnValue>,
    /// The columns that are set, and the generated columns computed from them.
    pub changing: BTreeSet<usize>,
}

/// A compiled `DELETE`.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub target: Target,
    pub returning: Option<Output>,
    /// True if foreign keys refer to the table's rows.
    pub is_referenced: bool,
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
    Ok(UpdatePlan {
        target: draft.finish(planning, update.selection.as_ref())?,
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
        is_referenced: is_referenced(planning.source, draft.relation.number),
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
    planning.without_subqueries("in RETURNING", |planning| {
        let mut compiler = planning.compiler(scope);
        let mut items = compile_items(&mut compiler, scope, items)?;
        super::output::decide(&mut compiler, &mut items)?;
        Ok(Some(Output::new(items)))
    })
}

/// Compiles the assignments of `SET`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn compile_changes(
    planning: &mut Planning<'_>,
    relation: &Relation,
    scope: &Scope,
    assignments: &[Assignment],
) -> Result<Changes, SqlError> {
    let mut set: Vec<(StoredColumn, Expr)> = Vec::with_capacity(assignments.len());
    let mut assign = |planning: &mut Planning<'_>, name: &ast::ObjectName, tree: &Tree| {
        let parts = parts_of(name)?;
        // A name with a point before it is a part of a column; no type has parts.
        let name = parts.first().map_or("", String::as_str);
        let column = relation.column(name)?;
        if parts.len() > 1 {
            return Err(SqlError::unsupported(format!(
                "a part of column \"{name}\" cannot be set"
            )));
        }
        if set.iter().any(|(there, _)| there.number == column.number) {
            return Err(SqlError::syntax(format!(
                "multiple assignments to same column \"{name}\""
            )));
        }
        let expr = match is_default(tree) {
            // A generated column is computed in any case.
            true if column.is_generated => return Ok(()),
            true => super::insert::default_of(planning, column)?,
            false if column.is_generated => {
                let detail = format!("Column \"{}\" is a generated column.", column.name);
                return Err(only_to_default(&column.name, detail));
            }
            false if column.identity == Some('a') => {
                let detail = format!(
                    "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                    column.name
                );
                return Err(only_to_default(&column.name, detail));
            }
            false => compile_assigned(planning, scope, column, tree)?,
        };
        set.push((StoredColumn::of(column), expr));
        Ok(())
    };
    for assignment in assignments {
        match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), tree) => assign(planning, name, tree)?,
            (AssignmentTarget::Tuple(names), Tree::Tuple(trees)) if names.len() == trees.len() => {
                for (name, tree) in names.iter().zip(trees) {
                    assign(planning, name, tree)?;
                }
            }
            _ => {
                return Err(SqlError::unsupported("this form of SET is not supported"));
            }
        }
    }
    let key = key_columns(relation);
    let changing = changed_with(
        &relation.schema,
        set.iter().map(|(column, _)| column.number),
    );
    let mut unique = relation.schema.indexes.iter().filter(|index| index.unique);
    let may_collide = unique.any(|index| {
        let mut key = index.key.iter();
        key.any(|part| changing.contains(&part.column))
    });
    let moves = set.iter().any(|(column, _)| key.contains(&column.number));
    let cascades = Cascade::all(planning.source, relation, &changing)?;
    Ok(Changes {
        number: relation.number,
        width: relation.schema.columns.len(),
        is_referenced: !cascades.is_empty()
            || moves && is_referenced(planning.source, relation.number),
        cascades,
        columns: relation.columns.iter().map(StoredColumn::of).collect(),
        generated: ColumnValue::all(&relation.schema)?,
        changing,
        set,
        key,
        moves,
        may_collide,
    })
}

/// The error of a column that accepts only `DEFAULT`.
fn only_to_default(column: &str, detail: String) -> SqlError {
    SqlError::new(
        code::GENERATED_ALWAYS,
        format!("column \"{column}\" can only be updated to DEFAULT"),
    )
    .detail(detail)
}

/// True if `default` is written in place of a value.
pub(crate) fn is_default(tree: &Tree) -> bool {
    matches!(tree, Tree::Identifier(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}

/// Compiles an expression whose value is stored into a column.
///
/// # Errors
/// Invalid SQL; `42804` if it is of another type.
pub(crate) fn compile_assigned(
    planning: &mut Planning<'_>,
    scope: &Scope,
    column: &RelationColumn,
    tree: &Tree,
) -> Result<Expr, SqlError> {
    let mut compiler = planning.compiler(scope);
    let typed = compiler.compile(tree)?;
    let kind = typed.kind();
    let coerced = compiler.coerce(typed, column.spec, Coercion::Assignment);
    coerced.map_err(|error| match error.code {
        code::DATATYPE_MISMATCH => SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "column \"{}\" is of type {} but expression is of type {}",
                column.name,
                column.spec.kind.name(),
                kind.name()
            ),
        )
        .hint("You will need to rewrite or cast the expression."),
        _ => error,
    })
}

/// True if rows of this table or of another one refer to this table's rows.
fn is_referenced(source: &dyn Source, number: u16) -> bool {
    !source.referring(number).is_empty()
}

/// The way to find a row again that is to be changed.
enum Found {
    /// By address: rows stay in place while others are changed.
    At(Address),
    /// By key: the row may get another key, or be taken out and put back.
    Key(Vec<Value>),
}

/// A change of one row.
struct Change {
    found: Found,
    /// The new values, with the numbers of their columns.
    values: Vec<(usize, Value)>,
    /// All columns after the change, if they are needed.
    row: Vec<Value>,
    /// All columns before the change, if they are needed.
    before: Vec<Value>,
}

/// The key by which a change's row is found, with the change; `None` if it is found by address.
fn keyed(change: &Change) -> Option<(&Vec<Value>, &Change)> {
    match &change.found {
        Found::Key(key) => Some((key, change)),
        Found::At(_) => None,
    }
}

/// All columns of a row, by number.
pub(crate) fn whole_row(row: &dyn InputRow, width: usize) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(width);
    for column in 0..width {
        values.push(row.value(column)?.to_value());
    }
    Ok(values)
}

/// Returns the values of some columns.
pub(crate) fn columns_of(row: &dyn InputRow, columns: &[usize]) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(columns.len());
    for column in columns {
        values.push(row.value(*column)?.to_value());
    }
    Ok(values)
}

impl Changes {
    /// The change of a row. The first `kept` columns after the change are kept.
    fn of_row(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
        found: Found,
        kept: usize,
    ) -> Result<Change, SqlError> {
        let mut values = Vec::with_capacity(self.set.len());
        for (column, expr) in &self.set {
            let value = expr.evaluate(row, with)?.into_value();
            values.push((column.number, column.fit(value)?));
        }
        let mut all = Vec::new();
        let mut before = Vec::new();
        if kept > 0 || self.moves || !self.cascades.is_empty() {
            all = whole_row(row, kept.max(self.width))?;
            if !self.cascades.is_empty() {
                before.clone_from(&all);
            }
            for (number, value) in &values {
                all[*number] = value.clone();
            }
            ColumnValue::fill(&self.generated, &mut all, with)?;
        }
        Ok(Change {
            found,
            values,
            row: all,
            before,
        })
    }

    /// Returns all columns of a row after the change.
    ///
    /// # Errors
    /// Evaluation errors; a value that does not fit its column.
    pub fn changed(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        Ok(self
            .of_row(row, with, Found::Key(Vec::new()), self.width)?
            .row)
    }

    /// Changes the given row. Returns all its columns after the change.
    ///
    /// # Errors
    /// Evaluation and write errors.
    pub fn apply_to(
        &self,
        tx: &mut dyn WriteTarget,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let key = columns_of(row, &self.key)?;
        let mut changes = vec![self.of_row(row, with, Found::Key(key), self.width)?];
        self.apply(tx, &changes, with)?;
        Ok(changes.pop().map(|change| change.row).unwrap_or_default())
    }

    fn apply(
        &self,
        tx: &mut dyn WriteTarget,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        // Unique values can be exchanged only between several rows.
        let mark = (self.may_collide && changes.len() > 1).then(|| tx.mark());
        let mut done = self.apply_in_place(tx, changes, with);
        if let Some(mark) = mark {
            if matches!(&done, Err(error) if error.code == code::UNIQUE) {
                tx.return_to(mark)?;
                done = self.replace(tx, changes.iter().filter_map(keyed), with);
            }
            // Until the mark is released, the transaction keeps all changes to undo them.
            tx.release(mark)?;
        }
        done?;
        for cascade in &self.cascades {
            let keys = changes.iter();
            let keys = keys.map(|change| (&*change.before, &*change.row));
            cascade.follow(tx, keys, with)?;
        }
        Ok(())
    }

    /// Changes the rows one by one, except those that get another primary key.
    fn apply_in_place(
        &self,
        tx: &mut dyn WriteTarget,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let mut moved = Vec::new();
        for change in changes {
            with.context.look_at_row()?;
            let mut new_key = self.key.iter().map(|column| change.row.get(*column));
            if let Found::Key(key) = &change.found
                && self.moves
                && !new_key.by_ref().eq(key.iter().map(Some))
            {
                moved.push((key, change));
                continue;
            }
            let mut writer = RowWriter::new(self.width);
            for (column, value) in &change.values {
                writer.set(*column, value.as_ref());
            }
            let updated = match &change.found {
                Found::At(address) => tx.update_at(self.number, *address, &writer),
                Found::Key(key) => tx.update(self.number, key, &writer).map(drop),
            };
            updated.map_err(|error| self.failed(tx, change, error.into(), with))?;
        }
        self.replace(tx, moved.into_iter(), with)
    }

    /// Takes all rows out before the first is put back changed, so that keys may be exchanged.
    fn replace<'c>(
        &self,
        tx: &mut dyn WriteTarget,
        changes: impl Iterator<Item = (&'c Vec<Value>, &'c Change)>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let mut rows = Vec::new();
        for (key, change) in changes {
            with.context.look_at_row()?;
            rows.extend(self.changed_row(tx, change)?);
            tx.take(self.number, key)?;
        }
        for row in rows {
            with.context.look_at_row()?;
            insert_whole(tx, self.number, &row).map_err(|error| {
                let mut row = row;
                match ColumnValue::fill(&self.generated, &mut row, with) {
                    Ok(()) => with_row(error, self.columns.iter(), &row),
                    Err(_) => error,
                }
            })?;
        }
        Ok(())
    }

    /// All columns of a row after the change, by number.
    fn changed_row(
        &self,
        tx: &mut dyn WriteTarget,
        change: &Change,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let mut there = None;
        let mut each = |row: &dyn InputRow| {
            there = Some(whole_row(row, self.width)?);
            Ok(false)
        };
        match &change.found {
            Found::At(address) => tx.at(self.number, *address, &mut each)?,
            Found::Key(key) => tx.point(self.number, key, &mut each)?,
        }
        let Some(mut row) = there else {
            return Ok(None);
        };
        for (number, value) in &change.values {
            row[*number] = value.clone();
        }
        Ok(Some(row))
    }

    /// Adds the row that could not be stored to the error, for those errors in which PostgreSQL shows it.
    #[cold]
    fn failed(
        &self,
        tx: &mut dyn WriteTarget,
        change: &Change,
        error: SqlError,
        with: &Environment<'_>,
    ) -> SqlError {
        match self.changed_row(tx, change) {
            Ok(Some(mut row)) => {
                if ColumnValue::fill(&self.generated, &mut row, with).is_err() {
                    return error;
                }
                let error = conditions_first(tx, self.number, &row, error);
                with_row(error, self.columns.iter(), &row)
            }
            _ => error,
        }
    }
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
        let mut changes = Vec::new();
        let kept = Kept::default();
        let source: &dyn Source = &*tx;
        let reading = &with.over(source, &kept);
        let mut memory = reading.memory();
        let shown = match &self.returning {
            Some(_) => self.target.width,
            None => 0,
        };
        let by_key = self.changes.moves || self.changes.may_collide;
        self.target.walk(source, reading, among, &mut |row| {
            let found = match row.address() {
                Some(address) if !by_key => Found::At(address),
                _ => Found::Key(self.target.key_of(row)?),
            };
            match &found {
                Found::At(_) => memory.take_bytes(size_of::<Found>())?,
                Found::Key(key) => memory.take(key)?,
            }
            let change = self.changes.of_row(row, reading, found, shown)?;
            memory.take(&change.row)?;
            memory.take(&change.before)?;
            changes.push(change);
            Ok(())
        })?;
        // Reading is finished.
        drop(memory);
        self.changes.apply(tx, &changes, with)?;
        let mut table = Table::default();
        if let Some(output) = &self.returning {
            table.width = output.width();
            for change in &changes {
                output.push_shown(&Values(&change.row), with, &mut table.values)?;
                table.rows += 1;
            }
        }
        Ok((changes.len() as u64, table))
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
        let mut keys = Vec::new();
        let mut table = Table::default();
        let kept = Kept::default();
        let source: &dyn Source = &*tx;
        let reading = &with.over(source, &kept);
        let mut memory = reading.memory();
        self.target.walk(source, reading, among, &mut |row| {
            let key = self.target.key_of(row)?;
            memory.take(&key)?;
            keys.push(key);
            if let Some(output) = &self.returning {
                let from = table.values.len();
                output.push_shown(row, with, &mut table.values)?;
                memory.take(&table.values[from..])?;
                table.rows += 1;
            }
            Ok(())
        })?;
        drop(memory);
        table.width = self.returning.as_ref().map_or(0, Output::width);
        for key in &keys {
            with.context.look_at_row()?;
            // The deletion of another row may have deleted this one.
            tx.delete(self.target.number, key)?;
        }
        Ok((keys.len() as u64, table))
    }
}
