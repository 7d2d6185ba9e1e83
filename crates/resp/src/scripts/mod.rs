//! Scripts in Lua 5.1: `EVAL`, `EVALSHA`, and the scripts kept for them. A script is a part of its transaction.
//!
//! [`Scripts`] has the texts, by their digests, and interpreters that are idle. A script runs in an [`Interpreter`] of
//! its own meanwhile, so that one that reads beside a long transaction delays no other. Sources that came by `EVAL`
//! are kept for `EVALSHA` up to bounds; the oldest are forgotten. Sources of `SCRIPT LOAD` are kept until they are
//! flushed. None survives the program.
//!
//! Invariants: a script sees nothing of another one; it ends within the bounds of [`limits`], and its interpreter's
//! memory (I10, I15). If it ends by an error, its writes and messages are undone.

mod convert;
mod idle;
mod interpreter;
mod json;
mod libraries;
mod library;
mod limits;
mod pack;
mod patterns;
mod strings;

use crate::command::line::Line;
use crate::data::{Data, State};
use crate::failure::Failure;
use crate::reply::Reply;
use idle::Interpreter;
use sha1::{Digest as _, Sha1};
use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An interpreter that has more than so many bytes after a script is not used again.
const KEPT_BYTES_MAX: usize = 16 << 20;
/// So many interpreters that are idle are kept.
const IDLE_MAX: usize = 4;
/// So many scripts that came by `EVAL` are kept,
const SEEN_MAX: usize = 500;
/// and so many bytes of them; the same for those that were loaded.
const BYTES_MAX: usize = 16 << 20;
/// A script that is kept takes so many bytes besides its text: twice its digest, and its places in lists.
const EACH_BYTES: usize = 256;

/// The digits of a digest.
const DIGITS: usize = 40;

/// A digest of a script, in hexadecimal.
pub(crate) type Digest = String;

#[derive(Debug)]
pub(crate) struct Script {
    pub digest: Digest,
    /// Behind the line that says how it is to be run.
    pub body: Vec<u8>,
    pub only_reads: bool,
    /// For a script with flags: true if it may add data beyond `maxmemory`.
    pub allows_more: Option<bool>,
}

/// The scripts of a keyspace.
#[derive(Default)]
pub(crate) struct Scripts {
    known: Mutex<Known>,
    idle: Mutex<Vec<Interpreter>>,
}

#[derive(Default)]
struct Known {
    scripts: HashMap<Digest, Kept>,
    /// The scripts that came by `EVAL`, in their order.
    seen: VecDeque<Digest>,
    seen_bytes: usize,
    loaded_bytes: usize,
}

struct Kept {
    script: Arc<Script>,
    is_loaded: bool,
}

/// The bytes that a kept script takes.
fn kept_bytes(script: &Script) -> usize {
    EACH_BYTES + script.body.len()
}

impl Known {
    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.seen.pop_front()
            && let Some(kept) = self.scripts.get(&oldest)
            && !kept.is_loaded
        {
            self.seen_bytes -= kept_bytes(&kept.script);
            self.scripts.remove(&oldest);
        }
    }

    fn see(&mut self, script: &Arc<Script>) {
        let bytes = kept_bytes(script);
        if bytes > BYTES_MAX || self.scripts.contains_key(&script.digest) {
            return;
        }
        while self.seen.len() >= SEEN_MAX || self.seen_bytes + bytes > BYTES_MAX {
            self.forget_oldest();
        }
        self.seen.push_back(script.digest.clone());
        self.seen_bytes += bytes;
        let kept = Kept {
            script: script.clone(),
            is_loaded: false,
        };
        self.scripts.insert(script.digest.clone(), kept);
    }

    fn load(&mut self, script: &Arc<Script>) -> Result<(), Failure> {
        let bytes = kept_bytes(script);
        let known = self.scripts.get(&script.digest);
        if known.is_some_and(|known| known.is_loaded) {
            return Ok(());
        }
        if self.loaded_bytes + bytes > BYTES_MAX {
            return Err(Failure::Said(format!(
                "ERR the scripts that are loaded have at most {BYTES_MAX} bytes: SCRIPT FLUSH forgets them"
            )));
        }
        if known.is_some() {
            self.seen_bytes -= bytes;
            self.seen.retain(|seen| *seen != script.digest);
        }
        self.loaded_bytes += bytes;
        let kept = Kept {
            script: script.clone(),
            is_loaded: true,
        };
        self.scripts.insert(script.digest.clone(), kept);
        Ok(())
    }
}

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

    /// True if there is a script of this digest.
    pub fn has(&self, digest: &[u8]) -> bool {
        digest_in(digest).is_some_and(|digest| self.known().scripts.contains_key(&digest))
    }

    /// True if the script of this digest is known, and declares that it only reads.
    pub fn only_reads(&self, digest: &[u8]) -> bool {
        let known = self.known();
        let kept = digest_in(digest).and_then(|digest| known.scripts.get(&digest));
        kept.is_some_and(|kept| kept.script.only_reads)
    }

    /// Forgets all scripts.
    pub fn flush(&self) {
        *self.known() = Known::default();
        self.idle().clear();
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
    fn with<T, S: State>(
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

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Interpreter>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripts").finish_non_exhaustive()
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

fn digest_of(text: &[u8]) -> Digest {
    let mut digits = String::with_capacity(DIGITS);
    for byte in Sha1::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

fn digest_in(text: &[u8]) -> Option<Digest> {
    let text = std::str::from_utf8(text).ok()?;
    (text.len() == DIGITS).then(|| text.to_ascii_lowercase())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Arc<Script> {
        Arc::new(Script {
            digest: digest_of(text.as_bytes()),
            body: text.into(),
            only_reads: false,
            allows_more: None,
        })
    }

    #[test]
    fn the_oldest_that_were_seen_are_forgotten_and_the_loaded_are_kept() {
        let mut known = Known::default();
        let first = script("return 0");
        known.see(&first);
        known.load(&first).unwrap();
        for number in 1..=SEEN_MAX {
            known.see(&script(&format!("return {number}")));
        }
        assert!(known.scripts.contains_key(&first.digest));
        assert_eq!(known.scripts.len(), SEEN_MAX + 1);
        known.see(&script("return 'one more'"));
        assert_eq!(known.scripts.len(), SEEN_MAX + 1);
        assert!(!known.scripts.contains_key(&script("return 1").digest));
        // Large ones take the place of many.
        known.see(&script(&" ".repeat(BYTES_MAX - EACH_BYTES)));
        assert_eq!((known.scripts.len(), known.seen_bytes), (2, BYTES_MAX));
        known.see(&script("return 1"));
        let bytes = EACH_BYTES + "return 1".len();
        assert_eq!((known.scripts.len(), known.seen_bytes), (2, bytes));
        // Short ones take more than their text.
        for number in 0.. {
            if known.load(&script(&format!("return {number}"))).is_err() {
                assert!(number < BYTES_MAX / EACH_BYTES, "{number}");
                break;
            }
        }
        let large = script(&" ".repeat(BYTES_MAX));
        assert!(known.load(&large).is_err());
    }
}
