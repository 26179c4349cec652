//! Frames for property tests: what peers send, and what is nearly that.
//!
//! Each is built from a tape of random bytes, which takes a fraction of the time that nested
//! strategies take. A shorter tape makes a simpler frame, so failures shrink.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;

/// A frame with a few bytes changed.
pub(crate) fn damaged_frame() -> impl Strategy<Value = Bytes> {
    taped(|tape| {
        let frame = tape.frame();
        Bytes(tape.damage(frame.into_bytes()))
    })
}

/// Bytes that are shown as text when a test fails.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Any JSON object, at times with what `serde_json` has no value for.
pub(crate) fn json_object() -> impl Strategy<Value = String> {
    taped(|tape| tape.object(3))
}

/// Runs `build` on random bytes.
pub(crate) fn taped<T: fmt::Debug>(build: impl Fn(&mut Tape) -> T) -> impl Strategy<Value = T> {
    vec(any::<u8>(), 0..200).prop_map(move |tape| build(&mut Tape(tape.into_iter())))
}

/// Decisions, one byte each. At its end, the first choice of all.
pub(crate) struct Tape(std::vec::IntoIter<u8>);

impl Tape {
    /// A message, a batch, or something like it. Most are JSON, many are valid.
    pub(crate) fn frame(&mut self) -> String {
        match self.below(16) {
            0..12 => self.message(),
            12 | 13 => {
                let parts = (0..self.below(4)).map(|_| match self.below(5) {
                    0..4 => self.message(),
                    _ => self.json(2),
                });
                let parts = parts.collect();
                self.joined("[", parts, "]")
            }
            14 => self.json(4),
            _ => self.deep(),
        }
    }

    /// Any JSON text.
    pub(crate) fn json(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 | 1 => self.number(),
            2..5 => self.string(),
            5 => self.pick(&["null", "true", "false", "{}", "[]"]).to_owned(),
            6 | 7 => {
                let elements = (0..self.below(4)).map(|_| self.json(depth - 1)).collect();
                self.joined("[", elements, "]")
            }
            _ => self.object(depth - 1),
        }
    }

    pub(crate) fn object(&mut self, depth: usize) -> String {
        let members = (0..self.below(4)).map(|_| {
            let key = self.string();
            self.member(key, depth)
        });
        let members = members.collect();
        self.joined("{", members, "}")
    }

    /// A string with its quotes. Now and then it has a lone surrogate in it.
    pub(crate) fn string(&mut self) -> String {
        let mut string = String::from("\"");
        for _ in 0..self.below(5) {
            match self.below(64) {
                0..28 => {
                    string.push_str(self.pick(&["a", "id", "result", "{", "]", ",", "/", ": "]))
                }
                28..32 => string.push_str(&self.character()),
                32..36 => string.push_str(&"x".repeat(self.below(70))),
                36..46 => string.push_str(self.pick(&["é", "€", "😀", "\u{7f}", "\u{2028}", "ſ"])),
                46..63 => string.push_str(self.pick(&[
                    r"\n",
                    r"\t",
                    r"\r",
                    r"\b",
                    r"\f",
                    r#"\""#,
                    r"\\",
                    r"\/",
                    r"\u0000",
                    r"\u00E9",
                    r"\ud83d\ude00",
                    r"\ud800\udc00",
                    r"\udbff\udfff",
                    r"\uFFFF",
                    r"\u0069",
                ])),
                _ => string.push_str(self.pick(&[
                    r"\ud800",
                    r"\udc00",
                    r"\ud800\u0041",
                    r"\udbff\n",
                    r"\udbff\ue000",
                    r"\udc00\udc00",
                ])),
            }
        }
        string + "\""
    }

    /// Any character, escaped where it must be.
    fn character(&mut self) -> String {
        let code = u32::try_from(self.bytes() % 0x11_0000).unwrap_or_default();
        match char::from_u32(code).unwrap_or('\0') {
            character @ ('\0'..' ' | '"' | '\\') => format!("\\u{:04x}", u32::from(character)),
            character => character.to_string(),
        }
    }

    /// What a string means.
    pub(crate) fn text(&mut self) -> String {
        serde_json::from_str(&self.string()).unwrap_or_default()
    }

    /// A number, at times beyond a double's range.
    pub(crate) fn number(&mut self) -> String {
        match self.below(8) {
            0..3 => self.byte().to_string(),
            3 => self.bytes().cast_signed().to_string(),
            4 => {
                let double = f64::from_bits(self.bytes());
                if double.is_finite() {
                    format!("{double:?}")
                } else {
                    "0.5".to_owned()
                }
            }
            5 | 6 => {
                let sign = self.pick(&["", "-"]);
                let digits = "123456789012345678901234567890";
                let integer = digits.get(..=self.below(30)).unwrap_or("0");
                let fraction = self.pick(&["", "", ".0", ".25", ".000000000000000000001"]);
                let exponent = self.pick(&["", "", "e0", "E5", "e+17", "e-300", "E301", "e999"]);
                format!("{sign}{integer}{fraction}{exponent}")
            }
            _ => self
                .pick(&[
                    "-0",
                    "-0.0",
                    "0e0",
                    "1.0",
                    "1e400",
                    "1e-400",
                    "9223372036854775808",
                    "18446744073709551615",
                    "18446744073709551616",
                    "1.7976931348623158e308",
                ])
                .to_owned(),
        }
    }

    /// `bytes` with up to three changes.
    pub(crate) fn damage(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        for _ in 0..self.below(4) {
            let (at, other) = (self.place(bytes.len()), self.place(bytes.len()));
            match self.below(6) {
                _ if bytes.is_empty() => {}
                0 => bytes[at] ^= 1 << self.below(8),
                1 => drop(bytes.remove(at)),
                2 => bytes.truncate(at),
                3 => {
                    let part = bytes[at.min(other)..at.max(other)].to_vec();
                    bytes.splice(at..at, part);
                }
                4 => bytes.insert(at, self.pick(b"{}[]:,\"\\ \n0123456789eE.-+tfnu\0")),
                _ => bytes.insert(at, self.byte()),
            }
        }
        bytes
    }

    /// A message, mostly as it should be.
    fn message(&mut self) -> String {
        let mut names = match self.below(16) {
            0..3 => vec!["jsonrpc", "id", "method", "params"],
            3 | 4 => vec!["jsonrpc", "id", "method"],
            5 | 6 => vec!["jsonrpc", "method", "params"],
            7..10 => vec!["jsonrpc", "id", "result"],
            10 | 11 => vec!["jsonrpc", "id", "error"],
            12 => vec!["jsonrpc", "error"],
            _ => {
                let chosen = self.byte();
                let is_chosen = |index: &usize| chosen >> index & 1 == 1;
                (0..NAMES.len())
                    .filter(is_chosen)
                    .map(|index| NAMES[index])
                    .collect()
            }
        };
        if self.below(12) == 11 {
            names.push(self.pick(&NAMES));
        }
        let mut members: Vec<_> = names
            .into_iter()
            .map(|name| self.envelope_member(name))
            .collect();
        for _ in 0..self.below(3) {
            let key = self.string();
            members.push(self.member(key, 2));
        }
        let start = self.place(members.len());
        members.rotate_left(start);
        self.joined("{", members, "}")
    }

    fn envelope_member(&mut self, name: &str) -> String {
        let at = self.place(name.len());
        let (before, after) = name.split_at(at);
        let (character, after) = after.split_at(1);
        let key = match self.below(32) {
            0..28 => name.to_owned(),
            28..30 => format!("{before}\\u{:04x}{after}", character.as_bytes()[0]),
            30 => match self.below(4) {
                0 => format!("{before}{}{after}", character.to_uppercase()),
                1 => name.replace('s', "ſ"),
                2 => format!("{name}\\u0000{before}"),
                _ => self.wide(name),
            },
            _ => {
                let unseen = self.pick(&[" ", r"\t", "\u{200b}", r"\ufeff", "\u{7f}", "\u{fffd}"]);
                format!("{before}{unseen}{character}{after}")
            }
        };
        let key = format!("\"{key}\"");
        if self.below(32) == 31 {
            return self.member(key, 2);
        }
        let value = match name {
            "jsonrpc" => r#""2.0""#.to_owned(),
            "id" => match self.below(8) {
                0..4 => self.bytes().cast_signed().to_string(),
                4..6 => self.string(),
                6 => self.number(),
                _ => self
                    .pick(&["null", "1234567890123456789012", "-0", "\"\""])
                    .to_owned(),
            },
            "method" => match self.below(2) {
                0 => self
                    .pick(&[r#""tools/call""#, r#""tools\/call""#])
                    .to_owned(),
                _ => self.string(),
            },
            "params" => match self.below(12) {
                11 => "null".to_owned(),
                6..11 => self.params(),
                _ => self.object(3),
            },
            _ => match self.below(12) {
                11 => "null".to_owned(),
                _ => self.object(3),
            },
        };
        let space = self.space();
        format!("{key}{space}:{space}{value}")
    }

    /// Parameters of a call, mostly as they should be.
    fn params(&mut self) -> String {
        let names = [
            "name",
            "arguments",
            "_meta",
            "uri",
            "task",
            "progressToken",
            "x",
        ];
        let members = (0..self.below(6)).map(|_| {
            let name = self.pick(&names);
            let name = match self.below(24) {
                0 => name.to_uppercase(),
                1 => format!("{name}\\u0000"),
                2 => self.wide(name),
                _ => name.to_owned(),
            };
            let value = match self.below(4) {
                0 => self.params(),
                1 => self.object(2),
                _ => self.json(1),
            };
            format!("\"{name}\":{value}")
        });
        let members = members.collect();
        self.joined("{", members, "}")
    }

    /// A name with one letter of full width.
    fn wide(&mut self, name: &str) -> String {
        let at = self.place(name.len());
        let wide = |(place, letter): (usize, char)| {
            if place == at {
                char::from_u32(u32::from(letter) + 0xfee0).unwrap_or(letter)
            } else {
                letter
            }
        };
        name.chars()
            .enumerate()
            .map(|(place, letter)| wide((place, letter)))
            .collect()
    }

    fn member(&mut self, key: String, depth: usize) -> String {
        let (space, value) = (self.space(), self.json(depth));
        format!("{key}{space}:{space}{value}")
    }

    /// MessageKind as deep as is allowed, in a message or not.
    fn deep(&mut self) -> String {
        let depth = self.pick(&[1, 60, 63, 64, 65, 100, 1000]);
        let (more, inner) = (self.below(3), self.json(1));
        let inner = "[".repeat(more) + &inner + &"]".repeat(more);
        let deep = r#"{"a":["#.repeat(depth) + &inner + &"]}".repeat(depth);
        let key = self.pick(&["params", "id", "jsonrpc", "x"]);
        match self.below(4) {
            0 => deep,
            1 => format!("[{deep}]"),
            _ => format!(r#"{{"jsonrpc":"2.0","method":"m","{key}":{deep},"id":1}}"#),
        }
    }

    fn joined(&mut self, open: &str, parts: Vec<String>, close: &str) -> String {
        let space = self.space();
        let separator = format!("{space},{space}");
        format!("{open}{space}{}{space}{close}", parts.join(&separator))
    }

    fn space(&mut self) -> &'static str {
        self.pick(&["", "", "", "", "", " ", "\n", "\t\r\n  "])
    }

    fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    fn place(&mut self, length: usize) -> usize {
        let place = usize::from(self.byte()) << 8 | usize::from(self.byte());
        place % length.max(1)
    }

    pub(crate) fn bytes(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn byte(&mut self) -> u8 {
        self.0.next().unwrap_or_default()
    }
}

const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
