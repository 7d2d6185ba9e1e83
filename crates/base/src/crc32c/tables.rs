//! Tables of CRC-32C, computed at compile time.
//!
//! A checksum is linear: appending zeros to the data is a matrix of 32 by 32 bits on it. A matrix is an array of its 32
//! columns; a table has what each byte of a word contributes.

/// The polynomial, its bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Table `n` has, by byte, the checksum of that byte followed by `n` zeros.
pub(super) static SLICES: [[u32; 256]; 8] = slices();

const fn slices() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = one_bit(sum);
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut n = 1;
    while n < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[n - 1][byte];
            tables[n][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        n += 1;
    }
    tables
}

/// Appends a zero bit.
const fn one_bit(sum: u32) -> u32 {
    sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 }
}

/// Appends a fixed number of zero bytes to the data of a checksum.
pub(super) struct Shift([[u32; 256]; 4]);

impl Shift {
    /// Over so many zero bytes, a power of two.
    pub(super) const fn over(bytes: usize) -> Shift {
        assert!(bytes.is_power_of_two());
        let mut matrix = [0; 32];
        let mut column = 0;
        while column < 32 {
            matrix[column] = one_bit(1 << column);
            column += 1;
        }
        // Each squaring doubles the number of bits.
        let mut bits = 1;
        while bits < 8 * bytes {
            matrix = square(&matrix);
            bits *= 2;
        }
        let mut tables = [[0; 256]; 4];
        let mut place = 0;
        while place < 4 {
            let mut byte = 0;
            while byte < 256 {
                tables[place][byte] = times(&matrix, (byte as u32) << (8 * place));
                byte += 1;
            }
            place += 1;
        }
        Shift(tables)
    }

    /// The checksum with the zeros behind its data.
    #[inline]
    pub(super) fn apply(&self, sum: u32) -> u32 {
        let [a, b, c, d] = sum.to_le_bytes();
        self.0[0][usize::from(a)]
            ^ self.0[1][usize::from(b)]
            ^ self.0[2][usize::from(c)]
            ^ self.0[3][usize::from(d)]
    }
}

/// For each power of two, the matrix that appends so many zero bytes.
static POWERS: [[u32; 32]; usize::BITS as usize] = powers();

const fn powers() -> [[u32; 32]; usize::BITS as usize] {
    let mut matrix = [0; 32];
    let mut column = 0;
    while column < 32 {
        matrix[column] = one_bit(1 << column);
        column += 1;
    }
    // Of a byte: three squarings.
    matrix = square(&square(&square(&matrix)));
    let mut powers = [[0; 32]; usize::BITS as usize];
    let mut power = 0;
    while power < powers.len() {
        powers[power] = matrix;
        matrix = square(&matrix);
        power += 1;
    }
    powers
}

/// The checksum with so many zeroes behind its data: a product for each bit of the length.
pub(super) fn shifted(sum: u32, bytes: usize) -> u32 {
    let (mut sum, mut left) = (sum, bytes);
    while left != 0 {
        sum = times(&POWERS[left.trailing_zeros() as usize], sum);
        left &= left - 1;
    }
    sum
}

const fn times(matrix: &[u32; 32], vector: u32) -> u32 {
    let (mut product, mut left) = (0, vector);
    while left != 0 {
        product ^= matrix[left.trailing_zeros() as usize];
        left &= left - 1;
    }
    product
}

/// A matrix times itself.
const fn square(matrix: &[u32; 32]) -> [u32; 32] {
    let mut squared = [0; 32];
    let mut column = 0;
    while column < 32 {
        squared[column] = times(matrix, matrix[column]);
        column += 1;
    }
    squared
}
