//! What the handler of a task asks the client.
//!
//! With the extension of 2026-07-28 questions stand in the task until `tasks/update` brings the
//! answers. In 2025-11-25 they are requests, as everywhere in the handshake era: on the stream of a
//! client that waits for the result, or on the connection on which the task was begun. When that
//! is lost, they are asked again where the client next waits for the result.

use std::sync::Arc;

use bowline_proto::{CallRequest, Payload};
use bowline_types::input::{InputRequest, InputResponse};
use bowline_types::meta::keys;
use bowline_types::tasks::RelatedTask;
use bowline_types::{JsonObject, Map, Wire as _};

use super::entry::{Entry, Question};
use crate::error::{Error, ErrorKind};
use crate::server::context::Context;

impl Entry {
    /// Asks through the task, and waits for the answer. Dropping the future takes the question
    /// back.
    pub(in crate::server) async fn ask(
        self: &Arc<Self>,
        key: &str,
        question: InputRequest,
    ) -> InputResponse {
        let open = Open::new(self, key, question);
        self.until(|state| {
            let mut questions = state.questions.iter();
            questions.find(|it| it.key == open.key)?.answer.clone()
        })
        .await
    }

    /// Takes answers of the client (TX-12). Those that nobody asked for are ignored.
    pub(super) fn answer(&self, answers: &Map<InputResponse>) {
        self.change(|state| {
            for (key, answer) in answers.iter() {
                let mut questions = state.questions.iter_mut();
                let question = questions.find(|it| it.key == key && it.answer.is_none());
                if let Some(question) = question {
                    question.answer = Some(answer.clone());
                }
            }
        });
    }

    /// Asks the client with a request of 2025-11-25, wherever it can be reached.
    pub(in crate::server) async fn ask_client(
        self: &Arc<Self>,
        context: &Context,
        method: &'static str,
        params: Payload,
        question: InputRequest,
    ) -> Result<Payload, Error> {
        self.begun().await;
        // While it is asked the task waits for input.
        let _open = Open::new(self, "", question);
        let members = self.related(&params)?;
        let request = || CallRequest::new(method, members.clone());
        let (mut latest, waiting) = self.latest_waiting();
        let asked = match &waiting {
            Some(waiting) => ask(waiting, request()).await,
            None => context.inner().session.call_client(None, request()).await,
        };
        let mut asked = asked;
        loop {
            match asked {
                Err(error) if is_lost(&error) => {}
                other => return other,
            }
            let next = self.until(|state| {
                let waiting = state.waiting.iter().find(|(number, _)| *number > latest);
                waiting.cloned()
            });
            let (number, waiting) = next.await;
            latest = number;
            asked = ask(&waiting, request()).await;
        }
    }

    /// The number of the last one that came to wait for the result, and one that still does.
    fn latest_waiting(&self) -> (u64, Option<Context>) {
        self.change(|state| {
            let waiting = state.waiting.last().map(|(_, context)| context.clone());
            (state.waiters, waiting)
        })
    }

    /// Parameters that say which task they belong to (TK-11), as members.
    fn related(&self, params: &Payload) -> Result<bytes::Bytes, Error> {
        let not_in_revision = |words: String| Error::new(ErrorKind::CapabilityNotSupported, words);
        let params = JsonObject::parse(params.as_str());
        let mut params = params.map_err(|error| not_in_revision(error.to_string()))?;
        let meta = params.remove("_meta");
        let mut meta = match meta.map(JsonObject::try_from) {
            Some(Ok(meta)) => meta,
            Some(Err(_)) | None => JsonObject::new(),
        };
        let task = RelatedTask::new(&*self.id).to_lossless_json();
        meta.insert(
            keys::RELATED_TASK.name(),
            task.map_err(|error| not_in_revision(error.to_string()))?,
        );
        params.insert("_meta", meta);
        let bytes = Payload::from(params).into_bytes();
        Ok(bytes.slice(1..bytes.len() - 1))
    }

    /// Somebody waits for the result, and can be asked meanwhile.
    pub(super) fn waits(self: &Arc<Self>, context: &Context) -> Waits {
        let number = self.change(|state| {
            state.waiters += 1;
            state.waiting.push((state.waiters, context.clone()));
            state.waiters
        });
        Waits {
            entry: Arc::clone(self),
            number,
        }
    }
}

async fn ask(waiting: &Context, request: CallRequest) -> Result<Payload, Error> {
    let inner = waiting.inner();
    inner.session.call_client(Some(inner.key), request).await
}

/// Whether the client may be reached another time.
fn is_lost(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TransportDown | ErrorKind::Shutdown | ErrorKind::State
    )
}

/// A request that waits for the result.
#[derive(Debug)]
pub(super) struct Waits {
    entry: Arc<Entry>,
    number: u64,
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.entry
            .change(|state| state.waiting.retain(|(number, _)| *number != self.number));
    }
}

/// A question that is open.
struct Open<'e> {
    entry: &'e Entry,
    key: String,
}

impl<'e> Open<'e> {
    fn new(entry: &'e Entry, key: &str, question: InputRequest) -> Self {
        let key = entry.change(|state| {
            state.asked += 1;
            // TX-11: a handler may ask the same twice, and a key is never used again.
            let key = format!("{key}-{}", state.asked);
            if state.ending().is_none() {
                state.questions.push(Question {
                    key: key.clone(),
                    question,
                    answer: None,
                });
            }
            key
        });
        Self { entry, key }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.entry
            .change(|state| state.questions.retain(|question| question.key != self.key));
    }
}
