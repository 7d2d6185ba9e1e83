//! Each fault, planted in a small repository, is found at its place; a valid one has none.

use std::path::Path;

use super::check;

const SOUND: &str = "\
# A page

See [the other](docs/other.md#second-heading-of-it), [below](#its-end) and
[a link that
goes on](docs/other.md). Not a link: `[x](nowhere.md)`.

| a | b |
| --- | ---: |
| `x \\| y` | 2 |

```
| no | table
```

Files: `crates/one/src/lib.rs`, `crates/*/src/l*.rs`, `target/release/x`, `a/b`, `i1_it_holds`.
Items: `one::i1_it_holds`, `sardonyx_one::i1_it_holds`, `std::fs`.

## Its end
";

/// The findings of `check` in a repository with one page, `text`, and the files around it.
fn found(text: &str) -> Vec<String> {
    let root = tempfile::tempdir().expect("a directory");
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("PAGE.md", text);
    write("docs/other.md", "# Other\n\n## Second *heading* of `it`\n");
    let source = "#[test]\nfn i1_it_holds() {}\nimpl A {\n    fn gone(&self) {}\n}\n";
    write("crates/one/src/lib.rs", source);
    write("target/broken.md", "[x](nowhere)\n");
    let (pages, findings) = check(root.path()).expect("read");
    assert_eq!(pages, 2);
    findings.iter().map(ToString::to_string).collect()
}

/// The one fault after replacing `old` by `new`.
fn planted(old: &str, new: &str) -> String {
    assert!(SOUND.contains(old));
    let found = found(&SOUND.replacen(old, new, 1));
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_sound_page_has_no_faults() {
    assert_eq!(found(SOUND), Vec::<String>::new());
}

#[test]
fn a_table_that_a_blank_line_cuts_is_found() {
    let fault = planted("| `x", "\n| `x");
    assert!(fault.starts_with("PAGE.md:10: a table's row"), "{fault}");
}

#[test]
fn a_row_with_a_column_too_many_is_found() {
    let fault = planted("x \\| y", "x | y");
    assert_eq!(fault, "PAGE.md:9: a row of 3 columns in a table of 2");
    let fault = planted("| 2 |", "|");
    assert_eq!(fault, "PAGE.md:9: a row of 1 columns in a table of 2");
}

#[test]
fn links_and_anchors_that_lead_nowhere_are_found() {
    let fault = planted("(docs/other.md).", "(docs/gone.md).");
    assert!(
        fault.starts_with("PAGE.md:5: the link to docs/gone.md"),
        "{fault}"
    );
    let fault = planted("#second-heading-of-it", "#third");
    assert!(fault.starts_with("PAGE.md:3: the link"), "{fault}");
    let fault = planted("## Its end", "## Its beginning");
    assert!(
        fault.starts_with("PAGE.md:3: the link to #its-end"),
        "{fault}"
    );
}

#[test]
fn files_and_tests_that_are_not_there_are_found() {
    let fault = planted("one/src/lib.rs", "one/src/gone.rs");
    assert!(
        fault.ends_with("crates/one/src/gone.rs does not exist"),
        "{fault}"
    );
    let fault = planted("src/l*.rs", "src/m*.rs");
    assert!(
        fault.ends_with("crates/*/src/m*.rs does not exist"),
        "{fault}"
    );
    let fault = planted("i1_it_holds`.", "i1_it_held`.");
    assert!(fault.ends_with("no test is called i1_it_held"), "{fault}");
    for path in ["one::i1_it_holds", "sardonyx_one::i1_it_holds"] {
        let gone = path.replace("i1_it_holds", "gone");
        let fault = planted(&format!("`{path}`"), &format!("`{gone}`"));
        let expected = format!("{gone}: nothing there is called gone");
        assert!(fault.ends_with(&expected), "{fault}");
    }
}

#[test]
fn a_rust_comment_that_names_a_document_is_checked() {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(root.path().join("docs")).expect("a folder");
    std::fs::write(root.path().join("docs/a.md"), "# A b\n").expect("a file");
    let text = "//! See docs/a.md#a-b.\n// and docs/b.md\nconst A: &str = \"docs/c.md\";\n";
    std::fs::write(root.path().join("x.rs"), text).expect("a file");
    let (_, findings) = check(root.path()).expect("read");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].line, 2);
}

#[test]
fn a_page_that_the_table_of_contents_lacks_is_found() {
    let found = |contents: &str| {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(root.path().join("docs")).expect("a folder");
        for page in ["a", "b"] {
            std::fs::write(root.path().join(format!("docs/{page}.md")), "# A\n").expect("a file");
        }
        std::fs::write(root.path().join("out.md"), "# Out\n").expect("a file");
        std::fs::write(root.path().join("docs/SUMMARY.md"), contents).expect("a file");
        let (_, findings) = check(root.path()).expect("read");
        let findings = findings.iter().map(ToString::to_string);
        findings.collect::<Vec<_>>()
    };
    assert_eq!(found("- [A](a.md)\n  - [B](b.md)\n"), Vec::<String>::new());
    assert_eq!(
        found("- [A](a.md)\n"),
        ["docs/b.md:1: docs/SUMMARY.md does not list this page, so the site lacks it"]
    );
    assert_eq!(
        found("- [A](a.md)\n- [B](b.md)\n- [A](a.md)\n- [Out](../out.md)\n"),
        [
            "docs/SUMMARY.md:3: a.md is listed in line 1, too",
            "docs/SUMMARY.md:4: ../out.md is no page of docs/"
        ]
    );
}

#[test]
fn a_page_of_tests_is_written_from_them_and_found_when_it_is_old() {
    let root = tempfile::tempdir().expect("a directory");
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    let checked = |write: bool| {
        let root = root.path().to_owned();
        let habits = None;
        super::CheckDocs {
            root,
            habits,
            write,
        }
        .run()
    };
    write(
        "docs/SUMMARY.md",
        "- [Test programs](tests.md)\n- [Testing](testing.md)\n",
    );
    write("docs/testing.md", "");
    write("crates/storage/tests/all/main.rs", "//! All tests.");
    write("crates/storage/tests/all/log.rs", "//! The log.");
    write("docs/tests.md", "");
    assert!(checked(false).is_err());
    checked(true).expect("written");
    checked(false).expect("as it was written");
    let page = std::fs::read_to_string(root.path().join("docs/tests.md")).expect("a page");
    assert!(page.ends_with("| `log` | The log. |\n"), "{page}");
    write("crates/storage/tests/all/log.rs", "//! Another subject.");
    let (_, findings) = check(root.path()).expect("read");
    let line = page.lines().count();
    let expected = format!(
        "docs/tests.md:{line}: not as the tests say: `cargo xtask check-docs --write` writes it"
    );
    assert_eq!(
        findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [expected]
    );
}
