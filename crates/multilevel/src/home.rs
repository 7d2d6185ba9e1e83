//! The database of a transaction: borrowed for as long as it runs, or shared with it. A shared one can be kept, sent
//! to another thread, and held by a task.

use std::ops::Deref;
use std::sync::Arc;

/// Something of a database's: borrowed, which costs nothing, or shared.
#[derive(Debug)]
pub(crate) enum Home<'d, T: ?Sized> {
    Borrowed(&'d T),
    Shared(Arc<T>),
}

impl<T: ?Sized> Deref for Home<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Home::Borrowed(it) => it,
            Home::Shared(it) => it,
        }
    }
}

impl<'d, T: ?Sized> From<&'d T> for Home<'d, T> {
    fn from(it: &'d T) -> Self {
        Home::Borrowed(it)
    }
}
