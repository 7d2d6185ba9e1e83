//! The interface of an ordered index that takes part.

use super::entry::{Entry, Key};
use sardonyx_lab::Failure;
use sardonyx_lab::product::Product;
use std::path::Path;

/// An open index.
pub trait Index: Product + Send + Sync {
    /// Opens the index in `directory`, an existing directory of its own; makes one if there is none.
    ///
    /// # Errors
    /// The engine's error.
    fn open(directory: &Path) -> Result<Self, Failure>
    where
        Self: Sized;

    /// A session for one thread.
    ///
    /// # Errors
    /// The engine's error.
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure>;
}

/// Takes a requested key, and its value if it exists.
pub type OnValue<'a> = dyn FnMut(&Key, Option<&[u8]>) -> Result<(), Failure> + 'a;

/// Takes an entry.
pub type OnEntry<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), Failure> + 'a;

/// The operations of one thread on an index.
pub trait Session {
    /// Inserts entries in one transaction, which is on stable storage when this returns.
    ///
    /// # Errors
    /// The engine's error; that a key exists already.
    fn insert(&mut self, entries: &[Entry]) -> Result<(), Failure>;

    /// Gets the values of keys in one transaction: `found` is called for each key in order.
    ///
    /// # Errors
    /// An error of the engine or of `found`.
    fn get(&mut self, keys: &[Key], found: &mut OnValue<'_>) -> Result<(), Failure>;

    /// Gets, in one transaction, the first `limit` entries from a key on, in order.
    ///
    /// # Errors
    /// An error of the engine or of `found`.
    fn scan(&mut self, from: &Key, limit: usize, found: &mut OnEntry<'_>) -> Result<(), Failure>;
}

/// An engine that can be opened.
#[derive(Clone, Copy)]
pub struct Engine {
    /// [`Product::name`].
    pub name: &'static str,
    /// [`Product::settings`].
    pub settings: &'static str,
    /// [`Index::open`].
    pub open: fn(&Path) -> Result<Box<dyn Index>, Failure>,
}

impl Engine {
    /// An engine of this type.
    pub fn of<I: Index + 'static>() -> Engine {
        Engine {
            name: I::name(),
            settings: I::settings(),
            open: |directory| Ok(Box::new(I::open(directory)?)),
        }
    }
}
