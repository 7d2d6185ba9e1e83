//! Descriptions of indexes, which are stored beside their pages: words and bytes, written one after another.

/// A description that is being written: little-endian words.
#[derive(Debug, Default)]
pub(crate) struct Words(pub Vec<u8>);

impl Words {
    pub fn put(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }

    /// Bytes of any number, up to a whole word.
    pub fn put_bytes(&mut self, bytes: &[u8]) {
        self.put(bytes.len() as u64);
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }
}

/// The rest of a description that is being read. All of its methods return `None` where it is too short.
#[derive(Debug)]
pub(crate) struct Described<'a>(pub &'a [u8]);

impl<'a> Described<'a> {
    pub fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    /// So many bytes follow.
    pub fn has(&self, bytes: usize) -> Option<()> {
        (bytes <= self.0.len()).then_some(())
    }

    /// A number of things that follow, each of at least so many bytes.
    pub fn count(&mut self, bytes: usize) -> Option<usize> {
        let count = usize::try_from(self.word()?).ok()?;
        self.has(count.checked_mul(bytes)?)?;
        Some(count)
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count(1)?;
        let (bytes, rest) = self
            .0
            .split_at_checked(count.checked_next_multiple_of(8)?)?;
        self.0 = rest;
        bytes.get(..count)
    }
}
