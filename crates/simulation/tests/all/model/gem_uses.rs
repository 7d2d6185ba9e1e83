//! GEM's other uses: the times of a page transfer, a message and a cached page, and a write-back's entries.

use super::{DISK, ENTRIES, IO, LOG, PATH, SHORT, alone, close, parameters, run, two_nodes};

#[test]
fn a_page_across_gem_is_two_short_messages_and_two_page_accesses() {
    let found = two_nodes(&["node.buffer_pages=1000", "locking.page_transfer=gem"]);
    let branch = &found.partitions[2];
    assert!(branch.from_nodes > 0.3, "{branch:?}");
    close(found.locks.page_requests, branch.from_nodes);
    // The owner's access is part of the delay; the reader's comes after the answer.
    let access = 0.03 + 0.05;
    close(found.locks.page_request_milliseconds, 2.0 * SHORT + access);
    close(found.locks.short_messages, 2.0 * branch.from_nodes);
    close(found.locks.long_messages, 0.0);
    close(
        found.composition.gem,
        8.0 * 0.002 + branch.from_nodes * access,
    );
    close(found.locks.entry_accesses, 8.0);
}

#[test]
fn messages_through_gem_take_entries_and_pages_instead_of_the_network() {
    let found = two_nodes(&["node.buffer_pages=1000", "messages.medium=gem"]);
    // At each end 1,000 instructions and two entries, and of the long one 300 and the page.
    let short = 2.0 * (0.1 + 2.0 * 0.002);
    let long = short + 2.0 * (0.03 + 0.05);
    close(found.locks.page_request_milliseconds, short + long);
    close(found.locks.long_messages, found.partitions[2].from_nodes);
}

#[test]
fn a_cache_in_gem_takes_writes_and_reads_at_gems_speed() {
    let storage = "partition.branch_teller.storage=gem_cache";
    let found = alone(&["update=force", storage]);
    // Two entries of the directory, and the page.
    let cached = 2.0 * 0.002 + 0.03 + 0.05;
    close(
        found.response.mean,
        PATH + 3.0 * (IO + DISK) + cached + (IO + LOG) + ENTRIES,
    );
    let found = alone(&["update=noforce", "log.storage=gem_cache"]);
    close(found.response.mean, PATH + (IO + DISK) + cached + ENTRIES);
    // A page that the other node has forced is read from the cache.
    let found = two_nodes(&["update=force", "node.buffer_pages=1000", storage]);
    let branch = &found.partitions[2];
    assert!(branch.reads > 0.3, "{branch:?}");
    close(branch.cache_hit_ratio, 1.0);
    close(
        found.response.mean,
        PATH + 3.0 * (IO + DISK) + (1.0 + branch.reads) * cached + (IO + LOG) + ENTRIES,
    );
}

/// A write-back of a page that its node owns takes two entry accesses, and with entries that are read
/// four.
#[test]
fn a_write_back_takes_half_the_entry_accesses() {
    let written = |settings: &[&str]| {
        let all = [
            &["run.warm_up_seconds=5", "run.measured_seconds=10"],
            settings,
        ]
        .concat();
        let found = run(&parameters(&all));
        let writes: f64 = [0, 2]
            .map(|part| found.partitions[part].writes)
            .iter()
            .sum();
        assert!(writes > 1.0, "{found:?}");
        (found.locks.entry_accesses - 8.0) / writes
    };
    let remembered = written(&[]);
    let read = written(&["locking.remembered_entries=false"]);
    assert!((remembered - 2.0).abs() < 0.05, "{remembered}");
    assert!((read - 4.0).abs() < 0.05, "{read}");
}
