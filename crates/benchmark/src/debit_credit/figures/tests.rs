//! Tests of the figures: slices beside checkpoints, and bytes of devices.

use super::*;

fn slice(milliseconds: u64, committed: u64, checkpointing: (bool, bool)) -> Slice {
    Slice {
        time: Duration::from_millis(milliseconds),
        committed,
        checkpointing,
    }
}

#[test]
fn slices_with_a_checkpoints_beginning_or_end_count_on_neither_side() {
    let slices = [
        slice(10, 1000, (false, false)),
        slice(10, 1, (false, true)),
        slice(10, 700, (true, true)),
        slice(10, 900, (true, true)),
        slice(10, 1, (true, false)),
        slice(30, 3000, (false, false)),
    ];
    let totals = CheckpointTotals::default();
    let checkpoints = Checkpoints::between(totals, totals, &slices);
    assert_eq!(checkpoints.transactions_per_second_during, Some(80_000.0));
    assert_eq!(checkpoints.transactions_per_second_between, Some(100_000.0));
    assert!((checkpoints.drop().unwrap() - 0.2).abs() < 1e-9);
}

#[test]
fn without_a_checkpoint_there_is_no_drop() {
    let totals = CheckpointTotals::default();
    let slices = [slice(10, 1000, (false, false))];
    let checkpoints = Checkpoints::between(totals, totals, &slices);
    assert_eq!(checkpoints.transactions_per_second_during, None);
    assert_eq!(checkpoints.drop(), None);
}

#[test]
fn the_devices_bytes_are_those_of_the_run_and_those_since_the_creation() {
    let (mut before, mut after) = (Statistics::default(), Statistics::default());
    (before.log.disk_bytes, after.log.disk_bytes) = (1000, 3000);
    (before.log.transactions, after.log.transactions) = (10, 30);
    (before.checkpoint.bytes, after.checkpoint.bytes) = (500, 900);
    let so_far = |bytes, archive_bytes| WrittenSoFar {
        bytes,
        archive_bytes,
    };
    let counted = [so_far(7000, 0), so_far(9000, 100), so_far(11_600, 300)];
    let found = DeviceWrites::between(CountedBy::Device, counted, &before, &after);
    assert_eq!(found.bytes_per_transaction, 130.0);
    let shown = |written: Written| {
        let rates = (written.per_log_byte, written.of_log_per_log_byte);
        (written.bytes, rates)
    };
    assert_eq!(shown(found.run), (2600, (1.3, 1.0)));
    let rates = (4600.0 / 3000.0, 3400.0 / 3000.0);
    assert_eq!(shown(found.since_creation), (4600, rates));
}

#[test]
fn only_what_the_run_added_counts() {
    let (mut before, mut after) = (Statistics::default(), Statistics::default());
    (before.log.transactions, before.log.groups) = (100, 100);
    (before.log.payload_bytes, before.log.disk_bytes) = (1 << 20, 2 << 20);
    (
        after.log.transactions,
        after.log.groups,
        after.log.largest_group,
    ) = (1100, 110, 300);
    after.log.payload_bytes = (1 << 20) + 88_000;
    after.log.disk_bytes = (2 << 20) + 96_000;
    after.stages.input = Duration::from_millis(20);
    before.stages.input = Duration::from_millis(5);
    let groups = Groups::between(&before, &after);
    assert_eq!(
        (groups.count, groups.mean, groups.largest),
        (10, 100.0, 300)
    );
    let logged = Logged::between(&before, &after);
    assert_eq!(logged.record_bytes_per_transaction, 88.0);
    assert_eq!(logged.disk_bytes_per_transaction, 96.0);
    let stages = Stages::between(Duration::from_secs(1), &before, &after);
    assert_eq!((stages.total, stages.input), (1.0, 0.015));
}
