//! An idle session as a store keeps it: the record of the core, the client, and the principal.

use std::sync::Arc;

use bowline_proto::server::{BadRecord, ClientInfo, SessionRecord};
use bowline_types::capabilities::ClientCapabilities;
use bowline_types::common::Implementation;
use bowline_types::json::{DecodeError, Encoder, NotInRevision, Problem, Reader};
use bowline_types::{Encode as _, JsonObject, RawJsonRef, Revision, Wire as _};

use crate::server::principal::Principal;

/// The version of the stable form. A form that an older node can't use has another one.
const VERSION: i64 = 1;

/// What is stored of an idle session.
#[derive(Clone, Debug)]
pub(super) struct SessionDocument {
    pub(super) record: SessionRecord,
    pub(super) client: Option<Arc<ClientInfo>>,
    pub(super) principal: Option<Principal>,
}

impl SessionDocument {
    /// Returns the stable form: JSON on one line, with its version.
    ///
    /// # Errors
    ///
    /// If what the client has declared of itself has no form in JSON.
    pub(super) fn encode(&self) -> Result<Vec<u8>, NotInRevision> {
        let mut record = Vec::new();
        self.record.encode(&mut record);
        let mut out = Vec::with_capacity(record.len() + 256);
        let mut encoder = Encoder::lossless(&mut out);
        encoder.begin_object();
        encoder.key("v");
        encoder.integer(VERSION);
        encoder.key("session");
        let record = String::from_utf8_lossy(&record);
        encoder.raw(RawJsonRef::new_unchecked(&record));
        if let Some(client) = &self.client {
            encoder.key("client");
            encoder.begin_object();
            encoder.member("info", &client.info)?;
            encoder.member("capabilities", &client.capabilities)?;
            encoder.end_object();
        }
        if let Some(principal) = &self.principal {
            encoder.key("principal");
            encoder.begin_object();
            encoder.key("id");
            encoder.string(principal.id());
            encoder.key("claims");
            principal.claims().encode(&mut encoder)?;
            encoder.end_object();
        }
        encoder.end_object();
        Ok(out)
    }

    /// Decodes the stable form.
    ///
    /// # Errors
    ///
    /// Fails on the form of another version, and on anything that is no session.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, BadRecord> {
        let text = std::str::from_utf8(bytes).map_err(|_| BadRecord::Malformed)?;
        let version = Reader::new(text).peek_member("v");
        match version.map_err(|_| BadRecord::Malformed)? {
            Some(version) if version.as_str() == "1" => {}
            Some(_) => return Err(BadRecord::UnknownVersion),
            None => return Err(BadRecord::Malformed),
        }
        let [mut session, mut client, mut principal] = [None; 3];
        let mut reader = Reader::new(text);
        let members = reader.object(|reader, key| match key {
            "v" => reader.integer().map(drop),
            "session" => fill(&mut session, reader),
            "client" => fill(&mut client, reader),
            "principal" => fill(&mut principal, reader),
            _ => Err(reader.problem(Problem::Duplicate)),
        });
        members
            .and_then(|()| reader.finish())
            .map_err(|_| BadRecord::Malformed)?;
        let session = session.ok_or(BadRecord::Malformed)?;
        let record = SessionRecord::decode(session.as_str().as_bytes())?;
        let revision = record.revision();
        let client = client.map(|client| read_client(client, revision));
        let client = client.transpose().map_err(|_| BadRecord::Malformed)?;
        let principal = principal.map(read_principal).transpose();
        Ok(Self {
            record,
            client: client.map(Arc::new),
            principal: principal.map_err(|_| BadRecord::Malformed)?,
        })
    }
}

fn read_client(client: RawJsonRef<'_>, revision: Revision) -> Result<ClientInfo, DecodeError> {
    let mut reader = client.reader();
    let [mut info, mut capabilities] = [None; 2];
    reader.object(|reader, key| match key {
        "info" => fill(&mut info, reader),
        "capabilities" => fill(&mut capabilities, reader),
        _ => Err(reader.problem(Problem::Duplicate)),
    })?;
    let (Some(info), Some(capabilities)) = (info, capabilities) else {
        return Err(reader.problem(Problem::Missing("info and capabilities")));
    };
    let info = Implementation::from_json_ref(info)?;
    let capabilities = ClientCapabilities::from_json_ref(capabilities)?;
    Ok(ClientInfo::new(info, capabilities, revision))
}

fn read_principal(principal: RawJsonRef<'_>) -> Result<Principal, DecodeError> {
    let mut reader = principal.reader();
    let [mut id, mut claims] = [None; 2];
    reader.object(|reader, key| match key {
        "id" => fill(&mut id, reader),
        "claims" => fill(&mut claims, reader),
        _ => Err(reader.problem(Problem::Duplicate)),
    })?;
    let (Some(id), Some(claims)) = (id, claims) else {
        return Err(reader.problem(Problem::Missing("id and claims")));
    };
    let id = id.reader().string()?.into_owned();
    Ok(Principal::with_claims(
        id,
        JsonObject::parse(claims.as_str())?,
    ))
}

/// Reads a member that was not there before.
fn fill<'a>(slot: &mut Option<RawJsonRef<'a>>, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
    if slot.is_some() {
        return Err(reader.problem(Problem::Duplicate));
    }
    *slot = Some(reader.raw()?);
    Ok(())
}

#[cfg(test)]
mod tests;
