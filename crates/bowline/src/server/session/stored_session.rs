//! What a session over HTTP has for a store that several nodes share.

use std::sync::Arc;

use bowline_proto::server::{ClientInfo, SessionRecord};

use super::SessionShared;

impl SessionShared {
    /// Returns the record that the session would be reduced to now. `None` if it has not begun, or
    /// ends.
    pub(in super::super) fn record(&self) -> Option<SessionRecord> {
        self.lock().session.record()
    }

    /// Returns the client, where it is known.
    pub(in super::super) fn client_of_session(&self) -> Option<Arc<ClientInfo>> {
        self.lock().client.clone()
    }

    /// Ends the stream of a GET: another node delivers the messages of the session. Requests go on.
    pub(in super::super) fn end_server_stream(&self) {
        self.with(|core, now| {
            if let Some(streams) = &mut core.streams {
                streams.end_server_stream(now);
            }
        });
    }
}
