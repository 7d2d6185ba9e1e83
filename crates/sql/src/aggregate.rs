//! Aggregates: their functions and types, and the grouping of rows.

mod collected;
mod moments;
mod ordered_set;
mod pairs;
mod running;

pub(crate) use moments::Spread;
pub(crate) use ordered_set::OrderedSet;
pub(crate) use pairs::Pair;
pub(crate) use running::Accumulator;

use crate::error::{SqlError, code};
use crate::expression::{Case, Comparison, Expr, SortKey, Typed, is_row};
use crate::types::{Collation, NamedCollation, SqlType, TypeSpec};
use crate::values::arrays;
use crate::values::cast::is_number_of;
use sardonyx::schema::Value;
use sqlparser::ast::{self, Expr as Tree};
use std::mem::{Discriminant, discriminant};

/// The function of an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AggregateKind {
    Count,
    Sum,
    Average,
    Minimum,
    Maximum,
    BoolAnd,
    BoolOr,
    BitAnd,
    BitOr,
    BitXor,
    /// Variance or standard deviation.
    Spread(Spread),
    /// `string_agg`: texts with a separator between them.
    Texts,
    /// `array_agg`
    Array,
    /// `json_agg`
    JsonArray,
    /// `json_object_agg`: the names take the place of separators.
    JsonObject,
    /// Covariance and similar of two floats: the second one takes the place of the separator.
    Pair(Pair),
    /// With `WITHIN GROUP`.
    OrderedSet {
        set: OrderedSet,
        /// True if a fraction is an array of fractions, and so is the result.
        is_array: bool,
    },
}

/// Aggregates by name, each with a line for people.
pub(crate) const AGGREGATES: [(&str, AggregateKind, &str); 35] = {
    use AggregateKind as Kind;
    const fn spread(of_sample: bool, is_root: bool) -> Kind {
        Kind::Spread(Spread { of_sample, is_root })
    }
    [
        ("array_agg", Kind::Array, "the values as an array"),
        ("avg", Kind::Average, "arithmetic mean"),
        ("bit_and", Kind::BitAnd, "the bits that all have"),
        ("bit_or", Kind::BitOr, "the bits that one has"),
        ("bit_xor", Kind::BitXor, "the bits that an odd number has"),
        ("bool_and", Kind::BoolAnd, "true if all are true"),
        ("bool_or", Kind::BoolOr, "true if one is true"),
        (
            "corr",
            Kind::Pair(Pair::Correlation),
            "correlation of two numbers",
        ),
        (
            "count",
            Kind::Count,
            "number of rows, or of values that are not null",
        ),
        (
            "covar_pop",
            Kind::Pair(Pair::CovariancePopulation),
            "covariance, of all",
        ),
        (
            "covar_samp",
            Kind::Pair(Pair::CovarianceSample),
            "covariance, estimated of a sample",
        ),
        ("every", Kind::BoolAnd, "true if all are true"),
        (
            "json_agg",
            Kind::JsonArray,
            "the values as an array of JSON",
        ),
        (
            "json_object_agg",
            Kind::JsonObject,
            "names and values as an object of JSON",
        ),
        (
            "jsonb_agg",
            Kind::JsonArray,
            "the values as an array of `jsonb`",
        ),
        (
            "jsonb_object_agg",
            Kind::JsonObject,
            "names and values as an object of `jsonb`",
        ),
        ("max", Kind::Maximum, "greatest value"),
        ("min", Kind::Minimum, "least value"),
        (
            "regr_avgx",
            Kind::Pair(Pair::MeanX),
            "mean of the second number, where both are not null",
        ),
        (
            "regr_avgy",
            Kind::Pair(Pair::MeanY),
            "mean of the first number, where both are not null",
        ),
        (
            "regr_count",
            Kind::Pair(Pair::Count),
            "number of rows where both numbers are not null",
        ),
        (
            "regr_intercept",
            Kind::Pair(Pair::Intercept),
            "the first number at zero of the second, on the line that is nearest to all",
        ),
        (
            "regr_r2",
            Kind::Pair(Pair::Determination),
            "square of the correlation",
        ),
        (
            "regr_slope",
            Kind::Pair(Pair::Slope),
            "slope of the line that is nearest to all",
        ),
        (
            "regr_sxx",
            Kind::Pair(Pair::SquaresX),
            "sum of squares of the second number's distances from its mean",
        ),
        (
            "regr_sxy",
            Kind::Pair(Pair::Products),
            "sum of products of both numbers' distances from their means",
        ),
        (
            "regr_syy",
            Kind::Pair(Pair::SquaresY),
            "sum of squares of the first number's distances from its mean",
        ),
        ("stddev", spread(true, true), "as stddev_samp"),
        (
            "stddev_pop",
            spread(false, true),
            "standard deviation, of all",
        ),
        (
            "stddev_samp",
            spread(true, true),
            "standard deviation, estimated of a sample",
        ),
        (
            "string_agg",
            Kind::Texts,
            "the texts with a separator between them",
        ),
        ("sum", Kind::Sum, "sum"),
        ("var_pop", spread(false, false), "variance, of all"),
        (
            "var_samp",
            spread(true, false),
            "variance, estimated of a sample",
        ),
        ("variance", spread(true, false), "as var_samp"),
    ]
};

/// An aggregate, and its name in the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub name: &'static str,
    pub kind: AggregateKind,
}

impl Named {
    pub const COUNT: Named = Named {
        name: "count",
        kind: AggregateKind::Count,
    };
}

/// An aggregate of a statement.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Aggregate {
    pub kind: AggregateKind,
    /// The name in the call.
    pub name: &'static str,
    /// `None` for `count(*)`.
    pub argument: Option<Expr>,
    /// The argument's type.
    pub of: SqlType,
    pub result: SqlType,
    /// The modifier of the argument, which `min` and `max` keep.
    modifier: i32,
    /// The collation of the argument.
    collation: Collation,
    pub is_distinct: bool,
    pub filter: Option<Expr>,
    /// The separator of [`AggregateKind::Texts`].
    pub separator: Option<Expr>,
    /// The order in which values are combined.
    pub order: Vec<SortKey>,
    /// The arguments of [`AggregateKind::OrderedSet`] before `WITHIN GROUP`.
    pub direct: Vec<Expr>,
}

impl Aggregate {
    pub fn named(name: &str) -> Option<Named> {
        let found = AGGREGATES.iter().find(|(known, ..)| *known == name);
        found.map(|(name, kind, _)| Named { name, kind: *kind })
    }

    /// The aggregate of a function's name.
    pub fn called(function: &ast::Function, name: &str) -> Option<Named> {
        match OrderedSet::of(function, name) {
            Some((name, set)) => Some(Named {
                name,
                kind: AggregateKind::OrderedSet {
                    set,
                    is_array: false,
                },
            }),
            None => Aggregate::named(name),
        }
    }

    /// An aggregate of an argument, or of rows.
    ///
    /// # Errors
    /// `42883` if there is none for the argument's type.
    pub fn new(
        Named { name, kind }: Named,
        argument: Option<Typed>,
        is_distinct: bool,
        filter: Option<Expr>,
    ) -> Result<Aggregate, SqlError> {
        let of = argument.as_ref().map_or(SqlType::Void, Typed::kind);
        let modifier = match (kind, of, &argument) {
            (AggregateKind::Minimum | AggregateKind::Maximum, SqlType::Char, Some(argument)) => {
                argument.spec.modifier
            }
            _ => -1,
        };
        let collation = argument.as_ref().map(|argument| argument.spec.collation);
        let collation = collation.unwrap_or_default();
        if let AggregateKind::Minimum | AggregateKind::Maximum = kind
            && let Some(name) = collation.icu()?
            && of.element().is_some()
        {
            return Err(name.unknown_to("arrays"));
        }
        let result = match (kind, of) {
            (AggregateKind::Count, _) => SqlType::Int8,
            (AggregateKind::Sum | AggregateKind::Average, SqlType::Interval) => of,
            (AggregateKind::Sum, SqlType::Int2 | SqlType::Int4) => SqlType::Int8,
            (AggregateKind::Sum, SqlType::Int8 | SqlType::Numeric) => SqlType::Numeric,
            (AggregateKind::Average, SqlType::Float4 | SqlType::Float8) => SqlType::Float8,
            (AggregateKind::Average, of) if of.is_number() && !is_number_of(of) => SqlType::Numeric,
            (AggregateKind::Sum, SqlType::Float4 | SqlType::Float8) => of,
            (
                AggregateKind::Minimum | AggregateKind::Maximum,
                SqlType::Varchar | SqlType::Name | SqlType::OneChar,
            ) => SqlType::Text,
            (AggregateKind::Minimum | AggregateKind::Maximum, SqlType::Cidr) => SqlType::Inet,
            (AggregateKind::Minimum | AggregateKind::Maximum, of) if of.is_object() => SqlType::Oid,
            (AggregateKind::Minimum | AggregateKind::Maximum, of)
                if !matches!(
                    of,
                    SqlType::Void | SqlType::Json | SqlType::Jsonb | SqlType::Composite(_)
                ) && !of.is_record()
                    && !of.is_range()
                    && !of.is_bits()
                    && !of.is_form() =>
            {
                of
            }
            (AggregateKind::BoolAnd | AggregateKind::BoolOr, SqlType::Bool) => of,
            (
                AggregateKind::BitAnd | AggregateKind::BitOr | AggregateKind::BitXor,
                SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Bit,
            ) => of,
            (AggregateKind::Spread(_), SqlType::Float4 | SqlType::Float8) => SqlType::Float8,
            (
                AggregateKind::Spread(_),
                SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Numeric,
            ) => SqlType::Numeric,
            (AggregateKind::Texts, SqlType::Bytea) => SqlType::Bytea,
            (AggregateKind::Texts, of) if of.is_text() => SqlType::Text,
            (AggregateKind::Pair(pair), SqlType::Float8) => pair.result(),
            (AggregateKind::Array, of) if of != SqlType::Void => arrays::array_kind(of),
            (AggregateKind::JsonArray | AggregateKind::JsonObject, of) if of != SqlType::Void => {
                match name.starts_with("jsonb") {
                    true => SqlType::Jsonb,
                    false => SqlType::Json,
                }
            }
            (AggregateKind::OrderedSet { set, is_array }, of)
                if let Some(result) = set.result(of) =>
            {
                match is_array {
                    true => arrays::array_kind(result),
                    false => result,
                }
            }
            _ => {
                return Err(SqlError::new(
                    code::UNKNOWN_FUNCTION,
                    format!("function {name}({}) does not exist", of.name()),
                ));
            }
        };
        Ok(Aggregate {
            kind,
            name,
            argument: argument.map(|argument| argument.expr),
            of,
            result,
            modifier,
            collation,
            is_distinct,
            filter,
            separator: None,
            order: Vec::new(),
            direct: Vec::new(),
        })
    }

    pub fn result_spec(&self) -> TypeSpec {
        let spec = TypeSpec::new(self.result, self.modifier);
        match self.result.is_collatable() {
            true => spec.with_collation(self.collation),
            false => spec,
        }
    }

    /// The collation by which texts are compared.
    pub fn collation(&self) -> NamedCollation {
        self.collation.name()
    }

    /// The expressions over the rows.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        let parts = self.argument.iter().chain(&self.filter);
        let order = self.order.iter().map(|key| &key.expression);
        let parts = parts.chain(&self.separator).chain(order);
        parts.chain(&self.direct)
    }

    /// Calls `each` with every expression over the rows.
    pub fn each_part(&mut self, each: &mut dyn FnMut(&mut Expr)) {
        self.argument.iter_mut().for_each(&mut *each);
        self.filter.iter_mut().for_each(&mut *each);
        self.separator.iter_mut().for_each(&mut *each);
        self.direct.iter_mut().for_each(&mut *each);
        for key in &mut self.order {
            each(&mut key.expression);
        }
    }

    /// True if aggregates of consecutive rows can be merged into the aggregate of all: the order of values does not
    /// matter.
    pub fn is_mergeable(&self) -> bool {
        let adds = matches!(self.kind, AggregateKind::Sum | AggregateKind::Average);
        let is_float = matches!(self.of, SqlType::Float4 | SqlType::Float8);
        let spreads = matches!(self.kind, AggregateKind::Spread(_) | AggregateKind::Pair(_));
        !(self.is_distinct
            || self.takes_in_order()
            || self.collects()
            || spreads
            || adds && is_float)
    }

    /// True if the result depends on the order of the values, and that is not the order of the rows: of floats, which are rounded
    /// at each step, and of the last one of those that are equal.
    fn takes_in_order(&self) -> bool {
        let is_float = matches!(self.of, SqlType::Float4 | SqlType::Float8);
        let depends = match self.kind {
            AggregateKind::Pair(pair) => pair != Pair::Count,
            AggregateKind::Sum | AggregateKind::Average | AggregateKind::Spread(_) => is_float,
            AggregateKind::Minimum | AggregateKind::Maximum => !self.order.is_empty(),
            _ => false,
        };
        depends && (self.is_distinct || !self.order.is_empty())
    }

    /// True for the sum or the average of numbers without `DISTINCT`.
    fn sums_numbers(&self) -> bool {
        let is_sum = matches!(self.kind, AggregateKind::Sum | AggregateKind::Average);
        is_sum && self.of == SqlType::Numeric && !self.is_distinct
    }

    /// True if values are combined, so that nulls and their order matter.
    fn collects(&self) -> bool {
        matches!(
            self.kind,
            AggregateKind::Texts
                | AggregateKind::Array
                | AggregateKind::JsonArray
                | AggregateKind::JsonObject
                | AggregateKind::OrderedSet { .. }
        )
    }

    /// True if nulls among the values are left out.
    fn skips_nulls(&self) -> bool {
        match self.kind {
            AggregateKind::Texts => true,
            AggregateKind::OrderedSet { set, .. } => !set.ranks(),
            _ => !self.collects(),
        }
    }
}

/// A grouping of rows by keys, with aggregates. A group's row has the keys first.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Grouping {
    pub keys: Vec<Typed>,
    /// The keys as the statement writes them.
    trees: Vec<TreeText>,
    /// The keys that distinguish groups, which come first; the others are equal in all rows of a group.
    pub identities: Vec<Expr>,
    pub aggregates: Vec<Aggregate>,
    /// True if rows of tables are values of groups: the primary key of a table is among the keys.
    pub has_rows: bool,
    /// `GROUPING SETS` and their kin.
    pub sets: Option<KeySets>,
}

/// Several groupings of the same rows, each by some of the keys: the others are null in its groups.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KeySets {
    /// The numbers of the keys of each grouping.
    pub sets: Vec<Vec<usize>>,
    /// The place of the key that has the number of a group's grouping.
    pub place: usize,
}

/// An expression of a statement as text. Trees are equal if their texts are: `==` of the parser's trees would compile
/// that of all its structures.
#[derive(Clone, PartialEq, Debug)]
struct TreeText {
    kind: Discriminant<Tree>,
    text: String,
}

impl TreeText {
    fn of(tree: &Tree) -> Self {
        TreeText {
            kind: discriminant(tree),
            text: tree.to_string(),
        }
    }

    /// Writes no text for a tree of another kind.
    fn is_of(&self, tree: &Tree) -> bool {
        self.kind == discriminant(tree) && self.text == tree.to_string()
    }
}

impl Grouping {
    /// Adds a key.
    pub fn add_key(&mut self, key: Typed, tree: &Tree) {
        self.keys.push(key);
        self.trees.push(TreeText::of(tree));
    }

    /// Groups by values, without the keys' names.
    pub fn by_values(values: Vec<Expr>, aggregates: Vec<Aggregate>) -> Grouping {
        let keys = values.iter().cloned();
        Grouping {
            keys: keys.map(|key| Typed::new(key, SqlType::Void)).collect(),
            trees: Vec::new(),
            identities: values,
            aggregates,
            has_rows: false,
            sets: None,
        }
    }

    /// The expressions over the rows that are grouped.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.keys.iter().map(|key| &key.expr);
        keys.chain(self.aggregates.iter().flat_map(Aggregate::parts))
    }

    /// Calls `each` with every expression over the rows that are grouped.
    pub fn each_expression(&mut self, each: &mut dyn FnMut(&mut Expr)) {
        self.keys.iter_mut().for_each(|key| each(&mut key.expr));
        self.identities.iter_mut().for_each(&mut *each);
        for aggregate in &mut self.aggregates {
            aggregate.each_part(each);
        }
    }

    /// The place of an expression that is a key.
    pub fn key(&self, expression: &Typed) -> Option<Typed> {
        // The number of a grouping is no key of the statement.
        let own = self.sets.as_ref().map(|sets| sets.place);
        let place_of = |expr: &Expr| {
            let mut keys = self.keys.iter().enumerate();
            let found = keys.find(|(at, key)| key.expr == *expr && Some(*at) != own);
            found.map(|(place, _)| place)
        };
        if let Some(place) = place_of(&expression.expr) {
            return Some(Typed {
                expr: Expr::Column(place),
                spec: expression.spec,
            });
        }
        // A row of a table, whose columns are or depend on keys.
        let is_key = |part: &Expr| !matches!(part, Expr::Column(_)) || place_of(part).is_some();
        if !self.has_rows || !is_row(&expression.expr) || expression.expr.any(&|part| !is_key(part))
        {
            return None;
        }
        let mut row = expression.clone();
        row.expr.replace_columns(&|place| {
            let column = Expr::Column(place);
            place_of(&column).map_or(column, Expr::Column)
        });
        Some(row)
    }

    /// The key of an expression, compared as the statement writes it.
    pub fn key_of_tree(&self, tree: &Tree) -> Option<Typed> {
        let place = self.trees.iter().position(|key| key.is_of(tree))?;
        Some(Typed {
            expr: Expr::Column(place),
            spec: self.keys.get(place)?.spec,
        })
    }

    /// The value of `grouping` of some keys, by their places: a bit for each, the lowest for the last. A bit is set if
    /// the row's group is not by the key.
    pub fn bits_of(&self, places: &[usize]) -> Expr {
        let number = |value: i128| Expr::Literal(Value::Int(value));
        let Some(of) = &self.sets else {
            return number(0);
        };
        let bits = |set: &Vec<usize>| {
            let bits = places.iter();
            bits.fold(0, |bits, place| {
                bits << 1 | i128::from(!set.contains(place))
            })
        };
        let bits: Vec<i128> = of.sets.iter().map(bits).collect();
        bits_from(of.place, 0, &bits)
    }

    /// The place of an aggregate, which may be a known one.
    pub fn add(&mut self, aggregate: Aggregate) -> Typed {
        let spec = aggregate.result_spec();
        let found = self.aggregates.iter().position(|there| *there == aggregate);
        let place = found.unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        });
        Typed {
            expr: Expr::Column(self.keys.len() + place),
            spec,
        }
    }
}

/// The bits of the set whose number is in a column, of those from a number on: by halves, so that thousands of sets cost
/// a group few comparisons.
fn bits_from(place: usize, first: usize, bits: &[i128]) -> Expr {
    let number = |value: i128| Expr::Literal(Value::Int(value));
    let one = bits.first().copied().unwrap_or(0);
    if bits.iter().all(|other| *other == one) {
        return number(one);
    }
    let (left, right) = bits.split_at(bits.len() / 2);
    let second = first + left.len();
    let sides = (Expr::Column(place), number(second as i128));
    let is_left = Expr::Compare(Comparison::Less, Box::new(sides));
    Expr::Case(Box::new(Case {
        arms: vec![(is_left, bits_from(place, first, left))],
        otherwise: bits_from(place, second, right),
    }))
}
