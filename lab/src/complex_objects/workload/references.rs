//! The foreign references of each complex object.

use super::{Scale, Skew, Subobject};
use sardonyx_workload::random::Random;

/// Draws before a complex object that would refer to itself takes its neighbour instead: only where
/// there are few complex objects.
const DRAWS_MAX: u32 = 64;

/// The foreign references of all complex objects: a complex object other than the referring one by
/// the 80-20 rule, one of its subobjects by the 50-50 rule. Wholly determined by scale and seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    scale: Scale,
    all: Vec<Subobject>,
}

impl References {
    /// Draws the references.
    pub fn generate(scale: Scale, seed: u64) -> References {
        let mut random = Random::new(seed);
        let mut all = Vec::new();
        for referring in 0..scale.complex_objects() {
            for _ in 0..scale.references() {
                all.push(Subobject {
                    complex_object: other_than(referring, scale, &mut random),
                    number: own_subobject(scale, &mut random),
                });
            }
        }
        References { scale, all }
    }

    /// The scale for which they were drawn.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The references of one complex object.
    ///
    /// # Panics
    /// If there is no such complex object.
    pub fn of(&self, complex_object: u32) -> &[Subobject] {
        assert!(
            complex_object < self.scale.complex_objects(),
            "there are {} complex objects, none of them number {complex_object}",
            self.scale.complex_objects()
        );
        let count = self.scale.references() as usize;
        &self.all[complex_object as usize * count..][..count]
    }
}

fn other_than(referring: u32, scale: Scale, random: &mut Random) -> u32 {
    let count = scale.complex_objects();
    let mut drawn = referring;
    for _ in 0..DRAWS_MAX {
        drawn = Skew::EIGHTY_TWENTY.draw(random, count);
        if drawn != referring {
            return drawn;
        }
    }
    (drawn + 1) % count
}

/// The number of an own subobject, by the 50-50 rule.
pub(super) fn own_subobject(scale: Scale, random: &mut Random) -> u16 {
    Skew::FIFTY_FIFTY.draw(random, scale.subobjects()) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complex_object_refers_to_others_by_the_rules() {
        let scale = Scale::paper();
        let references = References::generate(scale, 1);
        let (mut hot, mut middle, mut all) = (0u32, 0u32, 0u32);
        for referring in 0..scale.complex_objects() {
            assert_eq!(references.of(referring).len(), 100);
            for subobject in references.of(referring) {
                assert_ne!(subobject.complex_object, referring);
                assert!(subobject.complex_object < 1_000 && subobject.number < 1_000);
                hot += u32::from((400..600).contains(&subobject.complex_object));
                middle += u32::from((250..750).contains(&subobject.number));
                all += 1;
            }
        }
        let (hot, middle) = (
            f64::from(hot) / f64::from(all),
            f64::from(middle) / f64::from(all),
        );
        assert!((0.795..0.805).contains(&hot), "{hot}");
        assert!((0.535..0.55).contains(&middle), "{middle}");
    }

    #[test]
    fn the_seed_decides() {
        let scale = Scale::new(20, 30, 5, 3).unwrap();
        let one = References::generate(scale, 1);
        assert_eq!(one, References::generate(scale, 1));
        assert_ne!(one, References::generate(scale, 2));
    }

    #[test]
    fn two_complex_objects_refer_to_each_other() {
        let scale = Scale::new(2, 3, 4, 2).unwrap();
        let references = References::generate(scale, 1);
        for referring in [0, 1] {
            let all = references.of(referring).iter();
            assert!(all.copied().all(|one| one.complex_object == 1 - referring));
        }
        let without = Scale::new(1, 3, 0, 2).unwrap();
        assert!(References::generate(without, 1).of(0).is_empty());
    }
}
