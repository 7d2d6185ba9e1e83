//! A store whose keeper cannot read its content: entries, registers and objects are encrypted before they are sent.
//!
//! Each is encrypted with AES-256-GCM under a key of its own. HKDF-SHA256 derives the key from a secret key and 32
//! random bytes, so no two of any number have the same key and nonce. Its number or name is authenticated, too, so it
//! cannot be put in another's place. Names, numbers and lengths can be seen by the keeper.
//!
//! ```text
//!   "SdxS" | 8 bytes that name the secret key | 32 random bytes | the encrypted content | 16 bytes that authenticate it
//! ```
//!
//! *Rotation.* There may be several secret keys: the first one encrypts, all decrypt. So put a new one in front on
//! every host. Remove an old one when nothing encrypted with it is kept any more.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, RemotePlace};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"SdxS";
const ID_BYTES: usize = 8;
const SALT_BYTES: usize = 32;
const HEAD_BYTES: usize = MAGIC.len() + ID_BYTES + SALT_BYTES;
const TAG_BYTES: usize = 16;

/// The bytes that encryption adds.
pub const ENCRYPTION_BYTES: usize = HEAD_BYTES + TAG_BYTES;

/// The most bytes of a file with keys.
const FILE_BYTES_MAX: usize = 64 << 10;

/// Secret keys: the first one encrypts, all decrypt.
#[derive(Clone)]
pub struct Keys(Arc<[Key]>);

struct Key {
    /// Its name: derived from it, without revealing it.
    id: [u8; ID_BYTES],
    secret: Prk,
}

/// Without the secret part.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|key| shown(key.id)))
            .finish()
    }
}

fn shown(id: [u8; ID_BYTES]) -> String {
    format!("{:016x}", u64::from_be_bytes(id))
}

/// A length that is wanted of a derived key.
#[derive(Clone, Copy)]
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<const N: usize>(secret: &Prk, what: &[u8]) -> Option<[u8; N]> {
    let mut derived = [0; N];
    let info = [what];
    let expanded = secret.expand(&info, Length(N)).ok()?;
    expanded.fill(&mut derived).ok()?;
    Some(derived)
}

impl Keys {
    /// Reads keys from a file: a line for each key, 64 hexadecimal digits, the one that encrypts first; empty lines
    /// and those that begin with `#` are left out. (`openssl rand -hex 32` makes one.)
    ///
    /// # Errors
    /// [`StoreError::Place`], which shows nothing of the file's content.
    pub fn of_file(file: &Path) -> Result<Keys, StoreError> {
        let wrong = |reason: String| StoreError::Place {
            place: format!("the file of keys {}", file.display()),
            reason,
        };
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        if text.len() > FILE_BYTES_MAX {
            return Err(wrong(format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        Keys::of_text(&text).map_err(wrong)
    }

    fn of_text(text: &str) -> Result<Keys, String> {
        let mut keys: Vec<Key> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at = number + 1;
            let secret = hexadecimal(line)
                .ok_or_else(|| format!("line {at} is no key of 64 hexadecimal digits"))?;
            let secret = Salt::new(HKDF_SHA256, b"sardonyx store").extract(&secret);
            let id = derive(&secret, b"id").ok_or("a key cannot be used")?;
            if keys.iter().any(|key| key.id == id) {
                return Err(format!("line {at} repeats a key"));
            }
            keys.push(Key { id, secret });
        }
        match keys.is_empty() {
            true => Err("it has no key: a line of 64 hexadecimal digits is one".into()),
            false => Ok(Keys(keys.into())),
        }
    }

    fn seal(&self, what: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let key = self.0.first()?;
        let mut sealed = Vec::with_capacity(bytes.len() + ENCRYPTION_BYTES);
        sealed.extend_from_slice(MAGIC);
        sealed.extend_from_slice(&key.id);
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).ok()?;
        sealed.extend_from_slice(&salt);
        sealed.extend_from_slice(bytes);
        let (head, content) = sealed.split_at_mut(HEAD_BYTES);
        let aad = Aad::from([&*head, what.as_bytes()].concat());
        let one_key = one_key(key, &salt)?;
        let tag = one_key.seal_in_place_separate_tag(no_nonce(), aad, content);
        sealed.extend_from_slice(tag.ok()?.as_ref());
        Some(sealed)
    }

    /// The sealed content, or the reason that it cannot be read.
    fn open(&self, what: &str, mut sealed: Vec<u8>) -> Result<Vec<u8>, String> {
        let head = sealed.get(..HEAD_BYTES).unwrap_or_default().to_vec();
        let Some((magic, rest)) = head.split_first_chunk::<4>() else {
            return Err("it is not encrypted: it was written without keys, or cut".into());
        };
        let Some((id, salt)) = rest.split_first_chunk::<ID_BYTES>() else {
            return Err("it is cut".into());
        };
        if magic != MAGIC {
            return Err("it is not encrypted: it was written without keys".into());
        }
        let Some(key) = self.0.iter().find(|key| key.id == *id) else {
            return Err(format!(
                "it was encrypted with the key {}, which is not among those given",
                shown(*id)
            ));
        };
        let changed = || "it was changed, or is in another's place".to_string();
        let one_key = one_key(key, salt).ok_or_else(changed)?;
        let aad = Aad::from([&*head, what.as_bytes()].concat());
        let opened = one_key.open_within(no_nonce(), aad, &mut sealed, HEAD_BYTES..);
        let length = opened.map_err(|_| changed())?.len();
        sealed.truncate(length);
        Ok(sealed)
    }
}

fn hexadecimal(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        *byte = u8::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'))?;
    }
    Some(bytes)
}

/// The key of one thing alone.
fn one_key(key: &Key, salt: &[u8]) -> Option<LessSafeKey> {
    let bytes: [u8; 32] = derive(&key.secret, salt)?;
    Some(LessSafeKey::new(
        UnboundKey::new(&AES_256_GCM, &bytes).ok()?,
    ))
}

/// A key that is used once needs none.
fn no_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

/// A store in which everything is encrypted.
#[derive(Debug)]
pub struct EncryptedLog {
    store: Arc<dyn RemotePlace>,
    keys: Keys,
}

impl EncryptedLog {
    /// This store, with these keys. Everything in it is to be encrypted with one of them.
    pub fn new(store: Arc<dyn RemotePlace>, keys: Keys) -> Self {
        EncryptedLog { store, keys }
    }

    fn seal(&self, what: &str, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.keys
            .seal(what, bytes)
            .ok_or_else(|| self.unreadable(what, "the system gave no random bytes".into()))
    }

    fn open(&self, what: &str, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        let opened = self.keys.open(what, bytes);
        opened.map_err(|reason| self.unreadable(what, reason))
    }

    fn open_entry(
        &self,
        number: u64,
        found: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        match found {
            // Nothing encrypted is so short: it is the rest of an entry that was being deleted, and readers find that
            // it is none.
            Some(bytes) if bytes.is_empty() => Ok(Some(bytes)),
            found => found
                .map(|bytes| self.open(&entry(number), bytes))
                .transpose(),
        }
    }

    fn unreadable(&self, what: &str, reason: String) -> StoreError {
        StoreError::Encryption {
            what: what.into(),
            place: self.store.place(),
            reason,
        }
    }
}

fn entry(number: u64) -> String {
    format!("entry {number}")
}

fn register_name(register: Register) -> String {
    format!("register {}", register.name())
}

fn object(name: &str) -> String {
    format!("object {name}")
}

fn without_encryption(bytes: u64) -> u64 {
    bytes.saturating_sub(ENCRYPTION_BYTES as u64)
}

impl RemoteStore for EncryptedLog {
    fn place(&self) -> String {
        self.store.place()
    }

    fn is_near(&self) -> bool {
        self.store.is_near()
    }

    fn entry_bytes_max(&self) -> u64 {
        without_encryption(self.store.entry_bytes_max())
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.store
            .append_at(number, &self.seal(&entry(number), bytes)?)
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.open_entry(number, self.store.read(number)?)
    }

    fn read_several(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let found = numbers.iter().zip(self.store.read_several(numbers)?);
        found
            .map(|(number, found)| self.open_entry(*number, found))
            .collect()
    }

    fn read_elsewhere(&self, number: u64, attempt: u32) -> Result<Option<Vec<u8>>, StoreError> {
        self.open_entry(number, self.store.read_elsewhere(number, attempt)?)
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let mut listed = self.store.list(from)?;
        for listed in &mut listed {
            listed.bytes = without_encryption(listed.bytes);
        }
        Ok(listed)
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.store.remove(numbers)
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        let found = self.store.read_register(register)?;
        found
            .map(|stored| {
                Ok(StoredRegister {
                    bytes: self.open(&register_name(register), stored.bytes)?,
                    version: stored.version,
                })
            })
            .transpose()
    }

    fn register_version(&self, register: Register) -> Result<Option<RegisterVersion>, StoreError> {
        self.store.register_version(register)
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let sealed = self.seal(&register_name(register), bytes)?;
        self.store.swap_register(register, expected, &sealed)
    }
}

impl RemoteObjects for EncryptedLog {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.store
            .create_object(name, &self.seal(&object(name), bytes)?)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.store.read_object(name)?;
        found
            .map(|bytes| self.open(&object(name), bytes))
            .transpose()
    }

    fn read_object_elsewhere(
        &self,
        name: &str,
        attempt: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.store.read_object_elsewhere(name, attempt)?;
        found
            .map(|bytes| self.open(&object(name), bytes))
            .transpose()
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        let mut listed = self.store.list_objects(folder)?;
        for listed in &mut listed {
            listed.bytes = without_encryption(listed.bytes);
        }
        Ok(listed)
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.store.remove_objects(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::damaging::Damaging;
    use sardonyx_storage::remote_log::RemoteLogError;
    use sardonyx_storage::remote_log::entry::EntryBuilder;
    use sardonyx_storage::remote_log::position::EntryPosition;
    use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter};
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    fn keys(numbers: &[u8]) -> Keys {
        let lines: Vec<String> = numbers
            .iter()
            .map(|number| format!("{number:02x}").repeat(32))
            .collect();
        Keys::of_text(&lines.join("\n")).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_with_its_key_in_its_place_and_unchanged() {
        let keys = keys(&[1, 2]);
        for length in [0, 1, 72, 5000] {
            let bytes = vec![7; length];
            let sealed = keys.seal("entry 1", &bytes).unwrap();
            assert_eq!(sealed.len(), length + ENCRYPTION_BYTES);
            assert_ne!(
                sealed,
                keys.seal("entry 1", &bytes).unwrap(),
                "each its own"
            );
            assert_eq!(keys.open("entry 1", sealed.clone()), Ok(bytes));
            assert!(keys.open("entry 2", sealed.clone()).is_err(), "its place");
            for at in (0..sealed.len()).step_by(1 + length / 100) {
                let mut changed = sealed.clone();
                changed[at] ^= 1;
                assert!(keys.open("entry 1", changed).is_err(), "byte {at}");
                assert!(keys.open("entry 1", sealed[..at].to_vec()).is_err());
            }
        }
    }

    #[test]
    fn a_new_key_encrypts_and_old_ones_decrypt() {
        let (old, both, new) = (keys(&[1]), keys(&[2, 1]), keys(&[2]));
        let before = old.seal("x", b"before").unwrap();
        let after = both.seal("x", b"after").unwrap();
        assert_eq!(both.open("x", before.clone()).unwrap(), b"before");
        assert_eq!(new.open("x", after.clone()).unwrap(), b"after");
        let error = old.open("x", after).unwrap_err();
        assert!(error.contains("not among those given"), "{error}");
        let error = new.open(
            "x",
            b"in the clear, and long enough to be read as a head".to_vec(),
        );
        assert!(error.unwrap_err().contains("without keys"));
    }

    #[test]
    fn an_answer_that_cannot_be_decrypted_is_asked_for_again() {
        let store = Arc::new(Damaging::default());
        let log = Arc::new(EncryptedLog::new(store.clone(), keys(&[1])));
        let patience = Patience {
            pause: Duration::ZERO,
            pause_most: Duration::ZERO,
            ..Patience::default()
        };
        let start = EntryPosition::START;
        let claimed = RemoteWriter::claim(log.clone(), 7, start, patience, |_| {
            Ok::<(), RemoteLogError>(())
        });
        let mut writer = claimed.unwrap();
        let mut entry = EntryBuilder::new();
        entry.push(b"group");
        writer.append(entry).unwrap();
        for damaged in 0..5 {
            let mut follower = Follower::new(log.clone(), 7, start, patience);
            store.damaged.store(damaged, Ordering::SeqCst);
            let first = follower.next_entry();
            store.damaged.store(0, Ordering::SeqCst);
            match damaged {
                0..=3 => assert!(first.unwrap().is_some()),
                _ => {
                    let error = first.unwrap_err();
                    let RemoteLogError::Store(StoreError::Encryption { .. }) = error else {
                        panic!("{error}");
                    };
                }
            }
        }
    }

    #[test]
    fn files_of_keys_are_read_and_nothing_of_a_wrong_one_is_shown() {
        let secret = "a1".repeat(32);
        let read = Keys::of_text(&format!("# made on Monday\n\n  {secret}  \n")).unwrap();
        assert!(!format!("{read:?}").contains("a1a1"), "{read:?}");
        for (text, says) in [
            (String::new(), "no key"),
            ("# nothing".into(), "no key"),
            (format!("{secret}\n{secret}"), "line 2 repeats"),
            (format!("{secret}0"), "line 1 is no key"),
            (format!("\n{}+1", &secret[..62]), "line 2 is no key"),
            (format!("{}zz", &secret[..62]), "line 1 is no key"),
        ] {
            let error = Keys::of_text(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("a1a1"), "{error}");
        }
    }
}
