//! External devices (GEM paper, section 3.3): GEM, and disks with their controllers and caches.
//!
//! A disk access is a controller's service, unless a cache saves it the disk's, and the transfer of
//! the page. A file's disks have a queue together or one each, with every page always on the same
//! disk. The network and the transfer are plain delays.

use super::disk_cache::DiskCache;
use super::service::Service;
use crate::kernel::Kernel;
use crate::measurement::Station;
use crate::parameters::{Disk, DiskQueues, Storage};
use crate::server::{Server, ServerStatistics};
use crate::time::Span;
use sardonyx_workload::random::Random;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Global Extended Memory: pages and entries, accessed while the processor is kept busy.
pub struct Gem {
    server: Server,
    page: Service,
    entry: Service,
    entry_accesses: Cell<u64>,
}

impl Gem {
    pub fn new(kernel: &Kernel, gem: &crate::parameters::Gem, random: Random) -> Self {
        let (pages, entries) = (random.clone(), random);
        let page = Span::from_microseconds(gem.page_microseconds);
        let entry = Span::from_microseconds(gem.entry_microseconds);
        Gem {
            server: Server::new(kernel, gem.servers),
            page: Service::new(gem.distribution, page, pages),
            entry: Service::new(gem.distribution, entry, entries),
            entry_accesses: Cell::new(0),
        }
    }

    /// Reads or writes a page.
    pub async fn page_access(&self) {
        self.server.serve(self.page.draw()).await;
    }

    /// Reads an entry, or replaces it by Compare&Swap.
    pub async fn entry_access(&self) {
        self.entry_accesses.set(self.entry_accesses.get() + 1);
        self.server.serve(self.entry.draw()).await;
    }

    /// The same of an entry of something else than the global lock table.
    pub async fn other_entry_access(&self) {
        self.server.serve(self.entry.draw()).await;
    }

    /// Accesses to entries of the global lock table since the start of measuring.
    pub fn entry_accesses(&self) -> u64 {
        self.entry_accesses.get()
    }

    /// Starts measuring.
    pub fn reset(&self) {
        self.entry_accesses.set(0);
        self.server.reset();
    }

    /// The measurements.
    pub fn station(&self) -> Station {
        station("gem", [self.server.statistics()])
    }
}

/// Disks with their controllers, and perhaps a cache.
pub struct Disks {
    kernel: Kernel,
    disks: Vec<Server>,
    controllers: Vec<Server>,
    access: Service,
    controller: Span,
    transfer: Span,
    cache: Option<Cache>,
    reads: Cell<u64>,
    read_hits: Cell<u64>,
}

struct Cache {
    pages: RefCell<DiskCache>,
    takes_writes: bool,
}

/// The numbers of disks, controllers and cache pages.
#[derive(Clone, Copy, Debug)]
pub struct DisksPlan {
    /// Disks or a cache in front of them.
    pub storage: Storage,
    pub disks: u32,
    pub controllers: u32,
    pub cache_pages: usize,
    /// Mean access time of a disk, in milliseconds.
    pub access_milliseconds: f64,
}

impl Disks {
    /// The disks of `plan`, with the times that `disk` gives.
    pub fn new(kernel: &Kernel, plan: &DisksPlan, disk: &Disk, random: Random) -> Rc<Self> {
        let servers = |count| match disk.queues {
            DiskQueues::Common => vec![Server::new(kernel, count)],
            DiskQueues::PerDisk => (0..count).map(|_| Server::new(kernel, 1)).collect(),
        };
        let takes_writes = plan.storage == Storage::NonvolatileCache;
        let cached = takes_writes || plan.storage == Storage::VolatileCache;
        let access = Span::from_milliseconds(plan.access_milliseconds);
        Rc::new(Disks {
            kernel: kernel.clone(),
            disks: servers(plan.disks),
            controllers: servers(plan.controllers),
            access: Service::new(disk.distribution, access, random),
            controller: Span::from_milliseconds(disk.controller_milliseconds),
            transfer: Span::from_milliseconds(disk.transfer_milliseconds),
            cache: cached.then(|| Cache {
                pages: RefCell::new(DiskCache::new(plan.cache_pages)),
                takes_writes,
            }),
            reads: Cell::new(0),
            read_hits: Cell::new(0),
        })
    }

    /// The time that a disk takes for an access, from the random stream of its transaction; without a transaction,
    /// from the disks' own.
    pub fn access_time(&self, random: Option<&mut Random>) -> Span {
        match random {
            Some(random) => self.access.draw_from(random),
            None => self.access.draw(),
        }
    }

    /// Reads `page`; its disk takes `access` if there is no cache or it has not got the page.
    pub async fn read(&self, page: u64, access: Span) {
        self.controller(page).serve(self.controller).await;
        let hit = self
            .cache
            .as_ref()
            .is_some_and(|cache| cache.pages.borrow_mut().read(page));
        // Counted together, so that no reset comes between them.
        self.reads.set(self.reads.get() + 1);
        if hit {
            self.read_hits.set(self.read_hits.get() + 1);
        } else {
            self.disk(page).serve(access).await;
            if let Some(cache) = &self.cache {
                cache.pages.borrow_mut().keep(page);
            }
        }
        self.kernel.wait(self.transfer).await;
    }

    /// Writes `page`, for which its disk takes `access`; done when it is safe: on disk, or in a
    /// non-volatile cache.
    pub async fn write(self: &Rc<Self>, page: u64, access: Span) {
        self.kernel.wait(self.transfer).await;
        self.controller(page).serve(self.controller).await;
        if let Some(cache) = &self.cache {
            if cache.takes_writes && cache.pages.borrow_mut().take_write(page) {
                let disks = Rc::clone(self);
                self.kernel
                    .spawn(async move { disks.destage(page, access).await });
                return;
            }
            self.disk(page).serve(access).await;
            cache.pages.borrow_mut().keep(page);
        } else {
            self.disk(page).serve(access).await;
        }
    }

    async fn destage(&self, page: u64, access: Span) {
        self.disk(page).serve(access).await;
        if let Some(cache) = &self.cache {
            cache.pages.borrow_mut().destaged(page);
        }
    }

    fn disk(&self, page: u64) -> &Server {
        &self.disks[spread(page) as usize % self.disks.len()]
    }

    fn controller(&self, page: u64) -> &Server {
        &self.controllers[spread(page) as usize % self.controllers.len()]
    }

    /// Reads since the start of measuring, and how many of them the cache satisfied.
    pub fn reads(&self) -> (u64, u64) {
        (self.reads.get(), self.read_hits.get())
    }

    /// Starts measuring.
    pub fn reset(&self) {
        self.reads.set(0);
        self.read_hits.set(0);
        self.disks
            .iter()
            .chain(&self.controllers)
            .for_each(Server::reset);
    }

    /// The disks' measurements, by queue.
    pub fn disk_statistics(&self) -> impl Iterator<Item = ServerStatistics> {
        self.disks.iter().map(Server::statistics)
    }

    /// The controllers' measurements, by queue.
    pub fn controller_statistics(&self) -> impl Iterator<Item = ServerStatistics> {
        self.controllers.iter().map(Server::statistics)
    }
}

/// Neighbouring pages to different disks, but not in step with anything that is regular in their
/// numbers: nodes and branches are.
fn spread(page: u64) -> u32 {
    (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u32
}

/// All servers of a kind as one figure, from the measurements of each queue.
pub fn station(name: &str, queues: impl IntoIterator<Item = ServerStatistics>) -> Station {
    let mut station = Station {
        name: name.to_string(),
        least_utilisation: f64::INFINITY,
        little_holds: true,
        ..Station::default()
    };
    let (mut busy, mut waited) = (0.0, 0.0);
    for queue in queues {
        station.servers += queue.servers;
        busy += queue.utilisation * f64::from(queue.servers);
        station.least_utilisation = station.least_utilisation.min(queue.utilisation);
        station.most_utilisation = station.most_utilisation.max(queue.utilisation);
        station.throughput += queue.throughput();
        station.mean_queue += queue.mean_waiting;
        station.max_queue = station.max_queue.max(queue.most_waiting);
        station.little_holds &= queue.queue_little.holds() && queue.station_little.holds();
        waited += queue.mean_wait_seconds * 1e3 * queue.throughput();
    }
    station.utilisation = busy / f64::from(station.servers.max(1));
    if station.throughput > 0.0 {
        station.wait_milliseconds = waited / station.throughput;
    }
    station
}
