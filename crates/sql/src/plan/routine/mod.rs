//! Functions of users in statements. A plan has the definition of each function that it calls; the body is compiled at the
//! first call, for the tables that the plan reads. So a function may call itself, and costs nothing that is not called.
//!
//! The steps of a body run on a frame, a row of the variables. Statements in it are planned as queries inside of one that
//! gives this row: a name is a column, or else a variable.
//!
//! In expressions a function reads only. One that changes rows is called by `SELECT f(…)` without a table, or as the only
//! item of `FROM`: its call is made before the query, in the transaction (`crate::running`).

mod code;
mod compile;
mod host;
mod run;

pub(crate) use code::Code;
pub(crate) use host::{Given, Host, Outcome, Reader, Statement};

use super::tree::{Input, SelectPlan, SeriesOf};
use crate::error::{SqlError, code as codes};
use crate::expression::{Environment, Expr, InnerQuery, StatementContext, Subquery, row_of_field};
use crate::relation::Relation;
use crate::rights::{Access, Rights};
use crate::routines::{Returns, RoutineDefinition};
use crate::rows::{InputRow, Table};
use crate::source::Source;
use crate::types::{CompositeType, SqlType, TypeSpec};
use crate::user_types::UserTypes;
use crate::values::composites;
use crate::values::records::{described, made};
use sardonyx::schema::Value;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// A function in a plan.
#[derive(Debug)]
pub(crate) struct Routine {
    pub definition: RoutineDefinition,
    /// The table of a trigger's function.
    table: Option<u16>,
    /// The fields of its rows as values.
    fields: Vec<(String, SqlType)>,
    /// The type of its rows, if they have one.
    of_type: Option<CompositeType>,
    /// True if a statement declares it: the rules of earlier versions are not for it.
    is_new: bool,
    /// Its steps, with the rights and the search path for which they were compiled.
    compiled: Mutex<Option<(Arc<Rights>, Arc<Code>)>>,
}

impl Routine {
    pub fn new(definition: RoutineDefinition) -> Routine {
        Routine {
            definition,
            table: None,
            fields: Vec::new(),
            of_type: None,
            is_new: false,
            compiled: Mutex::default(),
        }
    }

    /// The function of a trigger on a table.
    pub fn of_trigger(definition: RoutineDefinition, table: u16) -> Routine {
        Routine {
            table: Some(table),
            ..Routine::new(definition)
        }
    }

    /// The same with the fields that its rows have as values.
    pub fn with_fields(self, fields: Vec<(String, SqlType)>, of_type: SqlType) -> Routine {
        let of_type = match of_type {
            SqlType::Composite(of) => Some(of),
            _ => None,
        };
        Routine {
            fields,
            of_type,
            ..self
        }
    }

    /// The same for a function that a statement declares.
    pub fn declared(self) -> Routine {
        Routine {
            is_new: true,
            ..self
        }
    }

    /// The number of its columns in `FROM`.
    pub fn width(&self) -> usize {
        match self.definition.returns.is_composite() {
            true => self.fields.len(),
            false => 1,
        }
    }

    /// The function of a subquery, if it is one.
    pub fn of(subquery: &Subquery) -> Option<&Routine> {
        let query: &dyn Any = &*subquery.query;
        query.downcast_ref()
    }

    /// Its steps, for the present tables and for the rights of its caller. A plan of a view, of a procedure or of a
    /// reference's action has all rights, and several users may share it: its functions have those of the statement.
    ///
    /// # Errors
    /// An error in its body; `42501` without a privilege that it needs.
    pub fn code(&self, source: &dyn Source, rights: &Arc<Rights>) -> Result<Arc<Code>, SqlError> {
        let compiled = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, code)) = &*compiled()
            && of == rights
        {
            return Ok(code.clone());
        }
        let table = match self.table {
            Some(number) => Some(Relation::numbered(source, number)?),
            None => None,
        };
        let code = compile::compile(
            (&self.definition, self.is_new),
            source,
            rights,
            table.as_ref(),
        );
        let code = Arc::new(code.map_err(|error| self.within(error))?);
        *compiled() = Some((rights.clone(), code.clone()));
        Ok(code)
    }

    /// An error with the function in which it occurred.
    #[cold]
    fn within(&self, mut error: SqlError) -> SqlError {
        error.position = None;
        let (language, name) = (self.definition.language.name(), &self.definition.name);
        error.within(|| match language {
            "plpgsql" => format!("PL/pgSQL function {name}"),
            _ => format!("SQL function \"{name}\""),
        })
    }

    /// Calls it with values of its parameters.
    ///
    /// # Errors
    /// An error in its body; `54001` for too many calls inside of each other.
    pub fn call(
        &self,
        host: &mut dyn Host,
        given: Given<'_>,
        with: &Environment<'_>,
    ) -> Result<Outcome, SqlError> {
        self.check_call(with.context)?;
        let rights = self.rights(with.context);
        let code = self.code(host.source(), &rights)?;
        // Functions that it calls have them, too.
        let callers = with.context.rights.replace(rights);
        let ran = run::run(&code, host, given, with);
        with.context.rights.replace(callers);
        ran.map_err(|error| self.within(error))
    }

    /// Checks that its caller may call it: as for a procedure, since it may do more than the caller. A trigger calls its
    /// function for every user who may change the rows.
    fn check_call(&self, context: &StatementContext) -> Result<(), SqlError> {
        let is_open = !self.definition.is_definer || self.table.is_some();
        if is_open || context.rights.borrow().elsewhere() >= Access::Write {
            return Ok(());
        }
        let text = format!("permission denied for function {}", self.definition.name);
        Err(SqlError::new(codes::INSUFFICIENT_PRIVILEGE, text)
            .detail("It has the rights of its owner (SECURITY DEFINER).")
            .hint("Users with tables = \"write\" or \"own\" in the configuration may call it."))
    }

    /// The rights with which it runs: those of its caller, or those of the user that made it; with its search path.
    pub fn rights(&self, context: &StatementContext) -> Arc<Rights> {
        let rights = match self.definition.is_definer {
            true => context.rights_of(&self.definition.owner),
            false => context.rights.borrow().clone(),
        };
        match self.definition.own_path(rights.path(), &context.user) {
            Some(path) => Arc::new(rights.looking_in(&Arc::new(path))),
            None => rights,
        }
    }

    /// The values of a call for a row; `None` if the function is not to be called, and gives null.
    fn arguments(
        &self,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let mut values = Vec::with_capacity(subquery.arguments.len());
        for argument in &subquery.arguments {
            values.push(argument.evaluate(row, with)?.into_value());
        }
        let is_null = self.definition.is_strict && values.contains(&Value::Null);
        Ok((!is_null).then_some(values))
    }

    /// The rows of a call in a statement.
    ///
    /// # Errors
    /// As [`Routine::call`].
    pub fn rows(
        &self,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Table, SqlError> {
        let reading = with.reading.ok_or_else(nothing_read)?;
        if let Some(made) = reading.kept.tables.borrow().get(&subquery.number) {
            return Ok((**made).clone());
        }
        self.rows_in(&mut Reader(reading.source), subquery, row, with)
    }

    /// The same in a transaction.
    ///
    /// # Errors
    /// As [`Routine::call`].
    pub fn rows_in(
        &self,
        host: &mut dyn Host,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Table, SqlError> {
        let returns = &self.definition.returns;
        let is_value = !returns.gives_rows() && !returns.is_row();
        let Some(values) = self.arguments(subquery, row, with)? else {
            let rows = u64::from(is_value);
            return Ok(Table {
                width: 1,
                values: vec![Value::Null; rows as usize],
                rows,
            });
        };
        Ok(match self.call(host, Given::of(&values), with)? {
            Outcome::Value(value) => Table {
                width: 1,
                values: vec![value],
                rows: 1,
            },
            Outcome::Rows(table) => table,
            Outcome::Row(_) => Table::default(),
        })
    }
}

impl Routine {
    /// The values of a call in an expression, each a row if it has fields.
    ///
    /// # Errors
    /// As [`Routine::call`].
    pub fn values(
        &self,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let table = self.rows(subquery, row, with)?;
        if !self.definition.returns.is_composite() {
            return Ok(table.values);
        }
        let width = table.width.max(1);
        if let Some(of) = self.of_type {
            let rows = table.values.chunks(width);
            return rows.map(|row| composites::written(of, row)).collect();
        }
        let fields = self.fields.iter();
        let described = described(fields.map(|(name, kind)| (&**name, *kind)));
        let rows = table.values.chunks(width);
        rows.map(|row| made(&described, row.iter().map(Value::as_ref)))
            .collect()
    }

    /// The rows of a call in `FROM`: a function that gives one row gives nulls for none.
    ///
    /// # Errors
    /// As [`Routine::call`].
    pub fn rows_from(
        &self,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Table, SqlError> {
        let mut table = self.rows(subquery, row, with)?;
        if table.rows == 0 && self.definition.returns.is_row() {
            table.width = self.fields.len();
            table.values = vec![Value::Null; table.width];
            table.rows = 1;
        }
        Ok(table)
    }
}

fn nothing_read() -> SqlError {
    SqlError::unsupported("a function of a user is not supported here: no table is read")
}

impl InnerQuery for Routine {
    fn value(
        &self,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Value, SqlError> {
        let values = self.values(subquery, row, with)?;
        Ok(values.into_iter().next().unwrap_or(Value::Null))
    }

    fn gives_rows(&self) -> bool {
        self.definition.returns.gives_rows()
    }

    fn fields(&self) -> &[(String, SqlType)] {
        &self.fields
    }

    fn equal_values(&self, _: &Subquery, _: &Environment<'_>) -> Result<Vec<Value>, SqlError> {
        Err(SqlError::new(codes::INTERNAL, "a function is no list"))
    }

    fn count_equal(&self, _: &Subquery, _: &Environment<'_>) -> Result<usize, SqlError> {
        Err(SqlError::new(codes::INTERNAL, "a function is no list"))
    }

    fn is_volatile(&self) -> bool {
        self.definition.volatility == 'v'
    }
}

/// The type of a number, which may be a user's.
///
/// # Errors
/// `XX001` if there is none.
pub(crate) fn kind_of(types: &UserTypes, number: u32) -> Result<SqlType, SqlError> {
    types.numbered(number).ok_or_else(|| {
        let text = format!("the type {number} of a function is not known");
        SqlError::new(codes::DATA_CORRUPTED, text)
    })
}

/// The names and types of a function's columns in `FROM`. A single value has the name of the function.
///
/// # Errors
/// An error of reading the tables; `42P01` if the table is not there whose rows it gives.
pub(crate) fn columns_of(
    definition: &RoutineDefinition,
    source: &dyn Source,
) -> Result<Vec<(String, TypeSpec)>, SqlError> {
    let types = UserTypes::of(source)?;
    let one = |kind: u32| Ok::<_, SqlError>(TypeSpec::plain(kind_of(&types, kind)?));
    match &definition.returns {
        Returns::Void | Returns::Trigger => Ok(vec![(
            definition.name.clone(),
            TypeSpec::plain(SqlType::Void),
        )]),
        Returns::Value(kind) | Returns::Rows(kind) => {
            let out = definition.outs.first().map(|out| &out.name);
            let name = out.filter(|name| !name.is_empty());
            Ok(vec![(
                name.unwrap_or(&definition.name).clone(),
                one(*kind)?,
            )])
        }
        Returns::RowOfType(kind) | Returns::RowsOfType(kind) => match kind_of(&types, *kind)? {
            SqlType::Composite(of) => {
                let fields = of.fields().iter();
                Ok(fields
                    .map(|field| (field.name.clone(), field.spec))
                    .collect())
            }
            _ => Ok(Vec::new()),
        },
        Returns::Table(columns) | Returns::Row(columns) => columns
            .iter()
            .map(|(name, kind)| Ok((name.clone(), one(*kind)?)))
            .collect(),
        Returns::RowsOf(table) | Returns::RowOf(table) => {
            let relation = Relation::named(source, table)?;
            let columns = relation.columns.iter();
            Ok(columns
                .map(|column| (column.name.clone(), column.spec))
                .collect())
        }
    }
}

/// The calls of a query that may change rows: those of a `SELECT` without a table, and that of the only function in `FROM`.
pub(crate) fn calls_of(plan: &SelectPlan) -> Vec<&Subquery> {
    let is_constant = |subquery: &&Subquery| subquery.arguments.iter().all(Expr::is_constant);
    let is_alone = plan.filter.is_none() && plan.grouping.is_none() && plan.limit.is_none();
    match &plan.input {
        Input::Nothing if is_alone => {
            let calls = plan.output.expressions.iter();
            let calls = calls.filter_map(|expr| match row_of_field(expr) {
                Expr::Subquery(subquery) if Routine::of(subquery).is_some() => Some(&**subquery),
                _ => None,
            });
            // The fields of a row are those of one call.
            let mut calls: Vec<&Subquery> = calls.filter(is_constant).collect();
            calls.dedup_by_key(|call| call.number);
            calls
        }
        Input::Series(series) => match &series.of[..] {
            [SeriesOf::Routine(subquery)] => {
                Some(&**subquery).into_iter().filter(is_constant).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
