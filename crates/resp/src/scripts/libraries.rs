//! Libraries of functions: the first line of their code, the registrations of the code, and calls of the functions.
//!
//! An interpreter keeps the libraries that it has run, by the digests of their codes. A library's local variables live as
//! long as the interpreter: they are no place for data, which keys are.

use super::Scripts;
use super::digest::digest_of;
use super::interpreter::{Running, check_memory};
use crate::command::line::{Line, split_words};
use crate::data::libraries::{ALLOW_OOM, Library, LibraryFunction, NO_WRITES};
use crate::data::{Data, State};
use crate::failure::Failure;
use crate::reply::Reply;

/// The name of a library's text in errors.
pub(super) const NAME: &str = "user_function";

impl Scripts {
    /// The library of a code, with the functions that it registers.
    ///
    /// # Errors
    /// Why it is none.
    pub fn register<S: State>(
        &self,
        data: &mut Data<'_, S>,
        code: &[u8],
    ) -> Result<(Library, Vec<LibraryFunction>), Failure> {
        let (name, body) = named(code)?;
        let library = Library {
            name: name.into_bytes(),
            code: code.to_vec(),
            digest: digest_of(code),
        };
        let mut functions = self.with(data, |interpreter, _| {
            interpreter.load_library(&library.digest, body)
        })?;
        functions.sort_by(|one, other| one.name.cmp(&other.name));
        match functions.is_empty() {
            true => Err(Failure::Told("ERR No functions registered")),
            false => Ok((library, functions)),
        }
    }

    /// Calls a function of a library.
    ///
    /// # Errors
    /// The error by which the function ends.
    pub fn call<S: State>(
        &self,
        data: &mut Data<'_, S>,
        (library, function): (&[u8], &[u8]),
        line: &Line,
        keys: usize,
        flags: u64,
    ) -> Result<Reply, Failure> {
        let (only_reads, allows_more) = (flags & NO_WRITES != 0, flags & ALLOW_OOM != 0);
        check_memory(data, Some(allows_more), only_reads)?;
        let gone = Failure::Told("ERR Function not found");
        let digest = data.library_digest(library)?.ok_or(gone)?;
        self.with(data, |interpreter, data| {
            if !interpreter.has_library(&digest) {
                let library = data.library(library)?;
                let code = library.map(|library| library.code).unwrap_or_default();
                let (_, body) = named(&code)?;
                interpreter.load_library(&digest, body)?;
            }
            let running = Running {
                source: NAME,
                name: &String::from_utf8_lossy(function),
                only_line: None,
                only_reads,
                allows_more,
            };
            let function = interpreter.function(&digest, function)?;
            interpreter.run_prepared(data, &running, line, keys, function)
        })
    }
}

/// The name that a code's first line says, and the code without that line, whose end is left so that lines keep their
/// numbers.
fn named(code: &[u8]) -> Result<(String, &[u8]), Failure> {
    if !code.starts_with(b"#!") {
        return Err(Failure::Told("ERR Missing library metadata"));
    }
    let end = code.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(Failure::Told("ERR Invalid library metadata"))?;
    let wrong = Failure::Told("ERR Invalid library metadata");
    let words = split_words(code.get(..end).unwrap_or_default()).ok_or(wrong)?;
    let mut words = words.iter().map(|word| String::from_utf8_lossy(word));
    let engine = words.next().unwrap_or_default();
    let engine = engine.strip_prefix("#!").unwrap_or_default();
    let mut name = None;
    for word in words {
        let Some(given) = word.strip_prefix("name=") else {
            return Err(Failure::Said(format!(
                "ERR Invalid metadata value given: {word}"
            )));
        };
        if name.replace(given.to_string()).is_some() {
            return Err(Failure::Told(
                "ERR Invalid metadata value, name argument was given multiple times",
            ));
        }
    }
    let name = name.ok_or(Failure::Told("ERR Library name was not given"))?;
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_right) {
        return Err(Failure::Told(
            "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
        ));
    }
    if !engine.eq_ignore_ascii_case("lua") {
        return Err(Failure::Said(format!("ERR Engine '{engine}' not found")));
    }
    Ok((name, code.get(end..).unwrap_or_default()))
}
