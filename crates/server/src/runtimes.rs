//! The threads of a server: a runtime for all clients, and on few processors one thread more for those of Redis.
//!
//! Redis' commands are short, and a client has many on their way. With two processors, one of which has the clients, every
//! change of threads costs as much as some commands: a second thread that wakes for half of the connections, and a logging
//! thread that wakes for the group of each. So one thread reads what all Redis clients have sent, runs it, writes the
//! commit group when nothing is left to read, and answers. On [`PROCESSORS_MIN`] processors and more, the threads of
//! the one runtime serve all clients, since parsing and sockets can use the other processors.
//!
//! Invariants: a thread that waits for the stage, or runs what takes long, leaves its place to another one, as in the common
//! runtime. While a write of the log hangs, after quick ones, a [`Spare`] worker serves the Redis clients. They get the
//! answers that depend on nothing that is being written. Groups behind a slow write, and full ones, are left to the logging
//! threads. A panic at a rest ends no thread.

use crate::metrics::Protocol;
use crate::spare::Spare;
use sardonyx::low_level::Gathering;
use sardonyx_base::user_code::message_of;
use sardonyx_base::waiting;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// From so many processors on, Redis clients have no thread of their own.
const PROCESSORS_MIN: usize = 4;
/// While one thread runs a statement, others serve.
const WORKERS_MIN: usize = 2;
/// The one that serves Redis clients, and the spare one.
const REDIS_WORKERS: usize = 2;

/// The runtimes of a server.
#[derive(Debug)]
pub struct Runtimes {
    common: Runtime,
    /// One thread for Redis clients.
    redis: Option<RedisThreads>,
}

/// The threads of Redis clients: one that serves, and one that sleeps.
#[derive(Debug)]
struct RedisThreads {
    /// Before the runtime: that ends when its sleeper is awake.
    sleeper: Sleeper,
    runtime: Runtime,
}

/// Wakes the spare worker when it is dropped.
#[derive(Debug)]
struct Sleeper(Arc<Spare>);

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl RedisThreads {
    /// Starts them. `rest` is called when a worker has nothing to do: with true if it may write, and so take long.
    fn start(rest: impl Fn(bool) + Send + Sync + 'static) -> io::Result<RedisThreads> {
        let spare = Arc::new(Spare::default());
        let threads: Arc<OnceLock<Handle>> = Arc::default();
        let runtime = runtime("sardonyx-redis", REDIS_WORKERS, {
            let (spare, threads) = (spare.clone(), threads.clone());
            move || match spare.is_awake() {
                true => rest(false),
                false => spare.write(threads.get(), || rest(true)),
            }
        })?;
        let _ = threads.set(runtime.handle().clone());
        spare.start(runtime.handle())?;
        let sleeper = Sleeper(spare);
        Ok(RedisThreads { sleeper, runtime })
    }
}

impl Runtimes {
    /// Starts the threads for so many processors. Transactions that gather are written when a thread rests.
    ///
    /// # Errors
    /// The system's.
    pub fn start(
        processors: usize,
        has_redis: bool,
        gathering: Option<&Arc<Gathering>>,
    ) -> io::Result<Runtimes> {
        let is_alone = has_redis && processors < PROCESSORS_MIN;
        let gathering = gathering.map_or_else(Weak::new, Arc::downgrade);
        let common = runtime("sardonyx-server", processors.max(WORKERS_MIN), {
            let gathering = gathering.clone();
            move || {
                if let Some(gathering) = gathering.upgrade() {
                    gathering.rest();
                }
            }
        })?;
        let redis = is_alone.then(|| {
            RedisThreads::start(move |may_write| match (gathering.upgrade(), may_write) {
                (Some(gathering), true) => gathering.rest_writing(),
                (Some(gathering), false) => gathering.rest(),
                (None, _) => {}
            })
        });
        Ok(Runtimes {
            common,
            redis: redis.transpose()?,
        })
    }

    /// The threads of clients of a protocol.
    pub fn of(&self, protocol: Protocol) -> &Handle {
        match (protocol, &self.redis) {
            (Protocol::Redis, Some(redis)) => redis.runtime.handle(),
            _ => self.common.handle(),
        }
    }

    /// The threads of everything else.
    pub fn common(&self) -> &Runtime {
        &self.common
    }

    /// Ends all threads, and waits for them up to a time.
    pub fn shut_down(self, left: impl Fn() -> Duration) {
        if let Some(RedisThreads { sleeper, runtime }) = self.redis {
            drop(sleeper);
            runtime.shutdown_timeout(left());
        }
        self.common.shutdown_timeout(left());
    }
}

/// Runs the work of a thread that rests. A panic is logged, and ends no thread: clients may have no other.
fn resting(rests: impl Fn()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(rests)) {
        let cause = message_of(payload);
        tracing::error!(%cause, "a panic while a thread of the server rested; the logging threads write its group");
    }
}

/// A runtime of so many threads. `rests` is called when one of them has nothing to do.
fn runtime(
    name: &str,
    workers: usize,
    rests: impl Fn() + Send + Sync + 'static,
) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .thread_name(name)
        .on_thread_park(move || resting(&rests))
        // A task that waits for the serial stage, or holds it for long, leaves its thread's place to another one.
        .on_thread_start(|| waiting::set_step_aside(|work| tokio::task::block_in_place(work)))
        .worker_threads(workers)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    /// The name of the threads of a protocol's clients.
    fn name_of(runtimes: &Runtimes, protocol: Protocol) -> Option<String> {
        let name = async { std::thread::current().name().map(str::to_string) };
        let named = runtimes.of(protocol).spawn(name);
        runtimes.common().block_on(named).expect("it ends")
    }

    #[test]
    fn redis_clients_have_a_thread_of_their_own_on_few_processors() {
        for (processors, has_redis, is_alone) in [
            (1, true, true),
            (3, true, true),
            (4, true, false),
            (2, false, false),
        ] {
            let runtimes = Runtimes::start(processors, has_redis, None).expect("threads");
            let [redis, postgres] =
                [Protocol::Redis, Protocol::Postgres].map(|protocol| name_of(&runtimes, protocol));
            assert_eq!(redis != postgres, is_alone, "{processors}");
            runtimes.shut_down(|| Duration::from_secs(60));
        }
    }

    /// Runs a task on threads, and waits until it has ended.
    fn run_in(threads: &Handle) {
        let (ended, ends) = channel();
        threads.spawn(async move { ended.send(()) });
        let waited = ends.recv_timeout(Duration::from_secs(60));
        assert_eq!(waited, Ok(()), "a worker serves");
    }

    #[test]
    fn a_write_that_hangs_at_a_rest_leaves_the_clients_to_the_spare_worker() {
        let (begun, begins) = channel();
        let (release, held) = channel::<()>();
        let (begun, held) = (Mutex::new(begun), Mutex::new(held));
        let hang = Arc::new(AtomicBool::new(false));
        let threads = RedisThreads::start({
            let hang = hang.clone();
            move |may_write| {
                if may_write && hang.swap(false, Ordering::SeqCst) {
                    let _ = begun.lock().unwrap().send(());
                    let _ = held.lock().unwrap().recv();
                }
            }
        });
        let threads = threads.expect("threads");
        // Dropped first, or a failed test would wait for the write.
        let release = release;
        let spare = threads.sleeper.0.clone();
        // Again after a write has ended: one of the workers sleeps then.
        for _ in 0..2 {
            hang.store(true, Ordering::SeqCst);
            run_in(threads.runtime.handle());
            begins.recv_timeout(Duration::from_secs(60)).unwrap();
            (0..3).for_each(|_| run_in(threads.runtime.handle()));
            assert!(spare.is_awake());
            release.send(()).unwrap();
            while spare.is_awake() {
                std::thread::yield_now();
            }
        }
        run_in(threads.runtime.handle());
    }

    #[test]
    fn a_panic_at_a_rest_ends_no_thread() {
        let rests = AtomicUsize::new(0);
        let threads = RedisThreads::start(move |_| {
            assert!(rests.fetch_add(1, Ordering::SeqCst) >= 5, "at a rest");
        });
        let threads = threads.expect("threads");
        (0..10).for_each(|_| run_in(threads.runtime.handle()));
    }

    #[test]
    fn a_task_that_takes_long_leaves_its_thread_to_others() {
        let runtimes = Runtimes::start(1, true, None).expect("threads");
        let (end, ends) = channel();
        let threads = runtimes.of(Protocol::Redis);
        let long = threads.spawn(async move { waiting::aside(|| ends.recv()) });
        // On the same thread, behind it.
        threads.spawn(async move { end.send(()) });
        let ended = runtimes.common().block_on(long).expect("it ends");
        assert_eq!(ended, Ok(()));
        runtimes.shut_down(|| Duration::from_secs(60));
    }
}
