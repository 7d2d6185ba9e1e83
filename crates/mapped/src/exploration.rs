//! Crash exploration of growths and of large transactions, of a segment on the simulated disk. Its
//! transactions grow it, write somewhere, write more than fits into the ring and into a segment of the log, or
//! give up. The machine crashes at each step of the disk. Recovery must find at least the length that was
//! acknowledged or relied on, and none that was never committed. It must find a large transaction whole or not
//! at all.

use crate::group::SharedLog;
use crate::mechanism::MechanismKind;
use crate::process_state::{Policies, ProcessState};
use crate::session::{Begin, Session};
use crate::shared::region::{Region, RegionSize};
use sardonyx_base::random::Random;
use sardonyx_base::seeds::Seeds;
use sardonyx_storage::crashes::{End, History, Stopped, Subject, Walk, World};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::engine::{Driver, FirstLock, lock_opening, open_first};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::{LogLayout, LogLeader};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::ticket::DurableLog;
use std::sync::Arc;
use std::time::Duration;

/// The least growth: the unit in which a segment's memory is allocated.
const STEP_BYTES: u64 = 2 << 20;

/// The place of the counter of transactions.
const COUNTER_AT: u64 = 64;

/// The bytes that a large transaction fills: with their records more than its part of the ring.
const LARGE: std::ops::Range<usize> = 10 * PAGE_SIZE..140 * PAGE_SIZE;

fn options(stripes: u32) -> StorageOptions {
    let page = PAGE_SIZE as u64;
    StorageOptions {
        segment_bytes: 8 * page,
        block_bytes: 512 << 10,
        stripes,
        identity: Some(5),
        log_bytes_max: 24 * 8 * page,
        log_bytes_prepared: 0,
        memory_bytes_max: 1 << 26,
        limits: GroupLimits {
            group_bytes: 2 * PAGE_SIZE,
            transaction_bytes: 2 * PAGE_SIZE,
            ..GroupLimits::default()
        },
        threaded: false,
        workers: 1,
        ..StorageOptions::default()
    }
}

/// A committed transaction, by the state after it: the length, the counter, and the byte that the last large transaction
/// wrote.
type State = (u64, u64, u8);

/// The segment, whose transactions two sessions run in turn.
struct Segment {
    options: StorageOptions,
    random: Random,
    /// The state after the last transaction.
    last: State,
}

/// The open segment: its processes' memory, the log's driver and the sessions.
struct Open {
    sessions: [Session; 2],
    driver: Driver,
    shared: Arc<ProcessState>,
    region: Arc<Region>,
    disk: SimulatedDisk,
    _lock: FirstLock,
}

impl Subject for Segment {
    type Open = Open;
    type Change = State;

    fn recover(
        &mut self,
        simulated: &SimulatedDisk,
        history: &mut History<State>,
    ) -> Result<Open, Stopped> {
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let opening = lock_opening(&disk)?;
        let first = open_first(&disk, &self.options)?.expect("no other process is there");
        drop(opening);
        self.last = settle(history, first.store.bytes());

        let size = RegionSize {
            ring_bytes: 2 << 20,
            pages_max: self.options.memory_bytes_max / PAGE_SIZE as u64,
        };
        let region = Arc::new(Region::create(None, size, true).unwrap());
        region.grow(first.store.pages()).unwrap();
        region.note_logged_pages(first.store.pages());
        for (page, bytes) in first.store.bytes().chunks(PAGE_SIZE).enumerate() {
            region.fill(page as u64, bytes).unwrap();
        }
        first.initialise(&region.control().log);
        let leader = LogLeader::new(disk.clone(), &first.manifest, first.incarnation());
        let log = SharedLog::new(leader, self.options.log_bytes_max);
        let policies = Policies {
            lock_in_memory: false,
            transaction_bytes: u64::MAX,
            slow_reader_wait: Duration::from_secs(1),
            slow_reader: None,
            stopped_process_wait: Duration::from_secs(10),
            stopped_process: None,
        };
        let shared = ProcessState::new(region.clone(), Some(Box::new(log)), policies);
        let shared = Arc::new(shared);
        let sessions = [0, 1].map(|_| {
            Session::new(shared.clone(), MechanismKind::Explicit, false).expect("a session")
        });
        Ok(Open {
            sessions,
            driver: first.driver,
            shared,
            region,
            disk: simulated.clone(),
            _lock: first.lock,
        })
    }

    fn submit(&mut self, open: &mut Open, history: &mut History<State>) -> Result<(), Stopped> {
        self.transact(open, history)?;
        self.tend(open)
    }

    fn observe(
        &mut self,
        disk: &SimulatedDisk,
        history: &mut History<State>,
    ) -> Result<(), Stopped> {
        self.recover(disk, history).map(drop)
    }
}

/// Settles the history by the pages that were recovered; returns their state. The length may be that of a growth whose
/// transaction gave up, as later transactions may rely on it.
fn settle(history: &mut History<State>, pages: &[u8]) -> State {
    let at = COUNTER_AT as usize;
    let counter = pages.get(at..at + 8);
    let counter = counter.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
    let large = pages.get(LARGE);
    let value = large.map_or(0, |bytes| bytes[0]);
    assert!(
        large.is_none_or(|bytes| bytes.iter().all(|byte| *byte == value)),
        "a large transaction is there in part"
    );
    let state = |changes: &[State]| changes.last().copied().unwrap_or_default();
    let least = state(&history.changes()[..history.acknowledged()]).0;
    let most = state(history.changes()).0;
    let length = pages.len() as u64;
    assert!(
        (least..=most).contains(&length),
        "{length} bytes, of {least} acknowledged and {most} submitted"
    );
    history.settle(&(counter, value), |changes| {
        let (_, counter, value) = state(changes);
        (counter, value)
    });
    // The recovered state stays.
    history.submit((length, counter, value));
    history.acknowledge();
    (length, counter, value)
}

impl Segment {
    /// One transaction, which may grow the segment, write, both, or give up.
    fn transact(&mut self, open: &mut Open, history: &mut History<State>) -> Result<(), Stopped> {
        let n = self.random.below(2) as usize;
        let session = &mut open.sessions[n];
        session.begin(Begin::default()).expect("it begins");
        let (length, counter, mut large) = self.last;
        let asked = match self.random.chance(30, 100) {
            true => session.length() + 1 + self.random.below(2 * STEP_BYTES),
            false => 0,
        };
        // At most six times the least growth, so that a checkpoint is not long.
        let asked = asked.min(6 * STEP_BYTES);
        if asked > 0 {
            session.grow_to(asked).expect("there is room");
        }
        let writes = self.random.chance(50, 100) && session.length() > 0;
        if writes {
            let place = session.address().wrapping_add(COUNTER_AT as usize);
            session.note_write(COUNTER_AT, 8);
            // SAFETY: within the view, which is this thread's and writable.
            unsafe { place.cast::<u64>().write(counter + 1) };
        }
        let is_large = writes && self.random.chance(15, 100);
        if is_large {
            large = large % 255 + 1;
            let bytes = LARGE.end - LARGE.start;
            let place = session.address().wrapping_add(LARGE.start);
            session.note_write(LARGE.start as u64, bytes);
            // SAFETY: as above: a segment has 2 MiB at least.
            unsafe { place.write_bytes(large, bytes) };
        }
        if self.random.chance(20, 100) {
            session.abort().expect("it aborts");
            return Ok(());
        }
        let grows = asked > length;
        if writes || grows {
            let counter = counter + u64::from(writes);
            self.last = (length.max(session.length()), counter, large);
            history.submit(self.last);
        }
        if is_large {
            self.make_room(open)?;
        }
        let position = open.sessions[n].commit()?;
        if let Some(position) = position {
            open.shared.wait_durable(position)?;
            history.acknowledge();
        }
        Ok(())
    }

    /// Makes the room for which a large transaction would wait, without another thread that does it.
    fn make_room(&mut self, open: &mut Open) -> Result<(), Stopped> {
        let layout = LogLayout::new(5, self.options.segment_bytes);
        let records = 2 * 4104 + (LARGE.end - LARGE.start) as u64 / 4096 * 4104;
        for _ in 0..1000 {
            let log = &open.region.control().log;
            if log.admits_alone(layout, records) {
                return Ok(());
            }
            log.want_room_alone(layout, records);
            self.tend(open)?;
            if open.disk.has_crashed() {
                return Err(Stopped("crashed".into()));
            }
        }
        let refusal = open.region.control().log.refusal();
        panic!("there is never room: {refusal:?}");
    }

    /// The driver's work.
    fn tend(&mut self, open: &mut Open) -> Result<(), Stopped> {
        let log = &open.region.control().log;
        if self.random.chance(5, 100) {
            log.want_checkpoint();
        }
        while open.driver.step(log)? {}
        Ok(())
    }
}

/// A life, one that crashes at a step, and one that must find all acknowledged transactions.
fn explore(seed: u64, crash_at: u64) -> bool {
    let segment = Segment {
        options: options(1 + (seed % 2) as u32),
        random: Random::new(seed),
        last: State::default(),
    };
    let disk = SimulatedDisk::new(seed, Faults::default());
    let mut world = World::new(format!("seed {seed}, crash at {crash_at}"), disk, segment);
    world.must_live(6);
    world.restart(End::Crash(crash_at));
    world.live(40);
    let crashed = world.disk.has_crashed();
    for _ in 0..2 {
        world.restart(End::Cut);
        world.must_live(5);
    }
    crashed
}

#[test]
fn i1_i3_a_crash_at_any_step_keeps_every_length_that_was_acknowledged_or_relied_on() {
    // Fewer steps the later they are, unless more are asked for.
    let (stride, part) = match sardonyx_base::random::asked("SARDONYX_RUNS") {
        Some(_) => (1, 4),
        None => (2, 3),
    };
    Seeds::new(0, 2).explore(|seed| {
        let walk = Walk::each(stride)
            .from(1 + seed)
            .widening(part)
            .at_least(50);
        walk.explore(&format!("seed {seed}"), |at| explore(seed, at));
    });
}
