//! How deep a scanner is inside a JSON text, and inside of what.

use super::syntax_error::SyntaxErrorKind;

/// Containers that may be nested in a message, the message itself counted.
///
/// 128 is far above what any MCP message needs, and small enough that recursive
/// parsers behind us (a handler's own, for one) keep within their stack.
pub const MAX_DEPTH: usize = 128;

/// The containers around the current place: one bit each, so no allocation.
pub(super) struct Nesting {
    objects: u128,
    depth: usize,
    /// Containers around the value that is scanned; they count against the limit.
    outer: usize,
}

impl Nesting {
    pub(super) fn new(outer: usize) -> Self {
        Self {
            objects: 0,
            depth: 0,
            outer,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, container: Container) -> Result<(), SyntaxErrorKind> {
        if self.outer + self.depth >= MAX_DEPTH {
            return Err(SyntaxErrorKind::TooDeep);
        }
        self.objects = self.objects << 1 | u128::from(matches!(container, Container::Object));
        self.depth += 1;
        Ok(())
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.objects >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }

    #[inline]
    pub(super) fn innermost(&self) -> Option<Container> {
        match (self.depth, self.objects & 1) {
            (0, _) => None,
            (_, 1) => Some(Container::Object),
            (_, _) => Some(Container::Array),
        }
    }
}

/// A kind of container.
#[derive(Clone, Copy)]
pub(super) enum Container {
    Object,
    Array,
}

// Every level has its bit.
const _: () = assert!(MAX_DEPTH <= u128::BITS as usize);
