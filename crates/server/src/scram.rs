//! Passwords that the server does not know: SCRAM-SHA-256 (RFC 5802 and 7677), without channel binding.
//!
//! The server keeps a [`Verifier`] of a password, in PostgreSQL's text form. It checks that a client knows the
//! password, and does not help an attacker to authenticate. A client with an unknown name is asked all the same. Its
//! salt is constant for that name, so that names cannot be discovered.
//!
//! An exchange is a state machine without I/O: [`Exchange::begin`], [`Exchange::prove`].

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// Rounds of a new verifier.
pub const ITERATIONS: u32 = 4096;
/// The most rounds: a verifier with more would delay a login without bound.
pub const ITERATIONS_MAX: u32 = 10_000_000;
/// The longest password, in bytes.
pub const PASSWORD_BYTES_MAX: usize = 1024;

const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 18;

/// The verifier of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: NonZeroU32,
    salt: Vec<u8>,
    stored_key: [u8; KEY_BYTES],
    server_key: [u8; KEY_BYTES],
}

/// The reason why a client is refused, or a verifier is not valid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScramError {
    /// The message is not one of SCRAM.
    #[error("the client's message is not valid SCRAM-SHA-256: {0}")]
    Message(&'static str),
    /// The client demands that the connection's TLS is part of the proof.
    #[error("channel binding is not supported: connect with channel_binding=disable or prefer")]
    ChannelBinding,
    /// The password is wrong.
    #[error("the password is wrong")]
    Password,
    /// The text is not a verifier.
    #[error("not a verifier of the form SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY")]
    Verifier,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

impl Verifier {
    /// The verifier of a password, with a random salt.
    ///
    /// # Errors
    /// [`ScramError::Random`].
    pub fn of_password(password: &str) -> Result<Verifier, ScramError> {
        Ok(Verifier::with_salt(
            password,
            random::<SALT_BYTES>()?.to_vec(),
            ITERATIONS,
        ))
    }

    fn with_salt(password: &str, salt: Vec<u8>, iterations: u32) -> Verifier {
        let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
        let mut salted = [0; KEY_BYTES];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(
            algorithm,
            iterations,
            &salt,
            password.as_bytes(),
            &mut salted,
        );
        let client_key = sign(&salted, b"Client Key");
        Verifier {
            iterations,
            salt,
            stored_key: hash(&client_key),
            server_key: sign(&salted, b"Server Key"),
        }
    }

    /// Returns true if the password is correct. It takes as long as the client's part of SCRAM, by the number of
    /// rounds: do not call it on a thread that serves clients.
    pub fn matches(&self, password: &str) -> bool {
        let given = || Verifier::with_salt(password, self.salt.clone(), self.iterations.get());
        password.len() <= PASSWORD_BYTES_MAX && self.is_stored_key(&given().stored_key)
    }

    /// Compares signatures, so that the time does not reveal how much of the keys is equal.
    fn is_stored_key(&self, given: &[u8; KEY_BYTES]) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.server_key);
        let tag = hmac::sign(&key, &self.stored_key);
        hmac::verify(&key, given, tag.as_ref()).is_ok()
    }

    /// A verifier that no password matches, constant for a name and secret.
    pub fn of_nobody(name: &str, secret: &[u8; KEY_BYTES]) -> Verifier {
        let salt = sign(secret, name.as_bytes())[..SALT_BYTES].to_vec();
        Verifier {
            iterations: NonZeroU32::new(ITERATIONS).unwrap_or(NonZeroU32::MIN),
            salt,
            stored_key: sign(secret, b"stored"),
            server_key: sign(secret, b"server"),
        }
    }
}

impl FromStr for Verifier {
    type Err = ScramError;

    fn from_str(text: &str) -> Result<Self, ScramError> {
        let parse = || {
            let rest = text.strip_prefix("SCRAM-SHA-256$")?;
            let (parameters, keys) = rest.split_once('$')?;
            let (iterations, salt) = parameters.split_once(':')?;
            let (stored, server) = keys.split_once(':')?;
            let key = |text: &str| BASE64.decode(text).ok()?.try_into().ok();
            let iterations: NonZeroU32 = iterations.parse().ok()?;
            Some(Verifier {
                iterations: Some(iterations).filter(|count| count.get() <= ITERATIONS_MAX)?,
                salt: BASE64.decode(salt).ok().filter(|salt| !salt.is_empty())?,
                stored_key: key(stored)?,
                server_key: key(server)?,
            })
        };
        parse().ok_or(ScramError::Verifier)
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SCRAM-SHA-256${}:{}${}:{}",
            self.iterations,
            BASE64.encode(&self.salt),
            BASE64.encode(self.stored_key),
            BASE64.encode(self.server_key)
        )
    }
}

/// Without the keys.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

/// A client that is authenticating.
#[derive(Debug)]
pub struct Exchange {
    verifier: Verifier,
    nonce: String,
    /// The client's first message without its head, and the server's.
    said: String,
    header: String,
}

impl Exchange {
    /// Takes the client's first message. Returns the server's.
    ///
    /// # Errors
    /// The fault of the message.
    pub fn begin(verifier: Verifier, first: &[u8]) -> Result<(Exchange, String), ScramError> {
        let ours = BASE64.encode(random::<NONCE_BYTES>()?);
        Exchange::begin_with(verifier, first, &ours)
    }

    fn begin_with(
        verifier: Verifier,
        first: &[u8],
        ours: &str,
    ) -> Result<(Exchange, String), ScramError> {
        let first = utf8(first)?;
        // The header: the kind of channel binding, and the user's name (which is in the startup message).
        let binding = first.get(..1).unwrap_or_default();
        match binding {
            "n" | "y" => {}
            "p" => return Err(ScramError::ChannelBinding),
            _ => return Err(ScramError::Message("its header")),
        }
        let mut parts = first.splitn(3, ',');
        let (Some(flag), Some(name), Some(bare)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(ScramError::Message("its header"));
        };
        let header = format!("{flag},{name},");
        let nonce = attribute(bare, 'r').ok_or(ScramError::Message("no nonce"))?;
        let nonce = format!("{nonce}{ours}");
        let answer = format!(
            "r={nonce},s={},i={}",
            BASE64.encode(&verifier.salt),
            verifier.iterations
        );
        let exchange = Exchange {
            verifier,
            said: format!("{bare},{answer}"),
            nonce,
            header,
        };
        Ok((exchange, answer))
    }

    /// Takes the client's last message. Returns the server's, which proves that the server has the verifier.
    ///
    /// # Errors
    /// [`ScramError::Password`]; the fault of the message.
    pub fn prove(self, last: &[u8]) -> Result<String, ScramError> {
        let last = utf8(last)?;
        let (without_proof, proof) = last
            .rsplit_once(",p=")
            .ok_or(ScramError::Message("no proof"))?;
        let binding = attribute(without_proof, 'c').map(|text| BASE64.decode(text));
        let Some(Ok(binding)) = binding else {
            return Err(ScramError::Message("no channel binding"));
        };
        if binding != self.header.as_bytes() {
            return Err(ScramError::Message("another channel binding than at first"));
        }
        if attribute(without_proof, 'r') != Some(self.nonce.as_str()) {
            return Err(ScramError::Message("another nonce"));
        }
        let proof = BASE64.decode(proof).ok();
        let proof: Option<[u8; KEY_BYTES]> = proof.and_then(|proof| proof.try_into().ok());
        let mut client_key = proof.ok_or(ScramError::Message("its proof"))?;
        let said = format!("{},{without_proof}", self.said);
        let signature = sign(&self.verifier.stored_key, said.as_bytes());
        for (key, signed) in client_key.iter_mut().zip(signature) {
            *key ^= signed;
        }
        if !self.verifier.is_stored_key(&hash(&client_key)) {
            return Err(ScramError::Password);
        }
        let shown = sign(&self.verifier.server_key, said.as_bytes());
        Ok(format!("v={}", BASE64.encode(shown)))
    }
}

/// Random bytes of the system.
///
/// # Errors
/// [`ScramError::Random`].
pub fn random<const BYTES: usize>() -> Result<[u8; BYTES], ScramError> {
    use ring::rand::SecureRandom;
    let mut bytes = [0; BYTES];
    let filled = ring::rand::SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| ScramError::Random)
}

fn sign(key: &[u8], text: &[u8]) -> [u8; KEY_BYTES] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let mut signed = [0; KEY_BYTES];
    signed.copy_from_slice(tag.as_ref());
    signed
}

fn hash(bytes: &[u8]) -> [u8; KEY_BYTES] {
    let mut hashed = [0; KEY_BYTES];
    hashed.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hashed
}

fn utf8(bytes: &[u8]) -> Result<&str, ScramError> {
    std::str::from_utf8(bytes).map_err(|_| ScramError::Message("not UTF-8"))
}

/// The value of an attribute of a message.
fn attribute(message: &str, name: char) -> Option<&str> {
    let mut parts = message.split(',');
    parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_exchange_of_the_rfc() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::with_salt("pencil", salt, 4096);
        let first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
        let ours = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let (exchange, answer) = Exchange::begin_with(verifier, first, ours).unwrap();
        assert_eq!(
            answer,
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(
            exchange.prove(last.as_bytes()).unwrap(),
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        );
    }

    #[test]
    fn who_does_not_know_the_password_is_not_let_in() {
        let begin = |verifier| {
            let first = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
            let ours = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
            Exchange::begin_with(verifier, first, ours).unwrap().0
        };
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let other = Verifier::with_salt("pencils", salt, 4096);
        assert_eq!(
            begin(other).prove(last.as_bytes()),
            Err(ScramError::Password)
        );
        let nobody = Verifier::of_nobody("user", &[7; 32]);
        assert_eq!(nobody, Verifier::of_nobody("user", &[7; 32]));
        assert_eq!(
            begin(nobody).prove(last.as_bytes()),
            Err(ScramError::Password)
        );
        let replayed = last.replace("%hv", "%hw");
        let verifier = Verifier::of_password("pencil").unwrap();
        assert!(matches!(
            begin(verifier).prove(replayed.as_bytes()),
            Err(ScramError::Message(_))
        ));
    }

    #[test]
    fn a_password_that_is_said_as_it_is_is_compared() {
        let verifier = Verifier::of_password("pencil").unwrap();
        assert!(verifier.matches("pencil"));
        for wrong in ["", "pencils", "Pencil"] {
            assert!(!verifier.matches(wrong), "{wrong}");
        }
        let long = "x".repeat(PASSWORD_BYTES_MAX + 1);
        assert!(!Verifier::of_password(&long).unwrap().matches(&long));
        assert!(!Verifier::of_nobody("ada", &[7; 32]).matches("pencil"));
    }

    #[test]
    fn a_verifier_is_read_as_it_was_written() {
        let verifier = Verifier::of_password("pencil").unwrap();
        assert_eq!(verifier.to_string().parse(), Ok(verifier.clone()));
        assert!(verifier.matches("pencil") && !verifier.matches("pencils"));
        for wrong in [
            "",
            "md5abc",
            "SCRAM-SHA-256$0:AA==$AA==:AA==",
            "SCRAM-SHA-256$4096:$:",
        ] {
            assert_eq!(
                wrong.parse::<Verifier>(),
                Err(ScramError::Verifier),
                "{wrong}"
            );
        }
        assert!(!format!("{verifier:?}").contains(&BASE64.encode(verifier.server_key)));
    }

    #[test]
    fn a_client_that_binds_the_channel_is_told_so() {
        let verifier = Verifier::of_nobody("ada", &[1; 32]);
        let error = Exchange::begin(verifier, b"p=tls-server-end-point,,n=,r=x").unwrap_err();
        assert_eq!(error, ScramError::ChannelBinding);
    }
}
