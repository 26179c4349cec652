//! Random decisions from a sequence of bytes.
//!
//! proptest generates and shrinks the bytes, the generators draw decisions from them. When the
//! bytes are used up each decision is the first one, so a shorter sequence makes a simpler value.

use proptest::prelude::*;

pub(crate) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
        }
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % bound.max(1)
    }

    pub(crate) fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }

    /// Returns `true` in about one of `n` cases, and `false` when the bytes are used up.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Returns an unusual text.
    pub(crate) fn text(&mut self) -> &'static str {
        self.pick::<&str>(&[
            "",
            "a",
            "name",
            "é😀\u{2028}",
            "\"\\/\u{8}\n\0",
            "a b",
            "0",
            "null",
            "{}",
        ])
    }

    pub(crate) fn integer(&mut self) -> i64 {
        *self.pick(&[
            0,
            1,
            -1,
            42,
            60_000,
            i64::from(u32::MAX),
            (1 << 53) - 1,
            1 - (1 << 53),
        ])
    }
}

pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..400)
}
