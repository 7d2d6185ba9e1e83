//! Steps: transactions of one turn, each by itself. One that fails or panics is undone alone; the log's refusal ends them.
//! A panic of the caller's notes ends nothing.

use sardonyx_rows::schema::{Schema, Type, Value, ValueRef};
use sardonyx_serial::{Durability, Kernel, ProcedureError, SerialError, Shape, Steps};
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Engine, StorageOptions};
use sardonyx_table::{TableSpace, Transaction};
use std::ops::Range;
use std::sync::Arc;

type Error = Box<dyn std::error::Error>;

/// More than are prefetched at once.
const STEPS: usize = 70;

fn open(disk: &SimulatedDisk, shape: Shape) -> Result<Kernel, Error> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let options = StorageOptions {
        memory_bytes_max: 64 << 20,
        threaded: shape.is_threaded(),
        workers: 1,
        ..StorageOptions::default()
    };
    let opened = Engine::open(disk, options)?;
    let (space, _) = TableSpace::open(opened.store, 1)?;
    Ok(Kernel::start(space, opened.engine, shape))
}

/// Each inserts its number. Number 3 fails then, and number 5 panics.
struct Inserting {
    table: u16,
    prefetched: Vec<Range<usize>>,
    failed: Vec<(usize, String)>,
}

impl Steps for Inserting {
    type Error = String;

    fn count(&self) -> usize {
        STEPS
    }

    fn prefetch(&mut self, steps: Range<usize>, _: &TableSpace) {
        self.prefetched.push(steps);
        panic!("to ask for memory is no step");
    }

    fn run(&mut self, step: usize, transaction: &mut Transaction<'_>) -> Result<(), String> {
        let row = [Some(ValueRef::Int(step as i128))];
        let inserted = transaction.insert_columns(self.table, None, &row);
        inserted.map_err(|error| error.to_string())?;
        match step {
            3 => Err("refused".to_string()),
            5 => panic!("a planted panic"),
            _ => Ok(()),
        }
    }

    fn failed(&mut self, step: usize, error: ProcedureError<String>) {
        let reason = match error {
            ProcedureError::Aborted(reason) => reason,
            ProcedureError::Panicked(message) => format!("panicked: {message}"),
            _ => "not run".to_string(),
        };
        self.failed.push((step, reason));
    }
}

fn inserting(kernel: &Kernel) -> Result<Inserting, Error> {
    let schema = || Schema::new().column("id", Type::U64).primary_key(["id"]);
    let table = kernel.run(Durability::Durable, |tx| {
        tx.create_table("numbers", schema()).map_err(Error::from)
    })?;
    Ok(Inserting {
        table,
        prefetched: Vec::new(),
        failed: Vec::new(),
    })
}

#[test]
fn i8_a_step_that_fails_is_undone_alone_and_the_ticket_is_of_all_others() -> Result<(), Error> {
    let pipelined = Shape::Pipelined {
        input_threads: 1,
        output_threads: 1,
    };
    for shape in [Shape::Threadless, Shape::Coalesced, pipelined] {
        let disk = SimulatedDisk::new(1, Faults::default());
        let kernel = open(&disk, shape)?;
        let mut steps = inserting(&kernel)?;
        kernel.turn()?.run_steps(&mut steps).wait()?;
        let panicked = "panicked: a planted panic".to_string();
        assert_eq!(steps.failed, [(3, "refused".to_string()), (5, panicked)]);
        assert_eq!(steps.prefetched, [0..64, 64..STEPS]);
        // The disk has all steps that the ticket counts.
        disk.crash();
        drop(kernel);
        let kernel = open(&disk.restart(Faults::default()), shape)?;
        for number in 0..STEPS as u64 {
            let is_there = kernel.try_read(|space| {
                let view = space.view();
                let rows = view.rows("numbers").expect("the table");
                rows.get(&[Value::from(number)]).expect("a key").is_some()
            })?;
            assert_eq!(is_there, number != 3 && number != 5, "{number}");
        }
        kernel.close()?;
    }
    Ok(())
}

#[test]
fn i7_after_a_failure_of_the_log_no_step_runs() -> Result<(), Error> {
    let disk = SimulatedDisk::new(1, Faults::default());
    let kernel = open(&disk, Shape::Threadless)?;
    let mut steps = inserting(&kernel)?;
    disk.crash();
    let failed = kernel.turn()?.run_steps(&mut steps).wait();
    assert!(matches!(failed, Err(SerialError::Log(_))), "{failed:?}");
    // These ran, and their fate is not known.
    assert_eq!(steps.failed.len(), 2);
    steps.failed.clear();
    drop(kernel.turn()?.run_steps(&mut steps));
    let none: Vec<_> = (0..STEPS).map(|step| (step, "not run".into())).collect();
    assert_eq!(steps.failed, none);
    Ok(())
}

/// Each fails, and the note of it panics.
struct Unnoted(Vec<usize>);

impl Steps for Unnoted {
    type Error = String;

    fn count(&self) -> usize {
        3
    }

    fn prefetch(&mut self, _: Range<usize>, _: &TableSpace) {}

    fn run(&mut self, step: usize, _: &mut Transaction<'_>) -> Result<(), String> {
        match step {
            0 => Err("refused".to_string()),
            _ => panic!("a planted panic"),
        }
    }

    fn failed(&mut self, step: usize, _: ProcedureError<String>) {
        self.0.push(step);
        panic!("a planted panic of the note");
    }
}

/// Their number cannot be said.
struct Uncounted;

impl Steps for Uncounted {
    type Error = String;

    fn count(&self) -> usize {
        panic!("a planted panic of the count")
    }

    fn prefetch(&mut self, _: Range<usize>, _: &TableSpace) {}

    fn run(&mut self, _: usize, _: &mut Transaction<'_>) -> Result<(), String> {
        unreachable!("there is none")
    }

    fn failed(&mut self, _: usize, _: ProcedureError<String>) {
        unreachable!("there is none")
    }
}

#[test]
fn a_panic_while_failures_are_noted_or_steps_are_counted_does_not_end_the_log() -> Result<(), Error>
{
    let disk = SimulatedDisk::new(1, Faults::default());
    let kernel = open(&disk, Shape::Threadless)?;
    let mut unnoted = Unnoted(Vec::new());
    kernel.turn()?.run_steps(&mut unnoted).wait()?;
    assert_eq!(unnoted.0, [0, 1, 2]);
    kernel.turn()?.run_steps(&mut Uncounted).wait()?;
    let mut steps = inserting(&kernel)?;
    kernel.turn()?.run_steps(&mut steps).wait()?;
    assert_eq!(steps.failed.len(), 2);
    // Notes of steps that the log refuses.
    disk.crash();
    let row = [Some(ValueRef::Int(STEPS as i128))];
    let failed = kernel.run(Durability::Durable, |tx| {
        let inserted = tx.insert_columns(steps.table, None, &row);
        inserted.map_err(Error::from)
    });
    assert!(failed.is_err());
    unnoted.0.clear();
    drop(kernel.turn()?.run_steps(&mut unnoted));
    assert_eq!(unnoted.0, [0, 1, 2]);
    Ok(())
}
