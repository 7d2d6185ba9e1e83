//! The measurements of one replication.
//!
//! All of it concerns the time after the warm-up. Figures "per transaction" are per transaction
//! that completed in that time. [`Measurement::rows`] gives the same as a flat list, the base of tables, CSV and the
//! intervals over replications.

use serde::{Deserialize, Serialize};

/// The measurements of one replication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Simulated seconds measured.
    pub seconds: f64,
    /// Transactions that arrived.
    pub arrivals: u64,
    /// Transactions that completed.
    pub completions: u64,
    /// Completions per second, all nodes together.
    pub throughput: f64,
    /// Response times, in milliseconds.
    pub response: Response,
    /// The parts of the mean response time, in milliseconds.
    pub composition: Composition,
    /// Every kind of server.
    pub servers: Vec<Station>,
    /// Mean utilisation of the processors by arithmetic from the parameters and from the counts of events: beside the
    /// servers' measurements, a check of the model.
    pub cpu_by_arithmetic: f64,
    /// Mean utilisation of each node's processors, from 0 to 1, in the order of the nodes.
    pub cpu_of_nodes: Vec<f64>,
    /// Every partition.
    pub partitions: Vec<PartitionFigures>,
    /// Concurrency and coherency control.
    pub locks: LockFigures,
    /// Little's law for the transactions in the system.
    pub little: Little,
    /// True if arrivals outran completions, so that means depend on the measured time.
    pub saturated: bool,
    /// Events that the kernel dispatched, the warm-up's included.
    pub events: u64,
}

/// Response times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Over all transactions that ended while measuring.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
    /// Mean of an artificial transaction with the workload's mean number of accesses: the mean
    /// response time per access, times the mean number of accesses (GEM paper, section 4.6). The
    /// same as `mean` if all transactions have as many.
    pub normalised: f64,
}

/// Parts of the mean response time, in milliseconds; they add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Composition {
    /// In the input queue, for want of a processing slot.
    pub input_queue: f64,
    /// Served by a processor, GEM accesses not included.
    pub cpu_service: f64,
    /// Waiting for a processor.
    pub cpu_wait: f64,
    /// Disks, controllers and caches, the wait for them included.
    pub io: f64,
    /// GEM accesses, the wait for GEM included; a processor is kept busy meanwhile.
    pub gem: f64,
    /// Waiting for locks that others hold.
    pub lock_wait: f64,
    /// Waiting for other nodes' answers: remote locks and page requests.
    pub messages: f64,
    /// Restarts after deadlocks: the time until the last attempt began.
    pub restarts: f64,
}

/// All servers of a kind together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Station {
    /// `cpu`, `gem`, `log disks`, `disks of account`, …
    pub name: String,
    /// Over all nodes.
    pub servers: u32,
    /// Mean utilisation, from 0 to 1.
    pub utilisation: f64,
    /// Utilisation of the least used server or group of servers with one queue.
    pub least_utilisation: f64,
    /// Utilisation of the most used one.
    pub most_utilisation: f64,
    /// Services per second.
    pub throughput: f64,
    /// Mean number waiting, over all queues.
    pub mean_queue: f64,
    /// Most that ever waited in one queue.
    pub max_queue: u64,
    /// Mean wait in milliseconds.
    pub wait_milliseconds: f64,
    /// True if Little's law holds to the picosecond at each of the queues: the level integrated over time, and the
    /// customers' times added up.
    pub little_holds: bool,
}

/// The events of a partition's pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartitionFigures {
    /// As the parameters have it.
    pub name: String,
    /// Page accesses per transaction; several accesses of one transaction to one page, one after
    /// the other, count once.
    pub accesses: f64,
    /// Share of them that found the current version in the node's buffer.
    pub hit_ratio: f64,
    /// Accesses per transaction that found an old version in the node's buffer.
    pub invalidations: f64,
    /// Valid copies in other nodes' buffers per transaction that its commit made old, whether they are ever found or not.
    #[serde(default)]
    pub made_invalid: f64,
    /// Pages per transaction that another node sent.
    pub from_nodes: f64,
    /// Pages per transaction read from storage.
    pub reads: f64,
    /// Pages per transaction written to storage.
    pub writes: f64,
    /// Share of the reads that a disk cache satisfied (0 without one).
    pub cache_hit_ratio: f64,
}

/// Concurrency and coherency control, per transaction unless noted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LockFigures {
    /// Requests for a lock that the transaction did not hold yet.
    pub requests: f64,
    /// Decided on the node itself, by its own authority.
    pub local: f64,
    /// Decided on the node itself, because it was authorised to grant read locks.
    pub authorised: f64,
    /// Decided in the global lock table.
    pub global: f64,
    /// Decided by another node.
    pub remote: f64,
    /// Share of all requests that were decided on the node itself, from 0 to 1.
    pub local_share: f64,
    /// Requests that had to wait for another transaction.
    pub conflicts: f64,
    /// Transactions aborted for a deadlock.
    pub deadlocks: f64,
    /// Authorisations to grant read locks that were revoked.
    pub revocations: f64,
    /// Requests, grants and releases without a page.
    pub short_messages: f64,
    /// Messages with a page.
    pub long_messages: f64,
    /// Requests to another node for a page (GEM locking, NOFORCE).
    pub page_requests: f64,
    /// Mean delay of such a request in milliseconds (0 if there was none).
    pub page_request_milliseconds: f64,
    /// Accesses to entries of the global lock table.
    pub entry_accesses: f64,
    /// Compare&Swap operations that found the entry changed.
    pub swap_failures: f64,
}

/// Little's law, L = λ W, for the transactions in the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Little {
    /// L: mean number of transactions in the system, integrated over time.
    pub population: f64,
    /// λ W: arrivals per second times the mean response time of those completed.
    pub arrivals_times_response: f64,
}

impl Little {
    /// The distance of the two sides, as a share of the first. The rest is the edge: transactions in the system when
    /// measuring began or ended.
    pub fn error(&self) -> f64 {
        if self.population == 0.0 {
            return 0.0;
        }
        (self.arrivals_times_response - self.population).abs() / self.population
    }
}

/// One figure of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its section: `response time`, `servers`, …
    pub section: &'static str,
    /// Its name, unique within the section.
    pub name: String,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// In the row's unit.
    pub value: f64,
}

impl Measurement {
    /// All figures as a flat list: the same names in the same order in every replication of a
    /// point.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut row = |section, name: &str, unit, value| {
            let name = name.to_string();
            rows.push(Row {
                section,
                name,
                unit,
                value,
            });
        };
        let Response {
            mean,
            p50,
            p95,
            p99,
            max,
            normalised,
        } = self.response;
        for (name, value) in [
            ("mean", mean),
            ("median", p50),
            ("95th percentile", p95),
            ("99th percentile", p99),
            ("longest", max),
            ("of the mean number of accesses", normalised),
        ] {
            row("response time", name, "ms", value);
        }
        let parts = &self.composition;
        for (name, value) in [
            ("input queue", parts.input_queue),
            ("CPU service", parts.cpu_service),
            ("CPU queueing", parts.cpu_wait),
            ("I/O", parts.io),
            ("GEM", parts.gem),
            ("lock waits", parts.lock_wait),
            ("messages", parts.messages),
            ("restarts", parts.restarts),
        ] {
            row("composition of the response time", name, "ms", value);
        }
        row("throughput", "transactions", "/s", self.throughput);
        for station in &self.servers {
            let name = &station.name;
            let share = |row: &mut dyn FnMut(_, &str, _, _), what: &str, value: f64| {
                row("servers", &format!("{name}: {what}"), "%", 100.0 * value);
            };
            share(&mut row, "utilisation", station.utilisation);
            share(&mut row, "utilisation, least", station.least_utilisation);
            share(&mut row, "utilisation, most", station.most_utilisation);
            row(
                "servers",
                &format!("{name}: mean queue"),
                "",
                station.mean_queue,
            );
            row(
                "servers",
                &format!("{name}: longest queue"),
                "",
                station.max_queue as f64,
            );
            row(
                "servers",
                &format!("{name}: wait"),
                "ms",
                station.wait_milliseconds,
            );
            row(
                "servers",
                &format!("{name}: services"),
                "/s",
                station.throughput,
            );
        }
        for partition in &self.partitions {
            let name = &partition.name;
            for (what, unit, value) in [
                ("accesses", "/transaction", partition.accesses),
                ("buffer hits", "%", 100.0 * partition.hit_ratio),
                ("invalidations", "/transaction", partition.invalidations),
                (
                    "copies made invalid",
                    "/transaction",
                    partition.made_invalid,
                ),
                ("from other nodes", "/transaction", partition.from_nodes),
                ("reads", "/transaction", partition.reads),
                ("writes", "/transaction", partition.writes),
                (
                    "cache hits of reads",
                    "%",
                    100.0 * partition.cache_hit_ratio,
                ),
            ] {
                row("pages", &format!("{name}: {what}"), unit, value);
            }
        }
        self.lock_rows(&mut row);
        row(
            "checks",
            "CPU utilisation by arithmetic",
            "%",
            100.0 * self.cpu_by_arithmetic,
        );
        let holding = self
            .servers
            .iter()
            .filter(|station| station.little_holds)
            .count();
        let share = holding as f64 / self.servers.len().max(1) as f64;
        row("checks", "Little's law at the servers", "%", 100.0 * share);
        row(
            "checks",
            "Little: number in system",
            "",
            self.little.population,
        );
        row(
            "checks",
            "Little: arrivals x response",
            "",
            self.little.arrivals_times_response,
        );
        rows
    }

    fn lock_rows(&self, row: &mut impl FnMut(&'static str, &str, &'static str, f64)) {
        let locks = &self.locks;
        for (name, value) in [
            ("requests", locks.requests),
            ("local", locks.local),
            ("local by authorisation", locks.authorised),
            ("in the global lock table", locks.global),
            ("remote", locks.remote),
            ("conflicts", locks.conflicts),
            ("deadlocks", locks.deadlocks),
            ("revocations", locks.revocations),
            ("GEM entry accesses", locks.entry_accesses),
            ("Compare&Swap failures", locks.swap_failures),
        ] {
            row("locks", name, "/transaction", value);
        }
        row("locks", "local share", "%", 100.0 * locks.local_share);
        row("messages", "short", "/transaction", locks.short_messages);
        row("messages", "long", "/transaction", locks.long_messages);
        row(
            "messages",
            "page requests",
            "/transaction",
            locks.page_requests,
        );
        row(
            "messages",
            "page request's delay",
            "ms",
            locks.page_request_milliseconds,
        );
    }
}
