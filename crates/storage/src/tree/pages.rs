//! The operations that a tree needs of the owner of its pages, and its errors for pages that are not a tree's.

use crate::page::{PAGE_SIZE, PageId};
use std::ops::Range;

/// A page's bytes.
pub type Page = [u8; PAGE_SIZE];

/// Bytes that no tree has there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {offset} of page {page} is not of an ordered index: {what}; restore a backup")]
pub struct Damage {
    /// The page's number in the database.
    pub page: PageId,
    /// The place in the page, in bytes.
    pub offset: usize,
    /// The content found there.
    pub what: &'static str,
}

/// [`Damage`], in few words.
pub fn damaged(page: PageId, offset: usize, what: &'static str) -> Damage {
    Damage { page, offset, what }
}

/// The pages of trees. A reader has its page locked for reading until it ends, a writer for writing, by any means.
/// Nodes name each other by numbers of 32 bits, from which the page's follows.
pub trait TreePages {
    /// The name of one of the trees.
    type Tree: Copy;
    /// The reason why a page cannot be had; a damaged one is one of the reasons.
    type Error: From<Damage>;

    /// The root: its number and its page. It is never another one.
    ///
    /// # Errors
    /// If there is no such tree.
    fn root(&self, tree: Self::Tree) -> Result<(u32, PageId), Self::Error>;

    /// True if the tree was never written to, given that its root's page begins with zeroes.
    ///
    /// # Errors
    /// If a page cannot be had.
    fn is_unused(&self, tree: Self::Tree) -> Result<bool, Self::Error>;

    /// The page of a node that another one names; `None` if there can be none of this number.
    ///
    /// # Errors
    /// If there is no such tree.
    fn page(&self, tree: Self::Tree, number: u32) -> Result<Option<PageId>, Self::Error>;

    /// Reads a page.
    ///
    /// # Errors
    /// If it cannot be had.
    fn read(&self, page: PageId) -> Result<&Page, Self::Error>;

    /// Reads a page that will be written.
    ///
    /// # Errors
    /// If it cannot be had.
    fn read_to_write(&self, page: PageId) -> Result<&Page, Self::Error>;

    /// Bytes of a page, to be changed.
    ///
    /// # Errors
    /// If it cannot be had, or the range is not within a page.
    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Self::Error>;

    /// Takes a page for a new node; its bytes are arbitrary.
    ///
    /// # Errors
    /// There is no free page.
    fn allocate(&mut self, tree: Self::Tree) -> Result<(u32, PageId), Self::Error>;

    /// Frees the page of a removed node.
    ///
    /// # Errors
    /// If it cannot be written.
    fn free(&mut self, tree: Self::Tree, number: u32, page: PageId) -> Result<(), Self::Error>;
}
