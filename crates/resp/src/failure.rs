//! Why a command is not done, in Redis' words.
//!
//! Programs act on these texts, so they are Redis' to the letter. A command that fails with one has changed nothing,
//! except where [`Failure::undoes`] says that its transaction must be given up.

use sardonyx::Error;
use sardonyx_base::memory::Exhausted;

/// The failure of a command. Its text is the answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The key has a value of another kind.
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    /// Words that the command does not have.
    #[error("ERR syntax error")]
    Syntax,
    /// No integer of 64 bits.
    #[error("ERR value is not an integer or out of range")]
    NotInteger,
    /// No float.
    #[error("ERR value is not a valid float")]
    NotFloat,
    /// A fixed text, sent as it is.
    #[error("{0}")]
    Told(&'static str),
    /// A text made for this call.
    #[error("{0}")]
    Said(String),
    /// The command has another number of arguments.
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arguments(String),
    /// A function that may write is called by a command that only reads.
    #[error("ERR Can not execute a script with write flag using *_ro command.")]
    Writes,
    /// The message of a registered function.
    #[error("ERR {0}")]
    Function(String),
    /// The database failed or refused; the transaction is undone.
    #[error("ERR {0}")]
    Engine(#[from] Error),
    /// An answer of more than so many bytes.
    #[error("ERR more than {0} bytes would be gathered for the answer: ask for less at once")]
    AnswerBytes(usize),
    /// There is no memory for an answer, or for data to store.
    #[error("OOM {0}")]
    Memory(#[from] Exhausted),
    /// Any of the others, of a registered function, which may have written before.
    #[error(transparent)]
    OfFunction(Box<Failure>),
}

/// The refusal of a command that may add data, beyond `maxmemory`.
pub(crate) const NO_MEMORY: Failure =
    Failure::Told("OOM command not allowed when used memory > 'maxmemory'.");

impl Failure {
    /// True if a command may be half done, so that the whole transaction must be undone. The engine, a function or the
    /// bound of answers fails a command while it runs; Redis' rules fail it before.
    pub fn undoes(&self) -> bool {
        matches!(
            self,
            Failure::Engine(_)
                | Failure::Function(_)
                | Failure::OfFunction(_)
                | Failure::AnswerBytes(_)
                | Failure::Memory(_)
        )
    }

    /// The same as a failure of a registered function: with its text, but it undoes.
    pub(crate) fn of_function(self) -> Failure {
        match self.undoes() {
            true => self,
            false => Failure::OfFunction(Box::new(self)),
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Failure::Function(text)
    }
}
