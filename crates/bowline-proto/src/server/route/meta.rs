//! What a server looks at in the `_meta` of a request.

use bowline_types::envelope::JsonRpcRequest;
use bowline_types::json::{Key, Kind};
use bowline_types::meta::{MetaKey, keys};
use bowline_types::wire::Decode;
use bowline_types::{DecodeError, RawJsonRef};
use memchr::memchr2_iter;

/// The entries of a request's `_meta` that a server looks at, found in one pass. Of two of
/// one name the last one counts.
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
        let params = request
            .params
            .filter(|params| may_have_meta(params.as_str()));
        let mut params = params.and_then(RawJsonRef::members);
        let meta = params
            .as_mut()
            .and_then(|it| it.find(|(key, _)| key.is("_meta")));
        let Some((_, meta)) = meta.filter(|(_, meta)| meta.kind() != Kind::Null) else {
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

/// Whether `_meta` is written in a text, or may hide behind an escape. Most requests of the
/// handshake era have none, and to look at each member takes several times as long.
fn may_have_meta(text: &str) -> bool {
    let text = text.as_bytes();
    memchr2_iter(b'_', b'\\', text).any(|at| {
        let rest = text.get(at..).unwrap_or_default();
        rest.starts_with(b"_meta\"") || rest.starts_with(b"\\u")
    })
}

/// Decodes an entry, where `null` is none. An error says which one it is in.
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
