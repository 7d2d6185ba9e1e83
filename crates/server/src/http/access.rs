//! Access control over HTTP, by Basic authentication (RFC 7617) with the users' verifiers.
//!
//! | | no users configured | users, at an address of this host alone | users, at another address (with TLS) |
//! | --- | --- | --- | --- |
//! | `/livez`, `/readyz` | all | all | all |
//! | `/metrics`, `/`, `/api/state` | all | all | users |
//! | statements in `/api/state` | all | users who may read all tables | users who may read all tables |
//!
//! A comparison is slow on purpose ([`crate::passwords`]). A connection that repeats its password is compared once.

use crate::passwords::Passwords;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::sync::Arc;

/// The longest Authorization header that is read, in bytes.
const CREDENTIALS_BYTES_MAX: usize = 4096;

/// The part of the state that a client may see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sight {
    /// Liveness and readiness.
    Health,
    /// Everything except statements.
    Figures,
    /// Everything.
    Statements,
}

/// The name or the password is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrong;

/// The access control.
#[derive(Debug)]
pub struct Gate(Arc<Passwords>);

/// The credentials that a connection has shown before.
#[derive(Debug, Default)]
pub struct Shown(Option<(Vec<u8>, Sight)>);

impl Gate {
    /// The access control of these users.
    pub fn new(passwords: Arc<Passwords>) -> Self {
        Gate(passwords)
    }

    /// Returns true if users are configured.
    pub fn has_users(&self) -> bool {
        self.0.has_users()
    }

    /// The sight of a client without credentials.
    pub fn sight_of_anybody(&self, is_local: bool) -> Sight {
        match (self.has_users(), is_local) {
            (false, _) => Sight::Statements,
            (true, true) => Sight::Figures,
            (true, false) => Sight::Health,
        }
    }

    /// The sight of a client with this Authorization header.
    ///
    /// # Errors
    /// [`Wrong`].
    pub async fn sight(
        &self,
        is_local: bool,
        header: Option<&[u8]>,
        shown: &mut Shown,
    ) -> Result<Sight, Wrong> {
        let anybody = self.sight_of_anybody(is_local);
        let Some(header) = header.filter(|_| self.has_users()) else {
            return Ok(anybody);
        };
        if let Some((before, sight)) = &shown.0
            && before == header
        {
            return Ok(*sight);
        }
        let (name, password) = credentials(header).ok_or(Wrong)?;
        let user = self.0.user(&name, &password).await.ok_or(Wrong)?;
        let sight = match user.may_read_all() {
            true => Sight::Statements,
            false => Sight::Figures,
        };
        let sight = sight.max(anybody);
        shown.0 = Some((header.to_vec(), sight));
        Ok(sight)
    }
}

/// The name and password in an Authorization header.
fn credentials(header: &[u8]) -> Option<(String, String)> {
    if header.len() > CREDENTIALS_BYTES_MAX {
        return None;
    }
    let (scheme, encoded) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.into(), password.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Right, User};
    use crate::scram::Verifier;
    use std::collections::BTreeMap;

    fn gate() -> Gate {
        let user = |password: &str, tables| User {
            verifier: Verifier::of_password(password).unwrap(),
            tables,
            table: BTreeMap::new(),
            keys: tables,
        };
        let users = BTreeMap::from([
            ("ada".to_string(), user("pen:cil", Right::Read)),
            ("shop".to_string(), user("x", Right::None)),
        ]);
        Gate::new(Arc::new(Passwords::new(users, [7; 32])))
    }

    fn basic(text: &str) -> Vec<u8> {
        format!("Basic {}", BASE64_STANDARD.encode(text)).into_bytes()
    }

    #[test]
    fn who_shows_a_password_sees_more() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let gate = gate();
        let sight = |is_local, header: Option<&[u8]>| {
            runtime.block_on(gate.sight(is_local, header, &mut Shown::default()))
        };
        assert_eq!(sight(true, None), Ok(Sight::Figures));
        assert_eq!(sight(false, None), Ok(Sight::Health));
        for is_local in [true, false] {
            assert_eq!(
                sight(is_local, Some(&basic("ada:pen:cil"))),
                Ok(Sight::Statements)
            );
            assert_eq!(sight(is_local, Some(&basic("shop:x"))), Ok(Sight::Figures));
            for wrong in ["ada:", "ada:pen", "eve:pen:cil", "ada", ""] {
                assert_eq!(sight(is_local, Some(&basic(wrong))), Err(Wrong), "{wrong}");
            }
            for wrong in [
                &b"Basic"[..],
                b"Basic !",
                b"Bearer YWRh",
                b"\xff\xff",
                &[b'x'; 5000],
            ] {
                assert_eq!(sight(is_local, Some(wrong)), Err(Wrong));
            }
        }
        let nobody = Gate::new(Arc::new(Passwords::new(BTreeMap::new(), [7; 32])));
        let mut shown = Shown::default();
        let sight = nobody.sight(true, Some(b"Basic x"), &mut shown);
        assert_eq!(runtime.block_on(sight), Ok(Sight::Statements));
    }

    #[test]
    fn what_a_connection_has_shown_holds_for_the_same_header_alone() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let (gate, mut shown) = (gate(), Shown::default());
        let mut sight =
            |header: &[u8]| runtime.block_on(gate.sight(false, Some(header), &mut shown));
        let right = basic("ada:pen:cil");
        assert_eq!(sight(&right), Ok(Sight::Statements));
        assert_eq!(sight(&basic("ada:pencil")), Err(Wrong));
        assert_eq!(sight(&basic("shop:x")), Ok(Sight::Figures));
        assert_eq!(sight(&right), Ok(Sight::Statements));
    }
}
