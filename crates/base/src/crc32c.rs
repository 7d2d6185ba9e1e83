//! CRC-32C (Castagnoli), the checksum of every durable format: RFC 3720, appendix B.4.
//!
//! Processors that have an instruction for it use three of them at once. Each waits for its predecessor for three
//! cycles, so three parts of the data are summed side by side and then combined. Other processors look eight bytes up
//! in tables. The tables are computed by the compiler, so that no build script and no crate is needed.

mod tables;

use tables::{SLICES, Shift, shifted};

/// Parts of this length are summed side by side while that much is left.
const LONG: usize = 8192;
/// The same for what is left then.
const SHORT: usize = 256;

static LONG_SHIFT: Shift = Shift::over(LONG);
static SHORT_SHIFT: Shift = Shift::over(SHORT);

/// The checksum of these bytes.
#[inline]
pub fn crc32c(data: &[u8]) -> u32 {
    crc32c_append(0, data)
}

/// The checksum of these bytes after others, whose checksum is given.
#[inline]
pub fn crc32c_append(checksum: u32, data: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { by_instruction(checksum, data) };
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("crc") {
        // SAFETY: the processor has the feature that the function is compiled for.
        return unsafe { by_instruction(checksum, data) };
    }
    by_tables(checksum, data)
}

/// The checksum of bytes, if they are two parts of these checksums. The second part has so many bytes, of which none is read.
pub fn crc32c_joined(first: u32, second: u32, second_bytes: usize) -> u32 {
    shifted(first, second_bytes) ^ second
}

/// The checksum of the second part of bytes: of all of them, of the first part, and the length of the second.
pub fn crc32c_of_rest(whole: u32, first: u32, rest_bytes: usize) -> u32 {
    shifted(first, rest_bytes) ^ whole
}

/// The checksum of bytes of this one with so many zeroes behind them.
pub fn crc32c_zeroes(checksum: u32, zeroes: usize) -> u32 {
    !shifted(!checksum, zeroes)
}

/// The checksum by the processor's instruction.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "sse4.2"))]
#[cfg_attr(target_arch = "aarch64", target_feature(enable = "crc"))]
fn by_instruction(checksum: u32, data: &[u8]) -> u32 {
    let (words, end) = data.as_chunks::<8>();
    let mut sum = !checksum;
    let mut words = words;
    for (length, shift) in [(LONG, &LONG_SHIFT), (SHORT, &SHORT_SHIFT)] {
        let part = length / 8;
        while words.len() >= 3 * part {
            let (first, rest) = words.split_at(part);
            let (second, rest) = rest.split_at(part);
            let (third, rest) = rest.split_at(part);
            let mut sums = (sum, 0, 0);
            for ((one, two), three) in first.iter().zip(second).zip(third) {
                sums.0 = word(sums.0, *one);
                sums.1 = word(sums.1, *two);
                sums.2 = word(sums.2, *three);
            }
            sum = shift.apply(shift.apply(sums.0) ^ sums.1) ^ sums.2;
            words = rest;
        }
    }
    for bytes in words {
        sum = word(sum, *bytes);
    }
    for &next in end {
        sum = byte(sum, next);
    }
    !sum
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
fn word(sum: u32, bytes: [u8; 8]) -> u32 {
    // The upper half of the result is always zero.
    std::arch::x86_64::_mm_crc32_u64(u64::from(sum), u64::from_le_bytes(bytes)) as u32
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
fn byte(sum: u32, byte: u8) -> u32 {
    std::arch::x86_64::_mm_crc32_u8(sum, byte)
}

#[cfg(target_arch = "aarch64")]
#[inline]
#[target_feature(enable = "crc")]
fn word(sum: u32, bytes: [u8; 8]) -> u32 {
    std::arch::aarch64::__crc32cd(sum, u64::from_le_bytes(bytes))
}

#[cfg(target_arch = "aarch64")]
#[inline]
#[target_feature(enable = "crc")]
fn byte(sum: u32, byte: u8) -> u32 {
    std::arch::aarch64::__crc32cb(sum, byte)
}

fn by_tables(checksum: u32, data: &[u8]) -> u32 {
    let (words, end) = data.as_chunks::<8>();
    let mut sum = !checksum;
    for word in words {
        let mixed = u64::from_le_bytes(*word) ^ u64::from(sum);
        sum = mixed
            .to_le_bytes()
            .iter()
            .zip(SLICES.iter().rev())
            .fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)]);
    }
    for &byte in end {
        sum = sum >> 8 ^ SLICES[0][usize::from(sum as u8 ^ byte)];
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bit by bit, as the polynomial is defined.
    fn by_definition(checksum: u32, data: &[u8]) -> u32 {
        !data.iter().fold(!checksum, |sum, &byte| {
            (0..8).fold(sum ^ u32::from(byte), |sum, _| {
                sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 }
            })
        })
    }

    #[test]
    fn the_vectors_of_rfc_3720() {
        let ascending: Vec<u8> = (0..32).collect();
        let descending: Vec<u8> = (0..32).rev().collect();
        let read_command = [
            0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0, 0,
            0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0,
        ];
        let vectors: [(&[u8], u32); 7] = [
            (&[0; 32], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (&descending, 0x113f_db5c),
            (&read_command, 0xd996_3a56),
            (b"123456789", 0xe306_9283),
            (b"", 0),
        ];
        for (data, expected) in vectors {
            assert_eq!(crc32c(data), expected);
            assert_eq!(by_tables(0, data), expected);
            assert_eq!(by_definition(0, data), expected);
        }
    }

    #[test]
    fn zeroes_of_any_power_of_two_are_appended_as_they_are_summed() {
        let data = b"123456789";
        let mut zeroes = Vec::new();
        for power in 0..24 {
            zeroes.resize(1 << power, 0);
            assert_eq!(
                crc32c_zeroes(crc32c(data), zeroes.len()),
                crc32c_append(crc32c(data), &zeroes),
                "2^{power}"
            );
        }
        // A length that no memory has.
        let most = crc32c_zeroes(1, usize::MAX);
        assert_eq!(most, crc32c_zeroes(crc32c_zeroes(1, 1), usize::MAX - 1));
    }

    #[test]
    fn lengths_around_those_of_the_parts() {
        let data: Vec<u8> = (0..3 * LONG + 4 * SHORT)
            .map(|i| ((i * i) >> 3) as u8)
            .collect();
        for around in [0, 8, 3 * SHORT, 6 * SHORT, 3 * LONG, 3 * LONG + 3 * SHORT] {
            for length in around.saturating_sub(9)..around + 9 {
                let part = &data[..length];
                let expected = by_definition(7, part);
                assert_eq!(crc32c_append(7, part), expected, "{length} bytes");
                assert_eq!(by_tables(7, part), expected, "{length} bytes");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_two_pieces(
            data in proptest::collection::vec(any::<u8>(), 0..2000),
            start in 0usize..16,
            cut in 0usize..2000,
        ) {
            let data = &data[start.min(data.len())..];
            let (first, second) = data.split_at(cut.min(data.len()));
            let expected = by_definition(0, data);
            prop_assert_eq!(crc32c(data), expected);
            prop_assert_eq!(by_tables(0, data), expected);
            prop_assert_eq!(crc32c_append(crc32c(first), second), expected);
            prop_assert_eq!(crc32c_joined(crc32c(first), crc32c(second), second.len()), expected);
            prop_assert_eq!(crc32c_of_rest(expected, crc32c(first), second.len()), crc32c(second));
            let zeroes = vec![0; cut];
            prop_assert_eq!(crc32c_zeroes(expected, cut), crc32c_append(expected, &zeroes));
        }
    }
}
