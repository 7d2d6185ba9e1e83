//! Materialized views: tables that keep the rows of a query, and are filled again by `REFRESH`.
//!
//! A materialized view is a table with the query in its notes, created as by `CREATE TABLE … AS`. No other statement
//! changes its rows. Like a view, it must remain plannable: the tables that its query reads cannot be dropped before
//! it.

use super::made_of::{Defined, ToFill, columns_for};
use super::options::refuse;
use super::view::{check_clauses, planned};
use crate::database::Database;
use crate::declared::put_notes;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::parse::is_without_data;
use crate::plan::views::query_of;
use crate::prepared::Prepared;
use crate::relation::Relation;
use crate::result::{Complete, Tag};
use crate::rights::{Access, Rights};
use crate::sequences::SequenceChanges;
use crate::source::Source;
use crate::write_target::WriteTarget;
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{CreateView, RefreshMaterializedView, Statement};
use std::sync::Arc;

/// Runs `CREATE MATERIALIZED VIEW`, but for its rows.
///
/// # Errors
/// Invalid SQL in the query; `42P07` if the name is taken; `0A000` if it is temporary or reads temporary tables.
pub(crate) fn create(
    tx: &mut dyn WriteTarget,
    database: &Arc<Database>,
    prepared: &Prepared,
    create: &CreateView,
    with: &Environment<'_>,
) -> Result<Defined, SqlError> {
    const WORD: &str = "CREATE MATERIALIZED VIEW";
    check_clauses(create)?;
    let asked = [
        (create.or_replace, "OR REPLACE"),
        (create.temporary, "TEMPORARY"),
    ];
    refuse(WORD, &asked)?;
    let rights = prepared.rights();
    rights.path().check_order(WORD)?;
    let Some(target) = tx.define() else {
        return Err(SqlError::unsupported(
            "a transaction that runs aside defines nothing",
        ));
    };
    let name = rights.path().new_name(target.view(), &create.name, false)?;
    let (columns, text, reads_temporary) = planned(target.view(), create, &rights)?;
    if reads_temporary {
        return Err(SqlError::unsupported(
            "materialized views must not use temporary tables or views",
        ));
    }
    let query = query_of(&text)?;
    // The creator's privileges on its tables are already checked.
    let all = Arc::new(Rights::default());
    let names: Vec<String> = columns.into_iter().map(|(_, name)| name).collect();
    let table = CreateTableBuilder::new(create.name.clone())
        .if_not_exists(create.if_not_exists)
        .columns(columns_for(target.view(), &query, &names, &all)?)
        .build();
    let making = Prepared::new(
        prepared.statement_text(),
        Some(Statement::CreateTable(table)),
        &[],
    );
    let making = making.with_rights(rights);
    let user = with.context.user.clone();
    // The table has no sequences.
    let mut sequences = SequenceChanges::default();
    let mut complete = super::run(target, database, &making, &mut sequences, (&user, None))?;
    let is_there = complete
        .notices
        .iter()
        .any(|notice| notice.code == code::DUPLICATE_TABLE);
    if is_there {
        complete.tag = Tag::plain(WORD);
        return Ok(Defined::Whole(complete));
    }
    if is_without_data(create) {
        keep_query(tx, &name, Some(text), false)?;
        complete.tag = Tag::plain(WORD);
        return Ok(Defined::Whole(complete));
    }
    let unfilled = ToFill::new(name, *query, (all, true), complete);
    Ok(Defined::Unfilled(Box::new(unfilled.of_view(text))))
}

/// Notes the query of a materialized view, `None` while it is filled, and true if it has its rows.
///
/// # Errors
/// The engine's errors.
pub(super) fn keep_query(
    tx: &mut dyn WriteTarget,
    name: &str,
    query: Option<String>,
    is_populated: bool,
) -> Result<(), SqlError> {
    let Some(target) = tx.define() else {
        return Err(SqlError::unsupported(
            "a transaction that runs aside defines nothing",
        ));
    };
    let relation = Relation::named(target.view(), name)?;
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    notes.materialized = query;
    notes.unpopulated = !is_populated;
    put_notes(target, relation.number, &notes)?;
    Ok(target.defined()?)
}

/// Runs `REFRESH MATERIALIZED VIEW`, but for its rows.
///
/// # Errors
/// `42P01` if there is no such view; evaluation errors of its query; `0A000` for a table.
pub(crate) fn refresh(
    tx: &mut dyn WriteTarget,
    prepared: &Prepared,
    refresh: &RefreshMaterializedView,
) -> Result<Defined, SqlError> {
    let RefreshMaterializedView {
        // Readers never wait for it.
        concurrently: _,
        name,
        with_data,
    } = refresh;
    let rights = prepared.rights();
    let source = &*tx;
    let relation = Relation::named(source, &rights.path().find(source, name)?)?;
    rights.check(&relation.name, Access::Define)?;
    let Some(text) = relation.notes.materialized.clone() else {
        return Err(SqlError::unsupported(format!(
            "\"{}\" is not a materialized view",
            relation.local()
        )));
    };
    keep_query(tx, &relation.name, None, true)?;
    if let Some(target) = tx.define() {
        target.truncate(&relation.name)?;
    }
    if *with_data == Some(false) {
        keep_query(tx, &relation.name, Some(text), false)?;
        return Ok(Defined::Whole(refreshed()));
    }
    // As in a view, the query reads with all privileges, and its names are qualified.
    let all = Arc::new(Rights::default());
    let query = *query_of(&text)?;
    let unfilled = ToFill::new(relation.name, query, (all, false), refreshed());
    Ok(Defined::Unfilled(Box::new(unfilled.of_view(text))))
}

/// The table of a `REFRESH MATERIALIZED VIEW`; `None` for another statement.
///
/// # Errors
/// `42P01` if there is no such view.
pub(crate) fn refreshed_table(
    source: &dyn Source,
    prepared: &Prepared,
) -> Result<Option<u16>, SqlError> {
    match prepared.statement() {
        Some(Statement::RefreshMaterializedView(refresh)) => {
            let name = prepared.rights().path().find(source, &refresh.name)?;
            Ok(Some(Relation::named(source, &name)?.number))
        }
        _ => Ok(None),
    }
}

fn refreshed() -> Complete {
    Complete::of(Tag::plain("REFRESH MATERIALIZED VIEW"))
}
