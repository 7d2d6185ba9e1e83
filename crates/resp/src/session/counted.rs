//! The counts of a flight's commands, and `LATENCY`, which shows the times of flights.

use super::Session;
use crate::command::line::Line;
use crate::command::words::is;
use crate::command::{self, Named, subcommands};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::settings::Number;
use crate::statistics::{End, Sample, Tally, Times};
use std::time::Instant;

/// A command of a flight, as it is counted when it is answered.
#[derive(Debug)]
pub(super) enum Counted {
    Ran(Named),
    /// It did not run. The command is unknown if there is none of its name.
    Refused(Option<Named>),
    /// It is counted when it runs, by `EXEC`.
    Queued,
    /// `EXEC`, and the commands that it runs.
    Exec(Named, Vec<Named>),
}

impl Counted {
    /// A command that was refused.
    pub fn refused(line: &Line) -> Counted {
        let command = command::find(line.part(0));
        Counted::Refused(command.map(|command| subcommands::named(command, line)))
    }

    /// Counts a command with its answer; without one, it waits.
    pub(super) fn tally(&self, reply: Option<&Reply>, tally: &mut Tally) {
        let error = match reply {
            Some(Reply::Error(text)) => Some(text),
            _ => None,
        };
        if let Some(text) = error {
            tally.error(text);
        }
        let end = match error {
            None => End::Answered,
            Some(_) => End::Failed,
        };
        match self {
            Counted::Ran(named) => tally.count(*named, end),
            Counted::Refused(Some(named)) => tally.count(*named, End::Refused),
            Counted::Refused(None) | Counted::Queued => {}
            Counted::Exec(exec, calls) => {
                tally.count(*exec, end);
                // Without a list of answers, none of its commands ran.
                if let Some(Reply::Array(answers)) = reply {
                    for (call, answer) in calls.iter().zip(answers) {
                        let end = match answer {
                            Reply::Error(text) => {
                                tally.error(text);
                                End::Failed
                            }
                            _ => End::Answered,
                        };
                        tally.count(*call, end);
                    }
                }
            }
        }
    }
}

impl Session {
    /// Counts a command with its answer, among those of the flight.
    pub(super) fn tally(&mut self, counted: &Counted, reply: Option<&Reply>) {
        counted.tally(reply, &mut self.tally);
    }

    /// Adds the counts of a flight to those of all sessions.
    pub(super) fn add_counts(&mut self, began: Instant, now: i64) {
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let shared = self.keyspace.shared();
        let slow = shared.settings.number(Number::SlowFlight);
        shared.statistics.add(&self.tally, micros, slow, now);
        self.tally.clear();
    }

    pub(super) fn latency(&self, line: &Line) -> Result<Reply, Failure> {
        let statistics = &self.keyspace.shared().statistics;
        match line.part(1) {
            word if is(word, "histogram") => {
                let told = match line.len() {
                    2 => statistics.times(None),
                    _ => {
                        let names = line.parts(2);
                        names
                            .flat_map(|name| statistics.times(Some(name)))
                            .collect()
                    }
                };
                Ok(Reply::Map(told.into_iter().map(histogram).collect()))
            }
            word if is(word, "history") => {
                let samples = statistics.samples(line.part(2));
                Ok(Reply::Array(samples.into_iter().map(sample).collect()))
            }
            word if is(word, "latest") => {
                let latest = |(name, (at, millis), longest)| {
                    Reply::Array(vec![
                        Reply::Text(name),
                        Reply::Int(at),
                        Reply::Int(millis),
                        Reply::Int(longest),
                    ])
                };
                Ok(Reply::Array(
                    statistics.events().into_iter().map(latest).collect(),
                ))
            }
            word if is(word, "reset") => Ok(Reply::count(match line.len() {
                2 => statistics.forget(None),
                _ => (line.parts(2).map(|event| statistics.forget(Some(event)))).sum(),
            })),
            word if is(word, "doctor") => Ok(Reply::Verbatim(self.advice())),
            word if is(word, "graph") => Err(Failure::Told(
                "ERR LATENCY GRAPH is not supported: LATENCY HISTORY has the samples",
            )),
            _ => Ok(subcommands::help("latency")),
        }
    }

    /// The slow events in a few sentences.
    fn advice(&self) -> String {
        let shared = self.keyspace.shared();
        let bound = shared.settings.number(Number::SlowFlight);
        if bound == 0 {
            return "Slow flights are not noted: set latency-monitor-threshold to a number of milliseconds.\n"
                .to_string();
        }
        let events = shared.statistics.events();
        if events.is_empty() {
            return format!("No flight of commands took {bound} ms or more.\n");
        }
        let line = |(name, (_, last), longest): (&str, Sample, i64)| {
            let count = shared.statistics.samples(name.as_bytes()).len();
            format!(
                "{name}: {count} seconds with flights of {bound} ms or more; the last took {last} ms, the longest {longest} ms. \
                 SLOWLOG GET names commands that took long themselves; the rest is waiting for the disk or for others.\n"
            )
        };
        events.into_iter().map(line).collect()
    }
}

fn sample((at, millis): Sample) -> Reply {
    Reply::Array(vec![Reply::Int(at), Reply::Int(millis)])
}

fn histogram((name, calls, steps): Times) -> (Reply, Reply) {
    let step = |(micros, calls): (u64, u64)| (Reply::Int(micros as i64), Reply::Int(calls as i64));
    let facts = vec![
        (Reply::Text("calls"), Reply::Int(calls as i64)),
        (
            Reply::Text("histogram_usec"),
            Reply::Map(steps.into_iter().map(step).collect()),
        ),
    ];
    (Reply::Bulk(name.into_bytes()), Reply::Map(facts))
}
