//! Group commit across processes: the log of a segment, which [`GroupLeader`] writes for all of them from the ring.

use crate::error::SegmentError;
use crate::planted::{self, Step};
use crate::process_state::RingLog;
use crate::shared::region::Region;
use crate::shared::ring::Frames;
use crate::shared::spill;
use crate::shared::stopped::{ASK_EVERY, Waiting};
use sardonyx_storage::log::{
    GroupLeader, GroupSize, GroupWords, LOOK_AFTER, LeaderStep, LogLeader, LogPosition, LogState,
    PublishedRedo, SharedLogError,
};
use std::sync::atomic::Ordering;

/// A thread that wants much room accepts a refusal only after so many looks: it may be an old one.
const TIMES_ASKED: u32 = 10;

/// The lock that a leader holds.
const WRITER_LOCK: &str = "the log's writer lock";

/// The work of a driver.
const DRIVING: &str = "the background work of the log, without which it has no more room";

/// The log of a segment that several processes share.
#[derive(Debug)]
pub(crate) struct SharedLog {
    leader: GroupLeader,
    transaction_bytes_max: u64,
}

impl SharedLog {
    /// The log that this leader writes, which may have so many bytes on disk.
    pub(crate) fn new(leader: LogLeader, log_bytes_max: u64) -> Self {
        SharedLog {
            transaction_bytes_max: leader.transaction_bytes_max(log_bytes_max),
            leader: GroupLeader::new(leader),
        }
    }

    /// Writes a group if something is not durable and no process is writing one.
    pub(crate) fn flush(&self, region: &Region) -> Result<(), SharedLogError> {
        let control = region.control();
        let all = control.tail.load(Ordering::SeqCst);
        if control.durable.load(Ordering::SeqCst) >= all {
            spill::try_tidy(region);
            return Ok(());
        }
        self.leader.try_lead(&Ring(region)).map(drop)
    }

    /// Marks the log's end, and returns its place: this is the last process.
    pub(crate) fn close(&self, region: &Region) -> Result<LogPosition, SegmentError> {
        let control = region.control();
        region.lock(&control.writer, WRITER_LOCK)?;
        let marked = self.leader.end(&control.log);
        Ring(region).words().give_back();
        Ok(marked?)
    }
}

/// The ring: its frames are the transactions that all processes have committed.
struct Ring<'a>(&'a Region);

impl PublishedRedo for Ring<'_> {
    type Error = SegmentError;
    type Looks<'a>
        = Waiting<'a>
    where
        Self: 'a;

    #[inline]
    fn words(&self) -> GroupWords<'_> {
        let control = self.0.control();
        GroupWords {
            writer: &control.writer,
            durable: &control.durable,
            groups: &control.groups,
            waited: &control.waited,
            write_time: &control.write_nanoseconds,
            hurried: &control.hurried[0],
            in_vain: &control.hurried[1],
            last_writers: &control.last_writers,
        }
    }

    fn log_state(&self) -> &LogState {
        &self.0.control().log
    }

    fn tail(&self) -> u64 {
        self.0.control().tail.load(Ordering::SeqCst)
    }

    fn name(&self) -> u32 {
        self.0.name()
    }

    fn lives(&self, name: u32) -> bool {
        self.0.lives(name)
    }

    fn frame_writer(&self, at: u64) -> (usize, u64) {
        // SAFETY: the ring is kept from the durable end on, and a frame that was published starts here.
        let mut frames = unsafe { Frames::new(self.0, at, at + 1) };
        let frame = frames.next().expect("a frame starts before the tail");
        (frame.writer.0 as usize, frame.end)
    }

    fn with_group<R>(
        &self,
        from: u64,
        to: u64,
        size: &mut GroupSize,
        write: impl FnOnce(&[&[u8]], u64, u32) -> Result<R, SharedLogError>,
    ) -> Result<R, SharedLogError> {
        let (mut records, mut end) = (Vec::new(), from);
        // SAFETY: the ring is kept from the durable end on.
        for frame in unsafe { Frames::new(self.0, from, to) } {
            if !size.takes(frame.records.len()) {
                break;
            }
            records.push(frame.records);
            end = frame.end;
        }
        write(&records, end, size.transactions())
    }

    fn looks(&self) -> Waiting<'_> {
        Waiting::new(self.0.lock_waits(), WRITER_LOCK)
    }

    fn has_waited(&self, looks: &mut Waiting<'_>) -> Result<(), SegmentError> {
        Ok(looks.look(|| self.0.holder_of(&self.0.control().writer))?)
    }

    fn step(&self, step: LeaderStep) {
        match step {
            LeaderStep::Leading => planted::step(Step::Leading),
            LeaderStep::Written => planted::step(Step::GroupWritten),
            LeaderStep::Led => {}
        }
    }

    fn group_written(&self) {
        spill::try_tidy(self.0);
    }
}

impl RingLog for SharedLog {
    fn wait(&self, region: &Region, position: u64) -> Result<(), SegmentError> {
        self.leader.wait(&Ring(region), position)
    }

    fn poll(&self, region: &Region, position: u64) -> Option<Result<(), SegmentError>> {
        let control = region.control();
        if control.durable.load(Ordering::SeqCst) >= position {
            return Some(Ok(()));
        }
        control.log.check().err().map(|error| Err(error.into()))
    }

    fn admit(&self, region: &Region, records: usize) -> Result<(), SegmentError> {
        let control = region.control();
        let layout = self.leader.layout();
        let mut stopped = Waiting::new(region.lock_waits(), DRIVING);
        let mut asked = 0;
        loop {
            control.log.check()?;
            let records = records as u64;
            let tail = control.tail.load(Ordering::SeqCst);
            let waiting = tail - control.durable.load(Ordering::SeqCst);
            let waiting = waiting + spill::pending_bytes(region);
            let alone = records > self.leader.group_bytes_max();
            if waiting > 0 && (alone || waiting + records > layout.segment_bytes / 2) {
                self.wait(region, tail)?;
                continue;
            }
            let log = &control.log;
            let pending = waiting + records;
            let admitted = match alone {
                true => log.admits_alone(layout, records),
                false => log.admits(layout, pending),
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
                return Err(refusal.into());
            }
            asked += 1;
            let seen = log.changes();
            match alone {
                true => log.want_room_alone(layout, records),
                false => log.want_room(layout, pending),
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
        let mut stopped = Waiting::new(region.lock_waits(), DRIVING);
        let request = log.want_checkpoint();
        let mut seen = log.changes();
        while !log.checkpoint(request)? {
            seen = log.wait(seen, ASK_EVERY);
            stopped.look(|| log.driver())?;
        }
        Ok(())
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
