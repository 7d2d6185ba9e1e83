//! Calls of window functions, compiled: the function, the window that `OVER` defines or names, and the frame.
//!
//! A compiler knows the window functions of its query ([`Compiler::windowed`]) only where they are allowed: in the list
//! of `SELECT`, in `ORDER BY` and `DISTINCT ON`. They are not allowed in each other, nor in the definition of a window.

use super::cast::Coercion;
use super::comparable::{distinguishable, sortable};
use super::compile::Compiler;
use super::functions::unknown;
use super::trees::parts_of_function;
use super::{Expr, Typed};
use crate::aggregate::{Aggregate, OrderedSet};
use crate::error::{SqlError, code};
use crate::expression::sort_key;
use crate::expression::window::{
    Bound, Frame, FrameUnit, RangeKey, Window, WindowCall, WindowFunction, Windows,
};
use crate::names::{function_name, name_of};
use crate::parse::{Excluded, excluded};
use crate::types::{SqlType, TypeSpec};
use sqlparser::ast::{
    self, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArguments, NamedWindowDefinition,
    NamedWindowExpr, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};
use std::borrow::Cow;

fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(code::WINDOWING, message.into())
}

impl<'a> Compiler<'a> {
    /// Adds the window functions of the query.
    pub fn windowed(mut self, windows: &'a mut Windows) -> Self {
        self.windows = Some(windows);
        self
    }

    /// Compiles a part in which no window function is allowed.
    ///
    /// # Errors
    /// The error of `compile`; `42P20` for a window function.
    pub fn without_windows<R>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let windows = self.windows.take();
        let compiled = compile(self);
        self.windows = windows;
        compiled
    }

    /// Compiles the windows that `WINDOW` names.
    ///
    /// # Errors
    /// An error in them; `42P20` if a name is given twice.
    pub fn name_windows(&mut self, definitions: &[NamedWindowDefinition]) -> Result<(), SqlError> {
        let mut named: Vec<(String, Window)> = Vec::with_capacity(definitions.len());
        for NamedWindowDefinition(name, definition) in definitions {
            let name = name_of(name);
            if named.iter().any(|(there, _)| *there == name) {
                return Err(wrong(format!("window \"{name}\" is already defined")));
            }
            let NamedWindowExpr::WindowSpec(spec) = definition else {
                return Err(SqlError::syntax("a window is defined in parentheses"));
            };
            let window = self.without_windows(|compiler| {
                compiler.without_rows(|compiler| compiler.window_of(spec, &named))
            })?;
            named.push((name, window));
        }
        if let Some(windows) = &mut self.windows {
            windows.named = named;
        }
        Ok(())
    }

    /// The place of a window function's value.
    pub(super) fn window(
        &mut self,
        function: &ast::Function,
        over: &WindowType,
    ) -> Result<Typed, SqlError> {
        if self.is_trying {
            return Err(wrong("a window function is no key"));
        }
        let Some(windows) = self.windows.take() else {
            return Err(wrong("window functions are not allowed here"));
        };
        let compiled =
            self.without_rows(|compiler| compiler.window_call(function, over, &windows.named));
        let placed = compiled.map(|(call, spec)| windows.add(call, spec));
        self.windows = Some(windows);
        placed
    }

    fn window_call(
        &mut self,
        function: &ast::Function,
        over: &WindowType,
        named: &[(String, Window)],
    ) -> Result<(WindowCall, TypeSpec), SqlError> {
        let name = function_name(function)?;
        if function.null_treatment.is_some() || !function.within_group.is_empty() {
            return Err(SqlError::unsupported(format!(
                "this form of a window function is not supported: {function}"
            )));
        }
        if OrderedSet::of(function, &name).is_some() {
            let mut kinds = Vec::new();
            for tree in parts_of_function(function) {
                kinds.push(self.compile(tree)?.kind());
            }
            return Err(unknown(&name, &kinds));
        }
        let (kind, arguments, spec) = match Aggregate::named(&name) {
            Some(named) => {
                let aggregate = self.aggregate_call(named, function)?;
                if aggregate.is_distinct || !aggregate.order.is_empty() {
                    return Err(SqlError::unsupported(
                        "DISTINCT and ORDER BY inside of a window function are not supported",
                    ));
                }
                let spec = aggregate.result_spec();
                let kind = WindowFunction::Aggregate(Box::new(aggregate));
                (kind, Vec::new(), spec)
            }
            None => self.own_function(&name, function)?,
        };
        let window = match over {
            WindowType::NamedWindow(name) => named_window(&name_of(name), named)?.clone(),
            WindowType::WindowSpec(spec) => {
                self.beside(|compiler| compiler.window_of(spec, named))?
            }
        };
        let window = Window {
            values: Vec::new(),
            ..window
        };
        let call = WindowCall {
            function: kind,
            arguments,
            window,
        };
        Ok((call, spec))
    }

    /// A window function that is no aggregate, with its arguments and the type of its result.
    fn own_function(
        &mut self,
        name: &str,
        function: &ast::Function,
    ) -> Result<(WindowFunction, Vec<Expr>, TypeSpec), SqlError> {
        let Some(kind) = WindowFunction::named(name) else {
            // An error of the call without a window goes first.
            let plain = ast::Function {
                over: None,
                ..function.clone()
            };
            self.function(&plain)?;
            return Err(SqlError::new(
                code::WRONG_OBJECT_TYPE,
                format!(
                    "OVER specified, but {name} is not a window function nor an aggregate function"
                ),
            ));
        };
        let filter = self.filter_of(function)?;
        let mut arguments = Vec::new();
        if let FunctionArguments::List(list) = &function.args {
            if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
                return Err(SqlError::unsupported(format!(
                    "clauses inside of window functions are not supported: {function}"
                )));
            }
            for argument in &list.args {
                let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) = argument else {
                    return Err(SqlError::unsupported(format!(
                        "the argument {argument} of {name} is not supported"
                    )));
                };
                arguments.push(self.compile(tree)?);
            }
        }
        let typed = self.typed_function(name, kind, arguments)?;
        match filter {
            None => Ok(typed),
            Some(_) => Err(SqlError::unsupported(
                "FILTER is not supported for window functions that are no aggregates",
            )),
        }
    }

    fn typed_function(
        &mut self,
        name: &str,
        kind: WindowFunction,
        arguments: Vec<Typed>,
    ) -> Result<(WindowFunction, Vec<Expr>, TypeSpec), SqlError> {
        use WindowFunction as W;
        let whole = TypeSpec::plain(SqlType::Int4);
        let count = arguments.len();
        let kinds: Vec<&str> = arguments.iter().map(|one| one.kind().name()).collect();
        let unknown = || {
            SqlError::new(
                code::UNKNOWN_FUNCTION,
                format!("function {name}({}) does not exist", kinds.join(", ")),
            )
        };
        let mut rest = arguments.into_iter();
        let (arguments, spec) = match (&kind, count, rest.next()) {
            (W::RowNumber | W::Rank | W::DenseRank, 0, None) => {
                (Vec::new(), TypeSpec::plain(SqlType::Int8))
            }
            // With arguments they are aggregates of an ordered set.
            (W::Rank | W::DenseRank | W::PercentRank | W::CumulativeDistribution, 1.., _) => {
                let text = format!("WITHIN GROUP is required for ordered-set aggregate {name}");
                return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text));
            }
            (W::PercentRank | W::CumulativeDistribution, 0, None) => {
                (Vec::new(), TypeSpec::plain(SqlType::Float8))
            }
            (W::Buckets, 1, Some(buckets)) => {
                let buckets = self.coerce(buckets, whole, Coercion::Implicit);
                (vec![buckets.map_err(|_| unknown())?], whole)
            }
            (W::FirstValue | W::LastValue, 1, Some(value)) => {
                let value = self.as_decided(value)?;
                (vec![value.expr], value.spec)
            }
            (W::NthValue, 2, Some(value)) | (W::Lag | W::Lead, 1..=3, Some(value)) => {
                let number = match rest.next() {
                    Some(number) => {
                        let number = self.coerce(number, whole, Coercion::Implicit);
                        number.map_err(|_| unknown())?
                    }
                    None => Expr::Literal(sardonyx::schema::Value::Int(1)),
                };
                match rest.next() {
                    Some(default) => {
                        let unified = self.unified(vec![value, default], name);
                        let (mut values, spec) = unified.map_err(|_| unknown())?;
                        values.insert(1, number);
                        (values, spec)
                    }
                    None => {
                        let value = self.as_decided(value)?;
                        (vec![value.expr, number], value.spec)
                    }
                }
            }
            _ => return Err(unknown()),
        };
        Ok((kind, arguments, spec))
    }

    fn window_of(
        &mut self,
        spec: &WindowSpec,
        named: &[(String, Window)],
    ) -> Result<Window, SqlError> {
        let mut window = match &spec.window_name {
            Some(name) => named_window(&name_of(name), named)?.clone(),
            None => Window::default(),
        };
        if let Some(name) = &spec.window_name {
            let refused = |what: &str| {
                let name = name_of(name);
                Err(wrong(format!(
                    "cannot override {what} of window \"{name}\""
                )))
            };
            if window.frame.is_some() {
                return Err(wrong(format!(
                    "cannot copy window \"{}\" because it has a frame clause",
                    name_of(name)
                )));
            }
            if !spec.partition_by.is_empty() {
                return refused("PARTITION BY clause");
            }
            if !spec.order_by.is_empty() && !window.order.is_empty() {
                return refused("ORDER BY clause");
            }
        }
        for tree in &spec.partition_by {
            window.partition.push(distinguishable(self.decided(tree)?)?);
        }
        for by in &spec.order_by {
            let typed = self.decided(&by.expr)?;
            window.values.push(typed.clone());
            window.order.push(sort_key(sortable(typed)?, by)?);
        }
        window.frame = match &spec.window_frame {
            Some(frame) => Some(self.frame(frame, &window)?),
            None => None,
        };
        Ok(window)
    }

    fn frame(&mut self, frame: &WindowFrame, window: &Window) -> Result<Frame, SqlError> {
        use WindowFrameBound as B;
        let end = frame.end_bound.as_ref().unwrap_or(&B::CurrentRow);
        let (end, excluded) = match excluded(end) {
            Some((end, rows)) => (Cow::Owned(end), rows),
            None => (Cow::Borrowed(end), Excluded::Nothing),
        };
        let refused = match (&frame.start_bound, &*end) {
            (B::Following(None), _) => Some("frame start cannot be UNBOUNDED FOLLOWING"),
            (_, B::Preceding(None)) => Some("frame end cannot be UNBOUNDED PRECEDING"),
            (B::CurrentRow, B::Preceding(_)) => {
                Some("frame starting from current row cannot have preceding rows")
            }
            (B::Following(_), B::Preceding(_) | B::CurrentRow) => {
                Some("frame starting from following row cannot have preceding rows")
            }
            _ => None,
        };
        if let Some(why) = refused {
            return Err(wrong(why));
        }
        let has_offset = |bound: &B| matches!(bound, B::Preceding(Some(_)) | B::Following(Some(_)));
        let unit = match frame.units {
            WindowFrameUnits::Rows => FrameUnit::Rows,
            WindowFrameUnits::Range => FrameUnit::Range,
            WindowFrameUnits::Groups if window.order.is_empty() => {
                return Err(wrong("GROUPS mode requires an ORDER BY clause"));
            }
            WindowFrameUnits::Groups => FrameUnit::Groups,
        };
        let has_distance = has_offset(&frame.start_bound) || has_offset(&end);
        let range = match (window.order.as_slice(), window.values.as_slice()) {
            _ if unit != FrameUnit::Range || !has_distance => None,
            ([by], [key]) => Some(RangeKey {
                expr: key.expr.clone(),
                kind: key.kind(),
                descending: by.descending,
                nulls_first: by.nulls_first,
            }),
            _ => {
                return Err(wrong(
                    "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                ));
            }
        };
        let kind = range.as_ref().map(|key| key.kind);
        Ok(Frame {
            unit,
            start: self.bound(&frame.start_bound, frame.units, kind)?,
            end: self.bound(&end, frame.units, kind)?,
            excluded,
            range,
        })
    }

    fn bound(
        &mut self,
        bound: &WindowFrameBound,
        unit: WindowFrameUnits,
        of: Option<SqlType>,
    ) -> Result<Bound, SqlError> {
        let mut offset = |tree: &Tree| self.offset(tree, unit, of);
        Ok(match bound {
            WindowFrameBound::CurrentRow => Bound::Current,
            WindowFrameBound::Preceding(None) => Bound::First,
            WindowFrameBound::Following(None) => Bound::Last,
            WindowFrameBound::Preceding(Some(tree)) => Bound::Preceding(offset(tree)?),
            WindowFrameBound::Following(Some(tree)) => Bound::Following(offset(tree)?),
        })
    }

    /// The offset of a bound; `of` is the type of the key whose distance counts.
    fn offset(
        &mut self,
        tree: &Tree,
        unit: WindowFrameUnits,
        of: Option<SqlType>,
    ) -> Result<Expr, SqlError> {
        // The parser takes such a text for an interval.
        let offset = match tree {
            Tree::Interval(interval) if interval.leading_field.is_none() => {
                self.compile(&interval.value)?
            }
            _ => self.compile(tree)?,
        };
        if offset.expr.any(&|part| matches!(part, Expr::Column(_))) {
            return Err(SqlError::new(
                code::INVALID_COLUMN_REFERENCE,
                format!("argument of {unit} must not contain variables"),
            ));
        }
        let Some(of) = of else {
            return self.coerce(offset, TypeSpec::plain(SqlType::Int8), Coercion::Implicit);
        };
        let to = distance_of(of)?;
        let kind = offset.kind();
        let is_known = match to {
            SqlType::Int8 => kind.is_integer(),
            SqlType::Numeric => kind.is_integer() || kind == SqlType::Numeric,
            SqlType::Float8 => kind.is_number(),
            to => kind == to,
        };
        if kind != SqlType::Unknown && !is_known {
            return Err(SqlError::unsupported(format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {} and offset type {}",
                of.name(),
                kind.name()
            ))
            .hint("Cast the offset value to an appropriate type."));
        }
        self.coerce(offset, TypeSpec::plain(to), Coercion::Implicit)
    }
}

/// The type of distances of values of a type.
///
/// # Errors
/// `0A000` if it has none.
fn distance_of(kind: SqlType) -> Result<SqlType, SqlError> {
    Ok(match kind {
        kind if kind.is_integer() => SqlType::Int8,
        SqlType::Numeric => SqlType::Numeric,
        SqlType::Float4 | SqlType::Float8 => SqlType::Float8,
        SqlType::Date
        | SqlType::Time
        | SqlType::Timetz
        | SqlType::Timestamp
        | SqlType::Timestamptz
        | SqlType::Interval => SqlType::Interval,
        other => {
            return Err(SqlError::unsupported(format!(
                "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
                other.name()
            )));
        }
    })
}

fn named_window<'w>(name: &str, named: &'w [(String, Window)]) -> Result<&'w Window, SqlError> {
    let found = named.iter().find(|(there, _)| there == name);
    found.map(|(_, window)| window).ok_or_else(|| {
        SqlError::new(
            code::UNKNOWN_OBJECT,
            format!("window \"{name}\" does not exist"),
        )
    })
}
