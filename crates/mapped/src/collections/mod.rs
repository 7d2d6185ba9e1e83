//! Growable values that may live in a segment, on a [`Heap`](crate::Heap).
//!
//! Each is a small resident struct that owns what it has allocated. It is used through its place,
//! because growing changes it where it stands; a copy of it elsewhere would own the same memory
//! twice. Freeing what holds one does not free what it owns: clear it first.

mod text;
mod vector;

pub use text::Text;
pub use vector::Vector;
