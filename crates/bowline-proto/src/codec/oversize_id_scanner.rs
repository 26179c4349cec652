//! Finding the `id` of a frame that is too large to be kept.

use bowline_types::envelope::MessageKind;
use bowline_types::json::Reader;
use bowline_types::{RequestId, Wire};
use memchr::memchr2;

/// Bytes of an id that are kept. A longer one is not found.
const MAX_ID: usize = 1024;

/// Bytes of a name that are kept: `method`, with every letter as an escape.
const MAX_KEY: usize = 36;

/// Reads a JSON object byte by byte and keeps its top-level `id`, in constant memory.
///
/// It respects strings and counts brackets; it doesn't check the grammar, since the frame is
/// refused anyway. The id decides which call ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct OversizeIdScanner {
    depth: u64,
    place: Place,
    /// The key that is being read or was read last, cut off.
    key: Vec<u8>,
    /// The text of the value of `id`.
    id: Vec<u8>,
    is_too_long: bool,
    about: Option<MessageKind>,
}

/// The context of the next byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Between tokens; a string that begins here at the top level is a key.
    #[default]
    BeforeKey,
    /// In a key at the top level.
    Key { escaped: bool },
    /// After a key; the colon has not come yet.
    BeforeColon,
    /// In a value at the top level, outside strings.
    Value,
    /// In a string that is not a key of the top level.
    Text { escaped: bool },
}

impl OversizeIdScanner {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let skippable_len = self.skippable_len(rest);
            rest = rest.get(skippable_len..).unwrap_or_default();
            let Some((&byte, after)) = rest.split_first() else {
                return;
            };
            self.step(byte);
            rest = after;
        }
    }

    /// Returns how many of these bytes can be skipped: most of a large frame is text.
    fn skippable_len(&self, bytes: &[u8]) -> usize {
        let is_id = self.depth == 1 && self.key == b"id";
        let next = match self.place {
            Place::Text { escaped: false } if !is_id => memchr2(b'"', b'\\', bytes),
            Place::BeforeKey if self.depth == 0 => memchr2(b'{', b'[', bytes),
            Place::Text { .. }
            | Place::BeforeKey
            | Place::Key { .. }
            | Place::BeforeColon
            | Place::Value => return 0,
        };
        next.unwrap_or(bytes.len())
    }

    /// Returns the id that was found, and whether the frame is a request or a response.
    pub(crate) fn finish(self) -> (Option<RequestId>, MessageKind) {
        let text = std::str::from_utf8(&self.id).unwrap_or_default();
        let about = self.about.unwrap_or(MessageKind::Unknown);
        let id = match about {
            MessageKind::Response => RequestId::from_response(text.trim()),
            MessageKind::Request | MessageKind::Notification | MessageKind::Unknown => {
                RequestId::from_json(text.trim()).ok()
            }
        };
        (id.filter(|_| !self.is_too_long), about)
    }

    fn step(&mut self, byte: u8) {
        let is_id = self.depth == 1 && self.key == b"id";
        match self.place {
            Place::BeforeKey => match byte {
                b'"' if self.depth == 1 => {
                    self.key.clear();
                    self.place = Place::Key { escaped: false };
                }
                other => self.structure(other),
            },
            Place::Key { escaped: false } if byte == b'"' => {
                self.unescape_key();
                self.place = Place::BeforeColon;
            }
            Place::Key { escaped } => {
                let escaped = byte == b'\\' && !escaped;
                self.place = Place::Key { escaped };
                // One byte more than fits, so that a longer name is not taken for its beginning.
                if self.key.len() <= MAX_KEY {
                    self.key.push(byte);
                }
            }
            Place::BeforeColon => {
                if byte == b':' {
                    self.record_key();
                    self.place = Place::Value;
                }
            }
            Place::Value => {
                let ends = self.depth == 1 && matches!(byte, b',' | b'}');
                if is_id && !ends {
                    self.keep(byte);
                }
                match byte {
                    b'"' => self.place = Place::Text { escaped: false },
                    other => self.structure(other),
                }
            }
            Place::Text { escaped } => {
                if is_id {
                    self.keep(byte);
                }
                self.place = match byte {
                    b'\\' if !escaped => Place::Text { escaped: true },
                    b'"' if !escaped => Place::Value,
                    _ => Place::Text { escaped: false },
                };
            }
        }
    }

    /// Handles a byte outside strings.
    fn structure(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                self.depth = self.depth.saturating_add(1);
                self.place = if self.depth == 1 {
                    Place::BeforeKey
                } else {
                    Place::Value
                };
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' if self.depth == 1 => {
                self.key.clear();
                self.place = Place::BeforeKey;
            }
            _ => {}
        }
    }

    /// Decodes the escapes of a name. A name that can't be decoded is ignored.
    fn unescape_key(&mut self) {
        if !self.key.contains(&b'\\') {
            return;
        }
        let quoted = [b"\"", &*self.key, b"\""].concat();
        let text = std::str::from_utf8(&quoted).unwrap_or_default();
        self.key = match Reader::new(text).string() {
            Ok(name) => name.as_bytes().to_vec(),
            Err(_) => Vec::new(),
        };
    }

    fn record_key(&mut self) {
        match (self.key.as_slice(), self.about) {
            (b"method", _) => self.about = Some(MessageKind::Request),
            (b"result" | b"error", None) => self.about = Some(MessageKind::Response),
            // With two ids the call is ambiguous.
            (b"id", _) if !self.id.is_empty() => self.is_too_long = true,
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.id.len() < MAX_ID {
            self.id.push(byte);
        } else {
            self.is_too_long = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> (Option<String>, MessageKind) {
        let mut whole = OversizeIdScanner::default();
        whole.push(text.as_bytes());
        let (id, about) = whole.finish();
        // Byte by byte it is the same.
        let mut split = OversizeIdScanner::default();
        for byte in text.bytes() {
            split.push(&[byte]);
        }
        assert_eq!(split.finish(), (id.clone(), about), "{text}");
        (id.map(|id| id.to_string()), about)
    }

    #[test]
    fn the_top_level_id_is_found_wherever_it_stands() {
        for (text, id, about) in [
            (
                r#"{"id":7,"result":{"id":8}}"#,
                Some("7"),
                MessageKind::Response,
            ),
            (
                r#"{"result":{"id":8,"x":[{"id":9}]},"id":"a,}b"}"#,
                Some("\"a,}b\""),
                MessageKind::Response,
            ),
            (
                r#"{ "params" : {"t":"\"id\":5"} , "method":"x", "id" : 12 }"#,
                Some("12"),
                MessageKind::Request,
            ),
            (
                r#"{"method":"x","params":{"id":1}}"#,
                None,
                MessageKind::Request,
            ),
            (r#"{"id":null,"error":{}}"#, None, MessageKind::Response),
            (
                r#"{"id": 7.0 ,"result":{}}"#,
                Some("7"),
                MessageKind::Response,
            ),
            (r#"{"id":7.0,"method":"x"}"#, None, MessageKind::Request),
            (r#"{"id":{"a":1},"method":"x"}"#, None, MessageKind::Request),
            (
                r#"{"id":1,"id":2,"method":"x"}"#,
                None,
                MessageKind::Request,
            ),
            (r#"{"x":"{\\","id":3}"#, Some("3"), MessageKind::Unknown),
            (
                r#"{"\u0069d":4,"\u0072esult":{}}"#,
                Some("4"),
                MessageKind::Response,
            ),
            (r#"{"i\td":5,"result":{}}"#, None, MessageKind::Response),
            (r#"{"id\ud800":5,"method2":{}}"#, None, MessageKind::Unknown),
            ("not json at all", None, MessageKind::Unknown),
            (r#"[{"id":1}]"#, None, MessageKind::Unknown),
        ] {
            assert_eq!(scan(text), (id.map(str::to_owned), about), "{text}");
        }
    }

    #[test]
    fn ids_up_to_the_limit_are_kept() {
        let frame =
            |length: usize| format!(r#"{{"id":"{}","method":"m"}}"#, "x".repeat(length - 2));
        assert!(scan(&frame(MAX_ID)).0.is_some());
        assert!(scan(&frame(MAX_ID + 1)).0.is_none());
    }
}
