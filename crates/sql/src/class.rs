//! The class of a statement in a transaction: it reads, writes, changes tables, or belongs to the session.

use crate::names::name_of;
use sqlparser::ast::{
    Assignment, AssignmentTarget, CopySource, Expr, Insert, ObjectName, ObjectNamePart, Query,
    SetExpr, Statement, TableFactor, Update, Value,
};

/// The class of a statement in a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Nothing at all.
    Empty,
    /// It begins or ends a transaction, or a part of one.
    Control,
    /// It concerns the session: its parameters, its prepared statements.
    Session,
    /// It only reads.
    Read,
    /// It changes rows.
    Write,
    /// It changes tables.
    Define,
    /// It concerns the database's files.
    Maintenance,
}

/// A statement that the parser does not know, or knows as another system has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Checkpoint,
    Vacuum,
    Analyze,
    Reindex,
}

impl Special {
    /// The statement of a text, if it is one.
    pub fn of_text(text: &str) -> Option<Special> {
        let text = text.trim().trim_end_matches(';').trim_end();
        if text.contains(';') {
            return None;
        }
        let word = text.split(|c: char| !c.is_ascii_alphabetic()).next()?;
        Some(match word.to_ascii_lowercase().as_str() {
            "checkpoint" if word.len() == text.len() => Special::Checkpoint,
            "vacuum" => Special::Vacuum,
            "analyze" => Special::Analyze,
            "reindex" => Special::Reindex,
            _ => return None,
        })
    }

    pub fn word(self) -> &'static str {
        match self {
            Special::Checkpoint => "CHECKPOINT",
            Special::Vacuum => "VACUUM",
            Special::Analyze => "ANALYZE",
            Special::Reindex => "REINDEX",
        }
    }
}

/// The statement behind `WITH` that writes, if it does.
pub(crate) fn change_behind_with(query: &Query) -> Option<&Statement> {
    match &*query.body {
        SetExpr::Insert(change)
        | SetExpr::Update(change)
        | SetExpr::Delete(change)
        | SetExpr::Merge(change) => Some(change),
        _ => None,
    }
}

/// The queries of `WITH` that write.
pub(crate) fn changes_in_with(query: &Query) -> impl Iterator<Item = &Statement> {
    let named = query.with.iter().flat_map(|with| &with.cte_tables);
    named.filter_map(|named| change_behind_with(&named.query))
}

/// True if a query has parts that write.
pub(crate) fn has_changes(query: &Query) -> bool {
    change_behind_with(query).is_some() || changes_in_with(query).next().is_some()
}

/// `WITH … INSERT … SELECT` as `INSERT … WITH … SELECT`, which is the same and is known to write.
pub(crate) fn with_before_insert(statement: Statement) -> Statement {
    let is_it = |query: &Query| {
        query.with.is_some()
            && changes_in_with(query).next().is_none()
            && matches!(&*query.body, SetExpr::Insert(Statement::Insert(insert))
                if insert.source.as_ref().is_some_and(|source| source.with.is_none())
                    && !asks_beside_rows(insert))
    };
    match statement {
        Statement::Query(mut query) if is_it(&query) => {
            let with = query.with.take();
            match *query.body {
                SetExpr::Insert(Statement::Insert(mut insert)) => {
                    if let Some(source) = &mut insert.source {
                        source.with = with;
                    }
                    Statement::Insert(insert)
                }
                body => {
                    query.body = Box::new(body);
                    query.with = with;
                    Statement::Query(query)
                }
            }
        }
        other => other,
    }
}

/// True if `ON CONFLICT` or `RETURNING` may read the queries of `WITH`, too.
fn asks_beside_rows(insert: &Insert) -> bool {
    let asks = |text: String| text.to_ascii_lowercase().contains("select");
    let mut returning = insert.returning.iter().flatten();
    insert.on.as_ref().is_some_and(|on| asks(on.to_string()))
        || returning.any(|item| asks(item.to_string()))
}

/// True if a text in lower case may draw numbers from sequences, or set them.
pub(crate) fn draws(text: &str) -> bool {
    text.contains("nextval") || text.contains("setval")
}

/// Functions that read or set the session's state.
const SESSION_FUNCTIONS: [&str; 11] = [
    "nextval",
    "currval",
    "lastval",
    "setval",
    "set_config",
    "current_setting",
    "pg_notify",
    "advisory_",
    "pg_sleep",
    "cancel_backend",
    "terminate_backend",
];

/// True if a text in lower case may call one of them.
pub(crate) fn asks_session(text: &str) -> bool {
    SESSION_FUNCTIONS.iter().any(|name| text.contains(name))
}

/// Functions that set parameters of the session, take or give back its locks, or end statements of others.
const SETTING_FUNCTIONS: [&str; 4] = [
    "set_config",
    "advisory_",
    "cancel_backend",
    "terminate_backend",
];

/// True if a text in lower case may call one of them.
pub(crate) fn sets_session(text: &str) -> bool {
    SETTING_FUNCTIONS.iter().any(|name| text.contains(name))
}

/// Functions that may wait, in a statement of their own.
const WAITING_FUNCTIONS: [&str; 3] = ["advisory_", "pg_sleep", "terminate_backend"];

/// True if a text in lower case may call one of them.
pub(crate) fn may_wait(text: &str) -> bool {
    WAITING_FUNCTIONS.iter().any(|name| text.contains(name))
}

/// True if a text in lower case may call one that does not wait for another session's end.
pub(crate) fn may_wait_itself(text: &str) -> bool {
    text.contains("advisory_") || text.contains("pg_sleep")
}

/// True if a text in lower case may notify sessions by a function.
pub(crate) fn notifies(text: &str) -> bool {
    text.contains("pg_notify")
}

/// True for `UPDATE pg_constraint SET convalidated = false`, by which programs have constraints validated again.
pub(crate) fn doubts_constraints(update: &Update) -> bool {
    let is = |name: &ObjectName, words: &[&str]| {
        let mut parts = name.0.iter().zip(words);
        let are = parts.all(|(part, word)| match part {
            ObjectNamePart::Identifier(name) => name_of(name) == *word,
            ObjectNamePart::Function(_) => false,
        });
        are && name.0.len() == words.len()
    };
    let TableFactor::Table { name, .. } = &update.table.relation else {
        return false;
    };
    let [Assignment { target, value }] = &update.assignments[..] else {
        return false;
    };
    // The value first: names are compared in lower case, and this is asked at each run.
    let is_false = matches!(value, Expr::Value(value) if value.value == Value::Boolean(false));
    let is_column =
        || matches!(target, AssignmentTarget::ColumnName(name) if is(name, &["convalidated"]));
    is_false
        && is_column()
        && (is(name, &["pg_constraint"]) || is(name, &["pg_catalog", "pg_constraint"]))
}

/// Classifies a statement. Its text in lower case shows the functions that it calls.
pub(crate) fn class_of(statement: &Statement, text: &str) -> Class {
    let draws = || draws(text);
    match statement {
        Statement::StartTransaction { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::Savepoint { .. }
        | Statement::ReleaseSavepoint { .. } => Class::Control,
        Statement::Set(_)
        | Statement::ShowVariable { .. }
        | Statement::ShowVariables { .. }
        | Statement::Reset(_)
        | Statement::Discard { .. }
        | Statement::Deallocate { .. }
        | Statement::Lock(_)
        | Statement::Prepare { .. } => Class::Session,
        Statement::LISTEN { .. } | Statement::UNLISTEN { .. } | Statement::NOTIFY { .. } => {
            Class::Write
        }
        Statement::Query(query) if draws() || notifies(text) || has_changes(query) => Class::Write,
        Statement::Query(_) => Class::Read,
        Statement::Explain {
            statement, analyze, ..
        } => match (analyze, class_of(statement, text)) {
            (true, class) => class,
            (false, _) => Class::Read,
        },
        Statement::Copy {
            source: CopySource::Query(_),
            to: true,
            ..
        } if draws() || notifies(text) => Class::Write,
        Statement::Copy { to: true, .. } => Class::Read,
        Statement::Update(update) if doubts_constraints(update) => Class::Define,
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Copy { .. }
        | Statement::Execute { .. }
        | Statement::Call(_) => Class::Write,
        _ => Class::Define,
    }
}
