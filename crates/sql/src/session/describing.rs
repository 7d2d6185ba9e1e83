//! Descriptions of statements before they run: the statements of a text, their parameters and columns, their length,
//! and the statement that `EXECUTE` names.

use super::Session;
use super::execute::with_context;
use super::given::Given;
use super::parameters::{plan_column, shown_columns};
use super::state::{SessionState, TransactionState};
use crate::begun::Begun;
use crate::class::{Class, Special, doubts_constraints};
use crate::column::ResultColumn;
use crate::copy;
use crate::cursors::command_of;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::expression::{Compiler, Parameters, Scope};
use crate::maintenance::Maintenance;
use crate::parse::{Parsed, parse, without_database};
use crate::plan::Plan;
use crate::prepared::{Prepared, StatementText};
use crate::procedures;
use crate::rights::{Access, Rights};
use crate::running::{now, seed};
use crate::schemas::schema_names;
use crate::sequences::Draws;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::TypeNames;
use crate::values::cast::Coercion;
use sardonyx::low_level::Reached;
use sardonyx::schema::Value;
use sqlparser::ast::Statement;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

type Described = (Vec<SqlType>, Option<Arc<[ResultColumn]>>);

impl Session {
    /// The text of statements without the name by which the session connected to the database.
    ///
    /// # Errors
    /// The errors of reading the schemas, on which a text may depend.
    pub(super) fn without_database<'t>(&mut self, text: &'t str) -> Result<Cow<'t, str>, SqlError> {
        let database = self.state.settings.database().to_string();
        without_database(text, &database, || self.schemas())
    }

    /// The names of the schemas: those that the open transaction sees if it has tables of its own aside.
    fn schemas(&mut self) -> Result<BTreeSet<String>, SqlError> {
        let interrupt = &self.state.interrupt;
        if let TransactionState::Open(open) = &mut self.state.transaction
            && let Some((_, rows)) = open.own_tables()
        {
            return schema_names(rows);
        }
        if let Some(node) = self.database.node() {
            let names = |source: &dyn Source, _| schema_names(source);
            return self.database.look_at_node(&**node, interrupt, names);
        }
        match self.database.reach(Some(interrupt))? {
            Reached::Turn(turn) => schema_names(&turn.view()),
            Reached::Committed(committed) => schema_names(&&**committed.snapshot.space()),
        }
    }
}

/// The statements of a text with a session's rights; one that does nothing if there are none.
///
/// # Errors
/// An error in the text.
pub(super) fn statements_of(
    text: &str,
    parameter_types: &[Option<SqlType>],
    rights: &Arc<Rights>,
) -> Result<Vec<Arc<Prepared>>, SqlError> {
    let whole: Arc<str> = text.into();
    if let Some(special) = Special::of_text(text) {
        Maintenance::parse(special, text)?;
        return Ok(vec![Arc::new(Prepared::special(whole.into(), special))]);
    }
    let of_cursor = |text, command| Arc::new(Prepared::of_cursor(text, command));
    let prepared = |text, statement| {
        let prepared = Prepared::new(text, statement, parameter_types);
        Arc::new(prepared.with_rights(rights.clone()))
    };
    let statements = parse(text)?;
    if statements.is_empty() {
        return Ok(vec![prepared(whole.into(), None)]);
    }
    let statements = statements.into_iter().map(|(parsed, at)| {
        let own = StatementText::part(&whole, at);
        let statement = match parsed {
            Parsed::Fetch(command) => return Ok(of_cursor(own, command.into())),
            Parsed::Comment(comment) => {
                let prepared = Prepared::of_comment(own, comment);
                return Ok(Arc::new(prepared.with_rights(rights.clone())));
            }
            Parsed::Type(command) => {
                let prepared = Prepared::of_type(own, *command);
                return Ok(Arc::new(prepared.with_rights(rights.clone())));
            }
            Parsed::Sequence(command) => {
                let prepared = Prepared::of_sequence(own, *command);
                return Ok(Arc::new(prepared.with_rights(rights.clone())));
            }
            Parsed::Rights(command) => {
                let prepared = Prepared::of_rights(own, *command);
                return Ok(Arc::new(prepared.with_rights(rights.clone())));
            }
            Parsed::Procedure(definition) => {
                let prepared = Prepared::procedure(own, definition);
                return Ok(Arc::new(prepared.with_rights(rights.clone())));
            }
            Parsed::Do(block) => {
                let prepared = Prepared::of_block(own, block);
                return Ok(Arc::new(prepared.with_rights(rights.clone())));
            }
            Parsed::Constraints(command) => {
                let prepared = Prepared::of_constraints(own, command);
                return Ok(Arc::new(prepared.with_rights(rights.clone())));
            }
            Parsed::Statement(statement) => *statement,
        };
        let command = command_of(&own, &statement, parameter_types, rights)?;
        Ok(match command {
            Some(command) => of_cursor(own, command),
            None => prepared(own, Some(statement)),
        })
    });
    statements.collect()
}

/// The description of a statement that needs no plan; `None` if it has to be planned.
///
/// # Errors
/// There is no such prepared statement.
pub(super) fn described(
    prepared: &Prepared,
    state: &SessionState,
) -> Result<Option<Described>, SqlError> {
    let nothing = Ok(Some((Vec::new(), None)));
    match prepared.statement() {
        None => nothing,
        Some(statement) => match statement {
            Statement::Update(update) if doubts_constraints(update) => nothing,
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Call(_)
            | Statement::Copy { .. } => Ok(None),
            Statement::Explain { .. } if !prepared.is_execute() => Ok(None),
            Statement::Explain { statement, .. } => {
                executable(statement, state)?;
                Ok(Some((Vec::new(), Some(Arc::from([plan_column(prepared)])))))
            }
            Statement::ShowVariable { variable } => {
                let words: Vec<String> = variable.iter().map(|word| word.value.clone()).collect();
                Ok(Some((Vec::new(), Some(shown_columns(&words)))))
            }
            Statement::Execute { .. } => {
                let columns = executable(statement, state)?.columns().map(Arc::from);
                Ok(Some((Vec::new(), columns)))
            }
            _ => nothing,
        },
    }
}

/// The statement of `PREPARE` that an `EXECUTE` names.
///
/// # Errors
/// `26000` if there is none.
fn executable<'s>(
    statement: &Statement,
    state: &'s SessionState,
) -> Result<&'s Arc<Prepared>, SqlError> {
    let name = match statement {
        Statement::Execute { name, .. } => name.as_ref(),
        _ => None,
    };
    let name = name.map(crate::names::of_public).transpose()?;
    let inner = name.as_ref().and_then(|name| state.named(name));
    inner.ok_or_else(|| super::parameters::unknown(&name.unwrap_or_default()))
}

/// Plans a statement over a state of the tables that was reached.
///
/// # Errors
/// Invalid SQL.
pub(super) fn plan_reached(
    prepared: &Prepared,
    database: &Database,
    reached: Reached<'_>,
) -> Result<(), SqlError> {
    match reached {
        Reached::Turn(turn) => {
            let source = turn.view();
            plan_for(prepared, database, database.version(), &source)
        }
        Reached::Committed(committed) => {
            let source = &**committed.snapshot.space();
            plan_for(prepared, database, committed.version, &source)
        }
    }
}

/// Plans a statement, which gives its parameters and columns.
///
/// # Errors
/// Invalid SQL.
pub(super) fn plan_for(
    prepared: &Prepared,
    database: &Database,
    version: u64,
    source: &dyn Source,
) -> Result<(), SqlError> {
    match prepared.statement() {
        Some(Statement::Copy { .. }) => {
            prepared.describe_copy(copy::check(prepared, source)?);
            Ok(())
        }
        Some(Statement::Call(function)) => {
            let parameters = procedures::parameters(prepared, function, database, version, source)?;
            prepared.describe(parameters, None);
            Ok(())
        }
        Some(Statement::Explain { .. }) => {
            crate::explain::describe(prepared, version, source, plan_column(prepared))
        }
        _ => prepared.planned(version, source).map(drop),
    }
}

/// Checks that a user may run such a statement.
///
/// # Errors
/// `42501` if the user may not.
pub(super) fn check_access(user: &str, statement: &Prepared) -> Result<(), SqlError> {
    let (wanted, what) = match statement.class() {
        Class::Empty | Class::Control | Class::Session => return Ok(()),
        _ if statement.is_signal() => return Ok(()),
        _ if statement.only_signals() => (Access::Read, "read tables"),
        Class::Read | Class::Maintenance => (Access::Read, "read tables"),
        Class::Write => (Access::Write, "change rows"),
        Class::Define => (Access::Define, "create, change or drop tables"),
    };
    let rights = statement.rights();
    let allowed = match statement.class() {
        // Its tables are known when it is planned, or runs.
        Class::Read | Class::Maintenance | Class::Define => rights.most(),
        Class::Write if statement.is_call() => rights.elsewhere(),
        _ => rights.most(),
    };
    if allowed >= wanted {
        return Ok(());
    }
    let text = format!("permission denied: the user {user:?} may not {what}");
    Err(SqlError::new(code::INSUFFICIENT_PRIVILEGE, text))
}

/// True if a statement may look at many rows.
pub(super) fn is_long(prepared: &Prepared) -> bool {
    if prepared.class() != Class::Read {
        return false;
    }
    prepared.is_unplanned_or(|planned| match &planned.plan {
        Plan::Select(plan) => !plan.is_short(),
        _ => false,
    })
}

/// The statement of `PREPARE` that `EXECUTE` names, or its explanation, with the values of its parameters.
///
/// # Errors
/// `26000` if there is none; an error in the values.
pub(super) fn executed(
    state: &mut SessionState,
    database: &Arc<Database>,
    statement: &Prepared,
) -> Result<(Arc<Prepared>, Vec<Value>), SqlError> {
    let executes = match statement.statement() {
        Some(Statement::Explain { statement, .. }) => Some(&**statement),
        other => other,
    };
    let Some(Statement::Execute {
        name: Some(name),
        parameters: trees,
        ..
    }) = executes
    else {
        return Err(SqlError::syntax(
            "EXECUTE needs the name of a prepared statement",
        ));
    };
    let name = crate::names::of_public(name)?;
    let inner = state.named(&name).cloned();
    if let Some(inner) = &inner {
        // The protocol may have prepared another kind of statement.
        super::parameters::check_preparable(inner)?;
    }
    let inner = inner.ok_or_else(|| super::parameters::unknown(&name))?;
    let kinds = inner.parameters().to_vec();
    if kinds.len() != trees.len() {
        return Err(SqlError::syntax(format!(
            "wrong number of parameters for prepared statement \"{name}\": {} are wanted",
            kinds.len()
        )));
    }
    let now = now();
    statement.look_in(state.settings.path());
    let given = Given {
        statement,
        parameters: &[],
        data: None,
        rows_max: 0,
        transaction: Begun::at(now),
        statement_started: now,
        seed: seed(),
        digests: false,
    };
    let draws = Draws::refused("the arguments of EXECUTE draw no numbers from sequences");
    let (values, _) = with_context(database, state, &given, draws, |with| {
        let scope = Scope::default();
        let names = TypeNames::in_zone(with.context.zone().as_ref());
        let mut none = Parameters::default().naming(names);
        let mut compiler = Compiler::new(&scope, &mut none);
        let mut values = Vec::with_capacity(trees.len());
        for (tree, kind) in trees.iter().zip(&kinds) {
            let typed = compiler.compile(tree)?;
            let to = TypeSpec::plain(*kind);
            values.push(
                compiler
                    .coerce(typed, to, Coercion::Assignment)?
                    .constant(with)?,
            );
        }
        Ok(values)
    });
    let values = values?;
    match statement.explaining(&inner) {
        Some(explaining) => Ok((Arc::new(explaining), values)),
        None => Ok((inner, values)),
    }
}
