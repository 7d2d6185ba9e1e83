//! Compiles the few calls of Berkeley DB that are used, against the system's `db.h`; and, if an older RocksDB of the
//! system is linked, the functions that it lacks.

fn main() {
    let compiled = compile("sardonyx_berkeley_db", "src/tree_inserts/berkeley_db.c");
    if let Err(error) = compiled {
        println!(
            "cargo::error=Berkeley DB 5.3 is needed (Debian: apt install libdb5.3-dev): {error}"
        );
        return;
    }
    println!("cargo::rustc-link-lib=dylib=db-5.3");
    println!("cargo::rerun-if-env-changed=ROCKSDB_LIB_DIR");
    let built = match std::env::var_os("ROCKSDB_LIB_DIR") {
        None => "compiled with the crate",
        Some(_) => {
            if let Err(error) = compile("sardonyx_rocksdb_missing", "src/rocksdb_missing.c") {
                println!("cargo::error=a C compiler is needed: {error}");
            }
            "the system's library"
        }
    };
    println!("cargo::rustc-env=ROCKSDB_BUILT={built}");
}

fn compile(library: &str, source: &str) -> Result<(), cc::Error> {
    println!("cargo::rerun-if-changed={source}");
    cc::Build::new()
        .file(source)
        .warnings(true)
        .extra_warnings(true)
        .try_compile(library)
}
