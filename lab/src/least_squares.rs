//! Ordinary least squares for a few unknowns: fits `aR + bW + c` to measured times.
//!
//! The normal equations are solved by elimination with pivoting, each column scaled to length 1
//! before; for the two or three columns of a model of costs that is exact to ten digits and more.

/// A fitted model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Fit {
    /// One for each column.
    pub coefficients: Vec<f64>,
    /// Measured less fitted, one for each row.
    pub residuals: Vec<f64>,
    /// The largest residual, without its sign.
    pub residual_max: f64,
    /// The root of the mean of the squared residuals.
    pub residual_rms: f64,
    /// The share of the measured values' variation about their mean that the model explains; 1 if it explains all.
    /// `None` if they do not vary.
    pub r_squared: Option<f64>,
}

/// Fits `values` as sums of columns: `rows[i]` has the factors of the `i`-th value's coefficients. `None` if that does
/// not determine the coefficients: too few rows, rows of different lengths, or columns that depend on each other.
///
/// ```
/// use sardonyx_lab::least_squares::fit;
///
/// let rows = [vec![1.0, 1.0], vec![2.0, 1.0], vec![3.0, 1.0]];
/// let line = fit(&rows, &[5.0, 7.0, 9.0]).unwrap();
/// assert!((line.coefficients[0] - 2.0).abs() < 1e-9 && (line.coefficients[1] - 3.0).abs() < 1e-9);
/// ```
pub fn fit(rows: &[Vec<f64>], values: &[f64]) -> Option<Fit> {
    let columns = rows.first()?.len();
    let same = rows.iter().all(|row| row.len() == columns) && rows.len() == values.len();
    if columns == 0 || !same || rows.len() < columns {
        return None;
    }
    let length = |column: usize| {
        rows.iter()
            .map(|row| row[column].powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let scales: Vec<f64> = (0..columns).map(length).collect();
    if scales.iter().any(|scale| !scale.is_normal()) {
        return None;
    }
    let scaled = |row: &Vec<f64>, column: usize| row[column] / scales[column];
    let product = |one: usize, other: usize| -> f64 {
        rows.iter()
            .map(|row| scaled(row, one) * scaled(row, other))
            .sum()
    };
    let right = |column: usize| -> f64 {
        let terms = rows.iter().zip(values);
        terms.map(|(row, value)| scaled(row, column) * value).sum()
    };
    let equations = (0..columns).map(|one| {
        let left = (0..columns).map(|other| product(one, other));
        left.chain([right(one)]).collect()
    });
    let solution = solve(equations.collect())?;
    let coefficients: Vec<f64> = solution.iter().zip(&scales).map(|(x, s)| x / s).collect();
    Some(judge(rows, values, coefficients))
}

fn judge(rows: &[Vec<f64>], values: &[f64], coefficients: Vec<f64>) -> Fit {
    let fitted =
        |row: &Vec<f64>| -> f64 { row.iter().zip(&coefficients).map(|(x, c)| x * c).sum() };
    let residuals: Vec<f64> = rows
        .iter()
        .zip(values)
        .map(|(row, y)| y - fitted(row))
        .collect();
    let count = values.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let mean = values.iter().sum::<f64>() / count;
    let variation: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Fit {
        residual_max: residuals
            .iter()
            .fold(0.0, |most, residual| residual.abs().max(most)),
        residual_rms: (squares / count).sqrt(),
        r_squared: (variation > 0.0).then(|| 1.0 - squares / variation),
        coefficients,
        residuals,
    }
}

/// Solves linear equations, each with its right side last.
fn solve(mut equations: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let unknowns = equations.len();
    for column in 0..unknowns {
        let largest = |one: &usize, other: &usize| {
            let size = |row: usize| equations[row][column].abs();
            size(*one).total_cmp(&size(*other))
        };
        let pivot = (column..unknowns).max_by(largest)?;
        equations.swap(column, pivot);
        // The columns have length 1, so this is the share of one that the others do not explain.
        if equations[column][column].abs() < 1e-12 {
            return None;
        }
        for row in column + 1..unknowns {
            let factor = equations[row][column] / equations[column][column];
            let (above, below) = equations.split_at_mut(row);
            let terms = below[0].iter_mut().zip(&above[column]);
            terms.for_each(|(term, over)| *term -= factor * over);
        }
    }
    let mut solution = vec![0.0; unknowns];
    for row in (0..unknowns).rev() {
        let known: f64 = (row + 1..unknowns)
            .map(|at| equations[row][at] * solution[at])
            .sum();
        solution[row] = (equations[row][unknowns] - known) / equations[row][row];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-9 * other.abs().max(1.0)
    }

    #[test]
    fn a_model_that_holds_is_found_exactly() {
        let grid = [0.0, 1.0, 4.0, 16.0, 256.0];
        let rows: Vec<_> = grid
            .iter()
            .flat_map(|r| grid.map(|w| vec![*r, w, 1.0]))
            .collect();
        let time = |row: &Vec<f64>| 560.0 * row[0] + 1_150.0 * row[1] + 820.0;
        let times: Vec<f64> = rows.iter().map(time).collect();
        let fit = fit(&rows, &times).unwrap();
        for (found, expected) in fit.coefficients.iter().zip([560.0, 1_150.0, 820.0]) {
            assert!(close(*found, expected), "{:?}", fit.coefficients);
        }
        assert!(fit.residual_max < 1e-6 && fit.residual_rms <= fit.residual_max);
        assert!(close(fit.r_squared.unwrap(), 1.0));
    }

    #[test]
    fn residuals_are_what_the_model_leaves() {
        // The line through (0, 0), (1, 0), (2, 3) is 1.5 x - 0.5, by hand.
        let rows = [vec![0.0, 1.0], vec![1.0, 1.0], vec![2.0, 1.0]];
        let fit = fit(&rows, &[0.0, 0.0, 3.0]).unwrap();
        assert!(close(fit.coefficients[0], 1.5) && close(fit.coefficients[1], -0.5));
        for (found, expected) in fit.residuals.iter().zip([0.5, -1.0, 0.5]) {
            assert!(close(*found, expected), "{:?}", fit.residuals);
        }
        assert!(close(fit.residual_max, 1.0));
        assert!(close(fit.residual_rms, 0.5_f64.sqrt()));
        assert!(close(fit.r_squared.unwrap(), 1.0 - 1.5 / 6.0));
    }

    #[test]
    fn what_is_not_determined_is_not_fitted() {
        assert_eq!(fit(&[], &[]), None);
        assert_eq!(fit(&[vec![1.0, 2.0]], &[1.0]), None, "too few");
        let dependent = [vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]];
        assert_eq!(fit(&dependent, &[1.0, 2.0, 3.0]), None);
        let empty_column = [vec![1.0, 0.0], vec![2.0, 0.0]];
        assert_eq!(fit(&empty_column, &[1.0, 2.0]), None);
        let ragged = [vec![1.0], vec![2.0, 3.0]];
        assert_eq!(fit(&ragged, &[1.0, 2.0]), None);
        let constant = fit(&[vec![1.0], vec![1.0]], &[3.0, 3.0]).unwrap();
        assert_eq!(constant.r_squared, None);
    }
}
