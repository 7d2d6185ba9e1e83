//! `package`: the packages that users install, built and tried. Nothing is published.
//!
//! - [`deb`]: a package for Debian; - [`tarball`]: the two programs; - [`c_library`]: the library for C;
//! - [`crates`]: the crates for crates.io; - [`wheel`]: the files for PyPI; - [`sbom`]: the crates in the program;
//! - [`audit`]: the same as a section of each program; - [`tools`]: the built programs, and the commands of the system that pack them.
//!
//! A package is tried where the build's files are absent: the Debian package in a temporary root, the tarball in one
//! that has only the system's libraries.

mod audit;
mod c_library;
mod crates;
mod deb;
mod sbom;
mod tarball;
mod tools;
mod wheel;

pub use tools::output_of;

use std::path::PathBuf;
use tools::Build;

#[derive(clap::Args)]
pub struct Package {
    #[command(subcommand)]
    kind: Kind,
    /// The directory of the packages.
    #[arg(long, global = true, default_value = "target/package")]
    output: PathBuf,
    /// Only build it: trying the Debian package and the tarball needs root.
    #[arg(long, global = true)]
    untried: bool,
    #[command(flatten)]
    build: Build,
}

#[derive(clap::Subcommand)]
enum Kind {
    /// The Debian package: program, unit, user, configuration, manual pages, completions.
    Deb,
    /// The two programs with manual pages and completions, for other systems.
    Tarball,
    /// The library for C, with headers, pkg-config and CMake files.
    C,
    /// The crates for crates.io.
    Crates,
    /// A wheel and a source distribution for Python.
    Wheel,
    /// The crates in the program, as CycloneDX.
    Sbom,
}

impl Package {
    pub fn run(self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.output)?;
        let output = self.output.canonicalize()?;
        let is_tried = !self.untried;
        match self.kind {
            Kind::Deb => deb::package(&self.build, &output, is_tried),
            Kind::Tarball => tarball::package(&self.build, &output, is_tried),
            Kind::C => c_library::package(&self.build, &output, is_tried),
            Kind::Crates => crates::package(),
            Kind::Wheel => wheel::package(&output, is_tried),
            Kind::Sbom => sbom::write(&output.join("sbom.cdx.json"), &sbom::COMMAND),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::tools::VERSION;

    fn text_of(file: &str) -> String {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        std::fs::read_to_string(format!("{root}/{file}")).unwrap()
    }

    /// Every place in `file` that begins with `before` goes on with `value`, and there is one.
    fn assert_names(file: &str, before: &str, value: &str) {
        let text = text_of(file);
        let places: Vec<&str> = text.split(before).skip(1).collect();
        let first = |place: &&str| place.chars().take(20).collect::<String>();
        let others = places.iter().filter(|place| !place.starts_with(value));
        let others: Vec<String> = others.map(first).collect();
        assert!(!places.is_empty(), "{file} has no {before:?}");
        assert!(
            others.is_empty(),
            "{file}: {before:?} is followed by {others:?}, not by {value}"
        );
    }

    #[test]
    fn the_oldest_supported_rust_is_the_same_everywhere() {
        let rust = env!("CARGO_PKG_RUST_VERSION");
        assert_names(
            "Containerfile",
            "FROM docker.io/library/rust:",
            &format!("{rust}-"),
        );
        for file in [
            "README.md",
            "CONTRIBUTING.md",
            "docs/quickstart.md",
            "bindings/python/README.md",
        ] {
            assert_names(file, "Rust 1.", rust.trim_start_matches("1."));
        }
        assert_names(
            "bindings/python/Cargo.toml",
            "rust-version = ",
            &format!("\"{rust}\""),
        );
    }

    #[test]
    fn pythons_package_has_the_version_of_the_crates() {
        for file in [
            "bindings/python/Cargo.toml",
            "bindings/python/pyproject.toml",
        ] {
            assert_names(file, "\nversion = ", &format!("\"{VERSION}\""));
        }
    }
}
