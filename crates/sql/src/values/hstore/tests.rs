//! Values read back, and damaged ones are errors.

use super::Hstore;
use crate::error::code;
use crate::values::arrays::Array;
use sardonyx_base::random::{Random, seeds};

/// Texts with everything that is written otherwise than it is, or that is read as something else without quotes.
const TEXTS: [&str; 10] = [
    "",
    "a",
    "NULL",
    "null",
    "\"",
    "\\",
    "=>",
    ",",
    "a b",
    "é\u{a0}\n",
];

fn random_pairs(random: &mut Random) -> Vec<(String, Option<String>)> {
    let text = |random: &mut Random| TEXTS[random.below(TEXTS.len() as u64) as usize];
    let count = random.below(8);
    let pair = |_| {
        let key = text(random).to_string();
        let value = (!random.chance(1, 4)).then(|| text(random).to_string());
        (key, value)
    };
    (0..count).map(pair).collect()
}

#[test]
fn values_read_back() {
    for seed in 0..seeds(400) {
        let mut random = Random::new(seed);
        let one = Hstore::of(random_pairs(&mut random));
        let other = Hstore::of(random_pairs(&mut random));
        let mut bytes = Vec::new();
        one.send(&mut bytes);
        let keys = Array::of(
            other
                .pairs()
                .iter()
                .map(|(key, _)| Some(key.clone()))
                .collect(),
        );
        let made = [
            Hstore::receive(&bytes).expect("it is its form"),
            one.joined(&other),
            one.clone().filtered(|key, _| key.len() > 1),
            Hstore::of_arrays(keys, None).expect("keys are not null"),
            one,
        ];
        for made in made {
            assert_eq!(
                Hstore::known(&made.text()).ok(),
                Some(made.clone()),
                "{seed}"
            );
        }
    }
}

#[test]
fn a_damaged_value_is_an_error() {
    // Among them texts that read, but are not the one which is written: that of an array is a key and a value.
    for text in [
        "\"a\"=>",
        "a=>1",
        "{\"a=>1\"}",
        "\"b\"=>\"1\", \"a\"=>\"1\"",
    ] {
        let error = Hstore::known(text).expect_err("it is no value");
        assert_eq!(error.code, code::DATA_CORRUPTED, "{text}");
    }
}
