//! The threads of a server: a runtime for all clients, and on few processors one thread more for those of Redis.
//!
//! Redis' commands are short, and a client has many on their way. With two processors, one of which has the clients, every
//! change of threads costs as much as some commands: a second thread that wakes for half of the connections, and a logging
//! thread that wakes for the group of each. So one thread reads what all Redis clients have sent, runs it, writes the
//! commit group when nothing is left to read, and answers. On [`PROCESSORS_MIN`] processors and more, the threads of
//! the one runtime serve all clients, since parsing and sockets can use the other processors.
//!
//! Invariant: a thread that waits for the stage, or runs what takes long, leaves its place to another one, as in the common
//! runtime. A write of the log that hangs, after quick ones, stops the Redis clients until it ends, as it stops a Redis with
//! `appendfsync always`. Groups behind a slow write, and full ones, are left to the logging threads.

use crate::metrics::Protocol;
use sardonyx::low_level::Gathering;
use sardonyx_base::waiting;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// From so many processors on, Redis clients have no thread of their own.
const PROCESSORS_MIN: usize = 4;
/// While one thread runs a statement, others serve.
const WORKERS_MIN: usize = 2;

/// The runtimes of a server.
#[derive(Debug)]
pub struct Runtimes {
    common: Runtime,
    /// One thread for Redis clients.
    redis: Option<Runtime>,
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
        let common = runtime("sardonyx-server", processors.max(WORKERS_MIN), {
            let gathering = gathering.map(Arc::downgrade);
            move || {
                if let Some(gathering) = gathering.as_ref().and_then(std::sync::Weak::upgrade) {
                    gathering.rest();
                }
            }
        })?;
        let redis = is_alone.then(|| {
            let gathering = gathering.map(Arc::downgrade);
            runtime("sardonyx-redis", 1, move || {
                if let Some(gathering) = gathering.as_ref().and_then(std::sync::Weak::upgrade) {
                    gathering.rest_writing();
                }
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
            (Protocol::Redis, Some(redis)) => redis.handle(),
            _ => self.common.handle(),
        }
    }

    /// The threads of everything else.
    pub fn common(&self) -> &Runtime {
        &self.common
    }

    /// Ends all threads, and waits for them up to a time.
    pub fn shut_down(self, left: impl Fn() -> Duration) {
        if let Some(redis) = self.redis {
            redis.shutdown_timeout(left());
        }
        self.common.shutdown_timeout(left());
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
        .on_thread_park(rests)
        // A task that waits for the serial stage, or holds it for long, leaves its thread's place to another one.
        .on_thread_start(|| waiting::set_step_aside(|work| tokio::task::block_in_place(work)))
        .worker_threads(workers)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let workers = runtimes.of(Protocol::Redis).metrics().num_workers();
            assert_eq!(workers == 1, is_alone, "{processors}");
            runtimes.shut_down(|| Duration::from_secs(60));
        }
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
