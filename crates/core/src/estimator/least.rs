// SPDX-License-Identifier: MIT OR Apache-2.0
//! Minima.

/// The least value of an interval, which begins with a value of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Least<T>(T);

impl<T: PartialOrd + Copy> Least<T> {
    /// An interval begins with `value`.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// `value` was seen.
    #[inline]
    pub fn see(&mut self, value: T) {
        if value < self.0 {
            self.0 = value;
        }
    }

    /// The least so far.
    #[inline]
    pub fn value(&self) -> T {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_stands_until_the_next_interval() {
        let mut queue = Least::new(3.0);
        [5.0, 2.0, 4.0].iter().for_each(|&bytes| queue.see(bytes));
        assert_eq!(queue.value(), 2.0);
        queue = Least::new(7.0);
        assert_eq!(queue.value(), 7.0);
    }
}
