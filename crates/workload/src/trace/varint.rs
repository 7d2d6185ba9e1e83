//! Numbers in as few bytes as they need: seven bits a byte, lowest first, the top bit set in all
//! bytes but the last (LEB128). Only the shortest form is a number, so that the same trace has the
//! same bytes.

/// The most bytes of a number of 64 bits.
pub const MAX_BYTES: usize = 10;

/// Appends a number.
pub fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Collects a number byte by byte.
#[derive(Default)]
pub struct Collector {
    number: u64,
    bytes: usize,
}

/// The result of one more byte of a number.
pub enum Step {
    /// More bytes follow.
    More,
    /// This was the last.
    Done(u64),
    /// This is no number: too long, or longer than it need be.
    Wrong,
}

impl Collector {
    /// Takes the next byte.
    pub fn take(&mut self, byte: u8) -> Step {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte holds the 64th bit alone.
        if self.bytes == MAX_BYTES - 1 && byte > 1 {
            return Step::Wrong;
        }
        if byte == 0 && self.bytes > 0 {
            return Step::Wrong;
        }
        self.number |= bits << (7 * self.bytes);
        self.bytes += 1;
        if byte & 0x80 != 0 {
            Step::More
        } else {
            Step::Done(self.number)
        }
    }
}

/// Folds a difference into a number without a sign: 0, -1, 1, -2, 2 … become 0, 1, 2, 3, 4 …
pub fn fold(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// Undoes [`fold`].
pub fn unfold(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The number at the start of some bytes, and how many it takes; none if it is wrong or cut
    /// off.
    fn read(bytes: &[u8]) -> Option<(u64, usize)> {
        let mut collector = Collector::default();
        for (place, &byte) in bytes.iter().enumerate() {
            match collector.take(byte) {
                Step::More => {}
                Step::Done(number) => return Some((number, place + 1)),
                Step::Wrong => return None,
            }
        }
        None
    }

    proptest! {
        #[test]
        fn every_number_survives(number: u64, shift in 0u32..64) {
            let number = number >> shift;
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            prop_assert_eq!(read(&bytes), Some((number, bytes.len())));
            for cut in 0..bytes.len() {
                prop_assert_eq!(read(&bytes[..cut]), None);
            }
        }

        #[test]
        fn only_what_would_be_written_is_read(
            bytes in prop::collection::vec(any::<u8>(), 0..12),
        ) {
            if let Some((number, length)) = read(&bytes) {
                let mut written = Vec::new();
                write(&mut written, number);
                prop_assert_eq!(&written[..], &bytes[..length]);
            }
        }

        #[test]
        fn every_difference_survives(difference: i64) {
            prop_assert_eq!(unfold(fold(difference)), difference);
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        let mut most = Vec::new();
        write(&mut most, u64::MAX);
        assert_eq!(most.len(), MAX_BYTES);
        assert_eq!(read(&most), Some((u64::MAX, 10)));
        most[9] = 2;
        assert_eq!(read(&most), None, "65 bits");
        most[9] = 0x81;
        assert_eq!(read(&most), None, "eleven bytes");
        assert_eq!(read(&[0x80, 0]), None, "zero in two bytes");
        assert_eq!(read(&[0]), Some((0, 1)));
        assert_eq!((fold(-1), fold(1), unfold(3)), (1, 2, -2));
    }
}
