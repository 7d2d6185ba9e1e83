//! Links: the target of a relative one exists, and its anchor is a heading of that file.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::Finding;
use super::page::Page;

/// Reports the broken links of `page`.
pub fn check(
    root: &Path,
    file: &Path,
    page: &Page,
    pages: &HashMap<PathBuf, Page>,
    report: &mut impl FnMut(usize, String),
) {
    let folder = file.parent().unwrap_or(Path::new(""));
    for (line, text) in &page.prose {
        for target in targets(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() {
                file.to_owned()
            } else {
                normal(&folder.join(path))
            };
            if let Err(what) = resolve(root, &path, anchor, pages) {
                report(*line, format!("the link to {target} leads nowhere: {what}"));
            }
        }
    }
}

/// Reports mentions of missing documents in a Rust file.
pub fn check_source(
    root: &Path,
    file: &Path,
    text: &str,
    pages: &HashMap<PathBuf, Page>,
    findings: &mut Vec<Finding>,
) {
    for (index, line) in text.lines().enumerate() {
        if !line.trim_start().starts_with("//") {
            continue;
        }
        for (at, _) in line.match_indices("docs/") {
            let mention: &str = &line[at..];
            let end = mention
                .find(|c: char| !(c.is_ascii_alphanumeric() || "/.-_#".contains(c)))
                .unwrap_or(mention.len());
            let mention = mention[..end].trim_end_matches('.');
            let (path, anchor) = mention.split_once('#').unwrap_or((mention, ""));
            if !path.ends_with(".md") {
                continue;
            }
            if let Err(what) = resolve(root, Path::new(path), anchor, pages) {
                findings.push(Finding {
                    file: file.to_owned(),
                    line: index + 1,
                    what: format!("the mention of {mention} leads nowhere: {what}"),
                });
            }
        }
    }
}

fn resolve(
    root: &Path,
    path: &Path,
    anchor: &str,
    pages: &HashMap<PathBuf, Page>,
) -> Result<(), String> {
    if !root.join(path).exists() {
        return Err(format!("{} does not exist", path.display()));
    }
    if anchor.is_empty() {
        return Ok(());
    }
    match pages.get(path) {
        Some(page) if page.anchors.iter().any(|known| known == anchor) => Ok(()),
        Some(_) => Err(format!("{} has no heading for it", path.display())),
        None => Err(format!("{} has no headings", path.display())),
    }
}

/// The targets of the inline links of a line, without those in code. A link whose text began on the line before is
/// found, too, since only its end is searched.
pub(super) fn targets(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    for prose in line.split('`').step_by(2) {
        for (at, _) in prose.match_indices("](") {
            let target = &prose[at + 2..];
            if let Some(end) = target.find(')') {
                targets.push(&target[..end]);
            }
        }
    }
    targets
}

/// The path without `.` and `..`.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = normal.pop(),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}
