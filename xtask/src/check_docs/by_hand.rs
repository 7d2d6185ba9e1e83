//! The papers' tables: each is written from kept output, with its sources ([`super::figures`]), or says of which commit
//! its figures are.
//!
//! A table that was written by hand has a column `commit`, or the paragraph above it begins with `By hand: commit`. So a
//! reader of one table knows its commit, and no table without one is added. A table has figures if a cell behind its first
//! column begins with a number.

use super::Finding;
use super::figures::{Part, parts};
use std::path::Path;

/// The folder of the pages with such tables.
pub const PAGES: &str = "docs/papers";

/// The begin of the paragraph above a table that was written by hand.
const MARK: &str = "By hand: commit ";

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
            Part::Table(template) if template.names_sources() => {}
            Part::Table(_) => report(line, "a line `sources` is missing in this template"),
        }
    }
    let mut is_marked = false;
    let blocks = lines.split(|(_, text)| text.trim().is_empty());
    for block in blocks.filter(|block| !block.is_empty()) {
        let is_table = block.iter().all(|(_, text)| text.starts_with('|'));
        if is_table && has_figures(block) && !is_marked && !has_commits(block) {
            report(
                block[0].0,
                "figures without a commit: write the table from kept output, add a column `commit`, or a \
                 paragraph `By hand: commit …` above",
            );
        }
        is_marked = block[0]
            .1
            .strip_prefix(MARK)
            .is_some_and(begins_with_commit);
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

/// Returns true if the table has a column `commit`.
fn has_commits(table: &[(usize, &str)]) -> bool {
    table
        .first()
        .is_some_and(|(_, head)| cells(head).any(|cell| cell == "commit"))
}

/// Returns true if the text begins with the eight digits of a commit.
fn begins_with_commit(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    digits == 8
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
        let mark = "By hand: commit 12345678 (2026-11-21), `run`:\nmore text\n";
        assert_eq!(found(&format!("{mark}\n{TABLE}")), "");
        // The mark is of one table, and has a commit.
        assert_eq!(found(&format!("{mark}\n{TABLE}\n{TABLE}")), "8");
        assert_eq!(found(&format!("By hand: commit of yore\n\n{TABLE}")), "3");
        assert_eq!(found(&TABLE.replace("who", "commit")), "");
        for words in ["many", "![1](one.svg)", "A 1"] {
            assert_eq!(found(&TABLE.replace("**1,234**", words)), "");
        }
    }

    #[test]
    fn a_written_table_of_a_paper_has_its_sources() {
        let page = |last: &str| format!("<!-- figures\n| {{a/x}} |\n{last}-->\n{TABLE}");
        assert_eq!(found(&page("")), "1");
        assert_eq!(found(&page("sources\n")), "");
    }
}
