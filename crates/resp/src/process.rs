//! The memory and the processor time that the process takes, as reported by Linux.

use std::fs::read_to_string;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// A look at the process' memory serves for so long.
const LOOK_LASTS: Duration = Duration::from_millis(100);
/// Ticks of `/proc` in a second: the same for all programs on Linux, with any tick rate of the kernel.
const TICKS: f64 = 100.0;

/// The memory of the process that nothing else can hold: its own, and that shared with others; 0 where it cannot be read.
pub fn memory() -> u64 {
    read_to_string("/proc/self/status").map_or(0, |status| taken(&status))
}

/// The same of a moment ago, for frequent calls.
pub(crate) fn recent_memory() -> u64 {
    static LOOKED: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut looked = LOOKED.lock().unwrap_or_else(PoisonError::into_inner);
    match *looked {
        Some((at, bytes)) if at.elapsed() < LOOK_LASTS => bytes,
        _ => looked.insert((Instant::now(), memory())).1,
    }
}

/// Seconds of processors that the process took for the system and for itself.
pub(crate) fn processors() -> [f64; 2] {
    let stat = read_to_string("/proc/self/stat").unwrap_or_default();
    seconds(&stat)
}

fn seconds(stat: &str) -> [f64; 2] {
    // The name, in brackets, may have anything in it.
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let mut fields = behind.split_ascii_whitespace().skip(11);
    let mut next = || fields.next().and_then(|field| field.parse::<f64>().ok());
    let (own, system) = (next().unwrap_or(0.0), next().unwrap_or(0.0));
    [system / TICKS, own / TICKS]
}

fn taken(status: &str) -> u64 {
    let fields = ["RssAnon:", "RssShmem:"].map(|name| kibibytes(status, name));
    fields.into_iter().flatten().sum()
}

/// The value of a line such as `MemTotal:  16384 kB`, in bytes.
pub fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let value: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    value.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_read() {
        let status = "Name:\tx\nVmRSS:\t   9999 kB\nRssAnon:\t    1024 kB\nRssFile:\t 77 kB\nRssShmem:\t 2 kB\n";
        assert_eq!(taken(status), 1026 << 10);
        assert_eq!(taken("nothing"), 0);
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 1 0 5";
        assert_eq!(seconds(stat), [0.25, 1.5]);
        assert_eq!(seconds(""), [0.0; 2]);
    }
}
