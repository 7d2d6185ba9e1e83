//! The commit group in memory: being filled by the execution stage ([`GroupBuilder`]), then numbered
//! and placed ([`Sequencer`]), then on its way to the disk ([`SealedGroup`]). Every group of every log is
//! placed and encoded here: those of one process, those that a leader writes for several, and, as they
//! were received, those of a copy that follows.
//!
//! Source: TPK paper, section 2, "Transaction Execution" (the log buffer) and "Logging".

use super::group::{GROUP_HEADER_BYTES, GroupHeader, group_bytes_on_disk};
use super::record::{self, RECORD_HEAD_BYTES};
use super::room::{NoRoom, Room};
use super::{LogLayout, LogPosition};
use crate::disk::AlignedBuffer;
use crate::page::{Address, PageId};
use sardonyx_base::crc32c;

/// The commit group that is being filled: records are appended as transactions run, and cut off
/// again when one aborts.
#[derive(Debug)]
pub struct GroupBuilder {
    /// Room for the header, then the records.
    buffer: AlignedBuffer,
    transactions: u32,
    /// The start of the running transaction's records.
    transaction_start: usize,
    /// The start of the last record; its word gets the end mark.
    last_record: usize,
    /// The buffer's length up to which the running transaction may append without asking again.
    limit: usize,
    /// None: the log is prepared for any transaction.
    room: Option<Room>,
    /// The records of which the checksum is known.
    summed: Summed,
}

/// The beginning of a group's records whose checksum is known already.
#[derive(Clone, Copy, Debug, Default)]
struct Summed {
    bytes: usize,
    sum: u32,
}

/// The end of a transaction's records: see [`GroupBuilder::mark`].
#[derive(Clone, Copy, Debug)]
pub struct LogMark {
    end: usize,
    last_record: usize,
}

impl GroupBuilder {
    /// An empty group with room for so many bytes before it must grow.
    pub fn with_capacity(bytes: usize) -> Self {
        Self::from_buffer(AlignedBuffer::with_capacity(bytes))
    }

    /// An empty group in a reused buffer.
    pub fn from_buffer(mut buffer: AlignedBuffer) -> Self {
        buffer.clear();
        buffer.extend_zeroed(GROUP_HEADER_BYTES);
        GroupBuilder {
            buffer,
            transactions: 0,
            transaction_start: GROUP_HEADER_BYTES,
            last_record: GROUP_HEADER_BYTES,
            limit: 0,
            room: None,
            summed: Summed::default(),
        }
    }

    /// A group of bytes of a log whose records are of another kind ([`GroupBuilder::push_bytes`]): in a buffer with room for
    /// the header before them. Their checksum is known.
    pub(crate) fn of_bytes(buffer: AlignedBuffer, sum: u32) -> Self {
        let bytes = buffer.len() - GROUP_HEADER_BYTES;
        GroupBuilder {
            transactions: 1,
            transaction_start: buffer.len(),
            last_record: GROUP_HEADER_BYTES,
            limit: 0,
            room: None,
            summed: Summed { bytes, sum },
            buffer,
        }
    }

    /// Has the log prepared as the group grows.
    pub fn set_room(&mut self, room: Option<Room>) {
        self.room = room;
        let transaction_bytes_max = self.room.as_ref().map_or(0, Room::transaction_bytes_max);
        self.set_limit(transaction_bytes_max);
    }

    pub(super) fn take_room(&mut self) -> Option<Room> {
        self.room.take()
    }

    /// Returns true if the running transaction may append so many bytes of encoded records. If not,
    /// [`GroupBuilder::make_room`] makes room, or returns the reason.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.buffer.len() + bytes <= self.limit
    }

    /// Makes room for so many more bytes of encoded records of the running transaction, which may have
    /// `transaction_bytes_max` of them. One that has more than may share a group gets one for itself, and the log
    /// is prepared for that.
    ///
    /// # Errors
    /// [`NoRoom`]; nothing has changed.
    #[cold]
    pub fn make_room(&mut self, bytes: usize, transaction_bytes_max: usize) -> Result<(), NoRoom> {
        let of_transaction = self.transaction_bytes().saturating_add(bytes);
        if of_transaction > transaction_bytes_max {
            let bytes = of_transaction;
            return Err(NoRoom::TooLarge { bytes });
        }
        if let Some(room) = &mut self.room {
            if of_transaction > room.shared_bytes_max() {
                let bytes = room
                    .make_large(of_transaction, transaction_bytes_max)
                    .map_err(NoRoom::Log)?;
                self.limit = self.transaction_start + bytes;
                return Ok(());
            }
            let group_bytes = self.buffer.len() + bytes;
            room.make(group_bytes, transaction_bytes_max)
                .map_err(NoRoom::Log)?;
        }
        self.set_limit(transaction_bytes_max);
        Ok(())
    }

    fn set_limit(&mut self, transaction_bytes_max: usize) {
        let (group_bytes_max, shared_bytes_max) = match &self.room {
            Some(room) => (room.group_bytes_max(), room.shared_bytes_max()),
            None => (usize::MAX, usize::MAX),
        };
        self.limit = self
            .transaction_start
            .saturating_add(transaction_bytes_max.min(shared_bytes_max))
            .min(group_bytes_max);
    }

    /// Moves all transactions but the last into another group, which is empty.
    ///
    /// # Panics
    /// If there is no transaction, or one has not ended.
    pub(super) fn take_earlier(&mut self, earlier: &mut GroupBuilder) {
        debug_assert_eq!(self.transaction_start, self.buffer.len(), "all have ended");
        let mut left = self.transactions - 1;
        let mut records = record::Records::new(self.payload());
        while left > 0 {
            let record = records.next().expect("there are more transactions");
            left -= u32::from(record.expect("encoded here").ends_transaction);
        }
        let start = GROUP_HEADER_BYTES + records.offset();
        let records = &self.buffer[GROUP_HEADER_BYTES..start];
        earlier.push_encoded(&[records], self.transactions - 1);
        self.buffer.copy_within(start.., GROUP_HEADER_BYTES);
        self.buffer
            .truncate(self.buffer.len() - (start - GROUP_HEADER_BYTES));
        self.transactions = 1;
        self.transaction_start = self.buffer.len();
    }

    /// The place of the group, if the log is prepared as it grows.
    pub(super) fn room_mut(&mut self) -> Option<&mut Room> {
        self.room.as_mut()
    }

    /// Appends the after-image of a byte range that lies within one page.
    ///
    /// # Panics
    /// In debug builds, if `bytes` is empty or crosses the page's end.
    #[inline(always)]
    pub fn push_write(&mut self, address: Address, bytes: &[u8]) {
        self.push(record::write_head(address, bytes.len()), bytes);
    }

    /// Appends a journal row.
    ///
    /// # Panics
    /// In debug builds, if the row is empty or longer than a page.
    #[inline(always)]
    pub fn push_journal(&mut self, journal: u16, row: &[u8]) {
        self.push(record::journal_head(journal, row.len()), row);
    }

    /// Appends the number of the version that the transaction's writes to the page make; they follow.
    #[inline]
    pub fn push_version(&mut self, page: PageId, psn: u64) {
        self.push(record::version_head(page), &psn.to_le_bytes());
    }

    // Inlined, so that for a length known at compile time the copy is a store or two.
    #[inline(always)]
    fn push(&mut self, head: u64, bytes: &[u8]) {
        let (length, padded) = (bytes.len(), bytes.len().next_multiple_of(8));
        self.last_record = self.buffer.len();
        let place = self.buffer.append(RECORD_HEAD_BYTES + padded);
        place[..RECORD_HEAD_BYTES].copy_from_slice(&head.to_le_bytes());
        place[RECORD_HEAD_BYTES..RECORD_HEAD_BYTES + length].copy_from_slice(bytes);
        if padded > length {
            place[RECORD_HEAD_BYTES + length..].fill(0);
        }
    }

    /// Ends the running transaction: its records now belong to the group. Returns whether it had
    /// any; one without records leaves no trace in the log.
    #[inline]
    pub fn end_transaction(&mut self) -> bool {
        if self.buffer.len() == self.transaction_start {
            return false;
        }
        // The word is little-endian, so the end mark is the top bit of its last byte.
        self.buffer[self.last_record + 7] |= (record::END_OF_TRANSACTION >> 56) as u8;
        self.transaction_start = self.buffer.len();
        self.transactions += 1;
        true
    }

    /// Appends records that are encoded already: of whole transactions, so many of them.
    ///
    /// # Panics
    /// In debug builds, if they are not.
    pub fn push_encoded(&mut self, records: &[&[u8]], transactions: u32) {
        let bytes = records.iter().map(|piece| piece.len()).sum();
        self.buffer.reserve(group_bytes_on_disk(bytes));
        records
            .iter()
            .for_each(|piece| self.buffer.extend_from_slice(piece));
        debug_assert_eq!(
            whole_transactions(&self.buffer[self.transaction_start..]),
            Some(transactions)
        );
        self.transaction_start = self.buffer.len();
        self.transactions += transactions;
    }

    /// Appends bytes of a log whose records are of another kind ([`crate::remote_log::entry_log`]): all of the group is
    /// one transaction.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.buffer.reserve(bytes.len());
        self.buffer.extend_from_slice(bytes);
        self.transaction_start = self.buffer.len();
        self.transactions = 1;
    }

    /// The present end of the running transaction's records, to [cut them off](GroupBuilder::cut) there.
    #[inline]
    pub fn mark(&self) -> LogMark {
        LogMark {
            end: self.buffer.len(),
            last_record: self.last_record,
        }
    }

    /// Cuts off the records that the running transaction appended since the mark.
    ///
    /// # Panics
    /// If the mark is of another transaction and behind the end.
    pub fn cut(&mut self, mark: LogMark) {
        debug_assert!(mark.end >= self.transaction_start, "of this transaction");
        self.buffer.truncate(mark.end);
        self.last_record = mark.last_record;
    }

    /// Cuts off the running transaction's records.
    pub fn abort_transaction(&mut self) {
        self.buffer.truncate(self.transaction_start);
    }

    /// Bytes of the running transaction's records so far.
    #[inline]
    pub fn transaction_bytes(&self) -> usize {
        self.buffer.len() - self.transaction_start
    }

    /// Counts the transactions that have ended in the group.
    pub fn transactions(&self) -> u32 {
        self.transactions
    }

    /// Returns true if the group has no transaction.
    pub fn is_empty(&self) -> bool {
        self.transactions == 0
    }

    /// The records so far.
    pub fn payload(&self) -> &[u8] {
        &self.buffer[GROUP_HEADER_BYTES..]
    }
}

/// The transactions in these records; `None` if they are not whole.
fn whole_transactions(payload: &[u8]) -> Option<u32> {
    let mut transactions = 0;
    let mut whole = true;
    for record in record::Records::new(payload) {
        whole = record.ok()?.ends_transaction;
        transactions += u32::from(whole);
    }
    whole.then_some(transactions)
}

/// Numbers groups and gives them their places.
#[derive(Debug)]
pub struct Sequencer {
    layout: LogLayout,
    incarnation: u32,
    next: LogPosition,
}

impl Sequencer {
    /// Goes on at a position, as the given incarnation.
    ///
    /// # Panics
    /// If the incarnation is not after that of the log before: leftovers could be taken for log.
    pub fn new(layout: LogLayout, incarnation: u32, next: LogPosition) -> Self {
        assert!(
            incarnation > next.incarnation,
            "an incarnation is used once"
        );
        Sequencer {
            layout,
            incarnation,
            next,
        }
    }

    /// Goes on at the end of a log that others of the same incarnation have written to.
    pub fn resume(layout: LogLayout, incarnation: u32, next: LogPosition) -> Self {
        debug_assert!(incarnation >= next.incarnation, "a later one's log");
        Sequencer {
            layout,
            incarnation,
            next,
        }
    }

    /// The log's identity and its segments' size.
    #[inline]
    pub fn layout(&self) -> LogLayout {
        self.layout
    }

    /// The place of the next group (or the segment after it, if it does not fit there).
    #[inline]
    pub fn next(&self) -> LogPosition {
        self.next
    }

    /// Closes a group: gives it its number and place. Its checksums are computed later, by
    /// [`SealedGroup::finish`], because sealing happens on the execution stage's time. One that does not fit
    /// into a segment, a single transaction, becomes a spanning group.
    pub fn seal(&mut self, builder: GroupBuilder) -> SealedGroup {
        let payload_bytes = builder.payload().len();
        let on_disk = group_bytes_on_disk(payload_bytes);
        assert!(
            on_disk as u64 <= self.layout.segment_bytes || builder.transactions == 1,
            "a group fits into a segment, or is one transaction"
        );
        let header = GroupHeader {
            identity: self.layout.identity,
            number: self.next.group,
            lsn: self.layout.place(self.next.lsn, on_disk as u64),
            durable_number: 0,
            first_transaction: self.next.transactions,
            payload_bytes: payload_bytes as u32,
            transactions: builder.transactions,
            incarnation: self.incarnation,
            payload_checksum: 0,
            spanned_bytes: self.layout.spanned_bytes(on_disk as u64),
        };
        self.next = header.next_position();
        let (mut buffer, summed) = (builder.buffer, builder.summed);
        buffer.extend_zeroed(on_disk);
        SealedGroup {
            header,
            buffer,
            summed,
        }
    }
}

/// A group with its number and place, on its way to the disk and then to the checkpointer.
#[derive(Debug)]
pub struct SealedGroup {
    header: GroupHeader,
    buffer: AlignedBuffer,
    summed: Summed,
}

impl SealedGroup {
    /// Computes the checksums and writes the header. `durable_number`: the last group known durable
    /// now.
    pub fn finish(&mut self, durable_number: u64) {
        self.header.durable_number = durable_number;
        let Summed { bytes, sum } = self.summed;
        self.header.payload_checksum = crc32c::crc32c_append(sum, &self.payload()[bytes..]);
        let first = self.buffer.first_chunk_mut().expect("a group has a header");
        self.header.encode(first);
    }

    /// A group as it was received from elsewhere, whole, header and padding included. Gives the
    /// buffer back unless it is valid.
    pub fn from_bytes(buffer: AlignedBuffer) -> Result<SealedGroup, AlignedBuffer> {
        let Some(header) = GroupHeader::decode(&buffer) else {
            return Err(buffer);
        };
        let payload_end = GROUP_HEADER_BYTES + header.payload_bytes as usize;
        let payload = buffer.get(GROUP_HEADER_BYTES..payload_end);
        let valid = buffer.len() == header.bytes_on_disk()
            && payload.is_some_and(|payload| header.payload_is_valid(payload));
        if valid {
            Ok(SealedGroup {
                header,
                buffer,
                summed: Summed::default(),
            })
        } else {
            Err(buffer)
        }
    }

    /// Checks that a group that was received can be the next in a log.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check_follows(&self, layout: LogLayout, next: LogPosition) -> Result<(), &'static str> {
        let header = &self.header;
        if header.identity != layout.identity {
            return Err("it is of another database");
        }
        if header.number != next.group {
            return Err("it is not the next one");
        }
        if header.first_transaction != next.transactions {
            return Err("it counts other transactions before it");
        }
        if header.incarnation < next.incarnation {
            return Err("it is of an earlier incarnation than the group before it");
        }
        let on_disk = header.bytes_on_disk() as u64;
        if header.lsn != layout.place(next.lsn, on_disk) || on_disk > layout.segment_bytes {
            return Err("its place is not the log's end");
        }
        Ok(())
    }

    /// Number, position and checksum, as on disk.
    pub fn header(&self) -> &GroupHeader {
        &self.header
    }

    /// The records.
    pub fn payload(&self) -> &[u8] {
        &self.buffer[GROUP_HEADER_BYTES..GROUP_HEADER_BYTES + self.header.payload_bytes as usize]
    }

    /// All its bytes on disk.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// CRC-32C of these bytes, of a group that is finished. Only its header is read: that has the checksum of the records, and
    /// zeroes follow these.
    pub fn sum(&self) -> u32 {
        let records = self.header.payload_bytes as usize;
        let header = crc32c::crc32c(&self.buffer[..GROUP_HEADER_BYTES]);
        let sum = crc32c::crc32c_joined(header, self.header.payload_checksum, records);
        let zeroes = self.buffer.len() - GROUP_HEADER_BYTES - records;
        crc32c::crc32c_zeroes(sum, zeroes)
    }

    /// Gives the buffer back for another group.
    pub fn into_buffer(self) -> AlignedBuffer {
        self.buffer
    }
}
