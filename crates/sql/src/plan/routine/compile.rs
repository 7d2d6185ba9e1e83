//! Compiles a function's body: each statement is planned inside of the scopes of the variables, and each variable has a
//! place in the frame.

mod lines;
mod records;
mod results;

use super::code::{Code, Place, Query, Shape, Step, TriggerPlaces};
use super::host::Statement;
use super::{columns_of, kind_of};
use crate::changed_text::with_changes;
use crate::conditions::Caught;
use crate::error::{SqlError, code};
use crate::expression::{Parameters, Scope, ScopeColumn, ScopeTable};
use crate::lexer::{Placed, placed};
use crate::names::quoted;
use crate::parse::{Block, Target, Variable, parse_kept, parse_routine, parsed_type};
use crate::plan::Plan;
use crate::plan::planning::Planning;
use crate::relation::Relation;
use crate::rights::Rights;
use crate::routines::{Language, Returns, RoutineDefinition};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::{TypeNames, UserTypes};
use sqlparser::ast;
use sqlparser::tokenizer::Token;
use std::borrow::Cow;
use std::sync::Arc;

/// The variables about a trigger, in their order in the frame.
pub(crate) const ABOUT: [(&str, SqlType); 10] = [
    ("tg_name", SqlType::Name),
    ("tg_when", SqlType::Text),
    ("tg_level", SqlType::Text),
    ("tg_op", SqlType::Text),
    ("tg_relid", SqlType::Oid),
    ("tg_relname", SqlType::Name),
    ("tg_table_name", SqlType::Name),
    ("tg_table_schema", SqlType::Name),
    ("tg_nargs", SqlType::Int4),
    ("tg_argv", SqlType::TextArray),
];

/// Compiles a function, or that of a trigger on a table. The rules of earlier versions are for one that is not new, too.
///
/// # Errors
/// Invalid SQL in the body; `0A000`.
pub(crate) fn compile(
    (definition, is_new): (&RoutineDefinition, bool),
    source: &dyn Source,
    rights: &Arc<Rights>,
    table: Option<&Relation>,
) -> Result<Code, SqlError> {
    let types = UserTypes::of(source)?;
    let mut compiling = Compiling {
        source,
        rights,
        definition,
        is_new,
        kinds: Vec::new(),
        scopes: Vec::new(),
        width: 0,
        found: 0,
        trigger: None,
        shape: Shape::Void,
        outs: Vec::new(),
        writes: false,
        locks_rows: false,
        constants: Vec::new(),
        not_null: Vec::new(),
        records: Vec::new(),
    };
    let mut own = ScopeTable {
        alias: definition.name.clone(),
        ..ScopeTable::default()
    };
    for parameter in &definition.parameters {
        let kind = kind_of(&types, parameter.kind)?;
        compiling.kinds.push(Some(kind));
        compiling.add(&mut own, &parameter.name, TypeSpec::plain(kind));
    }
    compiling.shape = match &definition.returns {
        Returns::Void => Shape::Void,
        Returns::Trigger => Shape::Row,
        Returns::Value(kind) => Shape::Value(TypeSpec::plain(kind_of(&types, *kind)?)),
        returns => {
            let columns = columns_of(definition, source)?.into_iter();
            let columns = columns.map(|(_, spec)| spec).collect();
            match returns.is_row() {
                true => Shape::OneRow(columns),
                false => Shape::Rows(columns),
            }
        }
    };
    let is_plpgsql = definition.language == Language::Plpgsql;
    if is_plpgsql {
        compiling.add_outs(&mut own, &types)?;
    }
    let has_columns = is_plpgsql && definition.outs.is_empty();
    if let (true, Returns::Table(_)) = (has_columns, &definition.returns) {
        for (name, spec) in columns_of(definition, source)? {
            compiling.add(&mut own, &name, spec);
        }
    }
    let plain = TypeSpec::plain;
    compiling.found = compiling.add(&mut own, "found", plain(SqlType::Bool));
    let number = compiling.add(&mut own, "sqlstate", plain(SqlType::Text));
    let text = compiling.add(&mut own, "sqlerrm", plain(SqlType::Text));
    if !is_plpgsql {
        // They are of PL/pgSQL alone.
        own.columns.truncate(own.columns.len() - 3);
    }
    let mut scope = Scope::default();
    if let Some(relation) = table {
        compiling.rows_of(relation, &mut own, &mut scope);
    }
    scope.tables.insert(0, own);
    compiling.scopes.push(scope);
    let steps = match definition.language {
        Language::Sql => compiling.statements(&definition.body)?,
        Language::Plpgsql => {
            let block = parse_routine(&definition.body)?;
            vec![compiling.block(&block)?]
        }
    };
    Ok(Code {
        width: compiling.width,
        result: compiling.shape,
        steps,
        found: compiling.found,
        outs: compiling.outs,
        error: (number, text),
        trigger: compiling.trigger,
        writes: compiling.writes,
        locks_rows: compiling.locks_rows,
    })
}

struct Compiling<'c> {
    source: &'c dyn Source,
    rights: &'c Arc<Rights>,
    definition: &'c RoutineDefinition,
    is_new: bool,
    /// The types of the parameters.
    kinds: Vec<Option<SqlType>>,
    /// The variables, those of the innermost block last.
    scopes: Vec<Scope>,
    width: usize,
    found: usize,
    trigger: Option<TriggerPlaces>,
    shape: Shape,
    /// The places of the `OUT` parameters.
    outs: Vec<usize>,
    writes: bool,
    locks_rows: bool,
    /// The places that get no other value, and those that may not be null.
    constants: Vec<usize>,
    not_null: Vec<usize>,
    /// All records, also those of blocks that have ended.
    records: Vec<records::Record>,
}

impl Compiling<'_> {
    /// Gives a variable a place.
    fn add(&mut self, table: &mut ScopeTable, name: &str, spec: TypeSpec) -> usize {
        let at = self.width;
        self.width += 1;
        table.columns.push(ScopeColumn::new(name, spec, at));
        at
    }

    /// The rows of a trigger, and the variables about it.
    fn rows_of(&mut self, relation: &Relation, own: &mut ScopeTable, scope: &mut Scope) {
        let width = relation.schema.columns.len();
        let mut firsts = [0; 2];
        for (first, alias) in firsts.iter_mut().zip(["new", "old"]) {
            *first = self.width;
            self.width += width;
            let columns = relation.columns.iter();
            let columns = columns
                .map(|column| ScopeColumn::new(&column.name, column.spec, *first + column.number));
            scope.tables.push(ScopeTable {
                alias: alias.to_string(),
                columns: columns.collect(),
                is_aside: true,
                may_be_missing: true,
                ..ScopeTable::default()
            });
        }
        let about = self.width;
        for (name, kind) in ABOUT {
            self.add(own, name, TypeSpec::plain(kind));
        }
        let [new, old] = firsts;
        self.trigger = Some(TriggerPlaces {
            new,
            old,
            width,
            about,
        });
    }

    /// Plans a statement.
    fn query(&mut self, text: &str) -> Result<Query, SqlError> {
        let text = &*self.with_rows(text)?;
        let mut statements = parse_kept(text)?;
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            return Err(SqlError::syntax(format!("not one statement: {text}")));
        };
        let planned = self.planned(&statement, false);
        let planned = planned.or_else(|error| match self.is_new {
            true => Err(error),
            // An earlier version may have accepted it.
            false => self.planned(&statement, true).map_err(|_| error),
        });
        planned.map_err(|error| self.of_mixed(error, text))
    }

    fn planned(&mut self, statement: &ast::Statement, is_kept: bool) -> Result<Query, SqlError> {
        let parameters = Parameters::given(&self.kinds);
        let mut parameters = parameters.of_kept_text(is_kept);
        let mut planning = Planning::new(self.source, &mut parameters, self.rights)?;
        let scopes = self.scopes.iter().map(|scope| Arc::new(scope.clone()));
        planning.queries.around.outer = scopes.collect();
        let plan = Plan::of(&mut planning, statement)?;
        planning.queries.check_populated()?;
        self.locks_rows |= planning.queries.locks_rows;
        self.writes |= plan.writes();
        let columns = plan.columns();
        let columns = columns.map(|all| all.iter().map(|column| column.spec.kind).collect());
        Ok(Query {
            asked: std::mem::take(&mut planning.queries.around.asked),
            columns: columns.unwrap_or_default(),
            plan: Box::new(plan),
        })
    }

    /// A text of a trigger in which `NEW.*` is a row beside an operator, and the columns of one elsewhere.
    fn with_rows<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, SqlError> {
        let lower = text.to_ascii_lowercase();
        if self.trigger.is_none() || !lower.contains(".*") {
            return Ok(text.into());
        }
        let tokens = placed(text).map_err(|error| SqlError::syntax(error.message))?;
        let tokens: Vec<Placed> = tokens.into_iter().filter(|one| !one.is_blank()).collect();
        let is_operator = |token: Option<&Placed>| {
            let words = ["is", "from", "=", "<>", "!=", "<", ">", "<=", ">="];
            let word = token.and_then(|token| text.get(token.at.clone()));
            word.is_some_and(|word| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
        };
        let mut changes = Vec::new();
        for (at, three) in tokens.windows(3).enumerate() {
            let [name, point, star] = three else {
                continue;
            };
            let is_all = point.token == Token::Period && star.token == Token::Mul;
            let name_of_row = name.word().filter(|_| is_all);
            let Some(row) = name_of_row.and_then(|name| self.row_named(&name)) else {
                continue;
            };
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            let next = tokens.get(at + 3);
            // `SELECT NEW.* FROM t` has its columns.
            let is_from = next.and_then(Placed::word).as_deref() == Some("from");
            let now = match is_operator(before) || !is_from && is_operator(next) {
                true => row.alias.clone(),
                false => {
                    let columns = row.columns.iter();
                    let columns = columns.map(|one| format!("{}.{}", row.alias, quoted(&one.name)));
                    columns.collect::<Vec<_>>().join(", ")
                }
            };
            changes.push((name.at.start..star.at.end, now));
        }
        Ok(with_changes(text, &changes).into())
    }

    /// The new row of a trigger, or the old one.
    fn row_named(&self, name: &str) -> Option<&ScopeTable> {
        let tables = self.scopes.first()?.tables.iter();
        let mut rows = tables.filter(|table| matches!(&*table.alias, "new" | "old"));
        rows.find(|table| table.alias == name)
    }

    fn expression(&mut self, text: &str) -> Result<Query, SqlError> {
        self.query(&format!("SELECT {text}"))
    }

    /// The body of a function in SQL: the rows of the last statement are the result.
    fn statements(&mut self, body: &str) -> Result<Vec<Step>, SqlError> {
        let statements = parse_kept(body)?;
        let mut steps = Vec::with_capacity(statements.len());
        let last = statements.len().saturating_sub(1);
        for (at, statement) in statements.into_iter().enumerate() {
            let query = self.query(&statement.to_string())?;
            let is_last = at == last;
            steps.push(match (&self.shape, is_last) {
                (Shape::Value(spec), true) => {
                    self.check_result(&query, &[*spec])?;
                    Step::Give(Some(query))
                }
                (Shape::Rows(columns) | Shape::OneRow(columns), true) => {
                    let columns = columns.clone();
                    self.check_result(&query, &columns)?;
                    Step::GiveRows(query)
                }
                _ => Step::Run(query),
            });
        }
        if let Shape::OneRow(_) = self.shape {
            steps.push(Step::Give(None));
        }
        if steps.is_empty() && !matches!(self.shape, Shape::Void) {
            return Err(self.mismatch(
                "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.",
            ));
        }
        Ok(steps)
    }

    fn check_result(&self, query: &Query, wanted: &[TypeSpec]) -> Result<(), SqlError> {
        use crate::values::cast::{Coercion, can_cast};
        if query.columns.is_empty() {
            return Err(self.mismatch(
                "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.",
            ));
        }
        let is_row = matches!(query.columns[..], [SqlType::Record | SqlType::Composite(_)]);
        if is_row && self.definition.returns.is_composite() {
            // The fields of a row are known when it is there.
            return Ok(());
        }
        if query.columns.len() != wanted.len() {
            let few = query.columns.len() < wanted.len();
            return Err(self.mismatch(match (wanted.len(), few) {
                (1, _) => "Final statement must return exactly one column.",
                (_, true) => "Final statement returns too few columns.",
                (_, false) => "Final statement returns too many columns.",
            }));
        }
        for (from, to) in query.columns.iter().zip(wanted) {
            if !can_cast(*from, to.kind, Coercion::Assignment) {
                let text = format!("Actual return type is {}.", from.name());
                return Err(self.mismatch(&text));
            }
        }
        Ok(())
    }

    fn mismatch(&self, detail: &str) -> SqlError {
        let returned = match &self.shape {
            Shape::Value(spec) => spec.kind.name(),
            _ => "record",
        };
        let text = format!("return type mismatch in function declared to return {returned}");
        SqlError::new("42P13", text).detail(detail)
    }

    fn block(&mut self, block: &Block) -> Result<Step, SqlError> {
        let mut steps = Vec::new();
        self.scopes.push(Scope {
            tables: vec![ScopeTable::default()],
        });
        for variable in &block.variables {
            steps.extend(self.variable(variable)?);
        }
        let (lines, handlers) = self.handled(block)?;
        let records = self.end_records();
        self.scopes.pop();
        // The places of the outermost block are null at first.
        if !records.is_empty() && self.scopes.len() > 1 {
            steps.push(Step::Into {
                query: self.expression("NULL")?,
                places: records,
                is_strict: false,
                finds: false,
            });
        }
        match handlers.is_empty() {
            true => steps.extend(lines),
            false => steps.push(Step::Block(lines, handlers)),
        }
        Ok(Step::Block(steps, Vec::new()))
    }

    /// The lines of a block, and those of its handlers.
    #[allow(clippy::type_complexity, reason = "they are the parts of a step")]
    fn handled(
        &mut self,
        block: &Block,
    ) -> Result<(Vec<Step>, Vec<(Vec<Caught>, Vec<Step>)>), SqlError> {
        if block.handlers.is_empty() {
            return Ok((self.lines(&block.lines)?, Vec::new()));
        }
        let lines = self.anywhere(false, |inner| inner.lines(&block.lines))?;
        let first = self.shapes();
        let mut ends = first.clone();
        let mut handlers = Vec::with_capacity(block.handlers.len());
        for handler in &block.handlers {
            self.set_shapes(&first);
            handlers.push((handler.catches.clone(), self.lines(&handler.lines)?));
            self.join_shapes(&ends);
            ends = self.shapes();
        }
        Ok((lines, handlers))
    }

    /// A variable, and the step that gives it its first value.
    fn variable(&mut self, variable: &Variable) -> Result<Option<Step>, SqlError> {
        let Some(kind) = &variable.kind else {
            // A record has no columns before a query gives it some.
            return self.declare_record(variable, None);
        };
        let lower = kind.to_ascii_lowercase();
        if let Some(table) = lower.strip_suffix("%rowtype") {
            return self.declare_record(variable, Some(table));
        }
        let spec = match lower.strip_suffix("%type") {
            Some(column) => self.spec_of_column(column)?,
            None => {
                let names = TypeNames::of(self.source, self.rights.path())?;
                match parsed_type(kind, &names) {
                    Err(_) if self.is_table(kind) => {
                        return self.declare_record(variable, Some(kind));
                    }
                    spec => spec?,
                }
            }
        };
        let value = variable.value.as_deref().unwrap_or("NULL");
        let query = match variable.value {
            Some(_) => Some(self.expression(value)?),
            None => None,
        };
        let at = self.width;
        self.width += 1;
        if let Some(table) = self
            .scopes
            .last_mut()
            .and_then(|scope| scope.tables.first_mut())
        {
            table
                .columns
                .push(ScopeColumn::new(&variable.name, spec, at));
        }
        if variable.is_not_null && variable.value.is_none() {
            let text = format!(
                "variable \"{}\" must have a default value, since it's declared NOT NULL",
                variable.name
            );
            return Err(SqlError::new(code::NULL_NOT_ALLOWED, text));
        }
        if variable.is_not_null {
            self.not_null.push(at);
        }
        let step = query.map(|query| Step::Into {
            query,
            places: vec![self.place(&variable.name, at, spec)],
            is_strict: false,
            finds: false,
        });
        if variable.is_constant {
            self.constants.push(at);
        }
        Ok(step.or_else(|| {
            // Each time that its block begins, it is null again.
            let query = self.expression("NULL").ok()?;
            Some(Step::Into {
                query,
                places: vec![Place {
                    at,
                    spec,
                    not_null: None,
                }],
                is_strict: false,
                finds: false,
            })
        }))
    }

    /// The type of `variable%TYPE`, or of `table.column%TYPE`.
    fn spec_of_column(&mut self, column: &str) -> Result<TypeSpec, SqlError> {
        if let Some(place) = self.found_place(column, None) {
            return Ok(place.spec);
        }
        let Some((table, name)) = column.rsplit_once('.') else {
            let text = format!("type \"{column}%TYPE\" does not exist");
            return Err(SqlError::new(code::UNKNOWN_OBJECT, text));
        };
        let query = self.query(&format!("SELECT {name} FROM {table} LIMIT 0"))?;
        let spec = query.plan.columns().and_then(|columns| columns.first());
        Ok(spec.map_or(TypeSpec::plain(SqlType::Text), |column| column.spec))
    }

    fn place(&self, name: &str, at: usize, spec: TypeSpec) -> Place {
        let is_not_null = self.not_null.contains(&at);
        Place {
            at,
            spec,
            not_null: is_not_null.then(|| name.to_string()),
        }
    }

    /// The place of a variable, or of a field of a record.
    fn found_place(&self, name: &str, field: Option<&str>) -> Option<Place> {
        self.scopes.iter().rev().find_map(|scope| {
            let column = scope.tables.iter().find_map(|table| {
                let is_it = match field {
                    Some(_) => table.alias == name,
                    None => !table.is_aside,
                };
                let wanted = field.unwrap_or(name);
                let mut columns = table.columns.iter().filter(|_| is_it);
                columns.find(|column| column.name == wanted)
            })?;
            Some(self.place(name, column.place, column.spec))
        })
    }

    fn target(&self, target: &Target) -> Result<Place, SqlError> {
        let field = target.field.as_deref();
        let Some(place) = self.found_place(&target.name, field) else {
            let name = match field {
                Some(field) => format!("{}.{field}", target.name),
                None => target.name.clone(),
            };
            return Err(SqlError::syntax(format!(
                "\"{name}\" is not a known variable"
            )));
        };
        if self.constants.contains(&place.at) {
            let text = format!("variable \"{}\" is declared CONSTANT", target.name);
            return Err(SqlError::new("22005", text));
        }
        Ok(place)
    }
}
