//! The scene of the models: a pen, a log, its consumer and a copy elsewhere, with threads around them.

use crate::common::LogAlone;
use sardonyx_base::sync::Mutex;
use sardonyx_base::sync::thread::{self, JoinHandle};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::drive::Drive;
use sardonyx_storage::log::follow::Feed;
use sardonyx_storage::log::policy::GroupPolicy;
use sardonyx_storage::log::pool::DurableGroup;
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::supply::{Admission, FreesLog};
use sardonyx_storage::log::writer::{LogWriter, RemoteCopy, SendsAhead};
use sardonyx_storage::log::{LogError, LogLayout, LogPosition};
use sardonyx_storage::page::Address;
use sardonyx_storage::pen::Pen;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::collections::VecDeque;
use std::sync::Arc;

pub const LAYOUT: LogLayout = LogLayout::new(5, 32 << 10);

/// The parts that every way of running transactions has: the pen, with a count of transactions under it.
pub struct Stage {
    pub pen: Pen<u64>,
    pub commit: Arc<LogWriter>,
    pub feed: Arc<Feed>,
    pub disk: SimulatedDisk,
    /// The groups that the copy elsewhere has.
    pub copied: Arc<Mutex<Vec<u64>>>,
    pub is_copied: bool,
    pub is_synced_behind: bool,
}

/// The way in which a transaction's thread releases the pen.
#[derive(Clone, Copy)]
pub enum Parting {
    PutAway,
    PutOff,
    HandOn,
    Force,
}

#[derive(Clone, Copy)]
pub struct Scenario {
    pub depth: usize,
    pub buffers: usize,
    pub drive: Drive,
    pub segments_max: u64,
    /// Segments that exist from the beginning.
    pub prepared: u64,
    pub faults: Faults,
    pub remote: Remote,
}

/// The kind of copy of the log elsewhere.
#[derive(Clone, Copy, PartialEq)]
pub enum Remote {
    None,
    Copy,
    /// A sync here is not waited for.
    Behind,
    /// It takes so many appends.
    Fails(usize),
}

pub const USUAL: Scenario = Scenario {
    depth: 1,
    buffers: 4,
    drive: Drive::Threads,
    segments_max: 64,
    prepared: 2,
    faults: Faults {
        crash_at_step: None,
        fail_sync_at: None,
        fail_write_at: None,
        fail_read_at: None,
        capacity_bytes: None,
        kill_at_step: None,
        full_steps: None,
        full_below: None,
    },
    remote: Remote::None,
};

/// The copy elsewhere.
#[derive(Debug)]
pub struct Copy {
    pub has: Arc<Mutex<Vec<u64>>>,
    pub appends_left: usize,
    pub ahead: Arc<Ahead>,
}

/// The groups that were sent ahead: since the last append began, and before that.
#[derive(Debug, Default)]
pub struct Ahead(Mutex<[Vec<u64>; 2]>);

impl SendsAhead for Ahead {
    fn send(&self, group: &Arc<DurableGroup>) {
        self.0.lock()[0].push(group.header().number);
    }
    fn end(&self) {
        let mut sent = self.0.lock();
        sent[1] = std::mem::take(&mut sent[0]);
    }
}

impl RemoteCopy for Copy {
    fn append(&mut self, groups: &[Arc<DurableGroup>]) -> Result<(), LogError> {
        if self.appends_left == 0 {
            return Err(LogError::Closed);
        }
        self.appends_left -= 1;
        let numbers = groups.iter().map(|group| group.header().number);
        let numbers: Vec<u64> = numbers.collect();
        let sent = &self.ahead.0.lock()[1];
        assert!(numbers.starts_with(sent), "{sent:?} of {numbers:?}");
        self.has.lock().extend(numbers);
        Ok(())
    }
}

/// The log's consumer frees the groups that it has seen, asked or not.
pub struct Consumer;

impl FreesLog for Consumer {
    fn want(&self, _: LogPosition) -> bool {
        true
    }
    fn obstacle(&self) -> Option<Arc<str>> {
        None
    }
}

impl Stage {
    pub fn new(scenario: Scenario) -> Arc<Stage> {
        let simulated = SimulatedDisk::new(1, scenario.faults);
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let feed = Arc::new(Feed::default());
        let log = LogAlone {
            layout: LAYOUT,
            policy: GroupPolicy::Adaptive,
            drive: scenario.drive,
            depth: scenario.depth,
            buffers: scenario.buffers,
            segments_max: scenario.segments_max,
            prepared: scenario.prepared,
            feeds: vec![feed.clone()],
            is_copied: scenario.remote != Remote::None,
            is_synced_behind: scenario.remote == Remote::Behind,
        };
        let pen = log.pen(disk, 0);
        Arc::new(Stage {
            commit: pen.log().clone(),
            pen,
            feed,
            disk: simulated,
            copied: Arc::default(),
            is_copied: scenario.remote != Remote::None,
            is_synced_behind: scenario.remote == Remote::Behind,
        })
    }

    /// Runs one transaction of so many records, and releases the pen. Returns its group, which is durable if it was
    /// forced.
    pub fn execute(&self, records: usize, parting: Parting) -> Result<u64, LogError> {
        let mut held = self.pen.take()?;
        held.appending().admit(Admission::Whole)?;
        let (count, mut appending) = held.split();
        *count += 1;
        for _ in 0..records {
            appending.builder().push_write(Address(0), &[1; 4096]);
        }
        appending.builder().push_write(Address(0), &[1; 8]);
        assert!(appending.builder().end_transaction());
        let group = appending.transaction_ended();
        match parting {
            Parting::PutAway => drop(held),
            Parting::PutOff => held.put_off(),
            Parting::HandOn => held.hand_on(),
            Parting::Force => held.force(group)?,
        }
        Ok(group)
    }

    /// One transaction, and the wait for it. When it is reported durable, its group and all earlier ones must be in
    /// the log (I1).
    pub fn commit_one(&self, parting: Parting) -> Result<(), LogError> {
        let group = self.execute(0, parting)?;
        self.pen.wait(group)?;
        assert!(self.groups_in_log() >= group, "told too early: {group}");
        self.assert_copied(group);
        Ok(())
    }

    /// If there is a copy elsewhere, it has this group and all before, in order.
    pub fn assert_copied(&self, group: u64) {
        let copied = self.copied.lock();
        if self.is_copied {
            assert!(
                copied.iter().copied().eq(1..=copied.len() as u64),
                "in order"
            );
            assert!(copied.len() as u64 >= group, "told too early: {group}");
        }
    }

    /// Takes the pen without appending anything, as a reader does.
    pub fn read(&self) {
        drop(self.pen.take());
    }

    pub fn groups_in_log(&self) -> u64 {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let mut reader = LogReader::open(&disk, LAYOUT, LogPosition::START).expect("a log");
        while reader.next_group().expect("whole").is_some() {}
        reader.position().group - 1
    }

    /// The log's consumer: takes groups in order, and frees the log behind them.
    pub fn consume(&self) -> u64 {
        let (mut groups, mut next) = (VecDeque::new(), 1);
        loop {
            self.feed.wait();
            let closed = self.feed.take(&mut groups);
            for group in groups.drain(..) {
                assert_eq!(
                    group.header().number,
                    next,
                    "the feed keeps the log's order"
                );
                next += 1;
                self.assert_copied(group.header().number);
                if self.is_synced_behind {
                    assert!(self.commit.stable_below() > group.header().number, "I2");
                }
                let position = group.header().position_before();
                drop(group);
                self.commit.segments().free_before(position.lsn);
                self.commit.room().freed(position);
            }
            if closed {
                return next - 1;
            }
        }
    }

    pub fn start(self: &Arc<Self>, body: impl FnOnce(&Stage) + Send + 'static) -> JoinHandle<()> {
        let stage = self.clone();
        thread::spawn(move || body(&stage))
    }

    /// Runs the stages' threads, these clients, and ends.
    pub fn run(self: &Arc<Self>, scenario: Scenario, clients: Vec<JoinHandle<()>>) {
        self.run_and_close(scenario, clients, Vec::new());
    }

    /// The same, with clients that may still wait when the log is closed.
    pub fn run_and_close(
        self: &Arc<Self>,
        scenario: Scenario,
        clients: Vec<JoinHandle<()>>,
        waiting: Vec<JoinHandle<()>>,
    ) {
        let mut threads = Vec::new();
        if scenario.drive.has_threads() {
            for _ in 0..self.commit.limits().depth {
                threads.push(self.start(|stage| stage.commit.run()));
            }
            threads.push(self.start(|stage| stage.commit.room().run(&Consumer)));
        }
        if scenario.remote != Remote::None {
            let appends_left = match scenario.remote {
                Remote::Fails(appends) => appends,
                _ => usize::MAX,
            };
            let has = self.copied.clone();
            let ahead = Arc::new(Ahead::default());
            let mut copy = Copy {
                has,
                appends_left,
                ahead: ahead.clone(),
            };
            let sends = ahead.clone();
            let body = move |stage: &Stage| stage.commit.run_remote(&mut copy, Some(&*ahead));
            threads.push(self.start(body));
            threads.push(self.start(move |stage| stage.commit.run_ahead(&*sends)));
            threads.push(self.start(move |stage| stage.commit.run_behind()));
        }
        let stage = self.clone();
        let consumer = thread::spawn(move || stage.consume());
        for client in clients {
            client.join().expect("a client ends well");
        }
        if !self.commit.is_poisoned() {
            let end = self.commit.durable();
            let stable = self.commit.wait_until_stable(end);
            assert!(stable.is_ok() || self.commit.is_poisoned(), "{stable:?}");
        }
        self.commit.close();
        self.commit.room().close();
        for thread in waiting.into_iter().chain(threads) {
            thread.join().expect("a client or a stage ends well");
        }
        self.feed.close();
        let durable = self.commit.durable().group - 1;
        let consumed = consumer.join().expect("the consumer ends well");
        match self.commit.is_poisoned() && scenario.remote == Remote::Behind {
            // Groups are consumed that are known to be stable here.
            true => assert!(consumed <= durable),
            false => assert_eq!(consumed, durable),
        }
    }
}

/// Some schedules of each kind: chosen at random, and with few but well-placed changes of thread.
pub fn explore(body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    let random = RandomScheduler::new_from_seed(1, 1500);
    shuttle::Runner::new(random, config.clone()).run(body.clone());
    let few_changes = PctScheduler::new_from_seed(1, 3, 1500);
    shuttle::Runner::new(few_changes, config).run(body);
}
