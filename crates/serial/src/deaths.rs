//! Each stage's thread dies of a panic of the engine's own, planted as a job. Every present or later
//! caller gets the reason, none waits for ever, and closing comes back (I7).

use crate::batch::Job;
use crate::error::SerialError;
use crate::execution::Execution;
use crate::kernel::{Durability, Kernel};
use crate::shape::Shape;
use crate::ticket::Ticket;
use sardonyx_rows::TableError;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_table::{TableSpace, Transaction};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

fn kernel(disk: &SimulatedDisk, shape: Shape) -> Kernel {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let options = StorageOptions {
        segment_bytes: 64 << 10,
        block_bytes: 16 << 10,
        log_bytes_max: 512 << 10,
        log_bytes_prepared: 0,
        memory_bytes_max: 64 << 20,
        limits: GroupLimits {
            group_bytes: 8 << 10,
            transaction_bytes: 16 << 10,
            depth: 2,
            buffers: 6,
        },
        threaded: shape.is_threaded(),
        workers: 1,
        ..StorageOptions::default()
    };
    let opened = Engine::open(disk, options).expect("opens");
    let (space, _) = TableSpace::open(opened.store, 1).expect("no tables yet");
    Kernel::start(space, opened.engine, shape)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Input,
    Execution,
    Output,
}

/// Kills the thread of a stage, on request.
struct Killer(Stage, Receiver<()>);

impl Killer {
    fn kill_in(&self, stage: Stage) {
        if self.0 == stage {
            self.1.recv().expect("told");
            panic!("a planted death of {stage:?}");
        }
    }
}

impl Job for Killer {
    fn prepare(&mut self) {
        self.kill_in(Stage::Input);
    }
    fn execute(&mut self, execution: &mut Execution<'_>) -> u64 {
        self.kill_in(Stage::Execution);
        execution.last_group()
    }
    fn deliver(&mut self, _: Result<(), SerialError>) {
        self.kill_in(Stage::Output);
    }
}

type Told = Ticket<Result<(), TableError>>;

fn submit(kernel: &Kernel) -> Told {
    kernel.submit(|_: &mut Transaction<'_>| Ok(()))
}

fn assert_died<T>(stage: Stage, outcome: Result<T, SerialError>) {
    match outcome.err().expect("nothing is acknowledged") {
        SerialError::Log(LogError::ThreadDied { thread, message }) => {
            let name = format!("{stage:?}-0").to_lowercase();
            let name = name.trim_end_matches("-0");
            assert!(thread.starts_with(name), "{stage:?}: {thread}");
            let planted = message.contains("planted") || message.contains("the right to append");
            assert!(planted, "{message}");
        }
        other => panic!("{stage:?}: {other}"),
    }
}

#[test]
fn i7_the_death_of_each_stages_thread_is_told_to_everybody() {
    for threads in [1, 2] {
        for stage in [Stage::Input, Stage::Execution, Stage::Output] {
            let shape = Shape::Pipelined {
                input_threads: threads,
                output_threads: threads,
            };
            let disk = SimulatedDisk::new(1, Faults::default());
            let kernel = kernel(&disk, shape);
            submit(&kernel).wait().expect("it ran").expect("no error");
            let (kill, told) = channel();
            kernel.enqueue(Box::new(Killer(stage, told)), 0);
            // More than any queue holds: those who submit wait at the bound.
            let behind: Vec<Told> = std::thread::scope(|scope| {
                let behind = scope.spawn(|| (0..4000).map(|_| submit(&kernel)).collect());
                kill.send(()).expect("it waits");
                behind.join().expect("nobody panics here")
            });
            for ticket in behind {
                assert_died(stage, ticket.wait());
            }
            assert_died(stage, submit(&kernel).wait());
            let run = kernel.run(Durability::Durable, |_| Ok::<_, SerialError>(()));
            assert_died(stage, run);
            // All that ran is durable.
            kernel.flush().expect("nothing is left to be written");
            // The checkpointer lives: it completes one, or got the error first.
            if let Err(error) = kernel.checkpoint() {
                assert!(error.to_string().contains("died"), "{stage:?}: {error}");
            }
            assert_died(stage, kernel.close());
            // Closed: the lock is free.
            let again = self::kernel(&disk, Shape::Threadless);
            again.close().expect("closes");
        }
    }
}
