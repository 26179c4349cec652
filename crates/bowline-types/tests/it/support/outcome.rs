//! What the envelope pass says of a frame, as one line of text for table tests.

use bowline_types::envelope::{Envelope, EnvelopeError};
use bowline_types::{RawJsonRef, RequestId, Revision};

/// `frame` must come out as `expected`, in the words of [`outcome`].
#[track_caller]
pub(crate) fn check(frame: impl AsRef<[u8]>, expected: &str) {
    let frame = frame.as_ref();
    let shown = String::from_utf8_lossy(frame.get(..200).unwrap_or(frame));
    assert_eq!(outcome(&Envelope::parse(frame)), expected, "{shown}");
}

/// `request ID METHOD PARAMS`, `notification METHOD PARAMS`, `success ID RESULT`,
/// `failure ID ERROR`, `batch [PART; PART]`, or `CODE FAULT, ABOUT ID`. What is absent is `-`.
pub(crate) fn outcome(parsed: &Result<Envelope<'_>, EnvelopeError>) -> String {
    match parsed {
        Ok(Envelope::Request(request)) => {
            let params = payload(request.params);
            format!("request {} {} {params}", request.id, request.method)
        }
        Ok(Envelope::Notification(notification)) => {
            let params = payload(notification.params);
            format!("notification {} {params}", notification.method)
        }
        Ok(Envelope::Success(success)) => format!("success {} {}", success.id, success.result),
        Ok(Envelope::Failure(failure)) => {
            format!("failure {} {}", id(failure.id.as_ref()), failure.error)
        }
        Ok(Envelope::Batch(batch)) => {
            let parts: Vec<_> = batch.messages().map(|part| outcome(&part)).collect();
            assert_eq!(parts.len(), batch.len());
            format!("batch [{}]", parts.join("; "))
        }
        Err(error) => {
            let code = error
                .error_code()
                .code(Revision::LATEST)
                .expect("what is wrong with a frame has a code in every revision");
            let (fault, about) = (error.fault(), error.message_kind());
            format!("{code} {fault:?}, {about:?} {}", id(error.id()))
        }
    }
}

fn payload(payload: Option<RawJsonRef<'_>>) -> &str {
    payload.map_or("-", RawJsonRef::as_str)
}

fn id(id: Option<&RequestId>) -> String {
    id.map_or("-".to_owned(), RequestId::to_string)
}
