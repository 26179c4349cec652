//! What a server looks at in the `_meta` of a request.

use bowline_types::envelope::Request;
use bowline_types::json::Kind;
use bowline_types::meta::{MetaKey, keys};
use bowline_types::wire::Decode;
use bowline_types::{DecodeError, JsonRef};

/// The entries of a request's `_meta` that a server looks at, found in one pass. Of two of
/// one name the last one counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MetaEntries<'a> {
    pub(super) version: Option<JsonRef<'a>>,
    pub(super) capabilities: Option<JsonRef<'a>>,
    pub(super) client_info: Option<JsonRef<'a>>,
    pub(super) log_level: Option<JsonRef<'a>>,
    pub(super) progress_token: Option<JsonRef<'a>>,
}

impl<'a> MetaEntries<'a> {
    pub(super) fn of(request: &Request<'a>) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        let meta = match request.params {
            Some(params) => params.reader().peek_member("_meta")?,
            None => None,
        };
        let Some(meta) = meta else {
            return Ok(found);
        };
        meta.reader().object(|reader, key| {
            let value = reader.raw()?;
            if let Some(entry) = found.entry(key) {
                *entry = Some(value);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn entry(&mut self, key: &str) -> Option<&mut Option<JsonRef<'a>>> {
        // Most keys have one prefix; what differs comes last.
        match key {
            key if key == keys::PROTOCOL_VERSION.name() => Some(&mut self.version),
            key if key == keys::CLIENT_CAPABILITIES.name() => Some(&mut self.capabilities),
            key if key == keys::CLIENT_INFO.name() => Some(&mut self.client_info),
            key if key == keys::LOG_LEVEL.name() => Some(&mut self.log_level),
            key if key == keys::PROGRESS_TOKEN.name() => Some(&mut self.progress_token),
            _ => None,
        }
    }
}

/// Decodes an entry, where `null` is none. An error says which one it is in.
pub(super) fn decoded<T: Decode>(
    key: MetaKey<T>,
    value: Option<JsonRef<'_>>,
) -> Result<Option<T>, DecodeError> {
    let value = value.filter(|value| value.kind() != Kind::Null);
    let value = value.map(|value| T::decode(&mut value.reader()));
    value
        .transpose()
        .map_err(|error| error.under_key(key.name()))
}
