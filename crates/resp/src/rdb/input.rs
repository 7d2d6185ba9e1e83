//! Bytes of a value that are read from their front: lengths, numbers, and texts, which may be compressed.
//!
//! Each text and each element is taken from the value's bounds; so a short input cannot ask for much memory.

use super::lengths::{INT8, INT16, INT32, LZF, Lengths};
use super::{DECODED_BYTES_MAX, ELEMENTS_MAX, RdbError, TEXT_BYTES_MAX};

/// A text that is kept counts for so many bytes besides its own.
const EACH_BYTES: usize = 16;

/// The memory and elements that a value took when it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    /// Bytes of its texts, including those in which elements were packed.
    pub bytes: usize,
    /// Elements, entries, consumers and pending entries.
    pub elements: usize,
}

/// The unread bytes, and the rest of a value's bounds.
#[derive(Debug)]
pub(super) struct Input<'b> {
    bytes: &'b [u8],
    /// The number of bytes before the unread ones.
    at: usize,
    /// The value's bounds.
    most: Taken,
    /// The part of them that it may still use.
    left: Taken,
}

impl Lengths for Input<'_> {
    type Error = RdbError;

    fn byte(&mut self) -> Result<u8, RdbError> {
        self.array().map(|[byte]| byte)
    }

    fn wrong(&self, what: &'static str) -> RdbError {
        RdbError::Malformed { what, at: self.at }
    }
}

impl<'b> Input<'b> {
    /// With the bounds of a payload.
    pub fn new(bytes: &'b [u8]) -> Self {
        let most = Taken {
            bytes: DECODED_BYTES_MAX,
            elements: ELEMENTS_MAX,
        };
        Input::bounded(bytes, most)
    }

    /// With other bounds.
    pub fn bounded(bytes: &'b [u8], most: Taken) -> Self {
        Input {
            bytes,
            at: 0,
            most,
            left: most,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The number of bytes taken.
    pub fn at(&self) -> usize {
        self.at
    }

    /// So many bytes, as they are.
    pub fn take(&mut self, count: usize) -> Result<&'b [u8], RdbError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(RdbError::Short(self.at))?;
        self.bytes = rest;
        self.at += count;
        Ok(taken)
    }

    /// So many bytes, one for each place.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], RdbError> {
        let short = RdbError::Short(self.at);
        self.take(N)?.try_into().map_err(|_| short)
    }

    /// The part of its bounds that the value has used.
    pub fn taken(&self) -> Taken {
        Taken {
            bytes: self.most.bytes - self.left.bytes,
            elements: self.most.elements - self.left.elements,
        }
    }

    /// Room for a text that is kept, which is asked for before it is decompressed.
    pub fn keep(&mut self, bytes: usize) -> Result<(), RdbError> {
        if bytes > TEXT_BYTES_MAX {
            return Err(RdbError::TooLarge);
        }
        let left = (self.left.bytes).checked_sub(bytes.saturating_add(EACH_BYTES));
        self.left.bytes = left.ok_or(RdbError::TooLarge)?;
        Ok(())
    }

    /// Room for an element.
    pub fn count(&mut self) -> Result<(), RdbError> {
        let left = self.left.elements.checked_sub(1);
        self.left.elements = left.ok_or(RdbError::TooLarge)?;
        Ok(())
    }

    /// Reads a text: plain, an integer, or compressed.
    pub fn text(&mut self) -> Result<Vec<u8>, RdbError> {
        let integer = |number: i64| number.to_string().into_bytes();
        Ok(match self.length_or_form()? {
            (length, None) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let text = self.take(length)?;
                self.keep(length)?;
                text.to_vec()
            }
            (_, Some(INT8)) => integer(i8::from_le_bytes(self.array()?).into()),
            (_, Some(INT16)) => integer(i16::from_le_bytes(self.array()?).into()),
            (_, Some(INT32)) => integer(i32::from_le_bytes(self.array()?).into()),
            (_, Some(LZF)) => {
                let wrong = self.wrong("a compressed text that does not fit its length");
                let packed = usize::try_from(self.length()?).unwrap_or(usize::MAX);
                let length = usize::try_from(self.length()?).unwrap_or(usize::MAX);
                let packed = self.take(packed)?;
                self.keep(length)?;
                decompressed(packed, length).ok_or(wrong)?
            }
            (_, Some(_)) => return Err(self.wrong("a text in no form")),
        })
    }

    /// A text that is an element.
    pub fn element(&mut self) -> Result<Vec<u8>, RdbError> {
        self.count()?;
        self.text()
    }

    /// Texts behind their number, or behind the number of groups of so many.
    pub fn texts(&mut self, each: u64) -> Result<Vec<Vec<u8>>, RdbError> {
        let count = self.length()?.saturating_mul(each);
        // As many as there are: a number promises nothing.
        (0..count).map(|_| self.element()).collect()
    }

    /// The elements of a text in which they are packed.
    pub fn packed(
        &mut self,
        unpack: fn(&mut Input<'_>) -> Result<Vec<Vec<u8>>, RdbError>,
    ) -> Result<Vec<Vec<u8>>, RdbError> {
        let at = self.at;
        let text = self.text()?;
        let mut inner = self.within(&text, at);
        let elements = unpack(&mut inner)?;
        self.return_from(&inner);
        Ok(elements)
    }

    /// A text of this input, from an offset on, with the rest of this input's bounds.
    pub fn within<'t>(&self, text: &'t [u8], at: usize) -> Input<'t> {
        Input {
            bytes: text,
            at,
            most: self.most,
            left: self.left,
        }
    }

    /// Takes the bounds used by an inner text from the rest.
    pub fn return_from(&mut self, inner: &Input<'_>) {
        self.left = inner.left;
    }

    /// The same of pairs.
    pub fn even(
        &mut self,
        unpack: fn(&mut Input<'_>) -> Result<Vec<Vec<u8>>, RdbError>,
    ) -> Result<Vec<Vec<u8>>, RdbError> {
        let elements = self.packed(unpack)?;
        match elements.len() % 2 {
            0 => Ok(elements),
            _ => Err(self.wrong("a field without a value")),
        }
    }

    /// A score that is written as a text.
    pub fn score_text(&mut self) -> Result<f64, RdbError> {
        Ok(match self.byte()? {
            253 => f64::NAN,
            254 => f64::INFINITY,
            255 => f64::NEG_INFINITY,
            length => {
                let text = self.take(length.into())?;
                number_of(text).ok_or_else(|| self.wrong("a score that is no number"))?
            }
        })
    }
}

/// The number of a text.
pub(super) fn number_of(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// A text that was compressed by LZF, if it has this length.
fn decompressed(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut text: Vec<u8> = Vec::new();
    let mut rest = packed.iter().copied();
    while let Some(control) = rest.next() {
        if control < 0x20 {
            // As they are.
            for _ in 0..=control {
                text.push(rest.next()?);
            }
        } else {
            let mut count = usize::from(control >> 5);
            if count == 7 {
                count += usize::from(rest.next()?);
            }
            let back = usize::from(control & 0x1f) << 8 | usize::from(rest.next()?);
            let from = text.len().checked_sub(back + 1)?;
            // The copied range may overlap the one being written.
            for at in from..from + count + 2 {
                let byte = *text.get(at)?;
                text.push(byte);
            }
        }
        if text.len() > length {
            return None;
        }
    }
    (text.len() == length).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_texts_are_read_and_wrong_ones_refused() {
        // "aaaaaaaaaaaaaaaaaaaa" as Redis' own compressor writes it.
        let packed = [0x01, b'a', b'a', 0xe0, 0x09, 0x00];
        assert_eq!(decompressed(&packed, 20), Some(vec![b'a'; 20]));
        assert_eq!(decompressed(&packed, 19), None);
        assert_eq!(decompressed(&packed, 21), None);
        assert_eq!(decompressed(&[0x20, 0x05], 3), None);
        assert_eq!(decompressed(&[0x05, b'a'], 6), None);
    }

    #[test]
    fn a_length_that_promises_much_takes_no_memory() {
        let mut input = Input::new(&[0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        assert_eq!(input.texts(2), Err(RdbError::Short(10)));
        let mut bomb = vec![LZF, 0x03, 0x81];
        bomb.extend(u64::MAX.to_be_bytes());
        bomb.extend([0xe0, 0xff, 0]);
        assert_eq!(Input::new(&bomb).text(), Err(RdbError::TooLarge));
    }
}
