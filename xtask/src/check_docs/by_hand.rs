//! Tables of measurements: each is written from kept output, with its sources ([`super::figures`]), or says of which commit
//! its figures are.
//!
//! A table that was written by hand has a column `commit`, or the paragraph right above it names a commit. So a reader of one
//! table knows its commit, and no table without one is added. A table has figures if a cell behind its first column begins
//! with a number. [`super::commits`] checks that the commits exist.

use super::figures::{Part, parts};
use super::{Finding, commits};
use std::path::Path;

/// The pages whose tables are measurements: a folder, and a file.
const PAGES: [&str; 2] = ["docs/papers", "docs/benchmarks.md"];

/// True of a page whose tables are measurements.
pub fn has_figures_of(file: &Path) -> bool {
    PAGES.iter().any(|page| file.starts_with(page))
}

/// Reports tables of figures in a paper's page that name no commit.
pub fn check(file: &Path, text: &str, findings: &mut Vec<Finding>) {
    let mut report = |line, what: &str| {
        findings.push(Finding {
            file: file.into(),
            line,
            what: what.into(),
        });
    };
    // A template without an end is reported by `figures::check`.
    let Ok(parts) = parts(text) else { return };
    let mut lines: Vec<(usize, &str)> = Vec::new();
    for (line, part) in parts {
        match part {
            Part::Line(text) => lines.push((line, text)),
            Part::Table(template) if template.names_sources() || template.names_commits() => {}
            Part::Table(_) => report(line, "a line `sources` is missing in this template"),
        }
    }
    let mut is_marked = false;
    let blocks = lines.split(|(_, text)| text.trim().is_empty());
    for block in blocks.filter(|block| !block.is_empty()) {
        let is_table = block
            .iter()
            .all(|(_, text)| text.trim_start().starts_with('|'));
        if is_table && has_figures(block) && !is_marked && !has_commits(block) {
            report(
                block[0].0,
                "figures without a commit: write the table from kept output, add a column `commit`, or name \
                 the commit in the paragraph above",
            );
        }
        is_marked = !is_table && block.iter().any(|(_, text)| names_commit(text));
    }
}

/// The cells of a row.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|');
    row.split('|').map(str::trim)
}

/// Returns true if a cell behind the first column begins with a number.
fn has_figures(table: &[(usize, &str)]) -> bool {
    let rows = table.iter().skip(2);
    rows.flat_map(|(_, row)| cells(row).skip(1)).any(|cell| {
        let plain = cell.trim_start_matches(['*', '<', '-', '+', '~']);
        plain.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns true if a column's head names commits, or each row one.
fn has_commits(table: &[(usize, &str)]) -> bool {
    let mut rows = table.iter().skip(2);
    let head = table.first().map_or("", |(_, head)| *head);
    cells(head).any(|cell| {
        cell.split(' ')
            .any(|word| word == "commit" || word == "commit,")
    }) || rows.all(|(_, row)| names_commit(row))
}

fn names_commit(text: &str) -> bool {
    commits::named(text).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines with a finding, as a text.
    fn found(text: &str) -> String {
        let mut findings = Vec::new();
        check(Path::new("docs/papers/one.md"), text, &mut findings);
        let lines = findings.iter().map(|finding| finding.line.to_string());
        lines.collect::<Vec<_>>().join(" ")
    }

    const TABLE: &str = "| who | rate |\n| --- | ---: |\n| ours | **1,234** |\n";

    #[test]
    fn a_table_of_a_paper_without_kept_output_has_its_commit() {
        assert_eq!(found(&format!("Text.\n\n{TABLE}")), "3");
        let mark = "By hand, as\nmore text says: commit 12345678 (2026-11-21), `run`:\n";
        assert_eq!(found(&format!("{mark}\n{TABLE}")), "");
        // The mark is of one table, and has a commit.
        assert_eq!(found(&format!("{mark}\n{TABLE}\n{TABLE}")), "8");
        assert_eq!(found(&format!("By hand: commit of yore\n\n{TABLE}")), "3");
        assert_eq!(found(&TABLE.replace("who", "commit, date")), "");
        // Each row of its own commit; a table within a list.
        assert_eq!(found(&TABLE.replace("ours", "commit 1234abcd")), "");
        let rows = format!("{TABLE}| theirs | 2 |\n");
        assert_eq!(found(&rows.replace("ours", "commit 1234abcd")), "1");
        assert_eq!(found(&TABLE.replace("| ", "  | ")), "1");
        for words in ["many", "![1](one.svg)", "A 1"] {
            assert_eq!(found(&TABLE.replace("**1,234**", words)), "");
        }
    }

    #[test]
    fn a_written_table_of_a_paper_has_its_sources() {
        let page = |last: &str| format!("<!-- figures\n| {{a/x}} |\n{last}-->\n{TABLE}");
        assert_eq!(found(&page("")), "1");
        assert_eq!(found(&page("sources\n")), "");
        assert_eq!(found(&page("| {a/commit} |\n")), "");
    }
}
