//! The default name of a host: the machine's, and a number computed from its directory, so that several hosts of one
//! machine have different names.

use sardonyx_base::crc32c::crc32c;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The longest part of the machine's name, in bytes.
const MACHINE_BYTES_MAX: usize = 150;

/// The name of a host with this directory.
///
/// # Errors
/// There is no working directory.
pub fn of(directory: &Path) -> io::Result<String> {
    let directory = std::path::absolute(directory)?;
    // Without the machine's name, the number distinguishes the hosts.
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Ok(name(&machine, &directory))
}

fn name(machine: &str, directory: &Path) -> String {
    let is_good = |letter: &char| letter.is_ascii_alphanumeric() || "._-".contains(*letter);
    let machine: String = machine
        .trim()
        .chars()
        .filter(is_good)
        .take(MACHINE_BYTES_MAX)
        .collect();
    let machine = if machine.is_empty() { "host" } else { &machine };
    format!("{machine}-{:08x}", crc32c(directory.as_os_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_storage::remote_log::primary::is_host_name;

    #[test]
    fn each_directory_of_a_machine_has_a_name_of_its_own_that_is_always_the_same() {
        let of = |machine: &str, directory: &str| name(machine, Path::new(directory));
        let long = "x".repeat(500);
        for machine in ["db-1.example\n", "", "a b\u{e4}", &long] {
            assert!(is_host_name(&of(machine, "/a")), "{machine:?}");
        }
        assert_eq!(of("db", "/a"), of("db", "/a"));
        assert_ne!(of("db", "/a"), of("db", "/b"));
        assert!(of("db-1\n", "/a").starts_with("db-1-"));
    }
}
