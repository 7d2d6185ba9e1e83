//! The world at rest: all transactions have ended, nothing is left of them in memory, and storage has the truth.

use super::{World, first};
use crate::node::layout::Common;
use crate::node::tables::tests::rows::check_rows_in;
use crate::protocol::Protocol;
use sardonyx_storage::disk::{Disk, Faults};
use sardonyx_storage::page::PAGE_SIZE;
use std::sync::Arc;

impl World {
    /// Everything that was begun ends, and the dead are recovered.
    pub fn come_to_rest(&mut self) {
        for _ in 0..2000 {
            if self.living().is_empty() {
                (0..self.nodes.len()).for_each(|slot| self.join(slot));
            }
            for slot in self.living() {
                self.poll(slot);
                self.look(slot);
                self.suspect(slot);
            }
            for transaction in self.scripts.keys().copied().collect::<Vec<_>>() {
                self.advance(transaction);
            }
            let shells = || self.nodes.iter().flatten();
            let outstanding = shells().any(|shell| !shell.coupling.failed.is_empty())
                || self.living().iter().any(|&slot| self.gem.has_mail(slot))
                || (0..self.nodes.len()).any(|slot| self.gem.segment().table().has_failed(slot));
            if self.scripts.is_empty() && !outstanding {
                return;
            }
        }
        for shell in self.nodes.iter().flatten() {
            println!(
                "slot {}: knows {:?} failed, recovers {:?}; {:?}",
                shell.coupling.slot,
                shell.coupling.failed,
                shell.coupling.recovery,
                shell.coupling.machine
            );
        }
        let recovering = self.gem.get(Common::Recovering);
        let nodes = self.gem.segment().table().nodes();
        println!("{nodes:?}, recovering {recovering}");
        panic!("{}: never at rest: {:?}", self.what, self.scripts);
    }

    /// Nothing is left of anything, and storage has the truth.
    pub fn check_at_rest(&mut self) {
        for slot in self.living() {
            self.lead(slot);
            let applied = self.at(slot, |shell, _| {
                shell.coupling.gem.apply(shell.node(), u64::MAX)
            });
            self.check(applied);
            let shell = self.nodes[slot].as_mut().unwrap();
            assert!(shell.local.buffer.is_at_rest(), "{}: pins", self.what);
            self.asked_for += shell.coupling.machine.counters().page_requests;
            assert!(
                shell.coupling.machine.is_idle(),
                "{}: {:?}",
                self.what,
                shell.coupling.machine
            );
        }
        let table = self.gem.segment().table();
        for (&page, (bytes, psn)) in &self.truth {
            let mut stored = [0; PAGE_SIZE];
            let found = self.gem.read_stored(page, &mut stored).unwrap();
            assert_eq!(found, *psn, "{}: {page:?}", self.what);
            assert!(stored[..] == bytes[..], "{}: {page:?} is stored", self.what);
            let entry = table.read(page).unwrap();
            assert!(entry.is_idle(), "{}: {page:?}: {entry:?}", self.what);
            assert_eq!(entry.psn(), *psn, "{}: {page:?}'s entry", self.what);
        }
        assert_eq!(self.gem.frames_in_use(), 0, "{}: pages in GEM", self.what);
        let census = table.census();
        let living = self.living();
        for (slot, &cells) in census.beside.iter().enumerate() {
            assert!(cells == 0 || living.contains(&slot), "{}: cells", self.what);
        }
    }

    /// After the end of all nodes, opens the database again and checks it.
    pub fn check_reopened(mut self) {
        self.nodes.clear();
        let World {
            driver,
            simulated,
            options,
            truth,
            what,
            rows,
            root,
            ..
        } = self;
        drop(driver);
        let disk: Arc<dyn Disk> = Arc::new(simulated.restart(Faults::default()));
        let first = first(&disk, &options.storage);
        let bytes = first.store.bytes();
        if root.is_some() {
            check_rows_in(bytes, root, &rows, &what);
        }
        for (page, (expected, _)) in truth {
            let start = page.0 as usize * PAGE_SIZE;
            let found = bytes.get(start..start + PAGE_SIZE);
            let is_empty = expected.iter().all(|&byte| byte == 0);
            let same = found.map_or(is_empty, |found| found == &expected[..]);
            assert!(same, "{what}: {page:?} after a restart");
        }
    }
}
