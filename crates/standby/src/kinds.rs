//! Of which kind each error is, for a program that has one error type.

use crate::error::StandbyError;
use sardonyx_base::error::{CrateError, Error, Kind};

impl CrateError for StandbyError {
    fn kind(&self) -> Kind {
        match self {
            StandbyError::Forked => Error::Forked,
            StandbyError::Open(error) => error.kind(),
            StandbyError::Disk(error) => error.kind(),
            StandbyError::Log(error) => error.kind(),
            StandbyError::Manifest(error) => error.kind(),
            StandbyError::Recovery(error) => error.kind(),
            StandbyError::Checkpoint(error) => error.kind(),
            StandbyError::Listen { .. } | StandbyError::Thread(_) => Error::System,
            StandbyError::Refused(_)
            | StandbyError::Chain { .. }
            | StandbyError::NoGroup { .. }
            | StandbyError::Superseded => Error::Refused,
            StandbyError::Poisoned { .. } => Error::Poisoned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StandbyOptions, StandbyServer, Token};

    #[test]
    fn a_program_that_returns_its_error_prints_what_it_says() {
        let open = || -> Result<(), Error> {
            let token = Token::new("secret")?;
            let options = StandbyOptions::new().token(token).log_bytes_max(0);
            StandbyServer::open("never.sdx", options)?;
            Ok(())
        };
        let error = open().unwrap_err();
        assert!(matches!(error, Error::Refused(_)));
        // As `main` prints it.
        let printed = format!("{error:?}");
        assert!(
            printed.starts_with("the option log_bytes_max is 0"),
            "{printed}"
        );
        let nothing = Error::from(Token::new("").unwrap_err());
        assert!(
            format!("{nothing:?}").starts_with("a token has"),
            "{nothing:?}"
        );
    }
}
