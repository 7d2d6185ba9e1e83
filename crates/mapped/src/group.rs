//! Group commit across processes: the first one that waits for durability writes the log for all,
//! without a server.
//!
//! The writer lock makes one thread of one process the leader. It takes all frames of the ring that
//! are not durable yet and writes them as one commit group. If it is killed, the next one gets the
//! lock and writes the group again; nothing was acknowledged in between (I1, I9).
//!
//! The leader waits a moment for the processes whose transactions were in the group before. They
//! were acknowledged just now and will be back soon, and a group with them costs no more. When one
//! does not come, the moment is lost once, since then it is not in the last group any more.

use crate::error::SegmentError;
use crate::planted::{self, Step};
use crate::process_state::RingLog;
use crate::shared::control::{Control, SLOTS};
use crate::shared::region::Region;
use crate::shared::ring::Frames;
use crate::shared::spill;
use crate::shared::stopped::{ASK_EVERY, Waiting};
use rustix::thread::futex;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::log::{LogLayout, LogLeader, LogPosition, SharedLogError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The leader waits for the members of the last group for this part of the time that writing it
/// took, but not longer than [`GATHER_MAX`]: a group with them spares the next write.
const GATHER_PART: u64 = 2;

/// See [`GATHER_PART`].
const GATHER_MAX: Duration = Duration::from_micros(100);

/// After so many looks the leader lets others use its processor.
const LOOKS: u32 = 64;

/// The time that a waiting thread looks before it parks: on two processors a wake-up costs about as
/// much.
const LOOK: Duration = Duration::from_micros(10);

/// A parked thread looks after the leader so often: it may have died.
const LOOK_AFTER: Duration = Duration::from_millis(5);

/// A thread that wants much room accepts a refusal only after so many looks: it may be an old one.
const TIMES_ASKED: u32 = 10;

/// The lock that a leader holds.
const WRITER_LOCK: &str = "the log's writer lock";

/// The work of a driver.
const DRIVING: &str = "the background work of the log, without which it has no more room";

/// The log of a segment that several processes share.
#[derive(Debug)]
pub(crate) struct SharedLog {
    leader: Mutex<LogLeader>,
    layout: LogLayout,
    /// More bytes of records than this are written as a group of one transaction.
    group_bytes_max: u64,
    transaction_bytes_max: u64,
}

impl SharedLog {
    /// The log that this leader writes, which may have so many bytes on disk.
    pub(crate) fn new(leader: LogLeader, log_bytes_max: u64) -> Self {
        SharedLog {
            layout: leader.layout(),
            group_bytes_max: leader.group_bytes_max() as u64 / 2,
            transaction_bytes_max: leader.transaction_bytes_max(log_bytes_max),
            leader: Mutex::new(leader),
        }
    }

    /// Writes one group with what is not durable yet. The caller holds the writer lock.
    fn lead(&self, region: &Region) -> Result<(), SharedLogError> {
        let control = region.control();
        let from = control.log.end().tail;
        // An earlier leader may have died between the log's end and this.
        control.durable.fetch_max(from, Ordering::SeqCst);
        if from == control.tail.load(Ordering::SeqCst) {
            return Ok(());
        }
        let writers = gather(region, from);
        let to = control.tail.load(Ordering::SeqCst);
        let (mut records, mut bytes, mut end) = (Vec::new(), 0, from);
        // SAFETY: the ring is kept from the durable end on.
        for frame in unsafe { Frames::new(region, from, to) } {
            bytes += frame.records.len() as u64;
            if bytes > self.group_bytes_max && !records.is_empty() {
                break;
            }
            records.push(frame.records);
            end = frame.end;
        }
        let count = records.len() as u32;
        planted::step(Step::Leading);
        let mut leader = self.leader.lock();
        let began = Instant::now();
        leader.write_group(&control.log, count, &records, end)?;
        let took = began.elapsed().as_nanos() as u64;
        control.write_nanoseconds.store(took, Ordering::Relaxed);
        planted::step(Step::GroupWritten);
        control.durable.store(end, Ordering::SeqCst);
        for (word, writers) in control.last_writers.iter().zip(writers) {
            word.store(writers, Ordering::Relaxed);
        }
        spill::try_tidy(region);
        Ok(())
    }

    /// Writes a group if something is not durable and no process is writing one.
    pub(crate) fn flush(&self, region: &Region) -> Result<(), SharedLogError> {
        let control = region.control();
        let all = control.tail.load(Ordering::SeqCst);
        if control.durable.load(Ordering::SeqCst) >= all {
            spill::try_tidy(region);
            return Ok(());
        }
        if control.writer.try_lock().is_none() {
            return Ok(());
        }
        let led = self.lead(region);
        self.tell(control);
        led
    }

    /// Marks the log's end, and returns its place: this is the last process.
    pub(crate) fn close(&self, region: &Region) -> Result<LogPosition, SegmentError> {
        let control = region.control();
        control.writer.lock(region.patience(), WRITER_LOCK)?;
        let marked = self.leader.lock().write_end_mark(&control.log);
        self.tell(control);
        marked.map_err(log_error)
    }

    /// Gives the writer lock back and tells those who wait.
    fn tell(&self, control: &Control) {
        control.writer.unlock();
        control.groups.fetch_add(1, Ordering::SeqCst);
        if control.waiting.load(Ordering::SeqCst) > 0 {
            let _ = futex::wake(&control.groups, futex::Flags::empty(), i32::MAX as u32);
        }
    }

    fn check_room(&self, error: SharedLogError, control: &Control) -> Result<(), SegmentError> {
        match error {
            SharedLogError::NoRoom => {
                // The driver is preparing a segment, or freeing one.
                let seen = control.log.changes();
                control.log.notify();
                control.log.wait(seen + 1, LOOK_AFTER);
                Ok(())
            }
            error => Err(log_error(error)),
        }
    }
}

impl RingLog for SharedLog {
    fn wait(&self, region: &Region, position: u64) -> Result<(), SegmentError> {
        let control = region.control();
        let mut looking = None;
        let mut stopped = Waiting::new(region.patience(), WRITER_LOCK);
        loop {
            if control.durable.load(Ordering::SeqCst) >= position {
                return Ok(());
            }
            control.log.check().map_err(log_error)?;
            let groups = control.groups.load(Ordering::SeqCst);
            if control.writer.try_lock().is_some() {
                let led = self.lead(region);
                self.tell(control);
                if let Err(error) = led {
                    self.check_room(error, control)?;
                }
                looking = None;
                continue;
            }
            let since = *looking.get_or_insert_with(Instant::now);
            // If others have parked already, the processors are wanted.
            if since.elapsed() < LOOK && control.waiting.load(Ordering::Relaxed) == 0 {
                std::hint::spin_loop();
                continue;
            }
            control.waiting.fetch_add(1, Ordering::SeqCst);
            let timeout = rustix::fs::Timespec {
                tv_sec: 0,
                tv_nsec: LOOK_AFTER.subsec_nanos().into(),
            };
            // Whatever ends the wait, we look again.
            let _ = futex::wait(
                &control.groups,
                futex::Flags::empty(),
                groups,
                Some(&timeout),
            );
            control.waiting.fetch_sub(1, Ordering::SeqCst);
            stopped.look(|| control.writer.holder())?;
        }
    }

    fn poll(&self, region: &Region, position: u64) -> Option<Result<(), SegmentError>> {
        let control = region.control();
        if control.durable.load(Ordering::SeqCst) >= position {
            return Some(Ok(()));
        }
        control.log.check().err().map(|error| Err(log_error(error)))
    }

    fn admit(&self, region: &Region, records: usize) -> Result<(), SegmentError> {
        let control = region.control();
        let mut stopped = Waiting::new(region.patience(), DRIVING);
        let mut asked = 0;
        loop {
            control.log.check().map_err(log_error)?;
            let records = records as u64;
            let tail = control.tail.load(Ordering::SeqCst);
            let waiting = tail - control.durable.load(Ordering::SeqCst);
            let waiting = waiting + spill::pending_bytes(region);
            let alone = records > self.group_bytes_max;
            if waiting > 0 && (alone || waiting + records > self.layout.segment_bytes / 2) {
                self.wait(region, tail)?;
                continue;
            }
            let log = &control.log;
            let pending = waiting + records;
            let admitted = match alone {
                true => log.admits_alone(self.layout, records),
                false => log.admits(self.layout, pending),
            };
            if admitted {
                return Ok(());
            }
            // The request refused before may have been smaller, or larger.
            if let Some(refusal) = log.refusal().or_else(|| log.failure())
                && (!alone || asked > TIMES_ASKED)
            {
                if alone {
                    log.give_up_room();
                }
                return Err(log_error(refusal));
            }
            asked += 1;
            let seen = log.changes();
            match alone {
                true => log.want_room_alone(self.layout, records),
                false => log.want_room(self.layout, pending),
            }
            log.wait(seen + 1, LOOK_AFTER);
            stopped.look(|| control.log.driver())?;
        }
    }

    fn transaction_bytes_max(&self) -> u64 {
        self.transaction_bytes_max
    }

    fn checkpoint(&self, region: &Region) -> Result<(), SegmentError> {
        let log = &region.control().log;
        let mut stopped = Waiting::new(region.patience(), DRIVING);
        let request = log.want_checkpoint();
        let mut seen = log.changes();
        while !log.checkpoint(request).map_err(log_error)? {
            seen = log.wait(seen, ASK_EVERY);
            stopped.look(|| log.driver())?;
        }
        Ok(())
    }
}

/// Waits a moment until those who were in the last group are in this one. Returns who is.
fn gather(region: &Region, from: u64) -> [u64; SLOTS / 64] {
    let control = region.control();
    let mut writers = [0; SLOTS / 64];
    let mut seen = from;
    let took = control.write_nanoseconds.load(Ordering::Relaxed);
    let at_most = Duration::from_nanos(took / GATHER_PART).min(GATHER_MAX);
    let mut began = None;
    let mut looks = 0;
    loop {
        let to = control.tail.load(Ordering::SeqCst);
        // SAFETY: the ring is kept from the durable end on.
        for frame in unsafe { Frames::new(region, seen, to) } {
            let slot = frame.writer.0 as usize % SLOTS;
            writers[slot / 64] |= 1 << (slot % 64);
        }
        seen = to;
        let mut last = control.last_writers.iter().zip(&writers);
        if last.all(|(last, now)| last.load(Ordering::Relaxed) & !now == 0) {
            return writers;
        }
        let began = *began.get_or_insert_with(Instant::now);
        if began.elapsed() >= at_most {
            return writers;
        }
        looks += 1;
        match looks % LOOKS {
            0 => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }
}

pub(crate) fn log_error(error: SharedLogError) -> SegmentError {
    match error {
        SharedLogError::Poisoned { reason } => SegmentError::Poisoned { cause: reason },
        SharedLogError::Full { reason } => SegmentError::LogFull { reason },
        error => SegmentError::Log(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::region::RegionSize;
    use crate::shared::ring;
    use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
    use sardonyx_storage::engine::{Engine, StorageOptions, lock_opening, open_first};
    use sardonyx_storage::log::policy::GroupLimits;
    use sardonyx_storage::log::record::{append_write, mark_end};
    use sardonyx_storage::page::Address;
    use std::sync::Arc;

    fn options() -> StorageOptions {
        StorageOptions {
            segment_bytes: 1 << 20,
            block_bytes: 64 << 10,
            log_bytes_max: 8 << 20,
            log_bytes_prepared: 2 << 20,
            limits: GroupLimits {
                group_bytes: 64 << 10,
                transaction_bytes: 256 << 10,
                ..GroupLimits::default()
            },
            threaded: false,
            ..StorageOptions::default()
        }
    }

    fn commit(region: &Region, value: u8) -> u64 {
        let mut records = Vec::new();
        append_write(&mut records, Address(4096), &[value; 8]);
        mark_end(&mut records, 0);
        ring::publish(region, (0, 1), &records)
    }

    #[test]
    fn i1_i7_nothing_is_durable_that_could_not_be_written_and_all_that_was_said_to_be_is_there() {
        let simulated = SimulatedDisk::new(1, Faults::default());
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let size = RegionSize {
            ring_bytes: 2 << 20,
            pages_max: 1024,
        };
        let region = Region::create(None, size, true).unwrap();
        region.grow(16).unwrap();
        let opening = lock_opening(&disk).unwrap();
        let first = open_first(&disk, &options())
            .unwrap()
            .expect("nobody else is there");
        first.initialise(&region.control().log);
        let leader = LogLeader::new(disk.clone(), &first.manifest, first.incarnation());
        let log = SharedLog::new(leader, options().log_bytes_max);
        drop(opening);

        let durable = commit(&region, 1);
        log.wait(&region, durable).unwrap();
        assert!(matches!(log.poll(&region, durable), Some(Ok(()))));
        let lost = commit(&region, 2);
        assert!(log.poll(&region, lost).is_none(), "nobody has written it");
        simulated.crash();
        // Later ones are notified, too.
        for _ in 0..2 {
            let outcome = log.wait(&region, lost);
            assert!(
                matches!(outcome, Err(SegmentError::Poisoned { .. })),
                "{outcome:?}"
            );
            assert!(matches!(log.poll(&region, lost), Some(Err(_))));
        }
        assert!(log.admit(&region, 8).is_err(), "nothing more is accepted");
        drop((first, log));
        let disk = Arc::new(simulated.restart(Faults::default()));
        let opened = Engine::open(disk, options()).unwrap();
        assert_eq!(opened.store.bytes()[4096], 1);
    }
}
