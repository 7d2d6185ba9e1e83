//! Aligned columns, and named figures under headings.

use std::fmt;

/// A table whose columns are as wide as their widest cell.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

#[derive(Debug)]
struct Column {
    name: String,
    numbers: bool,
}

impl Table {
    /// A table with these columns; a name that begins with `#` is a column of numbers, aligned
    /// right.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let column = |name: &str| match name.strip_prefix('#') {
            Some(name) => Column {
                name: name.into(),
                numbers: true,
            },
            None => Column {
                name: name.into(),
                numbers: false,
            },
        };
        Table {
            columns: names.into_iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let cells = cells.chain([&self.columns[column].name]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let names: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        for row in [&names].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for ((cell, column), width) in row.iter().zip(&self.columns).zip(&widths) {
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                let (before, after) = if column.numbers {
                    (&*padding, "")
                } else {
                    ("", &*padding)
                };
                line.extend([before, cell, after, "  "]);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Named figures under headings, aligned throughout.
#[derive(Debug, Default)]
pub struct Sheet {
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Heading(String),
    Figure {
        name: String,
        figure: String,
        remark: String,
    },
}

impl Sheet {
    /// Begins a section.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Heading(text.into()));
    }

    /// Adds a figure.
    pub fn figure(&mut self, name: &str, figure: impl Into<String>) {
        self.remarked(name, figure, "");
    }

    /// Adds a figure with a remark behind it.
    pub fn remarked(&mut self, name: &str, figure: impl Into<String>, remark: impl Into<String>) {
        let (name, figure, remark) = (name.into(), figure.into(), remark.into());
        self.lines.push(Line::Figure {
            name,
            figure,
            remark,
        });
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = |of: fn(&Line) -> usize| self.lines.iter().map(of).max().unwrap_or(0);
        let names = widest(|line| match line {
            Line::Heading(_) => 0,
            Line::Figure { name, .. } => name.chars().count(),
        });
        let figures = widest(|line| match line {
            Line::Figure { figure, remark, .. } if !remark.is_empty() => figure.chars().count(),
            _ => 0,
        });
        for (number, line) in self.lines.iter().enumerate() {
            match line {
                Line::Heading(text) if number == 0 => writeln!(f, "{text}")?,
                Line::Heading(text) => writeln!(f, "\n{text}")?,
                Line::Figure {
                    name,
                    figure,
                    remark,
                } => {
                    let line = format!("  {name:<names$}  {figure:<figures$}  {remark}");
                    writeln!(f, "{}", line.trim_end())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_numbers_stand_right() {
        let mut table = Table::new(["name", "#bytes"]);
        table.row(["a".into(), "12,345".into()]);
        table.row(["longer".into(), "6".into()]);
        assert_eq!(
            table.to_string(),
            "name     bytes\na       12,345\nlonger       6\n"
        );
    }

    #[test]
    fn figures_align_under_headings() {
        let mut sheet = Sheet::default();
        sheet.heading("Run");
        sheet.figure("time", "1 s");
        sheet.heading("Log");
        sheet.remarked("bytes a transaction", "88", "at most 120");
        let text =
            "Run\n  time                 1 s\n\nLog\n  bytes a transaction  88  at most 120\n";
        assert_eq!(sheet.to_string(), text);
    }
}
