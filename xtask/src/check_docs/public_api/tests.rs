//! The list of a small crate with re-exports, and every kind of change that must be seen in it.

use std::path::PathBuf;

use super::{LIST, check, print, text};

const PUBLIC: &str = "
//! The crate.
pub use sardonyx_rows::{Record, Table, made::*};
pub use error::Error;
mod error;
/// Rows.
pub mod rows {
    pub use sardonyx_rows::rows::{Each, Rows};
    pub use crate::Error;
    #[doc(hidden)]
    pub use sardonyx_rows::rows::Inner;
}
#[cfg(test)]
mod tests;
";

const ERROR: &str = "
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    Full { bytes: u64 },
    Other(std::io::Error),
}
impl From<sardonyx_rows::rows::RowError> for Error {
    fn from(_: sardonyx_rows::rows::RowError) -> Self { todo!() }
}
";

const ROWS_LIB: &str = "
pub mod made;
pub mod rows;
pub use rows::Rows as Table;
pub trait Record: Sized + 'static {
    type Key: Copy;
    const NAME: &'static str;
    fn key(&self) -> Self::Key;
    fn count() -> usize { 0 }
    #[doc(hidden)]
    fn inner(&self) {}
}
impl<T: Record> Record for Option<T> {
    type Key = T::Key;
}
";

const MADE: &str = "
macro_rules! plain {
    ($($(#[$meta:meta])* $name:ident($type:ty)),* $(,)?) => {$(
        $(#[$meta])*
        #[derive(Clone)]
        pub struct $name(pub $type);
    )*};
}
plain!(
    /// A date.
    Date(i32),
    Time([u8; 16]),
);
";

const ROWS: &str = "
use crate::Record;
use std::collections::BTreeMap as Map;
pub struct RowError;
pub struct Inner;
pub struct Rows<S: ?Sized, R = ()> {
    pub names: Map<String, u64>,
    state: Box<S>,
    row: R,
}
impl<'a, S: ?Sized, R: Record> Rows<S, R> {
    pub const MAX: usize = 3;
    #[inline]
    pub fn get(&'a self, mut key: <R as Record>::Key, at: &mut [R::Key]) -> Result<Option<R>, RowError> { todo!() }
    pub fn each<F>(&mut self, f: F) -> impl Iterator<Item = &'a R> + use<'a, F, S, R>
    where
        F: for<'b> FnMut(&'b R, u8) -> bool,
    { todo!() }
    pub(crate) fn own(&self) {}
    fn private(&self) {}
    #[doc(hidden)]
    pub fn hidden(&self) {}
    #[cfg(feature = \"planted-faults\")]
    pub fn planted(&self) {}
}
impl<S: ?Sized> Iterator for Each<'_, S> {
    type Item = u8;
    fn next(&mut self) -> Option<u8> { None }
}
pub struct Each<'a, S: ?Sized>(pub(crate) &'a S, pub fn(&S) -> (u8,));
impl From<crate::made::Date> for RowError {
    fn from(_: crate::made::Date) -> Self { RowError }
}
impl From<crate::made::Date> for u8 {
    fn from(_: crate::made::Date) -> u8 { 0 }
}
/// Words of a comment, as of `use sardonyx_other::Word`, import nothing.
trait Private {}
impl Private for RowError {}
impl<S: ?Sized> Private for Each<'_, S> {}
";

const EXPECTED: &str = "\
pub mod sardonyx
pub struct sardonyx::Date(pub i32)
impl Clone for sardonyx::Date
impl From<sardonyx::Date> for u8
#[non_exhaustive] pub enum sardonyx::Error
pub sardonyx::Error::Full { bytes: u64 }
pub sardonyx::Error::Other(std::io::Error)
impl From<sardonyx_rows::rows::RowError> for sardonyx::Error
impl std::error::Error for sardonyx::Error
impl std::fmt::Debug for sardonyx::Error
pub trait sardonyx::Record: Sized + 'static
pub type sardonyx::Record::Key: Copy
pub const sardonyx::Record::NAME: &'static str
pub fn sardonyx::Record::key(&self) -> Self::Key
pub fn sardonyx::Record::count() -> usize { .. }
impl<T: sardonyx::Record> sardonyx::Record for Option<T> { type Key = T::Key; }
pub struct sardonyx::Table<S: ?Sized, R = ()>
pub sardonyx::Table::names: std::collections::BTreeMap<String, u64>
impl<'a, S: ?Sized, R: sardonyx::Record> sardonyx::Table<S, R>
pub const sardonyx::Table::MAX: usize
pub fn sardonyx::Table::each<F>(&mut self, F) -> impl Iterator<Item = &'a R> + use<'a, F, S, R> where F: for<'b> FnMut(&'b R, u8) -> bool
pub fn sardonyx::Table::get(&'a self, <R as sardonyx::Record>::Key, &mut [R::Key]) -> Result<Option<R>, sardonyx_rows::rows::RowError>
pub struct sardonyx::Time(pub [u8; 16])
impl Clone for sardonyx::Time
pub mod sardonyx::rows
pub struct sardonyx::rows::Each<'a, S: ?Sized>(_, pub fn(&S) -> (u8,))
impl<S: ?Sized> Iterator for sardonyx::rows::Each<'_, S> { type Item = u8; }
pub use sardonyx::rows::Error = sardonyx::Error
pub use sardonyx::rows::Rows = sardonyx::Table
";

fn sources(rows: &str) -> Vec<(PathBuf, String)> {
    let files = [
        ("crates/sardonyx/src/lib.rs", PUBLIC),
        ("crates/sardonyx/src/error.rs", ERROR),
        ("crates/rows/src/lib.rs", ROWS_LIB),
        ("crates/rows/src/made.rs", MADE),
        ("crates/rows/src/rows/mod.rs", rows),
        (
            "crates/other/src/lib.rs",
            "this is no Rust, and is not read",
        ),
    ];
    let files = files.iter();
    files
        .map(|(file, text)| (PathBuf::from(file), (*text).to_owned()))
        .collect()
}

/// The findings after `old` was replaced by `new` in the file of the re-exported type.
fn found(old: &str, new: &str) -> Vec<String> {
    assert!(ROWS.contains(old), "{old}");
    let mut findings = Vec::new();
    check(
        EXPECTED,
        &sources(&ROWS.replacen(old, new, 1)),
        &mut findings,
    );
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_list_has_every_public_item_with_its_signature() {
    let list = text(&sources(ROWS)).expect("read").expect("a crate");
    for (found, expected) in list.lines().zip(EXPECTED.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(list, EXPECTED);
    assert_eq!(found("", ""), Vec::<String>::new());
    assert_eq!(text(&[]).expect("nothing to read"), None);
}

#[test]
fn a_changed_argument_of_a_re_exported_types_method_is_found() {
    let line = EXPECTED
        .lines()
        .position(|line| line.contains("Table::get("));
    let line = line.expect("a line") + 1;
    let old =
        "the sources have no `pub fn sardonyx::Table::get(&'a self, <R as sardonyx::Record>::Key,";
    let new = "the list has no `pub fn sardonyx::Table::get(&'a self, u64,";
    let changed = found("<R as Record>::Key", "u64");
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(
        changed[0].starts_with(&format!("{LIST}:{line}: {old}")),
        "{changed:?}"
    );
    assert!(
        changed[1].starts_with(&format!("{LIST}:1: {new}")),
        "{changed:?}"
    );
    for (old, new, differences) in [
        // The receiver, the answer, a parameter's bound, a field, a condition, an associated type.
        ("(&'a self, mut key", "(self, mut key", 2),
        ("Result<Option<R>, RowError>", "Option<R>", 2),
        ("R: Record> Rows", "R: Copy> Rows", 2),
        ("pub names", "pub words", 2),
        ("-> bool", "-> u8", 2),
        ("type Item = u8", "type Item = i8", 2),
        // Each item that comes or leaves is one line.
        ("fn private", "pub fn private", 1),
        ("    #[doc(hidden)]\n", "", 1),
        ("pub const MAX: usize = 3;", "", 1),
        (
            "impl<S: ?Sized> Iterator for Each<'_, S> {",
            "impl Each<'_, u8> {",
            1,
        ),
        // No matter of the public.
        ("mut key:", "other:", 0),
        ("pub(crate) fn own", "fn own", 0),
        ("Private for RowError", "Clone for RowError", 0),
        ("MAX: usize = 3", "MAX: usize = 4", 0),
        ("use crate::Record;", "use crate::{self as all, Record};", 0),
    ] {
        let found = found(old, new);
        assert_eq!(found.len(), differences, "{old}: {found:?}");
    }
}

#[test]
fn sources_that_cannot_be_read_are_a_finding() {
    let found = found("pub struct RowError;", "pub struct");
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("rows/mod.rs"), "{found:?}");
}

#[test]
fn signatures_are_written_as_usual() {
    for signature in [
        "fn f(&mut self, &'a [u8], [u8; 16], (A, B)) -> Result<(), E>",
        "unsafe fn f<const N: usize>(*const u8, &dyn Fn(&'_ T) -> !)",
        "impl<T: A + ?Sized + 'static> From<&'a mut T> for Box<dyn B + Send>",
        "Option<<R as Record>::Key>",
        "where F: for<'a> FnOnce(&'a T), T::Item: Into<u8>",
        "extern \"C\" fn f(u8)",
    ] {
        let tokens = signature.parse().expect("tokens");
        assert_eq!(print::text(tokens), signature);
    }
}
