//! The client's credentials and the server's: from the environment, with the names of NATS's own
//! tools.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `NATS_CREDS` | a file with a JWT and its seed |
//! | `NATS_NKEY` | a file with the seed of an nkey |
//! | `NATS_USER`, `NATS_PASSWORD` | a user |
//! | `NATS_TOKEN` | a token |
//! | `NATS_CA` | a file with certificates of authorities, instead of the system's |
//! | `NATS_CERT`, `NATS_KEY` | files with a certificate and its key, to show to servers |

use crate::variables::Variables;
use async_nats::ConnectOptions;
use sardonyx_storage::remote_log::store::StoreError;
use std::path::PathBuf;

/// The contents of the environment. Its `Debug` would show secrets, so it has none.
#[derive(Default)]
pub(super) struct Credentials {
    creds: Option<String>,
    nkey: Option<String>,
    user: Option<String>,
    password: Option<String>,
    token: Option<String>,
    ca: Option<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
}

impl Credentials {
    /// From the variables that this gives, for the log at this place.
    ///
    /// # Errors
    /// A file that is named cannot be read; two that belong together are not both named.
    pub fn from(
        place: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Credentials, StoreError> {
        let variables = Variables::new(place, variable);
        let text = |name: &str| {
            let Some(bytes) = variables.file(name)? else {
                return Ok(None);
            };
            let text = String::from_utf8(bytes).map(|text| Some(text.trim().to_string()));
            text.map_err(|_| variables.wrong(format!("the file that {name} names is no text")))
        };
        let user = variables.both("NATS_USER", "NATS_PASSWORD")?;
        let (user, password) = user.unzip();
        let certificate = variables.both("NATS_CERT", "NATS_KEY")?;
        Ok(Credentials {
            creds: text("NATS_CREDS")?,
            nkey: text("NATS_NKEY")?,
            user,
            password,
            token: variables.get("NATS_TOKEN"),
            ca: variables.get("NATS_CA").map(PathBuf::from),
            certificate: certificate.map(|(one, other)| (one.into(), other.into())),
        })
    }

    /// The texts that must never be shown.
    pub fn secrets(&self) -> Vec<String> {
        let secrets = [&self.creds, &self.nkey, &self.password, &self.token];
        secrets.into_iter().flatten().cloned().collect()
    }

    /// The client's options with these.
    ///
    /// # Errors
    /// The file of credentials contains something else.
    pub fn options(&self, place: &str) -> Result<ConnectOptions, StoreError> {
        let mut options = ConnectOptions::new();
        if let Some(creds) = &self.creds {
            options = options.credentials(creds).map_err(|_| StoreError::Place {
                place: place.into(),
                reason: "the file that NATS_CREDS names has no JWT and seed in it".into(),
            })?;
        }
        if let Some(seed) = &self.nkey {
            options = options.nkey(seed.clone());
        }
        if let (Some(user), Some(password)) = (&self.user, &self.password) {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(token) = &self.token {
            options = options.token(token.clone());
        }
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_never_shown() {
        let from = |set: &'static [(&str, &str)]| {
            let found = move |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.to_string())
            };
            Credentials::from("here", found)
        };
        let all = from(&[
            ("NATS_USER", "u"),
            ("NATS_PASSWORD", "hunter2"),
            ("NATS_TOKEN", "hunter3"),
        ]);
        assert_eq!(all.unwrap().secrets(), ["hunter2", "hunter3"]);
        let none = from(&[("NATS_USER", ""), ("NATS_CREDS", "")]).unwrap();
        assert!(none.secrets().is_empty());
        for (set, says) in [
            (&[("NATS_PASSWORD", "hunter2")][..], "NATS_USER and"),
            (&[("NATS_CERT", "hunter2")][..], "NATS_CERT and"),
            (&[("NATS_CREDS", "/no/hunter2")][..], "NATS_CREDS names"),
        ] {
            let error = from(set).err().unwrap().to_string();
            assert!(
                error.contains(says) && !error.contains("hunter2"),
                "{error}"
            );
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter2").unwrap();
        let path = file.path().to_string_lossy().into_owned();
        let wrong = |name: &str| (name == "NATS_CREDS").then(|| path.clone());
        let wrong = Credentials::from("here", wrong).unwrap();
        let error = wrong.options("here").err().unwrap().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
