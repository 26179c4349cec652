//! Printing results: texts on stdout; images, audio and blobs as files; and links.

use anyhow::anyhow;
use bowline_types::RawJson;
use bowline_types::content::{ContentBlock, ResourceLink};
use bowline_types::resources::ResourceContents;
use serde_json::{Value, json};

use crate::base64;
use crate::escape;
use crate::failure::{hinted, message_with_causes};
use crate::output::{Files, Output};
use crate::printer::{Piece, Printer, Tone};
use crate::settings::Format;

/// A part of a result.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// A text.
    Text(&'a str),
    /// Bytes, as base64.
    Bytes {
        /// The kind of the data, such as `image`.
        kind: &'static str,
        mime_type: Option<&'a str>,
        base64: &'a str,
    },
    /// A resource link.
    Link(&'a ResourceLink),
    /// Content of an unknown type.
    Other(&'a RawJson),
}

impl Part<'_> {
    /// Returns `true` if the part is saved as a file.
    fn is_bytes(&self) -> bool {
        matches!(self, Self::Bytes { .. })
    }

    /// Returns `true` if the part has nothing visible.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}

impl<'a> From<&'a ContentBlock> for Part<'a> {
    fn from(block: &'a ContentBlock) -> Self {
        match block {
            ContentBlock::Text(text) => Self::Text(&text.text),
            ContentBlock::Image(image) => Self::Bytes {
                kind: "image",
                mime_type: Some(&image.mime_type),
                base64: &image.data,
            },
            ContentBlock::Audio(audio) => Self::Bytes {
                kind: "audio",
                mime_type: Some(&audio.mime_type),
                base64: &audio.data,
            },
            ContentBlock::ResourceLink(link) => Self::Link(link),
            ContentBlock::Resource(resource) => Self::from(&resource.resource),
            ContentBlock::Other(json) => Self::Other(json),
            // A variant of a later version of the types.
            _ => Self::Text(""),
        }
    }
}

impl<'a> From<&'a ResourceContents> for Part<'a> {
    fn from(contents: &'a ResourceContents) -> Self {
        match contents {
            ResourceContents::Text(text) => Self::Text(&text.text),
            ResourceContents::Blob(blob) => Self::Bytes {
                kind: "resource",
                mime_type: blob.mime_type.as_deref(),
                base64: &blob.blob,
            },
            ResourceContents::Other(json) => Self::Other(json),
            _ => Self::Text(""),
        }
    }
}

/// Prints a result, part by part. A part that can't be decoded or saved becomes a warning in its
/// place: the result is there, and the tool was executed.
#[derive(Debug)]
pub(crate) struct ResultPrinter<'a> {
    printer: &'a mut Printer,
    output: &'a Output,
    files: Files<'a>,
    /// The number of parts that were lost.
    lost: usize,
    /// Set when a text was printed with escapes.
    is_escaped: bool,
}

impl<'a> ResultPrinter<'a> {
    /// Creates a printer of results that saves files at the place that `output` names.
    pub(crate) fn new(output: &'a Output, printer: &'a mut Printer) -> Self {
        Self {
            printer,
            output,
            files: Files::new(output),
            lost: 0,
            is_escaped: false,
        }
    }

    /// Returns the printer.
    pub(crate) fn printer(&mut self) -> &mut Printer {
        self.printer
    }

    /// Returns `true` if the output is raw bytes.
    pub(crate) fn is_raw(&self) -> bool {
        *self.output == Output::Stdout
    }

    /// Prints parts as text: texts on stdout, others as files.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub(crate) fn print(&mut self, parts: &[Part<'_>]) -> anyhow::Result<()> {
        if self.is_raw() {
            return self.write_raw(parts);
        }
        if parts.is_empty() {
            self.printer.note("the result is empty");
        }
        let has_bytes = parts.iter().any(Part::is_bytes);
        let has_room = self.can_save(parts)?;
        if matches!(self.output, Output::File(_)) && !has_bytes {
            let text = joined_texts(parts);
            if !text.is_empty() {
                return self.save("text", None, text.as_bytes(), Format::Text);
            }
        }
        for part in parts {
            match part {
                Part::Text(text) => self.is_escaped |= self.printer.content(text)?,
                Part::Bytes {
                    kind,
                    mime_type,
                    base64,
                } if has_room => self.save_encoded(kind, *mime_type, base64, Format::Text)?,
                Part::Bytes { .. } => {}
                Part::Link(link) => print_link(link, self.printer)?,
                Part::Other(json) => self.printer.text(&pretty(json))?,
            }
        }
        Ok(())
    }

    /// Saves the binary parts, for a program that gets the result itself as JSON. Nothing is saved
    /// unless `--output` names a place.
    ///
    /// # Errors
    ///
    /// The output can't be written.
    pub(crate) fn save_beside(&mut self, parts: &[Part<'_>]) -> anyhow::Result<()> {
        if matches!(self.output, Output::Usual | Output::Stdout) {
            return Ok(());
        }
        if !self.can_save(parts)? {
            return Ok(());
        }
        for part in parts {
            if let Part::Bytes {
                kind,
                mime_type,
                base64,
            } = part
            {
                self.save_encoded(kind, *mime_type, base64, Format::Json)?;
            }
        }
        Ok(())
    }

    /// Returns `true` if every binary part has a place: one file takes one part. If not, none is
    /// saved, rather than all but the last.
    fn can_save(&mut self, parts: &[Part<'_>]) -> anyhow::Result<bool> {
        let Output::File(path) = self.output else {
            return Ok(true);
        };
        let count = parts.iter().filter(|part| part.is_bytes()).count();
        if count < 2 {
            return Ok(true);
        }
        self.lost += count;
        self.printer.flush()?;
        let path = path.display();
        self.printer.warning(
            &format!("the result has {count} files, and {path} is not a directory"),
            Some(&format!(
                "end the path with a slash to create a directory: --output {path}/"
            )),
        );
        Ok(false)
    }

    /// Writes the notes and the error at the end. `made` is what was executed, where that should
    /// not be repeated without need.
    ///
    /// # Errors
    ///
    /// A part was lost.
    pub(crate) fn finish(self, format: Format, made: Option<&str>) -> anyhow::Result<()> {
        if self.is_escaped {
            self.printer.flush()?;
            self.printer.note(ESCAPED);
        }
        let error = match self.lost {
            0 => return Ok(()),
            1 => anyhow!("1 part of the result was not saved"),
            many => anyhow!("{many} parts of the result were not saved"),
        };
        let data = match format {
            Format::Text => "`--json` shows the data as received",
            Format::Json => "the printed result has the data as received",
        };
        let hint = match made {
            Some(made) => format!("{made}; {data}"),
            None => data.to_owned(),
        };
        Err(hinted(error, hint))
    }

    /// Writes all parts as raw bytes, with a line break only between texts.
    fn write_raw(&mut self, parts: &[Part<'_>]) -> anyhow::Result<()> {
        let mut was_text = false;
        for part in parts {
            let is_text = matches!(part, Part::Text(_));
            if was_text && is_text {
                self.printer.bytes(b"\n")?;
            }
            was_text = is_text;
            match part {
                Part::Text(text) => self.printer.bytes(text.as_bytes())?,
                Part::Bytes { kind, base64, .. } => match decoded(kind, base64) {
                    Ok(bytes) => self.printer.bytes(&bytes)?,
                    Err(error) => self.skip_part(&error)?,
                },
                Part::Link(link) => self.printer.bytes(format!("{}\n", link.uri).as_bytes())?,
                Part::Other(json) => {
                    let line = format!("{}\n", json.as_str());
                    self.printer.bytes(line.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn save_encoded(
        &mut self,
        kind: &'static str,
        mime_type: Option<&str>,
        base64: &str,
        format: Format,
    ) -> anyhow::Result<()> {
        match decoded(kind, base64) {
            Ok(bytes) => self.save(kind, mime_type, &bytes, format),
            Err(error) => self.skip_part(&error),
        }
    }

    /// Saves bytes, and reports the path.
    fn save(
        &mut self,
        kind: &'static str,
        mime_type: Option<&str>,
        bytes: &[u8],
        format: Format,
    ) -> anyhow::Result<()> {
        let path = match self.files.save(kind, mime_type, bytes) {
            Ok(path) => path,
            Err(error) => return self.skip_part(&error),
        };
        // Flushed first, so that the texts before it appear above it.
        self.printer.flush()?;
        let size = bytes.len();
        let path = path.to_string_lossy();
        match format {
            Format::Text => {
                let what = mime_type.unwrap_or(kind);
                let message = format!("saved {what}, {size} bytes, as {path}");
                self.printer.note(&message);
            }
            Format::Json => {
                let mut message = json!({"saved": path, "bytes": size});
                if let Some(mime_type) = mime_type {
                    message["mime_type"] = json!(mime_type);
                }
                self.printer.note_object(&message);
            }
        }
        Ok(())
    }

    /// Reports a part that can't be decoded or saved. The others are still printed.
    fn skip_part(&mut self, error: &anyhow::Error) -> anyhow::Result<()> {
        self.lost += 1;
        // Flushed first, so that the warning appears where the part should be.
        self.printer.flush()?;
        self.printer.warning(&message_with_causes(error), None);
        Ok(())
    }
}

/// Returns `true` if a part has a text that is not blank. Servers repeat structured content as
/// text, each in its own format, so the text is enough for a reader.
pub(crate) fn has_text(parts: &[Part<'_>]) -> bool {
    let is_text = |part: &Part<'_>| matches!(part, Part::Text(_)) && !part.is_blank();
    parts.iter().any(is_text)
}

/// Returns `true` if a text among the parts equals `json`, or the only member of it.
pub(crate) fn contains_json(parts: &[Part<'_>], json: &RawJson) -> bool {
    let Ok(json) = serde_json::from_str::<Value>(json.as_str()) else {
        return false;
    };
    let wrapped = json.as_object().filter(|members| members.len() == 1);
    let wrapped = wrapped.and_then(|members| members.values().next());
    parts.iter().any(|part| {
        let Part::Text(text) = part else {
            return false;
        };
        let read = serde_json::from_str::<Value>(text).ok();
        let is_same = |value: &Value| read.as_ref() == Some(value) || value.as_str() == Some(*text);
        is_same(&json) || wrapped.is_some_and(is_same)
    })
}

/// Formats a JSON value for a reader. Numbers are unchanged, and control characters are escaped as
/// in JSON, so that it is still JSON.
pub(crate) fn pretty(json: &RawJson) -> String {
    let pretty = serde_json::to_string_pretty(json).unwrap_or_else(|_| json.as_str().to_owned());
    let lines = pretty.lines().map(escape::in_json);
    lines.collect::<Vec<_>>().join("\n")
}

/// Joins the texts of a result without binary parts, unchanged.
fn joined_texts(parts: &[Part<'_>]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(*text),
        Part::Bytes { .. } | Part::Link(_) | Part::Other(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn decoded(kind: &str, base64: &str) -> anyhow::Result<Vec<u8>> {
    base64::decode(base64).ok_or_else(|| {
        if base64.starts_with("data:") {
            anyhow!("the {kind} is a data: URL instead of base64")
        } else {
            anyhow!("the {kind} is not valid base64")
        }
    })
}

fn print_link(link: &ResourceLink, printer: &mut Printer) -> anyhow::Result<()> {
    let name = link.title.as_ref().unwrap_or(&link.name);
    let about = match &link.mime_type {
        Some(mime_type) => format!("  {name} ({mime_type})"),
        None => format!("  {name}"),
    };
    let pieces = [Piece::plain(&*link.uri), Piece::new(Tone::Aside, about)];
    printer.pieces(0, &pieces)
}

/// The note below texts that were escaped.
const ESCAPED: &str = "control characters are shown escaped; `--output -` writes them unescaped";
