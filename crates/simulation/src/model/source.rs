//! SOURCE (paper 001, section 3.1): when transactions arrive, what they do, and which node gets them.

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
    let shared = Rc::clone(system);
    let mut arrivals = arrivals(system, streams);
    let mut draws = Draws::new(system, streams);
    system.kernel.spawn(async move {
        loop {
            shared.kernel.wait(Span::from_seconds(arrivals.next_interval())).await;
            let (node, references) = draws.next(&shared);
            let job = Job {
                arrival: shared.kernel.now(),
                node,
                references,
            };
            shared.kernel.spawn(transaction::run(Rc::clone(&shared), job));
        }
    });
}

fn arrivals(system: &System, streams: &Streams) -> Arrivals {
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
    let rate = arrival.rate_per_node * f64::from(system.parameters.nodes);
    let seed = streams.of(Stream::Arrivals).next_u64();
    Arrivals::new(process, rate, seed).expect("parameters are checked when they are read")
}

struct Draws {
    routing: Random,
    debit_credit: DebitCreditPages,
}

impl Draws {
    fn new(system: &System, streams: &Streams) -> Self {
        let Load::DebitCredit { scale, .. } = &*system.load;
        let seed = streams.of(Stream::Load).next_u64();
        Draws {
            routing: streams.of(Stream::Routing),
            debit_credit: DebitCreditPages::new(*scale, seed).expect("checked when it was prepared"),
        }
    }

    fn next(&mut self, system: &System) -> (usize, References) {
        let Load::DebitCredit { scale, nodes } = &*system.load;
        let draw = self.debit_credit.draw();
        let node = match system.parameters.routing {
            Routing::Affinity => scale.node_of_branch(draw.branch, *nodes),
            Routing::Random => self.routing.below(u64::from(*nodes)) as u16,
        };
        (usize::from(node), References::from(draw.references))
    }
}
