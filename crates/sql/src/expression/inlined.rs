//! Functions of users in expressions that a table keeps: of indexes, conditions and generated columns.
//!
//! Every program computes such an expression, also one without SQL's catalogue, so it cannot call a function. A call of an immutable
//! function whose body is one expression in SQL is replaced by that expression, with the arguments in the places of the
//! parameters. The kept expression stays as it is if the function is replaced later, as the rows of an index in PostgreSQL do.

use super::cast::{Coercion, can_cast};
use super::check::{NamedColumn, Use, not_immutable, scope_of_columns};
use super::compile::Compiler;
use super::named_arguments::part;
use super::shown::changes_of;
use super::trees::parts_of_tree;
use super::{Parameters, functions};
use crate::changed_text::{length_with, with_changes};
use crate::error::{SqlError, code};
use crate::lexer::{Placed, placed};
use crate::names::{name_of, qualified};
use crate::parse::{parse_expression, parse_new};
use crate::position::Places;
use crate::routines::{Language, Returns, RoutineDefinition, all, named};
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::{TypeNames, UserTypes};
use sqlparser::ast::{
    Expr as Tree, Function, FunctionArg, FunctionArguments, Ident, SelectItem, SetExpr, Statement,
    Value as Literal,
};
use sqlparser::tokenizer::{Location, Span, Token};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// The most bytes of an expression with its functions, and the most functions inside of each other.
const LENGTH_MAX: usize = 65_536;
const DEPTH_MAX: usize = 16;
/// The most bytes of all texts that are read for one expression: those of functions whose values nothing uses count, too.
const READ_MAX: usize = 8 * LENGTH_MAX;

/// An expression without calls of users' functions. `columns` are those that it may read; without them the types of the
/// arguments are not checked.
///
/// # Errors
/// `42883` for arguments of other types; `0A000` for a function whose body is not one expression; `42P17` for one that is
/// not immutable; `54001` for too many.
pub(crate) fn inlined<'t>(
    source: &dyn Source,
    path: &SearchPath,
    columns: Option<&[NamedColumn<'_>]>,
    (tree, of): (&'t Tree, Use),
) -> Result<Cow<'t, Tree>, SqlError> {
    let names: BTreeSet<String> = all(source)?.into_iter().map(|one| one.name).collect();
    if names.is_empty() {
        return Ok(Cow::Borrowed(tree));
    }
    let inlining = Inlining {
        source,
        path,
        of,
        types: UserTypes::of(source)?,
        columns,
        names,
        read: Cell::new(0),
    };
    if inlining.calls(tree)?.is_empty() {
        return Ok(Cow::Borrowed(tree));
    }
    match inlining.text(&tree.to_string(), 0)? {
        Cow::Borrowed(_) => Ok(Cow::Borrowed(tree)),
        Cow::Owned(written) => parse_expression(&written).map(Cow::Owned),
    }
}

struct Inlining<'s> {
    source: &'s dyn Source,
    path: &'s SearchPath,
    of: Use,
    types: Arc<UserTypes>,
    columns: Option<&'s [NamedColumn<'s>]>,
    /// The names of all functions of users.
    names: BTreeSet<String>,
    /// The bytes of the texts that were read.
    read: Cell<usize>,
}

/// A call of a user's function, at a place of its text, with the values of its parameters.
struct Call {
    definition: RoutineDefinition,
    at: Location,
    given: Vec<Given>,
}

/// The value of a parameter: an argument by its number, or the text of a default.
enum Given {
    Argument(usize),
    Default(String),
}

#[cold]
fn too_many() -> SqlError {
    let text = "an expression of a table has too many functions of users";
    SqlError::new(code::TOO_COMPLEX, text)
}

impl Inlining<'_> {
    /// Counts the bytes of a text that is read.
    fn count(&self, bytes: usize) -> Result<(), SqlError> {
        self.read.set(self.read.get().saturating_add(bytes));
        match self.read.get() > READ_MAX {
            true => Err(too_many()),
            false => Ok(()),
        }
    }

    /// A text of an expression with the bodies of the functions that it calls. The tree shows the calls, and the tokens
    /// their bytes: all else stays as it is written.
    fn text<'t>(&self, text: &'t str, depth: usize) -> Result<Cow<'t, str>, SqlError> {
        self.count(text.len())?;
        let calls = self.calls(&parse_expression(text)?)?;
        if calls.is_empty() {
            return Ok(Cow::Borrowed(text));
        }
        if depth == DEPTH_MAX {
            return Err(too_many());
        }
        let tokens = placed(text).map_err(|error| SqlError::syntax(error.message))?;
        let mut places = Places::of(text);
        let mut changes = Vec::with_capacity(calls.len());
        for call in calls {
            let (arguments, range) = written_call(&tokens, places.byte(call.at));
            let arguments = call.given.iter().map(|given| {
                let argument = match given {
                    Given::Argument(at) => arguments.get(*at).and_then(|at| text.get(at.clone())),
                    Given::Default(text) => Some(&**text),
                };
                let argument = argument.unwrap_or_default();
                Ok(self.text(argument, depth + 1)?.into_owned())
            });
            let arguments: Vec<String> = arguments.collect::<Result<_, SqlError>>()?;
            self.check_arguments(&call.definition, &arguments)?;
            let body = self.body(&call.definition, &arguments)?;
            changes.push((range, self.text(&body, depth + 1)?.into_owned()));
            if length_with(text, &changes) > LENGTH_MAX {
                return Err(too_many());
            }
        }
        Ok(Cow::Owned(with_changes(text, &changes)))
    }

    /// The calls of users' functions in an expression, in the order of its text. Those in arguments are left out.
    fn calls(&self, tree: &Tree) -> Result<Vec<Call>, SqlError> {
        let (mut calls, mut rest) = (Vec::new(), vec![tree]);
        while let Some(tree) = rest.pop() {
            let call = match tree {
                Tree::Function(function) => self.call(function)?,
                _ => None,
            };
            match call {
                Some(call) => calls.push(call),
                None => rest.extend(parts_of_tree(tree)),
            }
        }
        calls.sort_by_key(|call| call.at);
        Ok(calls)
    }

    /// The function of a user that a call means.
    fn call(&self, function: &Function) -> Result<Option<Call>, SqlError> {
        let (schema, name) = qualified(&function.name)?;
        let first = function.name.0.first().and_then(|part| part.as_ident());
        let (Some(first), true) = (first, self.names.contains(&name)) else {
            return Ok(None);
        };
        let FunctionArguments::List(list) = &function.args else {
            return Ok(None);
        };
        if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
            return Ok(None);
        }
        let found = named(self.source, self.path, schema.as_deref(), &name)?;
        // PostgreSQL looks into `pg_catalog` first.
        let is_known = || schema.is_none() && !functions::named(&name).is_empty();
        if found.is_empty() || is_known() {
            return Ok(None);
        }
        let calls = found.into_iter().filter_map(|definition| {
            let given = given(&definition, &list.args)?;
            let at = first.span.start;
            Some(Call {
                definition,
                at,
                given,
            })
        });
        let mut calls: Vec<Call> = calls.collect();
        // One that needs no default is meant before others.
        let count = list.args.len();
        if calls.iter().any(|call| call.given.len() == count) {
            calls.retain(|call| call.given.len() == count);
        }
        match calls.len() {
            0 | 1 => Ok(calls.pop()),
            _ => Err(SqlError::unsupported(format!(
                "several functions {name} with {count} arguments are not supported in expressions of tables"
            ))),
        }
    }

    /// Checks that the arguments of a call are of the parameters' types, or become it without a cast.
    ///
    /// # Errors
    /// `42883` if one does not.
    fn check_arguments(
        &self,
        definition: &RoutineDefinition,
        arguments: &[String],
    ) -> Result<(), SqlError> {
        let Some(columns) = self.columns else {
            return Ok(());
        };
        let mut kinds = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let tree = parse_expression(argument)?;
            let scope = scope_of_columns("", columns);
            let mut parameters = Parameters::default();
            parameters.set_types(TypeNames::of(self.source, self.path)?);
            let typed = Compiler::new(&scope, &mut parameters).compile(&tree);
            // A part that cannot be compiled alone is refused with the whole expression, if that is wrong.
            kinds.push(typed.map_or(SqlType::Unknown, |typed| typed.kind()));
        }
        let parameters = definition.parameters.iter().zip(&kinds);
        let mut wanted = parameters.map(|(one, from)| (*from, self.types.numbered(one.kind)));
        let fits = |(from, to): (SqlType, Option<SqlType>)| {
            to.is_none_or(|to| can_cast(from, to, Coercion::Implicit))
        };
        match wanted.all(fits) {
            true => Ok(()),
            false => Err(functions::unknown(&definition.name, &kinds)),
        }
    }

    /// The text of a function's body, with these arguments.
    fn body(
        &self,
        definition: &RoutineDefinition,
        arguments: &[String],
    ) -> Result<String, SqlError> {
        let name = &definition.name;
        if definition.volatility != 'i' {
            return Err(not_immutable(self.of));
        }
        let refused = || {
            SqlError::unsupported(format!(
                "the function {name} is not supported in an expression of a table"
            ))
            .hint("The body of such a function is one expression in SQL: SELECT ….")
        };
        let Returns::Value(returns) = &definition.returns else {
            return Err(refused());
        };
        if definition.language != Language::Sql {
            return Err(refused());
        }
        self.count(definition.body.len())?;
        let statements = parse_new(&definition.body)?;
        let statement = match statements.as_slice() {
            [one] => Some(one),
            _ => None,
        };
        let expression = expression_of(statement).ok_or_else(refused)?;
        let mut values = BTreeMap::new();
        for (number, (parameter, argument)) in
            definition.parameters.iter().zip(arguments).enumerate()
        {
            let value = self.cast(argument, parameter.kind)?;
            values.insert(format!("${}", number + 1), value.clone());
            if !parameter.name.is_empty() {
                values.insert(parameter.name.clone(), value);
            }
        }
        let body = with_values(&expression.to_string(), name, &values)?;
        let value = self.cast(&body, *returns)?;
        if !definition.is_strict || arguments.is_empty() {
            return Ok(value);
        }
        let given = arguments.iter().map(|one| format!("({one}) IS NOT NULL"));
        let given: Vec<String> = given.collect();
        Ok(format!(
            "CASE WHEN {} THEN {value} END",
            given.join(" AND ")
        ))
    }

    /// An expression as a value of the type with a number.
    fn cast(&self, text: &str, number: u32) -> Result<String, SqlError> {
        let kind = self.types.numbered(number);
        let kind = kind.ok_or_else(|| SqlError::unsupported("the type of a function is gone"))?;
        Ok(match kind {
            // Their names alone mean one bit, and one character.
            SqlType::Bit | SqlType::Char => format!("({text})"),
            kind => format!("CAST(({text}) AS {})", TypeSpec::plain(kind).to_sql()),
        })
    }
}

/// The values of a function's parameters in a call; `None` if it has others.
fn given(definition: &RoutineDefinition, arguments: &[FunctionArg]) -> Option<Vec<Given>> {
    let parameters = &definition.parameters;
    let mut places = vec![None; parameters.len()];
    for (at, argument) in arguments.iter().enumerate() {
        let place = match part(argument)? {
            (None, _) => at,
            (Some(name), _) => parameters.iter().position(|one| one.name == name)?,
        };
        if places.get_mut(place)?.replace(at).is_some() {
            return None;
        }
    }
    let given = places.into_iter().zip(parameters);
    let given = given.map(|(place, parameter)| match place {
        Some(at) => Some(Given::Argument(at)),
        None => parameter.default.clone().map(Given::Default),
    });
    given.collect()
}

/// The bytes of the arguments of a call, whose name begins at a byte, and those of the whole call.
fn written_call(tokens: &[Placed], start: usize) -> (Vec<Range<usize>>, Range<usize>) {
    let first = tokens.partition_point(|token| token.at.start < start);
    let mut rest = tokens.get(first..).unwrap_or_default().iter();
    let opens = rest.find(|token| token.token == Token::LParen);
    let mut from = opens.map_or(start, |opens| opens.at.end);
    let (mut arguments, mut depth, mut is_blank) = (Vec::new(), 0_usize, true);
    for token in rest {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen if depth == 0 => {
                if !is_blank || !arguments.is_empty() {
                    arguments.push(from..token.at.start);
                }
                return (arguments, start..token.at.end);
            }
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => {
                arguments.push(from..token.at.start);
                from = token.at.end;
            }
            // The name of a parameter is before it.
            Token::RArrow | Token::Assignment if depth == 0 => from = token.at.end,
            _ => {}
        }
        is_blank &= token.is_blank();
    }
    (arguments, start..from)
}

/// The only expression of a body.
fn expression_of(statement: Option<&Statement>) -> Option<&Tree> {
    let Some(Statement::Query(query)) = statement else {
        return None;
    };
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let is_plain = select.from.is_empty()
        && select.selection.is_none()
        && select.having.is_none()
        && select.distinct.is_none()
        && query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match select.projection.as_slice() {
        [SelectItem::UnnamedExpr(tree) | SelectItem::ExprWithAlias { expr: tree, .. }]
            if is_plain =>
        {
            Some(tree)
        }
        _ => None,
    }
}

/// The text of a body with values in the places of its parameters, which may have the function's name before them.
///
/// # Errors
/// `54001` for a longer text than an expression has.
fn with_values(
    text: &str,
    function: &str,
    values: &BTreeMap<String, String>,
) -> Result<String, SqlError> {
    // Values are long, and a body may have many of them: they are counted before they are copied.
    let left = Cell::new(LENGTH_MAX.checked_sub(text.len()));
    let copied = |span: Span, value: &str, has_fields: bool| {
        left.set(
            left.get()
                .and_then(|left| left.checked_sub(value.len() + 2)),
        );
        left.get()?;
        let value = match has_fields {
            true => format!("({value})"),
            false => value.to_string(),
        };
        Some((span, value))
    };
    let named = |name: &Ident| values.get(&name_of(name));
    let changes = changes_of(text, &|tree| match tree {
        Tree::Identifier(name) => copied(name.span, named(name)?, false),
        Tree::CompoundIdentifier(names) => match names.as_slice() {
            [of, name, rest @ ..] if name_of(of) == function && named(name).is_some() => {
                let span = Span::new(of.span.start, name.span.end);
                copied(span, named(name)?, !rest.is_empty())
            }
            [name, _, ..] => copied(name.span, named(name)?, true),
            _ => None,
        },
        Tree::Value(value) => match &value.value {
            Literal::Placeholder(name) => copied(value.span, values.get(name)?, false),
            _ => None,
        },
        _ => None,
    });
    match left.get() {
        Some(_) => Ok(with_changes(text, &changes)),
        None => Err(too_many()),
    }
}
