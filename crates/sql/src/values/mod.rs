//! Operations on values, independent of expressions: numbers and dates ([`arithmetic`], [`exact`]), conversion of types
//! ([`cast`]), arrays and JSON as texts.

pub(crate) mod abbreviations;
pub(crate) mod arithmetic;
pub(crate) mod arrays;
pub(crate) mod big;
pub(crate) mod bits;
pub(crate) mod cast;
mod collation_names;
pub(crate) mod collations;
pub(crate) mod composites;
pub(crate) mod equality_keys;
pub(crate) mod exact;
pub(crate) mod hashes;
pub(crate) mod hstore;
pub(crate) mod infinity;
pub(crate) mod intervals;
pub(crate) mod json;
pub(crate) mod json_text;
pub(crate) mod json_tree;
pub(crate) mod jsonpath;
pub(crate) mod networks;
pub(crate) mod non_finite;
pub(crate) mod objects;
mod order_bytes;
pub(crate) mod order_keys;
pub(crate) mod random;
pub(crate) mod ranges;
pub(crate) mod records;
pub(crate) mod search;
pub(crate) mod time_units;
pub(crate) mod trigrams;
pub(crate) mod unaccent;
pub(crate) mod zone_lists;
pub(crate) mod zoned_times;
pub(crate) mod zones;

pub(crate) use sardonyx_rows::condition::Comparison;
