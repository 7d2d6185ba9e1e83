//! The values that a walk reaches and finds.

use crate::values::json_tree::Json;
use std::rc::Rc;

/// A value that the walk has reached.
#[derive(Clone, Debug)]
pub(crate) enum Item<'a> {
    /// A part of the value, or of the variables.
    Known(&'a Json),
    /// One that was computed.
    Made(Rc<Json>),
}

impl<'a> Item<'a> {
    pub fn made(json: Json) -> Item<'a> {
        Item::Made(Rc::new(json))
    }

    pub fn json(&self) -> &Json {
        match self {
            Item::Known(json) => json,
            Item::Made(json) => json,
        }
    }

    /// The value, and the same that lives as long as the whole one, if it is a part of it.
    fn parts(&self) -> Parts<'_, 'a> {
        match self {
            Item::Known(json) => Parts::Known(json),
            Item::Made(json) => Parts::Made(json),
        }
    }

    /// The number of the elements of an array.
    pub fn length(&self) -> Option<usize> {
        match self.json() {
            Json::Array(items) => Some(items.len()),
            _ => None,
        }
    }

    /// The number of the elements of an array, or of the fields of an object.
    pub fn part_count(&self) -> Option<usize> {
        match self.json() {
            Json::Object(fields) => Some(fields.len()),
            _ => self.length(),
        }
    }

    /// The element, or the value of the field, at a place. A walk that copied all parts would hold them at each of its
    /// steps.
    pub fn part(&self, at: usize) -> Option<Item<'a>> {
        match self.parts() {
            Parts::Known(Json::Array(items)) => items.get(at).map(Item::Known),
            Parts::Known(Json::Object(fields)) => fields.get(at).map(|(_, part)| Item::Known(part)),
            Parts::Made(Json::Array(items)) => items.get(at).cloned().map(Item::made),
            Parts::Made(Json::Object(fields)) => {
                fields.get(at).map(|(_, part)| Item::made(part.clone()))
            }
            _ => None,
        }
    }

    pub fn all_parts(&self) -> impl Iterator<Item = Item<'a>> + '_ {
        (0..self.part_count().unwrap_or(0)).filter_map(|at| self.part(at))
    }

    pub fn field(&self, name: &str) -> Option<Item<'a>> {
        let find = |fields: &[(String, Json)]| fields.iter().position(|(known, _)| known == name);
        match self.parts() {
            Parts::Known(Json::Object(fields)) => find(fields).map(|at| Item::Known(&fields[at].1)),
            Parts::Made(Json::Object(fields)) => {
                find(fields).map(|at| Item::made(fields[at].1.clone()))
            }
            _ => None,
        }
    }

    pub fn is_array(&self) -> bool {
        matches!(self.json(), Json::Array(_))
    }
}

enum Parts<'i, 'a> {
    Known(&'a Json),
    Made(&'i Json),
}

/// The values that a walk has found; only that there is one, if no more is asked.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    pub items: Vec<Item<'a>>,
    /// False if the walk ends at the first value.
    pub wants_all: bool,
}

impl Found<'_> {
    pub fn all() -> Self {
        Found {
            items: Vec::new(),
            wants_all: true,
        }
    }
}
