//! Calls of functions, and syntax that is compiled like one.

use super::aggregates::{GROUPING, no_grouping};
use super::cast::Coercion;
use super::comparable::number_of;
use super::compile::Compiler;
use super::functions::{GREATEST, LEAST, LOWER, UPPER, resolve};
use super::named_arguments::has_names;
use super::whole_rows::with_whole_rows;
use super::{Case, Comparison, Expr, Function, Typed, word};
use crate::aggregate::Aggregate;
use crate::error::{SqlError, code};
use crate::expression::window::WindowFunction;
use crate::names::{function_name, quoted};
use crate::parse::{FORMS, variadic};
use crate::types::{Collation, SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{
    self, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
};
use std::borrow::Cow;

impl Compiler<'_> {
    /// `substring`, or `substr`, which takes no pattern. Earlier versions took one.
    pub(super) fn substring(
        &mut self,
        text: &Tree,
        (from, length): (Option<&Tree>, Option<&Tree>),
        is_short: bool,
    ) -> Result<Typed, SqlError> {
        let name = match is_short && !self.is_of_kept_text() {
            true => "substr",
            false => "substring",
        };
        let one = Tree::value(ast::Value::Number("1".into(), false));
        match (from, length) {
            (Some(from), Some(length)) => self.call_with(name, &[text, from, length]),
            (Some(from), None) => self.call_with(name, &[text, from]),
            (None, Some(length)) => self.call_with(name, &[text, &one, length]),
            (None, None) => Err(SqlError::syntax("substring needs FROM or FOR")),
        }
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&Tree>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&Tree>,
    ) -> Result<Typed, SqlError> {
        let text = operand.filter(|_| !self.is_of_kept_text());
        let text = text.and_then(|operand| self.literal_as_text(operand));
        let operand = text.as_ref().or(operand);
        let mut arms = Vec::with_capacity(conditions.len());
        let mut results = Vec::with_capacity(conditions.len() + 1);
        for when in conditions {
            let condition = match operand {
                Some(operand) => {
                    self.compare_trees(operand, Comparison::Equal, &when.condition)?
                        .expr
                }
                None => self.condition(&when.condition, "CASE/WHEN")?,
            };
            arms.push(condition);
            results.push(self.compile(&when.result)?);
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.compile(otherwise)?,
            None => Typed::new(Expr::Literal(Value::Null), SqlType::Unknown),
        };
        // The result behind ELSE decides first which type of text it is.
        results.insert(0, otherwise);
        let (mut results, spec) = self.unified(results, "CASE")?;
        let otherwise = results.remove(0);
        let arms = arms.into_iter().zip(results).collect();
        Ok(Typed {
            expr: Expr::Case(Box::new(Case { arms, otherwise })),
            spec,
        })
    }

    /// A literal, or a parameter, without a type that is the operand of `CASE`: it is a text, whatever it is compared with.
    /// Kept texts of earlier versions give it the type of each value.
    fn literal_as_text(&mut self, operand: &Tree) -> Option<Tree> {
        let is_unknown = match operand {
            Tree::Nested(inner) => return self.literal_as_text(inner),
            Tree::Value(value) => match &value.value {
                ast::Value::SingleQuotedString(_) | ast::Value::Null => true,
                ast::Value::Placeholder(name) => {
                    let kind = self
                        .parameters
                        .of_placeholder(name)
                        .ok()
                        .map(|(_, kind)| kind);
                    kind == Some(SqlType::Unknown)
                }
                _ => false,
            },
            _ => false,
        };
        is_unknown.then(|| Tree::Cast {
            kind: ast::CastKind::DoubleColon,
            expr: Box::new(operand.clone()),
            data_type: ast::DataType::Text,
            format: None,
        })
    }

    pub(super) fn function(&mut self, function: &ast::Function) -> Result<Typed, SqlError> {
        if let Some(called) = self.routine(function, false)? {
            return Ok(called);
        }
        match self.known_function(function) {
            // Another function of the name may be a user's.
            Err(error) if error.code == code::UNKNOWN_FUNCTION && self.nested.is_some() => {
                self.routine(function, true)?.ok_or(error)
            }
            called => called,
        }
    }

    fn known_function(&mut self, function: &ast::Function) -> Result<Typed, SqlError> {
        let name = function_name(function)?;
        if is_extract(function) && self.nested.is_some() {
            return Err(SqlError::syntax(
                "EXTRACT takes a word and FROM: EXTRACT(part FROM value)",
            ));
        }
        if let Some(over) = &function.over {
            return self.window(function, over);
        }
        if name == GROUPING {
            return Err(no_grouping());
        }
        if name == "row" {
            return self.row_call(function);
        }
        if WindowFunction::named(&name).is_some() && function.within_group.is_empty() {
            return Err(SqlError::new(
                code::WRONG_OBJECT_TYPE,
                format!("window function {name} requires an OVER clause"),
            ));
        }
        if let Some(named) = Aggregate::called(function, &name) {
            if let Some(outer) = self.outer_aggregate(named, function)? {
                return Ok(outer);
            }
            return Err(SqlError::new(
                code::GROUPING,
                format!("aggregate function {name} is not allowed here"),
            ));
        }
        if let Err(refused) = check_plain(function, &name) {
            return Err(self.earlier_error(function).unwrap_or(refused));
        }
        let given = match &function.args {
            FunctionArguments::List(list) => with_whole_rows(&list.args),
            _ => Cow::default(),
        };
        let trees = match &function.args {
            FunctionArguments::None => Vec::new(),
            FunctionArguments::Subquery(query) if name == "array" => {
                return self.array_of(query);
            }
            FunctionArguments::Subquery(_) => {
                return Err(SqlError::unsupported("subqueries are not supported"));
            }
            FunctionArguments::List(_) if let Some((before, array)) = variadic(&given) => {
                let called = self.spread(&name, before, array)?;
                return self.placed_rows(called, &name);
            }
            FunctionArguments::List(_) if has_names(&given) => {
                let arguments = self.in_order(&name, &given)?;
                let called = self.call(&name, arguments)?;
                return self.placed_rows(called, &name);
            }
            FunctionArguments::List(_) => {
                let mut trees = Vec::with_capacity(given.len());
                for argument in given.iter() {
                    match argument {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) => trees.push(tree),
                        other => {
                            return Err(SqlError::unsupported(format!(
                                "the argument {other} of {name} is not supported"
                            )));
                        }
                    }
                }
                trees
            }
        };
        let called = match name.as_str() {
            "normalize" if let [text, form] = trees.as_slice() => {
                let text = self.compile(text)?;
                let form = match form_of(form) {
                    Some(form) => word(form),
                    None => self.compile(form)?,
                };
                self.call(&name, vec![text, form])?
            }
            "pg_collation_for" if let [value] = trees.as_slice() => self.collation_for(value)?,
            "current_time" | "current_timestamp" | "localtime" | "localtimestamp"
                if let [Tree::Value(digits)] = trees.as_slice() =>
            {
                self.rounded_present(&name, &digits.value)?
            }
            "coalesce" => self.without_rows(|compiler| compiler.call_with(&name, &trees))?,
            _ => self.call_with(&name, &trees)?,
        };
        self.placed_rows(called, &name)
    }

    /// The error of a call's filter, or of the call without clauses of aggregates. PostgreSQL finds it before it looks at
    /// these clauses.
    #[cold]
    fn earlier_error(&mut self, function: &ast::Function) -> Option<SqlError> {
        let mut plain = function.clone();
        if !plain.within_group.is_empty() {
            return None;
        }
        (plain.filter, plain.null_treatment) = (None, None);
        plain.parameters = FunctionArguments::None;
        if let FunctionArguments::List(list) = &mut plain.args {
            list.duplicate_treatment = None;
            list.clauses.clear();
        }
        // Groups are looked at last.
        let is_first = |error: &SqlError| error.code != code::GROUPING;
        let of_filter = self.filter_of(function).err().filter(is_first);
        of_filter.or_else(|| self.function(&plain).err().filter(is_first))
    }

    /// `CURRENT_TIME(p)` and its kin: the beginning of the transaction, rounded to digits of a second's fraction.
    fn rounded_present(&mut self, name: &str, digits: &ast::Value) -> Result<Typed, SqlError> {
        let digits = match digits {
            ast::Value::Number(digits, _) => digits.parse::<i32>().ok(),
            _ => None,
        };
        let digits = digits.ok_or_else(|| {
            SqlError::syntax(format!("{name} takes the digits of a second's fraction"))
        })?;
        let now = self.call(name, Vec::new())?;
        let spec = TypeSpec::new(now.kind(), digits.min(6));
        let expr = self.coerce(now, spec, Coercion::Explicit)?;
        Ok(Typed { expr, spec })
    }

    pub(super) fn call_with(&mut self, name: &str, trees: &[&Tree]) -> Result<Typed, SqlError> {
        match self.compiled(trees) {
            Ok(arguments) => self.call(name, arguments),
            Err(error) if error.code == code::GROUPING && !self.is_trying => {
                Err(self.unknown(name, trees).unwrap_or(error))
            }
            Err(error) => Err(error),
        }
    }

    fn compiled(&mut self, trees: &[&Tree]) -> Result<Vec<Typed>, SqlError> {
        trees.iter().map(|tree| self.compile(tree)).collect()
    }

    /// An unknown function is reported before an ungrouped argument.
    #[cold]
    fn unknown(&mut self, name: &str, trees: &[&Tree]) -> Option<SqlError> {
        let grouping = self.grouping.take();
        let was_trying = std::mem::replace(&mut self.is_trying, true);
        let called = self.compiled(trees);
        let called = called.and_then(|arguments| self.call(name, arguments));
        (self.grouping, self.is_trying) = (grouping, was_trying);
        called
            .err()
            .filter(|error| error.code == code::UNKNOWN_FUNCTION)
    }

    pub(super) fn call(&mut self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        match name {
            "coalesce" | "greatest" | "least" if arguments.is_empty() => Err(SqlError::syntax(
                format!("{} needs an argument", name.to_uppercase()),
            )),
            "coalesce" => {
                let (parts, spec) = self.unified(arguments, "COALESCE")?;
                let expr = Expr::Coalesce(parts);
                Ok(Typed { expr, spec })
            }
            "nullif" => {
                let [left, right]: [Typed; 2] = arguments
                    .try_into()
                    .map_err(|_| SqlError::syntax("NULLIF needs two arguments"))?;
                let kept = match (left.kind(), right.kind()) {
                    (SqlType::Unknown, known) if known != SqlType::Unknown => {
                        self.as_type(left.clone(), known)?
                    }
                    _ => self.as_decided(left.clone())?,
                };
                let kept = match operands_of_equal(kept.kind(), right.kind()) {
                    Some(kind) => self.as_type(kept, kind)?,
                    None => kept,
                };
                let is_of_text = right.kind() == SqlType::Text;
                let is_of_characters = right.kind() == SqlType::Char;
                let sides = self.comparable(left, right, "=")?;
                let equal = Expr::Compare(Comparison::Equal, Box::new(sides));
                let spec = match kept.kind() {
                    // The type that `=` compares.
                    SqlType::Varchar if is_of_characters => TypeSpec::plain(SqlType::Char),
                    SqlType::Varchar => TypeSpec::plain(SqlType::Text),
                    SqlType::Cidr => TypeSpec::plain(SqlType::Inet),
                    SqlType::Char if is_of_text => TypeSpec::plain(SqlType::Text),
                    _ => kept.spec,
                };
                let case = Case {
                    arms: vec![(equal, Expr::Literal(Value::Null))],
                    otherwise: kept.expr,
                };
                Ok(Typed {
                    expr: Expr::Case(Box::new(case)),
                    spec,
                })
            }
            "greatest" | "least" => {
                let (parts, spec) = self.unified(arguments, name)?;
                check_extreme(spec.kind)?;
                if let Some(name) = spec.collation.icu()? {
                    return Err(name.unknown_to("GREATEST and LEAST"));
                }
                let function = match name {
                    "least" => Function(&LEAST),
                    _ => Function(&GREATEST),
                };
                // The type of the values that are compared by keys comes first.
                let mut parts = parts;
                parts.insert(0, Expr::Literal(Value::Int(spec.kind.number().into())));
                Ok(Typed {
                    expr: Expr::Call(function, parts),
                    spec,
                })
            }
            "upper" | "lower" | "initcap" => self.in_case(name, arguments),
            _ => resolve(self, name, arguments),
        }
    }

    /// A text in another case, which the language of its collation decides.
    fn in_case(&mut self, name: &str, arguments: Vec<Typed>) -> Result<Typed, SqlError> {
        let collations = arguments.iter().map(|argument| argument.spec.collation);
        let collation = collations.fold(Collation::Database, Collation::with);
        let mut called = resolve(self, name, arguments)?;
        // "C" has the cases of all letters: indexes of tables keep such texts, and queries find them by equal expressions.
        let (Some(collation), Expr::Call(function, parts)) = (collation.icu()?, &mut called.expr)
        else {
            return Ok(called);
        };
        match name {
            _ if called.spec.kind != SqlType::Text => {}
            _ if collation.has_own_cases() => return Err(collation.unknown_to(name)),
            "upper" | "lower" => {
                let of_language = if name == "upper" { &UPPER } else { &LOWER };
                *function = Function(of_language);
                parts.push(number_of(collation));
            }
            _ => return Err(collation.unknown_to("initcap")),
        }
        Ok(called)
    }

    /// `IS NORMALIZED`.
    pub(super) fn is_normalized(
        &mut self,
        text: &Tree,
        form: Option<&ast::NormalizationForm>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let mut arguments = vec![self.compile(text)?];
        arguments.extend(form.map(|form| word(form.to_string())));
        let is_normalized = self.call("is_normalized", arguments)?;
        let expr = match negated {
            true => Expr::Not(Box::new(is_normalized.expr)),
            false => is_normalized.expr,
        };
        Ok(Typed::new(expr, SqlType::Bool))
    }

    /// The name of the collation that an expression derives, as a text: `COLLATION FOR (…)`.
    ///
    /// # Errors
    /// `42804` for a type without collations.
    fn collation_for(&mut self, value: &Tree) -> Result<Typed, SqlError> {
        let typed = self.compile(value)?;
        let kind = typed.kind();
        if !kind.is_collatable() {
            return Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!("collations are not supported by type {}", kind.name()),
            ));
        }
        let name = match (kind, typed.spec.collation) {
            // A literal has none before its type is known.
            (SqlType::Unknown, Collation::Database) => Value::Null,
            (_, collation) => Value::Text(quoted(collation.name().name())),
        };
        Ok(Typed::new(Expr::Literal(name), SqlType::Text))
    }

    /// Gives an expression without a type the type text.
    ///
    /// # Errors
    /// None is known.
    pub fn as_decided(&mut self, typed: Typed) -> Result<Typed, SqlError> {
        match typed.kind() {
            SqlType::Unknown => self.as_type(typed, SqlType::Text),
            _ => Ok(typed),
        }
    }
}

/// The name of a form of Unicode, which SQL writes as a word.
fn form_of(tree: &Tree) -> Option<String> {
    match tree {
        Tree::Identifier(word) if word.quote_style.is_none() => {
            let word = word.value.to_ascii_uppercase();
            FORMS.contains(&word.as_str()).then_some(word)
        }
        _ => None,
    }
}

/// Refuses `GREATEST` and `LEAST` of values that have no order.
///
/// # Errors
/// `42883`, as in PostgreSQL.
fn check_extreme(kind: SqlType) -> Result<(), SqlError> {
    let sentence = "could not identify a comparison function for type";
    match kind.element().unwrap_or(kind) {
        SqlType::Json => {
            let text = format!("{sentence} {}", kind.name());
            Err(SqlError::new(code::UNKNOWN_FUNCTION, text))
        }
        _ => Ok(()),
    }
}

/// The type to which `=` converts numbers of two types, if it is not that of the first. Whole numbers are compared without a
/// conversion, and so is a float on the left.
fn operands_of_equal(left: SqlType, right: SqlType) -> Option<SqlType> {
    let is_float = |kind| matches!(kind, SqlType::Float4 | SqlType::Float8);
    let are = |is_so: &dyn Fn(SqlType) -> bool| is_so(left) && is_so(right);
    let is_changed =
        left != right && are(&SqlType::is_number) && !are(&SqlType::is_integer) && !is_float(left);
    is_changed.then(|| match is_float(left) || is_float(right) {
        true => SqlType::Float8,
        false => SqlType::Numeric,
    })
}

/// Refuses clauses of aggregates and window functions for other functions.
///
/// # Errors
/// `42809` with the clause, as in PostgreSQL; `0A000`.
fn check_plain(function: &ast::Function, name: &str) -> Result<(), SqlError> {
    let list = match &function.args {
        FunctionArguments::List(list) => Some(list),
        _ => None,
    };
    let distinct = Some(ast::DuplicateTreatment::Distinct);
    let is_ordered =
        |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::OrderBy(_));
    let of_aggregates = [
        (function.filter.is_some(), "FILTER"),
        (!function.within_group.is_empty(), "WITHIN GROUP"),
        (
            list.is_some_and(|list| list.duplicate_treatment == distinct),
            "DISTINCT",
        ),
        (
            list.is_some_and(|list| list.clauses.iter().any(is_ordered)),
            "ORDER BY",
        ),
    ];
    if let Some((_, clause)) = of_aggregates.iter().find(|(is_there, _)| *is_there) {
        return Err(SqlError::new(
            code::WRONG_OBJECT_TYPE,
            format!("{clause} specified, but {name} is not an aggregate function"),
        ));
    }
    let others = function.null_treatment.is_some()
        || !matches!(function.parameters, FunctionArguments::None)
        || list.is_some_and(|list| !list.clauses.is_empty());
    match others {
        true => Err(SqlError::unsupported(format!(
            "this form of a call of {name} is not supported"
        ))),
        false => Ok(()),
    }
}

/// True for `extract(…)` without `FROM`, which is a function only with a schema or in quotes. Tables keep such calls of
/// earlier versions.
fn is_extract(function: &ast::Function) -> bool {
    match &function.name.0[..] {
        [ast::ObjectNamePart::Identifier(name)] => {
            name.quote_style.is_none() && name.value.eq_ignore_ascii_case("extract")
        }
        _ => false,
    }
}
