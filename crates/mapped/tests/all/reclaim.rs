//! The kernel may take pages away; the read pages are known nevertheless.

use sardonyx_mapped::{Begin, MechanismKind, MemoryAccess, Options, P, SegmentError, Transaction};

fn place(page: u64) -> P<u64> {
    P::from_offset(page * 4096 + 8)
}

#[test]
fn a_page_that_was_read_is_known_although_the_kernel_was_asked_to_take_it_away() {
    for mechanism in [MechanismKind::Asynchronous, MechanismKind::Signal]
        .into_iter()
        .filter(|kind| kind.resolve().is_ok())
    {
        let options = Options::new()
            .mechanism(mechanism)
            // As it is in any case where there is swap.
            .lock_in_memory(true)
            .address_space_bytes(1 << 30);
        let segment = options.open_private().unwrap();
        segment
            .run(|tx| sardonyx_mapped::Memory::grow_to(tx, 1 << 20))
            .unwrap();
        let mut session = segment.session().unwrap();
        let address = session.address();
        let mut reader = Transaction::begin(&mut session, Begin::default()).unwrap();
        assert_eq!(reader.read(place(3)).unwrap(), 0);
        // SAFETY: the page is in the session's view; its content is kept.
        unsafe { libc::madvise(address.add(3 * 4096).cast(), 4096, libc::MADV_PAGEOUT) };
        segment.run(|tx| tx.write(place(3), 1)).unwrap();
        reader.write(place(5), 1).unwrap();
        let committed = reader.commit();
        assert!(
            matches!(committed, Err(SegmentError::Conflict { page: 3 })),
            "{committed:?}"
        );
    }
}
