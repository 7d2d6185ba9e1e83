//! `FOR UPDATE` and `FOR SHARE`: the queries that they may follow, and the tables that they name.
//!
//! No row is locked: a transaction whose answers have changed by its commit fails. A lock would prevent the same
//! change.

use crate::error::{SqlError, code};
use crate::names::{name_of, parts_of};
use sqlparser::ast::{
    Distinct, GroupByExpr, LockClause, LockType, NonBlock, ObjectName, Query, SetExpr, TableFactor,
    TableWithJoins,
};

/// A table, or a query, of `FROM`, as `OF` names it.
enum Named {
    Table,
    /// One that `WITH` names.
    With,
    /// A function, or rows of `VALUES`.
    Other(&'static str),
}

/// Checks a lock of a query.
///
/// # Errors
/// `0A000` for queries whose rows are not those of a table, and for `SKIP LOCKED`; `42P01` for names that are not in
/// `FROM`.
pub(crate) fn check(query: &Query, lock: &LockClause) -> Result<(), SqlError> {
    let LockClause {
        lock_type,
        of,
        nonblock,
    } = lock;
    let word = word_of(*lock_type);
    // Nothing waits, so NOWAIT is kept; but no row is locked, so none would be passed over.
    if *nonblock == Some(NonBlock::SkipLocked) {
        return Err(SqlError::unsupported(
            "SELECT with SKIP LOCKED is not supported",
        ));
    }
    let select = match &*query.body {
        SetExpr::Select(select) => select,
        SetExpr::Values(_) => return Err(refused(format!("{word} cannot be applied to VALUES"))),
        SetExpr::Query(_) => return Ok(()),
        _ => {
            return Err(refused(format!(
                "{word} is not allowed with UNION/INTERSECT/EXCEPT"
            )));
        }
    };
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
    };
    let clauses = [
        (
            matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))),
            "DISTINCT",
        ),
        (is_grouped, "GROUP BY"),
        (select.having.is_some(), "HAVING"),
    ];
    if let Some((_, clause)) = clauses.iter().find(|(is_there, _)| *is_there) {
        return Err(refused(format!(
            "{word} is not allowed with {clause} clause"
        )));
    }
    of.as_ref()
        .map_or(Ok(()), |name| check_name(query, &select.from, name, word))
}

fn word_of(lock: LockType) -> &'static str {
    match lock {
        LockType::Update => "FOR UPDATE",
        LockType::Share => "FOR SHARE",
    }
}

/// Checks that the rows of a query that locks them are rows of tables.
///
/// # Errors
/// `0A000` if they are computed of several.
pub(crate) fn check_rows(
    lock: LockType,
    is_grouped: bool,
    has_windows: bool,
) -> Result<(), SqlError> {
    let what = match (is_grouped, has_windows) {
        (true, _) => "aggregate functions",
        (_, true) => "window functions",
        _ => return Ok(()),
    };
    Err(refused(format!(
        "{} is not allowed with {what}",
        word_of(lock)
    )))
}

fn refused(message: String) -> SqlError {
    SqlError::unsupported(message)
}

fn check_name(
    query: &Query,
    from: &[TableWithJoins],
    name: &ObjectName,
    word: &str,
) -> Result<(), SqlError> {
    let parts = parts_of(name)?;
    let [wanted] = parts.as_slice() else {
        return Err(SqlError::syntax(format!(
            "{word} must specify unqualified relation names"
        )));
    };
    let mut found = None;
    for item in from {
        let joined = item.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&item.relation).chain(joined) {
            find(query, factor, wanted, &mut found)?;
        }
    }
    match found {
        Some(Named::Table) => Ok(()),
        Some(Named::With) => Err(refused(format!("{word} cannot be applied to a WITH query"))),
        Some(Named::Other(what)) => Err(refused(format!("{word} cannot be applied to {what}"))),
        None => Err(SqlError::new(
            code::UNKNOWN_TABLE,
            format!("relation \"{wanted}\" in {word} clause not found in FROM clause"),
        )),
    }
}

fn find(
    query: &Query,
    factor: &TableFactor,
    wanted: &str,
    found: &mut Option<Named>,
) -> Result<(), SqlError> {
    let (alias, own, kind) = match factor {
        TableFactor::Table {
            name, alias, args, ..
        } => {
            let own = parts_of(name)?.pop().unwrap_or_default();
            let with = query.with.as_ref().map_or(&[][..], |with| &with.cte_tables);
            let is_named = with.iter().any(|named| name_of(&named.alias.name) == own);
            let kind = match (args.is_some(), is_named) {
                (true, _) => Named::Other("a function"),
                (_, true) => Named::With,
                _ => Named::Table,
            };
            (alias, Some(own), kind)
        }
        TableFactor::Derived {
            subquery, alias, ..
        } => match &*subquery.body {
            SetExpr::Values(_) => (alias, None, Named::Other("VALUES")),
            _ => (alias, None, Named::Table),
        },
        TableFactor::NestedJoin {
            table_with_joins,
            alias,
        } => {
            if alias.is_none() {
                let joined = table_with_joins.joins.iter().map(|join| &join.relation);
                for factor in std::iter::once(&table_with_joins.relation).chain(joined) {
                    find(query, factor, wanted, found)?;
                }
            }
            (alias, None, Named::Other("a join"))
        }
        TableFactor::Function { alias, name, .. } => {
            (alias, parts_of(name)?.pop(), Named::Other("a function"))
        }
        TableFactor::UNNEST { alias, .. } => {
            (alias, Some("unnest".into()), Named::Other("a function"))
        }
        _ => return Ok(()),
    };
    let name = alias.as_ref().map(|alias| name_of(&alias.name)).or(own);
    if name.as_deref() == Some(wanted) {
        *found = Some(kind);
    }
    Ok(())
}
