//! Clients of a server in another process: their plan, their figures, and the report.

use super::curve::{self, OpenLoopFigures};
use super::figures::Responses;
use super::options::Options;
use super::plan::{OpenLoop, seconds};
use super::requests::Scale;
use super::run::{Outcome, Progress, Until};
use super::wire::{Address, ClientError, ClientLoad, run_clients};
use crate::BenchmarkError;
use crate::floor::Spinner;
use crate::progress;
use anyhow::Context;
use sardonyx_results::Findings;
use sardonyx_results::table::Sheet;
use sardonyx_results::units::{count, percent, rate, time};
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct Plan {
    address: Address,
    load: ClientLoad,
    open_loop: Option<OpenLoop>,
    spinner: bool,
}

/// The figures of this process' clients.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The server's address.
    pub connected_to: String,
    /// The size of its tables.
    pub scale: Scale,
    /// Connections.
    pub clients: usize,
    /// The most requests sent together.
    pub batch: usize,
    /// Batches that each client has in flight, in a closed loop.
    pub batches_in_flight: usize,
    /// The seed of requests and arrivals.
    pub seed: u64,
    /// True if a core was kept awake.
    pub spinner: bool,
    /// Transactions acknowledged as committed, and so on stable storage.
    pub committed: u64,
    /// Requests that were undone.
    pub refused: u64,
    /// Wall time.
    pub seconds: f64,
    /// Committed transactions a second.
    pub transactions_per_second: f64,
    /// Response times; absent if no transaction was acknowledged, and in an open loop, which has its own.
    pub responses: Option<Responses>,
    /// The figures at each arrival rate, in an open loop.
    pub open_loop: Option<OpenLoopFigures>,
}

impl Plan {
    /// The plan of these options.
    ///
    /// # Errors
    /// The options that are not possible.
    pub fn of(options: &Options, address: &Address) -> Result<Plan, BenchmarkError> {
        let open_loop = OpenLoop::of(options);
        let until = match options.transactions {
            Some(0) => {
                let reason = "--transactions 0: at least 1";
                return Err(BenchmarkError::Usage(reason.into()));
            }
            Some(transactions) => Until::Transactions(transactions),
            None => Until::Time(seconds(options)?),
        };
        Ok(Plan {
            address: address.clone(),
            load: ClientLoad {
                clients: options.clients.unwrap_or(1).into(),
                batch: options.batch.unwrap_or(4096) as usize,
                batches_in_flight: options.batches_in_flight.unwrap_or(8) as usize,
                until,
                arrival_rate: None,
                other_branch_percent: options.other_branch_percent,
                wrong_code_percent: options.wrong_code_percent,
                seed: options.seed,
            },
            open_loop,
            spinner: options.conditions.busy,
        })
    }
}

/// Connects, and runs the plan.
///
/// # Errors
/// [`ClientError`]; if the figures cannot be written as JSON.
pub fn measure(plan: &Plan) -> anyhow::Result<Findings> {
    let _spinner = match plan.spinner {
        true => Some(Spinner::start().context("starting a thread of the lowest priority")?),
        false => None,
    };
    let mut scale = None;
    let mut run = |load: ClientLoad| -> Result<Outcome, ClientError> {
        let progress = Progress::default();
        let (outcome, of) = progress::watched(load.until, &progress, || {
            run_clients(&plan.address, &load, &progress)
        })?;
        scale = Some(of);
        Ok(outcome)
    };
    let run = std::cell::RefCell::new(&mut run);
    let closed = || run.borrow_mut()(plan.load.clone());
    let open = |rate: f64, _: &Outcome| {
        let arrival_rate = Some(rate);
        run.borrow_mut()(ClientLoad {
            arrival_rate,
            ..plan.load.clone()
        })
    };
    let (outcome, closed_loop_per_second) = match &plan.open_loop {
        None => (closed()?, None),
        Some(open_loop) => open_loop.run(closed, open)?,
    };
    let scale = scale.context("nothing was run")?;
    let seconds = outcome.elapsed.as_secs_f64();
    let is_open = !outcome.points.is_empty();
    let figures = Figures {
        connected_to: plan.address.to_string(),
        scale,
        clients: plan.load.clients,
        batch: plan.load.batch,
        batches_in_flight: plan.load.batches_in_flight,
        seed: plan.load.seed,
        spinner: plan.spinner,
        committed: outcome.committed,
        refused: outcome.refused,
        seconds,
        transactions_per_second: outcome.committed as f64 / seconds,
        responses: if is_open {
            None
        } else {
            Responses::of(&outcome)
        },
        open_loop: is_open.then_some(OpenLoopFigures {
            closed_loop_per_second,
            points: outcome.points,
        }),
    };
    Ok(show(&figures)?)
}

fn show(figures: &Figures) -> serde_json::Result<Findings> {
    let mut sheet = Sheet::default();
    sheet.heading(format!(
        "Debit-credit over sockets: {} clients of {}, which has {} accounts",
        figures.clients,
        figures.connected_to,
        count(figures.scale.accounts())
    ));
    sheet.remarked(
        "durable transactions",
        rate(figures.transactions_per_second),
        format!("{} in {}", count(figures.committed), time(figures.seconds)),
    );
    if figures.refused > 0 {
        sheet.figure("refused and undone", count(figures.refused));
    }
    if let Some(responses) = &figures.responses {
        let summary = &responses.summary;
        sheet.heading("Response time, at the clients");
        for (name, microseconds) in [
            ("average", summary.average_microseconds),
            ("p50", summary.p50_microseconds),
            ("p95", summary.p95_microseconds),
            ("p99", summary.p99_microseconds),
            ("max", summary.max_microseconds),
        ] {
            sheet.figure(name, time(microseconds / 1e6));
        }
        sheet.figure("within 1 s", percent(responses.share_within_1_s));
        sheet.figure("within 10 ms", percent(responses.share_within_10_ms));
    }
    let findings = Findings::of(figures)?.note(sheet).gap();
    let Some(open_loop) = &figures.open_loop else {
        return Ok(findings);
    };
    let title = "Response time over offered load: durable debit-credit over sockets";
    Ok(curve::show(findings, "open-loop", open_loop, title))
}
