//! Functions of users in expressions that a table keeps: of indexes, conditions and generated columns.
//!
//! Every program computes such an expression, also one without SQL's catalogue, so it cannot call a function. A call of an immutable
//! function whose body is one expression in SQL is replaced by that expression, with the arguments in the places of the
//! parameters. The kept expression stays as it is if the function is replaced later, as the rows of an index in PostgreSQL do.

use super::cast::{Coercion, can_cast};
use super::check::{NamedColumn, Use, not_immutable, scope_of_columns};
use super::compile::Compiler;
use super::routine_calls::places_of;
use super::{Parameters, functions};
use crate::error::{SqlError, code};
use crate::lexer::written_tokens;
use crate::parse::{parse_expression, parse_new};
use crate::routines::{Language, Returns, RoutineDefinition, all, named};
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::{TypeNames, UserTypes};
use sqlparser::ast::{Expr as Tree, SelectItem, SetExpr, Statement};
use sqlparser::tokenizer::Token;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most bytes of an expression with its functions, and the most functions inside of each other.
const LENGTH_MAX: usize = 65_536;
const DEPTH_MAX: usize = 16;

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
    if all(source)?.is_empty() {
        return Ok(Cow::Borrowed(tree));
    }
    let inlining = Inlining {
        source,
        path,
        of,
        types: UserTypes::of(source)?,
        columns,
    };
    let text = tree.to_string();
    let written = inlining.text(&text, 0)?;
    match written == text {
        true => Ok(Cow::Borrowed(tree)),
        false => parse_expression(&written).map(Cow::Owned),
    }
}

struct Inlining<'s> {
    source: &'s dyn Source,
    path: &'s SearchPath,
    of: Use,
    types: Arc<UserTypes>,
    columns: Option<&'s [NamedColumn<'s>]>,
}

impl Inlining<'_> {
    /// A text of an expression with the bodies of the functions that it calls.
    fn text(&self, text: &str, depth: usize) -> Result<String, SqlError> {
        let read = read(text)?;
        let mut written = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(token) = read.get(at) {
            let call = self.call(&read, at)?;
            let Some((definition, arguments, end)) = call else {
                written.push_str(&token.to_string());
                at += 1;
                continue;
            };
            if depth == DEPTH_MAX || written.len() > LENGTH_MAX {
                let text = "an expression of a table has too many functions of users";
                return Err(SqlError::new(code::TOO_COMPLEX, text));
            }
            let arguments = arguments.iter().map(|one| self.text(one, depth + 1));
            let arguments: Vec<String> = arguments.collect::<Result<_, SqlError>>()?;
            self.check_arguments(&definition, &arguments)?;
            let body = self.body(&definition, &arguments)?;
            written.push_str(&self.text(&body, depth + 1)?);
            at = end;
        }
        Ok(written)
    }

    /// The function of a user that is called at a place, its arguments, and the place behind the call.
    fn call(
        &self,
        read: &[Token],
        at: usize,
    ) -> Result<Option<(RoutineDefinition, Vec<String>, usize)>, SqlError> {
        let is_part = at
            .checked_sub(1)
            .and_then(|before| read.get(before))
            .is_some_and(|before| matches!(before, Token::Period | Token::DoubleColon));
        let Some(Token::Word(first)) = read.get(at).filter(|_| !is_part) else {
            return Ok(None);
        };
        let folded = |word: &sqlparser::tokenizer::Word| match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_ascii_lowercase(),
        };
        let (schema, name, open) = match (read.get(at + 1), read.get(at + 2)) {
            (Some(Token::Period), Some(Token::Word(second))) => {
                (Some(folded(first)), folded(second), at + 3)
            }
            _ => (None, folded(first), at + 1),
        };
        if read.get(open) != Some(&Token::LParen) {
            return Ok(None);
        }
        let found = named(self.source, self.path, schema.as_deref(), &name)?;
        // PostgreSQL looks into `pg_catalog` first.
        let is_known = || schema.is_none() && !functions::named(&name).is_empty();
        if found.is_empty() || is_known() {
            return Ok(None);
        }
        let (arguments, end) = arguments(read, open + 1);
        let arguments = arguments.iter().map(|one| named_part(one));
        let arguments: Vec<Argument> = arguments.collect::<Result<_, SqlError>>()?;
        let fitting = |one: RoutineDefinition| {
            let arguments = in_order(&one, &arguments)?;
            Some((one, arguments))
        };
        let mut found: Vec<_> = found.into_iter().filter_map(fitting).collect();
        match found.len() {
            0 => Ok(None),
            1 => Ok(found.pop().map(|(one, arguments)| (one, arguments, end))),
            _ => Err(SqlError::unsupported(format!(
                "several functions {name} with {} arguments are not supported in expressions of tables",
                arguments.len()
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
        let body = with_values(&read(&expression.to_string())?, name, &values);
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

/// The tokens of a text. Joined, they are the text.
fn read(text: &str) -> Result<Vec<Token>, SqlError> {
    let read = written_tokens(text).map_err(|error| SqlError::syntax(error.to_string()))?;
    Ok(read.into_iter().map(|token| token.token).collect())
}

/// The texts of the arguments of a call, from behind its parenthesis, and the place behind the call.
fn arguments(read: &[Token], start: usize) -> (Vec<String>, usize) {
    let (mut arguments, mut last, mut depth) = (Vec::new(), String::new(), 0_usize);
    for (at, token) in read.iter().enumerate().skip(start) {
        match token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen if depth == 0 => {
                if !last.trim().is_empty() || !arguments.is_empty() {
                    arguments.push(last);
                }
                return (arguments, at + 1);
            }
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => {
                arguments.push(std::mem::take(&mut last));
                continue;
            }
            _ => {}
        }
        last.push_str(&token.to_string());
    }
    (arguments, read.len())
}

/// The text of an argument, with its name if it has one.
type Argument = (Option<String>, String);

/// An argument of a call, without the name before it.
fn named_part(text: &str) -> Result<Argument, SqlError> {
    let tokens = read(text)?;
    let is_said = |at: &usize| !matches!(tokens[*at], Token::Whitespace(_));
    let mut said = (0..tokens.len()).filter(is_said);
    let (first, second) = (said.next(), said.next());
    if let (Some(first), Some(second)) = (first, second)
        && let (Token::Word(name), Token::RArrow | Token::Assignment) =
            (&tokens[first], &tokens[second])
    {
        let name = match name.quote_style {
            Some(_) => name.value.clone(),
            None => name.value.to_ascii_lowercase(),
        };
        let rest: String = tokens[second + 1..]
            .iter()
            .map(ToString::to_string)
            .collect();
        return Ok((Some(name), rest));
    }
    Ok((None, text.to_string()))
}

/// The texts of a function's arguments in the order of its parameters, with the defaults of those that a call leaves out.
/// `None` if the function does not take these.
fn in_order(definition: &RoutineDefinition, given: &[Argument]) -> Option<Vec<String>> {
    let names = given.iter().map(|(name, _)| name.as_deref());
    let places = places_of(definition, names)?;
    let parameters = definition.parameters.iter().enumerate();
    let texts = parameters.map(|(at, parameter)| {
        let argument = places.iter().position(|place| *place == at);
        match argument.and_then(|argument| given.get(argument)) {
            Some((_, text)) => Some(text.clone()),
            None => parameter.default.clone(),
        }
    });
    texts.collect()
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
fn with_values(read: &[Token], function: &str, values: &BTreeMap<String, String>) -> String {
    let mut written = String::new();
    let word = |at: usize| match read.get(at) {
        Some(Token::Word(word)) => Some(match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_ascii_lowercase(),
        }),
        Some(Token::Placeholder(name)) => Some(name.clone()),
        _ => None,
    };
    let before = |at: usize| {
        let mut before = read[..at].iter().rev();
        before.find(|token| !matches!(token, Token::Whitespace(_)))
    };
    let mut at = 0;
    while let Some(token) = read.get(at) {
        let is_type = match before(at) {
            Some(Token::DoubleColon | Token::Period) => true,
            Some(Token::Word(word)) => word.value.eq_ignore_ascii_case("as"),
            _ => false,
        };
        let is_called = read.get(at + 1) == Some(&Token::LParen);
        let own = word(at).filter(|name| name == function);
        let qualified = match read.get(at + 1) {
            Some(Token::Period) if own.is_some() => word(at + 2),
            _ => None,
        };
        let (value, width) = match qualified.and_then(|name| values.get(&name)) {
            Some(value) => (Some(value), 3),
            None => (word(at).and_then(|name| values.get(&name)), 1),
        };
        match value.filter(|_| !is_type && !is_called) {
            Some(value) => {
                written.push_str(value);
                at += width;
            }
            None => {
                written.push_str(&token.to_string());
                at += 1;
            }
        }
    }
    written
}
