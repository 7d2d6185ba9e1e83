//! Elements chosen at random: `HRANDFIELD`, `SRANDMEMBER`, `SPOP`, `ZRANDMEMBER`.

use crate::data::{Data, Elements, Entry, Pair};
use crate::failure::Failure;
use sardonyx::RowRef;

/// The most elements that are chosen with repetition.
const REPEATED_MAX: u64 = 1 << 20;

/// What is kept of an element.
pub(super) type Keep<T> = fn(&RowRef<'_>) -> Result<T, Failure>;

/// A field and its value.
pub(super) fn keep_field(row: &RowRef<'_>) -> Result<Pair, Failure> {
    let (field, value) = Elements::field(row)?;
    Ok((field.to_vec(), value.to_vec()))
}

/// A member.
pub(super) fn keep_name(row: &RowRef<'_>) -> Result<Vec<u8>, Failure> {
    Ok(Elements::name(row)?.to_vec())
}

/// A member and its score.
pub(super) fn keep_scored(row: &RowRef<'_>) -> Result<(Vec<u8>, f64), Failure> {
    let (member, score) = Elements::scored(row)?;
    Ok((member.to_vec(), score))
}

/// So many different elements, or all if there are fewer; if the count is negative, as many, some perhaps more than once.
pub(super) fn random_elements<T: Clone>(
    data: &mut Data<'_, '_>,
    entry: &Entry,
    count: i64,
    keep: Keep<T>,
) -> Result<Vec<T>, Failure> {
    let repeats = count < 0;
    let wanted = count.unsigned_abs();
    if repeats && wanted > REPEATED_MAX {
        return Err(Failure::Told("ERR value is out of range"));
    }
    let mut places: Vec<u64> = match repeats {
        true => (0..wanted).map(|_| data.below(entry.length)).collect(),
        false => choose(data, entry.length, wanted.min(entry.length)),
    };
    let order = places.clone();
    places.sort_unstable();
    places.dedup();
    let mut kept = Vec::with_capacity(places.len());
    let (mut at, mut next) = (0, 0);
    data.walk(entry, None, |row| {
        if places.get(next) == Some(&at) {
            kept.push(keep(row)?);
            next += 1;
        }
        at += 1;
        Ok(next < places.len())
    })?;
    let chosen = order.iter().filter_map(|place| {
        let found = places.binary_search(place).ok()?;
        kept.get(found).cloned()
    });
    Ok(chosen.collect())
}

/// So many different numbers below a bound, by Floyd's method.
fn choose(data: &mut Data<'_, '_>, bound: u64, count: u64) -> Vec<u64> {
    let mut chosen = std::collections::HashSet::with_capacity(count as usize);
    let mut order = Vec::with_capacity(count as usize);
    for last in bound - count..bound {
        let number = data.below(last + 1);
        let number = if chosen.insert(number) { number } else { last };
        chosen.insert(number);
        order.push(number);
    }
    order
}
