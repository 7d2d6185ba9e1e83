//! The memory of this process, as Linux counts it.

/// The most memory that was resident at once since the process began, in bytes; `None` if the system does not report
/// it.
pub fn peak_resident_bytes() -> Option<u64> {
    peak_in(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn peak_in(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_kibibytes() {
        let status = "Name:\tx\nVmPeak:\t  999 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n";
        assert_eq!(peak_in(status), Some(1234 << 10));
        assert_eq!(peak_in("Name:\tx\n"), None);
    }
}
