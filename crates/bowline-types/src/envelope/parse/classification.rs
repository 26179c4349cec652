//! The kind of a message, from the members that the pass has seen.

use super::{Id, Member, Seen};
use crate::envelope::param_names::check_params;
use crate::envelope::{
    Envelope, EnvelopeError, Fault, JsonRpcErrorResponse, JsonRpcNotification, JsonRpcRequest,
    JsonRpcResultResponse, MessageKind,
};
use crate::json::{DecodeError, Kind, RawJsonRef, SyntaxError};

impl<'a> Seen<'a> {
    /// Returns the message, whose kind the present members determine.
    pub(super) fn decide(mut self, end: usize) -> Result<Envelope<'a>, EnvelopeError> {
        if let Some(at) = self.unusual_id
            && !self.is_answer()
            && self.fault.as_ref().is_none_or(|(_, other)| at < *other)
        {
            return Err(self.refuse(Fault::InvalidId, at));
        }
        if let Some((fault, at)) = self.fault.take() {
            return Err(self.refuse(fault, at));
        }
        if !self.has_version {
            return Err(self.refuse(Fault::WrongVersion, end));
        }
        if let Some(error) = self.ambiguous_params() {
            let at = self.unsure_params.unwrap_or_default() + error.offset();
            return Err(self.refuse(Fault::Params(error.under_key("params")), at));
        }
        // A `null` beside another member is ignored; alone it is no response.
        let is_said = |member: &Member<RawJsonRef<'_>>| matches!(member, Member::Valid(_));
        if !self.method.is_present() && !is_said(&self.result) && !is_said(&self.error) {
            if self.result.is_present() {
                return Err(self.refuse(Fault::ResultNotAnObject, end));
            }
            if self.error.is_present() {
                return Err(self.refuse(Fault::ErrorNotAnObject, end));
            }
        }
        let (result, error) = (self.result.or_absent(), self.error.or_absent());
        // No fault, so what is present is valid.
        match (self.method, self.id, result, error) {
            (Member::Valid(method), id, Member::Absent, Member::Absent) => {
                let params = match self.params {
                    Member::Valid(params) => Some(params),
                    Member::Absent | Member::Null | Member::Invalid => None,
                };
                match id {
                    Id::Valid(id) => {
                        let meta = self.meta.filter(|meta| meta.kind() != Kind::Null);
                        Ok(Envelope::Request(JsonRpcRequest {
                            id,
                            method,
                            params,
                            meta,
                            seen: self.seen_params,
                        }))
                    }
                    Id::Absent => Ok(Envelope::Notification(JsonRpcNotification {
                        method,
                        params,
                    })),
                    Id::Null | Id::Ambiguous | Id::Invalid => {
                        Err(refuse(Fault::InvalidId, end, MessageKind::Request))
                    }
                }
            }
            (Member::Absent, Id::Valid(id), Member::Valid(result), Member::Absent) => {
                Ok(Envelope::Success(JsonRpcResultResponse { id, result }))
            }
            (Member::Absent, _, Member::Valid(_), Member::Absent) => {
                Err(refuse(Fault::MissingId, end, MessageKind::Response))
            }
            (Member::Absent, id, Member::Absent, Member::Valid(error)) => {
                let id = match id {
                    Id::Valid(id) => Some(id),
                    Id::Absent | Id::Null | Id::Ambiguous | Id::Invalid => None,
                };
                Ok(Envelope::Failure(JsonRpcErrorResponse { id, error }))
            }
            (method, id, result, error) => {
                let fault = match (&method, &result, &error) {
                    (Member::Absent, Member::Absent, Member::Absent) => {
                        Fault::NoMethodResultOrError
                    }
                    (Member::Absent, _, _) => Fault::ResultAndError,
                    _ => Fault::MethodAndResponse,
                };
                let seen = Self {
                    id,
                    method,
                    result,
                    error,
                    ..Self::default()
                };
                Err(seen.refuse(fault, end))
            }
        }
    }

    /// Returns what is wrong with the names in the parameters.
    fn ambiguous_params(&self) -> Option<DecodeError> {
        self.unsure_params?;
        match (&self.method, &self.params) {
            (Member::Valid(method), Member::Valid(params)) => {
                check_params(method.parse().ok(), *params).err()
            }
            (_, _) => None,
        }
    }

    fn refuse(self, fault: Fault, at: usize) -> EnvelopeError {
        let about = if self.wants_no_answer(&fault) {
            MessageKind::Notification
        } else if self.method.is_present() {
            MessageKind::Request
        } else if self.is_answer() {
            MessageKind::Response
        } else {
            MessageKind::Unknown
        };
        let is_readable = self.unusual_id.is_none() || about == MessageKind::Response;
        let id = match self.id {
            Id::Valid(id) if is_readable => Some(id),
            Id::Valid(_) | Id::Absent | Id::Null | Id::Ambiguous | Id::Invalid => None,
        };
        EnvelopeError::new(fault, at, id, about)
    }

    /// Returns `true` if the members are those of a response.
    fn is_answer(&self) -> bool {
        let has_outcome = self.result.is_present() || self.error.is_present();
        has_outcome && !self.method.is_present()
    }

    /// Returns `true` if it would be a notification without its fault. The kind of a text that
    /// breaks off is not known.
    fn wants_no_answer(&self, fault: &Fault) -> bool {
        let is_whole = !matches!(fault, Fault::Syntax(_));
        let is_answer = self.result.is_present() || self.error.is_present();
        let has_method = matches!(self.method, Member::Valid(_));
        is_whole && has_method && !is_answer && self.id == Id::Absent
    }

    pub(super) fn refuse_syntax(self, error: SyntaxError) -> EnvelopeError {
        self.refuse(Fault::Syntax(error.kind), error.offset)
    }
}

fn refuse(fault: Fault, at: usize, about: MessageKind) -> EnvelopeError {
    EnvelopeError::new(fault, at, None, about)
}
