//! SOURCE (GEM paper, section 3.1): the arrivals of transactions, their references, and their nodes.

use super::system::{Stream, Streams, System};
use super::transaction::{self, Job, References};
use crate::load::Load;
use crate::parameters::{ArrivalProcess, Routing};
use crate::time::Span;
use sardonyx_workload::arrival::{Arrivals, Process};
use sardonyx_workload::debit_credit_pages::DebitCreditPages;
use sardonyx_workload::random::Random;
use std::rc::Rc;

/// Lets transactions arrive as long as the kernel runs.
pub fn start(system: &Rc<System>, streams: &Streams) {
    match &*system.load {
        Load::Trace { by_type, .. } if !by_type.is_empty() => {
            for (number, (rate, _)) in by_type.iter().enumerate() {
                let streams = streams.of_type(number as u64);
                let draws = Draws::new(system, &streams, Some(number));
                arrive(system, *rate, &streams, draws);
            }
        }
        _ => {
            let draws = Draws::new(system, streams, None);
            arrive(
                system,
                system.parameters.arrival.rate_per_node,
                streams,
                draws,
            );
        }
    }
}

fn arrive(system: &Rc<System>, rate_per_node: f64, streams: &Streams, mut draws: Draws) {
    let shared = Rc::clone(system);
    let mut arrivals = arrivals(system, rate_per_node, streams);
    let mut seeds = streams.of(Stream::Transactions);
    system.kernel.spawn(async move {
        loop {
            let interval = Span::from_seconds(arrivals.next_interval());
            shared.kernel.wait(interval).await;
            let (node, references) = draws.next(&shared);
            let seed = seeds.next_u64();
            let job = Job {
                arrival: shared.kernel.now(),
                node,
                references,
                seed,
            };
            shared
                .kernel
                .spawn(transaction::run(Rc::clone(&shared), job));
        }
    });
}

fn arrivals(system: &System, rate_per_node: f64, streams: &Streams) -> Arrivals {
    let arrival = &system.parameters.arrival;
    let process = match arrival.process {
        ArrivalProcess::Poisson => Process::Poisson,
        ArrivalProcess::Deterministic => Process::Deterministic,
        ArrivalProcess::Erlang => Process::Erlang {
            stages: arrival.stages,
        },
        ArrivalProcess::Hyperexponential => Process::Hyperexponential {
            variation: arrival.variation,
        },
        ArrivalProcess::OnOff => Process::OnOff {
            burst_factor: arrival.burst_factor,
            burst_seconds: arrival.burst_seconds,
        },
    };
    let rate = rate_per_node * f64::from(system.parameters.nodes);
    let seed = streams.of(Stream::Arrivals).next_u64();
    Arrivals::new(process, rate, seed).expect("parameters are checked when they are read")
}

/// Draws the arriving transactions.
struct Draws {
    routing: Random,
    load: Drawn,
}

enum Drawn {
    DebitCredit(Box<DebitCreditPages>),
    /// The next transaction: its place in the trace, or among those of a type.
    Trace {
        next: usize,
        of_type: Option<usize>,
    },
}

impl Draws {
    fn new(system: &System, streams: &Streams, of_type: Option<usize>) -> Self {
        let mut random = streams.of(Stream::Load);
        let load = match &*system.load {
            Load::DebitCredit { scale, .. } => {
                let source = DebitCreditPages::new(*scale, random.next_u64());
                Drawn::DebitCredit(Box::new(source.expect("checked when it was prepared")))
            }
            Load::Trace { trace, by_type, .. } => {
                // Each replication begins elsewhere in the trace.
                let count = of_type.map_or(trace.len(), |number| by_type[number].1.len());
                let next = random.below(count as u64) as usize;
                Drawn::Trace { next, of_type }
            }
        };
        Draws {
            routing: streams.of(Stream::Routing),
            load,
        }
    }

    fn next(&mut self, system: &System) -> (usize, References) {
        let nodes = u64::from(system.parameters.nodes);
        let at_random = system.parameters.routing == Routing::Random;
        match (&mut self.load, &*system.load) {
            (
                Drawn::DebitCredit(source),
                Load::DebitCredit {
                    scale,
                    nodes: count,
                },
            ) => {
                let draw = source.draw();
                let node = match at_random {
                    true => self.routing.below(nodes) as usize,
                    false => usize::from(scale.node_of_branch(draw.branch, *count)),
                };
                (node, References::from(draw.references))
            }
            (
                Drawn::Trace { next, of_type },
                Load::Trace {
                    trace,
                    tables,
                    by_type,
                },
            ) => {
                let (place, count) = match of_type {
                    Some(number) => {
                        let places = &by_type[*number].1;
                        (places[*next] as usize, places.len())
                    }
                    None => (*next, trace.len()),
                };
                *next = (*next + 1) % count;
                let view = trace.get(place).expect("a place below the trace's length");
                let node = match at_random {
                    true => self.routing.below(nodes) as usize,
                    false => usize::from(tables.routing.route(view.kind, &mut self.routing)),
                };
                (node, References::from_slice(view.references))
            }
            _ => unreachable!("draws are made for the system's load"),
        }
    }
}
