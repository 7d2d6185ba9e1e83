//! Steps with another database beside the one that is abused: extremes for its options, and its handles
//! and rows in the wrong place.

use super::Abuse;
use super::program::insert;
use crate::common::{self, Opened, VALUE};
use sardonyx::disk::{GroupLimits, GroupPolicy};
use sardonyx::{Error, Shape};
use sardonyx_base::random::Random;
use std::time::Duration;

/// Another database.
impl Abuse<'_> {
    /// Another database with options that may be nonsense: it opens and works, or returns an error.
    pub fn extremes(&mut self) {
        let random = &mut self.random;
        let number = |random: &mut Random| match random.below(6) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => i64::MAX as u64,
            4 => u64::from(u32::MAX),
            _ => 4096,
        };
        let mut chosen = common::options(self.shape);
        for _ in 0..1 + random.below(3) {
            let value = number(random);
            chosen = match random.below(10) {
                0 => chosen.log_bytes_max(value.min(1 << 24)),
                1 => chosen.log_bytes_prepared(value),
                2 => chosen.checkpoint_interval_bytes(value),
                3 => chosen.checkpoint_interval_transactions(value),
                4 => chosen.memory_bytes_max(value),
                5 => chosen.stripes(value.min(300) as u32),
                6 => chosen.block_bytes(value as u32),
                7 => chosen.shape(Shape::Pipelined {
                    input_threads: value as usize,
                    output_threads: 1,
                }),
                8 => chosen.group_limits(GroupLimits {
                    depth: value as usize,
                    buffers: value as usize,
                    group_bytes: 8 << 10,
                    transaction_bytes: 16 << 10,
                }),
                _ => chosen.group_policy(GroupPolicy::Fixed {
                    transactions: value as u32,
                    // A time that is never over is a wait for ever, as asked for.
                    time: Duration::from_millis(value.min(2)),
                }),
            };
        }
        let place = tempfile::tempdir_in(self.directory).unwrap();
        if let Ok(other) = Opened::on_real(&place.path().join("other.sdx"), chosen) {
            // A row that does not fit into its memory or log is refused.
            let _ = other.put(1, 1);
            let _ = other.database.close();
        }
        // The one that is open cannot be opened again.
        let again = common::options(self.shape).open_tables(self.directory.join("abused.sdx"));
        assert!(matches!(again, Err(Error::Locked(_))));
    }

    /// Handles and rows of another database, and rows whose records were deleted.
    pub fn strangers(&mut self) {
        let place = tempfile::tempdir_in(self.directory).unwrap();
        let path = place.path().join("other.sdx");
        let other = Opened::on_real(&path, common::options(Shape::Threadless)).unwrap();
        other.put(1, 1).unwrap();
        let theirs = other
            .database
            .read(|view| view.count(other.items))
            .expect("reads");
        assert_eq!(theirs, 1);
        let row = other
            .database
            .run(|tx| Ok::<_, Error>(tx.find(other.items, 1)));
        let row = row.unwrap().unwrap();
        let id = self.witness.begins();
        let opened = &self.opened;
        let outcome = opened.database.run(|tx| {
            assert!(tx.set(row, VALUE, 7).is_err() && tx.record(row).is_err());
            insert(opened, tx, id)?;
            let own = tx.find(opened.items, id).unwrap();
            tx.delete(opened.items, id)?;
            assert!(tx.record(own).is_err() && tx.set(own, VALUE, 7).is_err());
            Err::<(), _>(Error::other("all of it"))
        });
        assert!(outcome.is_err());
        self.witness.refused(id);
    }
}
