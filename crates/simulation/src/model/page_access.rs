//! The pages that a transaction reads and writes while others wait for it or it for them: on disks, in
//! GEM, behind a page cache in GEM (GEM paper, sections 3.2 and 3.3).
//!
//! For disks the transaction gives its processor back; accesses to GEM are synchronous.

use super::accounts::Part;
use super::coherence;
use super::devices::Disks;
use super::gem_cache::{self, GemCache};
use super::system::Medium;
use super::transaction::{Draws, Modified, Running, stream};
use crate::parameters::ForceWrites;
use crate::server::Permit;
use crate::signal::Signal;
use crate::time::Span;
use sardonyx_sharing::protocol::PageId;
use smallvec::SmallVec;
use std::rc::Rc;

impl Running<'_> {
    pub(super) async fn read(&mut self, page: u64, permit: Permit) -> Permit {
        let system = self.system;
        let partition = (page >> 32) as usize;
        system.tally.borrow_mut().partitions[partition].reads += 1;
        match &system.partitions[partition].medium {
            Medium::Gem => {
                self.gem_page().await;
                permit
            }
            Medium::Disks(disks) => {
                self.compute(system.parameters.disk.instructions).await;
                drop(permit);
                let began = system.kernel.now();
                let access = self.disk_time(disks, Draws::Read(self.at));
                disks.read(page, access).await;
                self.accounts.book(Part::Io, system.kernel.now() - began);
                self.cpu().await
            }
            Medium::GemCache(cache) => self.read_behind_gem(cache, page, permit).await,
        }
    }

    async fn read_behind_gem(&mut self, cache: &Rc<GemCache>, page: u64, permit: Permit) -> Permit {
        let system = self.system;
        self.directory().await;
        if cache.read(page) {
            self.page_of_gem().await;
            return permit;
        }
        system.tally.borrow_mut().behind_gem += 1;
        self.compute(system.parameters.disk.instructions).await;
        drop(permit);
        let access = self.disk_time(&cache.disks, Draws::Read(self.at));
        let began = system.kernel.now();
        cache.disks.read(page, access).await;
        self.accounts.book(Part::Io, system.kernel.now() - began);
        let permit = self.cpu().await;
        // From the disk to GEM it goes through main memory, where it is now.
        let (put, _) = cache.pages.borrow_mut().keep(PageId(page));
        if put {
            self.directory().await;
            self.page_of_gem().await;
        }
        permit
    }

    pub(super) async fn force(&mut self, mut permit: Permit) -> Permit {
        let system = self.system;
        let pages = self.modified.clone();
        for Modified { page, .. } in &pages {
            system.tally.borrow_mut().partitions[(page >> 32) as usize].writes += 1;
        }
        if system.parameters.node.force_writes == ForceWrites::Sequential {
            for (number, Modified { page, .. }) in pages.into_iter().enumerate() {
                let medium = &system.partitions[(page >> 32) as usize].medium;
                let draws = Draws::Force(number as u64);
                permit = self.write(medium, page, draws, permit).await;
            }
            return permit;
        }
        let mut writes: SmallVec<[Signal<()>; 4]> = SmallVec::new();
        for (number, Modified { page, .. }) in pages.into_iter().enumerate() {
            match &system.partitions[(page >> 32) as usize].medium {
                Medium::Gem => self.gem_page().await,
                Medium::Disks(disks) => {
                    self.compute(system.parameters.disk.instructions).await;
                    let access = self.disk_time(disks, Draws::Force(number as u64));
                    let (disks, done) = (Rc::clone(disks), Signal::new(&system.kernel));
                    writes.push(done.clone());
                    system.kernel.spawn(async move {
                        disks.write(page, access).await;
                        done.fire(());
                    });
                }
                Medium::GemCache(cache) => {
                    if self.write_to_cache(cache, page).await {
                        continue;
                    }
                    system.tally.borrow_mut().behind_gem += 1;
                    self.compute(system.parameters.disk.instructions).await;
                    let access = self.disk_time(&cache.disks, Draws::Force(number as u64));
                    let (cache, done) = (Rc::clone(cache), Signal::new(&system.kernel));
                    writes.push(done.clone());
                    system.kernel.spawn(async move {
                        cache.disks.write(page, access).await;
                        done.fire(());
                    });
                }
            }
        }
        if writes.is_empty() {
            return permit;
        }
        drop(permit);
        let began = system.kernel.now();
        for write in writes {
            write.wait().await;
        }
        self.accounts.book(Part::Io, system.kernel.now() - began);
        self.cpu().await
    }

    pub(super) async fn write(
        &mut self,
        medium: &Medium,
        page: u64,
        draws: Draws,
        permit: Permit,
    ) -> Permit {
        match medium {
            Medium::Gem => {
                self.gem_page().await;
                permit
            }
            Medium::Disks(disks) => self.write_disk(disks, page, draws, permit).await,
            Medium::GemCache(cache) => {
                if self.write_to_cache(cache, page).await {
                    return permit;
                }
                self.system.tally.borrow_mut().behind_gem += 1;
                self.write_disk(&cache.disks, page, draws, permit).await
            }
        }
    }

    async fn write_disk(
        &mut self,
        disks: &Rc<Disks>,
        page: u64,
        draws: Draws,
        permit: Permit,
    ) -> Permit {
        self.compute(self.system.parameters.disk.instructions).await;
        drop(permit);
        let began = self.system.kernel.now();
        disks.write(page, self.disk_time(disks, draws)).await;
        self.accounts
            .book(Part::Io, self.system.kernel.now() - began);
        self.cpu().await
    }

    /// Writes a page into a cache in GEM, on the processor that is held; whether it has taken it.
    async fn write_to_cache(&mut self, cache: &Rc<GemCache>, page: u64) -> bool {
        let began = self.system.kernel.now();
        let taken = coherence::write_to_cache(self.system, self.node, cache, page).await;
        self.accounts
            .book(Part::Gem, self.system.kernel.now() - began);
        taken
    }

    /// Looks a page up in the directory of a cache in GEM.
    async fn directory(&mut self) {
        let began = self.system.kernel.now();
        gem_cache::directory(self.system).await;
        self.accounts
            .book(Part::Gem, self.system.kernel.now() - began);
    }

    /// Moves a page that is in GEM for a while, of a transfer or a cache.
    pub(super) async fn page_of_gem(&mut self) {
        let began = self.system.kernel.now();
        gem_cache::page(self.system).await;
        self.accounts
            .book(Part::Gem, self.system.kernel.now() - began);
    }

    /// The time that a disk takes for one of this transaction's accesses.
    fn disk_time(&self, disks: &Disks, draws: Draws) -> Span {
        disks.access_time(Some(&mut stream(self.seed, draws)))
    }

    /// A page access to GEM; the processor stays busy.
    async fn gem_page(&mut self) {
        self.compute(self.system.parameters.gem.page_instructions)
            .await;
        let began = self.system.kernel.now();
        self.system.gem.page_access().await;
        self.accounts
            .book(Part::Gem, self.system.kernel.now() - began);
    }
}
