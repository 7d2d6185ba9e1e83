//! Decimal fixed-point numbers with 126 digits behind the point, for functions of `numeric`. That is enough to round
//! results of up to 38 digits correctly.
//!
//! A number is a sign and limbs of nine decimal digits, the lowest first. Products and quotients are truncated.

use std::cmp::Ordering;

/// A limb is below this.
const BASE: u64 = 1_000_000_000;
/// Decimal digits of a limb.
const LIMB_DIGITS: u32 = 9;
/// Limbs behind the point.
const FRACTION: usize = 14;
/// Digits behind the point.
const FRACTION_DIGITS: u32 = FRACTION as u32 * LIMB_DIGITS;

/// A fixed-point number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Big {
    negative: bool,
    /// The limbs have no zeros at the upper end.
    limbs: Vec<u64>,
}

fn trimmed(mut limbs: Vec<u64>) -> Vec<u64> {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}

fn compare(a: &[u64], b: &[u64]) -> Ordering {
    let by_length = a.len().cmp(&b.len());
    by_length.then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn add(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut sum = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    for at in 0..a.len().max(b.len()) {
        let limb = a.get(at).unwrap_or(&0) + b.get(at).unwrap_or(&0) + carry;
        sum.push(limb % BASE);
        carry = limb / BASE;
    }
    sum.push(carry);
    trimmed(sum)
}

/// `b` is not greater than `a`.
fn subtract(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut difference = Vec::with_capacity(a.len());
    let mut borrow = 0;
    for (at, limb) in a.iter().enumerate() {
        let less = b.get(at).unwrap_or(&0) + borrow;
        borrow = u64::from(*limb < less);
        difference.push(limb + borrow * BASE - less);
    }
    trimmed(difference)
}

fn multiply(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0; a.len() + b.len()];
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, y) in b.iter().enumerate() {
            let limb = product[i + j] + x * y + carry;
            product[i + j] = limb % BASE;
            carry = limb / BASE;
        }
        product[i + b.len()] += carry;
    }
    trimmed(product)
}

fn multiply_small(a: &[u64], by: u64) -> Vec<u64> {
    multiply(a, &[by % BASE, by / BASE])
}

/// The quotient, and the rest.
fn divide_small(a: &[u64], by: u64) -> (Vec<u64>, u64) {
    let mut quotient = vec![0; a.len()];
    let mut rest = 0;
    for (at, limb) in a.iter().enumerate().rev() {
        let now = rest * BASE + limb;
        quotient[at] = now / by;
        rest = now % by;
    }
    (trimmed(quotient), rest)
}

/// The truncated quotient, by long division. Each limb is first estimated from the upper limbs, too small by at most a
/// few.
fn divide(a: &[u64], b: &[u64]) -> Vec<u64> {
    let limb_at = |limbs: &[u64], at: Option<usize>| {
        let limb = at.and_then(|at| limbs.get(at));
        u128::from(*limb.unwrap_or(&0))
    };
    let base = u128::from(BASE);
    let (top, next) = (b.len().checked_sub(1), b.len().checked_sub(2));
    let divisor = limb_at(b, top) * base + limb_at(b, next) + 1;
    let mut quotient = vec![0; a.len()];
    let mut rest: Vec<u64> = Vec::new();
    for (at, limb) in a.iter().enumerate().rev() {
        rest.insert(0, *limb);
        rest = trimmed(rest);
        let upper = limb_at(&rest, Some(b.len())) * base + limb_at(&rest, top);
        let mut found = ((upper * base + limb_at(&rest, next)) / divisor) as u64;
        rest = subtract(&rest, &multiply_small(b, found));
        while compare(&rest, b).is_ge() {
            rest = subtract(&rest, b);
            found += 1;
        }
        quotient[at] = found;
    }
    trimmed(quotient)
}

fn power_of_ten(digits: u32) -> Vec<u64> {
    let mut power = vec![0; (digits / LIMB_DIGITS) as usize];
    power.push(10_u64.pow(digits % LIMB_DIGITS));
    power
}

impl Big {
    fn new(negative: bool, limbs: Vec<u64>) -> Big {
        let negative = negative && !limbs.is_empty();
        Big { negative, limbs }
    }

    /// A decimal of up to 38 digits behind the point.
    pub fn of(units: i128, scale: u8) -> Big {
        let mut rest = units.unsigned_abs();
        let mut limbs = Vec::new();
        while rest > 0 {
            limbs.push((rest % u128::from(BASE)) as u64);
            rest /= u128::from(BASE);
        }
        let shift = FRACTION_DIGITS.saturating_sub(scale.into());
        Big::new(units < 0, multiply(&limbs, &power_of_ten(shift)))
    }

    /// A float; zero if it is not finite.
    fn of_float(value: f64) -> Big {
        let text = format!("{value:.30}");
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let mut limbs = Vec::new();
        for digit in digits.bytes() {
            limbs = add(&multiply_small(&limbs, 10), &[u64::from(digit - b'0')]);
        }
        let limbs = multiply(&limbs, &power_of_ten(FRACTION_DIGITS - 30));
        Big::new(value < 0.0, limbs)
    }

    /// Rounds to the given digits behind the point, halves away from zero; `None` if the units do not fit.
    pub fn rounded(&self, scale: u8) -> Option<i128> {
        let divisor = power_of_ten(FRACTION_DIGITS.saturating_sub(scale.into()));
        let half = divide_small(&divisor, 2).0;
        self.with_sign(&divide(&add(&self.limbs, &half), &divisor))
    }

    /// The same, as a number. A scale above that of all numbers changes nothing.
    pub fn to_scale(&self, scale: u32) -> Big {
        let divisor = power_of_ten(FRACTION_DIGITS.saturating_sub(scale));
        let half = divide_small(&divisor, 2).0;
        let units = divide(&add(&self.limbs, &half), &divisor);
        Big::new(self.negative, multiply(&units, &divisor))
    }

    /// The integral part; `None` if it does not fit.
    pub fn truncated(&self) -> Option<i128> {
        self.with_sign(self.limbs.get(FRACTION..).unwrap_or_default())
    }

    fn with_sign(&self, units: &[u64]) -> Option<i128> {
        let mut value = 0_i128;
        for limb in units.iter().rev() {
            value = value
                .checked_mul(BASE.into())?
                .checked_add((*limb).into())?;
        }
        Some(if self.negative { -value } else { value })
    }

    /// The nearest float, or the next to it.
    pub fn to_float(&self) -> f64 {
        let limbs = self.limbs.iter().rev().take(4);
        let value = limbs.fold(0.0, |value, limb| value * BASE as f64 + *limb as f64);
        let shift = self.limbs.len().saturating_sub(4) as i32 - FRACTION as i32;
        let value = value * (BASE as f64).powi(shift);
        if self.negative { -value } else { value }
    }

    pub fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// The place of the first group of four digits, counted from the point, and that group; of zero both are zero.
    pub fn first_group(&self) -> (i32, i128) {
        let mut upper = self.limbs.iter().rev();
        let Some(first) = upper.next() else {
            return (0, 0);
        };
        let below = upper.next().copied().unwrap_or(0);
        let leading = u128::from(*first) * u128::from(BASE) + u128::from(below);
        let digits = (self.limbs.len() as u32 - 1) * LIMB_DIGITS + first.ilog10() + 1;
        let before_point = digits as i32 - FRACTION_DIGITS as i32;
        let weight = (before_point - 1).div_euclid(4);
        let of_group = (before_point - 4 * weight) as u32;
        let cut = leading.ilog10() + 1 - of_group;
        (weight, (leading / 10_u128.pow(cut)) as i128)
    }

    pub fn plus(&self, other: &Big) -> Big {
        if self.negative == other.negative {
            return Big::new(self.negative, add(&self.limbs, &other.limbs));
        }
        match compare(&self.limbs, &other.limbs) {
            Ordering::Less => Big::new(other.negative, subtract(&other.limbs, &self.limbs)),
            _ => Big::new(self.negative, subtract(&self.limbs, &other.limbs)),
        }
    }

    pub fn minus(&self, other: &Big) -> Big {
        self.plus(&other.negated())
    }

    pub fn negated(&self) -> Big {
        Big::new(!self.negative, self.limbs.clone())
    }

    pub fn times(&self, other: &Big) -> Big {
        let product = multiply(&self.limbs, &other.limbs);
        let kept = product.get(FRACTION..).unwrap_or_default().to_vec();
        Big::new(self.negative != other.negative, kept)
    }

    /// The divisor is not zero.
    pub fn over(&self, divisor: &Big) -> Big {
        let mut dividend = vec![0; FRACTION];
        dividend.extend(&self.limbs);
        let quotient = divide(&dividend, &divisor.limbs);
        Big::new(self.negative != divisor.negative, quotient)
    }

    fn over_small(&self, divisor: u64) -> Big {
        Big::new(self.negative, divide_small(&self.limbs, divisor).0)
    }

    /// The power, by squaring.
    pub fn to_the(&self, mut exponent: u32) -> Big {
        let (mut result, mut square) = (Big::of(1, 0), self.clone());
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.times(&square);
            }
            exponent >>= 1;
            if exponent > 0 {
                square = square.times(&square);
            }
        }
        result
    }

    /// The square root of a number that is not negative, by Newton's method.
    pub fn root(&self) -> Big {
        if self.is_zero() {
            return self.clone();
        }
        let mut root = Big::of_float(self.to_float().sqrt());
        for _ in 0..5 {
            root = root.plus(&self.over(&root)).over_small(2);
        }
        root
    }

    /// `e` to this power, which is small enough for the result to have a few hundred digits.
    pub fn exponential(&self) -> Big {
        const HALVINGS: u32 = 16;
        let small = Big::new(false, self.limbs.clone()).over_small(1 << HALVINGS);
        let (mut sum, mut term) = (Big::of(1, 0), Big::of(1, 0));
        for number in 1.. {
            term = term.times(&small).over_small(number);
            if term.is_zero() {
                break;
            }
            sum = sum.plus(&term);
        }
        for _ in 0..HALVINGS {
            sum = sum.times(&sum);
        }
        match self.negative {
            true => Big::of(1, 0).over(&sum),
            false => sum,
        }
    }

    /// The natural logarithm of a positive number, by Halley's method.
    pub fn logarithm(&self) -> Big {
        let mut result = Big::of_float(self.to_float().ln());
        for _ in 0..4 {
            let power = result.exponential();
            let step = self.minus(&power).over(&self.plus(&power));
            result = result.plus(&step).plus(&step);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_their_digits() {
        let one = Big::of(1, 0);
        let e = 2_718_281_828_459_045_235_360_287_471_352_662_498;
        assert_eq!(one.exponential().rounded(36), Some(e));
        let two = Big::of(2, 0);
        assert_eq!(
            two.logarithm().rounded(37),
            Some(6_931_471_805_599_453_094_172_321_214_581_765_681)
        );
        assert_eq!(
            two.root().rounded(37),
            Some(14_142_135_623_730_950_488_016_887_242_096_980_786)
        );
    }

    #[test]
    fn results_of_inverses_are_the_same() {
        for (units, scale) in [
            (1, 38),
            (5, 0),
            (123_456_789, 4),
            (i128::MAX, 0),
            (i128::MAX, 38),
        ] {
            let number = Big::of(units, scale);
            assert_eq!(number.rounded(scale), Some(units));
            assert_eq!(number.logarithm().exponential().rounded(scale), Some(units));
            assert_eq!(number.root().to_the(2).rounded(scale), Some(units));
            let half = number.over(&Big::of(-2, 0));
            assert_eq!(half.plus(&half).negated().rounded(scale), Some(units));
        }
    }
}
