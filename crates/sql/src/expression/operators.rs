//! Operators, compiled: chosen by the types of their operands, as PostgreSQL chooses.

use super::arithmetic::Arithmetic;
use super::cast::{Coercion, is_number_of};
use super::coercion::folded;
use super::compile::Compiler;
use super::functions::{MATCHES, MATCHES_ANY_CASE};
use super::operator_errors::{
    ambiguous, ambiguous_prefix_operator, no_operator, no_other_operator, no_prefix_operator,
    not_unique,
};
use super::operator_trees::{is_comparison, pattern_operator, regrouped_power, signed_powers};
use super::predicates::boolean;
use super::time_operators::interval_of;
use super::{Comparison, Expr, Function, Typed, literal_value};
use crate::error::SqlError;
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::{self, BinaryOperator, Expr as Tree, UnaryOperator};

impl Compiler<'_> {
    /// A root, which is a function of floats.
    fn root(&mut self, operator: &str, function: &str, typed: Typed) -> Result<Typed, SqlError> {
        if !typed.kind().is_number() && typed.kind() != SqlType::Unknown {
            return Err(no_prefix_operator(operator, typed.kind()));
        }
        let float = TypeSpec::plain(SqlType::Float8);
        let number = self.coerce(typed, float, Coercion::Implicit)?;
        self.call(function, vec![Typed::new(number, SqlType::Float8)])
    }

    pub(super) fn unary(
        &mut self,
        operator: UnaryOperator,
        tree: &Tree,
    ) -> Result<Typed, SqlError> {
        match operator {
            UnaryOperator::Not => {
                let inner = self.condition(tree, "NOT")?;
                Ok(boolean(inner, true))
            }
            UnaryOperator::Minus | UnaryOperator::Plus => {
                if let Some(powers) = signed_powers(operator, tree) {
                    return self.compile(&powers);
                }
                // A negative literal, which may be one below the greatest positive one.
                if let (UnaryOperator::Minus, Tree::Value(value)) = (operator, tree)
                    && let ast::Value::Number(digits, _) = &value.value
                {
                    return negative_literal(digits);
                }
                // The sign of a number in parentheses goes with it, too: `-(-2147483648)` is a bigint.
                if let (UnaryOperator::Minus, Some(number)) = (operator, negated_number(tree)) {
                    return self.compile(number);
                }
                let typed = self.compile(tree)?;
                self.prefixed(operator, typed)
            }
            operator => {
                let typed = self.compile(tree)?;
                self.prefixed(operator, typed)
            }
        }
    }

    /// True if an operator that PostgreSQL finds ambiguous is refused. Kept texts were accepted in earlier
    /// versions.
    fn refuses_ambiguity(&self) -> bool {
        !self.is_of_kept_text()
    }

    /// A prefix operator before a value.
    pub(super) fn prefixed(
        &mut self,
        operator: UnaryOperator,
        mut typed: Typed,
    ) -> Result<Typed, SqlError> {
        let is_unknown = typed.kind() == SqlType::Unknown;
        if is_unknown && operator == UnaryOperator::Minus && !self.refuses_ambiguity() {
            typed = self.as_type(typed, SqlType::Float8)?;
        }
        let is_unknown = is_unknown && typed.kind() == SqlType::Unknown;
        match operator {
            UnaryOperator::BitwiseNot | UnaryOperator::Minus if is_unknown => {
                Err(ambiguous_prefix_operator(operator))
            }
            UnaryOperator::Plus if is_unknown => self.as_type(typed, SqlType::Float8),
            UnaryOperator::BitwiseNot if typed.kind().is_network() => {
                self.call("inetnot", vec![typed])
            }
            UnaryOperator::BitwiseNot if typed.kind().is_bits() => self.call("bitnot", vec![typed]),
            UnaryOperator::BitwiseNot => {
                let kind = typed.kind();
                if !matches!(kind, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) {
                    return Err(no_prefix_operator("~", kind));
                }
                let ones = Expr::Literal(Value::Int(-1));
                let sides = Box::new((typed.expr, ones));
                Ok(Typed::new(
                    Expr::Arithmetic(Arithmetic::Xor, kind, sides),
                    kind,
                ))
            }
            UnaryOperator::PGPrefixFactorial
                if matches!(typed.kind(), SqlType::Tsquery | SqlType::Unknown) =>
            {
                let query = self.as_type(typed, SqlType::Tsquery)?;
                self.call("tsquery_not", vec![query])
            }
            UnaryOperator::PGAbs => match typed.kind().is_number() || is_unknown {
                true => self.call("abs", vec![typed]),
                false => Err(no_prefix_operator("@", typed.kind())),
            },
            UnaryOperator::PGSquareRoot => self.root("|/", "sqrt", typed),
            UnaryOperator::PGCubeRoot => self.root("||/", "cbrt", typed),
            UnaryOperator::Minus | UnaryOperator::Plus => {
                if typed.kind() == SqlType::Interval && operator == UnaryOperator::Minus {
                    return self.negative_interval(typed);
                }
                if typed.kind() == SqlType::Time && operator == UnaryOperator::Minus {
                    let interval = self.as_type(typed, SqlType::Interval)?;
                    return self.negative_interval(interval);
                }
                let is_of_object = is_number_of(typed.kind()) && self.refuses_ambiguity();
                if !typed.kind().is_number() || is_of_object {
                    return Err(no_operator("-", SqlType::Unknown, typed.kind()));
                }
                Ok(match operator {
                    UnaryOperator::Plus => typed,
                    _ => Typed::new(
                        Expr::Negate(typed.kind(), Box::new(typed.expr)),
                        typed.spec.kind,
                    ),
                })
            }
            // PostgreSQL has none behind its operand.
            UnaryOperator::PGPostfixFactorial => Err(SqlError::syntax(
                "syntax error: no operand is behind the operator !",
            )),
            other if is_unknown => Err(SqlError::unsupported(format!(
                "the operator {other} is not supported"
            ))),
            other => Err(no_prefix_operator(&other.to_string(), typed.kind())),
        }
    }

    pub(super) fn binary(
        &mut self,
        tree: &Tree,
        left: &Tree,
        operator: &BinaryOperator,
        right: &Tree,
    ) -> Result<Typed, SqlError> {
        let comparison = match operator {
            BinaryOperator::And | BinaryOperator::Or => return self.chain(tree, operator),
            BinaryOperator::Overlaps => return self.overlaps(left, right),
            BinaryOperator::Eq => Some(Comparison::Equal),
            BinaryOperator::NotEq => Some(Comparison::Unequal),
            BinaryOperator::Lt => Some(Comparison::Less),
            BinaryOperator::LtEq => Some(Comparison::LessOrEqual),
            BinaryOperator::Gt => Some(Comparison::Greater),
            BinaryOperator::GtEq => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        if comparison.is_some() && is_comparison(left) {
            return Err(SqlError::syntax(format!(
                "syntax error at or near \"{operator}\""
            )));
        }
        if let Some(grouped) = self.regrouped(left, operator, right)? {
            return Ok(grouped);
        }
        if pattern_operator(operator).is_some() {
            return self.matches(left, operator, right);
        }
        if let Some((ignores_case, negated)) = like_of(operator) {
            return self.like(left, right, None, ignores_case, negated);
        }
        if let Some(comparison) = comparison {
            return self.compare_trees(left, comparison, right);
        }
        if let (BinaryOperator::PGExp, Some(grouped)) = (operator, regrouped_power(tree)) {
            return self.compile(&grouped);
        }
        if let (Tree::Interval(interval), Some(_)) = (right, arithmetic_of(operator)) {
            return self.shifted(left, operator, interval);
        }
        let (left, right) = (self.compile(left)?, self.compile(right)?);
        self.combined(left, operator, right)
    }

    /// Two values with an operator between them that is no comparison.
    pub(super) fn combined(
        &mut self,
        left: Typed,
        operator: &BinaryOperator,
        right: Typed,
    ) -> Result<Typed, SqlError> {
        if let Some(called) = self.of_hstore(operator, &left, &right) {
            return called;
        }
        if let Some(called) = self.of_json(operator, &left, &right) {
            return called;
        }
        if let Some(called) = self.of_bits(operator, &left, &right) {
            return called;
        }
        if let Some(called) = self.of_networks(operator, &left, &right) {
            return called;
        }
        if let Some(called) = self.of_ranges(operator, &left, &right) {
            return called;
        }
        if let Some(called) = self.of_search(operator, &left, &right) {
            return called;
        }
        if let Some(called) = self.of_arrays(operator, &left, &right) {
            return called;
        }
        if let Some(called) = self.of_similarity(operator, &left, &right) {
            return called;
        }
        if *operator == BinaryOperator::PGStartsWith {
            let is_text = |kind: SqlType| kind.is_text() || kind == SqlType::Unknown;
            let (a, b) = (left.kind(), right.kind());
            return match is_text(a) && is_text(b) {
                true => self.call("starts_with", vec![left, right]),
                false => Err(no_operator("^@", a, b)),
            };
        }
        match arithmetic_of(operator) {
            Some(arithmetic) => self.arithmetic(arithmetic, operator, left, right),
            None if *operator == BinaryOperator::StringConcat => self.concatenate(left, right),
            None if is_of_sets(operator) => Err(self.no_set_operator(operator, &left, &right)),
            None => Err(no_other_operator(operator, left.kind(), right.kind())),
        }
    }

    /// The error of an operator of ranges, arrays and JSON between other types.
    #[cold]
    fn no_set_operator(&self, operator: &BinaryOperator, left: &Typed, right: &Typed) -> SqlError {
        use SqlType::{Tsquery, Unknown};
        let (a, b) = (left.kind(), right.kind());
        if a == Tsquery || b == Tsquery {
            return SqlError::unsupported(format!("the operator {operator} is not supported"));
        }
        // A text is a range or a multirange of the other side's type.
        let is_ambiguous = match operator {
            BinaryOperator::AtArrow => a == Unknown,
            BinaryOperator::ArrowAt => b == Unknown,
            _ => a == Unknown && b == Unknown,
        };
        match is_ambiguous {
            true => ambiguous(operator, a, b),
            false => no_operator(&operator.to_string(), a, b),
        }
    }

    /// Compiles the test that a text matches a regular expression.
    pub(super) fn matches(
        &mut self,
        text: &Tree,
        operator: &BinaryOperator,
        pattern: &Tree,
    ) -> Result<Typed, SqlError> {
        let (ignores_case, negated) = pattern_operator(operator).unwrap_or_default();
        let function = match ignores_case {
            true => Function(&MATCHES_ANY_CASE),
            false => Function(&MATCHES),
        };
        let sides = vec![self.matched(text, "~")?, self.text(pattern, "~")?];
        Ok(boolean(Expr::Call(function, sides), negated))
    }

    /// Compiles the test that a text matches a regular expression of the SQL standard.
    pub(super) fn similar(
        &mut self,
        text: &Tree,
        pattern: &Tree,
        escape: Option<&Tree>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let text = self.matched(text, "~")?;
        let mut parts = vec![self.compile(pattern)?];
        if let Some(escape) = escape {
            parts.push(self.compile(escape)?);
        }
        let pattern = self.call("similar_to_escape", parts)?;
        let call = Expr::Call(Function(&MATCHES), vec![text, pattern.expr]);
        Ok(boolean(call, negated))
    }

    fn concatenate(&mut self, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        if left.kind().element().is_some() || right.kind().element().is_some() {
            return super::array_calls::concatenate(self, left, right);
        }
        if let (SqlType::Bytea, SqlType::Bytea | SqlType::Unknown)
        | (SqlType::Unknown, SqlType::Bytea) = (left.kind(), right.kind())
        {
            return self.call("byteacat", vec![left, right]);
        }
        let (a, b) = (left.kind(), right.kind());
        if !a.is_text() && !b.is_text() {
            return Err(no_operator("||", a, b));
        }
        // As a text, or as a value beside one.
        let has_character = [a, b].contains(&SqlType::OneChar);
        if has_character && a.is_text() && b.is_text() && self.refuses_ambiguity() {
            return Err(ambiguous(&BinaryOperator::StringConcat, a, b));
        }
        let text = TypeSpec::plain(SqlType::Text);
        let left = self.coerce(left, text, Coercion::Explicit)?;
        let right = self.coerce(right, text, Coercion::Explicit)?;
        let sides = Box::new((left, right));
        Ok(Typed::new(
            Expr::Arithmetic(Arithmetic::Concatenate, SqlType::Text, sides),
            SqlType::Text,
        ))
    }

    /// A time moved by a known interval.
    fn shifted(
        &mut self,
        left: &Tree,
        operator: &BinaryOperator,
        interval: &ast::Interval,
    ) -> Result<Typed, SqlError> {
        let value = self.compile(left)?;
        let kind = match value.kind() {
            SqlType::Date => SqlType::Timestamp,
            kind => kind,
        };
        let is_time = matches!(
            kind,
            SqlType::Timestamp | SqlType::Timestamptz | SqlType::Time
        );
        let span = match operator {
            BinaryOperator::Plus if is_time => interval_of(interval, self.is_of_kept_text())?,
            BinaryOperator::Minus if is_time => {
                interval_of(interval, self.is_of_kept_text())?.negated()?
            }
            _ => {
                let interval = self.interval(interval)?;
                return self.combined(value, operator, interval);
            }
        };
        let moved = Expr::Shift(Box::new(value.expr), span, kind);
        // Months and days count in the session's time zone.
        let is_utc = self.parameters.zone().is_none() || kind != SqlType::Timestamptz;
        let moved = if is_utc { folded(moved) } else { moved };
        Ok(Typed::new(moved, kind))
    }

    pub(super) fn arithmetic(
        &mut self,
        operation: Arithmetic,
        operator: &BinaryOperator,
        mut left: Typed,
        mut right: Typed,
    ) -> Result<Typed, SqlError> {
        use SqlType::{Date, Int4, Unknown};
        if let Some(called) = self.of_times(operation, &left, &right) {
            return called;
        }
        let wrong = |left: SqlType, right: SqlType| no_operator(&operator.to_string(), left, right);
        let is_shift = matches!(operation, Arithmetic::ShiftLeft | Arithmetic::ShiftRight);
        // An operand without a type gets that of the other side.
        match (left.kind(), right.kind()) {
            (Unknown, Unknown) if operation == Arithmetic::Power => {
                left = self.as_type(left, SqlType::Float8)?;
                right = self.as_type(right, SqlType::Float8)?;
            }
            (Unknown, Unknown) => {
                return Err(not_unique(operator));
            }
            // Days and intervals are added to it.
            (Unknown, SqlType::Timetz) | (SqlType::Timetz, Unknown)
                if operation == Arithmetic::Add =>
            {
                return Err(ambiguous(operator, left.kind(), right.kind()));
            }
            // Days are added to numbers, intervals and times.
            (Unknown, Date) | (Date, Unknown)
                if operation == Arithmetic::Add && self.refuses_ambiguity() =>
            {
                return Err(ambiguous(operator, left.kind(), right.kind()));
            }
            (Unknown, Date) | (Date, Unknown)
                if operation != Arithmetic::Subtract && self.refuses_ambiguity() =>
            {
                return Err(wrong(left.kind(), right.kind()));
            }
            (Date, Unknown) if operation != Arithmetic::Subtract => {
                right = self.as_type(right, Int4)?;
            }
            // The places by which bits are shifted are an integer, of whatever type the bits are.
            (known, Unknown) if is_shift && known.is_integer() && self.refuses_ambiguity() => {
                right = self.as_type(right, Int4)?;
            }
            (Unknown, known) if known.is_number() || known == Date => {
                left = self.as_type(left, known)?;
            }
            (known, Unknown) if known.is_number() || known == Date => {
                right = self.as_type(right, known)?;
            }
            _ => {}
        }
        let sides = |left: Typed, right: Typed| Box::new((left.expr, right.expr));
        // Tables and views keep days and places of wider types, which earlier versions took.
        let is_kept = !self.refuses_ambiguity();
        let is_count = |kind| matches!(kind, SqlType::Int2 | Int4) || is_kept;
        match (left.kind(), operation, right.kind()) {
            (Date, Arithmetic::Subtract, Date) => {
                let sides = sides(left, right);
                let expr = Expr::Arithmetic(Arithmetic::DateDifference, Int4, sides);
                return Ok(Typed::new(folded(expr), Int4));
            }
            (Date, Arithmetic::Add | Arithmetic::Subtract, days)
                if days.is_integer() && is_count(days) =>
            {
                let operation = match operation {
                    Arithmetic::Add => Arithmetic::DateAdd,
                    _ => Arithmetic::DateSubtract,
                };
                let expr = Expr::Arithmetic(operation, Date, sides(left, right));
                return Ok(Typed::new(folded(expr), Date));
            }
            (days, Arithmetic::Add, Date) if days.is_integer() && is_count(days) => {
                let expr = Expr::Arithmetic(Arithmetic::DateAdd, Date, sides(left, right));
                return Ok(Typed::new(folded(expr), Date));
            }
            _ => {}
        }
        let (a, b) = (left.kind(), right.kind());
        // Tables and views keep arithmetic of numbers of objects, which earlier versions had.
        let is_of_object = is_number_of(a) || is_number_of(b);
        if !a.is_number() || !b.is_number() || is_of_object && !is_kept || is_shift && !is_count(b)
        {
            return Err(wrong(a, b));
        }
        let rank = |kind| match kind {
            SqlType::Int2 => 0,
            SqlType::Int4 | SqlType::Oid => 1,
            kind if kind.is_object() => 1,
            SqlType::Int8 => 2,
            SqlType::Numeric => 3,
            SqlType::Float4 => 4,
            _ => 5,
        };
        let mut kind = if rank(a) >= rank(b) { a } else { b };
        let is_whole = kind.is_integer();
        kind = match (operation, is_whole) {
            (Arithmetic::Power, true) => SqlType::Float8,
            (Arithmetic::Power, false) if kind == SqlType::Float4 => SqlType::Float8,
            (Arithmetic::Modulo, false) if rank(kind) > 3 => return Err(wrong(a, b)),
            (
                Arithmetic::And
                | Arithmetic::Or
                | Arithmetic::Xor
                | Arithmetic::ShiftLeft
                | Arithmetic::ShiftRight,
                false,
            ) => return Err(wrong(a, b)),
            // The count's type does not widen the shifted operand.
            (Arithmetic::ShiftLeft | Arithmetic::ShiftRight, true) => a,
            // A float beside another number is a double.
            _ if kind == SqlType::Float4 && a != b => SqlType::Float8,
            _ => kind,
        };
        let expr = Expr::Arithmetic(operation, kind, sides(left, right));
        Ok(Typed::new(folded(expr), kind))
    }

    pub(super) fn as_type(&mut self, typed: Typed, kind: SqlType) -> Result<Typed, SqlError> {
        let spec = TypeSpec::plain(kind);
        let expr = self.coerce(typed, spec, Coercion::Implicit)?;
        Ok(Typed { expr, spec })
    }
}

/// The number of `-1`, with parentheses around it.
fn negated_number(tree: &Tree) -> Option<&Tree> {
    match tree {
        Tree::Nested(inner) => negated_number(inner),
        Tree::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match &**expr {
            Tree::Value(value) => matches!(value.value, ast::Value::Number(..)).then_some(&**expr),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn negative_literal(digits: &str) -> Result<Typed, SqlError> {
    let positive = literal_value(&ast::Value::Number(digits.to_string(), false))?;
    Ok(match positive.expr {
        Expr::Literal(Value::Int(value)) => {
            let fits = i32::try_from(-value).is_ok();
            let kind = if fits { SqlType::Int4 } else { SqlType::Int8 };
            Typed::new(Expr::Literal(Value::Int(-value)), kind)
        }
        Expr::Literal(Value::Decimal(units, 0)) if i64::try_from(-units).is_ok() => {
            Typed::new(Expr::Literal(Value::Int(-units)), SqlType::Int8)
        }
        Expr::Literal(Value::Decimal(units, scale)) => Typed::new(
            Expr::Literal(Value::Decimal(-units, scale)),
            SqlType::Numeric,
        ),
        Expr::Literal(Value::Float(value)) => {
            Typed::new(Expr::Literal(Value::Float(-value)), SqlType::Float8)
        }
        expr => Typed::new(
            Expr::Negate(positive.spec.kind, Box::new(expr)),
            positive.spec.kind,
        ),
    })
}

fn arithmetic_of(operator: &BinaryOperator) -> Option<Arithmetic> {
    Some(match operator {
        BinaryOperator::Plus => Arithmetic::Add,
        BinaryOperator::Minus => Arithmetic::Subtract,
        BinaryOperator::Multiply => Arithmetic::Multiply,
        BinaryOperator::Divide => Arithmetic::Divide,
        BinaryOperator::Modulo => Arithmetic::Modulo,
        BinaryOperator::PGExp => Arithmetic::Power,
        BinaryOperator::BitwiseAnd => Arithmetic::And,
        BinaryOperator::BitwiseOr => Arithmetic::Or,
        BinaryOperator::PGBitwiseXor => Arithmetic::Xor,
        BinaryOperator::PGBitwiseShiftLeft => Arithmetic::ShiftLeft,
        BinaryOperator::PGBitwiseShiftRight => Arithmetic::ShiftRight,
        _ => return None,
    })
}

/// True for an operator of ranges, arrays and JSON.
fn is_of_sets(operator: &BinaryOperator) -> bool {
    matches!(
        operator,
        BinaryOperator::AtArrow | BinaryOperator::ArrowAt | BinaryOperator::PGOverlap
    )
}

/// For an operator that `LIKE` or `ILIKE` is: true for the latter, and true if it is negated.
fn like_of(operator: &BinaryOperator) -> Option<(bool, bool)> {
    match operator {
        BinaryOperator::PGLikeMatch => Some((false, false)),
        BinaryOperator::PGILikeMatch => Some((true, false)),
        BinaryOperator::PGNotLikeMatch => Some((false, true)),
        BinaryOperator::PGNotILikeMatch => Some((true, true)),
        _ => None,
    }
}
