//! What a server looks at in the `_meta` of a request.

use bowline_types::envelope::JsonRpcRequest;
use bowline_types::json::{Key, Kind};
use bowline_types::meta::{MetaKey, keys};
use bowline_types::wire::Decode;
use bowline_types::{DecodeError, RawJsonRef};

/// The entries of a request's `_meta` that a server looks at, found in one pass. None stands
/// twice: the envelope pass has refused that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MetaEntries<'a> {
    pub(super) version: Option<RawJsonRef<'a>>,
    pub(super) capabilities: Option<RawJsonRef<'a>>,
    pub(super) client_info: Option<RawJsonRef<'a>>,
    pub(super) log_level: Option<RawJsonRef<'a>>,
    pub(super) progress_token: Option<RawJsonRef<'a>>,
}

impl<'a> MetaEntries<'a> {
    pub(super) fn of(request: &JsonRpcRequest<'a>) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        let Some(meta) = request.meta else {
            return Ok(found);
        };
        let Some(entries) = meta.members() else {
            return Err(meta.reader().expected("an object"));
        };
        for (key, value) in entries {
            if let Some(entry) = found.entry(key) {
                *entry = Some(value);
            }
        }
        Ok(found)
    }

    fn entry(&mut self, key: Key<'_>) -> Option<&mut Option<RawJsonRef<'a>>> {
        [
            (keys::PROTOCOL_VERSION.name(), &mut self.version),
            (keys::CLIENT_CAPABILITIES.name(), &mut self.capabilities),
            (keys::CLIENT_INFO.name(), &mut self.client_info),
            (keys::LOG_LEVEL.name(), &mut self.log_level),
            (keys::PROGRESS_TOKEN.name(), &mut self.progress_token),
        ]
        .into_iter()
        .find_map(|(name, entry)| key.is(name).then_some(entry))
    }
}

/// Decodes an entry, where `null` counts as absent. An error names the entry.
pub(super) fn decoded<T: Decode>(
    key: MetaKey<T>,
    value: Option<RawJsonRef<'_>>,
) -> Result<Option<T>, DecodeError> {
    let value = value.filter(|value| value.kind() != Kind::Null);
    let value = value.map(|value| T::decode(&mut value.reader()));
    value
        .transpose()
        .map_err(|error| error.under_key(key.name()))
}
