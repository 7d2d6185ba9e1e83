//! Calls of functions of users: the function is chosen by the types of the arguments among those of its name, and the call
//! is a subquery whose arguments are the function's.

use super::cast::{Coercion, can_cast};
use super::compile::Compiler;
use super::functions::{named, not_unique, unknown};
use super::named_arguments::part;
use super::subquery::{Question, Subquery};
use super::{Expr, Scope, Typed};
use crate::aggregate::Aggregate;
use crate::error::{SqlError, code};
use crate::expression::window::WindowFunction;
use crate::names::qualified;
use crate::parse::parse_expression;
use crate::routines::{Returns, RoutineDefinition};
use crate::types::{SqlType, TypeSpec};
use sqlparser::ast::{self, Expr as Tree, FunctionArg, FunctionArguments};

/// Functions of SQL that no table has: the compiler knows them by their names.
const FORMS: [&str; 19] = [
    "array",
    "coalesce",
    "extract",
    "greatest",
    "grouping",
    "json_each",
    "json_each_text",
    "json_to_record",
    "json_to_recordset",
    "jsonb_each",
    "jsonb_each_text",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "least",
    "nullif",
    "pg_collation_for",
    "pg_get_keywords",
    "pg_options_to_table",
    "row",
];

/// True for the name of a function that is not a user's.
pub(crate) fn is_known(name: &str) -> bool {
    !named(name).is_empty()
        || FORMS.contains(&name)
        // `ROWS FROM`, and the like, as the parser is given them.
        || name.starts_with('\u{1}')
        || Aggregate::named(name).is_some()
        || WindowFunction::named(name).is_some()
        || SqlType::named(name).is_some()
}

/// An argument of a call: its name, if it has one, and its value.
type Argument<'t> = (Option<String>, &'t Tree);

impl Compiler<'_> {
    /// The call of a function of a user, if there is one of its name. `is_other` is true if another function of the name
    /// does not take the arguments.
    ///
    /// # Errors
    /// `42883` if none takes the arguments, `42725` if several do; `0A000`.
    pub(super) fn routine(
        &mut self,
        function: &ast::Function,
        is_other: bool,
    ) -> Result<Option<Typed>, SqlError> {
        let (schema, name) = qualified(&function.name)?;
        let is_of_users = !matches!(schema.as_deref(), Some("pg_catalog" | "information_schema"));
        if self.nested.is_none()
            || !is_of_users
            || function.over.is_some()
            || schema.is_none() && !is_other && is_known(&name)
        {
            return Ok(None);
        }
        let FunctionArguments::List(list) = &function.args else {
            return Ok(None);
        };
        let Some(call) = self.routine_call(schema.as_deref(), &name, &list.args)? else {
            return Ok(None);
        };
        let (subquery, definition, result) = call;
        if definition.returns == Returns::Trigger {
            return Err(SqlError::unsupported(
                "trigger functions can only be called as triggers",
            ));
        }
        let typed = Typed::new(Expr::Subquery(Box::new(subquery)), result);
        if !definition.returns.gives_rows() {
            return Ok(Some(typed));
        }
        if self.is_whole() {
            return Err(SqlError::unsupported(
                "set-returning functions must appear at top level of FROM",
            ));
        }
        self.placed_rows(typed, &name).map(Some)
    }

    /// The call of a function of a user with its definition; `None` if there is none of the name.
    ///
    /// # Errors
    /// As [`Compiler::routine`].
    pub fn routine_call(
        &mut self,
        schema: Option<&str>,
        name: &str,
        arguments: &[FunctionArg],
    ) -> Result<Option<(Subquery, RoutineDefinition, SqlType)>, SqlError> {
        let Some(nested) = &mut self.nested else {
            return Ok(None);
        };
        let source = nested.source;
        let path = nested.queries.rights().path().clone();
        let candidates = crate::routines::named(source, &path, schema, name)?;
        if candidates.is_empty() {
            return Ok(None);
        }
        let mut given: Vec<Argument<'_>> = Vec::with_capacity(arguments.len());
        for argument in arguments {
            given.push(part(argument).ok_or_else(|| {
                SqlError::unsupported(format!(
                    "the argument {argument} of {name} is not supported"
                ))
            })?);
        }
        let mut typed = Vec::with_capacity(given.len());
        for (_, tree) in &given {
            typed.push(self.without_rows(|compiler| compiler.compile(tree))?);
        }
        let kinds: Vec<SqlType> = typed.iter().map(Typed::kind).collect();
        let mut fitting = Vec::new();
        for definition in candidates {
            let Some(nested) = &mut self.nested else {
                return Ok(None);
            };
            let planned = nested.queries.routine(source, &definition)?;
            let names = given.iter().map(|(name, _)| name.as_deref());
            let Some(places) = places_of(&definition, names) else {
                continue;
            };
            let wanted = places.iter().map(|place| planned.parameters[*place]);
            let pairs: Vec<(SqlType, SqlType)> = kinds.iter().copied().zip(wanted).collect();
            if pairs
                .iter()
                .all(|(from, to)| can_cast(*from, *to, Coercion::Implicit))
            {
                // A literal without a type is a text first.
                let is_exact = |(from, to): &&(SqlType, SqlType)| {
                    from == to || (*from, *to) == (SqlType::Unknown, SqlType::Text)
                };
                let exact = pairs.iter().filter(is_exact).count();
                fitting.push((exact, definition, planned, places));
            }
        }
        let most = fitting.iter().map(|(exact, ..)| *exact).max();
        fitting.retain(|(exact, ..)| Some(*exact) == most);
        if fitting.len() > 1 {
            return Err(not_unique(name, &kinds));
        }
        let Some((_, definition, planned, places)) = fitting.pop() else {
            return Err(unknown(name, &kinds));
        };
        let mut values: Vec<Option<Typed>> = planned.parameters.iter().map(|_| None).collect();
        for (place, typed) in places.into_iter().zip(typed) {
            values[place] = Some(typed);
        }
        let mut arguments = Vec::with_capacity(values.len());
        for (at, value) in values.into_iter().enumerate() {
            let to = TypeSpec::plain(planned.parameters[at]);
            arguments.push(match value {
                Some(typed) => self.coerce(typed, to, Coercion::Implicit)?,
                None => self.default_of(definition.parameters[at].default.as_deref(), to)?,
            });
        }
        let subquery = Subquery {
            question: Question::Value,
            query: planned.query,
            arguments,
            number: planned.number,
        };
        Ok(Some((subquery, definition, planned.result)))
    }

    /// The default of a parameter, which reads no column.
    fn default_of(&mut self, text: Option<&str>, to: TypeSpec) -> Result<Expr, SqlError> {
        let tree = parse_expression(text.unwrap_or("NULL"))?;
        let scope = Scope::default();
        let Some(nested) = &mut self.nested else {
            return Err(SqlError::new(
                code::INTERNAL,
                "a default without a statement",
            ));
        };
        let parameters = &mut *self.parameters;
        let is_kept = parameters.is_kept();
        let mut compiled = |by_kept| {
            let was_kept = parameters.set_kept(by_kept);
            let queries = &mut *nested.queries;
            let compiler = Compiler::new(&scope, parameters);
            let mut compiler = compiler.nested(nested.source, queries);
            let typed = compiler.compile(&tree);
            let expr = typed.and_then(|typed| compiler.coerce(typed, to, Coercion::Assignment));
            parameters.set_kept(was_kept);
            expr
        };
        // An earlier version may have accepted it.
        compiled(is_kept).or_else(|error| compiled(true).map_err(|_| error))
    }
}

/// The places of the arguments among the parameters; `None` if the function does not take as many, or these names.
pub(super) fn places_of<'n>(
    definition: &RoutineDefinition,
    names: impl Iterator<Item = Option<&'n str>>,
) -> Option<Vec<usize>> {
    let count = definition.parameters.len();
    let mut places = Vec::with_capacity(count);
    for (at, name) in names.enumerate() {
        let place = match name {
            None => at,
            Some(name) => {
                let mut parameters = definition.parameters.iter();
                parameters.position(|one| one.name == name)?
            }
        };
        if place >= count || places.contains(&place) {
            return None;
        }
        places.push(place);
    }
    let mut parameters = definition.parameters.iter().enumerate();
    let is_whole = parameters.all(|(at, one)| places.contains(&at) || one.default.is_some());
    is_whole.then_some(places)
}
