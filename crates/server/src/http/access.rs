//! Who may see what over HTTP, by Basic authentication (RFC 7617) against what is known of the users' passwords.
//!
//! | | nobody is a user | users, at an address of this host alone | users, at another address (with TLS) |
//! | --- | --- | --- | --- |
//! | `/livez`, `/readyz` | all | all | all |
//! | `/metrics`, `/`, `/api/state` | all | all | users |
//! | statements in `/api/state` | all | users who may read all tables | users who may read all tables |
//!
//! A password is compared as slowly as it must be, so: one at a time for the whole server, not on a thread that serves
//! others, and once for a connection that says the same again.

use crate::options::User;
use crate::scram::Verifier;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The longest header with a password that is looked at, in bytes.
const CREDENTIALS_BYTES_MAX: usize = 4096;

/// What a client may see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sight {
    /// Whether the server lives and is ready.
    Health,
    /// All but statements.
    Figures,
    /// All.
    Statements,
}

/// That somebody gave a name or password that is not right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrong;

/// Who may see what.
#[derive(Debug)]
pub struct Gate {
    users: BTreeMap<String, User>,
    /// Of names that are no user's.
    secret: [u8; 32],
    one_at_a_time: Semaphore,
}

/// What a connection has shown before.
#[derive(Debug, Default)]
pub struct Shown(Option<(Vec<u8>, Sight)>);

impl Gate {
    /// For these users; `secret` is known to nobody.
    pub fn new(users: BTreeMap<String, User>, secret: [u8; 32]) -> Self {
        Gate {
            users,
            secret,
            one_at_a_time: Semaphore::new(1),
        }
    }

    /// Whether there are users.
    pub fn has_users(&self) -> bool {
        !self.users.is_empty()
    }

    /// What a client may see who shows nothing.
    pub fn sight_of_anybody(&self, is_local: bool) -> Sight {
        match (self.has_users(), is_local) {
            (false, _) => Sight::Statements,
            (true, true) => Sight::Figures,
            (true, false) => Sight::Health,
        }
    }

    /// What a client may see who shows this Authorization header.
    ///
    /// # Errors
    /// [`Wrong`].
    pub async fn sight(
        self: &Arc<Self>,
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
        let credentials = credentials(header).ok_or(Wrong)?;
        // The semaphore is never closed.
        let turn = self.one_at_a_time.acquire().await.map_err(|_| Wrong)?;
        let gate = self.clone();
        let compared = tokio::task::spawn_blocking(move || gate.compare(&credentials));
        let sight = compared.await.map_err(|_| Wrong)??.max(anybody);
        drop(turn);
        shown.0 = Some((header.to_vec(), sight));
        Ok(sight)
    }

    fn compare(&self, (name, password): &(String, String)) -> Result<Sight, Wrong> {
        let user = self.users.get(name);
        let is_right = match user {
            Some(user) => user.verifier.matches(password),
            // As long as for one that there is.
            None => Verifier::of_nobody(name, &self.secret).matches(password),
        };
        match user.filter(|_| is_right) {
            Some(user) if user.may_read_all() => Ok(Sight::Statements),
            Some(_) => Ok(Sight::Figures),
            None => Err(Wrong),
        }
    }
}

/// The name and password of an Authorization header.
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
    use crate::options::Right;

    fn gate() -> Arc<Gate> {
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
        Arc::new(Gate::new(users, [7; 32]))
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
        let nobody = Arc::new(Gate::new(BTreeMap::new(), [7; 32]));
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
