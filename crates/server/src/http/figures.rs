//! The metrics: a [`State`] by the names that Prometheus, the dashboard and the alert rules use (`observability/`).
//!
//! Names follow Prometheus' rules: the prefix `sardonyx_`, base units, `_total` for counters. A name never changes its
//! meaning, since users' dashboards depend on it.

use super::exposition::{Exposition, Format, Kind};
use crate::metrics::ERROR_CLASSES;
use crate::state::{Host, State};

/// All metrics of a state.
pub fn write(state: &State, format: Format) -> String {
    let mut out = Exposition::new(format);
    server(state, &mut out);
    log(state, &mut out);
    checkpoint(state, &mut out);
    tables(state, &mut out);
    clients(state, &mut out);
    if let Some(host) = &state.host {
        of_host(host, &mut out);
    }
    out.finish()
}

/// The metrics of a host that does not serve the database.
pub fn write_host(host: &Host, format: Format) -> String {
    let mut out = Exposition::new(format);
    build(env!("CARGO_PKG_VERSION"), &mut out);
    ready(false, &mut out);
    of_host(host, &mut out);
    out.finish()
}

fn of_host(host: &Host, out: &mut Exposition) {
    // A host without a name takes no turns with others.
    let is_of_store = !host.name.is_empty();
    if is_of_store {
        out.family(
            Kind::Gauge,
            "sardonyx_host_serves",
            "1 if this host, which the label names, serves the database.",
        );
        out.sample(&[("host", host.name.as_str())], host.serves);
        out.gauge(
            "sardonyx_host_lease_seconds",
            "The time for which this host may still answer without contact to its store; 0: it sends no answers.",
            host.lease_seconds,
        );
    }
    if let Some(entry) = host.entry {
        out.gauge(
            "sardonyx_host_entry",
            "The last entry of the store's log that this following host has.",
            entry,
        );
    }
    if let Some(behind) = host.behind_seconds {
        out.gauge(
            "sardonyx_host_behind_seconds",
            "The time for which this following host has not known if there is more to follow.",
            behind,
        );
    }
    if is_of_store {
        out.gauge(
            "sardonyx_host_forks",
            "Files of transactions that were cut off this host's log and kept in its directory.",
            host.forks,
        );
    }
    if let Some(age) = host.base_age_seconds {
        out.gauge(
            "sardonyx_store_base_age_seconds",
            "The age of the newest base in the store, if this host makes bases.",
            age,
        );
    }
    if let Some(due) = host.base_due_seconds {
        out.gauge(
            "sardonyx_store_base_due_seconds",
            "The time for which a base has been due, if this host makes bases; 0 if none is.",
            due,
        );
    }
}

fn build(version: &str, out: &mut Exposition) {
    out.family(Kind::Info, "sardonyx_build", "The program.");
    out.sample(&[("version", version)], 1_u64);
}

fn ready(is_ready: bool, out: &mut Exposition) {
    out.gauge(
        "sardonyx_ready",
        "1 if clients can be served, as for /readyz.",
        is_ready,
    );
}

fn server(state: &State, out: &mut Exposition) {
    build(&state.version, out);
    out.gauge(
        "sardonyx_uptime_seconds",
        "The time since the server's start.",
        state.uptime_seconds,
    );
    ready(state.readiness.ready, out);
    out.gauge(
        "sardonyx_recovery_seconds",
        "The time of recovery when the database was opened.",
        state.recovery.seconds,
    );
    out.gauge(
        "sardonyx_index_rebuild_seconds",
        "The time of rebuilding the indexes when the database was opened.",
        state.recovery.index_seconds,
    );
    out.family(
        Kind::Counter,
        "sardonyx_stage_busy_seconds",
        "The time for which a stage was busy, summed over its threads; logging includes waiting for the disk.",
    );
    for (stage, seconds) in state.stages.named() {
        out.sample(&[("stage", stage)], seconds);
    }
}

fn log(state: &State, out: &mut Exposition) {
    let log = &state.log;
    let counters = [
        (
            "sardonyx_transactions",
            "Committed transactions with changes.",
            state.transactions,
        ),
        (
            "sardonyx_log_groups",
            "Groups of transactions written to the log, each by one write and one sync.",
            log.groups,
        ),
        (
            "sardonyx_log_payload_bytes",
            "Bytes of redo records.",
            log.payload_bytes,
        ),
        (
            "sardonyx_log_written_bytes",
            "Bytes written to the log, headers and padding included.",
            log.written_bytes,
        ),
    ];
    for (name, help, value) in counters {
        out.counter(name, help, value);
    }
    out.family(
        Kind::Histogram,
        "sardonyx_log_write_seconds",
        "The time of writing a group to the log, sync included.",
    );
    out.histogram(&[], &log.write);
    out.gauge(
        "sardonyx_log_largest_group_transactions",
        "The most transactions in one group since the opening.",
        log.largest_group,
    );
    out.gauge(
        "sardonyx_log_outstanding_groups",
        "Groups that are sealed and not durable yet.",
        log.outstanding_groups,
    );
    out.gauge(
        "sardonyx_log_limit_bytes",
        "The most bytes of log on disk; beyond them changes wait for checkpoints.",
        log.limit_bytes,
    );
    out.gauge(
        "sardonyx_log_poisoned",
        "1 if an error closed the log, so that no transaction commits any more.",
        log.poisoned,
    );
}

fn checkpoint(state: &State, out: &mut Exposition) {
    let checkpoint = &state.checkpoint;
    let counters = [
        (
            "sardonyx_checkpoints",
            "Checkpoints completed.",
            checkpoint.completed,
        ),
        (
            "sardonyx_checkpoint_blocks",
            "Blocks written to the backup.",
            checkpoint.blocks,
        ),
        (
            "sardonyx_checkpoint_written_bytes",
            "Bytes written to the backup.",
            checkpoint.written_bytes,
        ),
    ];
    for (name, help, value) in counters {
        out.counter(name, help, value);
    }
    out.counter(
        "sardonyx_checkpoint_writeout_seconds",
        "Time from the beginning to the end of checkpoints.",
        checkpoint.writeout_seconds,
    );
    out.gauge(
        "sardonyx_checkpoint_running",
        "1 if a checkpoint is being written.",
        checkpoint.running,
    );
    out.gauge(
        "sardonyx_checkpoint_stopped",
        "1 if checkpointing stopped for good, or the store that frees the log gives no answer.",
        checkpoint.stopped,
    );
    out.gauge(
        "sardonyx_checkpoint_waiting_seconds",
        "The time for which a checkpoint has been waiting for room on the disk; 0 if none is.",
        checkpoint.waiting_seconds.unwrap_or(0.0),
    );
    out.gauge(
        "sardonyx_checkpoint_lag_bytes",
        "The log that a recovery would have to read now.",
        checkpoint.lag_bytes,
    );
    out.gauge(
        "sardonyx_checkpoint_lag_transactions",
        "Transactions in the log that a recovery would have to read now.",
        checkpoint.lag_transactions,
    );
    if let Some(store) = &state.store {
        out.gauge(
            "sardonyx_store_answers",
            "1 if the store of the log answers.",
            store.answers,
        );
        out.gauge(
            "sardonyx_store_lag_bytes",
            "The durable log that the store does not have yet.",
            store.lag_bytes,
        );
    }
}

fn tables(state: &State, out: &mut Exposition) {
    out.family(Kind::Gauge, "sardonyx_memory_bytes", "Memory by use.");
    out.sample(&[("used_for", "pages")], state.memory.pages);
    out.sample(&[("used_for", "indexes")], state.memory.indexes);
    out.gauge(
        "sardonyx_tables",
        "The number of tables.",
        state.tables_total,
    );
    out.family(
        Kind::Gauge,
        "sardonyx_table_rows",
        "Rows of a table; of the largest tables.",
    );
    for table in &state.tables {
        out.sample(&[("table", table.name.as_str())], table.rows);
    }
    out.family(
        Kind::Gauge,
        "sardonyx_table_bytes",
        "Bytes of the pages that a table uses; of the largest tables.",
    );
    for table in &state.tables {
        out.sample(&[("table", table.name.as_str())], table.bytes);
    }
    out.family(
        Kind::Counter,
        "sardonyx_table_changes",
        "Rows of a table inserted, changed and deleted, also by transactions that were undone; of the largest tables, and of those changed most.",
    );
    for table in &state.tables {
        out.sample(&[("table", table.name.as_str())], table.changes);
    }
}

fn clients(state: &State, out: &mut Exposition) {
    let clients = &state.clients;
    out.family(
        Kind::Gauge,
        "sardonyx_connections",
        "Connections that are open.",
    );
    for of in clients {
        out.sample(&[("protocol", of.protocol.as_str())], of.open);
    }
    out.family(
        Kind::Counter,
        "sardonyx_connections_opened",
        "Connections that were opened.",
    );
    for of in clients {
        out.sample(&[("protocol", of.protocol.as_str())], of.opened);
    }
    out.counter(
        "sardonyx_connections_refused",
        "Clients that were refused: too many connections, or failed authentication.",
        state.refused,
    );
    out.family(
        Kind::Counter,
        "sardonyx_statements",
        "Statements and commands of clients.",
    );
    for of in clients {
        out.sample(&[("protocol", of.protocol.as_str())], of.statements);
    }
    out.family(
        Kind::Histogram,
        "sardonyx_flight_seconds",
        "The times of flights: requests that a client sent together, until the last answer was written.",
    );
    for of in clients {
        out.histogram(&[("protocol", of.protocol.as_str())], &of.flights);
    }
    out.family(
        Kind::Counter,
        "sardonyx_errors",
        "Errors sent to clients, by the class of their SQLSTATE.",
    );
    for class in ERROR_CLASSES {
        // Classes without errors, too: a rate needs the first sample.
        let told = state.errors.iter().find(|errors| errors.class == class);
        out.sample(&[("class", class)], told.map_or(0, |errors| errors.count));
    }
    out.counter(
        "sardonyx_slow_statements",
        "Statements that took longer than the configured time.",
        state.slow_total,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Histogram, Store, Table};
    use std::collections::BTreeSet;

    fn full() -> State {
        let mut state = State {
            host: Some(crate::state::Host {
                name: "one".into(),
                entry: Some(7),
                behind_seconds: Some(0.5),
                base_age_seconds: Some(60.0),
                base_due_seconds: Some(0.0),
                ..Default::default()
            }),
            store: Some(Store::default()),
            ..State::default()
        };
        state.log.write = Histogram {
            bounds: vec![0.1],
            classes: vec![1, 2],
            sum: 3.5,
        };
        state.tables.push(Table {
            name: "x\"\n".into(),
            rows: 3,
            bytes: 4096,
            changes: 12,
        });
        state.clients.push(crate::state::Clients {
            protocol: "postgres".into(),
            flights: state.log.write.clone(),
            ..Default::default()
        });
        state
    }

    /// The names of the series of a text.
    fn names(text: &str) -> BTreeSet<&str> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.split(['{', ' ']).next())
            .collect()
    }

    /// Words of a text that have the form of a metric's name.
    fn named(text: &str) -> BTreeSet<&str> {
        let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let words = text.split(|character| !is_of_name(character));
        words.filter(|word| word.starts_with("sardonyx_")).collect()
    }

    #[test]
    fn the_dashboard_and_the_rules_name_what_is_there() {
        let written = write(&full(), Format::OpenMetrics);
        let there = names(&written);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../observability/");
        for file in ["grafana-dashboard.json", "prometheus-rules.yml"] {
            let text = std::fs::read_to_string(format!("{folder}{file}")).unwrap();
            let wanted = named(&text);
            assert!(wanted.len() > 5, "{file} names hardly anything");
            let missing: Vec<_> = wanted.difference(&there).collect();
            assert!(
                missing.is_empty(),
                "{file} names {missing:?}, which is not there"
            );
        }
    }

    #[test]
    fn every_series_is_told_once_and_what_tables_are_called_breaks_nothing() {
        let written = write(&full(), Format::OpenMetrics);
        assert!(
            written.contains("sardonyx_table_changes_total{table=\"x\\\"\\n\"} 12\n"),
            "{written}"
        );
        assert!(
            written.contains("sardonyx_table_rows{table=\"x\\\"\\n\"} 3\n"),
            "{written}"
        );
        let series = written.lines().filter(|line| !line.starts_with('#'));
        let series: Vec<&str> = series
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(one, _)| one)
            .collect();
        assert_eq!(series.iter().collect::<BTreeSet<_>>().len(), series.len());
        let helped = written.matches("# HELP ").count();
        assert_eq!(helped, written.matches("# TYPE ").count());
    }
}
