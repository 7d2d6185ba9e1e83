//! Cycles of imports: files each of which imports itself by way of others.
//!
//! A re-export (`pub use`) counts as an import from the defining module, so that a file of re-exports is in no cycle.
//!
//! Source: R. Tarjan, Depth-First Search and Linear Graph Algorithms, SIAM Journal on Computing 1 (1972).

use super::Finding;
use super::imports::Import;
use super::plan::CIRCLE_FILES_MAX;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The files of a crate by their modules, with what they import.
pub(super) type Modules = BTreeMap<String, (PathBuf, Vec<Import>)>;

/// The file that states the sizes of circles.
const PLAN: &str = "xtask/src/check_rooms/plan.rs";

/// The most re-exports that are followed.
const EXPORTS_MAX: usize = 8;

/// Finds the cycles of a crate with more files than it may have, and a number of `larger` that is not that of its largest
/// cycle. Returns the size of that.
pub(super) fn check(
    modules: &Modules,
    name: &str,
    larger: &[(&str, usize)],
    findings: &mut Vec<Finding>,
) -> usize {
    let stated = larger.iter().find(|(of, _)| *of == name);
    let files_max = stated.map_or(CIRCLE_FILES_MAX, |(_, files)| *files);
    let circles = circles(modules);
    let largest = circles.iter().map(Vec::len).max().unwrap_or(0);
    let mut find = |circle: Option<&Vec<&str>>, text| {
        let first = circle.and_then(|circle| modules.get(*circle.first()?));
        let file = first.map_or_else(|| PathBuf::from(PLAN), |(file, _)| file.clone());
        findings.push(Finding {
            file,
            line: 1,
            text,
        });
    };
    for circle in circles.iter().filter(|circle| circle.len() > files_max) {
        let text = format!(
            "{} files of {name} import each other in a circle, and at most {files_max} may: {}",
            circle.len(),
            circle.join(", ")
        );
        find(Some(circle), text);
    }
    // A crate keeps what it has won.
    if stated.is_some() && largest < files_max {
        let rest = match largest > CIRCLE_FILES_MAX {
            true => format!("state {largest}"),
            false => "leave it out".to_owned(),
        };
        let text = format!(
            "LARGER_CIRCLES has {files_max} for {name}, whose largest circle has {largest} files: {rest}"
        );
        find(None, text);
    }
    largest
}

/// The module that defines an imported path.
fn module_of<'m>(modules: &'m Modules, path: &[String], exports: usize) -> Option<&'m str> {
    let lengths = (1..=path.len()).rev();
    let mut found = lengths.filter_map(|length| {
        let module = path[..length].join("::");
        modules.get_key_value(&module).map(|found| (length, found))
    });
    let (length, (module, (_, imports))) = found.next()?;
    let (Some(name), true) = (path.get(length), exports < EXPORTS_MAX) else {
        return Some(module);
    };
    let follow = |import: &Import, behind: &[String]| {
        let whole = [&import.path[..], behind].concat();
        module_of(modules, &whole, exports + 1)
    };
    let exported = imports.iter().filter(|import| import.is_exported);
    let mut named = exported.clone();
    let named = named.find(|import| !import.is_glob && import.path.last() == Some(name));
    if let Some(import) = named {
        return follow(import, &path[length + 1..]);
    }
    // One of all names of a module has this one if it leads further than to that module. (Others are of a type's names.)
    let of_all = exported.filter(|import| import.is_glob).find_map(|import| {
        let (inner, _) = modules.get_key_value(&import.path.join("::"))?;
        let found = (inner != module).then(|| follow(import, &path[length..]))?;
        found.filter(|found| found != module && found != inner)
    });
    of_all.or(Some(module))
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
        assert_eq!(found(&modules, &[("other", 2)]), (3, vec![]));
        assert_eq!(found(&modules, &[("one", 3)]).0, 3);
        let text =
            "a.rs:1: 3 files of one import each other in a circle, and at most 2 may: a, b, c";
        assert_eq!(found(&modules, &[("one", 2)]), (3, vec![text.to_owned()]));
    }

    /// The largest circle of the crate `one`, and the findings.
    fn found(modules: &Modules, larger: &[(&str, usize)]) -> (usize, Vec<String>) {
        let mut findings = Vec::new();
        let largest = check(modules, "one", larger, &mut findings);
        let findings = findings.iter().map(ToString::to_string);
        (largest, findings.collect())
    }

    #[test]
    fn a_stated_number_is_that_of_the_largest_circle() {
        let files = |number: usize| {
            let names: Vec<String> = (0..number).map(|at| format!("f{at:02}")).collect();
            let next = names.iter().cycle().skip(1);
            let texts = names.iter().zip(next);
            let texts: Vec<(String, String)> = texts
                .map(|(name, next)| (name.clone(), format!("use crate::{next}::A;")))
                .collect();
            let texts: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (&**a, &**b)).collect();
            modules(&texts)
        };
        assert_eq!(found(&files(9), &[]), (9, vec![]));
        let (largest, findings) = found(&files(10), &[]);
        assert!(
            largest == 10 && findings[0].contains("10 files of one import each other"),
            "{findings:?}"
        );
        assert_eq!(found(&files(10), &[("one", 10)]), (10, vec![]));
        for (number, rest) in [(10, "state 10"), (9, "leave it out")] {
            let (_, findings) = found(&files(number), &[("one", 11)]);
            let text = format!(
                "{PLAN}:1: LARGER_CIRCLES has 11 for one, whose largest circle has {number} files: {rest}"
            );
            assert_eq!(findings, [text]);
        }
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
    fn an_export_of_all_names_is_followed() {
        let modules = modules(&[
            (
                "plan",
                "mod all;\nmod own;\npub use all::*;\npub use Kind::*;\nuse own::O;\nenum Kind { K }",
            ),
            ("plan::all", "mod a;\npub use a::A;"),
            ("plan::all::a", "use crate::base::B;"),
            ("plan::own", "use super::A;"),
            ("base", "use crate::plan::O;"),
        ]);
        // `O` is `plan`'s own; `A` is that of `plan::all::a`.
        let circle = vec!["base", "plan", "plan::all::a", "plan::own"];
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
