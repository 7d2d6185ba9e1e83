//! Tables: each block of lines that begin with `|` has a header, a rule, and the same number of
//! columns in every row.

use super::page::Page;

/// Reports tables that would not be shown as tables.
pub fn check(page: &Page, report: &mut impl FnMut(usize, String)) {
    let mut rows: Vec<(usize, &str)> = Vec::new();
    for (line, text) in &page.prose {
        let text = text.trim();
        if text.starts_with('|') {
            rows.push((*line, text));
        } else {
            table(&rows, report);
            rows.clear();
        }
    }
    table(&rows, report);
}

fn table(rows: &[(usize, &str)], report: &mut impl FnMut(usize, String)) {
    let Some((first, header)) = rows.first() else {
        return;
    };
    if !rows.get(1).is_some_and(|(_, text)| is_rule(text)) {
        report(
            *first,
            "a table's row without the table's head: a blank line above cuts it, or its rule \
             (|---|) is missing"
                .into(),
        );
        return;
    }
    let columns = columns(header);
    for (line, row) in &rows[1..] {
        let found = self::columns(row);
        if found != columns {
            report(
                *line,
                format!("a row of {found} columns in a table of {columns}"),
            );
        }
    }
}

/// Returns true if the line is the rule below a table's header.
fn is_rule(row: &str) -> bool {
    row.contains('-') && row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

/// The number of cells of a row: a pipe separates them also inside of code, unless a backslash precedes it.
fn columns(row: &str) -> usize {
    let mut escaped = false;
    let mut pipes = 0;
    for c in row.chars() {
        match c {
            '|' if !escaped => pipes += 1,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    let open_end = !row.ends_with('|') || row.ends_with("\\|");
    pipes - usize::from(!open_end)
}
