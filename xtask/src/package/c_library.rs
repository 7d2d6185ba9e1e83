//! The library for C: headers, shared and static library, and the files for pkg-config and CMake.

use super::audit;
use super::sbom;
use super::tools::{Build, Stage, VERSION, glibc_of, output_of, run};
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Further libraries that a program with the static library is linked with (`cargo rustc -- --print
/// native-static-libs`).
const NATIVE: &[&str] = &[
    "-lgcc_s",
    "-lutil",
    "-lrt",
    "-lpthread",
    "-lm",
    "-ldl",
    "-lc",
];

pub fn package(build: &Build, output: &Path, is_tried: bool) -> anyhow::Result<()> {
    let built = build.build("sardonyx-capi", None)?;
    let shared = library(&built, "libsardonyx_capi.so")?;
    let archive = library(&built, "libsardonyx_capi.a")?;
    let stage = Stage::new(output.join("c"))?;
    stage.stripped("lib/libsardonyx_capi.so", &shared, 0o755)?;
    let installed = stage.root.join("lib/libsardonyx_capi.so");
    audit::embed(&installed, "sardonyx-capi", None)?;
    stage.stripped("lib/libsardonyx_capi.a", &archive, 0o644)?;
    for header in ["sardonyx.h", "libxac.h"] {
        stage.copy(
            &format!("include/{header}"),
            format!("bindings/c/include/{header}"),
            0o644,
        )?;
    }
    let examples = ["shop.c", "hash_table.c"];
    for example in examples {
        stage.copy(
            &format!("share/sardonyx/examples/{example}"),
            format!("bindings/c/examples/{example}"),
            0o644,
        )?;
    }
    stage.copy("README.md", "bindings/c/README.md", 0o644)?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
        stage.copy(file, file, 0o644)?;
    }
    for (path, template) in [
        ("lib/pkgconfig/sardonyx.pc", "sardonyx.pc.in"),
        (
            "lib/cmake/Sardonyx/SardonyxConfig.cmake",
            "SardonyxConfig.cmake.in",
        ),
        (
            "lib/cmake/Sardonyx/SardonyxConfigVersion.cmake",
            "SardonyxConfigVersion.cmake.in",
        ),
    ] {
        stage.text(path, &filled(template)?)?;
    }
    sbom::write(&stage.root.join("sbom.cdx.json"), &sbom::C_LIBRARY)?;
    let architecture = std::env::consts::ARCH;
    let name = format!(
        "libsardonyx-{VERSION}-{architecture}-linux-glibc{}",
        glibc_of(&[&shared])?
    );
    let file = output.join(format!("{name}.tar.gz"));
    stage.pack(&file, &name)?;
    if is_tried {
        try_it(&file, output).context("trying the library's package")?;
    }
    println!("{}", file.display());
    Ok(())
}

/// A built library: by itself, or for tests, which place it with its dependencies.
fn library(built: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let places = [built.join(name), built.join("deps").join(name)];
    let mut there = places.into_iter().filter(|place| place.exists());
    there.next().with_context(|| {
        let built = built.display();
        format!(
            "{built} has no {name}: `cargo build -p sardonyx-capi` makes it, `cargo build` does not"
        )
    })
}

/// A template of `packaging/c` with the version and the system's libraries.
fn filled(template: &str) -> anyhow::Result<String> {
    let path = Path::new("packaging/c").join(template);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let between = if template.ends_with(".cmake.in") {
        ";"
    } else {
        " "
    };
    let text = text.replace("@NATIVE@", &NATIVE.join(between));
    Ok(text.replace("@VERSION@", VERSION))
}

/// Compiles the example by pkg-config and by CMake against the unpacked tarball, and runs it.
fn try_it(file: &Path, output: &Path) -> anyhow::Result<()> {
    let place = Stage::new(output.join("c-trial"))?;
    let root = &place.root;
    if Command::new("pkg-config")
        .arg("--version")
        .output()
        .is_err()
    {
        bail!("pkg-config is not installed; --untried leaves the trial out");
    }
    run(Command::new("tar")
        .args(["--strip-components=1", "-xzf"])
        .arg(file)
        .arg("-C")
        .arg(root))?;
    let library = root.join("lib");
    let example = root.join("share/sardonyx/examples/shop.c");
    let configured = |arguments: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", library.join("pkgconfig"));
        output_of(command.args(["--cflags", "--libs"]).args(arguments))
    };
    let flags = configured(&["sardonyx"])?;
    let program = root.join("shop");
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    compiler
        .arg("-pthread")
        .arg(&example)
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(&program);
    run(&mut compiler)?;
    let sells = |program: &Path, database: &str| {
        let mut command = Command::new(program);
        run(command
            .env("LD_LIBRARY_PATH", &library)
            .arg(root.join(database)))
    };
    sells(&program, "shop.sdx")?;
    if Command::new("cmake").arg("--version").output().is_err() {
        println!("left out: cmake is not installed");
        return Ok(());
    }
    let source = root.join("cmake-trial");
    place.text("cmake-trial/CMakeLists.txt", &filled("CMakeLists.txt")?)?;
    place.copy("cmake-trial/shop.c", &example, 0o644)?;
    let build = root.join("cmake-build");
    run(Command::new("cmake")
        .arg(format!("-DCMAKE_PREFIX_PATH={}", root.display()))
        .arg("-S")
        .arg(&source)
        .arg("-B")
        .arg(&build))?;
    run(Command::new("cmake").arg("--build").arg(&build))?;
    sells(&build.join("shop"), "by-cmake.sdx")?;
    sells(&build.join("shop_static"), "static.sdx")?;
    Ok(fs::remove_dir_all(root)?)
}
