//! `INSERT` of given rows, of a query's rows or of defaults; `ON CONFLICT`.

use super::changes::{Changes, compile_assigned, compile_changes, is_default};
use super::inferred::{inferred, unique_index, unique_indexes};
use super::output::Output;
use super::planning::Planning;
use super::query::draft_query;
use super::scopes::scope_of;
use super::tree::SelectPlan;
use super::triggers::RowTriggers;
use super::write::compile_returning;
use crate::error::{SqlError, code};
use crate::expression::functions::{NEXT, names_tables};
use crate::expression::{Expr, Function, Scope, SystemColumns};
use crate::indexed::ColumnValue;
use crate::names::{name_of, parts_of as name_parts, qualified};
use crate::parse::{DEFAULT_VALUES, OVERRIDING_SYSTEM, OVERRIDING_USER};
use crate::relation::{DefaultValue, Relation, RelationColumn, StoredColumn};
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::{Coercion, can_cast};
use sardonyx::schema::Value;
use sqlparser::ast::{
    self, ConflictTarget, Expr as Tree, InsertOverriding, OnConflictAction, OnInsert, SetExpr,
    TableObject,
};
use std::sync::Arc;

/// A compiled `INSERT`.
#[derive(Debug)]
pub(crate) struct InsertPlan {
    pub table: String,
    pub number: u16,
    /// The number of columns of the engine's schema.
    pub width: usize,
    /// All visible columns, with the defaults of those without a given value.
    pub columns: Vec<(StoredColumn, Expr)>,
    /// The hidden column that numbers rows, if the table has no visible key.
    pub hidden: Option<usize>,
    /// The columns of the primary key.
    pub key: Vec<usize>,
    pub rows: InsertRows,
    pub conflict: Option<Conflict>,
    pub returning: Option<Output>,
    /// True if the rows contain subqueries.
    pub has_subqueries: bool,
    /// True if `ON CONFLICT` or `RETURNING` contain subqueries: they read the state before the statement.
    pub asks_beside_rows: bool,
    /// True if a value, a default or `RETURNING` finds a table by its name, or its name.
    pub names_tables: bool,
    pub generated: Vec<ColumnValue>,
    /// True if a row is read before it is stored, or afterwards.
    pub shows_rows: bool,
    pub triggers: Option<Arc<RowTriggers>>,
}

/// The source of the rows.
#[derive(Debug)]
pub(crate) enum InsertRows {
    /// The values of the columns in order; `None` for the default.
    Values(Vec<Vec<Option<Expr>>>),
    /// A query, with the target and the source type of each of its columns.
    Query(Box<SelectPlan>, Vec<(usize, SqlType)>),
}

/// The action for rows whose key exists.
#[derive(Debug)]
pub(crate) struct Conflict {
    /// The unique index; `None` means all.
    pub target: Option<Target>,
    /// Keys on which a conflict is handled: one, or all of the table.
    pub arbiters: Vec<Target>,
    /// The change of the existing row; `None` for `DO NOTHING`.
    pub update: Option<(Changes, Option<Expr>)>,
}

/// The unique index that `ON CONFLICT` names.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The index; the primary key if there is no name.
    pub index: Option<String>,
    pub columns: Vec<usize>,
    /// True if nulls in its key are equal.
    pub nulls_equal: bool,
}

/// The most rows of a short statement.
const SHORT_ROWS_MAX: usize = 1000;

impl InsertPlan {
    /// True if the statement reads and writes few rows.
    pub fn is_short(&self) -> bool {
        match &self.rows {
            InsertRows::Values(rows) => rows.len() <= SHORT_ROWS_MAX,
            InsertRows::Query(..) => false,
        }
    }

    /// True for an `INSERT` of perhaps many rows, without `RETURNING` and `ON CONFLICT`.
    pub fn inserts_many(&self) -> bool {
        let may_be_many = match &self.rows {
            InsertRows::Values(_) => !self.is_short(),
            InsertRows::Query(select, _) => !select.is_short(),
        };
        may_be_many && self.conflict.is_none() && self.returning.is_none()
    }
}

/// The value of a column that is not given one.
///
/// # Errors
/// Errors in a stored default expression.
pub(crate) fn default_of(
    planning: &mut Planning<'_>,
    column: &RelationColumn,
) -> Result<Expr, SqlError> {
    if let Some(sequence) = &column.sequence {
        let name = Expr::Literal(Value::Text(sequence.clone()));
        let next = Expr::Call(Function(&NEXT), vec![name]);
        return Ok(match column.spec.kind {
            SqlType::Int8 => next,
            _ => Expr::Cast(Box::new(next), SqlType::Int8, column.spec, false),
        });
    }
    match &column.default {
        DefaultValue::Value(value) => Ok(Expr::Literal(value.clone())),
        DefaultValue::Expression(text) => {
            let text = crate::sequence_names::with_public(text)?;
            let tree = crate::parse::parse_expression(&text)?;
            planning.of_kept_text(|planning| {
                compile_assigned(planning, &Scope::default(), column, &tree)
            })
        }
    }
}

/// Compiles `INSERT`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_insert(
    planning: &mut Planning<'_>,
    insert: &ast::Insert,
) -> Result<InsertPlan, SqlError> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(SqlError::unsupported(
            "INSERT is supported into tables only",
        ));
    };
    let relation = planning.relation_to_change(name)?;
    let alias = insert
        .table_alias
        .as_ref()
        .map(|alias| name_of(&alias.alias));
    let plain = qualified(name)?.1;
    let alias = alias.unwrap_or(plain);
    let targets = targets(&relation, &insert.columns)?;
    let overriding = insert.overriding;
    let rows = match &insert.source {
        None => InsertRows::Values(vec![vec![None; relation.columns.len()]]),
        Some(query) => match &*query.body {
            SetExpr::Values(values)
                if query.limit_clause.is_none()
                    && query.order_by.is_none()
                    && query.with.is_none() =>
            {
                let is_named = !insert.columns.is_empty();
                let of = (&relation, &targets[..], is_named);
                InsertRows::Values(value_rows(
                    planning,
                    &Scope::default(),
                    of,
                    values,
                    overriding,
                )?)
            }
            _ => query_rows(
                planning,
                &relation,
                &targets,
                query,
                !insert.columns.is_empty(),
                overriding,
            )?,
        },
    };
    let scope = Scope {
        tables: vec![scope_of(&relation, &alias)],
    };
    let before = planning.queries.subqueries;
    let conflict = match &insert.on {
        None => None,
        Some(OnInsert::OnConflict(on)) => Some(conflict(planning, &relation, &scope, on)?),
        Some(_) => return Err(SqlError::unsupported("this form of ON is not supported")),
    };
    let returning = compile_returning(planning, &scope, insert.returning.as_deref())?;
    let asks_beside_rows = planning.queries.subqueries > before;
    Ok(InsertPlan {
        asks_beside_rows,
        ..insert_into(planning, &relation, rows, conflict, returning)?
    })
}

/// The plan of rows that come into a table.
fn insert_into(
    planning: &mut Planning<'_>,
    relation: &Relation,
    rows: InsertRows,
    conflict: Option<Conflict>,
    returning: Option<Output>,
) -> Result<InsertPlan, SqlError> {
    let mut columns = Vec::with_capacity(relation.columns.len());
    for column in &relation.columns {
        columns.push((StoredColumn::of(column), default_of(planning, column)?));
    }
    let key = relation.schema.primary.key.iter();
    let triggers = RowTriggers::of(planning, relation)?;
    let given = match &rows {
        InsertRows::Values(rows) => rows.as_slice(),
        InsertRows::Query(..) => &[][..],
    };
    let mut values = given.iter().flatten().flatten();
    let mut defaults = columns.iter().map(|(_, default)| default);
    let names_tables = values.any(names_tables)
        || defaults.any(names_tables)
        || returning.as_ref().is_some_and(Output::names_tables);
    Ok(InsertPlan {
        generated: ColumnValue::all(&relation.schema)?,
        shows_rows: conflict.is_some() || returning.is_some() || triggers.is_some(),
        triggers,
        table: relation.name.clone(),
        number: relation.number,
        width: relation.schema.columns.len(),
        hidden: relation
            .notes
            .hidden_key
            .then(|| relation.schema.primary.key[0].column),
        key: key.map(|part| part.column).collect(),
        columns,
        rows,
        conflict,
        returning,
        has_subqueries: planning.queries.subqueries > 0,
        asks_beside_rows: false,
        names_tables,
    })
}

/// Compiles the `INSERT` of `MERGE`: one row, of columns of the scope.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn plan_merged_row(
    planning: &mut Planning<'_>,
    relation: &Relation,
    scope: &Scope,
    names: &[ast::ObjectName],
    values: &ast::Values,
) -> Result<InsertPlan, SqlError> {
    let (names, overriding) = overridden(names);
    let targets = targets(relation, names)?;
    let of = (relation, &targets[..], !names.is_empty());
    let rows = match is_of_defaults(values) {
        true => vec![vec![None; relation.columns.len()]],
        false => value_rows(planning, scope, of, values, overriding)?,
    };
    if rows.len() != 1 {
        return Err(SqlError::syntax("MERGE inserts one row of VALUES"));
    }
    insert_into(planning, relation, InsertRows::Values(rows), None, None)
}

/// The columns that `INSERT` of `MERGE` names, and its `OVERRIDING`.
fn overridden(names: &[ast::ObjectName]) -> (&[ast::ObjectName], Option<InsertOverriding>) {
    let Some((last, rest)) = names.split_last() else {
        return (names, None);
    };
    match name_parts(last).unwrap_or_default().as_slice() {
        [name] if name == OVERRIDING_SYSTEM => (rest, Some(InsertOverriding::System)),
        [name] if name == OVERRIDING_USER => (rest, Some(InsertOverriding::User)),
        _ => (names, None),
    }
}

/// True for `INSERT DEFAULT VALUES` of `MERGE`.
fn is_of_defaults(values: &ast::Values) -> bool {
    let mut trees = values.rows.iter().flat_map(|row| row.iter());
    matches!(trees.next(), Some(Tree::Identifier(word)) if word.value == DEFAULT_VALUES)
}

/// The positions of the named columns, or of all columns.
fn targets(relation: &Relation, names: &[ast::ObjectName]) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        return Ok((0..relation.columns.len()).collect());
    }
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let mut parts = name_parts(name)?.into_iter();
        let name = parts.next().unwrap_or_default();
        let number = relation.column(&name)?.number;
        if let Some(field) = parts.next() {
            return Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!("cannot assign to field \"{field}\" of column \"{name}\": it is no row"),
            ));
        }
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
    scope: &Scope,
    (relation, targets, named): (&Relation, &[usize], bool),
    values: &ast::Values,
    overriding: Option<InsertOverriding>,
) -> Result<Vec<Vec<Option<Expr>>>, SqlError> {
    let mut rows = Vec::with_capacity(values.rows.len());
    for trees in &values.rows {
        check_count(trees.len(), targets, named)?;
        let mut row: Vec<Option<Expr>> = vec![None; relation.columns.len()];
        for (tree, target) in trees.iter().zip(targets) {
            if is_default(tree) {
                continue;
            }
            let column = &relation.columns[*target];
            let is_taken = takes_value(column, overriding)?;
            let value = compile_assigned(planning, scope, column, tree)?;
            if is_taken {
                row[*target] = Some(value);
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

/// True if a value given for a column is stored; false if a number is drawn from its sequence instead.
///
/// # Errors
/// `428C9` if the column is `GENERATED ALWAYS`.
fn takes_value(
    column: &RelationColumn,
    overriding: Option<InsertOverriding>,
) -> Result<bool, SqlError> {
    if column.is_generated {
        return Err(SqlError::new(
            code::GENERATED_ALWAYS,
            format!(
                "cannot insert a non-DEFAULT value into column \"{}\"",
                column.name
            ),
        )
        .detail(format!("Column \"{}\" is a generated column.", column.name)));
    }
    match (column.identity, overriding) {
        (Some('a'), None) => Err(SqlError::new(
            code::GENERATED_ALWAYS,
            format!(
                "cannot insert a non-DEFAULT value into column \"{}\"",
                column.name
            ),
        )
        .detail(format!(
            "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
            column.name
        ))
        .hint("Use OVERRIDING SYSTEM VALUE to override.")),
        (Some(_), Some(InsertOverriding::User)) => Ok(false),
        _ => Ok(true),
    }
}

fn query_rows(
    planning: &mut Planning<'_>,
    relation: &Relation,
    targets: &[usize],
    query: &ast::Query,
    named: bool,
    overriding: Option<InsertOverriding>,
) -> Result<InsertRows, SqlError> {
    let mut draft = draft_query(planning, query)?;
    check_count(draft.items.len(), targets, named)?;
    let scope = Scope::default();
    for (item, target) in draft.items.iter_mut().zip(targets) {
        // A value without a type yet is read as a value of the column.
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
        let place = match takes_value(into, overriding)? {
            true => *target,
            // The row has no column at this place.
            false => usize::MAX,
        };
        places.push((place, from));
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
        Some(ConflictTarget::Columns { columns, predicate }) => Some(inferred(
            planning,
            relation,
            scope,
            columns,
            predicate.as_ref(),
        )?),
        Some(ConflictTarget::OnConstraint(name)) => {
            let name = name_parts(name)?.pop().unwrap_or_default();
            let found = unique_index(relation, |_, constraint| constraint == name);
            if found.is_none() {
                return Err(SqlError::new(
                    code::UNKNOWN_OBJECT,
                    format!(
                        "constraint \"{name}\" for table \"{}\" does not exist",
                        relation.local()
                    ),
                ));
            }
            Some(found)
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
    let mut indexes = relation.schema.indexes.iter();
    let deferrable = indexes.find(|index| {
        let is_arbiter = match &target {
            None => true,
            Some(target) => target.index.as_deref() == Some(&*index.name),
        };
        index.deferrable && is_arbiter
    });
    if let Some(index) = deferrable {
        let error = SqlError::new(
            code::NOT_IN_PREREQUISITE_STATE,
            "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters",
        );
        return Err(error.of_table(&relation.name).of_constraint(&index.name));
    }
    let update = match &on.action {
        OnConflictAction::DoNothing => None,
        OnConflictAction::DoUpdate(update) => {
            if target.is_none() {
                return Err(SqlError::syntax(
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                ));
            }
            // The columns of `excluded` follow those of the existing row.
            let width = relation.schema.columns.len();
            let mut excluded = scope_of(relation, "excluded");
            excluded.system = SystemColumns::default();
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
    let arbiters = match &target {
        Some(target) => vec![target.clone()],
        None => unique_indexes(relation).map(|(_, target)| target).collect(),
    };
    Ok(Conflict {
        target,
        arbiters,
        update,
    })
}
