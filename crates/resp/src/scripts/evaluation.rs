//! Scripts are compiled and run, each in an interpreter of its own.

use super::digest::{Digest, digest_in, digest_of};
use super::idle::Interpreter;
use super::{Script, Scripts};
use crate::command::line::Line;
use crate::data::{Data, State};
use crate::failure::Failure;
use crate::reply::Reply;
use std::sync::Arc;

/// An interpreter that has more than so many bytes after a script is not used again.
const KEPT_BYTES_MAX: usize = 16 << 20;
/// So many interpreters that are idle are kept.
const IDLE_MAX: usize = 4;

impl Scripts {
    /// Runs a script that is sent with its command.
    pub fn eval<S: State>(
        &self,
        data: &mut Data<'_, S>,
        line: &Line,
        only_reads: bool,
    ) -> Result<Reply, Failure> {
        let keys = keys(line)?;
        let digest = digest_of(line.part(1));
        let known = self
            .known()
            .scripts
            .get(&digest)
            .map(|kept| kept.script.clone());
        let script = match known {
            Some(script) => script,
            None => {
                let script = self.compiled(data, line.part(1), digest)?;
                self.known().see(&script);
                script
            }
        };
        self.run(data, &script, line, keys, only_reads)
    }

    /// Runs a script by its digest.
    pub fn eval_known<S: State>(
        &self,
        data: &mut Data<'_, S>,
        line: &Line,
        only_reads: bool,
    ) -> Result<Reply, Failure> {
        let none = Failure::Told("NOSCRIPT No matching script. Please use EVAL.");
        let Some(digest) = digest_in(line.part(1)) else {
            return Err(none);
        };
        let keys = keys(line)?;
        let script = self
            .known()
            .scripts
            .get(&digest)
            .map(|kept| kept.script.clone());
        self.run(data, &script.ok_or(none)?, line, keys, only_reads)
    }

    /// Keeps a script. Returns its digest.
    pub fn load<S: State>(&self, data: &mut Data<'_, S>, text: &[u8]) -> Result<Digest, Failure> {
        let script = self.compiled(data, text, digest_of(text))?;
        self.known().load(&script)?;
        Ok(script.digest.clone())
    }

    /// The script of a text, which is one.
    fn compiled<S: State>(
        &self,
        data: &mut Data<'_, S>,
        text: &[u8],
        digest: Digest,
    ) -> Result<Arc<Script>, Failure> {
        let (body, only_reads, allows_more) = without_shebang(text)?;
        let script = Arc::new(Script {
            digest,
            body: body.to_vec(),
            only_reads,
            allows_more,
        });
        self.with(data, |interpreter, _| interpreter.check(&script))?;
        Ok(script)
    }

    fn run<S: State>(
        &self,
        data: &mut Data<'_, S>,
        script: &Arc<Script>,
        line: &Line,
        keys: usize,
        only_reads: bool,
    ) -> Result<Reply, Failure> {
        let only_reads = only_reads || script.only_reads;
        self.with(data, |interpreter, data| {
            interpreter.run(data, script, line, keys, only_reads)
        })
    }

    /// Does something with an interpreter.
    pub(super) fn with<T, S: State>(
        &self,
        data: &mut Data<'_, S>,
        act: impl FnOnce(&mut Interpreter, &mut Data<'_, S>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let idle = self.idle().pop();
        let mut interpreter = match idle {
            Some(interpreter) => interpreter,
            None => Interpreter::new()?,
        };
        interpreter.limits.begin(data.room.scripts.get());
        let done = act(&mut interpreter, data);
        data.room.scripts.set(interpreter.limits.spent());
        if interpreter.is_clean(KEPT_BYTES_MAX) {
            let mut idle = self.idle();
            if idle.len() < IDLE_MAX {
                idle.push(interpreter);
            }
        }
        done
    }
}

/// True if the first line of a script declares that it only reads.
pub(crate) fn says_that_it_reads(text: &[u8]) -> bool {
    without_shebang(text).is_ok_and(|(_, only_reads, _)| only_reads)
}

/// The number of a command's arguments that are keys.
fn keys(line: &Line) -> Result<usize, Failure> {
    let keys = crate::number::integer(line.part(2))?;
    match usize::try_from(keys) {
        Err(_) => Err(Failure::Told("ERR Number of keys can't be negative")),
        Ok(keys) if keys > line.len() - 3 => Err(Failure::Told(
            "ERR Number of keys can't be greater than number of args",
        )),
        Ok(keys) => Ok(keys),
    }
}

/// A script without its first line, if that is a shebang. The flags say if it only reads and, if declared, if it may
/// add data beyond `maxmemory`. The end of the line is left, so that lines keep their numbers.
fn without_shebang(text: &[u8]) -> Result<(&[u8], bool, Option<bool>), Failure> {
    if !text.starts_with(b"#!") {
        return Ok((text, false, None));
    }
    let end = text.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(Failure::Told("ERR Invalid script shebang"))?;
    let first = String::from_utf8_lossy(&text[..end]).into_owned();
    let mut words = first.split_ascii_whitespace();
    let engine = words.next().unwrap_or_default();
    if engine != "#!lua" {
        return Err(Failure::Said(format!(
            "ERR Unexpected engine in script shebang: {engine}"
        )));
    }
    let (mut only_reads, mut allows_more) = (false, false);
    for word in words {
        let Some(flags) = word.strip_prefix("flags=") else {
            return Err(Failure::Said(format!(
                "ERR Unknown lua shebang option: {word}"
            )));
        };
        for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
            match flag {
                "no-writes" => only_reads = true,
                "allow-oom" => allows_more = true,
                // There are no replicas that lag, and no slots.
                "allow-stale" | "no-cluster" | "allow-cross-slot-keys" => {}
                _ => {
                    return Err(Failure::Said(format!(
                        "ERR Unexpected flag in script shebang: {flag}"
                    )));
                }
            }
        }
    }
    Ok((&text[end..], only_reads, Some(allows_more)))
}
