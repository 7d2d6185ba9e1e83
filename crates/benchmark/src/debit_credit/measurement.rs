//! Running the plan: load, run, close, recover, prove, and measure all of it.
//!
//! The bare latency of a durable write is measured before, on the same file system. The bare pipeline is measured
//! after, so that its memory is not counted as the engine's.

use super::curve::OpenLoopFigures;
use super::figures::{
    Checkpoints, DeviceWrites, Figures, Groups, Loading, Logged, Memory, OtherHostFigures,
    ProofFigures, Responses, Run, Settings, Stages, WrittenSoFar,
};
use super::follower::OtherHost;
use super::load::load;
use super::memory::peak_resident_bytes;
use super::open_loop::run_open;
use super::options::{Configuration, LocatingStage};
use super::plan::Plan;
use super::prelocated::{Directory, Prelocated};
use super::proof::prove;
use super::requests::Scale;
use super::run::{Outcome, Progress, run};
use super::schema::{Account, Schema};
use super::transaction::DebitCredit;
use super::wire::server::Bank;
use super::wire::{Address, Limits, Listener, ServeError, Stop, as_decoded, located, serve};
use crate::floor::{Spinner, bare_pipeline, sync_latency};
use crate::place::{Place, beside};
use crate::progress;
use crate::written::Counter;
use anyhow::Context;
use sardonyx::disk::Directories;
use sardonyx::procedures::Registered;
use sardonyx::{Shape, Tables};
use sardonyx_command::ending;
use sardonyx_results::recovery::RecoveryFigures;
use sardonyx_storage::journal::JOURNAL_DIRECTORY;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of durable writes timed in each state of the disk.
const SYNCS: usize = 100;

/// The time of the bare pipeline.
const FLOOR_TIME: Duration = Duration::from_secs(2);

/// Runs the plan.
pub fn measure(plan: &Plan) -> anyhow::Result<Figures> {
    // Claimed first, so that no measurement is in vain.
    let mut place = Place::claim_all(&plan.directory, &plan.elsewhere())?;
    let listen = |address: &Address| {
        address.listen().map_err(|source| ServeError::Listen {
            address: address.to_string(),
            source,
        })
    };
    let mut listener = plan.listen.as_ref().map(listen).transpose()?;
    // The disk that transactions wait for.
    let directory = beside(plan.log_place());
    let _spinner = match plan.spinner {
        true => Some(Spinner::start().context("starting a thread of the lowest priority")?),
        false => None,
    };
    let bar = progress::spinner("syncs");
    let sync_latency = sync_latency(&directory, SYNCS)?;
    bar.finish_and_clear();
    let mut runs = Vec::new();
    for &configuration in &plan.configurations {
        let run = measure_run(plan, configuration, &mut place, listener.take())?;
        let failed = !run.proof.holds;
        runs.push(run);
        if failed {
            break;
        }
        if runs.len() < plan.configurations.len() {
            drop(place);
            place = Place::claim_all(&plan.directory, &plan.elsewhere())?;
        }
    }
    let bare_pipeline = match plan.floor {
        true => {
            let bar = progress::spinner("floor");
            let floor = bare_pipeline(plan.load.scale.accounts(), FLOOR_TIME, &directory)?;
            bar.finish_and_clear();
            Some(floor)
        }
        false => None,
    };
    Ok(Figures {
        settings: Settings::of(plan),
        sync_latency,
        bare_pipeline,
        runs,
    })
}

/// One configuration, on a database of its own. With another host the proof uses *its* directory, opened as the
/// database: so failover is proved, too.
fn measure_run(
    plan: &Plan,
    configuration: Configuration,
    place: &mut Place,
    listener: Option<Listener>,
) -> anyhow::Result<Run> {
    let mut other_host = match configuration {
        Configuration::C => Some(OtherHost::start(plan)?),
        _ => None,
    };
    let store = match &other_host {
        Some(host) => Some(host.remote.clone()),
        None => plan.store.open()?,
    };
    let options = || {
        let options = plan.options(configuration);
        match (&store, configuration) {
            (Some(store), Configuration::C) => {
                options.store(store.clone()).checkpoints_at_followers()
            }
            (Some(store), _) => options.store(store.clone()),
            (None, _) => options,
        }
    };
    let elsewhere = plan.elsewhere();
    let parts = std::iter::once(place.path()).chain(elsewhere.iter().map(PathBuf::as_path));
    let counter = Counter::of(parts);
    let written = || -> Option<WrittenSoFar> {
        Some(WrittenSoFar {
            bytes: counter.read()?,
            archive_bytes: bytes_of_files(&place.path().join(JOURNAL_DIRECTORY)),
        })
    };
    let created = written();
    let database = options().open_tables(place.path())?;
    if let Some(host) = &mut other_host {
        host.follow(plan)?;
    }
    let schema = Schema::of(&database)?;
    let loading = fill(&database, &schema, &plan.load.scale)?;

    let procedure = database.register(DebitCredit::new(schema))?;
    let in_store = || database.engine().in_store().map(|store| store.state());
    let (before, in_store_before) = (database.statistics(), in_store());
    let begun = written();
    let (outcome, closed_loop) = match listener {
        None => run_clients(plan, &database, schema, &procedure)?,
        Some(listener) => {
            let serving = (listener, configuration);
            (serve_clients(plan, &database, &procedure, serving)?, None)
        }
    };
    let (after, ended) = (database.statistics(), written());
    let durable = database.engine().commit().durable();
    let mut other_host_figures = match (&other_host, in_store_before, in_store()) {
        (Some(_), Some(before), Some(after)) => {
            Some(OtherHostFigures::new(durable, &before.sent, &after))
        }
        _ => None,
    };
    let memory = Memory {
        record_bytes: loading.records * size_of::<Account>() as u64,
        page_bytes: database.read(|view| Ok(view.bytes()))?,
        copy_bytes: database.engine().checkpoint().copy_bytes(),
        index_bytes: database.read(|view| Ok(view.index_bytes() as u64))?,
        peak_resident_bytes: peak_resident_bytes(),
    };

    let bar = progress::spinner("recovering");
    let (_, close_time) = timed(|| database.close())?;
    let (database, open_time) = timed(|| options().create(false).open_tables(place.path()))?;
    let recovery = RecoveryFigures::from(database.recovery());
    bar.finish_and_clear();
    let database = match &mut other_host {
        None => database,
        Some(host) => {
            let bar = progress::spinner("failing over");
            database.close()?;
            let followed = host.promote(plan)?;
            other_host_figures = match (other_host_figures, followed) {
                (Some(figures), Some(followed)) => Some(figures.followed(followed)),
                (figures, _) => figures,
            };
            let database = options()
                // All of its parts are in one directory.
                .directories(Directories::default())
                .create(false)
                .open_tables(host.copy())?;
            bar.finish_and_clear();
            database
        }
    };
    let bar = progress::spinner("proving");
    let proof = prove_outcome(&database, &outcome)?;
    bar.finish_and_clear();
    database.close()?;

    if plan.keep || !proof.holds {
        place.keep();
        other_host.iter_mut().for_each(OtherHost::keep);
    }
    if let Some(host) = other_host {
        host.stop()?;
    }
    let elapsed = outcome.elapsed.as_secs_f64();
    Ok(Run {
        configuration,
        stage_threads: match plan.shape(configuration) {
            Shape::Pipelined {
                input_threads,
                output_threads,
            } => Some((input_threads, output_threads)),
            _ => None,
        },
        loading,
        committed: outcome.committed,
        refused: outcome.refused,
        seconds: elapsed,
        transactions_per_second: outcome.committed as f64 / elapsed,
        responses: match outcome.points.is_empty() {
            true => Responses::of(&outcome),
            false => None,
        },
        open_loop: (!outcome.points.is_empty()).then(|| OpenLoopFigures {
            closed_loop_per_second: closed_loop,
            points: outcome.points.clone(),
        }),
        stages: Stages::between(outcome.elapsed, &before, &after),
        groups: Groups::between(&before, &after),
        log: Logged::between(&before, &after),
        device: match (created, begun, ended) {
            (Some(created), Some(begun), Some(ended)) => {
                let (counted_by, counted) = (counter.counted_by(), [created, begun, ended]);
                Some(DeviceWrites::between(counted_by, counted, &before, &after))
            }
            _ => None,
        },
        checkpoints: Checkpoints::between(before.checkpoint, after.checkpoint, &outcome.slices),
        memory,
        close_seconds: close_time.as_secs_f64(),
        open_seconds: open_time.as_secs_f64(),
        recovery,
        other_host: other_host_figures,
        kept_in: (plan.keep || !proof.holds).then(|| place.path().display().to_string()),
        proof,
    })
}

/// The sizes of the files in a directory, which need not exist.
fn bytes_of_files(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}

/// Runs the clients; for a curve, also returns the throughput of the closed loop.
fn run_clients(
    plan: &Plan,
    database: &Tables,
    schema: Schema,
    procedure: &Registered<DebitCredit>,
) -> anyhow::Result<(Outcome, Option<f64>)> {
    let load = &plan.load;
    let watched = |body: &dyn Fn(&Progress) -> Result<Outcome, sardonyx::Error>| {
        let progress = Progress::default();
        progress::watched(load.until, &progress, || body(&progress))
    };
    let closed = || watched(&|progress| run(database, schema, procedure, load, progress));
    let Some(open_loop) = &plan.open_loop else {
        return Ok((closed()?, None));
    };
    let outcome = open_loop.run(closed, |rate, before| {
        let clients = (load, before.acknowledged.len());
        watched(&|progress| run_open(database, schema, procedure, clients, rate, progress))
    });
    Ok(outcome?)
}

/// Serves clients of other processes, until a signal comes or the time is over.
fn serve_clients(
    plan: &Plan,
    database: &Tables,
    procedure: &Registered<DebitCredit>,
    (listener, configuration): (Listener, Configuration),
) -> anyhow::Result<Outcome> {
    let directory = match plan.locate {
        LocatingStage::Execution => None,
        LocatingStage::Input => {
            let schema = Schema::of(database)?;
            let directory = Directory::of(database, &schema, &plan.load.scale)?;
            Some((database.register(Prelocated::new(schema))?, directory))
        }
    };
    let stop = Stop::new()?;
    let at_signal = stop.clone();
    let _instead = ending::instead(move || at_signal.stop());
    // Apart from the bars: the program that started us may wait for it.
    eprintln!(
        "sardonyx: listening at {}; Ctrl-C ends it",
        listener.address()?
    );
    let bank = Bank {
        database,
        scale: plan.load.scale,
        limits: Limits::default(),
        output_threads: match plan.shape(configuration) {
            Shape::Pipelined { output_threads, .. } => output_threads,
            _ => 1,
        },
        time: plan.serving_time,
    };
    let progress = Arc::default();
    let served = match directory {
        None => {
            let service = bank.service(procedure, as_decoded());
            serve(&service, listener, &stop, &progress)
        }
        Some((prelocated, directory)) => {
            let service = bank.service(&prelocated, located(directory));
            serve(&service, listener, &stop, &progress)
        }
    };
    Ok(served?)
}

/// Loads the tables and takes a checkpoint, so that the run begins with nothing left to write.
fn fill(database: &Tables, schema: &Schema, scale: &Scale) -> anyhow::Result<Loading> {
    let records = scale.accounts() + scale.tellers() + scale.branches();
    let bar = progress::bar("loading", records);
    let (_, time) = timed(|| load(database, schema, scale, |done| bar.set_position(done)))?;
    bar.finish_and_clear();
    let (_, checkpoint_time) = timed(|| database.checkpoint())?;
    Ok(Loading {
        records,
        seconds: time.as_secs_f64(),
        checkpoint_seconds: checkpoint_time.as_secs_f64(),
    })
}

fn prove_outcome(database: &Tables, outcome: &Outcome) -> anyhow::Result<ProofFigures> {
    let schema = Schema::of(database)?;
    let (proof, time) = timed(|| prove(database, &schema, &outcome.acknowledged, outcome.refused))?;
    Ok(ProofFigures::of(&proof, time))
}

fn timed<T>(
    body: impl FnOnce() -> Result<T, sardonyx::Error>,
) -> Result<(T, Duration), sardonyx::Error> {
    let started = Instant::now();
    let result = body()?;
    Ok((result, started.elapsed()))
}
