//! A document as lines: prose, code blocks, and headings.
//!
//! Enough of Markdown for the checks, and no more: fenced code, headings with `#`, code spans, links.

use std::collections::HashMap;

/// A document.
pub struct Page {
    /// Lines outside fenced code, each with its number from 1; lines inside are left out.
    pub prose: Vec<(usize, String)>,
    /// The anchors of its headings, in GitHub's form.
    pub anchors: Vec<String>,
}

impl Page {
    pub fn parse(text: &str) -> Self {
        let mut prose = Vec::new();
        let mut anchors = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut fence: Option<String> = None;
        for (index, line) in text.lines().enumerate() {
            let start = line.trim_start();
            let ticks: String = start
                .chars()
                .take_while(|&c| c == '`' || c == '~')
                .collect();
            if let Some(open) = &fence {
                if ticks.starts_with(open.as_str()) && start.len() == ticks.len() {
                    fence = None;
                }
                continue;
            }
            if ticks.len() >= 3 {
                fence = Some(ticks);
                // A code block ends a table as a blank line does.
                prose.push((index + 1, String::new()));
                continue;
            }
            if let Some(heading) = heading(line) {
                let anchor = anchor(heading);
                let count = seen.entry(anchor.clone()).or_default();
                anchors.push(match *count {
                    0 => anchor,
                    n => format!("{anchor}-{n}"),
                });
                *count += 1;
            }
            prose.push((index + 1, line.to_owned()));
        }
        Self { prose, anchors }
    }

    /// The code spans of the prose, each with its line.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.prose
            .iter()
            .flat_map(|(line, text)| code_spans(text).map(move |span| (*line, span)))
    }
}

/// The text of a heading.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level).then_some(())?;
    text.starts_with(' ').then(|| text.trim())
}

/// A line with links as their texts.
pub fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        let (before, linked) = rest[..at].rsplit_once('[').unwrap_or((&rest[..at], ""));
        text.push_str(before);
        text.push_str(linked);
        rest = rest[at..].split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}

/// The anchor that GitHub gives a heading: lower case, spaces as hyphens, no punctuation; of a link
/// only its text.
fn anchor(heading: &str) -> String {
    without_links(heading)
        .to_lowercase()
        .chars()
        .filter(|&c| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_')
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The texts between single backticks of a line.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}
