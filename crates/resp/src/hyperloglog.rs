//! HyperLogLog: about how many different elements there were, in 12 KiB at most.
//!
//! A string has the registers as Redis writes them, so that it can be read and set as a string. It has 16,384
//! registers of six bits each or, while few of them are set, their runs. The estimate is Redis', to the last bit.
//!
//! Source: Redis 7.0's documentation of the format; Ertl, New cardinality estimation algorithms for HyperLogLog sketches
//! (arXiv:1702.01284); MurmurHash64A.

const REGISTER_BITS: u32 = 14;
const REGISTERS: usize = 1 << REGISTER_BITS;
/// The bits of a hash that a register counts zeroes of.
const COUNTED_BITS: u32 = 64 - REGISTER_BITS;
const HEADER_BYTES: usize = 16;
const DENSE_BYTES: usize = HEADER_BYTES + REGISTERS * 6 / 8;
/// A string is none if it has more bytes than its longest runs: those of one register, of two bytes each.
pub(crate) const READ_BYTES_MAX: usize = HEADER_BYTES + 2 * REGISTERS + 1;
const MAGIC: &[u8] = b"HYLL";
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// The largest register, and the longest runs, of which there are codes.
const SPARSE_VALUE_MAX: u8 = 32;
const RUN_MAX: usize = 4;
const ZEROES_MAX: usize = 64;
/// The last byte of the cached estimate has this bit if there is none.
const NOT_CACHED: u8 = 1 << 7;

/// Why a string is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wrong {
    /// It has no such header.
    Kind,
    /// Its registers cannot be read.
    Content,
}

/// The registers of a string.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HyperLogLog {
    registers: Box<[u8]>,
    pub is_dense: bool,
}

impl HyperLogLog {
    /// A new one without elements.
    pub fn new() -> HyperLogLog {
        HyperLogLog {
            registers: vec![0; REGISTERS].into(),
            is_dense: false,
        }
    }

    /// Reads the registers from a string.
    ///
    /// # Errors
    /// The string is no HyperLogLog.
    pub fn read(text: &[u8]) -> Result<HyperLogLog, Wrong> {
        let mut read = HyperLogLog::new();
        read.merge(text)?;
        Ok(read)
    }

    /// Adds the registers from a string.
    ///
    /// # Errors
    /// The string is no HyperLogLog; a part of it may have been added.
    pub fn merge(&mut self, text: &[u8]) -> Result<(), Wrong> {
        let (header, rest) = text.split_at_checked(HEADER_BYTES).ok_or(Wrong::Kind)?;
        if !header.starts_with(MAGIC) {
            return Err(Wrong::Kind);
        }
        match header[MAGIC.len()] {
            DENSE if text.len() == DENSE_BYTES => {
                self.is_dense = true;
                let registers = self.registers.iter_mut().enumerate();
                registers.for_each(|(number, own)| *own = (*own).max(dense(rest, number)));
            }
            SPARSE => self.merge_sparse(rest).ok_or(Wrong::Content)?,
            _ => return Err(Wrong::Kind),
        }
        Ok(())
    }

    fn merge_sparse(&mut self, mut codes: &[u8]) -> Option<()> {
        let mut at = 0;
        while let Some((code, rest)) = codes.split_first() {
            codes = rest;
            let (value, run) = match code >> 6 {
                0 => (0, usize::from(code & 0x3f) + 1),
                1 => {
                    let (low, rest) = codes.split_first()?;
                    codes = rest;
                    (0, (usize::from(code & 0x3f) << 8 | usize::from(*low)) + 1)
                }
                _ => ((code >> 2 & 0x1f) + 1, usize::from(code & 3) + 1),
            };
            let registers = self.registers.get_mut(at..at + run)?.iter_mut();
            registers.for_each(|own| *own = (*own).max(value));
            at += run;
        }
        (at == REGISTERS).then_some(())
    }

    /// As a string, with the runs of its registers if these take so many bytes at most. Once it has all registers, it
    /// keeps them.
    pub fn text(&self, sparse_bytes_max: usize) -> Vec<u8> {
        let sparse = (!self.is_dense).then(|| self.sparse()).flatten();
        let sparse = sparse.filter(|codes| codes.len() <= sparse_bytes_max);
        let (encoding, registers) = match sparse {
            Some(codes) => (SPARSE, codes),
            None => (DENSE, self.dense()),
        };
        let mut text = Vec::with_capacity(HEADER_BYTES + registers.len());
        text.extend_from_slice(MAGIC);
        text.resize(HEADER_BYTES, 0);
        text[MAGIC.len()] = encoding;
        // No estimate is kept, but that of no elements, which is 0.
        if self.registers.iter().any(|register| *register > 0) {
            text[HEADER_BYTES - 1] = NOT_CACHED;
        }
        text.extend_from_slice(&registers);
        text
    }

    /// The runs; `None` if a register is too large for them.
    fn sparse(&self) -> Option<Vec<u8>> {
        let mut codes = Vec::new();
        let runs = self.registers.chunk_by(|one, other| one == other);
        for run in runs {
            let (value, mut left) = (run[0], run.len());
            if value > SPARSE_VALUE_MAX {
                return None;
            }
            while left > 0 {
                let most = match value {
                    0 => left,
                    _ => left.min(RUN_MAX),
                };
                match (value, most) {
                    (0, ..=ZEROES_MAX) => codes.push((most - 1) as u8),
                    (0, _) => {
                        codes.push(0x40 | ((most - 1) >> 8) as u8);
                        codes.push((most - 1) as u8);
                    }
                    _ => codes.push(0x80 | (value - 1) << 2 | (most - 1) as u8),
                }
                left -= most;
            }
        }
        Some(codes)
    }

    fn dense(&self) -> Vec<u8> {
        // One byte more, into which the last register has no bits.
        let mut bytes = vec![0; DENSE_BYTES - HEADER_BYTES + 1];
        for (number, register) in self.registers.iter().enumerate() {
            let (byte, bit) = (number * 6 / 8, number * 6 % 8);
            let shifted = u16::from(*register) << bit;
            bytes[byte] |= shifted as u8;
            bytes[byte + 1] |= (shifted >> 8) as u8;
        }
        bytes.pop();
        bytes
    }

    /// Adds an element. Returns whether a register changed.
    pub fn add(&mut self, element: &[u8]) -> bool {
        let hash = murmur(element);
        let register = &mut self.registers[hash as usize % REGISTERS];
        let counted = hash >> REGISTER_BITS | 1 << COUNTED_BITS;
        let count = counted.trailing_zeros() as u8 + 1;
        let is_more = count > *register;
        *register = count.max(*register);
        is_more
    }

    /// About how many elements there were.
    pub fn count(&self) -> u64 {
        let mut counts = [0_u32; 64];
        (self.registers.iter()).for_each(|register| counts[usize::from(*register & 63)] += 1);
        let m = REGISTERS as f64;
        let last = COUNTED_BITS as usize + 1;
        let mut z = m * tau((m - f64::from(counts[last])) / m);
        for count in counts[1..last].iter().rev() {
            z += f64::from(*count);
            z *= 0.5;
        }
        z += m * sigma(f64::from(counts[0]) / m);
        const ALPHA: f64 = 0.721_347_520_444_481_7;
        (ALPHA * m * m / z).round() as u64
    }
}

/// A register of all of them.
fn dense(bytes: &[u8], number: usize) -> u8 {
    let (byte, bit) = (number * 6 / 8, number * 6 % 8);
    let high = bytes.get(byte + 1).copied().unwrap_or(0);
    let two = u16::from(bytes[byte]) | u16::from(high) << 8;
    (two >> bit) as u8 & 63
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if before == z {
            return z / 3.0;
        }
    }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if before == z {
            return z;
        }
    }
}

/// MurmurHash64A, with Redis' seed.
fn murmur(bytes: &[u8]) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const SEED: u64 = 0xadc8_3b19;
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(M);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut word = u64::from_le_bytes(*word).wrapping_mul(M);
        word ^= word >> 47;
        hash = (hash ^ word.wrapping_mul(M)).wrapping_mul(M);
    }
    if !tail.is_empty() {
        let mut last = [0; 8];
        last[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(M);
    }
    hash ^= hash >> 47;
    hash = hash.wrapping_mul(M);
    hash ^ hash >> 47
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_either_form() {
        let mut all = HyperLogLog::new();
        for number in 0..5000_u32 {
            assert_eq!(HyperLogLog::read(&all.text(3000)).as_ref(), Ok(&all));
            let dense = HyperLogLog {
                is_dense: true,
                ..all.clone()
            };
            assert_eq!(HyperLogLog::read(&dense.text(3000)), Ok(dense));
            for more in 0..100 {
                all.add(&(number * 100 + more).to_le_bytes());
            }
            if all.text(3000).len() > 3000 + HEADER_BYTES {
                assert!(number > 5);
                break;
            }
        }
        assert_eq!(all.text(3000).len(), DENSE_BYTES);
        assert_eq!(HyperLogLog::new().text(3000)[HEADER_BYTES..], [0x7f, 0xff]);
    }

    #[test]
    fn what_is_none_is_refused_and_nothing_is_read_beyond_it() {
        let good = HyperLogLog::new().text(3000);
        for (text, wrong) in [
            (&b""[..], Wrong::Kind),
            (b"HYLL", Wrong::Kind),
            (&[b"HYLX", &good[4..]].concat(), Wrong::Kind),
            (&[b"HYLL\x02", &good[5..]].concat(), Wrong::Kind),
            (&[b"HYLL\x00", &good[5..]].concat(), Wrong::Kind),
            (&good[..HEADER_BYTES], Wrong::Content),
            (&good[..good.len() - 1], Wrong::Content),
            (&[&good[..], b"\x00"].concat(), Wrong::Content),
            (
                &[&good[..HEADER_BYTES], &[0xff; 5000]].concat(),
                Wrong::Content,
            ),
        ] {
            assert_eq!(HyperLogLog::read(text).err(), Some(wrong), "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_stands_behind_a_header_is_refused_or_kept(
            is_sparse: bool,
            registers in proptest::collection::vec(proptest::num::u8::ANY, 0..400),
        ) {
            let header = HyperLogLog::new().text(3000)[..HEADER_BYTES].to_vec();
            let mut text = [header, registers].concat();
            text[MAGIC.len()] = u8::from(is_sparse);
            // A run of zeroes behind it makes many of them whole.
            for more in [&[][..], &[0x7f, 0xff], &[0x7e, 0x00]] {
                let text = [&text[..], more].concat();
                if let Ok(read) = HyperLogLog::read(&text) {
                    proptest::prop_assert_eq!(HyperLogLog::read(&read.text(3000)), Ok(read));
                }
            }
        }
    }
}
