//! The fields of entries.

use sardonyx::schema::VALUE_BYTES_MAX;

/// The fields and values of an entry as its row has them. Each has its length, in groups of 7 bits from the lowest on,
/// and its bytes.
pub(crate) struct Fields;

impl Fields {
    /// The bytes of a row. `None` if they are too many for one.
    pub fn pack<'f>(parts: impl Iterator<Item = &'f [u8]>) -> Option<Vec<u8>> {
        let mut packed = Vec::new();
        for part in parts {
            let mut length = part.len();
            while length >= 0x80 {
                packed.push(length as u8 | 0x80);
                length >>= 7;
            }
            packed.push(length as u8);
            packed.extend_from_slice(part);
            if packed.len() > VALUE_BYTES_MAX {
                return None;
            }
        }
        Some(packed)
    }

    /// The fields and values. Bytes that are none end them.
    pub fn unpack(mut packed: &[u8]) -> impl Iterator<Item = &[u8]> {
        std::iter::from_fn(move || {
            let (mut length, mut shift) = (0_usize, 0);
            loop {
                let (byte, rest) = packed.split_first()?;
                packed = rest;
                length |= usize::from(byte & 0x7f).checked_shl(shift)?;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let part = packed.get(..length)?;
            packed = &packed[length..];
            Some(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_unpacked_as_they_were_packed_and_other_bytes_end_them() {
        let long = vec![7; 300];
        let longer = vec![8; 20_000];
        let parts: [&[u8]; 5] = [b"a", b"", &long, &longer, &[0, 255]];
        let packed = Fields::pack(parts.into_iter()).expect("few bytes");
        assert_eq!(Fields::unpack(&packed).collect::<Vec<_>>(), parts);
        for end in 0..packed.len() {
            let there = Fields::unpack(&packed[..end]).count();
            assert!(there < parts.len(), "{end}");
        }
        assert_eq!(Fields::unpack(&[0xff; 40]).count(), 0);
        let large = vec![0; VALUE_BYTES_MAX];
        assert!(Fields::pack([&large[..]].into_iter()).is_none());
    }
}
