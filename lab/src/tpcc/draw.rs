//! The random draws of TPC-C: numbers of the non-uniform distribution, last names, and texts.
//!
//! Source: TPC-C, clauses 2.1.6 (NURand), 4.3.2.2 (texts), 4.3.2.3 (last names), 4.3.2.7 (postal codes).

use super::records::Address;
use sardonyx_workload::random::Random;

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 -";

/// The word in the data of one of ten items and stocks.
pub const ORIGINAL: &[u8; 8] = b"ORIGINAL";

const LAST_NAMES: u32 = 1_000;

/// The constants of the non-uniform distribution, drawn once for a database's loading and once for a
/// run.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    last: u32,
    customer: u32,
    item: u32,
}

impl Constants {
    pub fn of_loading(random: &mut Random) -> Self {
        Constants {
            last: random.below(256) as u32,
            customer: random.below(1_024) as u32,
            item: random.below(8_192) as u32,
        }
    }

    /// The constants of a run: that of last names differs from the loading's by 65 to 119, except 96 and 112 (clause
    /// 2.1.6.1).
    pub fn of_run(random: &mut Random, loading: &Constants) -> Self {
        let last = loop {
            let last = random.below(256) as u32;
            let delta = last.abs_diff(loading.last);
            if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
                break last;
            }
        };
        Constants {
            last,
            ..Constants::of_loading(random)
        }
    }
}

/// A source of TPC-C's random draws.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Plain random numbers.
    pub random: Random,
    constants: Constants,
}

impl Draw {
    /// The source of a seed.
    pub fn new(seed: u64, constants: Constants) -> Self {
        Draw {
            random: Random::new(seed),
            constants,
        }
    }

    /// A number in `low..=high`, all equally likely.
    #[inline]
    pub fn within(&mut self, low: u32, high: u32) -> u32 {
        low + self.random.below(u64::from(high - low) + 1) as u32
    }

    /// NURand(A, x, y).
    #[inline]
    fn non_uniform(&mut self, a: u32, constant: u32, low: u32, high: u32) -> u32 {
        let either = self.within(0, a) | self.within(low, high);
        (either + constant) % (high - low + 1) + low
    }

    /// The number of a customer in a district of so many.
    #[inline]
    pub fn customer(&mut self, customers: u32) -> u32 {
        self.non_uniform(1_023, self.constants.customer, 1, customers)
    }

    /// The number of an item of so many.
    #[inline]
    pub fn item(&mut self, items: u32) -> u32 {
        self.non_uniform(8_191, self.constants.item, 1, items)
    }

    /// The last name of some customer of a district of so many.
    #[inline]
    pub fn last_name(&mut self, customers: u32) -> [u8; 16] {
        let names = LAST_NAMES.min(customers);
        last_name(self.non_uniform(255, self.constants.last, 0, names - 1))
    }

    /// The last name of a loaded customer: the first thousand have all names, the others some.
    pub fn loaded_last_name(&mut self, number: u32, customers: u32) -> [u8; 16] {
        match number <= LAST_NAMES {
            true => last_name(number - 1),
            false => self.last_name(customers),
        }
    }

    /// A text of `least` or more letters and digits, filled with spaces.
    pub fn text<const N: usize>(&mut self, least: usize) -> [u8; N] {
        let mut text = [b' '; N];
        let long = self.within(least as u32, N as u32) as usize;
        for part in text[..long].chunks_mut(10) {
            let mut bits = self.random.next_u64();
            for letter in part {
                *letter = LETTERS[(bits & 63) as usize];
                bits >>= 6;
            }
        }
        text
    }

    /// A text of 26 to 50 letters, one of ten with [`ORIGINAL`] somewhere in it.
    pub fn data(&mut self) -> [u8; 50] {
        let mut data = self.text(26);
        if self.random.chance(10) {
            let at = self.random.below(26 - ORIGINAL.len() as u64 + 1) as usize;
            data[at..][..ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        data
    }

    /// A text of digits.
    pub fn digits<const N: usize>(&mut self) -> [u8; N] {
        [(); N].map(|()| b'0' + self.random.below(10) as u8)
    }

    pub fn address(&mut self) -> Address {
        let mut zip = *b"000011111";
        zip[..4].copy_from_slice(&self.digits::<4>());
        Address {
            street_1: self.text(10),
            street_2: self.text(10),
            city: self.text(10),
            state: self.text(2),
            zip,
        }
    }

    /// The numbers 1 to `count` in a random order.
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..=count).collect();
        self.shuffle(&mut numbers);
        numbers
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.random.below(at as u64 + 1) as usize);
        }
    }
}

/// The last name of a number from 0 to 999: a syllable for each digit.
pub fn last_name(number: u32) -> [u8; 16] {
    let digits = [number / 100 % 10, number / 10 % 10, number % 10];
    let syllables = digits.map(|digit| SYLLABLES[digit as usize]);
    let mut name = [b' '; 16];
    let letters = syllables.iter().flat_map(|syllable| syllable.bytes());
    name.iter_mut()
        .zip(letters)
        .for_each(|(place, letter)| *place = letter);
    name
}

/// Returns true if a text contains [`ORIGINAL`].
#[inline]
pub fn is_original(data: &[u8; 50]) -> bool {
    // Wherever the word begins, one of its letters is at one of these places, which determines the beginning.
    let is_at = |from: usize| data.get(from..from + 8) == Some(&ORIGINAL[..]);
    [7, 15, 23, 31, 39, 47]
        .into_iter()
        .any(|at| match data[at] {
            b'O' => is_at(at),
            b'R' => is_at(at - 1),
            b'I' => is_at(at - 2) || is_at(at - 4),
            b'G' => is_at(at - 3),
            b'N' => is_at(at - 5),
            b'A' => is_at(at - 6),
            b'L' => is_at(at - 7),
            _ => false,
        })
}
