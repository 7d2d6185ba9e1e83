//! A drive with a volatile cache: written bytes are readable at once, and last only from the next flush on.
//!
//! The power is cut at a request that is counted, not at an instant, so that a seed determines it. From then on the
//! drive does nothing. Its content is then everything flushed, and of the rest the part that [`Loss`] keeps. The
//! request at which the power fails had begun: a write may last in part; a flush did nothing.

use crate::image::Image;
use crate::loss::Loss;
use sardonyx_workload::random::Random;

/// The smallest unit that a drive writes whole, in bytes.
pub const SECTOR: u64 = 512;

/// A change that no flush has made lasting.
#[derive(Clone, Debug)]
pub struct Change {
    /// The offset in bytes.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
    /// The bytes; `None` if the range was discarded or zeroed.
    pub data: Option<Vec<u8>>,
}

/// The reason why a request was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    #[error("the power is off")]
    PowerOff,
    /// It is not all within the drive, or not in whole sectors.
    #[error("not within the drive, or not in whole sectors")]
    Misplaced,
}

/// The requests of a drive, by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
    /// Discards and zeroed ranges.
    pub discards: u64,
}

#[derive(Debug)]
pub struct Drive {
    /// The content that lasts.
    durable: Image,
    /// The content that is read.
    shown: Image,
    unsynced: Vec<Change>,
    requests: Requests,
    /// The number of changes and flushes until the power fails.
    until_cut: Option<u64>,
    on: bool,
    ignores_flushes: bool,
}

/// A drive whose power was cut, before it is decided which part of its cache lasts.
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

    /// From now on a flush is reported as done, but is not: a lying drive.
    pub fn ignore_flushes(&mut self) {
        self.ignores_flushes = true;
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.shown.bytes()
    }

    /// The requests since it was created.
    pub fn requests(&self) -> Requests {
        self.requests
    }

    /// Returns true if the power is on.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The power fails at the `request`th change or flush from now, counted from 1; `None` cancels that.
    pub fn cut_at(&mut self, request: Option<u64>) {
        self.until_cut = request;
    }

    /// Cuts the power now.
    pub fn cut(&mut self) {
        self.on = false;
    }

    /// Reads; also without power, since the result is not used then.
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
    /// [`Refused`]; also at the cut, where the write may last in part.
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

    /// Makes all earlier writes last.
    ///
    /// # Errors
    /// [`Refused::PowerOff`]; also at the cut, where it does nothing.
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
            // The same flush makes other changes of the same chunk last.
            self.durable
                .take_chunks(&self.shown, change.offset, change.length);
        }
        Ok(())
    }

    /// Counts a request; fails if the power fails at it.
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

    /// Cuts the power, unless it is off, and returns the content.
    pub fn as_cut(&mut self) -> CutDrive {
        self.cut();
        CutDrive {
            durable: self.durable.clone(),
            unsynced: self.unsynced.clone(),
        }
    }
}

impl CutDrive {
    /// The content that lasts, by the loss and the seed.
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
        // Discarded, the flushed one, and both that were written over it, each combined with the other's.
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
        // The write at the cut may last in part; those after it do not.
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
