//! Cycles of imports: files each of which imports itself by way of others.
//!
//! A re-export (`pub use`) counts as an import from the defining module, so that a file of re-exports is in no cycle.
//!
//! Source: R. Tarjan, Depth-First Search and Linear Graph Algorithms, SIAM Journal on Computing 1 (1972).

use super::Finding;
use super::imports::Import;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The files of a crate by their modules, with what they import.
pub(super) type Modules = BTreeMap<String, (PathBuf, Vec<Import>)>;

/// The most re-exports that are followed.
const EXPORTS_MAX: usize = 8;

/// Finds the cycles of more than `files_max` files.
pub(super) fn check(modules: &Modules, files_max: usize, findings: &mut Vec<Finding>) {
    for circle in circles(modules) {
        if circle.len() <= files_max {
            continue;
        }
        let Some((file, _)) = circle.first().and_then(|first| modules.get(*first)) else {
            continue;
        };
        findings.push(Finding {
            file: file.clone(),
            line: 1,
            text: format!(
                "{} files import each other in a circle, and at most {files_max} may: {}",
                circle.len(),
                circle.join(", ")
            ),
        });
    }
}

/// The module that defines an imported path.
fn module_of<'m>(modules: &'m Modules, path: &[String], exports: usize) -> Option<&'m str> {
    let lengths = (1..=path.len()).rev();
    let mut found = lengths.filter_map(|length| {
        let module = path[..length].join("::");
        modules.get_key_value(&module).map(|found| (length, found))
    });
    let (length, (module, (_, imports))) = found.next()?;
    let exported = path.get(length).and_then(|name| {
        let mut exported = imports.iter().filter(|import| import.is_exported);
        exported.find(|import| import.path.last() == Some(name))
    });
    match exported {
        Some(import) if exports < EXPORTS_MAX => {
            let behind = path[length + 1..].iter().cloned();
            let whole: Vec<String> = import.path.iter().cloned().chain(behind).collect();
            module_of(modules, &whole, exports + 1)
        }
        _ => Some(module),
    }
}

/// The cycles, each in the order of names.
fn circles(modules: &Modules) -> Vec<Vec<&str>> {
    let arrows = modules.iter().map(|(module, (_, imports))| {
        let imports = imports.iter().filter(|import| !import.is_exported);
        let to = imports.filter_map(|import| module_of(modules, &import.path, 0));
        let to: BTreeSet<&str> = to.filter(|to| to != module).collect();
        (module.as_str(), to)
    });
    let mut search = Search {
        arrows: arrows.collect(),
        ..Search::default()
    };
    for module in modules.keys() {
        if !search.numbers.contains_key(module.as_str()) {
            search.visit(module);
        }
    }
    search.circles
}

#[derive(Default)]
struct Search<'m> {
    arrows: BTreeMap<&'m str, BTreeSet<&'m str>>,
    /// The order in which modules were visited.
    numbers: BTreeMap<&'m str, usize>,
    /// The modules whose cycles are not known yet.
    open: Vec<&'m str>,
    circles: Vec<Vec<&'m str>>,
}

impl<'m> Search<'m> {
    /// Returns the least number of an open module that is reachable.
    fn visit(&mut self, module: &'m str) -> usize {
        let own = self.numbers.len();
        self.numbers.insert(module, own);
        let place = self.open.len();
        self.open.push(module);
        let mut least = own;
        for to in self.arrows.get(module).cloned().unwrap_or_default() {
            match self.numbers.get(to) {
                None => least = least.min(self.visit(to)),
                Some(number) if self.open.contains(&to) => least = least.min(*number),
                Some(_) => {}
            }
        }
        if least == own {
            let mut circle = self.open.split_off(place);
            if circle.len() > 1 {
                circle.sort_unstable();
                self.circles.push(circle);
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::super::imports;
    use super::*;

    fn modules(texts: &[(&str, &str)]) -> Modules {
        let modules = texts.iter().map(|(module, text)| {
            let parts: Vec<String> = module.split("::").map(str::to_string).collect();
            let file = PathBuf::from(format!("{}.rs", parts.join("/")));
            (module.to_string(), (file, imports::of(&parts, text)))
        });
        modules.collect()
    }

    #[test]
    fn a_circle_is_found_and_one_that_may_be_is_not() {
        let modules = modules(&[
            ("a", "use crate::b::B;"),
            ("b", "use crate::c::C;"),
            ("c", "fn f() { crate::a::f() }"),
            ("d", "use crate::a::A;"),
            ("e", "use crate::d::D;\nuse crate::f::F;"),
            ("f", "use super::e::E;"),
        ]);
        assert_eq!(circles(&modules), [vec!["a", "b", "c"], vec!["e", "f"]]);
        let mut findings = Vec::new();
        check(&modules, 2, &mut findings);
        let text = "a.rs:1: 3 files import each other in a circle, and at most 2 may: a, b, c";
        assert_eq!(
            findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [text]
        );
    }

    #[test]
    fn an_export_is_of_the_module_that_has_it() {
        let modules = modules(&[
            ("plan", "mod a;\nmod b;\npub(crate) use a::A;\nuse b::B;"),
            ("plan::a", "use super::c;"),
            ("plan::b", "use super::A;"),
            ("plan::c", "use crate::plan::B;"),
        ]);
        // `c` names `plan` itself, which imports `b`, which imports `a`.
        let circle = vec!["plan", "plan::a", "plan::b", "plan::c"];
        assert_eq!(circles(&modules), [circle]);
    }

    #[test]
    fn a_file_of_exports_is_in_no_circle() {
        let modules = modules(&[
            (
                "plan",
                "mod a;\nmod b;\npub use a::A;\npub(super) use b::B;",
            ),
            ("plan::a", "use super::B;"),
            ("plan::b", "use std::fmt::Debug;"),
        ]);
        assert_eq!(circles(&modules), Vec::<Vec<&str>>::new());
    }
}
