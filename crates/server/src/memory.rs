//! The limit and the use of the process' memory: the server refuses requests that need more before the system kills it.
//!
//! The limit is the configured one, that of the process' cgroup, or the machine's memory. A share of it is for answers
//! that wait for their clients and for rows that statements gather. When the whole process is near the limit, nothing
//! more is stored either ([`Budget::set_short`]), and forgotten transactions give their rows up ([`Budget::give_back`]).

use crate::options::Options;
use sardonyx_resp::process::{kibibytes, memory};
use sardonyx_sql::Budget;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::sleep;

/// The divisor of the limit that gives the share for answers and rows.
const GATHERED_OF: u64 = 4;
/// The least share in bytes, however small the limit is.
const GATHERED_BYTES_MIN: u64 = 64 << 20;
/// The percentage of the limit from which on nothing is stored.
const SHORT_PERCENT: u64 = 90;
/// The time between two checks of the process.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The limit of the process' memory in bytes, if one can be found.
pub fn limit(said: Option<u64>) -> Option<u64> {
    said.or_else(|| [of_cgroup(), of_machine()].into_iter().flatten().min())
}

/// True if the process can have so many bytes more, and is not short of memory then.
pub fn has_room_for(options: &Options, bytes: u64) -> bool {
    let fits = |limit: u64| memory().saturating_add(bytes) <= limit / 100 * SHORT_PERCENT;
    limit(options.limits.memory_max).is_none_or(fits)
}

/// Sets the share for answers and rows.
pub fn bound(budget: &Budget, limit: u64) {
    let bytes_max = (limit / GATHERED_OF).max(GATHERED_BYTES_MIN);
    budget.set_bytes_max(usize::try_from(bytes_max).unwrap_or(usize::MAX));
}

/// Watches the process, for ever.
pub async fn watch(budget: &Budget, limit: u64) {
    let mut was_short = false;
    loop {
        // If it cannot be read, nothing is refused.
        let taken = memory();
        let is_short = look(budget, taken, limit);
        if is_short != was_short {
            tracing::warn!(taken, limit, is_short, "the process' memory and its limit");
        }
        was_short = is_short;
        sleep(BETWEEN_LOOKS).await;
    }
}

/// Notes whether the process is short of memory. While it is, it has what is beyond given back: others are refused for less.
fn look(budget: &Budget, taken: u64, limit: u64) -> bool {
    let beyond = taken.saturating_sub(limit / 100 * SHORT_PERCENT);
    budget.set_short(beyond > 0);
    if beyond > 0 {
        budget.give_back(usize::try_from(beyond).unwrap_or(usize::MAX));
    }
    beyond > 0
}

fn of_machine() -> Option<u64> {
    kibibytes(&read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The least limit of the process' cgroup and those above it (version 2), or that of version 1.
fn of_cgroup() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let files = groups.lines().flat_map(files_of);
    files
        .filter_map(|file| number(&read_to_string(file).ok()?))
        .min()
}

/// The files with the limits of a line of `/proc/self/cgroup`.
fn files_of(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let group = PathBuf::from(group.trim_start_matches('/'));
    let (root, file) = match controllers {
        "" => ("/sys/fs/cgroup", "memory.max"),
        one if one.split(',').any(|one| one == "memory") => {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    // In a container the group's own directory is the root.
    let above = group
        .ancestors()
        .map(|group| PathBuf::from(root).join(group).join(file));
    above.collect()
}

/// A limit; `None` if it is `max`.
fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_base::memory::Reclaim;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn limits_are_read() {
        let files = files_of("0::/system.slice/x.service");
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        assert_eq!(
            files,
            [
                "/sys/fs/cgroup/system.slice/x.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(files_of("4:cpu,memory:/a").len(), 2);
        assert!(files_of("3:cpu:/a").is_empty() && files_of("x").is_empty());
        assert_eq!((number("max\n"), number("4096\n")), (None, Some(4096)));
        assert_eq!(limit(Some(5)), Some(5));
    }

    #[test]
    fn a_process_near_its_limit_has_no_room_for_more() {
        let mut options = Options::default();
        options.limits.memory_max = Some(memory() / 100 * 150);
        assert!(has_room_for(&options, 0));
        assert!(!has_room_for(&options, memory()));
        assert!(!has_room_for(&options, u64::MAX));
    }

    /// Holds memory that it gives back.
    #[derive(Debug)]
    struct Held(AtomicUsize);

    impl Reclaim for Held {
        fn held(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }

        fn reclaim(&self, bytes: usize) -> bool {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
            true
        }
    }

    #[test]
    fn while_the_process_is_short_what_is_beyond_is_given_back() {
        let (budget, held) = (Budget::default(), Arc::new(Held(AtomicUsize::new(12))));
        let weak = Arc::downgrade(&held);
        budget.set_reclaim(weak);
        // For each look: what is taken of 100, and what is held afterwards.
        for (taken, left) in [(90, 12), (95, 7), (91, 6), (89, 6), (99, 0), (99, 0)] {
            assert_eq!(look(&budget, taken, 100), taken > 90);
            assert_eq!(budget.check().is_err(), taken > 90);
            assert_eq!(held.held(), left, "{taken}");
        }
    }
}
