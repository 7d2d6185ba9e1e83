//! Compiles the few calls of Berkeley DB that are used, against the system's `db.h`.

fn main() {
    let source = "src/tree_inserts/berkeley_db.c";
    println!("cargo::rerun-if-changed={source}");
    let compiled = cc::Build::new()
        .file(source)
        .warnings(true)
        .extra_warnings(true)
        .try_compile("sardonyx_berkeley_db");
    if let Err(error) = compiled {
        println!(
            "cargo::error=Berkeley DB 5.3 is needed (Debian: apt install libdb5.3-dev): {error}"
        );
        return;
    }
    println!("cargo::rustc-link-lib=dylib=db-5.3");
}
