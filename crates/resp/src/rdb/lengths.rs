//! Lengths in the format of Redis' files, read from a payload in memory and from a file alike.

/// Encodings of a text: an integer of some width, or compressed.
pub(super) const INT8: u8 = 0xc0;
pub(super) const INT16: u8 = 0xc1;
pub(super) const INT32: u8 = 0xc2;
pub(super) const LZF: u8 = 0xc3;

/// Bytes from whose front lengths are taken.
pub(super) trait Lengths {
    type Error;

    /// Takes a byte.
    fn byte(&mut self) -> Result<u8, Self::Error>;

    /// An error at this place.
    fn wrong(&self, what: &'static str) -> Self::Error;

    /// Takes a length.
    fn length(&mut self) -> Result<u64, Self::Error> {
        match self.length_or_form()? {
            (length, None) => Ok(length),
            (_, Some(_)) => Err(self.wrong("a text where a length should be")),
        }
    }

    /// Takes a length, or the encoding of a text instead.
    fn length_or_form(&mut self) -> Result<(u64, Option<u8>), Self::Error> {
        let first = self.byte()?;
        let (length, bytes) = match first {
            0x00..=0x3f => (first, 0),
            0x40..=0x7f => (first & 0x3f, 1),
            0x80 => (0, 4),
            0x81 => (0, 8),
            0xc0.. => return Ok((0, Some(first))),
            _ => return Err(self.wrong("a length in no form")),
        };
        // The highest byte comes first.
        let mut length = u64::from(length);
        for _ in 0..bytes {
            length = length << 8 | u64::from(self.byte()?);
        }
        Ok((length, None))
    }
}
