//! A secret of the processes of a database, so that no other process is taken for one of them. The processes are hosts and
//! the one that keeps their log, or nodes and their page server.
//!
//! It is sent over a connection that is not encrypted: it keeps out strangers that can connect, not those that can listen.
//! The time of a comparison does not show how much of a guess is right.

use crate::error::{CrateError, Error, Kind};
use crate::random::system_random;
use std::fmt;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 1024;

/// A secret text of 1 to [`TOKEN_BYTES_MAX`] bytes. Its `Debug` does not show it.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token(String);

/// Why a text is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It has no bytes, or too many.
    #[error("a token has 1 to {TOKEN_BYTES_MAX} bytes, this one has {bytes}")]
    Length {
        /// Its number of bytes, or one more than are read.
        bytes: usize,
    },
    /// Its file cannot be read.
    #[error("the token's file {file} cannot be read: {source}", file = file.display())]
    File {
        /// As an option or a variable named it.
        file: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
}

impl Token {
    /// This text as a token.
    ///
    /// # Errors
    /// [`TokenError::Length`].
    pub fn new(text: impl Into<String>) -> Result<Token, TokenError> {
        let text = text.into();
        match text.len() {
            1..=TOKEN_BYTES_MAX => Ok(Token(text)),
            bytes => Err(TokenError::Length { bytes }),
        }
    }

    /// A token that cannot be guessed: 192 bits, as text.
    #[inline]
    pub fn random() -> Token {
        let words: [u64; 3] = std::array::from_fn(|_| system_random());
        Token(words.map(|word| format!("{word:016x}")).concat())
    }

    /// Its bytes, to be sent to who asks for it.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The token in a file, without white space around it. A command line, which others can see, need not
    /// have it then.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn of_file(file: impl AsRef<Path>) -> Result<Token, TokenError> {
        let file = file.as_ref();
        let mut text = String::new();
        // A longer text, white space included, is no token, and may have no end.
        let read = std::fs::File::open(file).and_then(|open| {
            open.take(TOKEN_BYTES_MAX as u64 + 64)
                .read_to_string(&mut text)
        });
        read.map_err(|source| TokenError::File {
            file: file.to_path_buf(),
            source,
        })?;
        Token::new(text.trim())
    }
}

impl CrateError for TokenError {
    fn kind(&self) -> Kind {
        match self {
            TokenError::Length { .. } => Error::Refused,
            TokenError::File { .. } => Error::System,
        }
    }
}

impl PartialEq for Token {
    /// Takes as long for any other token of the same length.
    fn eq(&self, other: &Token) -> bool {
        let (here, there) = (self.0.as_bytes(), other.0.as_bytes());
        let differences = here
            .iter()
            .zip(there)
            .fold(0, |all, (here, there)| black_box(all | (here ^ there)));
        here.len() == there.len() && differences == 0
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_equal_if_all_their_bytes_are() {
        let token = |text: &str| Token::new(text).unwrap();
        assert_eq!(token("secret"), token("secret"));
        for other in ["secreT", "Secret", "secre", "secrets", "x"] {
            assert_ne!(token("secret"), token(other));
        }
        assert!(!format!("{:?}", token("secret")).contains("secret"));
        let (one, other) = (Token::random(), Token::random());
        assert!(one != other && one.as_bytes().len() == 48);
    }

    #[test]
    fn a_token_has_bytes_and_not_too_many_also_in_a_file() {
        assert!(Token::new("").is_err());
        assert!(Token::new("x".repeat(TOKEN_BYTES_MAX + 1)).is_err());
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("token");
        std::fs::write(&file, " secret\n").unwrap();
        assert_eq!(
            Token::of_file(&file).unwrap(),
            Token::new("secret").unwrap()
        );
        std::fs::write(&file, "\n").unwrap();
        assert!(Token::of_file(&file).is_err());
        assert!(Token::of_file("/dev/zero").is_err(), "it has no end");
        let absent = Token::of_file(directory.path().join("none")).unwrap_err();
        assert!(absent.to_string().contains("none"), "{absent}");
    }
}
