//! Inputs from seeds: input number `n` is a function of a generator that is seeded with `n`.
//!
//! The changes are those that find errors in decoders: bits, bytes, words of 1 to 8 bytes that are near a limit, pieces
//! cut out, doubled, moved and taken from another seed, and lengths cut.

use sardonyx_base::random::Random;

/// The most bytes by which an input is longer than its seed.
const GROWTH_MAX: usize = 4096;

/// Values near which errors in lengths, counts and offsets show.
const LIMITS: [u64; 12] = [
    0,
    1,
    7,
    8,
    0x7f,
    0xff,
    0xfff,
    4096,
    0x7fff_ffff,
    u32::MAX as u64,
    i64::MAX as u64,
    u64::MAX,
];

/// One of the seeds with a few changes; rarely noise. The first inputs are the seeds unchanged.
pub(crate) fn input(seeds: &[Vec<u8>], number: u64, random: &mut Random) -> Vec<u8> {
    if let Some(seed) = usize::try_from(number).ok().and_then(|n| seeds.get(n)) {
        return seed.clone();
    }
    if seeds.is_empty() || random.chance(1, 16) {
        return noise(random, 300);
    }
    let mut bytes = pick(seeds, random).clone();
    for _ in 0..=random.below(5) {
        change(&mut bytes, seeds, random);
    }
    bytes
}

fn noise(random: &mut Random, length_max: u64) -> Vec<u8> {
    let length = random.below(length_max + 1);
    (0..length).map(|_| random.next() as u8).collect()
}

fn pick<'a, T>(from: &'a [T], random: &mut Random) -> &'a T {
    &from[random.below(from.len() as u64) as usize]
}

/// A place in the bytes; half of them among the first 256, where heads are.
fn place(length: usize, random: &mut Random) -> usize {
    let bound = if random.chance(1, 2) {
        length.min(256)
    } else {
        length
    };
    random.below(bound as u64) as usize
}

/// A piece of the bytes, mostly short.
fn piece(length: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = place(length, random);
    let longest = (length - start).min(1 << random.below(13));
    start..start + 1 + random.below(longest as u64) as usize
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    if bytes.is_empty() {
        *bytes = noise(random, 64);
        return;
    }
    let length = bytes.len();
    match random.below(9) {
        0 => bytes[place(length, random)] ^= 1 << random.below(8),
        1 => bytes[place(length, random)] = random.next() as u8,
        2 | 3 => {
            let near = pick(&LIMITS, random)
                .wrapping_add(random.below(5))
                .wrapping_sub(2);
            let word = near.to_le_bytes();
            let width = 1 << random.below(4);
            // Fields are at multiples of their width.
            let at = place(length, random) / width * width;
            let width = width.min(length - at);
            bytes[at..at + width].copy_from_slice(&word[..width]);
        }
        4 => bytes.truncate(place(length, random)),
        5 => _ = bytes.drain(piece(length, random)),
        6 => {
            let range = piece(length.min(GROWTH_MAX), random);
            let double = bytes[range.clone()].to_vec();
            _ = bytes.splice(range.end..range.end, double);
        }
        7 => {
            let other = pick(seeds, random);
            if !other.is_empty() {
                let range = piece(other.len(), random);
                let at = place(length, random);
                let end = (at + range.len()).min(length);
                bytes[at..end].copy_from_slice(&other[range][..end - at]);
            }
        }
        _ => {
            let range = piece(length, random);
            let fill = if random.chance(1, 2) { 0 } else { 0xff };
            bytes[range].fill(fill);
        }
    }
    let longest = seeds.iter().map(Vec::len).max().unwrap_or(0) + GROWTH_MAX;
    bytes.truncate(longest);
}
