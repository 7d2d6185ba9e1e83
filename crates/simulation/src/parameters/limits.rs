//! The allowed range of every numeric parameter.

/// The range of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Its key; `*` matches any partition.
    pub key: &'static str,
    /// The least allowed value.
    pub least: f64,
    /// The most allowed value.
    pub most: f64,
}

/// Most nodes of a simulated system.
pub const MOST_NODES: u32 = 1_000;

/// The ranges, in the order of the file. Their bounds: the model's 32-bit page numbers and 64-bit
/// picoseconds (213 days), and above that any plausible value.
pub const LIMITS: &[Limit] = &[
    limit("nodes", 1.0, MOST_NODES as f64),
    limit("run.seed", 0.0, i64::MAX as f64),
    limit("run.warm_up_seconds", 0.0, 100_000.0),
    limit("run.measured_seconds", 0.001, 100_000.0),
    limit("run.precision", 0.0001, 1.0),
    limit("run.least_replications", 2.0, 10_000.0),
    limit("run.most_replications", 2.0, 10_000.0),
    limit("run.most_in_system", 10.0, 10_000_000.0),
    limit("arrival.rate_per_node", 0.001, 10_000_000.0),
    limit("arrival.stages", 1.0, 1_000.0),
    limit("arrival.variation", 1.0, 100.0),
    limit("arrival.burst_factor", 1.0, 10_000.0),
    limit("arrival.burst_seconds", 0.000_001, 1_000.0),
    limit("workload.branches_per_node", 1.0, 100_000.0),
    limit("workload.tellers_per_branch", 1.0, 1_000.0),
    limit("workload.accounts_per_branch", 1.0, 10_000_000.0),
    limit("workload.branch_blocking", 1.0, 10_000.0),
    limit("workload.teller_blocking", 1.0, 10_000.0),
    limit("workload.account_blocking", 1.0, 10_000.0),
    limit("workload.history_blocking", 1.0, 10_000.0),
    limit("workload.other_branch_percent", 0.0, 100.0),
    limit("workload.type_rates.*", 0.001, 10_000_000.0),
    limit("node.multiprogramming_level", 1.0, 1_000_000.0),
    limit("node.processors", 1.0, 4_096.0),
    limit("node.mips", 0.001, 10_000_000.0),
    limit("node.begin_instructions", 0.0, 1e12),
    limit("node.access_instructions", 0.0, 1e12),
    limit("node.end_instructions", 0.0, 1e12),
    limit("node.buffer_pages", 8.0, 100_000_000.0),
    limit("node.write_back_pages", 1.0, 100_000_000.0),
    limit("messages.megabytes_per_second", 0.001, 10_000_000.0),
    limit("messages.latency_microseconds", 0.0, 10_000_000.0),
    limit("messages.short_bytes", 1.0, 1_000_000.0),
    limit("messages.long_bytes", 1.0, 100_000_000.0),
    limit("messages.short_instructions", 0.0, 1e9),
    limit("messages.long_instructions", 0.0, 1e9),
    limit("messages.gem_instructions", 0.0, 1e9),
    limit("gem.servers", 1.0, 4_096.0),
    limit("gem.page_microseconds", 0.0, 1_000_000.0),
    limit("gem.entry_microseconds", 0.0, 1_000_000.0),
    limit("gem.page_instructions", 0.0, 1e9),
    limit("disk.instructions", 0.0, 1e9),
    limit("disk.access_milliseconds", 0.0, 10_000.0),
    limit("disk.controller_milliseconds", 0.0, 10_000.0),
    limit("disk.transfer_milliseconds", 0.0, 10_000.0),
    limit("log.access_milliseconds", 0.0, 10_000.0),
    limit("log.disks_per_node", 1.0, 4_096.0),
    limit("log.controllers_per_node", 1.0, 4_096.0),
    limit("log.cache_pages_per_node", 1.0, 100_000_000.0),
    limit("locking.check_milliseconds", 0.001, 100_000.0),
    limit("locking.restart_milliseconds", 0.0, 100_000.0),
    limit("partition.*.disks_per_node", 1.0, 4_096.0),
    limit("partition.*.controllers_per_node", 1.0, 4_096.0),
    limit("partition.*.cache_pages_per_node", 1.0, 100_000_000.0),
];

const fn limit(key: &'static str, least: f64, most: f64) -> Limit {
    Limit { key, least, most }
}

/// The range of the parameter `key`, if it is a number.
pub fn of(key: &str) -> Option<Limit> {
    LIMITS.iter().find(|limit| fits(limit.key, key)).copied()
}

fn fits(pattern: &str, key: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == key,
        Some((before, after)) => {
            key.len() > before.len() + after.len()
                && key.starts_with(before)
                && key.ends_with(after)
        }
    }
}
