//! Random numbers that are the same on every machine and in every release.
//!
//! Generated sessions are compared byte for byte between runs and machines, so neither the
//! generator of numbers nor the distributions made from them may depend on a library's version.

/// A small, fast, seeded generator (xorshift128+, seeded through a mixing step so that neighboring
/// seeds have nothing in common).
///
/// ```
/// use treering_testkit::rng::Rng;
/// let (mut a, mut b) = (Rng::new(1), Rng::new(1));
/// assert_eq!(a.next(), b.next());
/// ```
#[derive(Debug, Clone)]
pub struct Rng {
    a: u64,
    b: u64,
}

impl Rng {
    /// Returns the generator of a seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng { a: mix(seed), b: mix(seed ^ 0x5851_F42D_4C95_7F2D) | 1 };
        for _ in 0..4 {
            rng.next();
        }
        rng
    }

    /// Returns 64 random bits.
    #[allow(clippy::should_implement_trait, reason = "it never ends, and is no iterator")]
    pub fn next(&mut self) -> u64 {
        let (mut x, y) = (self.a, self.b);
        self.a = y;
        x ^= x << 23;
        self.b = x ^ y ^ (x >> 17) ^ (y >> 26);
        self.b.wrapping_add(y)
    }

    /// Returns a number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a position in something of `len` elements; 0 if it has none.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns a number from `from` up to, not including, `to`.
    pub fn range(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from))
    }

    /// Returns true with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Returns one of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// Returns a number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number of a log-normal distribution, kept between `least` and `most`.
    pub fn log_normal(&mut self, median: f64, sigma: f64, least: usize, most: usize) -> usize {
        // The sum of twelve uniform numbers is as good as normal here, and needs no tables.
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        ((median * exp(sigma * normal)) as usize).clamp(least, most)
    }

    /// Returns how often in a row something of probability `p` happens, at most `most` times.
    pub fn streak(&mut self, p: f64, most: usize) -> usize {
        (0..most).take_while(|_| self.chance(p)).count()
    }
}

/// Returns an approximation of the exponential function that is the same on every machine.
fn exp(x: f64) -> f64 {
    (0..10).fold(1.0 + x / 1024.0, |power, _| power * power)
}

/// Spreads a number's bits over the whole word.
pub(crate) fn mix(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x1234_5678_9ABC_DEF1).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_stay_in_range() {
        let mut rng = Rng::new(7);
        let mut counts = [0_u32; 10];
        for _ in 0..10_000 {
            counts[rng.index(10)] += 1;
        }
        assert!(counts.iter().all(|&count| (850..1150).contains(&count)), "{counts:?}");
        assert!((0..1000).all(|_| (5..8).contains(&rng.range(5, 8))));
        assert_eq!(rng.below(0), 0);
        let sizes: Vec<usize> = (0..1001).map(|_| rng.log_normal(100.0, 1.0, 10, 900)).collect();
        let below = sizes.iter().filter(|&&size| size < 100).count();
        assert!((400..600).contains(&below), "{below} of 1001 are below the median");
        assert!(sizes.iter().all(|size| (10..=900).contains(size)));
    }

    #[test]
    fn neighboring_seeds_differ() {
        let firsts: std::collections::HashSet<u64> =
            (0..1000).map(|s| Rng::new(s).next()).collect();
        assert_eq!(firsts.len(), 1000);
    }
}
