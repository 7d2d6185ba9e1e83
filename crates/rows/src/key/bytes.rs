//! The bytes of a key: short ones without memory of their own.

use std::ops::{Deref, DerefMut};

/// Keys up to this length need no memory of their own.
const SHORT_BYTES_MAX: usize = 48;

/// Bytes that grow.
#[derive(Clone, Debug)]
pub struct KeyBytes {
    short: [u8; SHORT_BYTES_MAX],
    /// Bytes in `short`; all are in `long` once they do not fit.
    len: usize,
    long: Vec<u8>,
}

impl Default for KeyBytes {
    #[inline]
    fn default() -> Self {
        KeyBytes {
            short: [0; SHORT_BYTES_MAX],
            len: 0,
            long: Vec::new(),
        }
    }
}

impl KeyBytes {
    /// Appends a byte.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    /// Appends bytes.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.long.is_empty() && end <= SHORT_BYTES_MAX {
            true => {
                self.short[self.len..end].copy_from_slice(bytes);
                self.len = end;
            }
            false => self.extend_long(bytes),
        }
    }

    /// Appends the first bytes of a few: the others are copied, too, and written over by what comes behind. So no loop is
    /// needed for so few.
    #[inline]
    pub fn extend_first<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        let end = self.len + N;
        match self.long.is_empty() && end <= SHORT_BYTES_MAX {
            true => {
                self.short[self.len..end].copy_from_slice(bytes);
                self.len += length.min(N);
            }
            false => self.extend(&bytes[..length]),
        }
    }

    /// Takes bytes off the end; there are more.
    #[inline]
    pub fn shorten(&mut self, by: usize) {
        match self.long.is_empty() {
            true => self.len -= by,
            false => self.long.truncate(self.long.len() - by),
        }
    }

    #[cold]
    fn extend_long(&mut self, bytes: &[u8]) {
        if self.long.is_empty() {
            self.long.extend_from_slice(&self.short[..self.len]);
        }
        self.long.extend_from_slice(bytes);
    }
}

impl Deref for KeyBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self.long.is_empty() {
            true => &self.short[..self.len],
            false => &self.long,
        }
    }
}

impl DerefMut for KeyBytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self.long.is_empty() {
            true => &mut self.short[..self.len],
            false => &mut self.long,
        }
    }
}
