//! A path of SQL/JSON, walked over a value.
//!
//! In lax mode, arrays are taken apart where a step needs their elements. A value is an array of itself where it needs an
//! array. Absent parts are no errors. Strict mode reports each. A walk goes on from each value of a step, so it is
//! nested as deep as the path and the value are, which are both bounded.
//!
//! Source: PostgreSQL 15's documentation, 9.16.2; `jsonpath_exec.c`.

mod conditions;
mod items;
mod numbers;
mod pairs;

use super::Environment;
use crate::error::{SqlError, code};
use crate::values::json_text::{DEPTH_MAX, too_deep};
use crate::values::json_tree::Json;
use crate::values::jsonpath::{Chain, JsonPath, LAST_LEVEL, Method, Node};
pub(crate) use items::{Found, Item};

/// The most values that a path gives.
const ITEMS_MAX: usize = 1 << 20;

/// The most values of an operand, with the elements of its arrays: as many as the longest array has.
const OPERANDS_MAX: usize = 1 << 23;

/// The most levels that all `**` around go down by recursion: filters in filters may begin at the root again.
const LEVELS_MAX: usize = 2 * DEPTH_MAX;

/// The outcome of a walk that did not throw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Found,
    Nothing,
    /// An error of the path, which is not thrown.
    Failed,
}

type Outcome = Result<Status, SqlError>;

/// A walk over a value.
pub(crate) struct Walk<'a> {
    with: &'a Environment<'a>,
    variables: Option<&'a Json>,
    root: &'a Json,
    is_lax: bool,
    /// Absent parts are no errors.
    ignores: bool,
    /// Errors of the path end the statement.
    throws: bool,
    current: Option<Item<'a>>,
    /// The length of the array whose subscript is computed.
    length: usize,
    /// The number of objects that were made.
    objects: u64,
    /// The levels of all `**` around.
    levels: usize,
    /// Bytes that `keyvalue()` has copied.
    copied: usize,
}

impl<'a> Walk<'a> {
    /// Finds the values of a path.
    ///
    /// # Errors
    /// The errors of the path, if they are thrown; `22023` for variables that are no object; `42704` for an unknown
    /// variable; `54000` for too many values; the reason for the statement's end.
    pub fn find(
        path: &JsonPath,
        root: &'a Json,
        variables: Option<&'a Json>,
        throws: bool,
        found: &mut Found<'a>,
        with: &'a Environment<'a>,
    ) -> Outcome {
        if variables.is_some_and(|given| !matches!(given, Json::Object(_))) {
            let text = "\"vars\" argument is not an object";
            let error = SqlError::new(code::INVALID_PARAMETER_VALUE, text);
            return Err(error.detail(
                "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.",
            ));
        }
        let mut walk = Walk {
            with,
            variables,
            root,
            is_lax: !path.is_strict,
            ignores: !path.is_strict,
            throws,
            current: None,
            length: 0,
            objects: 1 + u64::from(variables.is_some()),
            levels: 0,
            copied: 0,
        };
        let root = Item::Known(root);
        if path.is_strict && !found.wants_all {
            // An error behind the first value counts, too.
            let mut all = Found::all();
            return Ok(match walk.chain(&path.root, &root, &mut all)? {
                Status::Failed => Status::Failed,
                _ if all.items.is_empty() => Status::Nothing,
                _ => Status::Found,
            });
        }
        walk.chain(&path.root, &root, found)
    }

    /// An error of the path.
    #[cold]
    fn fail(&self, code: &'static str, text: impl Into<String>) -> Outcome {
        match self.throws {
            true => Err(SqlError::new(code, text)),
            false => Ok(Status::Failed),
        }
    }

    /// An absent part: an error, if such are not ignored.
    fn absent(&self, code: &'static str, text: impl Into<String>) -> Outcome {
        match self.ignores {
            true => Ok(Status::Nothing),
            false => self.fail(code, text),
        }
    }

    fn chain(&mut self, chain: &[Node], item: &Item<'a>, found: &mut Found<'a>) -> Outcome {
        let unwraps = self.is_lax;
        self.walk(chain, item, found, unwraps)
    }

    /// Goes on from a value with the rest of a path.
    fn next(&mut self, rest: &[Node], item: Item<'a>, found: &mut Found<'a>) -> Outcome {
        if !rest.is_empty() {
            return self.chain(rest, &item, found);
        }
        if found.wants_all {
            if found.items.len() == ITEMS_MAX {
                return Err(SqlError::new(
                    code::PROGRAM_LIMIT,
                    format!("a jsonpath gives at most {ITEMS_MAX} values"),
                ));
            }
            found.items.push(item);
        }
        Ok(Status::Found)
    }

    /// Walks a path from a value; with `unwraps`, from the elements of an array where the step needs them.
    fn walk(
        &mut self,
        chain: &[Node],
        item: &Item<'a>,
        found: &mut Found<'a>,
        unwraps: bool,
    ) -> Outcome {
        self.with.context.look_at_row()?;
        let Some((node, rest)) = chain.split_first() else {
            return self.next(chain, item.clone(), found);
        };
        let is_unwrapped = unwraps && item.is_array();
        match node {
            Node::Key(_) | Node::AnyKey | Node::Filter(_) if is_unwrapped => {
                self.elements_of(chain, item, found)
            }
            Node::Method(method)
                if is_unwrapped && !matches!(method, Method::Size | Method::Type) =>
            {
                self.elements_of(chain, item, found)
            }
            node if node.is_condition() => {
                let truth = self.truth(node, item)?;
                let truth = Item::made(truth.map_or(Json::Null, Json::Bool));
                self.next(rest, truth, found)
            }
            Node::Key(name) => match (item.field(name), item.json()) {
                (Some(value), _) => self.next(rest, value, found),
                (None, Json::Object(_)) => self.absent(
                    "2203A",
                    format!("JSON object does not contain key \"{name}\""),
                ),
                _ => self.absent(
                    "2203A",
                    "jsonpath member accessor can only be applied to an object",
                ),
            },
            Node::AnyKey => match item.json() {
                Json::Object(_) => self.each(rest, item.all_parts(), found),
                _ => self.absent(
                    "2203C",
                    "jsonpath wildcard member accessor can only be applied to an object",
                ),
            },
            Node::AnyArray => match item.json() {
                Json::Array(_) => self.each(rest, item.all_parts(), found),
                _ if self.is_lax => self.next(rest, item.clone(), found),
                _ => self.absent(
                    "22039",
                    "jsonpath wildcard array accessor can only be applied to an array",
                ),
            },
            Node::Indexes(indexes) => self.at_indexes(indexes, rest, item, found),
            Node::Any(first, last) => self.levels((*first, *last), rest, item, found),
            Node::Filter(condition) => match self.holds(condition, item)? {
                true => self.next(rest, item.clone(), found),
                false => Ok(Status::Nothing),
            },
            Node::Root => {
                let root = Item::Known(self.root);
                self.next(rest, root, found)
            }
            Node::Current => {
                let current = self.current.clone();
                self.next(rest, current.unwrap_or_else(|| item.clone()), found)
            }
            Node::Last => {
                let last = (self.length as i128 - 1).to_string();
                self.next(rest, Item::made(Json::Number(last)), found)
            }
            Node::Null => self.next(rest, Item::made(Json::Null), found),
            Node::Bool(value) => self.next(rest, Item::made(Json::Bool(*value)), found),
            Node::Number(number) => {
                self.next(rest, Item::made(Json::Number(number.clone())), found)
            }
            Node::Text(text) => self.next(rest, Item::made(Json::Text(text.clone())), found),
            Node::Variable(name) => {
                let value = self.variable(name)?;
                self.next(rest, value, found)
            }
            Node::Arithmetic(operator, left, right) => {
                match self.computed(*operator, left, right, item)? {
                    Ok(number) => self.next(rest, number, found),
                    Err(status) => Ok(status),
                }
            }
            Node::Sign(is_minus, of) => self.signed(*is_minus, of, rest, item, found),
            Node::Method(method) => self.method(*method, rest, item, found),
            _ => self.next(rest, item.clone(), found),
        }
    }

    /// Walks from each element of an array, which are not taken apart again.
    fn elements_of(&mut self, chain: &[Node], array: &Item<'a>, found: &mut Found<'a>) -> Outcome {
        let mut status = Status::Nothing;
        for element in array.all_parts() {
            status = self.walk(chain, &element, found, false)?;
            if self.ends(status, found) {
                break;
            }
        }
        Ok(status)
    }

    fn ends(&self, status: Status, found: &Found<'a>) -> bool {
        status == Status::Failed || status == Status::Found && !found.wants_all
    }

    /// Goes on from each of several values.
    fn each(
        &mut self,
        rest: &[Node],
        items: impl Iterator<Item = Item<'a>>,
        found: &mut Found<'a>,
    ) -> Outcome {
        let mut status = Status::Nothing;
        for item in items {
            status = self.next(rest, item, found)?;
            if self.ends(status, found) {
                break;
            }
        }
        Ok(status)
    }

    fn at_indexes(
        &mut self,
        indexes: &[(Chain, Option<Chain>)],
        rest: &[Node],
        item: &Item<'a>,
        found: &mut Found<'a>,
    ) -> Outcome {
        let length = match item.length() {
            Some(length) => length,
            None if self.is_lax => 1,
            None => {
                return self.absent(
                    "22039",
                    "jsonpath array accessor can only be applied to an array",
                );
            }
        };
        let around = std::mem::replace(&mut self.length, length);
        let status = self.of_items(indexes, rest, (item, length), found);
        self.length = around;
        status
    }

    fn of_items(
        &mut self,
        indexes: &[(Chain, Option<Chain>)],
        rest: &[Node],
        (item, length): (&Item<'a>, usize),
        found: &mut Found<'a>,
    ) -> Outcome {
        let mut status = Status::Nothing;
        let length = length as i64;
        for (from, to) in indexes {
            let Ok(from) = self.index(from, item)? else {
                return Ok(Status::Failed);
            };
            let to = match to {
                Some(to) => match self.index(to, item)? {
                    Ok(to) => to,
                    Err(()) => return Ok(Status::Failed),
                },
                None => from,
            };
            if !self.ignores && (from < 0 || from > to || to >= length) {
                return self.fail("22033", "jsonpath array subscript is out of bounds");
            }
            status = Status::Nothing;
            for at in from.max(0)..=to.min(length - 1) {
                let element = match item.is_array() {
                    true => usize::try_from(at).ok().and_then(|at| item.part(at)),
                    // In lax mode it is an array of itself.
                    false => Some(item.clone()),
                };
                let Some(element) = element else {
                    continue;
                };
                status = self.next(rest, element, found)?;
                if self.ends(status, found) {
                    return Ok(status);
                }
            }
        }
        Ok(status)
    }

    /// `**`: the value itself and its parts, of some levels.
    fn levels(
        &mut self,
        levels: (u32, u32),
        rest: &[Node],
        item: &Item<'a>,
        found: &mut Found<'a>,
    ) -> Outcome {
        let mut status = Status::Nothing;
        if levels.0 == 0 {
            status = self.ignoring(|walk| walk.next(rest, item.clone(), found))?;
            if status == Status::Found && !found.wants_all {
                return Ok(status);
            }
        }
        match item.json() {
            Json::Array(_) | Json::Object(_) => self.below(rest, item, 1, levels, found),
            _ => Ok(status),
        }
    }

    /// Walks while absent parts are no errors.
    fn ignoring(&mut self, act: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let before = std::mem::replace(&mut self.ignores, true);
        let status = act(self);
        self.ignores = before;
        status
    }

    fn below(
        &mut self,
        rest: &[Node],
        item: &Item<'a>,
        level: u32,
        (first, last): (u32, u32),
        found: &mut Found<'a>,
    ) -> Outcome {
        self.with.context.look_at_row()?;
        let mut status = Status::Nothing;
        if level > last {
            return Ok(status);
        }
        for part in item.all_parts() {
            let has_parts = matches!(part.json(), Json::Array(_) | Json::Object(_));
            let is_leaf = (first, last) == (LAST_LEVEL, LAST_LEVEL) && !has_parts;
            if level >= first || is_leaf {
                status = self.ignoring(|walk| walk.next(rest, part.clone(), found))?;
                if self.ends(status, found) {
                    break;
                }
            }
            if level < last && has_parts {
                if self.levels == LEVELS_MAX {
                    return Err(too_deep());
                }
                self.levels += 1;
                let inner = self.below(rest, &part, level + 1, (first, last), found);
                self.levels -= 1;
                status = inner?;
                if self.ends(status, found) {
                    break;
                }
            }
        }
        Ok(status)
    }

    fn variable(&self, name: &str) -> Result<Item<'a>, SqlError> {
        let Some(variables) = self.variables else {
            return Ok(Item::made(Json::Null));
        };
        Item::Known(variables).field(name).ok_or_else(|| {
            let text = format!("could not find jsonpath variable \"{name}\"");
            SqlError::new(code::UNKNOWN_OBJECT, text)
        })
    }

    /// The values of an operand, with the elements of arrays instead of these in lax mode.
    fn operand(
        &mut self,
        chain: &Chain,
        item: &Item<'a>,
        unwraps: bool,
    ) -> Result<Result<Vec<Item<'a>>, Status>, SqlError> {
        let mut found = Found::all();
        if self.chain(chain, item, &mut found)? == Status::Failed {
            return Ok(Err(Status::Failed));
        }
        if !unwraps || !self.is_lax {
            return Ok(Ok(found.items));
        }
        let mut items = Vec::with_capacity(found.items.len());
        for item in found.items {
            self.with.context.look_at_row()?;
            let more = item.length().unwrap_or(1);
            if items.len() + more > OPERANDS_MAX {
                return Err(SqlError::new(
                    code::PROGRAM_LIMIT,
                    format!("an operand of a jsonpath gives at most {OPERANDS_MAX} values"),
                ));
            }
            match item.is_array() {
                true => items.extend(item.all_parts()),
                false => items.push(item),
            }
        }
        Ok(Ok(items))
    }

    fn method(
        &mut self,
        method: Method,
        rest: &[Node],
        item: &Item<'a>,
        found: &mut Found<'a>,
    ) -> Outcome {
        let name = method.name();
        let made = match (method, item.json()) {
            (Method::Type, json) => Json::Text(json.type_name().to_string()),
            (Method::Size, Json::Array(items)) => Json::Number(items.len().to_string()),
            (Method::Size, _) if self.is_lax => Json::Number("1".to_string()),
            (Method::Size, _) => {
                return self.absent(
                    "22039",
                    format!("jsonpath item method .{name}() can only be applied to an array"),
                );
            }
            (Method::KeyValue, Json::Object(_)) => {
                let pairs = self.pairs(item)?;
                return self.each(rest, pairs.into_iter(), found);
            }
            (Method::KeyValue, _) => {
                return self.fail(
                    "2203C",
                    format!("jsonpath item method .{name}() can only be applied to an object"),
                );
            }
            (Method::Double, Json::Number(_)) => item.json().clone(),
            (Method::Double, Json::Text(text)) => match numbers::double(text) {
                Some(number) => Json::Number(number),
                None => {
                    return self.fail(
                        "22036",
                        format!("string argument of jsonpath item method .{name}() is not a valid representation of a double precision number"),
                    );
                }
            },
            (Method::Double, _) => {
                return self.fail(
                    "22036",
                    format!("jsonpath item method .{name}() can only be applied to a string or numeric value"),
                );
            }
            (_, Json::Number(number)) => Json::Number(numbers::of_method(method, number)?),
            _ => {
                return self.fail(
                    "22036",
                    format!(
                        "jsonpath item method .{name}() can only be applied to a numeric value"
                    ),
                );
            }
        };
        self.next(rest, Item::made(made), found)
    }
}
