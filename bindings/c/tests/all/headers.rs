//! The headers are generated from the sources and committed; this regenerates and compares them.
//! With `SARDONYX_WRITE_HEADERS=1` it writes them instead.

use std::path::Path;

const SARDONYX_SOURCES: [&str; 14] = [
    "status",
    "options",
    "segment",
    "session",
    "transaction",
    "snapshot",
    "heap",
    "tables",
    "schema",
    "statement",
    "table_transaction",
    "view",
    "follower",
    "cursor",
];

const SARDONYX_INTRODUCTION: &str = include_str!("../../src/sardonyx.introduction.h");
const LIBXAC_INTRODUCTION: &str = include_str!("../../src/libxac.introduction.h");

/// Declarations for C after the generated ones.
const SARDONYX_END: &str = "\
/** Options with all defaults: `sdx_options options = SDX_OPTIONS;` */
#define SDX_OPTIONS { sizeof(sdx_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
";

fn generate(sources: &[&str], guard: &str, introduction: &str, end: &str) -> String {
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        cpp_compat: true,
        include_guard: Some(guard.into()),
        header: Some(introduction.trim_end().into()),
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        line_length: 96,
        usize_is_size_t: true,
        trailer: (!end.is_empty()).then(|| end.into()),
        ..Default::default()
    };
    config.function.args = cbindgen::Layout::Auto;
    config.enumeration.prefix_with_name = false;
    // Fields of the program's structures; no function takes them.
    if sources.contains(&"statement") {
        config.export.include = ["sdx_text", "sdx_int128"].map(String::from).to_vec();
    }
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        let path = format!("{}/src/{source}.rs", env!("CARGO_MANIFEST_DIR"));
        builder = builder.with_src(path);
    }
    let mut bytes = Vec::new();
    builder.generate().unwrap().write(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    without_safety_sections(&text)
}

/// Rust's sections on safety repeat the introduction for C programs.
fn without_safety_sections(text: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in text.lines() {
        let said = line.trim();
        if said == "* # Safety" {
            // The empty line before it is removed, too.
            let end = kept
                .trim_end()
                .strip_suffix('*')
                .unwrap_or(&kept)
                .trim_end()
                .len();
            kept.truncate(end);
            kept.push('\n');
            inside = true;
        }
        inside &= said != "*/";
        if !inside {
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    kept
}

fn compare(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("include")
        .join(name);
    if std::env::var_os("SARDONYX_WRITE_HEADERS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines = committed.lines().zip(generated.lines()).enumerate();
    let differs = lines.find(|(_, (committed, generated))| committed != generated);
    assert!(
        committed == generated,
        "{name} is not what the sources say (first difference: {differs:?}); run \
         SARDONYX_WRITE_HEADERS=1 cargo test -p sardonyx-capi --test all headers"
    );
}

#[test]
fn sardonyx_h_is_what_the_sources_say() {
    let guard = "SARDONYX_H";
    let text = generate(
        &SARDONYX_SOURCES,
        guard,
        SARDONYX_INTRODUCTION,
        SARDONYX_END,
    );
    compare("sardonyx.h", &text);
}

#[test]
fn libxac_h_is_what_the_sources_say() {
    let text = generate(&["xac"], "LIBXAC_H", LIBXAC_INTRODUCTION, "");
    compare("libxac.h", &text);
}
