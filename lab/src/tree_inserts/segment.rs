//! The trees of `structures` in a mapped segment: serial code between begin and commit.
//!
//! The segment is the tree's area, from its first page on. An insert is a transaction: the tree is
//! opened on the bytes of the view and changed by ordinary stores, and the commit waits until it is on
//! stable storage. If the area is full, the segment grows and the insert is repeated in the same
//! transaction. Nothing in the trees knows of any of this. The options are the defaults, also for the
//! cache-oblivious tree, which is rewritten in one transaction when it doubles.

use super::engine::{Session, Sharing, TreePeer, value};
use super::shape::{B_PLUS, CACHE_OBLIVIOUS, Shape};
use crate::error::Failure;
use crate::product::Product;
use crate::structures::{Error, PAGE_SIZE, Page};
use sardonyx_mapped::{Memory, Options, RunError, Segment, SegmentError, Transaction};
use std::path::Path;

/// Pages of a tree when it is made.
const PAGES_FIRST: usize = 256;

/// The number of entries that share a transaction while the tree is filled.
const LOAD_BATCH: usize = 1_000;

/// The B+-tree in a segment.
pub struct BPlus(Segment);

/// The cache-oblivious B-tree in a segment.
pub struct CacheOblivious(Segment);

impl Product for BPlus {
    fn name() -> &'static str {
        "Sardonyx, B+-tree"
    }

    fn settings() -> &'static str {
        "serial code on a mapped segment, best mechanism, commits wait, log of 2 GiB"
    }
}

impl TreePeer for BPlus {
    fn processes() -> bool {
        true
    }

    fn open(directory: &Path, _: Sharing) -> Result<Self, Failure> {
        Ok(BPlus(durable(Options::new().open(directory)?)?))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(TreeSession::new(&self.0, &B_PLUS)))
    }
}

impl Product for CacheOblivious {
    fn name() -> &'static str {
        "Sardonyx, cache-oblivious"
    }

    fn settings() -> &'static str {
        "as the B+-tree; when it doubles, it is rewritten in one transaction"
    }
}

impl TreePeer for CacheOblivious {
    fn processes() -> bool {
        true
    }

    fn open(directory: &Path, _: Sharing) -> Result<Self, Failure> {
        Ok(CacheOblivious(durable(Options::new().open(directory)?)?))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(TreeSession::new(&self.0, &CACHE_OBLIVIOUS)))
    }
}

fn durable(segment: Segment) -> Result<Segment, Failure> {
    match segment.is_durable() {
        true => Ok(segment),
        false => Err("the segment has no log".into()),
    }
}

/// The reason why an operation on the tree failed.
#[derive(Debug, thiserror::Error)]
enum TreeError {
    #[error(transparent)]
    Tree(#[from] Error),
    #[error(transparent)]
    Grow(#[from] sardonyx_mapped::memory::GrowError),
    #[error("the key {0:#018x} was there")]
    Present(u64),
    #[error("a value of {bytes} bytes, where the tree has room for {room}")]
    TooLong { bytes: usize, room: usize },
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

impl From<RunError<TreeError>> for TreeError {
    fn from(error: RunError<TreeError>) -> Self {
        match error {
            RunError::Refused(error) => error,
            RunError::Segment(error) => error.into(),
        }
    }
}

struct TreeSession<'a> {
    segment: &'a Segment,
    shapes: &'static [Shape],
    /// The shape that the tree has, once it is known.
    shape: Option<&'static Shape>,
}

impl<'a> TreeSession<'a> {
    fn new(segment: &'a Segment, shapes: &'static [Shape]) -> Self {
        TreeSession {
            segment,
            shapes,
            shape: None,
        }
    }

    /// The tree's shape; makes a tree for values of `bytes` bytes if there is none.
    fn shape(&mut self, bytes: usize) -> Result<&'static Shape, TreeError> {
        if self.shape.is_none() {
            self.shape = Some(self.find_or_make(bytes)?);
        }
        match self.shape {
            Some(shape) if bytes <= shape.room => Ok(shape),
            shape => Err(TreeError::TooLong {
                bytes,
                room: shape.map_or(0, |shape| shape.room),
            }),
        }
    }

    fn find_or_make(&self, bytes: usize) -> Result<&'static Shape, TreeError> {
        let shapes = self.shapes;
        let room = shapes.last().map_or(0, |shape| shape.room);
        let fitting = shapes.iter().find(|shape| shape.room >= bytes);
        let fitting = fitting.ok_or(TreeError::TooLong { bytes, room })?;
        let (shape, ticket) = self.segment.run_later(|tx| -> Result<_, TreeError> {
            if tx.length() == 0 || tx.bytes()[..PAGE_SIZE].iter().all(|byte| *byte == 0) {
                tx.grow_to((PAGES_FIRST * PAGE_SIZE) as u64)?;
                fitting.create(pages_mut(tx)?)?;
                return Ok(fitting);
            }
            let pages = pages(tx)?;
            let mut refused = None;
            for shape in shapes {
                match shape.open(pages) {
                    Ok(()) => return Ok(shape),
                    Err(error) => refused = Some(error),
                }
            }
            Err(refused.map_or(TreeError::TooLong { bytes, room }, TreeError::Tree))
        })?;
        ticket.wait()?;
        Ok(shape)
    }

    /// The shape of an existing tree; `None` if there is none.
    fn existing(&mut self) -> Result<Option<&'static Shape>, TreeError> {
        let empty = self.segment.length() == 0;
        match (self.shape, empty) {
            (None, true) => Ok(None),
            _ => self.shape(0).map(Some),
        }
    }
}

fn pages(memory: &impl Memory) -> Result<&[Page], Error> {
    Page::slice(memory.bytes())
}

fn pages_mut<'a>(tx: &'a mut Transaction<'_>) -> Result<&'a mut [Page], Error> {
    Page::slice_mut(tx.bytes_mut())
}

/// Inserts, and gives the tree more pages if needed.
fn insert(
    tx: &mut Transaction<'_>,
    shape: &Shape,
    key: u64,
    value: &[u8],
) -> Result<(), TreeError> {
    loop {
        let count = pages(tx)?.len();
        match shape.insert(pages_mut(tx)?, key, value) {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(TreeError::Present(key)),
            Err(Error::Full { pages_needed }) if pages_needed > count => {
                // More than needed, so that it is not full again at once.
                let pages = pages_needed.max(count + count / 4);
                tx.grow_to((pages * PAGE_SIZE) as u64)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

impl Session for TreeSession<'_> {
    fn insert(&mut self, key: u64, value: &[u8]) -> Result<(), Failure> {
        let shape = self.shape(value.len())?;
        let inserted = self.segment.run(|tx| insert(tx, shape, key, value));
        Ok(inserted.map_err(TreeError::from)?)
    }

    fn load(
        &mut self,
        keys: &mut dyn Iterator<Item = u64>,
        value_bytes: usize,
    ) -> Result<(), Failure> {
        let shape = self.shape(value_bytes)?;
        let mut last = None;
        loop {
            let batch: Vec<u64> = keys.take(LOAD_BATCH).collect();
            if batch.is_empty() {
                break;
            }
            let all = |tx: &mut Transaction<'_>| -> Result<(), TreeError> {
                let each = |key: &u64| insert(tx, shape, *key, &value(*key, value_bytes));
                batch.iter().try_for_each(each)
            };
            let ((), ticket) = self.segment.run_later(all).map_err(TreeError::from)?;
            last = Some(ticket);
        }
        match last {
            Some(ticket) => Ok(ticket.wait()?),
            None => Ok(()),
        }
    }

    fn get(&mut self, key: u64, _: usize) -> Result<Option<Vec<u8>>, Failure> {
        let Some(shape) = self.existing()? else {
            return Ok(None);
        };
        let snapshot = self.segment.snapshot()?;
        Ok(shape.get(pages(&snapshot)?, key)?)
    }

    fn count(&mut self) -> Result<u64, Failure> {
        let Some(shape) = self.existing()? else {
            return Ok(0);
        };
        let snapshot = self.segment.snapshot()?;
        Ok(shape.count(pages(&snapshot)?)?)
    }
}
