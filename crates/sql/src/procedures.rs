//! Procedures: statements that `CALL` runs as a part of its transaction. The database keeps those of
//! `CREATE PROCEDURE`, which are compiled once; procedures that a program registered are called.
//!
//! In a body a name is a column, or else a parameter; `$1` is a parameter, too. `CALL` gives the result of the last
//! statement.

use crate::class::Class;
use crate::column::ResultColumn;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::expression::functions::names_tables;
use crate::expression::{Compiler, Environment, Expr, Parameters, Scope, check_rights};
use crate::names::of_public;
use crate::parse::{ProcedureDefinition, parse_body};
use crate::prepared::{Prepared, StatementText};
use crate::relation::{kind, object, parsed};
use crate::result::{Complete, Tag};
use crate::rights::Rights;
use crate::rows::Table;
use crate::signalling;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::Coercion;
use crate::write_target::WriteTarget;
use sardonyx::schema::Value;
use sqlparser::ast::{Function, FunctionArg, FunctionArgExpr, FunctionArguments, Statement};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most statements of a procedure.
const STATEMENTS_MAX: usize = 1000;

/// A procedure, compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    parameters: Vec<TypeSpec>,
    pub statements: Vec<Arc<Prepared>>,
}

impl Compiled {
    /// The statements of a procedure, planned with these rights. Its text is a new one, or the database keeps it.
    ///
    /// # Errors
    /// An error in the body; `0A000` for a statement that neither reads nor changes rows.
    pub fn of(
        definition: &ProcedureDefinition,
        rights: &Arc<Rights>,
        is_kept: bool,
    ) -> Result<Compiled, SqlError> {
        let mut parameters = Vec::with_capacity(definition.parameters.len());
        for (name, oid, modifier) in &definition.parameters {
            let kind = SqlType::from_oid(*oid).ok_or_else(|| {
                SqlError::new(
                    code::UNKNOWN_OBJECT,
                    format!("parameter {name} has an unknown type"),
                )
            })?;
            parameters.push(TypeSpec::new(kind, *modifier));
        }
        let names: Arc<[String]> = definition
            .parameters
            .iter()
            .map(|one| one.0.clone())
            .collect();
        let types: Vec<_> = parameters.iter().map(|spec| Some(spec.kind)).collect();
        let text: Arc<str> = definition.body.as_str().into();
        let trees = parse_body(&definition.body, is_kept)?;
        if trees.len() > STATEMENTS_MAX {
            return Err(SqlError::new(
                code::PROGRAM_LIMIT,
                format!("a procedure has at most {STATEMENTS_MAX} statements"),
            ));
        }
        let mut statements = Vec::with_capacity(trees.len());
        for (tree, at) in trees {
            let text = StatementText::part(&text, at);
            let statement = Prepared::of_body(text, tree, names.clone(), &types, is_kept);
            let is_data = statement.is_signal()
                || matches!(
                    statement.statement(),
                    Some(
                        Statement::Query(_)
                            | Statement::Insert(_)
                            | Statement::Update(_)
                            | Statement::Delete(_)
                            | Statement::Merge(_)
                    )
                );
            if !is_data || !matches!(statement.class(), Class::Read | Class::Write) {
                return Err(SqlError::unsupported(
                    "a procedure has SELECT, INSERT, UPDATE, DELETE, MERGE, LISTEN, UNLISTEN and NOTIFY only",
                ));
            }
            statements.push(Arc::new(statement.with_rights(rights.clone())));
        }
        Ok(Compiled {
            parameters,
            statements,
        })
    }

    /// The tables of keys that its statements find only by the names of an older version.
    ///
    /// # Errors
    /// An error in a statement.
    pub fn older_names(&self, source: &dyn Source) -> Result<BTreeSet<String>, SqlError> {
        let mut names = BTreeSet::new();
        for statement in self.statements.iter().filter(|one| !one.is_signal()) {
            names.extend(statement.older_names(source)?);
        }
        Ok(names)
    }

    /// In the order of the declaration.
    pub fn parameters(&self) -> &[TypeSpec] {
        &self.parameters
    }

    /// True if it changes nothing.
    pub fn only_reads(&self) -> bool {
        self.statements.iter().all(|one| one.only_reads())
    }

    /// Checks the number of arguments.
    ///
    /// # Errors
    /// `42883` if it has another number of parameters.
    pub fn check_count(&self, given: usize) -> Result<(), SqlError> {
        match self.parameters.len() {
            wanted if wanted == given => Ok(()),
            wanted => Err(SqlError::new(
                code::UNKNOWN_FUNCTION,
                format!("the procedure has {wanted} parameters, and {given} arguments are given"),
            )),
        }
    }

    /// Runs its statements with the values of its parameters. Returns the result of the last one.
    ///
    /// # Errors
    /// The error of a statement.
    pub fn run(
        &self,
        tx: &mut dyn WriteTarget,
        name: &str,
        version: u64,
        with: &Environment<'_>,
    ) -> Result<Option<Called>, SqlError> {
        let mut last = None;
        for statement in &self.statements {
            if statement.is_signal() {
                last = Some((signalling::run(statement, with)?, None));
                continue;
            }
            let planned = statement.planned(version, &*tx);
            let planned = planned.map_err(|error| error.detail(format!("in procedure {name}")))?;
            last = Some(crate::running::run_plan(tx, &planned.plan, with)?);
        }
        Ok(last)
    }

    /// The same for one that [only reads](Compiled::only_reads), in a state of the tables.
    ///
    /// # Errors
    /// The error of a statement.
    pub fn read(
        &self,
        source: &dyn Source,
        name: &str,
        version: u64,
        with: &Environment<'_>,
    ) -> Result<Option<Called>, SqlError> {
        let mut last = None;
        for statement in &self.statements {
            let planned = statement.planned(version, source);
            let planned = planned.map_err(|error| error.detail(format!("in procedure {name}")))?;
            last = Some(crate::running::read_plan(source, &planned.plan, with)?);
        }
        Ok(last)
    }
}

/// The procedure of a name as it is in a state of the tables; `None` if there is none.
///
/// # Errors
/// An error of reading the tables, or in its body.
pub(crate) fn compiled(
    database: &Database,
    name: &str,
    version: u64,
    source: &dyn Source,
) -> Result<Option<Arc<Compiled>>, SqlError> {
    if let Some(there) = database.compiled(name, version) {
        return Ok(Some(there));
    }
    let Some(body) = object(source, kind::PROCEDURE, name)? else {
        return Ok(None);
    };
    let definition: ProcedureDefinition = parsed(&body)?;
    // The right to call a procedure includes everything that it does.
    let all = Arc::new(Rights::default());
    let compiled = Arc::new(Compiled::of(&definition, &all, true)?);
    database.keep_compiled(name, version, compiled.clone());
    Ok(Some(compiled))
}

/// True if the procedure of a `CALL` is known not to read the session's state: it has run, or is a program's.
pub(crate) fn is_by_itself(function: &Function, database: &Database) -> bool {
    let Ok(name) = of_public(&function.name) else {
        return false;
    };
    if database.registered(&name).is_some() {
        return true;
    }
    let version = database.version();
    database
        .compiled::<Compiled>(&name, version)
        .is_some_and(|compiled| {
            let mut statements = compiled.statements.iter();
            statements.all(|statement| statement.has_plan_by_itself(version))
        })
}

/// True if a call may look at many rows, or write many. A program's procedure counts as short.
pub(crate) fn is_long(function: &Function, database: &Database) -> bool {
    of_public(&function.name).map_or(true, |name| may_take_long(&name, database))
}

/// The same for a procedure of this name.
pub(crate) fn may_take_long(name: &str, database: &Database) -> bool {
    if database.registered(name).is_some() {
        return false;
    }
    let compiled = database.compiled::<Compiled>(name, database.version());
    compiled.is_none_or(|compiled| {
        let mut statements = compiled.statements.iter();
        statements.any(|statement| {
            let planned = statement.last_plan();
            !statement.is_signal() && planned.is_none_or(|planned| !planned.is_short)
        })
    })
}

/// The arguments of a `CALL`, each of its parameter's type, if those are known.
fn arguments(
    function: &Function,
    parameters: &mut Parameters,
    procedure: Option<&Compiled>,
) -> Result<Vec<Expr>, SqlError> {
    let scope = Scope::default();
    let mut compiler = Compiler::new(&scope, parameters);
    let given = match &function.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    if let Some(procedure) = procedure {
        procedure.check_count(given.len())?;
    }
    let mut compiled = Vec::with_capacity(given.len());
    for (at, argument) in given.iter().enumerate() {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
            return Err(SqlError::unsupported(format!(
                "the argument {argument} is not supported"
            )));
        };
        compiled.push(match procedure {
            Some(procedure) => {
                let typed = compiler.compile(tree)?;
                compiler.coerce(typed, procedure.parameters[at], Coercion::Assignment)?
            }
            None => compiler.decided(tree)?.expr,
        });
    }
    Ok(compiled)
}

/// The types of the parameters of a `CALL`.
///
/// # Errors
/// Invalid SQL; `42883` if there is no such procedure.
pub(crate) fn parameters(
    prepared: &Prepared,
    function: &Function,
    database: &Database,
    version: u64,
    source: &dyn Source,
) -> Result<Vec<SqlType>, SqlError> {
    let name = of_public(&function.name)?;
    let procedure = match database.registered(&name) {
        Some(_) => None,
        None => Some(compiled(database, &name, version, source)?.ok_or_else(|| unknown(&name))?),
    };
    let mut parameters = Parameters::given(&prepared.known_parameters());
    for argument in arguments(function, &mut parameters, procedure.as_deref())? {
        check_rights(&argument, source, &prepared.rights())?;
    }
    Ok(parameters.decided())
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_FUNCTION,
        format!("procedure {name} does not exist"),
    )
}

/// The result of a call, and the rows that it gives.
pub(crate) type Called = (Complete, Option<(Table, Arc<[ResultColumn]>)>);

/// Calls a procedure.
///
/// # Errors
/// `42883` if there is none; its error.
pub(crate) fn call(
    tx: &mut dyn WriteTarget,
    prepared: &Prepared,
    function: &Function,
    version: u64,
    with: &Environment<'_>,
) -> Result<Called, SqlError> {
    let database = with.context.database()?;
    let name = of_public(&function.name)?;
    let registered = database.registered(&name);
    let procedure = match registered {
        Some(_) => None,
        None => Some(compiled(database, &name, version, &*tx)?.ok_or_else(|| unknown(&name))?),
    };
    let wanted = procedure
        .as_ref()
        .map(|procedure| procedure.parameters.len());
    // They are compiled again only if another procedure of the name was created meanwhile.
    let known = prepared.arguments().get();
    let fresh;
    let expressions = match known.filter(|known| wanted.is_none_or(|wanted| wanted == known.len()))
    {
        Some(known) => known,
        None => {
            let mut parameters = Parameters::given(&prepared.known_parameters());
            fresh = arguments(function, &mut parameters, procedure.as_deref())?;
            for argument in &fresh {
                check_rights(argument, &*tx, &prepared.rights())?;
            }
            prepared.arguments().get_or_init(|| fresh.clone())
        }
    };
    let mut values = Vec::with_capacity(expressions.len());
    for expression in expressions {
        if names_tables(expression) {
            with.know_tables(&*tx);
        }
        values.push(expression.constant(with)?);
    }
    let complete = Complete::of(Tag::plain("CALL"));
    if let Some(body) = registered {
        return Ok((complete, row_of(body.call(tx, &values)?)));
    }
    let inside = Environment::new(&values, with.context);
    let last = match procedure {
        Some(procedure) => procedure.run(tx, &name, version, &inside)?,
        None => None,
    };
    Ok((complete, last.and_then(|(_, rows)| rows)))
}

/// Values that a program's procedure returned, as a row.
pub(crate) fn row_of(returned: Vec<Value>) -> Option<(Table, Arc<[ResultColumn]>)> {
    if returned.is_empty() {
        return None;
    }
    let columns = returned.iter().enumerate().map(|(at, value)| ResultColumn {
        name: format!("column{}", at + 1),
        spec: TypeSpec::plain(SqlType::of_value(value)),
        table: 0,
        column: 0,
    });
    let columns = columns.collect();
    let table = Table {
        width: returned.len(),
        values: returned,
        rows: 1,
    };
    Some((table, columns))
}
