//! Conditions of a path: true, false, or unknown.

use super::{Found, Item, Status, Walk};
use crate::error::SqlError;
use crate::expression::patterns::Options;
use crate::values::Comparison;
use crate::values::json_tree::Json;
use crate::values::jsonpath::{Chain, Node, Pattern};
use sardonyx_rows::condition::compare;
use std::cmp::Ordering;

/// The truth of a condition; none if it is unknown.
type Truth = Option<bool>;

impl<'a> Walk<'a> {
    /// True if the condition of a filter is true of a value.
    pub(super) fn holds(&mut self, condition: &Chain, item: &Item<'a>) -> Result<bool, SqlError> {
        let around = self.current.replace(item.clone());
        let truth = match condition.first() {
            Some(node) => self.truth(node, item),
            None => Ok(None),
        };
        self.current = around;
        Ok(truth? == Some(true))
    }

    /// The truth of an operand, which is one condition.
    fn truth_of(&mut self, chain: &Chain, item: &Item<'a>) -> Result<Truth, SqlError> {
        match chain.first() {
            Some(node) => self.truth(node, item),
            None => Ok(None),
        }
    }

    pub(super) fn truth(&mut self, node: &Node, item: &Item<'a>) -> Result<Truth, SqlError> {
        self.with.context.look_at_row()?;
        match node {
            Node::And(left, right) => Ok(match self.truth_of(left, item)? {
                Some(false) => Some(false),
                first => match self.truth_of(right, item)? {
                    Some(true) => first,
                    second => second,
                },
            }),
            Node::Or(left, right) => Ok(match self.truth_of(left, item)? {
                Some(true) => Some(true),
                first => match self.truth_of(right, item)? {
                    Some(false) => first,
                    second => second,
                },
            }),
            Node::Not(of) => Ok(self.truth_of(of, item)?.map(|truth| !truth)),
            Node::IsUnknown(of) => Ok(Some(self.truth_of(of, item)?.is_none())),
            Node::Exists(of) => self.exists(of, item),
            Node::Compare(compared, left, right) => {
                let of = |one: &Json, other: &Json| compared_values(*compared, one, other);
                let right = Some((right, true));
                self.predicate(left, right, item, &of)
            }
            Node::StartsWith(text, start) => {
                let of = |text: &Json, start: &Json| match (text, start) {
                    (Json::Text(text), Json::Text(start)) => Ok(Some(text.starts_with(&**start))),
                    _ => Ok(None),
                };
                self.predicate(text, Some((start, false)), item, &of)
            }
            Node::LikeRegex(text, pattern) => {
                let with = self.with;
                let of = |text: &Json, _: &Json| match text {
                    Json::Text(text) => {
                        let regex = with
                            .context
                            .patterns
                            .compiled(&written(pattern), options(pattern))?;
                        Ok(Some(regex.is_match(text)))
                    }
                    _ => Ok(None),
                };
                self.predicate(text, None, item, &of)
            }
            _ => Ok(None),
        }
    }

    /// Walks without throwing errors of the path.
    fn quietly<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let throws = std::mem::replace(&mut self.throws, false);
        let done = act(self);
        self.throws = throws;
        done
    }

    fn exists(&mut self, of: &Chain, item: &Item<'a>) -> Result<Truth, SqlError> {
        let mut found = Found {
            // In strict mode an error behind the first value counts, too.
            wants_all: !self.is_lax,
            ..Found::default()
        };
        let status = self.quietly(|walk| walk.chain(of, item, &mut found))?;
        Ok(match (status, self.is_lax) {
            (Status::Failed, _) => None,
            (status, true) => Some(status == Status::Found),
            (_, false) => Some(!found.items.is_empty()),
        })
    }

    /// The truth of a condition on each pair of the values of two operands.
    fn predicate(
        &mut self,
        left: &Chain,
        right: Option<(&Chain, bool)>,
        item: &Item<'a>,
        of: &dyn Fn(&Json, &Json) -> Result<Truth, SqlError>,
    ) -> Result<Truth, SqlError> {
        let Ok(lefts) = self.quietly(|walk| walk.operand(left, item, true))? else {
            return Ok(None);
        };
        let rights = match right {
            Some((right, unwraps)) => {
                match self.quietly(|walk| walk.operand(right, item, unwraps))? {
                    Ok(items) => items,
                    Err(_) => return Ok(None),
                }
            }
            // It is not looked at.
            None => vec![Item::made(Json::Null)],
        };
        let (mut found, mut is_unknown) = (false, false);
        for one in &lefts {
            for other in &rights {
                self.with.context.look_at_row()?;
                match of(one.json(), other.json())? {
                    None if !self.is_lax => return Ok(None),
                    None => is_unknown = true,
                    Some(true) if self.is_lax => return Ok(Some(true)),
                    Some(true) => found = true,
                    Some(false) => {}
                }
            }
        }
        Ok(match (found, is_unknown) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }
}

/// The truth of a comparison: only values of one type without parts have an order. A null differs from all others.
fn compared_values(compared: Comparison, one: &Json, other: &Json) -> Result<Truth, SqlError> {
    let order = match (one, other) {
        (Json::Null, Json::Null) => Ordering::Equal,
        (Json::Null, _) | (_, Json::Null) => return Ok(Some(compared == Comparison::Unequal)),
        (Json::Bool(one), Json::Bool(other)) => one.cmp(other),
        (Json::Text(one), Json::Text(other)) => one.cmp(other),
        (Json::Number(one), Json::Number(other)) => {
            let (one, other) = (
                super::numbers::value_of(one)?,
                super::numbers::value_of(other)?,
            );
            match compare(one.as_ref(), other.as_ref()) {
                Some(order) => order,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(compared.accepts(order)))
}

fn options(pattern: &Pattern) -> Options {
    let has = |letter| pattern.flags.contains(letter);
    Options {
        ignores_case: has('i'),
        stops_at_lines: !has('s') && !has('q'),
        anchors_at_lines: has('m') && !has('q'),
        ..Options::default()
    }
}

/// The pattern; with the flag `q`, each character is itself.
fn written(pattern: &Pattern) -> String {
    match pattern.flags.contains('q') {
        true => format!("***={}", pattern.pattern),
        false => pattern.pattern.clone(),
    }
}
