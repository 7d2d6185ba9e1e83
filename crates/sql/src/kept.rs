//! Clauses of statements: kept, or refused by name.
//!
//! The parser knows the clauses of many systems. Its structures are destructured completely here. So a clause of a
//! newer parser does not compile before it is handled. Clauses of columns and constraints are destructured where tables
//! are defined.

use crate::class::{change_behind_with, changes_in_with};
use crate::error::{SqlError, code};
use sqlparser::ast::{
    Declare, Delete, Expr, Insert, Merge, MergeAction, MergeClause, MergeClauseKind, Query, Select,
    SelectFlavor, Statement, TableFactor, Update, UtilityOption,
};

const OTHER: &str = "a clause of another database system";

/// Refuses the first clause that the statement has.
fn refuse(statement: &str, asked: &[(bool, &str)]) -> Result<(), SqlError> {
    match asked.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(SqlError::unsupported(format!(
            "{statement} with {what} is not supported"
        ))),
        None => Ok(()),
    }
}

/// Checks that all clauses of a statement are kept. Options of `EXPLAIN` are reduced to their meaning.
///
/// # Errors
/// `0A000` with the clause that is not; `42601` for unknown options.
pub(crate) fn keep(statement: &mut Statement) -> Result<(), SqlError> {
    match statement {
        Statement::Explain { .. } => explain(statement)?,
        Statement::Prepare { statement, .. } => keep(statement)?,
        _ => {}
    }
    check(statement)
}

fn check(statement: &Statement) -> Result<(), SqlError> {
    match statement {
        Statement::StartTransaction {
            modes: _,
            begin: _,
            transaction: _,
            modifier,
            statements,
            exception,
            has_end_keyword,
        } => {
            let is_block = !statements.is_empty() || exception.is_some() || *has_end_keyword;
            let asked = [(modifier.is_some() || is_block, OTHER)];
            refuse("BEGIN", &asked)
        }
        Statement::Commit {
            chain,
            end: _,
            modifier,
        } => refuse(
            "COMMIT",
            &[(*chain, "AND CHAIN"), (modifier.is_some(), OTHER)],
        ),
        Statement::Rollback {
            chain,
            savepoint: _,
        } => refuse("ROLLBACK", &[(*chain, "AND CHAIN")]),
        Statement::Drop {
            object_type,
            if_exists: _,
            names: _,
            cascade: _,
            restrict: _,
            purge,
            temporary,
            table,
        } => {
            let other = *purge || *temporary || table.is_some();
            refuse(&format!("DROP {object_type}"), &[(other, OTHER)])
        }
        Statement::DropProcedure {
            if_exists: _,
            proc_desc: _,
            // Nothing depends on a procedure.
            drop_behavior: _,
        } => Ok(()),
        Statement::Execute {
            name: _,
            parameters: _,
            has_parentheses: _,
            immediate,
            into,
            using,
            output,
            default,
        } => {
            let other = *immediate || !into.is_empty() || !using.is_empty() || *output || *default;
            refuse("EXECUTE", &[(other, OTHER)])
        }
        Statement::Copy {
            source: _,
            to: _,
            target: _,
            // They are handled one by one where COPY runs.
            options: _,
            legacy_options: _,
            payload,
        } => refuse("COPY", &[(payload.is_some(), "data in its own text")]),
        Statement::Declare {
            stmts,
            separator: _,
        } => stmts.iter().try_for_each(declare),
        Statement::Insert(change) => insert(change),
        Statement::Update(change) => update(change),
        Statement::Delete(change) => delete(change),
        Statement::Merge(change) => merge(change),
        Statement::Query(query) => {
            let behind = change_behind_with(query).into_iter();
            behind.chain(changes_in_with(query)).try_for_each(check)
        }
        _ => Ok(()),
    }
}

fn declare(cursor: &Declare) -> Result<(), SqlError> {
    let Declare {
        names: _,
        data_type,
        assignment,
        // A cursor it is, or refused.
        declare_type: _,
        binary: _,
        sensitive,
        scroll: _,
        hold: _,
        for_query: _,
    } = cursor;
    let asked = [
        (data_type.is_some() || assignment.is_some(), OTHER),
        // All cursors are insensitive.
        (*sensitive == Some(true), "SENSITIVE"),
    ];
    refuse("DECLARE", &asked)
}

fn insert(change: &Insert) -> Result<(), SqlError> {
    let Insert {
        insert_token: _,
        optimizer_hints: _,
        or,
        ignore,
        into: _,
        table: _,
        table_alias: _,
        columns: _,
        by_name,
        overwrite,
        source: _,
        assignments,
        partitioned,
        after_columns,
        overriding: _,
        has_table_keyword,
        on: _,
        returning: _,
        output,
        replace_into,
        priority,
        insert_alias,
        settings,
        format_clause,
        multi_table_insert_type,
        multi_table_into_clauses,
        multi_table_when_clauses,
        multi_table_else_clause,
    } = change;
    let other = or.is_some()
        || *ignore
        || *by_name
        || *overwrite
        || !assignments.is_empty()
        || partitioned.is_some()
        || !after_columns.is_empty()
        || *has_table_keyword
        || output.is_some()
        || *replace_into
        || priority.is_some()
        || insert_alias.is_some()
        || settings.is_some()
        || format_clause.is_some()
        || multi_table_insert_type.is_some()
        || !multi_table_into_clauses.is_empty()
        || !multi_table_when_clauses.is_empty()
        || multi_table_else_clause.is_some();
    refuse("INSERT", &[(other, OTHER)])
}

fn update(change: &Update) -> Result<(), SqlError> {
    let Update {
        update_token: _,
        optimizer_hints: _,
        table: _,
        on_cluster,
        assignments: _,
        from: _,
        selection: _,
        returning: _,
        output,
        or,
        order_by,
        limit,
        settings,
    } = change;
    let other = output.is_some() || or.is_some() || on_cluster.is_some() || settings.is_some();
    let asked = [
        (!order_by.is_empty() || limit.is_some(), "ORDER BY or LIMIT"),
        (other, OTHER),
    ];
    refuse("UPDATE", &asked)
}

fn delete(change: &Delete) -> Result<(), SqlError> {
    let Delete {
        delete_token: _,
        optimizer_hints: _,
        tables,
        from: _,
        on_cluster,
        using: _,
        selection: _,
        returning: _,
        output,
        order_by,
        limit,
        settings,
    } = change;
    let other =
        !tables.is_empty() || output.is_some() || on_cluster.is_some() || settings.is_some();
    let asked = [
        (!order_by.is_empty() || limit.is_some(), "ORDER BY or LIMIT"),
        (other, OTHER),
    ];
    refuse("DELETE", &asked)
}

fn merge(change: &Merge) -> Result<(), SqlError> {
    let Merge {
        merge_token: _,
        optimizer_hints: _,
        into,
        table: _,
        source: _,
        on: _,
        clauses,
        output,
    } = change;
    if !*into {
        return Err(SqlError::syntax("MERGE needs INTO"));
    }
    if clauses.is_empty() {
        return Err(SqlError::syntax("MERGE needs WHEN"));
    }
    let by = |clause: &MergeClause| {
        !matches!(
            clause.clause_kind,
            MergeClauseKind::Matched | MergeClauseKind::NotMatched
        )
    };
    // A condition behind an action is that of another database system.
    let behind = |clause: &MergeClause| match &clause.action {
        MergeAction::Insert(insert) => insert.insert_predicate.is_some(),
        MergeAction::Update(update) => {
            update.update_predicate.is_some() || update.delete_predicate.is_some()
        }
        MergeAction::Delete { .. } | MergeAction::DoNothing { .. } => false,
    };
    let asked = [
        (output.is_some(), "RETURNING"),
        (clauses.iter().any(by), "NOT MATCHED BY"),
        (clauses.iter().any(behind), OTHER),
    ];
    refuse("MERGE", &asked)
}

/// Checks the clauses of a query that are not what it gives.
///
/// # Errors
/// `0A000` with the clause that is not kept.
pub(crate) fn query(query: &Query) -> Result<(), SqlError> {
    let Query {
        with: _,
        body: _,
        order_by: _,
        limit_clause: _,
        fetch: _,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    locks
        .iter()
        .try_for_each(|lock| crate::locking::check(query, lock))?;
    let other = for_clause.is_some()
        || settings.is_some()
        || format_clause.is_some()
        || !pipe_operators.is_empty();
    refuse("SELECT", &[(other, OTHER)])
}

/// Checks the clauses of a `SELECT` that PostgreSQL does not have.
///
/// # Errors
/// `0A000` with the clause that is not kept.
pub(crate) fn select(select: &Select) -> Result<(), SqlError> {
    let Select {
        select_token: _,
        optimizer_hints: _,
        distinct: _,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection: _,
        exclude,
        into,
        from: _,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    let other = select_modifiers.is_some()
        || top.is_some()
        || exclude.is_some()
        || !lateral_views.is_empty()
        || prewhere.is_some()
        || !connect_by.is_empty()
        || !cluster_by.is_empty()
        || !distribute_by.is_empty()
        || !sort_by.is_empty()
        || qualify.is_some()
        || value_table_mode.is_some()
        || *flavor != SelectFlavor::Standard;
    refuse("SELECT", &[(into.is_some(), "INTO"), (other, OTHER)])
}

/// Checks the clauses of an item of `FROM` besides its name.
///
/// # Errors
/// `0A000` with the clause that is not kept.
pub(crate) fn table(factor: &TableFactor) -> Result<(), SqlError> {
    match factor {
        TableFactor::Table {
            name: _,
            alias: _,
            args,
            with_hints,
            version,
            with_ordinality: _,
            partitions,
            json_path,
            sample,
            index_directives,
            // No table inherits from another.
            inheritance: _,
        } => {
            let other = !with_hints.is_empty()
                || version.is_some()
                || !partitions.is_empty()
                || json_path.is_some()
                || !index_directives.is_empty();
            let samples_function = sample.is_some() && args.is_some();
            refuse("FROM", &[(samples_function, "TABLESAMPLE"), (other, OTHER)])
        }
        TableFactor::Derived {
            lateral: _,
            subquery: _,
            alias: _,
            sample,
        } => refuse("FROM", &[(sample.is_some(), "TABLESAMPLE")]),
        // They are handled where they are planned, or refused there.
        _ => Ok(()),
    }
}

/// A form of the answer of `EXPLAIN`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Json,
    Yaml,
    Xml,
}

impl Format {
    /// The form of a name in lower case.
    pub fn named(name: &str) -> Option<Format> {
        Some(match name {
            "text" => Format::Text,
            "json" => Format::Json,
            "yaml" => Format::Yaml,
            "xml" => Format::Xml,
            _ => return None,
        })
    }
}

/// Converts the options of `EXPLAIN` to its fields.
fn explain(statement: &mut Statement) -> Result<(), SqlError> {
    let Statement::Explain {
        describe_alias: _,
        analyze,
        verbose,
        query_plan,
        estimate,
        statement,
        format,
        options,
    } = statement
    else {
        return Ok(());
    };
    let mut timing = false;
    // The form and the summary are read where the answer is written.
    let mut kept = Vec::new();
    for option in options.take().into_iter().flatten() {
        let name = option.name.value.to_ascii_lowercase();
        explain_option(&option, [analyze, verbose, &mut timing])?;
        if ["format", "summary"].contains(&name.as_str()) {
            kept.push(option);
        }
    }
    *options = (!kept.is_empty()).then_some(kept);
    if timing && !*analyze {
        let text = "EXPLAIN option TIMING requires ANALYZE";
        return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
    }
    let asked = [
        (*query_plan || *estimate, OTHER),
        (format.is_some(), "FORMAT"),
    ];
    refuse("EXPLAIN", &asked)?;
    keep(statement)
}

fn explain_option(
    option: &UtilityOption,
    [analyze, verbose, timing]: [&mut bool; 3],
) -> Result<(), SqlError> {
    let UtilityOption { name, arg } = option;
    let word = name.value.to_ascii_lowercase();
    let value = arg.as_ref().map(text_of);
    let is_on = || match value.as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => Err(SqlError::syntax(format!("{word} requires a Boolean value"))),
    };
    match word.as_str() {
        "analyze" => *analyze = is_on()?,
        "verbose" => *verbose = is_on()?,
        // Costs are not known, and times are of the whole.
        "costs" => {
            is_on()?;
        }
        "timing" => *timing = is_on()?,
        "buffers" | "wal" | "settings" => {
            refuse("EXPLAIN", &[(is_on()?, &word.to_ascii_uppercase())])?;
        }
        "summary" => {
            is_on()?;
        }
        "format" => {
            let value = value.unwrap_or_default();
            if Format::named(&value).is_none() {
                let text = format!("unrecognized value for EXPLAIN option \"format\": \"{value}\"");
                return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
            }
        }
        _ => {
            return Err(SqlError::new(
                code::SYNTAX,
                format!("unrecognized EXPLAIN option \"{word}\""),
            ));
        }
    }
    Ok(())
}

/// The form in which `EXPLAIN` answers, and true or false if it is to give a summary.
pub(crate) fn explain_form(options: Option<&Vec<UtilityOption>>) -> (Format, Option<bool>) {
    let (mut form, mut summary) = (Format::Text, None);
    for option in options.into_iter().flatten() {
        let value = option.arg.as_ref().map(text_of);
        match (&*option.name.value.to_ascii_lowercase(), value.as_deref()) {
            ("format", Some(name)) => form = Format::named(name).unwrap_or(form),
            ("summary", value) => {
                summary = Some(matches!(value, None | Some("true" | "on" | "1")));
            }
            _ => {}
        }
    }
    (form, summary)
}

fn text_of(value: &Expr) -> String {
    let text = match value {
        Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    };
    text.unwrap_or_else(|| value.to_string())
        .to_ascii_lowercase()
}
