//! Data structures in plain memory, written serially: a B+-tree and a cache-oblivious B-tree.
//!
//! Nothing here knows of transactions, logs or other processes. A structure lives in an area of [`Page`]s, reached by
//! the two small traits [`Pages`] and [`PagesMut`]. An area is a `Vec<Page>`, a slice of page-aligned bytes, or a view
//! of a segment. A segment's owner makes the loads and stores atomic and durable. The LIBXAC thesis on memory-mapped
//! transactions converted its serial B+-tree and cache-oblivious B-tree by adding the calls that begin and end a
//! transaction; here it is the same.
//!
//! Guarantees of the structures for an owner that logs, isolates and recovers:
//!
//! - They refer to their pages by number within the area, never by address.
//! - An operation that lacks pages returns [`Error::Full`] before it changes anything. The owner enlarges the area and
//!   repeats.
//! - They change few bytes on few pages, and no page is written by every operation.
//! - Damaged memory is [`Error::Damaged`], never a panic and never an endless loop. An operation that *changes* the
//!   structure and ends in `Damaged` may have done a part of its work. An owner with transactions aborts; any other
//!   stops using the area.
//!
//! ```
//! use sardonyx_lab::structures::{BPlusTree, Error, Page};
//!
//! # fn main() -> Result<(), Error> {
//! let mut pages = vec![Page::zeroed(); 2];
//! BPlusTree::<_, u64, 8>::create(&mut pages)?;
//! for key in 0..10_000u64 {
//!     loop {
//!         let mut tree = BPlusTree::<_, u64, 8>::open(&mut pages)?;
//!         match tree.insert(key, &(key * key).to_le_bytes()) {
//!             Ok(_) => break,
//!             Err(Error::Full { pages_needed }) => pages.resize(pages_needed, Page::zeroed()),
//!             Err(other) => return Err(other),
//!         }
//!     }
//! }
//! let tree = BPlusTree::<_, u64, 8>::open(&pages)?;
//! assert_eq!(tree.get(99)?, Some(9801u64.to_le_bytes()));
//! # Ok(())
//! # }
//! ```

pub mod b_plus_tree;
pub mod cache_oblivious;
mod error;
mod key;
mod page;
mod range;
mod search;

pub use b_plus_tree::BPlusTree;
pub use cache_oblivious::CacheObliviousTree;
pub use error::Error;
pub use key::Key;
pub use page::{PAGE_SIZE, Page, Pages, PagesMut};
pub use range::Range;
