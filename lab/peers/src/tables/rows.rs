//! The rows: accounts of a hundred bytes, and customers with texts, all drawn from their ids, so that the expected
//! answers are known without keeping them.

use sardonyx::{Record, record};
use sardonyx_base::resident::Resident;
use sardonyx_lab::Failure;
use sardonyx_lab::ycsb::Seen;
use sardonyx_lab::ycsb::operations::{fill, key_of};
use sardonyx_workload::random::Random;

/// Bytes of an account without its key.
pub const VALUE_BYTES: usize = 92;
/// Bytes of the value that have no meaning.
pub const FILLER_BYTES: usize = VALUE_BYTES - 8;

record! {
    #[table("accounts", key = id)]
    #[derive(Debug, PartialEq)]
    pub struct Account {
        /// Its number, from 0.
        pub id: u64,
        /// No two have the same, and they are in no order.
        pub balance: i64,
        /// The rest.
        pub filler: [u8; FILLER_BYTES],
        reserved: [u8; 4],
    }
}

impl Account {
    pub fn new(id: u64) -> Self {
        let mut filler = [0; FILLER_BYTES];
        fill(id, &mut filler);
        Account {
            id,
            balance: key_of(id) as i64,
            filler,
            reserved: [0; 4],
        }
    }

    /// The account with this key and value.
    ///
    /// # Errors
    /// The value has another length.
    pub fn of(id: u64, value: &[u8]) -> Result<Self, Failure> {
        let (balance, filler) = value.split_first_chunk().ok_or("an account is too short")?;
        Ok(Account {
            id,
            balance: i64::from_le_bytes(*balance),
            filler: filler.try_into()?,
            reserved: [0; 4],
        })
    }

    /// The account's value without its key: the balance, then the rest.
    #[inline]
    pub fn value(&self) -> &[u8] {
        &self.as_bytes()[8..][..VALUE_BYTES]
    }

    /// Adds the account to the digest of a reader.
    #[inline]
    pub fn see(&self, seen: &mut Seen) {
        seen.row(self.id, self.value());
    }
}

#[derive(Record, Clone, PartialEq, Debug)]
#[record(table = "customers", key = id)]
pub struct Customer {
    /// Its number, from 0.
    pub id: u64,
    /// No two have the same, and they are in no order.
    pub balance: i64,
    /// 6 to 24 letters.
    pub name: String,
    /// 20 to 120 letters.
    pub note: String,
}

impl Customer {
    pub fn new(id: u64) -> Self {
        let mut random = Random::new(id);
        let mut text = |from: u64, to: u64| {
            let length = from + random.below(to - from + 1);
            let letter = |_| char::from(b'a' + random.below(26) as u8);
            (0..length).map(letter).collect::<String>()
        };
        Customer {
            id,
            balance: key_of(id) as i64,
            name: text(6, 24),
            note: text(20, 120),
        }
    }

    /// The customer's value without its key, for engines that know no columns: the balance, the name's length, both
    /// texts.
    pub fn value(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(12 + self.name.len() + self.note.len());
        value.extend(self.balance.to_le_bytes());
        value.extend((self.name.len() as u32).to_le_bytes());
        value.extend(self.name.as_bytes());
        value.extend(self.note.as_bytes());
        value
    }

    /// The customer with this key and value.
    ///
    /// # Errors
    /// The value is not one of [`Customer::value`].
    pub fn of(id: u64, value: &[u8]) -> Result<Self, Failure> {
        let short = "a customer is too short";
        let (balance, rest) = value.split_first_chunk().ok_or(short)?;
        let (length, texts) = rest.split_first_chunk().ok_or(short)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (name, note) = texts.split_at_checked(length).ok_or(short)?;
        Ok(Customer {
            id,
            balance: i64::from_le_bytes(*balance),
            name: String::from_utf8(name.to_vec())?,
            note: String::from_utf8(note.to_vec())?,
        })
    }

    /// Adds the customer to the digest of a reader.
    pub fn see(&self, seen: &mut Seen) {
        seen.row(self.id, &padded(&self.value()));
    }
}

/// With zero bytes up to a whole number of words: every byte counts.
fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(8), 0);
    padded
}

/// An index's key of bytes, for engines that know no columns: in the order of balances.
pub fn by_balance(balance: i64, id: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(balance as u64 ^ 1 << 63).to_be_bytes());
    key[8..].copy_from_slice(&id.to_be_bytes());
    key
}

/// The same, in the order of names, which have no zero bytes.
pub fn by_name(name: &str, id: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 9);
    key.extend(name.as_bytes());
    key.push(0);
    key.extend(id.to_be_bytes());
    key
}

/// The id at the end of an index's key.
///
/// # Errors
/// The key is too short.
pub fn id_of(key: &[u8]) -> Result<u64, Failure> {
    let id = key.last_chunk().ok_or("an index's key is too short")?;
    Ok(u64::from_be_bytes(*id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_keys_keep_the_order() {
        for id in 0..100 {
            let account = Account::new(id);
            assert_eq!(Account::of(id, account.value()).unwrap(), account);
            let customer = Customer::new(id);
            assert_eq!(Customer::of(id, &customer.value()).unwrap(), customer);
            assert!((6..=24).contains(&customer.name.len()));
            assert!((20..=120).contains(&customer.note.len()));
            assert_eq!(id_of(&by_name(&customer.name, id)).unwrap(), id);
        }
        assert!(Account::of(1, &[0; 91]).is_err());
        assert!(Customer::of(1, &[9; 12]).is_err());
        assert!(by_balance(-1, 9) < by_balance(0, 0) && by_balance(5, 1) < by_balance(5, 2));
        assert!(by_name("a", 300) < by_name("aa", 1) && by_name("b", 1) < by_name("b", 2));
    }

    #[test]
    fn every_byte_of_a_customer_is_seen() {
        let seen = |customer: &Customer| {
            let mut seen = Seen::default();
            customer.see(&mut seen);
            seen
        };
        let one = Customer::new(5);
        let mut other = one.clone();
        other.note.pop();
        other.note.push('!');
        assert_ne!(seen(&one), seen(&other));
    }
}
