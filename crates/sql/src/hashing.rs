//! Hashes of values, and a table of places by them, for joins and sets. Values that compare as equal have one hash,
//! also numbers of different types. A lookup compares the values themselves.
//!
//! Source: multiply and fold: the mixing of wyhash (Wang Yi, 2019). The seed is drawn once for a process, so that a
//! client cannot choose values that collide.

use crate::values::arithmetic::without_zeros;
use sardonyx::schema::{Value, ValueRef};
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
static SEED: LazyLock<u64> = LazyLock::new(|| STATE.hash_one(0x5a_u8) | 1);
/// The seed of texts: a client may choose both sides of a product.
static OTHER_SEED: LazyLock<u64> = LazyLock::new(|| STATE.hash_one(0xa5_u8) | 1);

fn mixed(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ *SEED) * u128::from(b ^ 0x9e37_79b9_7f4a_7c15);
    (product as u64) ^ ((product >> 64) as u64)
}

fn of_bytes(bytes: &[u8]) -> u64 {
    let other = *OTHER_SEED;
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = mixed(hash, u64::from_le_bytes(*word) ^ other);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mixed(hash, u64::from_le_bytes(last) ^ other)
}

fn whole(value: i128) -> u64 {
    match value.unsigned_abs() < 1 << 126 {
        true => mixed(value as u64, (value >> 64) as u64),
        false => mixed(4, (value as f64).to_bits()),
    }
}

fn float(value: f64) -> u64 {
    match value.trunc() == value && value.abs() < 2_f64.powi(126) {
        true => whole(value as i128),
        false if value.is_nan() => mixed(4, f64::NAN.to_bits()),
        false => mixed(4, value.to_bits()),
    }
}

pub(crate) fn hash_of(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Int(value) => whole(value),
        ValueRef::Text(text) => of_bytes(text.as_bytes()),
        ValueRef::Bytes(bytes) => of_bytes(bytes),
        ValueRef::Null => 0,
        ValueRef::Bool(value) => mixed(1, value.into()),
        ValueRef::Decimal(units, scale) => match without_zeros(units, scale) {
            (units, 0) => whole(units),
            (units, scale) => float(units as f64 / 10_f64.powi(scale.into())),
        },
        ValueRef::Float(value) => float(value),
        ValueRef::NonFinite(value) => float(value.to_float()),
        ValueRef::U128(value) => match i128::try_from(value) {
            Ok(value) => whole(value),
            Err(_) => mixed(4, (value as f64).to_bits()),
        },
        ValueRef::Date(days) => mixed(8, i64::from(days) as u64),
        ValueRef::Time(time) | ValueRef::Timestamp(time) => mixed(9, time as u64),
        ValueRef::Uuid(uuid) => STATE.hash_one(uuid),
        other => STATE.hash_one(other.to_string()),
    }
}

/// The hash of values after others.
pub(crate) fn hashed(before: u64, hash: u64) -> u64 {
    mixed(before, hash)
}

/// The hash of a row of values, or `None` if one of them is null.
pub(crate) fn hash_of_row(values: &[Value]) -> Option<u64> {
    let mut hash = 0;
    for value in values {
        match value.as_ref() {
            ValueRef::Null => return None,
            value => hash = hashed(hash, hash_of(value)),
        }
    }
    Some(hash)
}

/// The mark of no place.
const NONE: u32 = u32::MAX;

/// Places, from 0 in the order in which they were added, by hashes.
#[derive(Debug, Default)]
pub(crate) struct HashTable {
    hashes: Vec<u64>,
    /// The next place in the bucket of each place.
    next: Vec<u32>,
    /// The first and the last place of each bucket.
    buckets: Vec<(u32, u32)>,
}

impl HashTable {
    /// The number of places.
    pub fn count(&self) -> usize {
        self.hashes.len()
    }

    /// The bytes that a place takes at most.
    pub const PLACE_BYTES: usize =
        size_of::<u64>() + size_of::<u32>() + 2 * size_of::<(u32, u32)>();

    /// Adds a place.
    pub fn push(&mut self, hash: u64) {
        self.hashes.push(hash);
        self.next.push(NONE);
        if self.hashes.len() > self.buckets.len() {
            let buckets = (self.buckets.len() * 2).max(16);
            self.buckets.clear();
            self.buckets.resize(buckets, (NONE, NONE));
            (0..self.hashes.len()).for_each(|place| self.link(place));
        } else {
            self.link(self.hashes.len() - 1);
        }
    }

    fn link(&mut self, place: usize) {
        let bucket = self.hashes[place] as usize & (self.buckets.len() - 1);
        let (first, last) = &mut self.buckets[bucket];
        self.next[place] = NONE;
        match *last {
            NONE => *first = place as u32,
            last => self.next[last as usize] = place as u32,
        }
        *last = place as u32;
    }

    /// True if a place has this hash.
    pub fn has(&self, hash: u64) -> bool {
        self.found(hash).next().is_some()
    }

    /// The places of a hash, in their order.
    pub fn found(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        let mut at = match self.buckets.is_empty() {
            true => NONE,
            false => self.buckets[hash as usize & (self.buckets.len() - 1)].0,
        };
        std::iter::from_fn(move || {
            while at != NONE {
                let place = at as usize;
                at = self.next[place];
                if self.hashes[place] == hash {
                    return Some(place);
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sardonyx::schema::NonFinite;
    use sardonyx_rows::condition::compare;
    use std::collections::HashMap;

    fn values() -> impl Strategy<Value = ValueRef<'static>> {
        prop_oneof![
            (-300..300_i128).prop_map(ValueRef::Int),
            (0..300_u128).prop_map(ValueRef::U128),
            Just(ValueRef::U128(1 << 127)),
            Just(ValueRef::Float(2_f64.powi(127))),
            (-3000..3000_i128, 0..4_u8).prop_map(|(units, scale)| ValueRef::Decimal(units, scale)),
            (-400..400_i32).prop_map(|quarters| ValueRef::Float(f64::from(quarters) / 4.0)),
            (-40..40_i32).prop_map(|tenths| ValueRef::Float(f64::from(tenths) / 10.0)),
            Just(ValueRef::Float(f64::NAN)),
            Just(ValueRef::Float(f64::INFINITY)),
            Just(ValueRef::Float(f64::NEG_INFINITY)),
            Just(ValueRef::NonFinite(NonFinite::NaN)),
            Just(ValueRef::NonFinite(NonFinite::Infinity)),
            Just(ValueRef::NonFinite(NonFinite::NegativeInfinity)),
            Just(ValueRef::Float(-f64::NAN)),
            Just(ValueRef::Float(-0.0)),
        ]
    }

    proptest! {
        #[test]
        fn equal_numbers_have_one_hash(a in values(), b in values()) {
            if compare(a, b).is_some_and(|order| order.is_eq()) {
                prop_assert_eq!(hash_of(a), hash_of(b), "{:?} {:?}", a, b);
            }
        }

        #[test]
        fn a_table_is_as_its_model(hashes in prop::collection::vec(0..40_u64, 0..200)) {
            let mut table = HashTable::default();
            let mut model: HashMap<u64, Vec<usize>> = HashMap::new();
            for (place, hash) in hashes.iter().enumerate() {
                // Some places share a bucket, and not the hash.
                let hash = hash * 8;
                table.push(hash);
                model.entry(hash).or_default().push(place);
            }
            for hash in 0..330 {
                let found: Vec<usize> = table.found(hash).collect();
                prop_assert_eq!(&found, &model.get(&hash).cloned().unwrap_or_default());
            }
        }
    }
}
