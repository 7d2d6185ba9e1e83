//! `FOR UPDATE` and its brothers: the queries that they may follow, and the tables that they name.

use crate::error::{SqlError, code};
use crate::lock_modes::RowMode;
use crate::names::{name_of, parts_of};
use crate::parse::{WEAK, count_with_ties};
use sqlparser::ast::{
    Distinct, GroupByExpr, LimitClause, LockClause, LockType, NonBlock, Query, SetExpr,
    TableFactor, TableWithJoins,
};

/// The error of `LOCK TABLE` outside of a transaction that a client began.
pub(crate) fn outside_of_transactions() -> SqlError {
    SqlError::new(
        code::NO_TRANSACTION,
        "LOCK TABLE can only be used in transaction blocks",
    )
}

/// A table, or a query, of `FROM`, as `OF` names it.
enum Named {
    Table,
    /// One that `WITH` names.
    With,
    /// A function, or rows of `VALUES`.
    Other(&'static str),
}

/// A table of a locking clause (`FOR UPDATE OF …`), and the clause's mode.
pub(crate) struct LockedTable {
    /// `None` for all of `FROM`.
    pub name: Option<String>,
    /// True for `NO KEY UPDATE` and `KEY SHARE`.
    pub is_weak: bool,
}

/// The table that a lock names, and the rest of its mode.
///
/// # Errors
/// `42601` for a name with a schema.
pub(crate) fn locked_table(lock: &LockClause) -> Result<LockedTable, SqlError> {
    let mut parts = lock.of.as_ref().map_or(Ok(Vec::new()), parts_of)?;
    let is_weak = parts.first().is_some_and(|part| part == WEAK);
    if is_weak {
        parts.remove(0);
    }
    if parts.len() > 1 {
        let word = mode_of(lock.lock_type, is_weak).word();
        return Err(SqlError::syntax(format!(
            "{word} must specify unqualified relation names"
        )));
    }
    Ok(LockedTable {
        name: parts.pop(),
        is_weak,
    })
}

/// The mode of a lock.
pub(crate) fn mode_of(lock: LockType, is_weak: bool) -> RowMode {
    match (lock, is_weak) {
        (LockType::Update, false) => RowMode::Update,
        (LockType::Update, true) => RowMode::NoKeyUpdate,
        (LockType::Share, false) => RowMode::Share,
        (LockType::Share, true) => RowMode::KeyShare,
    }
}

/// Checks a lock of a query.
///
/// # Errors
/// `0A000` for queries whose rows are not those of a table; `42P01` for names that are not in `FROM`; `42601` for
/// `SKIP LOCKED` of a number of rows with ties.
pub(crate) fn check(query: &Query, lock: &LockClause) -> Result<(), SqlError> {
    let LockedTable { name, is_weak } = locked_table(lock)?;
    let word = mode_of(lock.lock_type, is_weak).word();
    if lock.nonblock == Some(NonBlock::SkipLocked) && has_ties(query) {
        return Err(SqlError::syntax(
            "SKIP LOCKED and WITH TIES options cannot be used together",
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
    match name {
        Some(name) => check_name(query, &select.from, &name, word),
        None => Ok(()),
    }
}

/// True if rows that are equal in order to the last one are returned, too.
fn has_ties(query: &Query) -> bool {
    let limit = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, .. }) => limit.as_ref(),
        _ => None,
    };
    query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties)
        || limit.is_some_and(|limit| count_with_ties(limit).is_some())
}

/// Checks that the rows of a query that locks them are rows of tables.
///
/// # Errors
/// `0A000` if they are grouped, or computed by window functions or set-returning functions.
pub(crate) fn check_rows(
    lock: &LockClause,
    (is_grouped, has_windows, has_sets): (bool, bool, bool),
) -> Result<(), SqlError> {
    let what = match (is_grouped, has_windows, has_sets) {
        (true, _, _) => "aggregate functions",
        (_, true, _) => "window functions",
        (_, _, true) => "set-returning functions in the target list",
        _ => return Ok(()),
    };
    let word = mode_of(lock.lock_type, locked_table(lock)?.is_weak).word();
    Err(refused(format!("{word} is not allowed with {what}")))
}

fn refused(message: String) -> SqlError {
    SqlError::unsupported(message)
}

fn check_name(
    query: &Query,
    from: &[TableWithJoins],
    wanted: &str,
    word: &str,
) -> Result<(), SqlError> {
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
