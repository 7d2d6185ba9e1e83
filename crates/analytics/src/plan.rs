//! A query, planned by DataFusion.

use crate::error::{told, unsupported};
use crate::functions::with_functions;
use crate::parameters;
use crate::table::SnapshotTable;
use crate::text::{self, Text};
use crate::types::spec_of;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SessionContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{LogicalPlan, Statement as PlannedStatement};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement;
use sardonyx_sql::{AnalyticDescription, AnalyticQuery, ResultColumn, SqlError, SqlType, code};
use std::sync::Arc;

/// A query that can be run.
#[derive(Debug)]
pub struct Planned {
    /// How.
    pub plan: Arc<dyn ExecutionPlan>,
    /// With what.
    pub state: SessionState,
    /// What it gives.
    pub columns: Arc<[ResultColumn]>,
}

fn configuration(partitions: usize) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_batch_size(crate::batch::BATCH_ROWS)
        .with_information_schema(false);
    let options = config.options_mut();
    options.sql_parser.dialect = datafusion::config::Dialect::PostgreSQL;
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.default_null_ordering = "nulls_max".into();
    options.execution.time_zone = Some("UTC".into());
    config
}

/// A context with the tables that a statement names.
fn context(
    query: &AnalyticQuery,
    text: &Text,
    environment: &Arc<RuntimeEnv>,
    partitions: usize,
) -> Result<SessionContext, SqlError> {
    let builder = SessionStateBuilder::new()
        .with_config(configuration(partitions))
        .with_runtime_env(environment.clone());
    let context = SessionContext::new_with_state(with_functions(builder).build());
    for name in &text.tables {
        let table = match query.table(name) {
            Ok(table) => table,
            Err(error) if error.code == code::UNKNOWN_TABLE && text.queries.contains(name) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        let table = SnapshotTable::new(query.snapshot.clone(), name, table);
        // A name is taken as it is.
        let name = datafusion::common::TableReference::bare(name.as_str());
        let added = context.register_table(name, Arc::new(table));
        added.map_err(|error| told(&error))?;
    }
    Ok(context)
}

/// The plan of a statement whose parameters have these types.
async fn logical(
    state: &SessionState,
    statement: datafusion::sql::sqlparser::ast::Statement,
) -> Result<LogicalPlan, SqlError> {
    let statement = Statement::Statement(Box::new(statement));
    let plan = state.statement_to_plan(statement).await;
    match plan.map_err(|error| told(&error))? {
        LogicalPlan::Statement(PlannedStatement::Prepare(prepared)) => {
            Ok(Arc::unwrap_or_clone(prepared.input))
        }
        plan => Ok(plan),
    }
}

/// The types of all parameters: those that are not known are found out.
async fn all_types(
    state: &SessionState,
    query: &AnalyticQuery,
    text: &Text,
) -> Result<Vec<SqlType>, SqlError> {
    let known = parameters::types(query, text);
    if known.iter().all(Option::is_some) {
        return Ok(known.into_iter().flatten().collect());
    }
    let plan = logical(state, text.statement.clone()).await?;
    let found = plan.get_parameter_types().map_err(|error| told(&error))?;
    let each = known.into_iter().enumerate().map(|(place, known)| {
        let found = || {
            let found = found.get(&format!("${}", place + 1))?.as_ref()?;
            Some(parameters::found(found))
        };
        known.or_else(found).unwrap_or(SqlType::Text)
    });
    Ok(each.collect())
}

fn columns_of(plan: &LogicalPlan) -> Result<Arc<[ResultColumn]>, SqlError> {
    let fields = plan.schema().fields().iter();
    let columns = fields.map(|field| {
        let name = text::shown_name(field.name());
        let spec = spec_of(field).ok_or_else(|| {
            let kind = field.data_type();
            unsupported(format!(
                "the column \"{name}\" is {kind}, of which no values are told"
            ))
        })?;
        Ok(ResultColumn {
            name: name.to_string(),
            spec,
            table: 0,
            column: 0,
        })
    });
    columns.collect()
}

/// What is known of a query.
///
/// # Errors
/// What is wrong with it.
pub async fn describe(
    query: &AnalyticQuery,
    environment: &Arc<RuntimeEnv>,
    partitions: usize,
) -> Result<AnalyticDescription, SqlError> {
    let text = text::prepare(query)?;
    let state = context(query, &text, environment, partitions)?.state();
    let types = all_types(&state, query, &text).await?;
    let statement = parameters::declared(text.statement, &types, &[]);
    let plan = logical(&state, statement).await?;
    Ok(AnalyticDescription {
        columns: columns_of(&plan)?,
        parameters: types,
    })
}

/// Plans a query with the values of its parameters; those of an explained one may be missing.
///
/// # Errors
/// What is wrong with it.
pub async fn plan(
    query: &AnalyticQuery,
    environment: &Arc<RuntimeEnv>,
    partitions: usize,
) -> Result<Planned, SqlError> {
    let text = text::prepare(query)?;
    let state = context(query, &text, environment, partitions)?.state();
    let types = all_types(&state, query, &text).await?;
    let values = parameters::values(&types, &query.parameters)?;
    let statement = parameters::declared(text.statement, &types, &query.parameters);
    let mut plan = logical(&state, statement).await?;
    if !values.is_empty() {
        let values = datafusion::common::ParamValues::from(values);
        plan = plan
            .with_param_values(values)
            .map_err(|error| told(&error))?;
    }
    let columns = match &query.columns {
        None => columns_of(&plan)?,
        Some(columns) if columns.len() == plan.schema().fields().len() => columns.clone(),
        Some(_) => return Err(unsupported("cached plan must not change result type")),
    };
    let physical = state.create_physical_plan(&plan).await;
    Ok(Planned {
        plan: physical.map_err(|error| told(&error))?,
        state,
        columns,
    })
}
