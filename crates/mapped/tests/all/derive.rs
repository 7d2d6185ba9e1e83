//! The derive as its users have it; its refusals are in its own tests and in the documentation of the trait.

use sardonyx_mapped::memory::PlainMemory;
use sardonyx_mapped::{Heap, Memory, MemoryAccess, P, Resident, Slice, place};
use std::marker::PhantomData;
use std::num::Wrapping;

/// A library that offers this one under another name.
mod face {
    pub mod engine {
        pub use sardonyx_mapped::resident;
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[resident(crate = crate::derive::face::engine)]
#[repr(C, align(16))]
struct Everything {
    wide: u128,
    link: P<Everything>,
    slice: Slice<[u8; 3]>,
    real: f64,
    small: [[u16; 2]; 2],
    wrapping: Wrapping<i64>,
    nothing: (),
}

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(transparent)]
struct Metres<T>(T);

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(transparent)]
struct Fixed<T, const N: usize> {
    values: [T; N],
    of: PhantomData<String>,
}

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C, packed)]
struct Packed(u8, u32);

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Nothing;

#[test]
fn values_of_derived_types_live_in_a_heap() {
    let mut memory = PlainMemory::new(1 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    let first: P<Everything> = P::from_offset(1 << 40);
    let value = Everything {
        wide: 1 << 100,
        link: first,
        slice: Slice::empty(),
        real: 0.5,
        small: [[1, 2], [3, 4]],
        wrapping: Wrapping(-1),
        nothing: (),
    };
    let place = heap.allocate(&mut memory, &value).unwrap();
    assert_eq!(memory.read(place), Ok(value));
    let small: P<[[u16; 2]; 2]> = place!(place, Everything, small);
    let last = small.index(1).and_then(|pair| pair.index(1)).unwrap();
    assert_eq!(memory.read(last), Ok(4));
    let metres = heap.allocate(
        &mut memory,
        &Metres(Fixed::<i32, 7> {
            values: [5; 7],
            of: PhantomData,
        }),
    );
    assert_eq!(memory.read(metres.unwrap()).unwrap().0.values, [5; 7]);
    heap.allocate(&mut memory, &Nothing).unwrap();
    let packed = heap.allocate(&mut memory, &Packed(1, 2)).unwrap();
    assert_eq!(memory.read(packed), Ok(Packed(1, 2)));
}

/// Any bytes can be looked at, compared and shown.
#[test]
fn any_bytes_are_a_value() {
    let mut memory = PlainMemory::new(4096).unwrap();
    memory.grow_to(4096).unwrap();
    let place: P<Everything> = P::from_offset(128);
    for byte in 0..=255 {
        memory.bytes_mut().fill(byte);
        let value = memory.read(place).unwrap();
        assert_eq!(value.wide, u128::from_ne_bytes([byte; 16]));
        assert!(!format!("{value:?}").is_empty());
        let _ = (value.link < place, value == value);
    }
}
