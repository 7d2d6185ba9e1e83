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

    pub fn elements(&self) -> Option<Vec<Item<'a>>> {
        match self.parts() {
            Parts::Known(Json::Array(items)) => Some(items.iter().map(Item::Known).collect()),
            Parts::Made(Json::Array(items)) => {
                Some(items.iter().cloned().map(Item::made).collect())
            }
            _ => None,
        }
    }

    pub fn values(&self) -> Option<Vec<Item<'a>>> {
        match self.parts() {
            Parts::Known(Json::Object(fields)) => {
                Some(fields.iter().map(|(_, value)| Item::Known(value)).collect())
            }
            Parts::Made(Json::Object(fields)) => {
                let values = fields.iter().map(|(_, value)| Item::made(value.clone()));
                Some(values.collect())
            }
            _ => None,
        }
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
