//! A text in a segment.

use super::vector::Vector;
use crate::heap::{Heap, HeapError};
use crate::memory::{Memory, MemoryAccess};
use crate::place::P;
use crate::resident::Resident;

/// UTF-8 of any length. All zero bytes are an empty one. What is read is checked to be UTF-8,
/// because any bytes may stand there.
///
/// ```
/// use sardonyx_mapped::collections::Text;
/// use sardonyx_mapped::memory::PlainMemory;
/// use sardonyx_mapped::{Heap, P};
///
/// let mut memory = PlainMemory::new(1 << 30)?;
/// let heap = Heap::format(&mut memory)?;
/// let name: P<Text> = heap.allocate(&mut memory, &Text::new())?;
/// name.set(heap, &mut memory, "sard")?;
/// name.append(heap, &mut memory, "onyx")?;
/// assert_eq!(name.text(&memory)?, "sardonyx");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Resident)]
#[repr(transparent)]
pub struct Text {
    bytes: Vector<u8>,
}

impl Text {
    /// An empty one.
    pub const fn new() -> Self {
        Text {
            bytes: Vector::new(),
        }
    }
}

impl P<Text> {
    /// The text.
    ///
    /// # Errors
    /// [`HeapError::Place`], or [`HeapError::Damaged`] if it is not UTF-8.
    pub fn text<M: Memory + ?Sized>(self, memory: &M) -> Result<&str, HeapError> {
        let slice = self.bytes().slice(memory)?;
        std::str::from_utf8(memory.slice(slice)?)
            .map_err(|_| HeapError::damaged(slice.start.offset(), "a text is not UTF-8"))
    }

    /// Sets the text to another.
    ///
    /// # Errors
    /// [`HeapError::Grow`] if there is no room, and then nothing is changed; [`HeapError::Place`],
    /// [`HeapError::Damaged`].
    pub fn set<M: Memory + ?Sized>(
        self,
        heap: Heap,
        memory: &mut M,
        text: &str,
    ) -> Result<(), HeapError> {
        let had = self.bytes().slice(memory)?.length;
        let more = (text.len() as u64).saturating_sub(had);
        self.bytes().reserve(heap, memory, more)?;
        self.bytes().truncate(memory, 0)?;
        self.append(heap, memory, text)
    }

    /// Appends to the text.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn append<M: Memory + ?Sized>(
        self,
        heap: Heap,
        memory: &mut M,
        text: &str,
    ) -> Result<(), HeapError> {
        self.bytes().extend(heap, memory, text.as_bytes())
    }

    /// Makes the text empty and frees its room.
    ///
    /// # Errors
    /// As [`Heap::free`].
    pub fn clear<M: Memory + ?Sized>(self, heap: Heap, memory: &mut M) -> Result<(), HeapError> {
        self.bytes().clear(heap, memory)
    }

    fn bytes(self) -> P<Vector<u8>> {
        self.cast()
    }
}
