//! `UPDATE` and `DELETE`: the rows are found first, and then changed, so that no change is met again on the way.

use super::output::{Output, compile_items};
use super::planning::Planning;
use super::select_run::{Memory, Table};
use super::subquery::Kept;
use super::target::{Target, TargetDraft, key_columns};
use crate::error::{SqlError, code, not_null};
use crate::expression::cast::{Coercion, stored};
use crate::expression::{Environment, Expr, InputRow, Scope, Values};
use crate::names::parts_of;
use crate::relation::{Relation, RelationColumn};
use crate::source::Source;
use crate::types::TypeSpec;
use sardonyx::schema::{OnDelete, Type, Value, ValueRef};
use sardonyx::{RowWriter, Transaction};
use sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr as Tree, FromTable, SelectItem, UpdateTableFromKind,
};

/// A column that is stored into.
#[derive(Clone, Debug)]
pub(crate) struct StoredColumn {
    pub number: usize,
    pub name: String,
    pub spec: TypeSpec,
    /// What the engine has.
    pub stored: Type,
    pub not_null: bool,
}

impl StoredColumn {
    pub fn of(column: &RelationColumn) -> StoredColumn {
        StoredColumn {
            number: column.number,
            name: column.name.clone(),
            spec: column.spec,
            stored: column.stored,
            not_null: column.not_null,
        }
    }

    /// A value as the engine stores it in this column.
    ///
    /// # Errors
    /// `23502` if it is null and may not be; those of [`stored`].
    pub fn fit(&self, value: Value, table: &str) -> Result<Value, SqlError> {
        if value == Value::Null && self.not_null {
            return Err(not_null(table, &self.name));
        }
        match (stored(value, self.spec)?, self.beyond_sql()) {
            // SQL's type for integers that none of its own has.
            (Value::Decimal(units, 0), Some(_)) => Ok(Value::Int(units)),
            (value, _) => Ok(value),
        }
    }
}

impl StoredColumn {
    /// The engine's type, where SQL has none with all of its values: those are told as they are.
    pub(crate) fn beyond_sql(&self) -> Option<Type> {
        matches!(self.stored, Type::U64 | Type::I128 | Type::U128).then_some(self.stored)
    }
}

/// A compiled `UPDATE`.
#[derive(Debug)]
pub(crate) struct UpdatePlan {
    pub target: Target,
    pub changes: Changes,
    pub returning: Option<Output>,
}

/// What is set, and what the table is for that.
#[derive(Debug)]
pub(crate) struct Changes {
    pub name: String,
    pub number: u16,
    /// How many columns the engine's schema has.
    pub width: usize,
    pub set: Vec<(StoredColumn, Expr)>,
    /// The columns of the engine's primary key.
    pub key: Vec<usize>,
    /// Whether one of them is set.
    pub moves: bool,
    /// Whether rows go with this table's that others refer to.
    pub has_followers: bool,
    /// Whether rows refer to what is set.
    pub is_referenced: bool,
}

/// A compiled `DELETE`.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub target: Target,
    pub returning: Option<Output>,
    /// Whether rows refer to those of the table.
    pub is_referenced: bool,
}

/// Compiles `UPDATE`.
///
/// # Errors
/// What is wrong with it.
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
    if !update.order_by.is_empty() || update.limit.is_some() {
        return Err(SqlError::unsupported(
            "UPDATE with ORDER BY or LIMIT is not supported",
        ));
    }
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
/// What is wrong with it.
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
    if !delete.order_by.is_empty() || delete.limit.is_some() || !delete.tables.is_empty() {
        return Err(SqlError::unsupported(
            "DELETE with ORDER BY or LIMIT is not supported",
        ));
    }
    let others = delete.using.as_deref().unwrap_or_default();
    let draft = TargetDraft::new(planning, "DELETE", table, others)?;
    let returning = compile_returning(planning, &draft.scope, delete.returning.as_deref())?;
    Ok(DeletePlan {
        is_referenced: is_referenced(&planning.source, draft.relation.number),
        target: draft.finish(planning, delete.selection.as_ref())?,
        returning,
    })
}

/// Compiles `RETURNING`.
///
/// # Errors
/// What is wrong with it.
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

/// Compiles what `SET` says.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn compile_changes(
    planning: &mut Planning<'_>,
    relation: &Relation,
    scope: &Scope,
    assignments: &[Assignment],
) -> Result<Changes, SqlError> {
    let mut set: Vec<(StoredColumn, Expr)> = Vec::with_capacity(assignments.len());
    let mut assign = |planning: &mut Planning<'_>, name: &ast::ObjectName, tree: &Tree| {
        let name = parts_of(name)?.pop().unwrap_or_default();
        let column = relation.column(&name)?;
        if set.iter().any(|(there, _)| there.number == column.number) {
            return Err(SqlError::syntax(format!(
                "multiple assignments to same column \"{name}\""
            )));
        }
        let expr = match is_default(tree) {
            true => super::insert::default_of(planning, column)?,
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
    let moves = set.iter().any(|(column, _)| key.contains(&column.number));
    Ok(Changes {
        name: relation.name.clone(),
        number: relation.number,
        width: relation.schema.columns.len(),
        is_referenced: moves && is_referenced(&planning.source, relation.number),
        has_followers: moves && has_followers(&planning.source, relation.number),
        set,
        key,
        moves,
    })
}

/// Whether `default` stands for a value.
pub(crate) fn is_default(tree: &Tree) -> bool {
    matches!(tree, Tree::Identifier(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}

/// An expression that is stored into a column.
///
/// # Errors
/// What is wrong with it; `42804` if it is of another type.
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

/// Whether rows of another table, or of this one, refer to this one's.
fn is_referenced(source: &Source<'_>, number: u16) -> bool {
    let tables = 0..source.definitions().len() as u16;
    tables.into_iter().any(|other| {
        let schema = source.schema(other);
        schema.is_some_and(|schema| schema.foreign_keys.iter().any(|key| key.table == number))
    })
}

/// Whether another table's rows are deleted with this one's.
fn has_followers(source: &Source<'_>, number: u16) -> bool {
    let tables = 0..source.definitions().len() as u16;
    tables.into_iter().any(|other| {
        let schema = source.schema(other);
        schema.is_some_and(|schema| {
            let mut keys = schema.foreign_keys.iter();
            keys.any(|key| key.table == number && key.on_delete == OnDelete::Cascade)
        })
    })
}

/// A change of one row that was found.
struct Change {
    key: Vec<Value>,
    /// By the columns' numbers.
    values: Vec<(usize, Value)>,
    /// All columns as they are then, where somebody asks.
    row: Vec<Value>,
}

/// All columns of a row, by number.
pub(crate) fn whole_row(row: &dyn InputRow, width: usize) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(width);
    for column in 0..width {
        values.push(row.value(column)?.to_value());
    }
    Ok(values)
}

/// The values of some columns.
pub(crate) fn columns_of(row: &dyn InputRow, columns: &[usize]) -> Result<Vec<Value>, SqlError> {
    let mut values = Vec::with_capacity(columns.len());
    for column in columns {
        values.push(row.value(*column)?.to_value());
    }
    Ok(values)
}

impl Changes {
    /// `kept` is how many of the row's columns are wanted as they are then.
    fn of_row(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
        key: Vec<Value>,
        kept: usize,
    ) -> Result<Change, SqlError> {
        let mut values = Vec::with_capacity(self.set.len());
        for (column, expr) in &self.set {
            let value = expr.evaluate(row, with)?.into_value();
            values.push((column.number, column.fit(value, &self.name)?));
        }
        let mut all = Vec::new();
        if kept > 0 || self.moves {
            all = whole_row(row, kept.max(self.width))?;
            for (number, value) in &values {
                all[*number] = value.clone();
            }
        }
        Ok(Change {
            key,
            values,
            row: all,
        })
    }

    /// Changes one row, as it is given. Returns all its columns as they are then.
    ///
    /// # Errors
    /// What cannot be computed or stored.
    pub fn apply_to(
        &self,
        tx: &mut Transaction<'_>,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let key = columns_of(row, &self.key)?;
        let mut changes = vec![self.of_row(row, with, key, self.width)?];
        self.apply(tx, &changes, with)?;
        Ok(changes.pop().map(|change| change.row).unwrap_or_default())
    }

    fn apply(
        &self,
        tx: &mut Transaction<'_>,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let mut rows = tx.rows_of(self.number)?;
        let mut moved = Vec::new();
        for change in changes {
            with.context.look_at_row()?;
            let new_key = self.key.iter().map(|column| change.row.get(*column));
            if self.moves && !new_key.eq(change.key.iter().map(Some)) {
                moved.push(change);
                continue;
            }
            let mut writer = RowWriter::new(self.width);
            for (column, value) in &change.values {
                writer.set(*column, value.as_ref());
            }
            rows.update_row(&change.key, &writer)?;
        }
        if moved.is_empty() {
            return Ok(());
        }
        if self.has_followers {
            return Err(SqlError::unsupported(format!(
                "the primary key of \"{}\" cannot be changed: rows of other tables would be deleted with it \
                 (ON DELETE CASCADE)",
                self.name
            )));
        }
        // All go before one comes, so that keys may be exchanged.
        for change in &moved {
            with.context.look_at_row()?;
            rows.delete(&change.key)?;
        }
        for change in moved {
            with.context.look_at_row()?;
            insert_whole(&mut rows, &change.row[..self.width])?;
        }
        Ok(())
    }
}

/// Inserts a row of all columns by number.
pub(crate) fn insert_whole(
    rows: &mut sardonyx::Rows<'_, '_>,
    values: &[Value],
) -> Result<(), SqlError> {
    let schema = rows.schema().clone();
    let mut writer = RowWriter::new(values.len());
    for (number, _) in schema.live_columns() {
        let value = values.get(number).map_or(ValueRef::Null, Value::as_ref);
        writer.set(number, value);
    }
    Ok(rows.insert_row(&writer)?)
}

impl UpdatePlan {
    /// Runs it. Returns how many rows it changed, and what is returned of them.
    ///
    /// # Errors
    /// What cannot be computed, read or stored.
    pub fn run(
        &self,
        tx: &mut Transaction<'_>,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let mut changes = Vec::new();
        let kept = Kept::default();
        let source = Source::Live(tx.view());
        let reading = &with.over(source, &kept);
        let mut memory = Memory::of(reading);
        let shown = match &self.returning {
            Some(_) => self.target.width,
            None => 0,
        };
        self.target.walk(&source, reading, &mut |row, key| {
            let change = self.changes.of_row(row, reading, key, shown)?;
            memory.take(&change.row)?;
            memory.take(&change.key)?;
            changes.push(change);
            Ok(())
        })?;
        // Nothing is read any more.
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
    /// Runs it. Returns how many rows it deleted, and what is returned of them.
    ///
    /// # Errors
    /// What cannot be computed, read or deleted.
    pub fn run(
        &self,
        tx: &mut Transaction<'_>,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let mut keys = Vec::new();
        let mut table = Table::default();
        let kept = Kept::default();
        let source = Source::Live(tx.view());
        let reading = &with.over(source, &kept);
        let mut memory = Memory::of(reading);
        self.target.walk(&source, reading, &mut |row, key| {
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
        let mut rows = tx.rows_of(self.target.number)?;
        for key in &keys {
            with.context.look_at_row()?;
            // One that went with another before is gone.
            rows.delete(key)?;
        }
        Ok((keys.len() as u64, table))
    }
}
