//! A drive with a volatile cache: what it was asked to write is shown at once, and lasts only from the
//! next flush on.
//!
//! The power is cut at a request that is counted, not at an instant, so that a seed says where. From
//! then on nothing is done any more. What then stands on the drive is everything that was flushed,
//! and of the rest whatever [`Loss`] leaves of it. The request at which the power
//! goes had begun: a write may be there in part; a flush did nothing.

use crate::image::Image;
use crate::loss::Loss;
use sardonyx_workload::random::Random;

/// The smallest unit that a drive writes whole, in bytes.
pub const SECTOR: u64 = 512;

/// A change that no flush has made lasting.
#[derive(Clone, Debug)]
pub struct Change {
    /// Where, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// The bytes; `None` where the range was discarded or zeroed.
    pub data: Option<Vec<u8>>,
}

/// Why a request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// The power is off.
    #[error("the power is off")]
    PowerOff,
    /// It is not all within the drive, or not in whole sectors.
    #[error("not within the drive, or not in whole sectors")]
    Misplaced,
}

/// What a drive was asked to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards and zeroed ranges.
    pub discards: u64,
}

/// A drive.
#[derive(Debug)]
pub struct Drive {
    /// What lasts.
    durable: Image,
    /// What is read.
    shown: Image,
    unsynced: Vec<Change>,
    requests: Requests,
    /// So many changes and flushes are still done before the power goes.
    until_cut: Option<u64>,
    on: bool,
    ignores_flushes: bool,
}

/// A drive whose power was cut, before it is decided what of its cache lasts.
#[derive(Clone, Debug)]
pub struct CutDrive {
    durable: Image,
    unsynced: Vec<Change>,
}

impl Drive {
    /// A drive that has this content, with an empty cache and the power on.
    pub fn new(image: Image) -> Drive {
        Drive {
            durable: image.clone(),
            shown: image,
            unsynced: Vec::new(),
            requests: Requests::default(),
            until_cut: None,
            on: true,
            ignores_flushes: false,
        }
    }

    /// From now on a flush is said to be done, and is not: a drive that lies.
    pub fn ignore_flushes(&mut self) {
        self.ignores_flushes = true;
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.shown.bytes()
    }

    /// What it was asked to do since it was made.
    pub fn requests(&self) -> Requests {
        self.requests
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The power goes at the `request`th change or flush from now, counted from 1; `None` takes that
    /// back.
    pub fn cut_at(&mut self, request: Option<u64>) {
        self.until_cut = request;
    }

    /// The power goes now.
    pub fn cut(&mut self) {
        self.on = false;
    }

    /// Reads; also without power, since nothing that is read then is used.
    ///
    /// # Errors
    /// [`Refused::Misplaced`].
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Refused> {
        if !self.shown.has(offset, into.len() as u64) {
            return Err(Refused::Misplaced);
        }
        self.shown.read(offset, into);
        Ok(())
    }

    /// Writes into the cache.
    ///
    /// # Errors
    /// [`Refused`]; at the cut, too, whose write may last in part.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Refused> {
        self.change(Change {
            offset,
            length: data.len() as u64,
            data: Some(data.to_vec()),
        })
    }

    /// Makes a range read as zeroes, in the cache.
    ///
    /// # Errors
    /// As [`Drive::write`].
    pub fn discard(&mut self, offset: u64, length: u64) -> Result<(), Refused> {
        self.change(Change {
            offset,
            length,
            data: None,
        })
    }

    fn change(&mut self, change: Change) -> Result<(), Refused> {
        let whole = change.offset.is_multiple_of(SECTOR) && change.length.is_multiple_of(SECTOR);
        if !whole || !self.shown.has(change.offset, change.length) {
            return Err(Refused::Misplaced);
        }
        if !self.on {
            return Err(Refused::PowerOff);
        }
        let (offset, length) = (change.offset, change.length);
        match &change.data {
            Some(data) => {
                self.requests.writes += 1;
                self.requests.written_bytes += length;
                self.shown.write(offset, data);
            }
            None => {
                self.requests.discards += 1;
                self.shown.zero(offset, length);
            }
        }
        self.unsynced.push(change);
        self.count()
    }

    /// Makes everything last that was written before.
    ///
    /// # Errors
    /// [`Refused::PowerOff`]; at the cut, too, which does nothing of it.
    pub fn flush(&mut self) -> Result<(), Refused> {
        if !self.on {
            return Err(Refused::PowerOff);
        }
        self.requests.flushes += 1;
        self.count()?;
        if self.ignores_flushes {
            return Ok(());
        }
        for change in self.unsynced.drain(..) {
            // Other changes of the same chunk are being made lasting by the same flush.
            self.durable
                .take_chunks(&self.shown, change.offset, change.length);
        }
        Ok(())
    }

    /// One request more; fails if the power goes at it.
    fn count(&mut self) -> Result<(), Refused> {
        if let Some(left) = &mut self.until_cut {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.on = false;
                return Err(Refused::PowerOff);
            }
        }
        Ok(())
    }

    /// Cuts the power, if that was not done, and says what there is.
    pub fn as_cut(&mut self) -> CutDrive {
        self.cut();
        CutDrive {
            durable: self.durable.clone(),
            unsynced: self.unsynced.clone(),
        }
    }
}

impl CutDrive {
    /// What lasts, as the loss and the seed decide.
    pub fn settle(&self, loss: &Loss, seed: u64) -> Image {
        let mut image = self.durable.clone();
        loss.apply(
            &self.unsynced,
            &mut Random::new(seed),
            |change, range| match &change.data {
                Some(data) => {
                    let from = (range.start - change.offset) as usize;
                    let to = (range.end - change.offset) as usize;
                    image.write(range.start, &data[from..to]);
                }
                None => image.zero(range.start, range.end - range.start),
            },
        );
        image
    }

    /// Bytes that no flush has made lasting.
    pub fn unsynced_bytes(&self) -> u64 {
        self.unsynced.iter().map(|change| change.length).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Kept;

    fn sector(drive: &CutDrive, kept: Kept, seed: u64, at: u64) -> u8 {
        let mut byte = [0];
        let loss = Loss::new(kept, SECTOR, &[]);
        drive.settle(&loss, seed).read(at * SECTOR, &mut byte);
        byte[0]
    }

    fn drive() -> Drive {
        Drive::new(Image::new(64 << 10))
    }

    #[test]
    fn what_was_flushed_lasts_and_the_rest_does_as_the_loss_decides() {
        let mut drive = drive();
        drive.write(0, &[1; 1024]).unwrap();
        drive.flush().unwrap();
        drive.write(512, &[2; 1024]).unwrap();
        let mut shown = [0; 2048];
        drive.read(0, &mut shown).unwrap();
        assert_eq!((shown[0], shown[512], shown[1024]), (1, 2, 2));
        let cut = drive.as_cut();
        assert_eq!(cut.unsynced_bytes(), 1024);
        let all = |kept| [0, 1, 2].map(|at| sector(&cut, kept, 1, at));
        assert_eq!(all(Kept::Nothing), [1, 1, 0]);
        assert_eq!(all(Kept::Everything), [1, 2, 2]);
    }

    #[test]
    fn any_subset_of_unsynced_sectors_is_reached_and_a_seed_says_which() {
        let mut drive = drive();
        drive.write(0, &[1; 512]).unwrap();
        drive.flush().unwrap();
        drive.write(0, &[2; 1024]).unwrap();
        drive.write(0, &[3; 1024]).unwrap();
        drive.discard(0, 512).unwrap();
        let cut = drive.as_cut();
        let kept = Kept::Sectors { percent: 50 };
        let of = |seed| [0, 1].map(|at| sector(&cut, kept, seed, at));
        let mut met = std::collections::BTreeSet::new();
        for seed in 0..200 {
            assert_eq!(of(seed), of(seed));
            met.insert(of(seed));
        }
        // Discarded, the flushed one, and both that were written over it, beside each of the other's.
        assert_eq!(met.len(), 4 * 3, "{met:?}");
    }

    #[test]
    fn the_power_goes_at_the_request_that_was_said() {
        let mut drive = drive();
        drive.cut_at(Some(3));
        drive.write(0, &[1; 512]).unwrap();
        drive.flush().unwrap();
        assert_eq!(drive.write(512, &[2; 1024]), Err(Refused::PowerOff));
        assert!(!drive.is_on());
        assert_eq!(drive.write(4096, &[3; 512]), Err(Refused::PowerOff));
        assert_eq!(drive.flush(), Err(Refused::PowerOff));
        let cut = drive.as_cut();
        // The write at which it went may be there in part; those after it are not.
        let met: std::collections::BTreeSet<_> = (0..50)
            .map(|seed| {
                [0, 1, 2, 8].map(|at| sector(&cut, Kept::Sectors { percent: 50 }, seed, at))
            })
            .collect();
        assert_eq!(met.len(), 4);
        assert!(met.iter().all(|found| found[0] == 1 && found[3] == 0));
    }

    #[test]
    fn a_flush_at_which_the_power_goes_does_nothing() {
        let mut drive = drive();
        drive.write(0, &[1; 512]).unwrap();
        drive.cut_at(Some(1));
        assert_eq!(drive.flush(), Err(Refused::PowerOff));
        assert_eq!(sector(&drive.as_cut(), Kept::Nothing, 1, 0), 0);
    }

    #[test]
    fn a_drive_that_lies_keeps_nothing_for_a_flush() {
        let mut drive = drive();
        drive.ignore_flushes();
        drive.write(0, &[1; 512]).unwrap();
        assert_eq!(drive.flush(), Ok(()));
        assert_eq!(sector(&drive.as_cut(), Kept::Nothing, 1, 0), 0);
    }

    #[test]
    fn what_is_not_in_whole_sectors_within_the_drive_is_refused() {
        let mut drive = drive();
        assert_eq!(drive.write(1, &[0; 512]), Err(Refused::Misplaced));
        assert_eq!(drive.write(0, &[0; 100]), Err(Refused::Misplaced));
        assert_eq!(drive.write(64 << 10, &[0; 512]), Err(Refused::Misplaced));
        assert_eq!(drive.read(u64::MAX, &mut [0; 2]), Err(Refused::Misplaced));
        assert_eq!(drive.requests(), Requests::default());
    }
}
