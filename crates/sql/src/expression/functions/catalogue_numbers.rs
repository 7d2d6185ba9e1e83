//! The numbers of functions in the catalogue: PostgreSQL's own ones, where it has a function of the name and the arguments.

use super::{Kind, all};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// A line for each function, without those that read and write a type: its number, its name, and the numbers of its arguments'
/// types. From PostgreSQL 15.
const NUMBERS: &str = include_str!("catalogue_numbers.txt");
/// The number of the first function that PostgreSQL does not have.
const FIRST: u32 = 14_000;

/// PostgreSQL's number of a function.
fn known(name: &str, arguments: &[Kind]) -> Option<u32> {
    type Numbers = HashMap<&'static str, Vec<(Vec<u32>, u32)>>;
    static KNOWN: LazyLock<Numbers> = LazyLock::new(|| {
        let mut known = Numbers::new();
        for line in NUMBERS.lines() {
            let mut parts = line.split(' ');
            let (Some(number), Some(name)) = (parts.next(), parts.next()) else {
                continue;
            };
            let kinds = parts.filter_map(|kind| kind.parse().ok()).collect();
            if let Ok(number) = number.parse() {
                known.entry(name).or_default().push((kinds, number));
            }
        }
        known
    });
    let mut found = KNOWN.get(name)?.iter();
    let kinds = arguments.iter().map(|kind| kind.oid());
    let is_it = |(of, _): &&(Vec<u32>, u32)| of.iter().copied().eq(kinds.clone());
    found.find(is_it).map(|(_, number)| *number)
}

/// The number of a function that is at a place among all: PostgreSQL's, unless one before it has that.
pub(crate) fn number_at(
    place: usize,
    (name, arguments): (&str, &[Kind]),
    taken: &mut HashSet<u32>,
) -> u32 {
    let known = known(name, arguments).filter(|number| !taken.contains(number));
    let number = known.unwrap_or(FIRST + place as u32);
    taken.insert(number);
    number
}

/// The numbers of all functions, in their order.
fn numbers() -> &'static [u32] {
    static ALL: LazyLock<Vec<u32>> = LazyLock::new(|| {
        let mut taken = HashSet::new();
        let functions = all().enumerate();
        functions
            .map(|(place, of)| number_at(place, (of.0.name, of.0.arguments), &mut taken))
            .collect()
    });
    &ALL
}

/// The number of the function at a place among all.
pub(crate) fn function_number(place: usize) -> u32 {
    let number = numbers().get(place).copied();
    number.unwrap_or(FIRST + place as u32)
}

/// The place of the function with a number.
pub(super) fn place_numbered(number: u32) -> Option<usize> {
    static PLACES: LazyLock<HashMap<u32, usize>> = LazyLock::new(|| {
        let numbers = numbers().iter().enumerate();
        numbers.map(|(place, number)| (*number, place)).collect()
    });
    PLACES.get(&number).copied()
}
