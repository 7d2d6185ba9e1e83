//! Keys of fixed length: integers and byte strings.

/// A key of fixed length, ordered as its type is.
///
/// An implementation keeps two promises: `read` returns the value that `write` wrote, and `read` accepts any bytes (a
/// damaged page may hold any). Breaking them gives wrong answers, not undefined behaviour.
pub trait Key: Copy + Ord {
    /// The length of a stored key in bytes, 1 to 64.
    const LENGTH: usize;

    /// Reads a key from exactly [`Key::LENGTH`] bytes.
    fn read(bytes: &[u8]) -> Self;

    /// Writes this key into exactly [`Key::LENGTH`] bytes.
    fn write(self, bytes: &mut [u8]);
}

impl Key for u64 {
    const LENGTH: usize = 8;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Self {
        u64::from_le_bytes(bytes.try_into().expect("a stored u64 has eight bytes"))
    }

    #[inline(always)]
    fn write(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_le_bytes());
    }
}

/// Byte strings of 1 to 64 bytes, in the order of their bytes.
impl<const LENGTH: usize> Key for [u8; LENGTH] {
    const LENGTH: usize = LENGTH;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Self {
        bytes
            .try_into()
            .expect("a stored key has the bytes of its type")
    }

    #[inline(always)]
    fn write(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self);
    }
}
