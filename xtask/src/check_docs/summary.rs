//! The site's table of contents: docs/SUMMARY.md lists every page of docs/ once, and nothing else.
//!
//! mdBook silently leaves out a page that the list lacks, and search then never finds it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Finding;
use super::links::{normal, targets};
use super::page::Page;

/// Reports pages of docs/ that the table of contents lacks, and entries of it that are no page or repeated.
pub fn check(pages: &HashMap<PathBuf, Page>, findings: &mut Vec<Finding>) {
    let folder = Path::new("docs");
    let contents = folder.join("SUMMARY.md");
    let Some(list) = pages.get(&contents) else {
        return;
    };
    let mut listed: HashMap<PathBuf, usize> = HashMap::new();
    for (line, text) in &list.prose {
        for target in targets(text) {
            let path = normal(&folder.join(target));
            let what = if !path.starts_with(folder) || !pages.contains_key(&path) {
                Some(format!("{target} is no page of docs/"))
            } else {
                let first = listed.get(&path);
                first.map(|first| format!("{target} is listed in line {first}, too"))
            };
            match what {
                Some(what) => findings.push(Finding {
                    file: contents.clone(),
                    line: *line,
                    what,
                }),
                None => _ = listed.insert(path, *line),
            }
        }
    }
    for file in pages.keys() {
        if file.starts_with(folder) && *file != contents && !listed.contains_key(file) {
            findings.push(Finding {
                file: file.clone(),
                line: 1,
                what: "docs/SUMMARY.md does not list this page, so the site lacks it".to_owned(),
            });
        }
    }
}
