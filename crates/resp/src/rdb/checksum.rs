//! The checksum of Redis' payloads and files: CRC-64 by Jones' polynomial, reflected, without inversion.

/// The polynomial 0xad93d23594c935a9 with its bits reflected.
const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

/// The remainders of all bytes.
const REMAINDERS: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u64, 0);
        while bit < 8 {
            rest = match rest & 1 {
                1 => rest >> 1 ^ POLYNOMIAL,
                _ => rest >> 1,
            };
            bit += 1;
        }
        #[expect(clippy::indexing_slicing, reason = "the index is less than 256")]
        {
            table[byte] = rest;
        }
        byte += 1;
    }
    table
};

/// The checksum of bytes behind those that have the one before; 0 of none.
pub fn checksum(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |sum, byte| {
        let place = usize::from(sum as u8 ^ byte);
        REMAINDERS.get(place).copied().unwrap_or_default() ^ sum >> 8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_redis() {
        assert_eq!(checksum(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        assert_eq!(
            checksum(checksum(0, b"1234"), b"56789"),
            0xe9c6_d914_c4b8_d9ca
        );
    }
}
