//! The keys and values of an index.
//!
//! The seed determines the entry of a number (I11), and the numbers in an index are those below a count. So the
//! expected contents are known without keeping them.

pub const KEY_BYTES: usize = 16;

pub const VALUE_BYTES: usize = 100;

pub type Key = [u8; KEY_BYTES];

/// A key and its value.
pub type Entry = (Key, [u8; VALUE_BYTES]);

/// The order of the keys of ascending numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// They ascend.
    Sorted,
    /// As good as random.
    Random,
}

/// The key of a number: no two are the same.
pub fn key(seed: u64, order: Order, number: u64) -> Key {
    let first = match order {
        Order::Sorted => number,
        Order::Random => mix(number ^ seed),
    };
    let mut key = Key::default();
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&mix(seed).to_be_bytes());
    key
}

pub fn value(key: &[u8]) -> [u8; VALUE_BYTES] {
    let (mut state, mut value) = (0, [0; VALUE_BYTES]);
    for word in key.chunks(8) {
        state = mix(state ^ word.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)));
    }
    for word in value.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        word.copy_from_slice(&mix(state).to_le_bytes()[..word.len()]);
    }
    value
}

/// The finisher of splitmix64: a bijection.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_and_ascend_where_they_are_to() {
        let keys = |order| (0..1_000).map(move |number| key(7, order, number));
        assert!(keys(Order::Sorted).is_sorted());
        assert!(!keys(Order::Random).is_sorted());
        let mut random: Vec<_> = keys(Order::Random).collect();
        random.sort_unstable();
        random.dedup();
        assert_eq!(random.len(), 1_000);
        assert_ne!(value(&random[0]), value(&random[1]));
    }
}
