//! `CREATE TABLE … AS` and `SELECT … INTO`: tables with the columns and rows of a query.
//!
//! The columns are created by an ordinary `CREATE TABLE`, and the rows are inserted by an ordinary `INSERT`.

use super::materialized::keep_query;
use super::options::is_unsaid;
use super::validity::doubt;
use crate::class::doubts_constraints;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::expression::{Environment, Parameters};
use crate::names::{name_of, quoted};
use crate::parse::parse_kept;
use crate::path::written_whole;
use crate::plan::Plan;
use crate::plan::planning::{Planning, Queries};
use crate::plan::query::draft_query;
use crate::prepared::Prepared;
use crate::result::{Complete, Tag};
use crate::rights::Rights;
use crate::running::run_plan;
use crate::sequences::SequenceChanges;
use crate::source::Source;
use crate::write_target::WriteTarget;
use sqlparser::ast::{
    AlterTableOperation, ColumnDef, ColumnOption, ColumnOptionDef, CreateTable, DataType, Query,
    Statement,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// True if a definition computes values of rows: a query's for a table that it creates, or created; a default for the rows
/// of a table that gets a column; a condition on rows of the catalogue.
pub(crate) fn computes_rows(statement: Option<&Statement>) -> bool {
    match statement {
        Some(Statement::AlterTable(alter)) => alter.operations.iter().any(may_have_default),
        Some(Statement::Update(update)) => doubts_constraints(update),
        statement => fills_table(statement),
    }
}

/// True if a statement creates a table with the rows of a query, or fills one again.
pub(crate) fn fills_table(statement: Option<&Statement>) -> bool {
    match statement {
        Some(Statement::CreateView(create)) => create.materialized,
        Some(Statement::RefreshMaterializedView(_)) => true,
        statement => of_query(statement).is_some(),
    }
}

/// True if an operation adds a column that may have a default: its own, that of its domain, or of a sequence.
fn may_have_default(operation: &AlterTableOperation) -> bool {
    let is_default = |option: &ColumnOptionDef| matches!(option.option, ColumnOption::Default(_));
    match operation {
        AlterTableOperation::AddColumn { column_def, .. } => {
            let is_named = matches!(column_def.data_type, DataType::Custom(..));
            is_named || column_def.options.iter().any(is_default)
        }
        _ => false,
    }
}

/// The `CREATE TABLE` and the query of such a statement.
fn of_query(statement: Option<&Statement>) -> Option<(&CreateTable, &Query)> {
    match statement {
        Some(Statement::CreateTable(create)) => {
            create.query.as_deref().map(|query| (create, query))
        }
        _ => None,
    }
}

/// A table that is to get the rows of a query. Its other definitions are made.
#[derive(Debug)]
pub(crate) struct ToFill {
    /// The stored name.
    pub name: String,
    query: Query,
    /// The privileges with which the query reads.
    rights: Arc<Rights>,
    /// The result of the statement, but for the number of rows.
    complete: Complete,
    /// The text of a materialized view's query.
    view: Option<String>,
    /// True if the result tells the number of rows.
    counts: bool,
}

/// A statement whose definitions are made.
#[derive(Debug)]
pub(crate) enum Defined {
    /// There are no rows to insert.
    Whole(Complete),
    Unfilled(Box<ToFill>),
}

/// Creates a table from a query, or fills it again.
///
/// # Errors
/// Invalid SQL in the query, its columns or the table; the engine's errors.
pub(crate) fn run(
    tx: &mut dyn WriteTarget,
    database: &Arc<Database>,
    prepared: &Prepared,
    with: &Environment<'_>,
) -> Result<Complete, SqlError> {
    match prepared.statement() {
        Some(Statement::AlterTable(_)) => return alter(tx, database, prepared, with),
        Some(Statement::Update(update)) => return doubt(tx, update, &prepared.rights(), with),
        _ => {}
    }
    match begin(tx, database, prepared, with)? {
        Defined::Whole(complete) => Ok(complete),
        Defined::Unfilled(unfilled) => {
            let plan = unfilled.plan(&*tx)?.0;
            let (inserted, _) = run_plan(tx, &plan, with)?;
            unfilled.end(tx, inserted.tag.rows.unwrap_or_default())
        }
    }
}

/// The definitions of such a statement, without the rows.
///
/// # Errors
/// As [`run`], but for the rows.
pub(crate) fn begin(
    tx: &mut dyn WriteTarget,
    database: &Arc<Database>,
    prepared: &Prepared,
    with: &Environment<'_>,
) -> Result<Defined, SqlError> {
    match prepared.statement() {
        Some(Statement::CreateView(create)) => {
            return super::materialized::create(tx, database, prepared, create, with);
        }
        Some(Statement::RefreshMaterializedView(refresh)) => {
            return super::materialized::refresh(tx, prepared, refresh);
        }
        _ => {}
    }
    let Some((create, query)) = of_query(prepared.statement()) else {
        return Err(SqlError::syntax("there is no query to make a table of"));
    };
    let rights = prepared.rights();
    let names = create.columns.iter().map(said_name);
    let names = names.collect::<Result<Vec<String>, SqlError>>()?;
    let table = CreateTable {
        columns: columns_for(&*tx, query, &names, &rights)?,
        query: None,
        with_data: None,
        ..create.clone()
    };
    let statement = Statement::CreateTable(table);
    let making = Prepared::new(prepared.statement_text(), Some(statement), &[]);
    let making = making.with_rights(rights.clone());
    let Some(target) = tx.define() else {
        return Err(SqlError::unsupported(
            "a transaction that runs aside defines nothing",
        ));
    };
    let name = rights
        .path()
        .new_name(target.view(), &create.name, create.temporary);
    let user = with.context.user.clone();
    // The table has no sequences.
    let mut sequences = SequenceChanges::default();
    let mut complete = super::run(target, database, &making, &mut sequences, (&user, None))?;
    target.defined()?;
    let is_there = complete
        .notices
        .iter()
        .any(|notice| notice.code == code::DUPLICATE_TABLE);
    let is_empty = create.with_data.as_ref().is_some_and(|with| !with.data);
    if is_there || is_empty {
        complete.tag = Tag::plain("CREATE TABLE AS");
        return Ok(Defined::Whole(complete));
    }
    let unfilled = ToFill::new(name?, query.clone(), (rights, true), complete);
    Ok(Defined::Unfilled(Box::new(unfilled)))
}

impl ToFill {
    /// A table with its query. The result of the statement has the number of rows if it `counts`.
    pub(super) fn new(
        name: String,
        query: Query,
        (rights, counts): (Arc<Rights>, bool),
        complete: Complete,
    ) -> Self {
        ToFill {
            name,
            query,
            rights,
            complete,
            view: None,
            counts,
        }
    }

    /// The same of a materialized view with this text.
    pub(super) fn of_view(mut self, text: String) -> Self {
        self.view = Some(text);
        self
    }

    /// The plan that inserts the rows, with the tables that it reads.
    ///
    /// # Errors
    /// Invalid SQL.
    pub fn plan(&self, source: &dyn Source) -> Result<(Plan, Queries), SqlError> {
        let text = format!("insert into {} default values", written_whole(&self.name));
        let Some(Statement::Insert(mut insert)) = parse_kept(&text)?.pop() else {
            return Err(SqlError::new(code::INTERNAL, "an INSERT was expected"));
        };
        insert.source = Some(Box::new(self.query.clone()));
        let mut parameters = Parameters::default().of_kept_text(self.view.is_some());
        let mut planning = Planning::new(source, &mut parameters, &self.rights)?;
        let plan = Plan::of(&mut planning, &Statement::Insert(insert))?;
        planning.queries.check_populated()?;
        let queries = planning.queries;
        check_no_parameters(&parameters)?;
        Ok((plan, queries))
    }

    /// Ends the statement, once the rows are inserted. Returns its result.
    ///
    /// # Errors
    /// The engine's errors.
    pub fn end(self, tx: &mut dyn WriteTarget, rows: u64) -> Result<Complete, SqlError> {
        if self.view.is_some() {
            keep_query(tx, &self.name, self.view, true)?;
        }
        let mut complete = self.complete;
        if self.counts {
            complete.tag = Tag::rows("SELECT", rows);
        }
        Ok(complete)
    }
}

/// Alters a table, and computes defaults for its rows.
fn alter(
    tx: &mut dyn WriteTarget,
    database: &Arc<Database>,
    prepared: &Prepared,
    with: &Environment<'_>,
) -> Result<Complete, SqlError> {
    let Some(target) = tx.define() else {
        return Err(SqlError::unsupported(
            "a transaction that runs aside defines nothing",
        ));
    };
    let user = with.context.user.clone();
    let changes = |with: &Environment<'_>| {
        let mut draws = with.context.draws.borrow_mut();
        std::mem::take(&mut draws.changes.sequences)
    };
    let mut sequences = changes(with);
    let by = (&*user, Some(with));
    let complete = super::run(target, database, prepared, &mut sequences, by);
    with.context.draws.borrow_mut().changes.sequences = sequences;
    target.defined()?;
    complete
}

fn check_no_parameters(parameters: &Parameters) -> Result<(), SqlError> {
    match parameters.decided().is_empty() {
        true => Ok(()),
        false => Err(SqlError::new(
            code::UNKNOWN_PARAMETER,
            "a table that is made of a query has no parameters",
        )),
    }
}

/// The columns of a query, as definitions of a `CREATE TABLE`. The first of them get the given names.
///
/// # Errors
/// Invalid SQL in the query; `42601` for more names than columns; `0A000` for a type that columns cannot have.
pub(super) fn columns_for(
    source: &dyn Source,
    query: &Query,
    names: &[String],
    rights: &Arc<Rights>,
) -> Result<Vec<ColumnDef>, SqlError> {
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, rights)?;
    let mut draft = draft_query(&mut planning, query)?;
    draft.decide(&mut planning)?;
    if names.len() > draft.items.len() {
        return Err(SqlError::syntax("too many column names were specified"));
    }
    let mut seen = BTreeSet::new();
    let mut columns = Vec::with_capacity(draft.items.len());
    for (at, item) in draft.items.iter().enumerate() {
        let name = names.get(at).unwrap_or(&item.name);
        if !seen.insert(name) {
            return Err(SqlError::new(
                code::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        columns.push(format!("{} {}", quoted(name), item.typed.spec.declared()));
    }
    check_no_parameters(&parameters)?;
    let text = format!("create table made ({})", columns.join(", "));
    match parse_kept(&text)?.pop() {
        Some(Statement::CreateTable(create)) => Ok(create.columns),
        _ => Err(SqlError::new(code::INTERNAL, "a CREATE TABLE was expected")),
    }
}

/// The name of a column without a type, before `AS`.
fn said_name(column: &ColumnDef) -> Result<String, SqlError> {
    let ColumnDef {
        name,
        data_type,
        options,
    } = column;
    match is_unsaid(data_type) && options.is_empty() {
        true => Ok(name_of(name)),
        false => Err(SqlError::syntax(
            "a column of CREATE TABLE AS has a name, and neither a type nor constraints",
        )),
    }
}
