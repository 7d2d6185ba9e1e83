//! The changes in a drive's cache that last when the power fails.
//!
//! A drive writes its cache in any order, and a write of several sectors in any order of them. So any subset of the
//! sectors of any of the changes may last, applied in the order of their arrival. Subsets drawn sector by sector would
//! hardly ever lose a whole write, or keep the last one alone. Software forgets these cases, so there are several ways to
//! draw.

use crate::drive::Change;
use sardonyx_workload::random::Random;
use serde::Serialize;
use std::ops::Range;

/// The part of the cache that lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    Nothing,
    Everything,
    /// Each unit with this probability.
    Sectors {
        percent: u32,
    },
    /// Each write whole, with this probability.
    Writes {
        percent: u32,
    },
    /// The first writes, and a part of the next.
    First,
    /// The last writes, and a part of the one before them.
    Last,
}

/// The rule by which the cache is lost.
#[derive(Clone, Debug)]
pub struct Loss {
    kept: Kept,
    unit: u64,
    whole: Vec<Range<u64>>,
}

impl Loss {
    /// Torn at units of so many bytes. The ranges in `whole` last or are lost as one.
    ///
    /// # Panics
    /// If the unit is 0.
    pub fn new(kept: Kept, unit: u64, whole: &[Range<u64>]) -> Loss {
        assert!(unit > 0, "a unit has bytes");
        let whole = whole.to_vec();
        Loss { kept, unit, whole }
    }

    /// Draws one of the ways.
    pub fn draw(random: &mut Random) -> Kept {
        let percent = [10, 50, 90][random.below(3) as usize];
        match random.below(10) {
            0 => Kept::Nothing,
            1 => Kept::Everything,
            2..=4 => Kept::Sectors { percent },
            5 | 6 => Kept::Writes { percent },
            7 | 8 => Kept::First,
            _ => Kept::Last,
        }
    }

    /// Calls `keep` with the lasting part of each change, in the order of the changes.
    pub fn apply(
        &self,
        changes: &[Change],
        random: &mut Random,
        mut keep: impl FnMut(&Change, Range<u64>),
    ) {
        // The change from which on, or up to which, all last; it lasts in part itself.
        let border = random.below(changes.len() as u64 + 1) as usize;
        for (nth, change) in changes.iter().enumerate() {
            let percent = match self.kept {
                Kept::Nothing => 0,
                Kept::Everything => 100,
                Kept::Sectors { percent } => percent,
                Kept::Writes { percent } if random.chance(percent) => 100,
                Kept::Writes { .. } => 0,
                Kept::First | Kept::Last if nth == border => 50,
                Kept::First if nth < border => 100,
                Kept::Last if nth > border => 100,
                Kept::First | Kept::Last => 0,
            };
            match percent {
                0 => {}
                100 => keep(change, change.offset..change.offset + change.length),
                percent => self.tear(change, percent, random, &mut keep),
            }
        }
    }

    fn tear(
        &self,
        change: &Change,
        percent: u32,
        random: &mut Random,
        keep: &mut impl FnMut(&Change, Range<u64>),
    ) {
        let end = change.offset + change.length;
        let mut at = change.offset;
        while at < end {
            let unit = at..((at / self.unit + 1) * self.unit).min(end);
            let whole = self.whole.iter().find(|range| range.contains(&at));
            let unit = unit.start..whole.map_or(unit.end, |range| range.end.min(end));
            at = unit.end;
            if random.chance(percent) {
                keep(change, unit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(count: u64) -> Vec<Change> {
        let change = |nth| Change {
            offset: nth * 8192,
            length: 8192,
            data: None,
        };
        (0..count).map(change).collect()
    }

    fn kept(loss: &Loss, seed: u64) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        loss.apply(&changes(9), &mut Random::new(seed), |_, range| {
            found.push(range)
        });
        found
    }

    #[test]
    fn torn_parts_are_units_and_what_must_be_whole_is() {
        let whole = 3 * 8192..3 * 8192 + 4096;
        let loss = Loss::new(
            Kept::Sectors { percent: 50 },
            512,
            std::slice::from_ref(&whole),
        );
        let mut with = 0;
        for seed in 0..50 {
            for range in kept(&loss, seed) {
                let inside = whole.contains(&range.start);
                assert_eq!(range.end - range.start, if inside { 4096 } else { 512 });
                assert!(!inside || range == whole);
                with += u64::from(inside);
            }
        }
        assert!((1..50).contains(&with), "{with}");
    }

    #[test]
    fn the_first_or_the_last_writes_last_and_one_of_them_in_part() {
        for seed in 0..50 {
            let bytes = |kept: &[Range<u64>], nth: u64| -> u64 {
                let of = kept.iter().filter(|range| range.start / 8192 == nth);
                of.map(|range| range.end - range.start).sum()
            };
            let first = kept(&Loss::new(Kept::First, 512, &[]), seed);
            let last = kept(&Loss::new(Kept::Last, 512, &[]), seed);
            let lengths: Vec<_> = (0..9).map(|nth| bytes(&first, nth)).collect();
            assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
            let lengths: Vec<_> = (0..9).map(|nth| bytes(&last, nth)).collect();
            assert!(lengths.is_sorted(), "{lengths:?}");
            for range in kept(&Loss::new(Kept::Writes { percent: 50 }, 512, &[]), seed) {
                assert_eq!(range.end - range.start, 8192);
            }
        }
    }
}
