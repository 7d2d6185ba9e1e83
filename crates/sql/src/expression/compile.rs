//! Compiles a syntax tree to an [`Expr`]: names become places, operators and functions are chosen by the types of their
//! arguments. Literals and parameters without a type get one from their context.

use super::around::{Queries, is_missing};
use super::cast::Coercion;
use super::collating::derived;
use super::literal::part_of_time;
use super::operator_trees::{named_operator, plain_items, quantified};
use super::whole_rows::of_whole_row;
use super::{Expr, Parameters, Scope, Typed, is_row, literal_value};
use crate::aggregate::Grouping;
use crate::error::{SqlError, code};
use crate::expression::row_calls::RowCalls;
use crate::expression::window::Windows;
use crate::names::{DATABASE, collation_of, name_of, wrong_parts};
use crate::position::position_of;
use crate::source::Source;
use crate::types::{Collation, SqlType, TypeSpec};
use sqlparser::ast::{self, CastKind, CeilFloorKind, Expr as Tree, TrimWhereField};

/// The most levels of nested expressions.
const DEPTH_MAX: usize = 200;

/// Compiles expressions over a scope.
#[derive(Debug)]
pub(crate) struct Compiler<'a> {
    pub scope: &'a Scope,
    pub parameters: &'a mut Parameters,
    /// The keys and aggregates, if rows are grouped.
    pub grouping: Option<&'a mut Grouping>,
    /// The windows of the query, if window functions are allowed.
    pub(super) windows: Option<&'a mut Windows>,
    /// The queries around, if subqueries are allowed.
    pub(super) nested: Option<Nested<'a>>,
    /// True if an expression is compiled only as a trial, so that no subquery is planned.
    pub(super) is_trying: bool,
    /// True if a cast depends on the session's time zone.
    pub(super) crosses_zone: bool,
    depth: usize,
    /// The set-returning functions of the query, if they are allowed.
    pub(super) sets: Option<&'a mut RowCalls>,
    /// The depth at which a set-returning function is compiled as it is: it is the whole expression.
    rows_at: Option<usize>,
    /// The collation of the parts of the expression that is compiled.
    pub(super) collation: Collation,
}

/// The source and the queries around, with which subqueries are planned.
#[derive(Debug)]
pub(super) struct Nested<'a> {
    pub source: &'a dyn Source,
    pub queries: &'a mut dyn Queries,
}

impl<'a> Compiler<'a> {
    pub fn new(scope: &'a Scope, parameters: &'a mut Parameters) -> Self {
        Compiler {
            scope,
            parameters,
            grouping: None,
            windows: None,
            nested: None,
            is_trying: false,
            crosses_zone: false,
            depth: 0,
            sets: None,
            rows_at: None,
            collation: Collation::Database,
        }
    }

    pub fn nested(mut self, source: &'a dyn Source, queries: &'a mut dyn Queries) -> Self {
        self.nested = Some(Nested { source, queries });
        self
    }

    /// True if the database keeps the text. An earlier version may have accepted it, and rows and views depend on it: what
    /// was taken then is taken still. Expressions of tables have no queries around.
    pub(super) fn is_of_kept_text(&self) -> bool {
        self.nested.is_none() || self.parameters.is_kept()
    }

    pub fn grouped(mut self, grouping: &'a mut Grouping) -> Self {
        self.grouping = Some(grouping);
        self
    }

    /// With the set-returning functions of the query.
    pub fn giving_rows(mut self, sets: &'a mut RowCalls) -> Self {
        self.sets = Some(sets);
        self
    }

    /// Compiles an expression in which set-returning functions are not allowed.
    ///
    /// # Errors
    /// Errors of `compile`; `0A000` for a set-returning function.
    pub fn without_rows<R>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let sets = self.sets.take();
        let compiled = compile(self);
        self.sets = sets;
        compiled
    }

    /// Compiles an expression that may be a function that gives rows, in parentheses too.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn whole(&mut self, tree: &Tree) -> Result<Typed, SqlError> {
        let mut at = self.depth + 1;
        let mut inner = tree;
        while let Tree::Nested(next) = inner {
            inner = next;
            at += 1;
        }
        let before = self.rows_at.replace(at);
        let compiled = self.compile(tree);
        self.rows_at = before;
        compiled
    }

    /// True for a function that gives rows in `FROM`.
    pub(super) fn is_whole(&self) -> bool {
        self.rows_at == Some(self.depth)
    }

    /// A call's value in a row of a set-returning function: its place among the values that extend the query's rows.
    ///
    /// # Errors
    /// `0A000` if set-returning functions are not allowed here.
    pub(super) fn placed_rows(&mut self, called: Typed, name: &str) -> Result<Typed, SqlError> {
        let gives_rows = match &called.expr {
            Expr::Call(function, _) => function.gives_rows(),
            Expr::Subquery(subquery) => subquery.query.gives_rows(),
            _ => false,
        };
        if !gives_rows || self.rows_at == Some(self.depth) {
            return Ok(called);
        }
        match &mut self.sets {
            Some(sets) if !self.is_trying => Ok(sets.add(called)),
            _ => Err(SqlError::unsupported(format!(
                "the set-returning function {name} is not allowed here"
            ))
            .hint("It can be part of an item of SELECT or of ORDER BY, or an item of FROM.")),
        }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// An error in it, with PostgreSQL's code; `0A000` for unsupported syntax.
    pub fn compile(&mut self, tree: &Tree) -> Result<Typed, SqlError> {
        let around = std::mem::take(&mut self.collation);
        let compiled = self.deeper(1, |compiler| compiler.compile_or_group(tree));
        self.collated(tree, compiled, around)
    }

    /// A compiled expression with its collation. It is a separate function, since [`compile`](Self::compile) is
    /// recursive: its frame stays small.
    fn collated(
        &mut self,
        tree: &Tree,
        compiled: Result<Typed, SqlError>,
        around: Collation,
    ) -> Result<Typed, SqlError> {
        let of_parts = std::mem::replace(&mut self.collation, around);
        let derived = compiled.and_then(|typed| derived(tree, typed, of_parts));
        let typed = derived.map_err(|error| error.at(position_of(tree)))?;
        self.collation = self.collation.with(typed.spec.collation);
        Ok(typed)
    }

    /// `COLLATE`.
    fn collate(&mut self, expr: &Tree, collation: &ast::ObjectName) -> Result<Typed, SqlError> {
        let mut typed = self.compile(expr)?;
        match typed.kind().is_collatable() {
            true => {
                typed.spec.collation = Collation::Explicit(collation_of(collation)?);
                Ok(typed)
            }
            false => Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!(
                    "collations are not supported by type {}",
                    typed.kind().name()
                ),
            )),
        }
    }

    /// Compiles parts from which the expression does not derive its collation.
    pub(super) fn beside<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let collation = self.collation;
        let compiled = act(self);
        self.collation = collation;
        compiled
    }

    /// Compiles parts that are the given number of levels deeper.
    pub(super) fn deeper<T>(
        &mut self,
        levels: usize,
        act: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        if self.depth + levels > DEPTH_MAX {
            return Err(SqlError::new(
                code::TOO_COMPLEX,
                format!("expressions may be nested {DEPTH_MAX} deep"),
            ));
        }
        self.depth += levels;
        let compiled = act(self);
        self.depth -= levels;
        compiled
    }

    /// A condition.
    ///
    /// # Errors
    /// As [`Compiler::compile`]; `42804` if it is of another type.
    pub fn condition(&mut self, tree: &Tree, of: &str) -> Result<Expr, SqlError> {
        let compiled = self.compile(tree)?;
        if !matches!(compiled.kind(), SqlType::Bool | SqlType::Unknown) {
            return Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!(
                    "argument of {of} must be type boolean, not type {}",
                    compiled.kind().name()
                ),
            ));
        }
        self.coerce(compiled, TypeSpec::plain(SqlType::Bool), Coercion::Implicit)
    }

    /// An expression with a decided type: text, without another reason.
    ///
    /// # Errors
    /// As [`Compiler::compile`].
    pub fn decided(&mut self, tree: &Tree) -> Result<Typed, SqlError> {
        let compiled = self.compile(tree)?;
        if compiled.kind() != SqlType::Unknown {
            return Ok(compiled);
        }
        let text = TypeSpec::plain(SqlType::Text);
        let expr = self.coerce(compiled, text, Coercion::Implicit)?;
        Ok(Typed { expr, spec: text })
    }

    fn compile_or_group(&mut self, tree: &Tree) -> Result<Typed, SqlError> {
        let Some(grouping) = self.grouping.take() else {
            return self.compile_tree(tree);
        };
        // One of the keys, as the statement writes it.
        let key = match (grouping.key_of_tree(tree), tree) {
            (Some(key), _) => Some(key),
            (None, Tree::Value(_)) => None,
            (None, _) => {
                let was_trying = std::mem::replace(&mut self.is_trying, true);
                let plain = self.compile_tree(tree);
                self.is_trying = was_trying;
                plain.ok().and_then(|plain| grouping.key(&plain))
            }
        };
        let found = match (key, tree) {
            (Some(key), _) => Ok(Some(key)),
            (None, Tree::Function(function)) => match self.grouping_bits(function, grouping) {
                Ok(None) => self.aggregate(function, grouping),
                found => found,
            },
            (None, Tree::Identifier(_) | Tree::CompoundIdentifier(_)) => {
                // An error of the name goes first.
                self.compile_tree(tree).and_then(|plain| match plain.expr.is_constant() {
                    // A column of a query around this one, or a parameter.
                    true => Ok(Some(plain)),
                    false => Err(SqlError::new(
                        code::GROUPING,
                        format!(
                            "column \"{}\" must appear in the GROUP BY clause or be used in an aggregate function",
                            self.qualified(tree, &plain)
                        ),
                    )),
                })
            }
            _ => Ok(None),
        };
        self.grouping = Some(grouping);
        match found? {
            Some(typed) => Ok(typed),
            None => self.compile_tree(tree),
        }
    }

    fn compile_tree(&mut self, tree: &Tree) -> Result<Typed, SqlError> {
        match tree {
            Tree::Nested(inner) => self.compile(inner),
            Tree::Identifier(name) => self.column_or_row(name),
            Tree::Tuple(parts) => self.row(&parts.iter().collect::<Vec<_>>()),
            Tree::CompoundIdentifier(names) => self.compound(names),
            Tree::Value(value) => self.value(&value.value),
            Tree::BinaryOp { left, op, right } if let Some((array, is_all)) = quantified(right) => {
                self.quantified(left, op, array, is_all)
            }
            Tree::BinaryOp { left, op, right } => match named_operator(op) {
                Some(op) => self.binary(tree, left, &op, right),
                None => self.binary(tree, left, op, right),
            },
            Tree::UnaryOp { op, expr } => self.unary(*op, expr),
            Tree::IsNull(inner) => self.is_null(inner, false),
            Tree::IsNotNull(inner) => self.is_null(inner, true),
            Tree::IsTrue(inner) => self.is_bool(inner, true, false),
            Tree::IsNotTrue(inner) => self.is_bool(inner, true, true),
            Tree::IsFalse(inner) => self.is_bool(inner, false, false),
            Tree::IsNotFalse(inner) => self.is_bool(inner, false, true),
            Tree::IsUnknown(inner) => self.is_unknown(inner, false),
            Tree::IsNotUnknown(inner) => self.is_unknown(inner, true),
            Tree::IsNormalized {
                expr,
                form,
                negated,
            } => self.is_normalized(expr, form.as_ref(), *negated),
            Tree::IsDistinctFrom(left, right) => self.distinct(left, right, false),
            Tree::IsNotDistinctFrom(left, right) => self.distinct(left, right, true),
            Tree::Between {
                expr,
                negated,
                low,
                high,
            } => self.between(expr, *negated, low, high),
            Tree::In {
                expr,
                target,
                negated,
                ..
            } => self.in_list(expr, target, *negated),
            Tree::AnyOp {
                left,
                compare_op: ast::BinaryOperator::Eq,
                right,
                ..
            } if let Some(items) = plain_items(left, right) => {
                self.one_of_array(left, items, false)
            }
            Tree::AllOp {
                left,
                compare_op: ast::BinaryOperator::NotEq,
                right,
            } if let Some(items) = plain_items(left, right) => self.one_of_array(left, items, true),
            Tree::Like {
                negated,
                any: _,
                expr,
                pattern,
                escape_char,
            } if let Some((array, is_all)) = quantified(pattern) => {
                let symbol = if *negated { "!~~" } else { "~~" };
                self.each_of_array(expr, array, is_all, symbol, &|expr, pattern| Tree::Like {
                    negated: *negated,
                    any: false,
                    expr: Box::new(expr),
                    pattern: Box::new(pattern),
                    escape_char: escape_char.clone(),
                })
            }
            Tree::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(expr, pattern, escape_char.as_deref(), false, *negated),
            Tree::ILike {
                negated,
                any: _,
                expr,
                pattern,
                escape_char,
            } if let Some((array, is_all)) = quantified(pattern) => {
                let symbol = if *negated { "!~~*" } else { "~~*" };
                self.each_of_array(expr, array, is_all, symbol, &|expr, pattern| Tree::ILike {
                    negated: *negated,
                    any: false,
                    expr: Box::new(expr),
                    pattern: Box::new(pattern),
                    escape_char: escape_char.clone(),
                })
            }
            Tree::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(expr, pattern, escape_char.as_deref(), true, *negated),
            Tree::SimilarTo {
                negated,
                expr,
                pattern,
                escape_char,
            } => self.similar(expr, pattern, escape_char.as_deref(), *negated),
            Tree::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => self.cast(expr, data_type),
            Tree::TypedString(typed) => {
                if self.parameters.types().domain(&typed.data_type).is_some() {
                    let value = Tree::Value(typed.value.clone());
                    return self.cast(&value, &typed.data_type);
                }
                let to = TypeSpec::of_cast(&typed.data_type, self.parameters.types())?;
                let value = literal_value(&typed.value.value)?;
                let expr = self.coerce(value, to, Coercion::Explicit)?;
                Ok(Typed { expr, spec: to })
            }
            Tree::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.without_rows(|compiler| {
                compiler.case(operand.as_deref(), conditions, else_result.as_deref())
            }),
            Tree::Function(function) => self.function(function),
            Tree::Extract { field, expr, .. } => {
                let part = part_of_time(field);
                let value = self.compile(expr)?;
                self.call("extract", vec![part, value])
            }
            Tree::Ceil {
                expr,
                field: CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => self.call_with("ceil", &[expr]),
            Tree::Floor {
                expr,
                field: CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime),
            } => self.call_with("floor", &[expr]),
            Tree::Position { expr, r#in } => self.call_with("position", &[r#in, expr]),
            Tree::Substring {
                expr,
                substring_from,
                substring_for,
                shorthand,
                ..
            } => {
                let parts = (substring_from.as_deref(), substring_for.as_deref());
                self.substring(expr, parts, *shorthand)
            }
            Tree::Overlay {
                expr,
                overlay_what: by,
                overlay_from: from,
                overlay_for: count,
            } => match count {
                Some(count) => self.call_with("overlay", &[expr, by, from, count]),
                None => self.call_with("overlay", &[expr, by, from]),
            },
            Tree::Trim {
                trim_where,
                trim_what,
                expr,
                trim_characters,
            } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let what = trim_what.as_deref();
                let what = what.or_else(|| trim_characters.as_ref()?.first());
                match what {
                    Some(what) => self.call_with(name, &[expr, what]),
                    None => self.call_with(name, &[expr]),
                }
            }
            Tree::Collate { expr, collation } => self.collate(expr, collation),
            Tree::AtTimeZone {
                timestamp,
                time_zone,
            } => self.call_with("timezone", &[time_zone, timestamp]),
            Tree::Interval(interval) => self.interval(interval),
            Tree::Subquery(query) => self.scalar(query),
            Tree::Array(array) => self.array(&array.elem),
            Tree::CompoundFieldAccess { root, access_chain } => self.element(root, access_chain),
            Tree::Exists { subquery, negated } => self.exists(subquery, *negated),
            Tree::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => self.quantified(left, compare_op, right, false),
            Tree::AllOp {
                left,
                compare_op,
                right,
            } => self.quantified(left, compare_op, right, true),
            other => Err(SqlError::unsupported(format!(
                "the expression {} is not supported",
                crate::position::excerpt(&other.to_string())
            ))),
        }
    }

    /// The name of a column with that of its table.
    fn qualified(&self, tree: &Tree, found: &Typed) -> String {
        match tree {
            Tree::Identifier(name) if is_row(&found.expr) => format!("{}.*", name_of(name)),
            Tree::Identifier(name) => self.scope.qualified(None, &name_of(name)),
            _ => tree.to_string(),
        }
    }

    pub(super) fn column(&mut self, table: Option<&str>, name: &str) -> Result<Typed, SqlError> {
        if self.grouping.is_some() {
            return Err(SqlError::new(
                code::GROUPING,
                format!("column \"{name}\" must appear in the GROUP BY clause"),
            ));
        }
        let parameter = self.parameters.of_name(name).filter(|_| table.is_none());
        match self.scope.find(table, name) {
            Ok(column) => Ok(Typed {
                expr: column.expr(),
                spec: column.spec,
            }),
            Err(error) if is_missing(&error, table) => {
                if let Some(nested) = &mut self.nested
                    && let Some((expr, spec)) =
                        nested.queries.around_mut().outer_column(table, name)?
                {
                    return Ok(Typed { expr, spec });
                }
                match parameter {
                    Some((number, kind)) => Ok(Typed::new(Expr::Parameter(number), kind)),
                    None => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    fn compound(&mut self, names: &[ast::Ident]) -> Result<Typed, SqlError> {
        if let Some(table) = of_whole_row(names) {
            return self.row_of_table(table);
        }
        match names {
            [table, column] => self.column(Some(&name_of(table)), &name_of(column)),
            // The schema precedes the table.
            [database, rest @ ..] if rest.len() == 3 && name_of(database) == DATABASE => {
                self.compound(rest)
            }
            [schema, table, column] => {
                let (schema, table, name) = (name_of(schema), name_of(table), name_of(column));
                if self.grouping.is_some() {
                    return self.column(Some(&table), &name);
                }
                // The schema chooses among tables of one name.
                let found = self.scope.table_in(&schema, &table);
                if !matches!(found, Ok(Some(_)))
                    && let Some(nested) = &mut self.nested
                    && let around = nested.queries.around_mut()
                    && let Some((expr, spec)) = around.outer_column_in(&schema, &table, &name)?
                {
                    return Ok(Typed { expr, spec });
                }
                let columns = found?.into_iter();
                let mut columns =
                    columns.flat_map(|found| found.columns.iter().chain(found.system.columns()));
                let found = columns.find(|column| column.name == name);
                let column = found.map_or_else(|| self.scope.find(Some(&table), &name), Ok)?;
                let (expr, spec) = (column.expr(), column.spec);
                Ok(Typed { expr, spec })
            }
            _ => {
                let parts: Vec<String> = names.iter().map(name_of).collect();
                Err(wrong_parts(&parts, false))
            }
        }
    }

    fn value(&mut self, literal: &ast::Value) -> Result<Typed, SqlError> {
        if let ast::Value::Placeholder(text) = literal {
            let (number, kind) = self.parameters.of_placeholder(text)?;
            return Ok(Typed::new(Expr::Parameter(number), kind));
        }
        match literal {
            // In earlier versions it was a literal as any other.
            ast::Value::NationalStringLiteral(content) if self.is_of_kept_text() => {
                literal_value(&ast::Value::SingleQuotedString(content.clone()))
            }
            // It was a text of bytes.
            ast::Value::HexStringLiteral(digits) if self.is_of_kept_text() => {
                literal_value(&ast::Value::SingleQuotedString(format!("\\x{digits}")))
            }
            literal => literal_value(literal),
        }
    }
}
