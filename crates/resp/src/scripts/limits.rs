//! What a script may take, and the errors that it is told by functions of the program's.

use mlua::Lua;
use sardonyx_base::random::Random;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many functions of the program's call back at a time.
const CALLBACKS_MAX: usize = 10;

/// What a script has left.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub steps: AtomicI64,
    pub is_over: AtomicBool,
    random: Mutex<Option<Random>>,
    /// The version of the protocol that its commands answer with.
    pub is_new: AtomicBool,
    /// How many functions of the program's call back at a time.
    pub callbacks: AtomicUsize,
}

impl Limits {
    /// Calls back a function of the script's, which takes a part of the stack of the program's thread.
    pub fn call_back<T>(
        &self,
        lua: &Lua,
        call: impl FnOnce() -> mlua::Result<T>,
    ) -> mlua::Result<T> {
        if self.callbacks.load(Ordering::Relaxed) >= CALLBACKS_MAX {
            return Err(Raised::here(lua, "C stack overflow".into()));
        }
        self.callbacks.fetch_add(1, Ordering::Relaxed);
        let called = call();
        self.callbacks.fetch_sub(1, Ordering::Relaxed);
        called
    }

    /// Takes steps; false if there are none.
    pub fn take(&self, steps: i64) -> bool {
        let left = self.steps.fetch_sub(steps, Ordering::Relaxed);
        if left <= steps {
            self.is_over.store(true, Ordering::Relaxed);
        }
        !self.is_over.load(Ordering::Relaxed)
    }

    /// The next random number.
    pub fn next_random(&self) -> u64 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.get_or_insert_with(|| Random::new(0)).next()
    }

    /// Begins with other random numbers.
    pub fn seed(&self, seed: u64) {
        let random = self.random.lock();
        *random.unwrap_or_else(PoisonError::into_inner) = Some(Random::new(seed));
    }
}

/// An error that a script is told: a whole answer, or a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum Raised {
    /// Of a command, with its code.
    #[error("{0}")]
    Answer(String),
    /// Of a library's function, with where it was called.
    #[error("{0}")]
    Sentence(String),
}

impl Raised {
    /// With a code, of a function of the library `redis`.
    pub fn refused(text: &str) -> mlua::Error {
        mlua::Error::external(Raised::Answer(format!("ERR {text}")))
    }

    /// With where the function that runs was called.
    pub fn here(lua: &Lua, text: String) -> mlua::Error {
        let place = lua.inspect_stack(1, |debug| {
            let source = debug.source().short_src.map(|source| source.into_owned());
            source.zip(debug.current_line())
        });
        mlua::Error::external(Raised::Sentence(match place.flatten() {
            Some((source, line)) => format!("{source}:{line}: {text}"),
            None => text,
        }))
    }

    /// The same in an error of the interpreter's.
    pub fn of(error: &mlua::Error) -> Option<&Raised> {
        match error {
            mlua::Error::CallbackError { cause, .. } => Raised::of(cause),
            mlua::Error::ExternalError(error) => error.downcast_ref(),
            _ => None,
        }
    }
}

/// That a script has no steps left.
pub(super) fn too_long() -> mlua::Error {
    mlua::Error::runtime("the script has run for too long")
}
