//! Elements chosen at random: `HRANDFIELD`, `SRANDMEMBER`, `SPOP`, `ZRANDMEMBER`.

use super::range::Scored;
use crate::data::{Data, Elements, Entry, Pair, State};
use crate::failure::Failure;
use sardonyx::rows::ReadRow;
use std::collections::HashSet;

/// The most elements that are chosen with repetition.
const REPEATED_MAX: u64 = 1 << 20;

/// Up to a part of one in so many, elements are drawn one by one: a draw costs as much as so many steps of a walk.
const DRAWN_PART: u64 = 16;

/// The data kept of an element.
pub(super) trait Kept: Clone + Default {
    /// Reads it from the element's row.
    fn read(row: &dyn ReadRow) -> Result<Self, Failure>;

    fn bytes(&self) -> usize;
}

/// A field and its value.
impl Kept for Pair {
    fn read(row: &dyn ReadRow) -> Result<Self, Failure> {
        let (field, value) = Elements::field(row)?;
        Ok((field.to_vec(), value.to_vec()))
    }

    fn bytes(&self) -> usize {
        self.0.len() + self.1.len()
    }
}

/// A member, or a field.
impl Kept for Vec<u8> {
    fn read(row: &dyn ReadRow) -> Result<Self, Failure> {
        Ok(Elements::name(row)?.to_vec())
    }

    fn bytes(&self) -> usize {
        self.len()
    }
}

/// A member and its score.
impl Kept for Scored {
    fn read(row: &dyn ReadRow) -> Result<Self, Failure> {
        let (member, score) = Elements::scored(row)?;
        Ok((member.to_vec(), score))
    }

    fn bytes(&self) -> usize {
        self.0.len()
    }
}

/// So many different elements, or all if there are fewer; if the count is negative, as many, some perhaps more than once.
pub(super) fn random_elements<T: Kept, S: State>(
    data: &mut Data<'_, S>,
    entry: &Entry,
    count: i64,
) -> Result<Vec<T>, Failure> {
    let repeats = count < 0;
    let wanted = count.unsigned_abs();
    if repeats && wanted > REPEATED_MAX {
        return Err(Failure::Told("ERR value is out of range"));
    }
    if wanted <= entry.length / DRAWN_PART
        && let Some(chosen) = draw(data, entry, wanted as usize, repeats)?
    {
        return Ok(chosen);
    }
    let mut places: Vec<u64> = match repeats {
        true => (0..wanted).map(|_| data.below(entry.length)).collect(),
        false => choose(data, entry.length, wanted.min(entry.length)),
    };
    let order = places.clone();
    places.sort_unstable();
    places.dedup();
    let mut kept = Vec::with_capacity(places.len());
    let (mut at, mut next, room) = (0, 0, data.room);
    data.walk(entry, None, |row| {
        let mut has_room = true;
        if places.get(next) == Some(&at) {
            let element = T::read(row)?;
            has_room = room.take(element.bytes());
            kept.push(element);
            next += 1;
        }
        at += 1;
        Ok(has_room && next < places.len())
    })?;
    room.check()?;
    let mut chosen: Vec<T> = Vec::with_capacity(order.len());
    // For each distinct place, the index at which it was chosen first.
    let mut first: Vec<Option<usize>> = vec![None; kept.len()];
    for place in &order {
        let Ok(found) = places.binary_search(place) else {
            continue;
        };
        let Some(element) = kept.get_mut(found) else {
            continue;
        };
        let element = match first[found].and_then(|first| chosen.get(first)) {
            // One that is there again takes room again.
            Some(before) if !room.take(before.bytes()) => break,
            Some(before) => before.clone(),
            None => {
                first[found] = Some(chosen.len());
                std::mem::take(element)
            }
        };
        chosen.push(element);
    }
    room.check()?;
    Ok(chosen)
}

/// So many elements drawn one by one. `None` if too many were drawn again, since the key has fewer rows than its length.
fn draw<T: Kept, S: State>(
    data: &mut Data<'_, S>,
    entry: &Entry,
    wanted: usize,
    repeats: bool,
) -> Result<Option<Vec<T>>, Failure> {
    let (room, mut seen, mut chosen) = (data.room, HashSet::new(), Vec::with_capacity(wanted));
    for _ in 0..2 * wanted + 64 {
        if chosen.len() == wanted {
            break;
        }
        let drawn = data.with_any(entry, |row| {
            let is_new = repeats || row.address().is_some_and(|at| seen.insert(at));
            is_new.then(|| T::read(row)).transpose()
        })?;
        if let Some(element) = drawn.flatten() {
            if !room.take(element.bytes()) {
                break;
            }
            chosen.push(element);
        }
    }
    room.check()?;
    Ok((chosen.len() == wanted).then_some(chosen))
}

/// So many different numbers below a bound, by Floyd's method.
fn choose<S: State>(data: &mut Data<'_, S>, bound: u64, count: u64) -> Vec<u64> {
    let mut chosen = HashSet::with_capacity(count as usize);
    let mut order = Vec::with_capacity(count as usize);
    for last in bound - count..bound {
        let number = data.below(last + 1);
        let number = if chosen.insert(number) { number } else { last };
        chosen.insert(number);
        order.push(number);
    }
    order
}
