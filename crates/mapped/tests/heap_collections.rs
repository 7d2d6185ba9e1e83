//! Vectors and texts on a heap, against the standard library's.

use proptest::prelude::*;
use sardonyx_mapped::collections::{Text, Vector};
use sardonyx_mapped::heap::HeapError;
use sardonyx_mapped::memory::PlainMemory;
use sardonyx_mapped::{Heap, Memory, MemoryAccess, P};

#[derive(Clone, Debug)]
enum Step {
    Push(u32),
    Extend(Vec<u32>),
    Pop,
    Truncate(u64),
    Clear,
    SetText(String),
    AppendText(String),
    ClearText,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<u32>().prop_map(Step::Push),
        2 => prop::collection::vec(any::<u32>(), 0..700).prop_map(Step::Extend),
        2 => Just(Step::Pop),
        1 => (0u64..2000).prop_map(Step::Truncate),
        1 => Just(Step::Clear),
        2 => ".{0,200}".prop_map(Step::SetText),
        2 => ".{0,50}".prop_map(Step::AppendText),
        1 => Just(Step::ClearText),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn they_are_as_the_standard_ones(steps in prop::collection::vec(step(), 0..60)) {
        let mut memory = PlainMemory::new(32 << 20).unwrap();
        let memory = &mut memory;
        let heap = Heap::format(memory).unwrap();
        let vector: P<Vector<u32>> = heap.allocate(memory, &Vector::new()).unwrap();
        let text: P<Text> = heap.allocate(memory, &Text::new()).unwrap();
        let (mut model, mut string) = (Vec::new(), String::new());
        for step in steps {
            match step {
                Step::Push(value) => {
                    vector.push(heap, memory, value).unwrap();
                    model.push(value);
                }
                Step::Extend(values) => {
                    vector.extend(heap, memory, &values).unwrap();
                    model.extend(values);
                }
                Step::Pop => prop_assert_eq!(vector.pop(memory).unwrap(), model.pop()),
                Step::Truncate(length) => {
                    vector.truncate(memory, length).unwrap();
                    model.truncate(length as usize);
                }
                Step::Clear => {
                    vector.clear(heap, memory).unwrap();
                    model.clear();
                }
                Step::SetText(value) => {
                    text.set(heap, memory, &value).unwrap();
                    string = value;
                }
                Step::AppendText(value) => {
                    text.append(heap, memory, &value).unwrap();
                    string.push_str(&value);
                }
                Step::ClearText => {
                    text.clear(heap, memory).unwrap();
                    string.clear();
                }
            }
            let slice = vector.slice(memory).unwrap();
            prop_assert_eq!(memory.slice(slice).unwrap(), &model);
            prop_assert_eq!(text.text(memory).unwrap(), &string);
            heap.check(memory).unwrap();
        }
        vector.clear(heap, memory).unwrap();
        text.clear(heap, memory).unwrap();
        heap.free(memory, vector).unwrap();
        heap.free(memory, text).unwrap();
        let report = heap.check(memory).unwrap();
        prop_assert_eq!((report.small, report.large), (0, 0));
    }

    #[test]
    fn any_bytes_are_a_vector_that_harms_nobody(words in prop::array::uniform3(prop_oneof![
        0u64..10_000, any::<u64>(), Just(u64::MAX), (0u64..110).prop_map(|page| page * 4096),
    ])) {
        let mut memory = PlainMemory::new(1 << 20).unwrap();
        let heap = Heap::format(&mut memory).unwrap();
        let place = heap.allocate(&mut memory, &words).unwrap();
        let vector: P<Vector<u64>> = place.cast();
        let text: P<Text> = place.cast();
        let _ = text.text(&memory);
        let _ = vector.slice(&memory).map(|slice| memory.slice(slice).is_ok());
        let _ = vector.pop(&mut memory);
        let _ = vector.reserve(heap, &mut memory, 1 << 20);
        let _ = vector.push(heap, &mut memory, 1);
        let _ = vector.clear(heap, &mut memory);
        let _ = text.set(heap, &mut memory, "text");
    }
}

#[test]
fn a_vector_that_cannot_grow_is_as_it_was() {
    let mut memory = PlainMemory::new(1 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    let vector: P<Vector<u64>> = heap.allocate(&mut memory, &Vector::new()).unwrap();
    vector.extend(heap, &mut memory, &[1, 2, 3]).unwrap();
    let before = memory.bytes().to_vec();
    let error = vector.extend(heap, &mut memory, &[7; 1 << 17]).unwrap_err();
    assert!(matches!(error, HeapError::Grow(_)), "{error}");
    assert!(memory.bytes()[..before.len()] == before);
    let error = vector.reserve(heap, &mut memory, u64::MAX).unwrap_err();
    assert!(matches!(error, HeapError::Impossible { .. }), "{error}");
}

#[test]
fn a_text_that_is_not_utf_8_is_damage() {
    let mut memory = PlainMemory::new(1 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    let text: P<Text> = heap.allocate(&mut memory, &Text::new()).unwrap();
    text.set(heap, &mut memory, "é").unwrap();
    let bytes = text.cast::<Vector<u8>>().slice(&memory).unwrap();
    memory.slice_mut(bytes).unwrap()[0] = 0xff;
    let error = text.text(&memory).unwrap_err();
    assert!(matches!(error, HeapError::Damaged { .. }), "{error}");
    // And can be mended.
    text.set(heap, &mut memory, "e").unwrap();
    assert_eq!(text.text(&memory).unwrap(), "e");
}

#[test]
fn values_of_no_bytes_are_counted() {
    let mut memory = PlainMemory::new(1 << 20).unwrap();
    let heap = Heap::format(&mut memory).unwrap();
    let vector: P<Vector<()>> = heap.allocate(&mut memory, &Vector::new()).unwrap();
    for _ in 0..100 {
        vector.push(heap, &mut memory, ()).unwrap();
    }
    assert_eq!(vector.slice(&memory).unwrap().length, 100);
    vector.clear(heap, &mut memory).unwrap();
    assert_eq!(heap.check(&memory).unwrap().small, 1);
}
