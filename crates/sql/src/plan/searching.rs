//! `SEARCH` and `CYCLE` of a recursive query: columns that its rows get, written as SQL around both of its parts.
//!
//! Source: PostgreSQL 15, `rewriteSearchCycle.c`, which writes them in the same way.

use crate::error::{SqlError, code};
use crate::names::{name_of, parts_of, quoted};
use crate::parse::{Clauses, parse_kept, take_clauses};
use sqlparser::ast::{
    Cte, Expr as Tree, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, SetOperator, Statement, TableAliasColumnDef,
    TableFactor, TableWithJoins, WildcardAdditionalOptions, With,
};

/// The column that counts the rounds of a search in breadth. It is hidden behind the query.
const ROUND: &str = "\u{1}round";

/// True for a column that is hidden behind a recursive query.
pub(super) fn is_hidden(name: &str) -> bool {
    name == ROUND
}

/// Returns the names of the columns of a query's first part, behind its own `WITH`.
pub(super) type NamesOf<'n> =
    &'n mut dyn FnMut(Option<&With>, &SetExpr) -> Result<Vec<String>, SqlError>;

/// The query of `WITH` with the columns of its clauses; `None` if it has none.
///
/// # Errors
/// `42601`, `0A000` for a query that cannot have them; `42701` for a column that exists; `42703` for one that does not.
pub(super) fn with_clauses(
    named: &Cte,
    recurs: bool,
    names_of: NamesOf<'_>,
) -> Result<Option<Cte>, SqlError> {
    let mut named = named.clone();
    let Some(clauses) = take_clauses(&mut named)? else {
        return Ok(None);
    };
    let name = name_of(&named.alias.name);
    let not_recursive = || SqlError::syntax("WITH query is not recursive");
    let SetExpr::SetOperation {
        left,
        op: SetOperator::Union,
        right,
        ..
    } = &mut *named.query.body
    else {
        return Err(not_recursive());
    };
    if !recurs {
        return Err(not_recursive());
    }
    let are_selects = [
        (
            matches!(**left, SetExpr::Select(_) | SetExpr::Values(_)),
            "left",
        ),
        (matches!(**right, SetExpr::Select(_)), "right"),
    ];
    if let Some((_, word)) = are_selects.iter().find(|(is_select, _)| !is_select) {
        return Err(SqlError::unsupported(format!(
            "with a SEARCH or CYCLE clause, the {word} side of the UNION must be a SELECT"
        )));
    }
    let mut columns = names_of(named.query.with.as_ref(), left)?;
    let declared = named.alias.columns.iter();
    for (column, declared) in columns.iter_mut().zip(declared) {
        *column = name_of(&declared.name);
    }
    let added = Added::of(&clauses, &columns)?;
    let SetExpr::Select(step) = &mut **right else {
        return Err(not_recursive());
    };
    let read = reference(step, &name)?;
    expand_stars(step, &read, &columns)?;
    let added_names = added.columns.iter().map(|column| &column.name);
    step.projection
        .extend(added_names.map(|name| read.item(name)));
    let mut inner = columns.clone();
    **left = added.around(left, &inner, false)?;
    inner.extend(added.columns.iter().map(|column| column.name.clone()));
    **right = added.around(right, &inner, true)?;
    named.alias.columns = inner
        .iter()
        .filter(|column| !is_hidden(column))
        .map(|column| TableAliasColumnDef {
            name: Ident::with_quote('"', column),
            data_type: None,
        })
        .collect();
    Ok(Some(named))
}

/// A column that is added: its values in the first rows, and in those of the step.
struct Column {
    what: &'static str,
    name: String,
    first: String,
    step: String,
}

/// The columns that clauses add.
struct Added {
    /// The number of the query's own columns.
    own: usize,
    columns: Vec<Column>,
    /// The condition of the step's rows.
    condition: Option<String>,
}

impl Added {
    fn of(clauses: &Clauses, own: &[String]) -> Result<Added, SqlError> {
        let mut added = Added {
            own: own.len(),
            columns: Vec::new(),
            condition: None,
        };
        let mut round = None;
        if let Some(search) = &clauses.search {
            let row = row_of("search", &search.by, own)?;
            let column = quoted(&search.column);
            let (first, step) = match search.is_depth {
                true => (
                    format!("ARRAY[ROW({row})]"),
                    format!("of_rows.{column} || ROW({row})"),
                ),
                false => {
                    let count = quoted(ROUND);
                    round = Some(Column {
                        what: "round",
                        name: ROUND.to_string(),
                        first: "0::bigint".to_string(),
                        step: format!("of_rows.{count} + 1"),
                    });
                    (
                        format!("ROW(0::bigint, {row})"),
                        format!("ROW(of_rows.{count} + 1, {row})"),
                    )
                }
            };
            added.add("search sequence", &search.column, (first, step), own)?;
        }
        if let Some(cycle) = &clauses.cycle {
            let row = row_of("cycle", &cycle.of, own)?;
            let (mark, path) = (quoted(&cycle.mark), quoted(&cycle.path));
            let (value, otherwise) = match &cycle.values {
                Some(values) => (values.0.to_string(), values.1.to_string()),
                None => ("true".to_string(), "false".to_string()),
            };
            let step = format!(
                "CASE WHEN ROW({row}) = ANY (of_rows.{path}) THEN {value} ELSE {otherwise} END"
            );
            added.add("cycle mark", &cycle.mark, (otherwise, step), own)?;
            let values = (
                format!("ARRAY[ROW({row})]"),
                format!("of_rows.{path} || ROW({row})"),
            );
            added.add("cycle path", &cycle.path, values, own)?;
            added.condition = Some(format!("of_rows.{mark} <> {value}"));
        }
        added.columns.extend(round);
        Ok(added)
    }

    fn add(
        &mut self,
        what: &'static str,
        name: &str,
        (first, step): (String, String),
        own: &[String],
    ) -> Result<(), SqlError> {
        let error = |text: String| Err(SqlError::syntax(text));
        if own.iter().any(|column| column == name) {
            return error(format!(
                "{what} column name \"{name}\" already used in WITH query column list"
            ));
        }
        if let Some(other) = self.columns.iter().find(|column| column.name == name) {
            return error(format!(
                "{} column name and {what} column name are the same",
                other.what
            ));
        }
        self.columns.push(Column {
            what,
            name: name.to_string(),
            first,
            step,
        });
        Ok(())
    }

    /// `SELECT own columns, added ones FROM (part) AS of_rows (columns)`.
    fn around(
        &self,
        part: &SetExpr,
        columns: &[String],
        is_step: bool,
    ) -> Result<SetExpr, SqlError> {
        let own = columns.iter().take(self.own);
        let mut items: Vec<String> = own
            .map(|column| format!("of_rows.{}", quoted(column)))
            .collect();
        for column in &self.columns {
            let value = if is_step { &column.step } else { &column.first };
            items.push(format!("{value} AS {}", quoted(&column.name)));
        }
        let names: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let mut text = format!(
            "SELECT {} FROM (SELECT 1) AS of_rows ({})",
            items.join(", "),
            names.join(", ")
        );
        if let (Some(condition), true) = (&self.condition, is_step) {
            text.push_str(&format!(" WHERE {condition}"));
        }
        let Some(Statement::Query(mut query)) = parse_kept(&text)?.pop() else {
            return Err(SqlError::syntax("a query is expected"));
        };
        if let SetExpr::Select(select) = &mut *query.body
            && let Some(from) = select.from.first_mut()
            && let TableFactor::Derived { subquery, .. } = &mut from.relation
        {
            *subquery.body = part.clone();
        }
        Ok(*query.body)
    }
}

/// The columns that a clause names, as the values of a row.
fn row_of(what: &str, names: &[String], own: &[String]) -> Result<String, SqlError> {
    let mut row = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        if !own.contains(name) {
            let text = format!("{what} column \"{name}\" not in WITH query column list");
            return Err(SqlError::syntax(text));
        }
        if names[..at].contains(name) {
            let text = format!("{what} column \"{name}\" specified more than once");
            return Err(SqlError::new(code::DUPLICATE_COLUMN, text));
        }
        row.push(format!("of_rows.{}", quoted(name)));
    }
    Ok(row.join(", "))
}

/// The rows of the query in the step's own `FROM`.
struct Reference {
    alias: Ident,
    /// The names that the alias gives to the first columns.
    renamed: Vec<String>,
}

impl Reference {
    /// One of its columns, as an item.
    fn item(&self, column: &str) -> SelectItem {
        let parts = vec![self.alias.clone(), Ident::with_quote('"', column)];
        SelectItem::UnnamedExpr(Tree::CompoundIdentifier(parts))
    }

    fn items(&self, own: &[String]) -> Vec<SelectItem> {
        let names = own.iter().enumerate();
        names
            .map(|(at, name)| self.item(self.renamed.get(at).unwrap_or(name)))
            .collect()
    }

    fn is_named(&self, name: &ObjectName) -> bool {
        matches!(parts_of(name).as_deref(), Ok([only]) if *only == name_of(&self.alias))
    }
}

/// Writes `*` in the step's items as the columns that the query itself has: the added ones are no part of it.
fn expand_stars(step: &mut Select, read: &Reference, own: &[String]) -> Result<(), SqlError> {
    let mut items = Vec::with_capacity(step.projection.len());
    for item in std::mem::take(&mut step.projection) {
        match &item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _)
                if read.is_named(name) =>
            {
                items.extend(read.items(own));
            }
            SelectItem::Wildcard(_) => {
                for alias in aliases(&step.from)? {
                    if name_of(&alias) == name_of(&read.alias) {
                        items.extend(read.items(own));
                        continue;
                    }
                    let name = ObjectName::from(vec![alias]);
                    items.push(SelectItem::QualifiedWildcard(
                        SelectItemQualifiedWildcardKind::ObjectName(name),
                        WildcardAdditionalOptions::default(),
                    ));
                }
            }
            _ => items.push(item),
        }
    }
    step.projection = items;
    Ok(())
}

/// The names of the tables of `FROM`, in the order of `*`.
///
/// # Errors
/// `0A000` if `*` has other columns than these.
fn aliases(from: &[TableWithJoins]) -> Result<Vec<Ident>, SqlError> {
    let mut names = Vec::new();
    for item in from {
        let is_plain = |join: &Join| {
            !matches!(
                constraint_of(&join.join_operator),
                Some(JoinConstraint::Using(_) | JoinConstraint::Natural)
            )
        };
        let joined = item.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&item.relation).chain(joined) {
            let alias = match factor {
                TableFactor::Table {
                    alias: Some(alias), ..
                }
                | TableFactor::Derived {
                    alias: Some(alias), ..
                } => Some(alias.name.clone()),
                TableFactor::Table {
                    name, args: None, ..
                } => parts_of(name)?
                    .pop()
                    .map(|name| Ident::with_quote('"', name)),
                _ => None,
            };
            let alias = alias.filter(|_| item.joins.iter().all(is_plain));
            names.push(alias.ok_or_else(|| {
                SqlError::unsupported(
                    "* beside this item of FROM is not supported with a SEARCH or CYCLE clause",
                )
                .hint("Name the columns.")
            })?);
        }
    }
    Ok(names)
}

fn constraint_of(join: &JoinOperator) -> Option<&JoinConstraint> {
    match join {
        JoinOperator::Join(of)
        | JoinOperator::Inner(of)
        | JoinOperator::Left(of)
        | JoinOperator::LeftOuter(of)
        | JoinOperator::Right(of)
        | JoinOperator::RightOuter(of)
        | JoinOperator::FullOuter(of) => Some(of),
        _ => None,
    }
}

/// The name by which the step's own `FROM` has the rows of the query.
fn reference(step: &Select, name: &str) -> Result<Reference, SqlError> {
    let mut found = step.from.iter().filter_map(|item| in_item(item, name));
    found.next().ok_or_else(|| {
        SqlError::unsupported(format!(
            "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{name}\" must be at the top level \
             of its right-hand SELECT"
        ))
    })
}

fn in_item(item: &TableWithJoins, name: &str) -> Option<Reference> {
    let joined = item.joins.iter().map(|join| &join.relation);
    let mut all = std::iter::once(&item.relation).chain(joined);
    all.find_map(|factor| match factor {
        TableFactor::Table {
            name: found,
            alias,
            args: None,
            ..
        } if parts_of(found).ok()? == [name] => match alias {
            Some(alias) => Some(Reference {
                alias: alias.name.clone(),
                renamed: alias
                    .columns
                    .iter()
                    .map(|column| name_of(&column.name))
                    .collect(),
            }),
            None => Some(Reference {
                alias: Ident::with_quote('"', name),
                renamed: Vec::new(),
            }),
        },
        TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } => in_item(table_with_joins, name),
        _ => None,
    })
}
