//! Simulated processors: work is time during which one of them is held.
//!
//! The DASDBS paper's machine had twelve processors. A machine with fewer cannot show the effects of work that keeps
//! twelve cores busy. So an access *sleeps* for a given time while it holds one of so many simulated processors. If all
//! are held, it queues for one, first come first served. The engine's own work (locks, log, memory) runs on the
//! real cores and adds to that, as does a late wake-up. So the real time of the work is measured.

use sardonyx_base::sync::futex::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// A number of processors, served in order of arrival.
#[derive(Debug)]
pub struct Processors {
    queue: Mutex<Queue>,
    works: AtomicU64,
    worked_nanoseconds: AtomicU64,
}

#[derive(Debug)]
struct Queue {
    free: usize,
    waiting: VecDeque<Arc<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    thread: Thread,
    admitted: AtomicBool,
}

/// A processor held; free again when dropped.
struct Held<'a>(&'a Processors);

impl Processors {
    /// So many processors, all free; at least one.
    pub fn new(count: usize) -> Self {
        Processors {
            queue: Mutex::new(Queue {
                free: count.max(1),
                waiting: VecDeque::new(),
            }),
            works: AtomicU64::new(0),
            worked_nanoseconds: AtomicU64::new(0),
        }
    }

    /// Works for a time: waits for a processor and sleeps while it holds it. For no time it returns at once.
    pub fn work(&self, time: Duration) {
        if time.is_zero() {
            return;
        }
        let _held = self.hold();
        let began = Instant::now();
        std::thread::sleep(time);
        let took = began.elapsed().as_nanos() as u64;
        self.works.fetch_add(1, Ordering::Relaxed);
        self.worked_nanoseconds.fetch_add(took, Ordering::Relaxed);
    }

    /// The number of accesses that worked, and their nanoseconds in all, without the queueing.
    pub fn worked(&self) -> (u64, u64) {
        let nanoseconds = self.worked_nanoseconds.load(Ordering::Relaxed);
        (self.works.load(Ordering::Relaxed), nanoseconds)
    }

    fn hold(&self) -> Held<'_> {
        let waiting = {
            let mut queue = self.queue.lock();
            if queue.free > 0 {
                queue.free -= 1;
                return Held(self);
            }
            let waiting = Arc::new(Waiting {
                thread: std::thread::current(),
                admitted: AtomicBool::new(false),
            });
            queue.waiting.push_back(waiting.clone());
            waiting
        };
        while !waiting.admitted.load(Ordering::Acquire) {
            std::thread::park();
        }
        Held(self)
    }
}

impl Drop for Held<'_> {
    /// Hands the processor to the thread that has waited longest.
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        let Some(next) = queue.waiting.pop_front() else {
            queue.free += 1;
            return;
        };
        drop(queue);
        next.admitted.store(true, Ordering::Release);
        next.thread.unpark();
    }
}

/// Makes the calling thread's sleeps end as soon as their time is over. By default Linux may prolong them by 50
/// microseconds, which is a tenth of an access.
pub(super) fn wake_promptly() {
    // If the system refuses, sleeps last longer, and the report shows how long.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(processors: &Processors) -> usize {
        processors.queue.lock().waiting.len()
    }

    #[test]
    fn as_many_are_held_as_there_are() {
        let processors = Processors::new(2);
        let (first, second) = (processors.hold(), processors.hold());
        assert_eq!(processors.queue.lock().free, 0);
        drop(first);
        drop(second);
        assert_eq!(processors.queue.lock().free, 2);
    }

    #[test]
    fn who_comes_first_is_first() {
        let processors = Processors::new(1);
        let order = Mutex::new(Vec::new());
        let held = processors.hold();
        std::thread::scope(|scope| {
            for number in 0..5 {
                let (processors, order) = (&processors, &order);
                scope.spawn(move || {
                    let _held = processors.hold();
                    order.lock().push(number);
                });
                while waiting(processors) <= number {
                    std::thread::yield_now();
                }
            }
            drop(held);
        });
        assert_eq!(order.into_inner(), [0, 1, 2, 3, 4]);
        assert_eq!(processors.queue.lock().free, 1);
    }

    #[test]
    fn work_is_counted_and_takes_its_time() {
        let processors = Processors::new(3);
        let time = Duration::from_millis(2);
        processors.work(Duration::ZERO);
        assert_eq!(processors.worked(), (0, 0));
        processors.work(time);
        let (works, nanoseconds) = processors.worked();
        assert_eq!(works, 1);
        assert!(nanoseconds >= time.as_nanos() as u64);
    }

    #[test]
    fn never_more_work_at_once_than_there_are_processors() {
        let processors = Processors::new(2);
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _held = processors.hold();
                        let here = 1 + now.fetch_add(1, Ordering::SeqCst);
                        most.fetch_max(here, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        let most = most.into_inner();
        assert!((1..=2).contains(&most), "{most}");
        assert_eq!(processors.queue.lock().free, 2);
    }
}
