//! Rows of figures whose columns are declared once, with their units: people get an aligned table,
//! programs get CSV with all digits.
//!
//! A column has a heading for people, a key for programs, or both. A mere ratio of others is not
//! written, and a column that would make a table too wide is not printed.

use crate::csv;
use crate::table::Table;
use crate::units;

/// The unit of a column's numbers, and so their form for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// So many decimals.
    Decimals(usize),
    /// Nanoseconds, as a number of them.
    Nanoseconds,
    /// A number of nanoseconds, shown as microseconds with three decimals.
    NanosecondsAsMicroseconds,
    /// Microseconds, shown in the unit that suits them.
    Microseconds,
    /// A rate.
    PerSecond,
    /// A share from 0 to 1, shown as percent.
    Share,
    /// Bytes, shown in the unit that suits them.
    Bytes,
    /// A multiple of another.
    Times,
}

impl Unit {
    fn shown(self, value: f64) -> String {
        match self {
            Unit::Decimals(decimals) => format!("{value:.decimals$}"),
            Unit::Nanoseconds => units::nanoseconds(value),
            Unit::NanosecondsAsMicroseconds => format!("{:.3}", value / 1e3),
            Unit::Microseconds => units::time(value / 1e6),
            Unit::PerSecond => units::rate(value),
            Unit::Share => units::percent(value),
            Unit::Bytes => units::bytes(value.round() as u64),
            Unit::Times => format!("{value:.2} x"),
        }
    }
}

/// A column's cells: as people read them, and as programs do.
#[derive(Clone, Debug)]
struct Column {
    heading: String,
    key: &'static str,
    numbers: bool,
    shown: Vec<String>,
    written: Vec<String>,
}

/// Rows with named columns.
///
/// ```
/// use sardonyx_results::Grid;
/// use sardonyx_results::grid::Unit;
///
/// let grid = Grid::of([("B-tree", 1_234.5), ("hash", 2_000.0)])
///     .text("engine", "engine", |row| row.0)
///     .number("inserts/s", "inserts_per_second", Unit::Decimals(0), |row| row.1);
/// assert_eq!(grid.csv(), "engine,inserts_per_second\nB-tree,1234.5\nhash,2000\n");
/// ```
#[derive(Clone, Debug)]
pub struct Grid<R> {
    rows: Vec<R>,
    columns: Vec<Column>,
}

impl<R> Grid<R> {
    /// A grid of these rows, without columns.
    pub fn of(rows: impl IntoIterator<Item = R>) -> Self {
        Grid {
            rows: rows.into_iter().collect(),
            columns: Vec::new(),
        }
    }

    /// A column of words.
    pub fn text<T: ToString>(
        self,
        heading: &str,
        key: &'static str,
        cell: impl Fn(&R) -> T,
    ) -> Self {
        self.column(heading, key, false, |row| {
            let text = cell(row).to_string();
            (text.clone(), text)
        })
    }

    /// A column of counts.
    pub fn count(self, heading: &str, key: &'static str, cell: impl Fn(&R) -> u64) -> Self {
        self.column(heading, key, true, |row| {
            let count = cell(row);
            (units::count(count), count.to_string())
        })
    }

    /// A column of numbers of a unit.
    pub fn number(
        self,
        heading: &str,
        key: &'static str,
        unit: Unit,
        cell: impl Fn(&R) -> f64,
    ) -> Self {
        self.maybe(heading, key, unit, |row| Some(cell(row)))
    }

    /// A column of numbers that may be missing: people see `-`, programs an empty cell.
    pub fn maybe(
        self,
        heading: &str,
        key: &'static str,
        unit: Unit,
        cell: impl Fn(&R) -> Option<f64>,
    ) -> Self {
        self.column(heading, key, true, |row| match cell(row) {
            Some(value) => (unit.shown(value), value.to_string()),
            None => ("-".into(), String::new()),
        })
    }

    fn column(
        mut self,
        heading: &str,
        key: &'static str,
        numbers: bool,
        cell: impl Fn(&R) -> (String, String),
    ) -> Self {
        let (shown, written) = self.rows.iter().map(cell).unzip();
        self.columns.push(Column {
            heading: heading.into(),
            key,
            numbers,
            shown,
            written,
        });
        self
    }

    /// The columns that have a heading, aligned.
    pub fn table(&self) -> Table {
        let shown = || self.columns.iter().filter(|one| !one.heading.is_empty());
        let heading = |column: &Column| match column.numbers {
            true => format!("#{}", column.heading),
            false => column.heading.clone(),
        };
        let headings: Vec<String> = shown().map(heading).collect();
        let mut table = Table::new(headings.iter().map(String::as_str));
        for row in 0..self.rows.len() {
            table.row(shown().map(|column| column.shown[row].clone()));
        }
        table
    }

    /// The columns that have a key, as CSV.
    pub fn csv(&self) -> String {
        let written = || self.columns.iter().filter(|one| !one.key.is_empty());
        let mut text = String::new();
        csv::line(&mut text, written().map(|column| column.key));
        for row in 0..self.rows.len() {
            csv::line(
                &mut text,
                written().map(|column| column.written[row].as_str()),
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_get_the_columns_that_are_for_them() {
        let grid = Grid::of([(1_234_567_u64, Some(0.5)), (1, None)])
            .count("rows", "rows", |row| row.0)
            .number("", "exact", Unit::Decimals(1), |row| row.0 as f64 / 8.0)
            .maybe("share", "", Unit::Share, |row| row.1);
        assert_eq!(
            grid.table().to_string(),
            "     rows   share\n1,234,567  50.00%\n        1       -\n"
        );
        assert_eq!(grid.csv(), "rows,exact\n1234567,154320.875\n1,0.125\n");
    }
}
