//! `INSERT`: rows of values, of a query, or of defaults; what becomes of those whose key is there.

use super::output::Output;
use super::planning::Planning;
use super::query::draft_query;
use super::select::{SelectPlan, scope_of};
use super::select_run::{Memory, Table};
use super::subquery::Kept;
use super::write::{
    Changes, StoredColumn, compile_assigned, compile_changes, compile_returning, insert_whole,
    is_default, whole_row,
};
use crate::error::{SqlError, code};
use crate::expression::cast::{Coercion, can_cast, cast};
use crate::expression::{Environment, Expr, Function, Scope, Values};
use crate::names::{name_of, parts_of};
use crate::relation::{DefaultValue, Relation, RelationColumn};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use sardonyx::Transaction;
use sardonyx::schema::{IndexDefinition, Value, ValueRef};
use sqlparser::ast::{self, ConflictTarget, OnConflictAction, OnInsert, SetExpr, TableObject};

/// A compiled `INSERT`.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub table: String,
    pub number: u16,
    /// How many columns the engine's schema has.
    pub width: usize,
    /// All that are seen, with what they get that are not given.
    pub columns: Vec<(StoredColumn, Expr)>,
    /// The column that numbers rows, if nobody sees the key.
    pub hidden: Option<usize>,
    pub rows: InsertRows,
    pub conflict: Option<Conflict>,
    pub returning: Option<Output>,
    /// Whether subqueries stand in its rows.
    pub has_subqueries: bool,
}

/// Where the rows come from.
#[derive(Debug)]
pub(crate) enum InsertRows {
    /// Of each column in order; `None` for the default.
    Values(Vec<Vec<Option<Expr>>>),
    /// A query, and of each of its columns: to which it goes, and from which type.
    Query(Box<SelectPlan>, Vec<(usize, SqlType)>),
}

/// What becomes of rows whose key is there.
#[derive(Debug)]
pub(crate) struct Conflict {
    /// The unique index; all if none is named.
    target: Option<Target>,
    /// The change of the row that is there; nothing if there is none.
    update: Option<(Changes, Option<Expr>)>,
}

#[derive(Debug)]
struct Target {
    /// The name that errors have for it.
    constraint: String,
    /// The index; the primary key if there is no name.
    index: Option<String>,
    columns: Vec<usize>,
}

/// What a column gets that is not given.
///
/// # Errors
/// What is wrong with an expression that was stored.
pub(crate) fn default_of(
    planning: &mut Planning<'_>,
    column: &RelationColumn,
) -> Result<Expr, SqlError> {
    if let Some(sequence) = &column.sequence {
        let name = Expr::Literal(Value::Text(crate::names::quoted(sequence)));
        let next = Expr::Call(Function::Nextval, vec![name]);
        return Ok(match column.spec.kind {
            SqlType::Int8 => next,
            _ => Expr::Cast(Box::new(next), SqlType::Int8, column.spec, false),
        });
    }
    match &column.default {
        DefaultValue::Value(value) => Ok(Expr::Literal(value.clone())),
        DefaultValue::Expression(text) => {
            let tree = crate::parse::parse_expression(text)?;
            compile_assigned(planning, &Scope::default(), column, &tree)
        }
    }
}

/// Compiles `INSERT`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn plan_insert(
    planning: &mut Planning<'_>,
    insert: &ast::Insert,
) -> Result<InsertPlan, SqlError> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(SqlError::unsupported(
            "INSERT is supported into tables only",
        ));
    };
    let refused = insert.or.is_some()
        || insert.ignore
        || insert.overwrite
        || !insert.assignments.is_empty()
        || insert.partitioned.is_some()
        || insert.replace_into;
    if refused {
        return Err(SqlError::unsupported(
            "this form of INSERT is not supported",
        ));
    }
    let relation = planning.relation_to_change(name)?;
    let alias = insert
        .table_alias
        .as_ref()
        .map(|alias| name_of(&alias.alias));
    let alias = alias.unwrap_or_else(|| relation.name.clone());
    let targets = targets(&relation, &insert.columns)?;
    let mut columns = Vec::with_capacity(relation.columns.len());
    for column in &relation.columns {
        columns.push((StoredColumn::of(column), default_of(planning, column)?));
    }
    let overrides = insert.overriding.is_some();
    let rows = match &insert.source {
        None => InsertRows::Values(vec![vec![None; columns.len()]]),
        Some(query) => match &*query.body {
            SetExpr::Values(values)
                if query.limit_clause.is_none()
                    && query.order_by.is_none()
                    && query.with.is_none() =>
            {
                InsertRows::Values(value_rows(
                    planning,
                    &relation,
                    &targets,
                    values,
                    !insert.columns.is_empty(),
                    overrides,
                )?)
            }
            _ => query_rows(
                planning,
                &relation,
                &targets,
                query,
                !insert.columns.is_empty(),
            )?,
        },
    };
    let scope = Scope {
        tables: vec![scope_of(&relation, &alias)],
    };
    let conflict = match &insert.on {
        None => None,
        Some(OnInsert::OnConflict(on)) => {
            Some(planning.without_subqueries("in ON CONFLICT", |planning| {
                conflict(planning, &relation, &scope, on)
            })?)
        }
        Some(_) => return Err(SqlError::unsupported("this form of ON is not supported")),
    };
    let returning = compile_returning(planning, &scope, insert.returning.as_deref())?;
    Ok(InsertPlan {
        table: relation.name.clone(),
        number: relation.number,
        width: relation.schema.columns.len(),
        hidden: relation
            .notes
            .hidden_key
            .then(|| relation.schema.primary.key[0].column),
        columns,
        rows,
        conflict,
        returning,
        has_subqueries: planning.queries.subqueries > 0,
    })
}

/// The places of the columns that are named, or of all.
fn targets(relation: &Relation, names: &[ast::ObjectName]) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        return Ok((0..relation.columns.len()).collect());
    }
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let name = parts_of(name)?.pop().unwrap_or_default();
        let number = relation.column(&name)?.number;
        let mut columns = relation.columns.iter();
        let place = columns.position(|column| column.number == number);
        let place = place.ok_or_else(|| SqlError::unknown_column(&name))?;
        if places.contains(&place) {
            return Err(SqlError::new(
                code::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        places.push(place);
    }
    Ok(places)
}

fn check_count(given: usize, targets: &[usize], named: bool) -> Result<(), SqlError> {
    if given > targets.len() {
        return Err(SqlError::syntax(
            "INSERT has more expressions than target columns",
        ));
    }
    if named && given < targets.len() {
        return Err(SqlError::syntax(
            "INSERT has more target columns than expressions",
        ));
    }
    Ok(())
}

fn value_rows(
    planning: &mut Planning<'_>,
    relation: &Relation,
    targets: &[usize],
    values: &ast::Values,
    named: bool,
    overrides: bool,
) -> Result<Vec<Vec<Option<Expr>>>, SqlError> {
    let scope = Scope::default();
    let mut rows = Vec::with_capacity(values.rows.len());
    for trees in &values.rows {
        check_count(trees.len(), targets, named)?;
        let mut row: Vec<Option<Expr>> = vec![None; relation.columns.len()];
        for (tree, target) in trees.iter().zip(targets) {
            if is_default(tree) {
                continue;
            }
            let column = &relation.columns[*target];
            if column.identity == Some('a') && !overrides {
                return Err(SqlError::new(
                    "428C9",
                    format!(
                        "cannot insert a non-DEFAULT value into column \"{}\"",
                        column.name
                    ),
                )
                .detail(format!(
                    "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                    column.name
                ))
                .hint("Use OVERRIDING SYSTEM VALUE to override."));
            }
            row[*target] = Some(compile_assigned(planning, &scope, column, tree)?);
        }
        rows.push(row);
    }
    Ok(rows)
}

fn query_rows(
    planning: &mut Planning<'_>,
    relation: &Relation,
    targets: &[usize],
    query: &ast::Query,
    named: bool,
) -> Result<InsertRows, SqlError> {
    let mut draft = draft_query(planning, query)?;
    check_count(draft.items.len(), targets, named)?;
    let scope = Scope::default();
    for (item, target) in draft.items.iter_mut().zip(targets) {
        // What has no type yet is read as a value of the column.
        if item.typed.kind() == SqlType::Unknown {
            let spec = TypeSpec::plain(relation.columns[*target].spec.kind);
            let mut compiler = planning.compiler(&scope);
            let expr = compiler.coerce(item.typed.clone(), spec, Coercion::Assignment)?;
            item.typed = crate::expression::Typed { expr, spec };
        }
    }
    let select = draft.finish();
    let mut places = Vec::with_capacity(targets.len());
    for (column, target) in select.output.columns.iter().zip(targets) {
        let into = &relation.columns[*target];
        let from = column.spec.kind;
        if !can_cast(from, into.spec.kind, Coercion::Assignment) {
            return Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!(
                    "column \"{}\" is of type {} but expression is of type {}",
                    into.name,
                    into.spec.kind.name(),
                    from.name()
                ),
            ));
        }
        places.push((*target, from));
    }
    Ok(InsertRows::Query(Box::new(select), places))
}

fn conflict(
    planning: &mut Planning<'_>,
    relation: &Relation,
    scope: &Scope,
    on: &ast::OnConflict,
) -> Result<Conflict, SqlError> {
    let target = match &on.conflict_target {
        None => None,
        Some(ConflictTarget::Columns {
            predicate: Some(_), ..
        }) => {
            return Err(SqlError::unsupported(
                "ON CONFLICT with WHERE is not supported",
            ));
        }
        Some(ConflictTarget::Columns { columns: names, .. }) => {
            let mut columns = Vec::with_capacity(names.len());
            for name in names {
                columns.push(relation.column(&name_of(name))?.number);
            }
            Some(unique_index(relation, |index, _| {
                let key = index.key.iter();
                index.key.len() == columns.len()
                    && key
                        .map(|part| part.column)
                        .all(|column| columns.contains(&column))
            }))
        }
        Some(ConflictTarget::OnConstraint(name)) => {
            let name = parts_of(name)?.pop().unwrap_or_default();
            Some(unique_index(relation, |_, constraint| constraint == name))
        }
    };
    let target = match target {
        Some(None) => {
            return Err(SqlError::new(
                code::INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification",
            ));
        }
        Some(found) => found,
        None => None,
    };
    let update = match &on.action {
        OnConflictAction::DoNothing => None,
        OnConflictAction::DoUpdate(update) => {
            if target.is_none() {
                return Err(SqlError::syntax(
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                ));
            }
            // What would have been inserted stands behind the row that is there.
            let width = relation.schema.columns.len();
            let mut excluded = scope_of(relation, "excluded");
            excluded.is_aside = true;
            excluded
                .columns
                .iter_mut()
                .for_each(|column| column.place += width);
            let mut scope = scope.clone();
            scope.tables.push(excluded);
            let changes = compile_changes(planning, relation, &scope, &update.assignments)?;
            let mut compiler = planning.compiler(&scope);
            let condition = update.selection.as_ref();
            let condition = condition.map(|tree| compiler.condition(tree, "WHERE"));
            Some((changes, condition.transpose()?))
        }
    };
    Ok(Conflict { target, update })
}

fn unique_index(
    relation: &Relation,
    is_it: impl Fn(&IndexDefinition, &str) -> bool,
) -> Option<Target> {
    let columns = |index: &IndexDefinition| index.key.iter().map(|part| part.column).collect();
    let primary = relation.primary_constraint().unwrap_or_default();
    let schema = &relation.schema;
    if !relation.notes.hidden_key && is_it(&schema.primary, &primary) {
        return Some(Target {
            constraint: primary,
            index: None,
            columns: columns(&schema.primary),
        });
    }
    let mut indexes = schema.indexes.iter().filter(|index| index.unique);
    let index = indexes.find(|index| is_it(index, &index.name))?;
    Some(Target {
        constraint: index.name.clone(),
        index: Some(index.name.clone()),
        columns: columns(index),
    })
}

impl InsertPlan {
    /// Runs it. Returns how many rows it inserted or changed, and what is returned of them.
    ///
    /// # Errors
    /// What cannot be computed, read or stored.
    pub fn run(
        &self,
        tx: &mut Transaction<'_>,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let mut inserting = Inserting {
            plan: self,
            with,
            next_row: None,
            count: 0,
            memory: Memory::default(),
            table: Table {
                width: self.returning.as_ref().map_or(0, Output::width),
                ..Table::default()
            },
        };
        match &self.rows {
            InsertRows::Values(rows) if self.has_subqueries => {
                // They see none of the rows that are inserted.
                let mut made = Vec::with_capacity(rows.len());
                {
                    let kept = Kept::default();
                    let reading = &with.over(Source::Live(tx.view()), &kept);
                    for given in rows {
                        made.push(self.values_of(given, reading)?);
                    }
                }
                for row in made {
                    inserting.insert(tx, row)?;
                }
            }
            InsertRows::Values(rows) => {
                for given in rows {
                    let row = self.values_of(given, with)?;
                    inserting.insert(tx, row)?;
                }
            }
            InsertRows::Query(select, places) => {
                let found = select.run(&Source::Live(tx.view()), with)?;
                let width = found.width.max(1);
                for given in found.values.chunks(width) {
                    let row = self.row_of(given, places, with)?;
                    inserting.insert(tx, row)?;
                }
            }
        }
        Ok((inserting.count, inserting.table))
    }

    fn values_of(
        &self,
        given: &[Option<Expr>],
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut row = vec![Value::Null; self.width];
        for ((column, default), given) in self.columns.iter().zip(given) {
            let value = given.as_ref().unwrap_or(default).constant(with)?;
            row[column.number] = column.fit(value, &self.table)?;
        }
        Ok(row)
    }

    fn row_of(
        &self,
        given: &[Value],
        places: &[(usize, SqlType)],
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut row = vec![Value::Null; self.width];
        for (place, (column, default)) in self.columns.iter().enumerate() {
            let at = places.iter().position(|(target, _)| *target == place);
            let value = match at {
                Some(at) => convert(given[at].as_ref(), places[at].1, column.spec)?,
                None => default.constant(with)?,
            };
            row[column.number] = column.fit(value, &self.table)?;
        }
        Ok(row)
    }

    /// A row of values of the columns at these places, each of its column's type: for `COPY`.
    ///
    /// # Errors
    /// Those of [`InsertPlan::run`].
    pub fn complete(
        &self,
        given: Vec<(usize, Value)>,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut places: Vec<Option<Value>> = vec![None; self.columns.len()];
        for (place, value) in given {
            places[place] = Some(value);
        }
        let mut row = vec![Value::Null; self.width];
        for ((column, default), given) in self.columns.iter().zip(places) {
            let value = match given {
                Some(value) => convert(value.as_ref(), column.spec.kind, column.spec)?,
                None => default.constant(with)?,
            };
            row[column.number] = column.fit(value, &self.table)?;
        }
        Ok(row)
    }

    /// Inserts whole rows.
    ///
    /// # Errors
    /// What cannot be stored.
    pub fn insert_rows(
        &self,
        tx: &mut Transaction<'_>,
        with: &Environment<'_>,
        rows: impl Iterator<Item = Result<Vec<Value>, SqlError>>,
    ) -> Result<u64, SqlError> {
        let mut inserting = Inserting {
            plan: self,
            with,
            next_row: None,
            count: 0,
            memory: Memory::default(),
            table: Table::default(),
        };
        for row in rows {
            inserting.insert(tx, row?)?;
        }
        Ok(inserting.count)
    }
}

fn convert(value: ValueRef<'_>, from: SqlType, to: TypeSpec) -> Result<Value, SqlError> {
    match from == to.kind && to.modifier < 0 && from != SqlType::Char {
        true => Ok(value.to_value()),
        false => cast(value, from, to, false),
    }
}

struct Inserting<'p, 'e> {
    plan: &'p InsertPlan,
    with: &'p Environment<'e>,
    /// The number of the next row, where nobody sees the key.
    next_row: Option<i128>,
    count: u64,
    memory: Memory<'static>,
    table: Table,
}

impl Inserting<'_, '_> {
    fn insert(&mut self, tx: &mut Transaction<'_>, mut row: Vec<Value>) -> Result<(), SqlError> {
        if let Some(column) = self.plan.hidden {
            let number = match self.next_row {
                Some(number) => number,
                None => next_row(tx, self.plan.number, column)?,
            };
            self.next_row = Some(number + 1);
            row[column] = Value::Int(number);
        }
        if let Some(conflict) = &self.plan.conflict {
            if let Some((changes, condition)) = &conflict.update
                && let Some(target) = &conflict.target
                && let Some(there) = found(tx, self.plan, target, &row)?
            {
                return self.update(tx, there, &row, changes, condition.as_ref());
            }
            return match insert_whole(&mut tx.rows_of(self.plan.number)?, &row) {
                Ok(()) => self.inserted(&row),
                Err(error) if conflict.takes(&error) => Ok(()),
                Err(error) => Err(error),
            };
        }
        insert_whole(&mut tx.rows_of(self.plan.number)?, &row)?;
        self.inserted(&row)
    }

    fn update(
        &mut self,
        tx: &mut Transaction<'_>,
        mut there: Vec<Value>,
        row: &[Value],
        changes: &Changes,
        condition: Option<&Expr>,
    ) -> Result<(), SqlError> {
        there.extend_from_slice(row);
        if let Some(condition) = condition
            && !condition.holds(&Values(&there), self.with)?
        {
            return Ok(());
        }
        let whole = self.plan.returning.is_some();
        let changed = changes.apply_to(tx, &Values(&there), self.with, whole)?;
        self.inserted(&changed)
    }

    fn inserted(&mut self, row: &[Value]) -> Result<(), SqlError> {
        self.count += 1;
        if let Some(output) = &self.plan.returning {
            let from = self.table.values.len();
            output.push_shown(&Values(row), self.with, &mut self.table.values)?;
            self.memory.take(&self.table.values[from..])?;
            self.table.rows += 1;
        }
        Ok(())
    }
}

impl Conflict {
    /// Whether an error is what is said of.
    fn takes(&self, error: &SqlError) -> bool {
        let is_it = |target: &Target| match target.index {
            // The engine's errors name the primary key so, whatever its constraint is called.
            None => (error.constraint.as_deref()).is_some_and(|name| name.ends_with("_pkey")),
            Some(_) => error.constraint.as_ref() == Some(&target.constraint),
        };
        self.update.is_none()
            && error.code == code::UNIQUE
            && self.target.as_ref().is_none_or(is_it)
    }
}

/// The row that has the key of a new one.
fn found(
    tx: &Transaction<'_>,
    plan: &InsertPlan,
    target: &Target,
    row: &[Value],
) -> Result<Option<Vec<Value>>, SqlError> {
    let key: Vec<Value> = target
        .columns
        .iter()
        .map(|column| row[*column].clone())
        .collect();
    if key.contains(&Value::Null) {
        return Ok(None);
    }
    let source = Source::Live(tx.view());
    let mut there = None;
    let mut each = |row: &dyn crate::expression::InputRow| {
        there = Some(whole_row(row, plan.width)?);
        Ok(false)
    };
    match &target.index {
        None => source.point(plan.number, &key, &mut each)?,
        Some(index) => source.first(plan.number, index, &key, &mut each)?,
    }
    Ok(there)
}

/// The number behind that of the last row.
fn next_row(tx: &Transaction<'_>, number: u16, column: usize) -> Result<i128, SqlError> {
    let mut last = 0;
    let range = crate::source::KeyRange {
        lower: std::ops::Bound::Unbounded,
        upper: std::ops::Bound::Unbounded,
        backward: true,
    };
    let source = Source::Live(tx.view());
    source.range(number, sardonyx::schema::PRIMARY, &range, &mut |row| {
        if let ValueRef::Int(value) = row.value(column)? {
            last = value;
        }
        Ok(false)
    })?;
    Ok(last + 1)
}
