//! Sorting of many rows that can be interrupted: in runs, which are merged.

use crate::error::SqlError;
use std::cmp::Ordering;

/// The number of rows that are sorted at once, without a check for cancellation.
const RUN: usize = 16_384;

/// Sorts rows; equal ones keep their order.
///
/// # Errors
/// Errors of `check`, which is called between runs. The rows are lost in this case.
pub(crate) fn sort<T>(
    rows: &mut Vec<T>,
    order: impl Fn(&T, &T) -> Ordering,
    mut check: impl FnMut() -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let mut runs = Vec::with_capacity(rows.len().div_ceil(RUN));
    while rows.len() > RUN {
        check()?;
        let mut run = rows.split_off((rows.len() - 1) / RUN * RUN);
        run.sort_by(&order);
        runs.push(run);
    }
    rows.sort_by(&order);
    if runs.is_empty() {
        return Ok(());
    }
    runs.push(std::mem::take(rows));
    runs.reverse();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(first) = pairs.next() {
            merged.push(match pairs.next() {
                Some(second) => merge(first, second, &order, &mut check)?,
                None => first,
            });
        }
        runs = merged;
    }
    *rows = runs.pop().unwrap_or_default();
    Ok(())
}

/// Merges two runs; of equal rows, those of the first run come first.
fn merge<T>(
    first: Vec<T>,
    second: Vec<T>,
    order: &impl Fn(&T, &T) -> Ordering,
    check: &mut impl FnMut() -> Result<(), SqlError>,
) -> Result<Vec<T>, SqlError> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    loop {
        if merged.len() % RUN == 0 {
            check()?;
        }
        let next = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) if order(a, b).is_gt() => second.next(),
            (Some(_), _) => first.next(),
            _ => second.next(),
        };
        match next {
            Some(row) => merged.push(row),
            None => return Ok(merged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::code;

    fn numbers(count: usize) -> Vec<(u64, usize)> {
        let mut state = 7_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 40
        };
        (0..count).map(|at| (next() % 1000, at)).collect()
    }

    #[test]
    fn many_rows_are_sorted_and_equal_ones_stay_in_their_order() {
        for count in [0, 1, RUN, RUN + 1, 2 * RUN, 5 * RUN + 3] {
            let mut rows = numbers(count);
            let mut expected = rows.clone();
            expected.sort_by_key(|row| row.0);
            sort(&mut rows, |a, b| a.0.cmp(&b.0), || Ok(())).expect("nothing interrupts");
            assert_eq!(rows, expected, "{count} rows");
        }
    }

    #[test]
    fn a_sort_ends_between_runs_and_while_they_are_merged() {
        let mut asked = 0;
        let count = |asked: &mut i32, end: i32| {
            *asked += 1;
            match *asked > end {
                true => Err(SqlError::new(code::QUERY_CANCELED, "canceled")),
                false => Ok(()),
            }
        };
        let mut rows = numbers(4 * RUN);
        let ended = sort(&mut rows, |a, b| a.cmp(b), || count(&mut asked, 0));
        assert_eq!(
            ended.expect_err("it was interrupted").code,
            code::QUERY_CANCELED
        );
        assert_eq!(asked, 1, "it was asked before the first run");
        let (mut rows, mut asked) = (numbers(4 * RUN), 0);
        // Three of the checks are between runs.
        let ended = sort(&mut rows, |a, b| a.cmp(b), || count(&mut asked, 4));
        assert!(ended.is_err());
        assert_eq!(asked, 5);
    }
}
