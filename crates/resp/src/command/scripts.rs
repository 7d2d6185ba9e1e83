//! Scripts in Lua: `EVAL` and its family, which need the feature `lua`.

use super::line::Line;
use super::words::is;
use super::{Command, MORE, NO_KEYS, NO_SCRIPT, WRITE, on_data, reads, subcommands};
use crate::data::{Data, Live, State};
use crate::failure::Failure;
use crate::reply::Reply;

pub(super) const COMMANDS: &[Command] = &[
    on_data(
        "eval",
        -3,
        WRITE | MORE | NO_SCRIPT,
        NO_KEYS,
        eval,
        "Runs a script in Lua",
    ),
    on_data(
        "evalsha",
        -3,
        WRITE | MORE | NO_SCRIPT,
        NO_KEYS,
        evalsha,
        "Runs a script in Lua by its digest",
    ),
    reads!(
        "eval_ro",
        -3,
        NO_SCRIPT,
        NO_KEYS,
        eval_ro,
        "Runs a script in Lua that only reads"
    ),
    reads!(
        "evalsha_ro",
        -3,
        NO_SCRIPT,
        NO_KEYS,
        evalsha_ro,
        "Runs a script in Lua that only reads by its digest"
    ),
    Command {
        flags: NO_SCRIPT,
        ..reads!(
            "script",
            -2,
            0,
            NO_KEYS,
            script,
            "Keeps scripts, and says which there are"
        )
    },
];

fn eval(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    run(data, line, false, false)
}

fn evalsha(data: &mut Live<'_, '_>, line: &Line) -> Result<Reply, Failure> {
    run(data, line, true, false)
}

fn eval_ro<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    run(data, line, false, true)
}

fn evalsha_ro<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    run(data, line, true, true)
}

/// Runs a script, which is sent or known by its digest.
#[cfg(feature = "lua")]
fn run<S: State>(
    data: &mut Data<'_, S>,
    line: &Line,
    is_known: bool,
    only_reads: bool,
) -> Result<Reply, Failure> {
    let scripts = &data.shared.scripts;
    match is_known {
        true => scripts.eval_known(data, line, only_reads),
        false => scripts.eval(data, line, only_reads),
    }
}

#[cfg(not(feature = "lua"))]
pub(super) const LEFT_OUT: Failure = Failure::Told(
    "ERR scripts and functions in Lua need the feature `lua`, which this program was built without: \
     `cargo build --release --features lua` builds it, and packages have it",
);

#[cfg(not(feature = "lua"))]
fn run<S: State>(_: &mut Data<'_, S>, _: &Line, _: bool, _: bool) -> Result<Reply, Failure> {
    Err(LEFT_OUT)
}

fn script<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    match line.part(1) {
        word if is(word, "help") => Ok(subcommands::help("script")),
        // None is seen running by another command.
        word if is(word, "kill") => {
            Err(Failure::Told("NOTBUSY No scripts in execution right now."))
        }
        word if is(word, "debug") => Err(Failure::Told(
            "ERR SCRIPT DEBUG is not supported: scripts run as a part of their transaction",
        )),
        _ => kept(data, line),
    }
}

/// `SCRIPT LOAD`, `SCRIPT EXISTS` and `SCRIPT FLUSH`.
#[cfg(feature = "lua")]
fn kept<S: State>(data: &mut Data<'_, S>, line: &Line) -> Result<Reply, Failure> {
    let scripts = &data.shared.scripts;
    match line.part(1) {
        word if is(word, "load") => {
            let digest = scripts.load(data, line.part(2))?;
            Ok(Reply::Bulk(digest.into_bytes()))
        }
        word if is(word, "exists") => {
            let there = line.parts(2).map(|digest| Reply::flag(scripts.has(digest)));
            Ok(Reply::Array(there.collect()))
        }
        _ => {
            let is_mode = |word| is(word, "sync") || is(word, "async");
            if line.len() > 3 || line.parts(2).any(|word| !is_mode(word)) {
                return Err(Failure::Told(
                    "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
                ));
            }
            scripts.flush();
            Ok(Reply::Ok)
        }
    }
}

#[cfg(not(feature = "lua"))]
fn kept<S: State>(_: &mut Data<'_, S>, _: &Line) -> Result<Reply, Failure> {
    Err(LEFT_OUT)
}
