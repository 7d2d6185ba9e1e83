//! Subqueries in expressions, compiled: each is planned in the scope around it, and lists the columns that it asks for
//! of that scope.

use super::around::Drafted;
use super::arrays::array_kind;
use super::cast::Coercion;
use super::coercion;
use super::compile::Compiler;
use super::functions::MADE;
use super::predicates::boolean;
use super::trees::row_of;
use super::{Comparison, Expr, Function, List, Typed};
use crate::error::{SqlError, code};
use crate::expression::{Compared, OuterColumn, Question, Subquery};
use crate::parse::selected_from;
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{BinaryOperator, Expr as Tree, Query};
use std::cmp::Ordering;

/// Checks that a query has as many columns as the row that is compared with it.
fn check_width(columns: usize, values: usize) -> Result<(), SqlError> {
    match columns.cmp(&values) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(SqlError::syntax("subquery has too few columns")),
        Ordering::Greater => Err(SqlError::syntax("subquery has too many columns")),
    }
}

/// A planned query with its arguments and its number.
struct Asked {
    draft: Box<dyn Drafted>,
    columns: Vec<TypeSpec>,
    arguments: Vec<Expr>,
    number: usize,
}

impl Compiler<'_> {
    /// A query as a value: that of its only row.
    pub(super) fn scalar(&mut self, query: &Query) -> Result<Typed, SqlError> {
        let asked = self.planned(query)?;
        let [spec] = asked.columns[..] else {
            return Err(SqlError::syntax("subquery must return only one column"));
        };
        Ok(Typed {
            expr: asked.expr(Question::Value),
            spec: spec.with_collation(spec.collation.implicit()),
        })
    }

    /// The columns of a query's only row, for as many places as it must have columns.
    ///
    /// # Errors
    /// `42601` if it has another number of columns.
    pub fn columns_of(&mut self, query: &Query, places: usize) -> Result<Vec<Typed>, SqlError> {
        let asked = self.planned(query)?;
        if asked.columns.len() != places {
            return Err(SqlError::syntax(
                "number of columns does not match number of values",
            ));
        }
        Ok(asked.each_column())
    }

    /// Compares a row of values with the only row of a query, which runs once: null without that row, and an error if
    /// there are more.
    pub(super) fn compare_with_row(
        &mut self,
        left: &[&Tree],
        comparison: Comparison,
        query: &Query,
    ) -> Result<Typed, SqlError> {
        let mut values = Vec::with_capacity(left.len());
        for tree in left {
            values.push(self.compile(tree)?);
        }
        let asked = self.planned(query)?;
        check_width(asked.columns.len(), values.len())?;
        self.compare_values(values, comparison, asked.each_column())
    }

    /// Compiles the test that a query has rows.
    pub(super) fn exists(&mut self, query: &Query, negated: bool) -> Result<Typed, SqlError> {
        let asked = self.planned(query)?;
        Ok(boolean(asked.expr(Question::Exists), negated))
    }

    /// Compiles the test that a value, or a row of them, is one of a query's.
    pub(super) fn in_query(
        &mut self,
        tree: &Tree,
        query: &Query,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let expr = self.compared(tree, Comparison::Equal, query, false)?;
        Ok(boolean(expr, negated))
    }

    /// Compares a value with any of a query's, or with all.
    pub(super) fn quantified(
        &mut self,
        left: &Tree,
        operator: &BinaryOperator,
        right: &Tree,
        is_all: bool,
    ) -> Result<Typed, SqlError> {
        let comparison = match operator {
            BinaryOperator::Eq => Comparison::Equal,
            BinaryOperator::NotEq => Comparison::Unequal,
            BinaryOperator::Lt => Comparison::Less,
            BinaryOperator::LtEq => Comparison::LessOrEqual,
            BinaryOperator::Gt => Comparison::Greater,
            BinaryOperator::GtEq => Comparison::GreaterOrEqual,
            other => {
                let test = |left, right| Tree::BinaryOp {
                    left: Box::new(left),
                    op: other.clone(),
                    right: Box::new(right),
                };
                return self.each_of_array(left, right, is_all, &other.to_string(), &test);
            }
        };
        let Tree::Subquery(query) = right else {
            return match (comparison, is_all) {
                (Comparison::Equal, false) => self.in_array(left, right, false),
                (Comparison::Unequal, true) => self.in_array(left, right, true),
                _ => self.against_array(left, comparison, right, is_all),
            };
        };
        match (comparison, is_all) {
            // "Different from all" means equal to none.
            (Comparison::Unequal, true) => self.in_query(left, query, true),
            _ => Ok(boolean(
                self.compared(left, comparison, query, is_all)?,
                false,
            )),
        }
    }

    /// Compiles the test that a value is an element of an array.
    fn in_array(&mut self, left: &Tree, array: &Tree, negated: bool) -> Result<Typed, SqlError> {
        let value = self.compile(left)?;
        let array = self.compile(array)?;
        self.in_elements(value, array, negated)
    }

    /// The same of a compiled array.
    ///
    /// # Errors
    /// `42809` if it is none, `42883` if the value is not compared with its elements.
    pub(super) fn in_elements(
        &mut self,
        value: Typed,
        mut array: Typed,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        if array.kind() == SqlType::Unknown {
            self.check_has_array(&value)?;
            let spec = TypeSpec::plain(value.kind().array());
            let expr = self.coerce(array, spec, Coercion::Implicit)?;
            array = Typed { expr, spec };
        }
        let Some(element) = array.kind().element() else {
            return Err(SqlError::new(
                code::WRONG_OBJECT_TYPE,
                "op ANY/ALL (array) requires array on right side",
            ));
        };
        let of_array = Typed::new(Expr::Literal(Value::Null), element);
        let symbol = if negated { "<>" } else { "=" };
        let (value, _) = self.comparable(value, of_array, symbol)?;
        let list = List::of_array(array.expr, element);
        Ok(boolean(Expr::In(Box::new(value), list), negated))
    }

    /// `ARRAY[…]`.
    pub(super) fn array(&mut self, trees: &[Tree]) -> Result<Typed, SqlError> {
        if trees.is_empty() {
            let error = SqlError::new("42P18", "cannot determine type of empty array");
            let hint = "Explicitly cast to the desired type, for example ARRAY[]::integer[].";
            return Err(error.hint(hint));
        }
        let mut parts = Vec::with_capacity(trees.len());
        for tree in trees {
            parts.push(self.compile(tree)?);
        }
        let (parts, spec) = self.unified(parts, "ARRAY")?;
        Ok(array_made(parts, spec))
    }

    /// `ARRAY(SELECT …)`.
    pub(super) fn array_of(&mut self, query: &Query) -> Result<Typed, SqlError> {
        let mut asked = self.planned(query)?;
        let [
            spec @ TypeSpec {
                kind, collation, ..
            },
        ] = asked.columns[..]
        else {
            return Err(SqlError::syntax("subquery must return only one column"));
        };
        if kind == SqlType::Char && spec.length().is_some() {
            // The elements have the blanks of their type.
            let padded = selected_from("c::bpchar", &["c".to_string()], query)?;
            asked = self.planned(&padded)?;
        }
        let spec = TypeSpec::plain(array_kind(kind)).with_collation(collation.implicit());
        let expr = asked.expr(Question::Array(kind));
        Ok(Typed { expr, spec })
    }

    fn compared(
        &mut self,
        tree: &Tree,
        comparison: Comparison,
        query: &Query,
        is_all: bool,
    ) -> Result<Expr, SqlError> {
        let trees = row_of(tree).unwrap_or_else(|| vec![tree]);
        let mut values = Vec::with_capacity(trees.len());
        for tree in trees {
            values.push(self.compile(tree)?);
        }
        let asked = self.planned(query)?;
        check_width(asked.columns.len(), values.len())?;
        if values.len() > 1 && (comparison != Comparison::Equal || is_all) {
            return Err(SqlError::unsupported(
                "rows are compared with those of a query by IN, = ANY and <> ALL only",
            ));
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (place, value) in values.into_iter().enumerate() {
            let of_row = Typed {
                expr: Expr::Column(place),
                spec: asked.columns[place],
            };
            let (one, other) = self.comparable(value, of_row, comparison.symbol())?;
            left.push(one);
            right.push(other);
        }
        Ok(asked.expr(Question::Compared(Box::new(Compared {
            comparison,
            is_all,
            left,
            right,
        }))))
    }

    /// Plans a query inside the one that is compiled.
    fn planned(&mut self, query: &Query) -> Result<Asked, SqlError> {
        let Some(nested) = self.nested.as_mut().filter(|_| !self.is_trying) else {
            return Err(SqlError::unsupported("subqueries are not supported here"));
        };
        let (draft, columns, number) =
            nested
                .queries
                .draft(nested.source, self.scope, self.parameters, query)?;
        let mut arguments = Vec::with_capacity(columns.len());
        for column in columns {
            arguments.push(self.argument(column)?);
        }
        Ok(Asked {
            columns: draft.columns(),
            draft,
            arguments,
            number,
        })
    }

    /// A column that a subquery asks for, as an expression over the row around it.
    fn argument(&mut self, column: OuterColumn) -> Result<Expr, SqlError> {
        let Some(nested) = self.nested.as_mut() else {
            return Ok(column.expr);
        };
        if column.level != nested.queries.around().outer.len() {
            return Ok(nested.queries.around_mut().ask(column));
        }
        if let Some(aggregate) = column.aggregate {
            return self.asked_aggregate(*aggregate);
        }
        let typed = Typed {
            expr: column.expr,
            spec: column.spec,
        };
        match &self.grouping {
            None => Ok(typed.expr),
            Some(grouping) => match grouping.key(&typed) {
                Some(key) => Ok(key.expr),
                None => Err(SqlError::new(
                    code::GROUPING,
                    "subquery uses ungrouped column from outer query",
                )),
            },
        }
    }
}

impl Asked {
    /// The columns of the only row: all are null without it.
    fn each_column(self) -> Vec<Typed> {
        let specs = self.columns.clone();
        let Expr::Subquery(first) = self.expr(Question::Column(0)) else {
            return Vec::new();
        };
        let columns = specs.iter().enumerate().map(|(place, spec)| Typed {
            expr: Expr::Subquery(Box::new(Subquery {
                question: Question::Column(place),
                ..(*first).clone()
            })),
            spec: spec.with_collation(spec.collation.implicit()),
        });
        columns.collect()
    }

    fn expr(self, question: Question) -> Expr {
        let query = self.draft.planned(&question, !self.arguments.is_empty());
        Expr::Subquery(Box::new(Subquery {
            question,
            query,
            arguments: self.arguments,
            number: self.number,
        }))
    }
}

/// The array of expressions of one type.
pub(super) fn array_made(mut parts: Vec<Expr>, spec: TypeSpec) -> Typed {
    if spec.kind == SqlType::Char {
        let padded = parts
            .into_iter()
            .map(|expr| coercion::padded(Typed { expr, spec }));
        parts = padded.collect();
    }
    let kind = Expr::Literal(Value::Int(spec.kind.number().into()));
    parts.insert(0, kind);
    let array = array_kind(spec.kind);
    Typed {
        expr: Expr::Call(Function(&MADE), parts),
        spec: TypeSpec::plain(array).with_collation(spec.collation),
    }
}
