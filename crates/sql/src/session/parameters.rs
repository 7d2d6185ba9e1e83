//! Statements on the session itself: parameters, prepared statements.

use super::control::{is_read_only, isolation};
use super::state::{SessionState, TransactionState};
use crate::column::ResultColumn;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::explain;
use crate::expression::interval_of;
use crate::names::{name_of, value_text};
use crate::prepared::Prepared;
use crate::result::{Complete, Notice, Outcome, Rows, Tag};
use crate::rights::Rights;
use crate::search_path::path_text;
use crate::sequences::Drawn;
use crate::settings::Settings;
use crate::source::Source;
use crate::store::runs_on_node;
use crate::types::{OwnTypes, SqlType, TypeSpec};
use crate::values::zones::SessionZone;
use sardonyx::schema::Value;
use sardonyx_base::channels::Listening;
use sqlparser::ast::{
    ContextModifier, DiscardObject, Expr, Reset, ResetStatement, Set,
    SetSessionAuthorizationParamKind, Statement, TransactionMode,
};
use std::sync::Arc;

/// The tables of a serial call, with the catalogue's version.
pub(super) type Tables<'s> = Option<(u64, &'s dyn Source)>;

/// Runs a statement on the session itself; `tables` are those of the serial call that it is in.
pub(super) fn run(
    state: &mut SessionState,
    (database, tables): (&Arc<Database>, Tables<'_>),
    statement: &Prepared,
) -> Outcome {
    let result = match statement.statement() {
        Some(tree) => act(state, (database, tables), tree, &statement.rights()),
        None if statement.cursor().is_some() => {
            Err(SqlError::unsupported("cursors are for clients of a server"))
        }
        None => Err(SqlError::syntax("there is no statement")),
    };
    match result {
        Ok(complete) => Outcome::Done(complete),
        Err(error) => {
            state.fail();
            Outcome::Failed(statement.placed(error))
        }
    }
}

fn act(
    state: &mut SessionState,
    (database, tables): (&Arc<Database>, Tables<'_>),
    statement: &Statement,
    rights: &Arc<Rights>,
) -> Result<Complete, SqlError> {
    match statement {
        Statement::Set(set) => {
            self::set(state, set)?;
            let is_idle = matches!(state.transaction, TransactionState::Idle);
            let of_transaction = match set {
                Set::SetTransaction { session: false, .. } => Some("SET TRANSACTION"),
                Set::SetTimeZone { local: true, .. }
                | Set::SingleAssignment {
                    scope: Some(ContextModifier::Local),
                    ..
                } => Some("SET LOCAL"),
                _ => None,
            };
            let notice = of_transaction.filter(|_| is_idle).map(|word| {
                let message = format!("{word} can only be used in transaction blocks");
                Notice::warning(code::NO_TRANSACTION, &message)
            });
            Ok(Complete::of(Tag::plain("SET")).with_notice(notice))
        }
        Statement::ShowVariable { variable } => {
            let words: Vec<String> = variable.iter().map(|word| word.value.clone()).collect();
            show(state, &words)
        }
        Statement::ShowVariables { .. } => show(state, &["all".to_string()]),
        Statement::Reset(ResetStatement { reset }) => {
            match reset {
                Reset::ALL => state.settings.reset_all(),
                Reset::SessionAuthorization => {}
                Reset::ConfigurationParameter(name) => {
                    state
                        .settings
                        .reset(&plain_name(&name.to_string()), false)?;
                }
            }
            Ok(Complete::of(Tag::plain("RESET")))
        }
        // Within a transaction that a client began they are run by the session itself.
        Statement::Lock(_) => Err(crate::locking::outside_of_transactions()),
        Statement::Discard { object_type } => {
            let is_idle = matches!(state.transaction, TransactionState::Idle);
            if !is_idle && matches!(object_type, DiscardObject::ALL) {
                return Err(SqlError::new(
                    code::ACTIVE_TRANSACTION,
                    "DISCARD ALL cannot run inside a transaction block",
                ));
            }
            if matches!(object_type, DiscardObject::ALL | DiscardObject::TEMP) {
                discard_temporary(state, database)?;
            }
            if matches!(object_type, DiscardObject::ALL) {
                state.settings.reset_all();
                state.forget_named(None);
                if let Some(inbox) = &state.inbox {
                    inbox.listen(&Listening::ToNone);
                }
                // A pooler gives the session to another client next.
                if let Some(locker) = &state.claims.locker {
                    locker.release_session();
                }
            }
            if matches!(object_type, DiscardObject::ALL | DiscardObject::SEQUENCES) {
                state.drawn = Drawn::default();
            }
            Ok(Complete::of(Tag::plain(match object_type {
                DiscardObject::ALL => "DISCARD ALL",
                DiscardObject::PLANS => "DISCARD PLANS",
                DiscardObject::SEQUENCES => "DISCARD SEQUENCES",
                DiscardObject::TEMP => "DISCARD TEMP",
            })))
        }
        Statement::Deallocate { name, prepare: _ } => {
            let is_all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
            let name = name_of(name);
            match is_all {
                true => drop(state.forget_named(None)),
                false if state.forget_named(Some(&name)) => {}
                false => return Err(unknown(&name)),
            }
            let word = if is_all {
                "DEALLOCATE ALL"
            } else {
                "DEALLOCATE"
            };
            Ok(Complete::of(Tag::plain(word)))
        }
        Statement::Prepare {
            name,
            data_types,
            statement,
        } => {
            let name = name_of(name);
            state.check_new_name(&name)?;
            let mut types = Vec::with_capacity(data_types.len());
            for data_type in data_types {
                let spec = TypeSpec::of_data_type(data_type, &OwnTypes);
                types.push(Some(spec.map_err(of_parameter)?.kind));
            }
            let text: Arc<str> = statement.to_string().into();
            let inner = Prepared::new(text.into(), Some((**statement).clone()), &types);
            let inner = Arc::new(inner.with_rights(rights.clone()));
            inner.look_in(state.settings.path());
            check_preparable(&inner)?;
            super::describing::check_access(&state.user, &inner)?;
            if let Some((parameters, columns)) = super::describing::described(&inner, state)? {
                inner.describe(parameters, columns);
            } else if let Some((version, source)) = tables {
                super::describing::plan_for(&inner, database, version, source)?;
            } else if let Some(node) = database.node() {
                // Inside a transaction it is compiled when it runs.
                if !runs_on_node() {
                    database.look_at_node(&**node, &state.interrupt, |source, version| {
                        super::describing::plan_for(&inner, database, version, source)
                    })?;
                }
            } else if database.followed().is_some() {
                let reached = database.reach(Some(&state.interrupt))?;
                super::describing::plan_reached(&inner, database, reached)?;
            } else if let TransactionState::Open(open) = &mut state.transaction
                && open.defines
            {
                // Without tables of its own, a transaction that has defined some prepares in a serial call.
                if let Some((version, rows)) = open.own_tables() {
                    super::describing::plan_for(&inner, database, version, rows)?;
                }
            } else {
                let tables = database.tables_in_memory("PREPARE")?;
                // In a block tables cannot be reached: it is compiled when it runs.
                match tables.reach(Some(&state.interrupt)) {
                    Ok(reached) => super::describing::plan_reached(&inner, database, reached)?,
                    Err(sardonyx::Error::Nested(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            inner.keep_columns();
            state.keep_named(&name, inner, true);
            Ok(Complete::of(Tag::plain("PREPARE")))
        }
        _ => Err(SqlError::unsupported("this statement is not supported")),
    }
}

/// The error of a parameter with a type that is not PostgreSQL's own.
fn of_parameter(error: SqlError) -> SqlError {
    match error.code {
        code::UNKNOWN_OBJECT => error.hint(
            "A user-defined type cannot be named here: without types, each parameter has that of where it stands.",
        ),
        _ => error,
    }
}

/// Drops the session's temporary tables.
///
/// # Errors
/// `0A000` inside of a transaction; the engine's.
fn discard_temporary(state: &mut SessionState, database: &Database) -> Result<(), SqlError> {
    if state.settings.path().temporary().is_none() {
        return Ok(());
    }
    if !matches!(state.transaction, TransactionState::Idle) {
        return Err(SqlError::unsupported(
            "DISCARD TEMP in a transaction is not supported: drop the tables by their names",
        ));
    }
    database.drop_temporary(&state.temporary)?;
    state.settings.set_temporary(None);
    Ok(())
}

pub(super) fn unknown(name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_PREPARED_STATEMENT,
        format!("prepared statement \"{name}\" does not exist"),
    )
}

/// Checks that `PREPARE` takes a statement: one on rows, as in PostgreSQL. What begins or ends transactions, and
/// `EXECUTE`, would be something else than the step that names it.
///
/// # Errors
/// `42601` if it does not.
pub(super) fn check_preparable(statement: &Prepared) -> Result<(), SqlError> {
    match statement.statement() {
        Some(
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_),
        ) => Ok(()),
        _ => Err(SqlError::syntax(
            "PREPARE takes SELECT, VALUES, INSERT, UPDATE, DELETE and MERGE only",
        )
        .hint("Run other statements as they are.")),
    }
}

/// A name without quotes.
fn plain_name(name: &str) -> String {
    name.replace('"', "")
}

fn set(state: &mut SessionState, set: &Set) -> Result<(), SqlError> {
    match set {
        Set::SingleAssignment {
            scope,
            hivevar,
            variable,
            values,
        } => {
            if *hivevar || matches!(scope, Some(ContextModifier::Global)) {
                return Err(SqlError::unsupported("SET GLOBAL is not supported"));
            }
            let name = plain_name(&variable.to_string());
            // A transaction's level ends with it, however it is set.
            let is_level = name.eq_ignore_ascii_case("transaction_isolation");
            let local = is_level || matches!(scope, Some(ContextModifier::Local));
            if let [Expr::Identifier(word)] = values.as_slice()
                && word.quote_style.is_none()
                && word.value.eq_ignore_ascii_case("default")
            {
                return state.settings.reset(&name, local);
            }
            let is_path = name.eq_ignore_ascii_case("search_path");
            let text = match is_path {
                true => path_text(values),
                false => values.iter().map(value_text).collect::<Vec<_>>().join(", "),
            };
            state.settings.set(&name, &text, local)
        }
        Set::SetTimeZone { value, local } => {
            if let Expr::Identifier(word) = value
                && word.quote_style.is_none()
                && ["local", "default"].contains(&&*word.value.to_lowercase())
            {
                return state.settings.reset("TimeZone", *local);
            }
            let value = match value {
                Expr::Interval(interval) => {
                    let distance = interval_of(interval, false)?;
                    let name = (distance.months == 0 && distance.days == 0)
                        .then(|| SessionZone::name_of_distance(distance.micros));
                    name.flatten().ok_or_else(|| {
                        SqlError::new(
                            code::INVALID_PARAMETER_VALUE,
                            "a time zone is less than 168 hours from UTC, without months or days",
                        )
                    })?
                }
                other => value_text(other),
            };
            state.settings.set("TimeZone", &value, *local)
        }
        Set::SetNames {
            charset_name,
            collation_name,
        } => {
            if collation_name.is_some() {
                return Err(SqlError::unsupported(
                    "SET NAMES with COLLATE is not supported",
                ));
            }
            state
                .settings
                .set("client_encoding", &charset_name.value, false)
        }
        Set::SetNamesDefault {} => state.settings.reset("client_encoding", false),
        Set::SetTransaction {
            modes,
            snapshot,
            session,
        } => {
            if snapshot.is_some() {
                return Err(SqlError::unsupported(
                    "SET TRANSACTION SNAPSHOT is not supported",
                ));
            }
            let read_only = is_read_only(modes, state.usually_reads());
            let has_access =
                |mode: &TransactionMode| matches!(mode, TransactionMode::AccessMode(_));
            if *session {
                if let Some(level) = isolation(modes) {
                    state.settings.isolate_usually(level);
                }
                let value = if read_only { "on" } else { "off" };
                return match modes.iter().any(has_access) {
                    true => state
                        .settings
                        .set("default_transaction_read_only", value, false),
                    false => Ok(()),
                };
            }
            if let TransactionState::Open(open) = &mut state.transaction {
                open.set_read_only(is_read_only(modes, open.read_only))?;
                if let Some(level) = isolation(modes) {
                    let now = state.settings.get("transaction_isolation")?;
                    if !open.is_fresh() && now != level {
                        let text =
                            "SET TRANSACTION ISOLATION LEVEL must be called before any query";
                        return Err(SqlError::new(code::ACTIVE_TRANSACTION, text));
                    }
                    state.settings.isolate(level);
                }
            }
            Ok(())
        }
        // A pool returns to the user with which it connected.
        Set::SetRole {
            context_modifier,
            role_name,
        } => {
            let role = role_name.as_ref().map_or("none".into(), name_of);
            let local = matches!(context_modifier, Some(ContextModifier::Local));
            state.settings.set("role", &role, local)
        }
        Set::SetSessionAuthorization(given) => match &given.kind {
            SetSessionAuthorizationParamKind::Default => Ok(()),
            SetSessionAuthorizationParamKind::User(user) => {
                state
                    .settings
                    .set("session_authorization", &name_of(user), false)
            }
        },
        other => Err(SqlError::unsupported(format!("{other} is not supported"))),
    }
}

/// The name of the parameter that `SHOW` asks for.
pub(super) fn shown_name(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    match words
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["time", "zone"] => "TimeZone".into(),
        ["transaction", "isolation", "level"] | ["transaction_isolation"] => {
            "transaction_isolation".into()
        }
        ["session", "authorization"] => "session_authorization".into(),
        _ => words.join("."),
    }
}

/// The columns of the result of `SHOW`.
pub(super) fn shown_columns(words: &[String]) -> Arc<[ResultColumn]> {
    let name = shown_name(words);
    let names = match name.as_str() {
        "all" => vec!["name".into(), "setting".into(), "description".into()],
        _ => vec![Settings::name_of(&name)],
    };
    names.into_iter().map(text_column).collect()
}

pub(super) fn text_column(name: String) -> ResultColumn {
    ResultColumn {
        name,
        spec: TypeSpec::plain(SqlType::Text),
        table: 0,
        column: 0,
    }
}

/// The column of the answer of `EXPLAIN`.
pub(super) fn plan_column(prepared: &Prepared) -> ResultColumn {
    let mut column = text_column("QUERY PLAN".into());
    column.spec = TypeSpec::plain(explain::column_kind(prepared));
    column
}

fn show(state: &SessionState, words: &[String]) -> Result<Complete, SqlError> {
    let name = shown_name(words);
    let columns = shown_columns(words);
    let values = match name.as_str() {
        "all" => {
            let all = state.settings.all().into_iter();
            all.flat_map(|(name, value)| [name, value, String::new()].map(Value::Text))
                .collect()
        }
        "transaction_read_only" => vec![Value::from(match &state.transaction {
            TransactionState::Open(open) if open.read_only => "on",
            TransactionState::Idle if state.usually_reads() => "on",
            _ if state.settings.follows() => "on",
            _ => "off",
        })],
        name => vec![Value::Text(state.settings.get(name)?)],
    };
    let mut complete = Complete::of(Tag::plain("SHOW"));
    complete.rows = Some(Rows {
        width: columns.len(),
        count: (values.len() / columns.len()) as u64,
        values,
        columns,
        more: None,
        zone: None,
    });
    Ok(complete)
}
