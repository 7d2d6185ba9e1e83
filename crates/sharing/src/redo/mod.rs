//! Redo of pages that several nodes change, each with a log of its own (GEM paper, sections 2 and 3.2; its
//! reference \[MN91\] has the general problem).
//!
//! With NOFORCE the newest version of a page may consist of byte ranges in several nodes' logs. Example: storage has
//! version 3. Node A makes version 5 and sends the page to B, which makes version 6. Then A drops its copy, and B
//! fails. So neither log alone has what is missing, and no clock or number orders the groups of different logs. The
//! page sequence number (PSN) orders the changes of one page. A record names the version that its byte ranges make, and
//! is applied if and only if the page is at the version before. [`Merge`] does that, page by page, for any number of
//! logs; a checkpointer that follows the logs of living nodes uses it as well as a recovery.
//!
//! Invariants: a page is at a version only after every version before was applied to it. (I3; the PSN replaces the
//! position in the log.) A commit group is decoded whole before anything of it is applied (I4). Waiting records are
//! bounded, and at the bound some log is still read (I10). Nothing is taken from a log behind its fence (I12).
//!
//! The records are those of `storage::log::record`: a [`Body::Version`] and the writes behind it are one page's
//! [`Redo`].
//!
//! [`Body::Version`]: sardonyx_storage::log::record::Body::Version

mod error;
mod merge;
mod record;
#[cfg(test)]
mod tests;

pub use error::{MergeError, RedoError};
pub use merge::{Gap, Group, Merge, Pages, Push};
pub use record::{Redo, append};
