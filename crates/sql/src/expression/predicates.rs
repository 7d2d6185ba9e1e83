//! Conditions, compiled: comparisons, patterns, tests for null, `AND`, `OR` and `NOT`.

use super::arithmetic::{DAY, is_date};
use super::cast::{Coercion, can_cast, is_number_of};
use super::comparable::{as_record, by_order, collated, number_of, ordered};
use super::compile::Compiler;
use super::functions::LOWER;
use super::operator_errors::no_operator;
use super::trees::row_of;
use super::whole_rows::record_is_null;
use super::{Comparison, Expr, Function, Like, Typed};
use crate::error::SqlError;
use crate::parse::{query_of, symmetric_bound};
use crate::types::{Collation, NamedCollation, SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{self, BinaryOperator, Expr as Tree};

impl Compiler<'_> {
    /// `IS [NOT] NULL`; of a row, that every value is null, or that none is.
    pub(super) fn is_null(&mut self, inner: &Tree, negated: bool) -> Result<Typed, SqlError> {
        if let Some(parts) = row_of(inner) {
            let mut tests = Vec::with_capacity(parts.len());
            for part in parts {
                // A row as a value is not null, whatever it has.
                if row_of(part).is_some() {
                    self.is_null(part, negated)?;
                    tests.push(Expr::Literal(Value::Bool(negated)));
                    continue;
                }
                let part = self.decided(part)?;
                tests.push(boolean(Expr::IsNull(Box::new(part.expr)), negated).expr);
            }
            return Ok(boolean(Expr::And(tests), false));
        }
        let inner = as_record(self.decided(inner)?);
        if inner.kind() == SqlType::Record {
            return Ok(record_is_null(inner.expr, negated));
        }
        Ok(boolean(Expr::IsNull(Box::new(inner.expr)), negated))
    }

    pub(super) fn is_unknown(&mut self, inner: &Tree, negated: bool) -> Result<Typed, SqlError> {
        let of = if negated {
            "IS NOT UNKNOWN"
        } else {
            "IS UNKNOWN"
        };
        let inner = self.condition(inner, of)?;
        Ok(boolean(Expr::IsNull(Box::new(inner)), negated))
    }

    pub(super) fn is_bool(
        &mut self,
        inner: &Tree,
        wanted: bool,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let inner = self.condition(inner, "IS")?;
        Ok(boolean(Expr::IsBool(Box::new(inner), wanted), negated))
    }

    pub(super) fn distinct(
        &mut self,
        left: &Tree,
        right: &Tree,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        if let (Some(left), Some(right)) = (row_of(left), row_of(right)) {
            check_widths(&left, &right)?;
            let mut parts = Vec::with_capacity(left.len());
            for (left, right) in left.into_iter().zip(right) {
                parts.push(self.distinct(left, right, negated)?.expr);
            }
            let expr = match negated {
                true => Expr::And(parts),
                false => Expr::Or(parts),
            };
            return Ok(boolean(expr, false));
        }
        let (left, right) = (self.compile(left)?, self.compile(right)?);
        let sides = self.comparable(left, right, "=")?;
        Ok(boolean(Expr::Distinct(Box::new(sides), negated), false))
    }

    pub(super) fn between(
        &mut self,
        tree: &Tree,
        negated: bool,
        low: &Tree,
        high: &Tree,
    ) -> Result<Typed, SqlError> {
        self.parameters.begin_repeating()?;
        let compiled = self.between_bounds(tree, negated, low, high);
        self.parameters.end_repeating();
        compiled
    }

    fn between_bounds(
        &mut self,
        tree: &Tree,
        negated: bool,
        low: &Tree,
        high: &Tree,
    ) -> Result<Typed, SqlError> {
        let within = |compiler: &mut Self, low: &Tree, high: &Tree| {
            let low = compiler.compare_trees(tree, Comparison::GreaterOrEqual, low)?;
            let high = compiler.compare_trees(tree, Comparison::LessOrEqual, high)?;
            Ok::<_, SqlError>(Expr::And(vec![low.expr, high.expr]))
        };
        let Some(low) = symmetric_bound(low) else {
            return Ok(boolean(within(self, low, high)?, negated));
        };
        let either = vec![within(self, low, high)?, within(self, high, low)?];
        Ok(boolean(Expr::Or(either), negated))
    }

    pub(super) fn like(
        &mut self,
        text: &Tree,
        pattern: &Tree,
        escape: Option<&Tree>,
        ignores_case: bool,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let (text, mut pattern) = (self.compile(text)?, self.compile(pattern)?);
        if escape.is_some() {
            // A pattern with an escape character has a type of its own.
            pattern = self.as_decided(pattern)?;
        }
        let (of, by) = (text.kind(), pattern.kind());
        let are_bytes = of == SqlType::Bytea && matches!(by, SqlType::Bytea | SqlType::Unknown)
            || of == SqlType::Unknown && by == SqlType::Bytea;
        let symbol = match (negated, ignores_case) {
            (false, false) => "~~",
            (true, false) => "!~~",
            (false, true) => "~~*",
            (true, true) => "!~~*",
        };
        let are_texts = of.is_text() && by.is_text();
        if !are_texts && (ignores_case || !are_bytes) {
            return Err(no_operator(symbol, of, by));
        }
        let plain = match escape {
            None => Some(Some('\\')),
            Some(escape) if are_texts => plain_escape(escape)?,
            Some(_) => None,
        };
        if let (None, Some(escape)) = (plain, escape) {
            let parts = vec![pattern, self.compile(escape)?];
            pattern = self.call("like_escape", parts)?;
        }
        if !are_texts {
            let like = self.call("bytealike", vec![text, pattern])?;
            return Ok(boolean(like.expr, negated));
        }
        let escape = plain.unwrap_or(Some('\\'));
        let mut like = Like {
            text: self.matched_value(text, symbol)?,
            pattern: self.as_type(pattern, SqlType::Text)?.expr,
            escape,
            ignores_case,
        };
        if ignores_case && let Some(collation) = self.collation.icu()? {
            if collation.has_own_cases() {
                return Err(collation.unknown_to("ILIKE"));
            }
            // Case is folded as in PostgreSQL, by the rules of the language.
            let lower = |text| Expr::Call(Function(&LOWER), vec![text, number_of(collation)]);
            like.text = lower(like.text);
            like.pattern = lower(like.pattern);
            like.ignores_case = false;
        }
        Ok(boolean(Expr::Like(Box::new(like)), negated))
    }

    /// A chain of one word: of any length, without recursion.
    pub(super) fn chain(&mut self, tree: &Tree, word: &BinaryOperator) -> Result<Typed, SqlError> {
        let mut parts = Vec::new();
        let mut rest = tree;
        let mut trees = Vec::new();
        loop {
            match rest {
                Tree::BinaryOp { left, op, right } if op == word => {
                    trees.push(&**right);
                    rest = left;
                }
                other => {
                    trees.push(other);
                    break;
                }
            }
        }
        for tree in trees.into_iter().rev() {
            let name = if *word == BinaryOperator::And {
                "AND"
            } else {
                "OR"
            };
            parts.push(self.condition(tree, name)?);
        }
        let expr = match word {
            BinaryOperator::And => Expr::And(parts),
            _ => Expr::Or(parts),
        };
        Ok(boolean(expr, false))
    }

    pub(super) fn compare_trees(
        &mut self,
        left: &Tree,
        comparison: Comparison,
        right: &Tree,
    ) -> Result<Typed, SqlError> {
        if let (Some(left), Some(right)) = (row_of(left), row_of(right)) {
            return self.compare_tuples(&left, comparison, &right);
        }
        if let (Some(values @ [_, _, ..]), Some(query)) = (row_of(left).as_deref(), query_of(right))
        {
            return self.compare_with_row(values, comparison, query);
        }
        let (left, right) = (self.compile(left)?, self.compile(right)?);
        let compared = self.compare_sides(left, comparison, right)?;
        Ok(boolean(compared, false))
    }

    /// A comparison of two values.
    fn compare_sides(
        &mut self,
        left: Typed,
        comparison: Comparison,
        right: Typed,
    ) -> Result<Expr, SqlError> {
        let sides = self.comparable(left, right, comparison.symbol())?;
        let sides = match self.parameters.zone() {
            None => as_days(sides),
            Some(_) => sides,
        };
        Ok(Expr::Compare(comparison, Box::new(by_order(sides))))
    }

    /// A comparison of two rows of as many values.
    ///
    /// # Errors
    /// `42883` if two of them cannot be compared.
    pub(super) fn compare_values(
        &mut self,
        left: Vec<Typed>,
        comparison: Comparison,
        right: Vec<Typed>,
    ) -> Result<Typed, SqlError> {
        let mut pairs = left.into_iter().zip(right).rev();
        if let Comparison::Equal | Comparison::Unequal = comparison {
            let mut parts = Vec::with_capacity(pairs.len());
            for (left, right) in pairs.rev() {
                parts.push(self.compare_sides(left, comparison, right)?);
            }
            let all = match comparison {
                Comparison::Equal => Expr::And(parts),
                _ => Expr::Or(parts),
            };
            return Ok(boolean(all, false));
        }
        let Some((left, right)) = pairs.next() else {
            return Err(SqlError::syntax("cannot compare rows of zero length"));
        };
        let mut behind = self.compare_sides(left, comparison, right)?;
        // As [`Compiler::compare_tuples`].
        let (strict, wide) = comparison.strict_and_wide();
        for (left, right) in pairs {
            let wide = self.compare_sides(left.clone(), wide, right.clone())?;
            let strict = self.compare_sides(left, strict, right)?;
            behind = Expr::And(vec![wide, Expr::Or(vec![strict, behind])]);
        }
        Ok(boolean(behind, false))
    }

    pub(super) fn compare_tuples(
        &mut self,
        left: &[&Tree],
        comparison: Comparison,
        right: &[&Tree],
    ) -> Result<Typed, SqlError> {
        check_widths(left, right)?;
        if let Comparison::Equal | Comparison::Unequal = comparison {
            let mut parts = Vec::with_capacity(left.len());
            for (left, right) in left.iter().zip(right) {
                parts.push(self.compare_trees(left, comparison, right)?.expr);
            }
            let expr = match comparison {
                Comparison::Equal => Expr::And(parts),
                _ => Expr::Or(parts),
            };
            return Ok(boolean(expr, false));
        }
        let ([first, others @ ..], [to_first, to_others @ ..]) = (left, right) else {
            return Err(SqlError::syntax("cannot compare rows of zero length"));
        };
        if others.is_empty() {
            return self.compare_trees(first, comparison, to_first);
        }
        // (a, b) < (x, y) is a <= x AND (a < x OR b < y): the first condition finds rows by an index.
        let (strict, wide) = comparison.strict_and_wide();
        let wide = self.compare_trees(first, wide, to_first)?.expr;
        let strict = self.compare_trees(first, strict, to_first)?.expr;
        let others = self.compare_tuples(others, comparison, to_others)?.expr;
        let parts = vec![wide, Expr::Or(vec![strict, others])];
        Ok(boolean(Expr::And(parts), false))
    }

    /// A side of a comparison of `character`.
    fn without_blanks(&mut self, typed: Typed) -> Result<Expr, SqlError> {
        let kind = SqlType::Char;
        if typed.kind() == kind {
            return Ok(ordered(typed));
        }
        let spec = TypeSpec::plain(kind);
        let expr = self.coerce(typed, spec, Coercion::Implicit)?;
        Ok(ordered(Typed { expr, spec }))
    }

    pub(super) fn comparable_by_keys(
        &mut self,
        left: Typed,
        right: Typed,
        operator: &str,
    ) -> Result<(Expr, Expr), SqlError> {
        let (a, b) = (left.kind(), right.kind());
        let is_row = |kind| matches!(kind, SqlType::Record | SqlType::Composite(_));
        if a != b && is_row(a) && is_row(b) {
            // Rows are compared by their fields.
            return Ok((ordered(as_record(left)), ordered(as_record(right))));
        }
        let kind = match (a, b) {
            (SqlType::Unknown, known) | (known, SqlType::Unknown) => known,
            (a, b) if a == b => a,
            (a, b) if a.element().is_some() && a.element() == b.element() => a,
            _ => return Err(no_operator(operator, a, b)),
        };
        let left = self.as_type(left, kind)?;
        let right = self.as_type(right, kind)?;
        Ok((ordered(left), ordered(right)))
    }

    /// Both sides of a comparison by ICU's order, as their keys.
    fn comparable_texts(
        &mut self,
        mut left: Typed,
        mut right: Typed,
        (operator, collation): (&str, NamedCollation),
    ) -> Result<(Expr, Expr), SqlError> {
        if left.kind().element().is_some() || right.kind().element().is_some() {
            return Err(collation.unknown_to("arrays"));
        }
        left.spec.collation = Collation::Database;
        right.spec.collation = Collation::Database;
        let (left, right) = self.comparable(left, right, operator)?;
        Ok((collated(left, collation), collated(right, collation)))
    }

    /// Both sides of a comparison, as values that can be compared.
    ///
    /// # Errors
    /// `42883` if they cannot be.
    pub fn comparable(
        &mut self,
        left: Typed,
        right: Typed,
        operator: &str,
    ) -> Result<(Expr, Expr), SqlError> {
        let (a, b) = (left.kind(), right.kind());
        let orders = Comparison::of_symbol(operator).is_some_and(Comparison::orders);
        if orders && (a == SqlType::Hstore || b == SqlType::Hstore) && !self.is_of_kept_text() {
            // Its order has operators of its own.
            return Err(no_operator(operator, a, b));
        }
        if a.is_collatable() || b.is_collatable() {
            let collation = left.spec.collation.with(right.spec.collation).decided()?;
            if orders && collation.is_of_icu() {
                return self.comparable_texts(left, right, (operator, collation));
            }
        }
        if let (SqlType::Time, SqlType::Interval) | (SqlType::Interval, SqlType::Time) = (a, b) {
            let left = self.as_type(left, SqlType::Interval)?;
            let right = self.as_type(right, SqlType::Interval)?;
            return self.comparable_by_keys(left, right, operator);
        }
        let both = |kind| (TypeSpec::plain(kind), TypeSpec::plain(kind));
        let (to_a, to_b) = match (a, b) {
            (SqlType::Unknown, SqlType::Unknown) => both(SqlType::Text),
            (SqlType::Char, SqlType::Char | SqlType::Varchar | SqlType::Unknown)
            | (SqlType::Varchar | SqlType::Unknown, SqlType::Char) => {
                return Ok((self.without_blanks(left)?, self.without_blanks(right)?));
            }
            (a, b) if is_json(a) || is_json(b) => return Err(no_operator(operator, a, b)),
            (a, b) if a.has_keys() || b.has_keys() => {
                return self.comparable_by_keys(left, right, operator);
            }
            // Networks have the operators of addresses.
            (SqlType::Unknown, SqlType::Cidr) | (SqlType::Cidr, SqlType::Unknown) => {
                both(SqlType::Inet)
            }
            // Numbers of objects have the operators of `oid`.
            (SqlType::Unknown, known) | (known, SqlType::Unknown)
                if known.is_object() && !self.is_of_kept_text() =>
            {
                both(SqlType::Oid)
            }
            (SqlType::Unknown, known) | (known, SqlType::Unknown) => both(known),
            // Both are texts of bits.
            (a, b) if a.is_bits() && b.is_bits() => return Ok((left.expr, right.expr)),
            // Numbers of all types are compared without a conversion, but for negative ones beside a number of an object.
            (a, b) if a.is_number() && b.is_number() => {
                let is_of_object = (is_number_of(a) || is_number_of(b)) && !self.is_of_kept_text();
                if is_of_object && !(a.is_integer() && b.is_integer()) {
                    return Err(no_operator(operator, a, b));
                }
                if !is_of_object || !may_be_negative(&left) && !may_be_negative(&right) {
                    return Ok((left.expr, right.expr));
                }
                both(SqlType::Oid)
            }
            (a, b) if a == b => return Ok((left.expr, right.expr)),
            (SqlType::Char, b) | (b, SqlType::Char) if b.is_text() => both(SqlType::Text),
            (a, b) if a.is_text() && b.is_text() => return Ok((left.expr, right.expr)),
            (a, b) if can_cast(a, b, Coercion::Implicit) => both(b),
            (a, b) if can_cast(b, a, Coercion::Implicit) => both(a),
            _ => return Err(no_operator(operator, a, b)),
        };
        Ok((
            self.coerce(left, to_a, Coercion::Implicit)?,
            self.coerce(right, to_b, Coercion::Implicit)?,
        ))
    }
}

/// True for an integer that is not known to be 0 or more. As a number of an object it has the same bits.
fn may_be_negative(typed: &Typed) -> bool {
    let is_known = matches!(typed.expr, Expr::Literal(Value::Int(0..)));
    matches!(typed.kind(), SqlType::Int2 | SqlType::Int4) && !is_known
}

/// The character of a literal behind `ESCAPE`, if it is a literal: none in an empty one.
///
/// # Errors
/// `22025` for more than one character.
fn plain_escape(tree: &Tree) -> Result<Option<Option<char>>, SqlError> {
    let Tree::Value(value) = tree else {
        return Ok(None);
    };
    let ast::Value::SingleQuotedString(text) = &value.value else {
        return Ok(None);
    };
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (escape, None) => Ok(Some(escape)),
        _ => Err(SqlError::new("22025", "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}

fn check_widths(left: &[&Tree], right: &[&Tree]) -> Result<(), SqlError> {
    match left.len() == right.len() {
        true => Ok(()),
        false => Err(SqlError::syntax(
            "unequal number of entries in row expressions",
        )),
    }
}

/// True for `json`, `jsonpath` and arrays of them, which have no operator of equality.
fn is_json(kind: SqlType) -> bool {
    matches!(
        kind.element().unwrap_or(kind),
        SqlType::Json | SqlType::Jsonpath
    )
}

/// Compares a day with the beginning of another one as two days: none is converted to a moment, so an index of days is
/// usable.
fn as_days((left, right): (Expr, Expr)) -> (Expr, Expr) {
    let day = |expr: &Expr| match expr {
        Expr::Literal(Value::Timestamp(micros)) if micros % DAY == 0 => {
            let day = i32::try_from(micros / DAY).map(Value::Date).ok()?;
            is_date(&day).then_some(day)
        }
        _ => None,
    };
    let is_day = |expr: &Expr| matches!(expr, Expr::Cast(_, SqlType::Date, to, _) if matches!(to.kind, SqlType::Timestamp | SqlType::Timestamptz));
    let inner = |expr: Expr| match expr {
        Expr::Cast(inner, ..) => *inner,
        other => other,
    };
    match (day(&left), day(&right)) {
        (None, Some(day)) if is_day(&left) => (inner(left), Expr::Literal(day)),
        (Some(day), None) if is_day(&right) => (Expr::Literal(day), inner(right)),
        _ => (left, right),
    }
}

pub(super) fn boolean(expr: Expr, negated: bool) -> Typed {
    let expr = match negated {
        true => Expr::Not(Box::new(expr)),
        false => expr,
    };
    Typed::new(expr, SqlType::Bool)
}
