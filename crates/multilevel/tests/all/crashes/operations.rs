//! The operations of the crash tests. Each adds a power of ten that no other operation adds, to several records on
//! several pages. So a record's sum shows exactly which operations it has: a digit of 1 means once, 0 not, anything
//! else half or twice.
//!
//! Besides the plain [`Add`], whose operations all commute, there are operations of which one depends on the other.
//! [`AddThrough`] finds its record by way of a directory page that it only reads. [`Relocate`] moves the record and
//! commutes with it at L1. [`Insert`] makes the directory's entry. [`Push`] appends a digit, so that the order shows.

use sardonyx_multilevel::{
    Area, Inverse, LockRequests, LockSpace, Mode, Operation, PAGE_SIZE, Pages, Recorded, Stop,
};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A record is several numbers, for enough powers of ten.
pub const LANES: usize = 4;
/// Powers of ten in a number: the largest sum, 2 · 10³⁷, fits in it twice.
pub const POWERS_IN_LANE: u16 = 37;
pub const RECORD_BYTES: usize = LANES * 16;
const RECORDS_IN_PAGE: u32 = (PAGE_SIZE / RECORD_BYTES) as u32;
/// The number of operations that may add.
pub const POWERS: u16 = LANES as u16 * POWERS_IN_LANE;

pub type Sum = [i128; LANES];

/// A record's place: its page in the area and its place in that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub page: u32,
    pub record: u32,
}

impl Place {
    fn number(self) -> u64 {
        u64::from(self.page) * u64::from(RECORDS_IN_PAGE) + u64::from(self.record)
    }

    fn from_number(number: u64) -> Place {
        let page = (number / u64::from(RECORDS_IN_PAGE)) as u32;
        let record = (number % u64::from(RECORDS_IN_PAGE)) as u32;
        Place { page, record }
    }

    fn offset(self) -> usize {
        self.record as usize * RECORD_BYTES
    }
}

const ADD: Mode = Mode(0);
/// Records: additions commute.
static RECORDS: LockSpace = LockSpace::new("records", &[&[true]]);
const USE: Mode = Mode(0);
const CHANGE: Mode = Mode(1);
/// Entries of the directory: uses commute with each other, and with moving their record.
static ENTRIES: LockSpace = LockSpace::new("entries", &[&[true, false], &[false, false]]);
/// Stacks: nothing commutes.
static STACKS: LockSpace = LockSpace::new("stacks", &[&[false]]);

/// The failure of an operation.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Stop(#[from] Stop),
    #[error("as planned")]
    Planned,
    #[error("the directory has no entry {0}")]
    NoEntry(u32),
    #[error("the directory has an entry {0}")]
    Entry(u32),
    #[error("the stack ends with {found} instead of {expected}")]
    Top { found: i128, expected: u8 },
}

/// Something that another thread does meanwhile.
pub type Meanwhile = Box<dyn FnOnce()>;

thread_local! {
    /// The actions while an operation that adds this power, or (with a negative sign) its compensation, runs on this
    /// thread. The program after a crash knows nothing of it.
    static MEANWHILE: RefCell<BTreeMap<(u16, i8), Meanwhile>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// Lets something happen while an operation, or its compensation, runs on this thread.
pub fn meanwhile(power: u16, sign: i8, does: Meanwhile) {
    MEANWHILE.with_borrow_mut(|all| all.insert((power, sign), does));
}

/// Forgets the actions that have not happened.
pub fn forget_meanwhile() {
    MEANWHILE.with_borrow_mut(BTreeMap::clear);
}

fn happen(power: u16, sign: i8) {
    if let Some(does) = MEANWHILE.with_borrow_mut(|all| all.remove(&(power, sign))) {
        does();
    }
}

pub fn read_sum(bytes: &[u8]) -> Sum {
    let mut sum = Sum::default();
    for (lane, bytes) in sum.iter_mut().zip(bytes.chunks_exact(16)) {
        *lane = i128::from_le_bytes(bytes.try_into().expect("16 bytes"));
    }
    sum
}

pub fn added(sum: &mut Sum, power: u16, sign: i8) {
    let lane = &mut sum[usize::from(power / POWERS_IN_LANE)];
    *lane += i128::from(sign) * 10_i128.pow(u32::from(power % POWERS_IN_LANE));
}

fn add_at(
    pages: &mut dyn Pages,
    area: Area,
    place: Place,
    power: u16,
    sign: i8,
) -> Result<(), Stop> {
    let page = pages.page(area, u64::from(place.page))?;
    let bytes = pages.write(page, place.offset()..place.offset() + RECORD_BYTES)?;
    let mut sum = read_sum(bytes);
    added(&mut sum, power, sign);
    for (lane, bytes) in sum.iter().zip(bytes.chunks_exact_mut(16)) {
        bytes.copy_from_slice(&lane.to_le_bytes());
    }
    Ok(())
}

/// Adds to records; then fails, if that is planned.
#[derive(Clone, Debug)]
pub struct Add {
    pub area: Area,
    pub power: u16,
    pub sign: i8,
    pub places: Vec<Place>,
    /// A page that it only looks at.
    pub looks_at: Option<u32>,
    pub fails: bool,
}

impl Operation for Add {
    type Output = ();
    type Error = Failure;

    fn locks(&self, locks: &mut LockRequests) {
        for place in &self.places {
            locks.request(&RECORDS, place.number(), ADD);
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Failure> {
        if let Some(looks_at) = self.looks_at {
            let page = pages.page(self.area, u64::from(looks_at))?;
            pages.read(page)?;
        }
        for &place in &self.places {
            add_at(pages, self.area, place, self.power, self.sign)?;
        }
        happen(self.power, self.sign);
        if self.fails {
            return Err(Failure::Planned);
        }
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let sign = -self.sign;
        Some(Inverse::of(&Add {
            sign,
            ..self.clone()
        }))
    }
}

impl Recorded for Add {
    const NAME: &str = "add";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.power.to_le_bytes());
        into.push(self.sign as u8);
        into.extend(self.looks_at.unwrap_or(u32::MAX).to_le_bytes());
        for place in &self.places {
            into.extend(place.number().to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let mut add = Add {
            area: Area(u16::from_le_bytes(bytes.take()?)),
            power: u16::from_le_bytes(bytes.take()?),
            sign: i8::from_le_bytes(bytes.take()?),
            looks_at: Some(u32::from_le_bytes(bytes.take()?)).filter(|page| *page != u32::MAX),
            places: Vec::new(),
            fails: false,
        };
        while !bytes.0.is_empty() {
            add.places
                .push(Place::from_number(u64::from_le_bytes(bytes.take()?)));
        }
        Some(add)
    }
}

/// The bytes left to decode.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}

/// The place that an entry leads to. The directory's entries are in the first page of its area, eight bytes each: 0 if
/// there is none, else the place's number and one.
pub fn entry(pages: &dyn Pages, area: Area, number: u32) -> Result<Option<Place>, Failure> {
    let page = pages.page(area, 0)?;
    let at = number as usize * 8;
    let word = pages.read(page)?[at..at + 8].try_into().expect("8 bytes");
    Ok(u64::from_le_bytes(word)
        .checked_sub(1)
        .map(Place::from_number))
}

fn set_entry(
    pages: &mut dyn Pages,
    area: Area,
    number: u32,
    place: Option<Place>,
) -> Result<(), Failure> {
    let page = pages.page(area, 0)?;
    let word = place.map_or(0, |place| place.number() + 1);
    pages.write_bytes(page, number as usize * 8, &word.to_le_bytes())?;
    Ok(())
}

/// Makes an entry of the directory, or removes it: the inverse.
#[derive(Clone, Debug)]
pub struct Insert {
    pub directory: Area,
    pub entry: u32,
    pub place: Option<Place>,
}

impl Operation for Insert {
    type Output = ();
    type Error = Failure;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&ENTRIES, u64::from(self.entry), CHANGE);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Failure> {
        match (entry(pages, self.directory, self.entry)?, self.place) {
            (Some(_), Some(_)) => return Err(Failure::Entry(self.entry)),
            (None, None) => return Err(Failure::NoEntry(self.entry)),
            _ => {}
        }
        set_entry(pages, self.directory, self.entry, self.place)
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let (directory, entry) = (self.directory, self.entry);
        self.place?;
        Some(Inverse::of(&Insert {
            directory,
            entry,
            place: None,
        }))
    }
}

impl Recorded for Insert {
    const NAME: &str = "insert";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.directory.0.to_le_bytes());
        into.extend(self.entry.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        Some(Insert {
            directory: Area(u16::from_le_bytes(bytes.take()?)),
            entry: u32::from_le_bytes(bytes.take()?),
            place: None,
        })
    }
}

/// Adds to the record that an entry of the directory leads to.
#[derive(Clone, Debug)]
pub struct AddThrough {
    pub directory: Area,
    pub entry: u32,
    pub area: Area,
    pub power: u16,
    pub sign: i8,
}

impl Operation for AddThrough {
    type Output = ();
    type Error = Failure;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&ENTRIES, u64::from(self.entry), USE);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Failure> {
        let place = entry(pages, self.directory, self.entry)?;
        let place = place.ok_or(Failure::NoEntry(self.entry))?;
        add_at(pages, self.area, place, self.power, self.sign)?;
        happen(self.power, self.sign);
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let sign = -self.sign;
        Some(Inverse::of(&AddThrough {
            sign,
            ..self.clone()
        }))
    }
}

impl Recorded for AddThrough {
    const NAME: &str = "add through";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.directory.0.to_le_bytes());
        into.extend(self.entry.to_le_bytes());
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.power.to_le_bytes());
        into.push(self.sign as u8);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        Some(AddThrough {
            directory: Area(u16::from_le_bytes(bytes.take()?)),
            entry: u32::from_le_bytes(bytes.take()?),
            area: Area(u16::from_le_bytes(bytes.take()?)),
            power: u16::from_le_bytes(bytes.take()?),
            sign: i8::from_le_bytes(bytes.take()?),
        })
    }
}

/// Moves the record that an entry leads to, as a split moves the entries of an index: it commutes with everything at
/// L1, and nothing has to undo it.
#[derive(Clone, Debug)]
pub struct Relocate {
    pub directory: Area,
    pub entry: u32,
    pub area: Area,
    pub to: Place,
}

impl Operation for Relocate {
    type Output = ();
    type Error = Failure;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Failure> {
        let from = entry(pages, self.directory, self.entry)?;
        let from = from.ok_or(Failure::NoEntry(self.entry))?;
        let pages_needed = u64::from(self.to.page) + 1;
        if pages.pages_of(self.area)? < pages_needed {
            pages.grow(self.area, pages_needed)?;
        }
        if from == self.to {
            return Ok(());
        }
        let page = pages.page(self.area, u64::from(from.page))?;
        let range = from.offset()..from.offset() + RECORD_BYTES;
        let record: [u8; RECORD_BYTES] = pages.read_bytes(page, range.start)?;
        // An empty record is one like the other: then only the directory changes.
        if record != [0; RECORD_BYTES] {
            pages.write(page, range)?.fill(0);
            let page = pages.page(self.area, u64::from(self.to.page))?;
            pages.write_bytes(page, self.to.offset(), &record)?;
        }
        set_entry(pages, self.directory, self.entry, Some(self.to))
    }
}

/// Appends a digit to the number in a page, or takes it off: the inverse, which fails if it is not
/// the last.
#[derive(Clone, Debug)]
pub struct Push {
    pub area: Area,
    pub page: u32,
    pub digit: u8,
    pub off: bool,
}

impl Operation for Push {
    type Output = ();
    type Error = Failure;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&STACKS, u64::from(self.page), Mode(0));
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Failure> {
        let page = pages.page(self.area, u64::from(self.page))?;
        let stack = i128::from_le_bytes(pages.read_bytes(page, 0)?);
        let digit = i128::from(self.digit);
        let stack = match self.off {
            false => stack * 10 + digit,
            true if stack % 10 == digit => stack / 10,
            true => {
                let (found, expected) = (stack % 10, self.digit);
                return Err(Failure::Top { found, expected });
            }
        };
        pages.write_bytes(page, 0, &stack.to_le_bytes())?;
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        Some(Inverse::of(&Push {
            off: !self.off,
            ..self.clone()
        }))
    }
}

impl Recorded for Push {
    const NAME: &str = "push";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.page.to_le_bytes());
        into.extend([self.digit, u8::from(self.off)]);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        Some(Push {
            area: Area(u16::from_le_bytes(bytes.take()?)),
            page: u32::from_le_bytes(bytes.take()?),
            digit: u8::from_le_bytes(bytes.take()?),
            off: u8::from_le_bytes(bytes.take()?) != 0,
        })
    }
}
