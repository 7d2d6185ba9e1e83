//! The pages that have text and bytes of any length ([`sardonyx_rows::values`]): which there are, and whether each cell
//! belongs to exactly one row.

mod check;
mod space;

pub(crate) use check::check_values;
pub(crate) use space::ValueSpace;

#[cfg(test)]
mod model;
