//! Leases between processes, of one host or of several: how one that is stopped is found, and how it finds out itself. It
//! has no clock and no I/O; who uses it says what time it is. Here a process is called a node.
//!
//! A node raises a *count* that others see, at least each quarter of its *lease*, which is half of the time after which
//! it counts as failed. A node that has seen the same count for twice the lease takes the other for failed. A lease
//! that has run out is never renewed: the node stops, however short it was late.
//!
//! Only lengths of time are compared, each on one process's clock, and none has to be short for what is safe:
//!
//! - a lease is counted from a moment before its count was raised;
//! - one that was due in time, but whose count is raised late (the node was stopped in between), began before the last
//!   one had run out. So it ends less than twice its length after the last count was raised;
//! - who watches has seen that count for as long as that, and not the next one.
//!
//! So when another takes a node for failed, that acknowledges nothing any more that it has only read. The fence of its
//! log refuses its writes, for any clocks (I12). Without the factor of two a node could wake up, find its lease alive,
//! be stopped again, and renew it when others had continued.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A node's sign for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sign {
    /// Raised with each renewal.
    pub count: u64,
    /// The node counts as failed when its count has not changed for so long.
    pub wait: Duration,
}

/// A node's own lease.
#[derive(Clone, Debug)]
pub struct Lease {
    wait: Duration,
    count: u64,
    renewed: Instant,
}

/// The next act for a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renewal {
    /// Nothing yet.
    NotDue,
    /// Others are to see this; then [`Lease::renewed`].
    Show(Sign),
    /// It has run out, for ever.
    Lost,
}

impl Lease {
    /// A lease that began at this moment or later, when others could see its first sign.
    pub fn new(wait: Duration, began: Instant) -> Self {
        Lease {
            wait,
            count: 0,
            renewed: began,
        }
    }

    /// The sign for others.
    pub fn sign(&self) -> Sign {
        Sign {
            count: self.count,
            wait: self.wait,
        }
    }

    /// The time until which no other takes the node for failed.
    pub fn until(&self) -> Instant {
        self.renewed + self.wait / 2
    }

    /// The present act.
    #[inline]
    pub fn renewal(&self, now: Instant) -> Renewal {
        if now >= self.until() {
            return Renewal::Lost;
        }
        match now.duration_since(self.renewed) >= self.wait / 8 {
            true => Renewal::Show(Sign {
                count: self.count + 1,
                ..self.sign()
            }),
            false => Renewal::NotDue,
        }
    }

    /// Others can see what [`Lease::renewal`] said at this moment.
    pub fn renewed(&mut self, asked: Instant) {
        self.count += 1;
        self.renewed = asked;
    }
}

/// A count as it was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    count: u64,
    /// The time for which it was watched: at most the time since it was first seen.
    watched: Duration,
    last: Instant,
}

/// One node's observations of the others.
#[derive(Clone, Debug)]
pub struct Watch<N>(BTreeMap<N, Seen>);

impl<N> Default for Watch<N> {
    fn default() -> Self {
        Watch(BTreeMap::new())
    }
}

impl<N: Ord> Watch<N> {
    /// True if a node is present whose sign was read between two moments.
    pub fn is_there(&mut self, node: N, sign: Sign, [before, after]: [Instant; 2]) -> bool {
        let first = Seen {
            count: sign.count,
            watched: Duration::ZERO,
            last: after,
        };
        let seen = self.0.entry(node).or_insert(first);
        if seen.count != sign.count {
            *seen = first;
        }
        // A watcher that was stopped itself has not watched; perhaps the node, stopped with it, had no time to go on
        // either. So one interval counts for half of the wait at most, and the node has the rest. Two of them are
        // enough: a watcher whose looks are always slow detects its failure, too.
        let passed = before.saturating_duration_since(seen.last);
        seen.watched += passed.min(sign.wait / 2);
        seen.last += passed;
        seen.watched < sign.wait
    }

    /// A node whose process has ended.
    pub fn forget(&mut self, node: N) {
        self.0.remove(&node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const WAIT: Duration = Duration::from_millis(1000);
    const NODE: u32 = 7;

    /// A node whose process is stopped anywhere: what it read of the clock may be old when it acts.
    struct Stopped {
        lease: Lease,
        shown: Sign,
        asked: Option<(Instant, Sign)>,
        lost: bool,
    }

    impl Stopped {
        fn step(&mut self, now: Instant) {
            if self.lost {
                return;
            }
            let Some((asked, sign)) = self.asked.take() else {
                match self.lease.renewal(now) {
                    Renewal::NotDue => {}
                    Renewal::Show(sign) => self.asked = Some((now, sign)),
                    Renewal::Lost => self.lost = true,
                }
                return;
            };
            if self.shown != sign {
                self.shown = sign;
                self.asked = Some((asked, sign));
            } else {
                self.lease.renewed(asked);
            }
        }

        fn has_lease(&self, now: Instant) -> bool {
            !self.lost && now < self.lease.until()
        }
    }

    #[test]
    fn i12_who_counts_as_gone_has_no_lease_wherever_it_was_stopped() {
        let (mut gone_in, mut there_in) = (0, 0);
        for seed in 0..4000 {
            let mut random = Random::new(seed);
            let mut now = Instant::now();
            let lease = Lease::new(WAIT, now);
            let mut node = Stopped {
                shown: lease.sign(),
                lease,
                asked: None,
                lost: false,
            };
            let (mut watch, mut gone) = (Watch::default(), false);
            // The pause of the node, and of its watchers, between two of their steps.
            let longest = [20, 200, 700, 1500][random.below(4) as usize];
            let (mut node_at, mut watch_at, mut read) = (now, now, None);
            for _ in 0..400 {
                now = node_at.min(watch_at);
                let next = now + Duration::from_millis(1 + random.below(longest));
                if node_at <= watch_at {
                    node.step(now);
                    node_at = next;
                } else {
                    match read.take() {
                        None => read = Some((now, node.shown)),
                        Some((before, sign)) => {
                            gone |= !watch.is_there(NODE, sign, [before, now]);
                        }
                    }
                    watch_at = now + Duration::from_millis(1 + random.below(20));
                }
                assert!(!gone || !node.has_lease(now), "seed {seed}");
            }
            match gone {
                true => gone_in += 1,
                false => there_in += 1,
            }
        }
        assert!(gone_in > 500 && there_in > 500, "{gone_in} {there_in}");
    }

    #[test]
    fn a_node_that_goes_on_in_time_is_never_gone_and_one_that_is_stopped_is() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let (mut lease, mut watch) = (Lease::new(WAIT, start), Watch::default());
        for now in (0..3000).step_by(20).map(at) {
            if let Renewal::Show(_) = lease.renewal(now) {
                lease.renewed(now);
            }
            assert!(lease.until() > now);
            assert!(watch.is_there(NODE, lease.sign(), [now, now]));
        }
        let gone = (3000..6000).step_by(20).find(|milliseconds| {
            let now = at(*milliseconds);
            !watch.is_there(NODE, lease.sign(), [now, now])
        });
        assert!((3800..=4000).contains(&gone.unwrap()), "{gone:?}");
        assert_eq!(lease.renewal(at(4000)), Renewal::Lost);
    }

    #[test]
    fn a_node_is_gone_for_one_that_looks_seldom_too() {
        let start = Instant::now();
        let lease = Lease::new(WAIT, start);
        let mut watch = Watch::default();
        // Each read takes longer than half of the wait.
        let looks = [0, 600, 1200].map(|late| start + Duration::from_millis(late));
        let there = looks.map(|now| watch.is_there(NODE, lease.sign(), [now, now]));
        assert_eq!(there, [true, true, false]);
        // It also counts as failed for one that does something else for longer than the wait between its looks.
        let mut watch = Watch::default();
        let looks = [0, 3000, 6000].map(|late| start + Duration::from_millis(late));
        let there = looks.map(|now| watch.is_there(NODE, lease.sign(), [now, now]));
        assert_eq!(there, [true, true, false]);
    }

    #[test]
    fn who_was_stopped_with_the_others_suspects_nobody() {
        let start = Instant::now();
        let lease = Lease::new(WAIT, start);
        let mut watch = Watch::default();
        let later = start + 10 * WAIT;
        assert!(watch.is_there(NODE, lease.sign(), [start; 2]));
        assert!(watch.is_there(NODE, lease.sign(), [later; 2]));
        assert!(watch.is_there(NODE, lease.sign(), [later + WAIT / 5; 2]));
    }
}
