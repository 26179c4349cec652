//! Questions of a task's handler to the client.
//!
//! With the extension of 2026-07-28 questions are listed in the task until `tasks/update` brings
//! the answers. In 2025-11-25 they are requests, as everywhere in the handshake era: on the stream
//! of a client that waits for the result, or on the connection on which the task was created. When
//! that connection is lost, they are sent again when the client next waits for the result.

use std::sync::Arc;

use bowline_proto::{CallRequest, Payload};
use bowline_types::input::{InputRequest, InputResponse};
use bowline_types::meta::keys;
use bowline_types::tasks::RelatedTask;
use bowline_types::{JsonObject, Map, Wire as _};

use super::entry::{Question, TaskEntry};
use crate::error::{Error, ErrorKind};
use crate::server::context::Context;

impl TaskEntry {
    /// Asks through the task, and waits for the answer. Dropping the future withdraws the question.
    pub(in crate::server) async fn ask(
        self: &Arc<Self>,
        key: &str,
        question: InputRequest,
    ) -> InputResponse {
        let open = OpenQuestion::new(self, key, question);
        self.wait_for(|state| {
            let mut questions = state.questions.iter();
            questions
                .find(|question| question.key == open.key)?
                .answer
                .clone()
        })
        .await
    }

    /// Takes answers of the client (TX-12). Answers without an open question are ignored.
    pub(super) fn accept_answers(&self, answers: &Map<InputResponse>) {
        self.change(|state| {
            for (key, answer) in answers.iter() {
                let mut questions = state.questions.iter_mut();
                let question =
                    questions.find(|question| question.key == key && question.answer.is_none());
                if let Some(question) = question {
                    question.answer = Some(answer.clone());
                }
            }
        });
    }

    /// Asks the client with a request of 2025-11-25, on any of its connections that is open.
    pub(in crate::server) async fn ask_client(
        self: &Arc<Self>,
        context: &Context,
        method: &'static str,
        params: Payload,
        question: InputRequest,
    ) -> Result<Payload, Error> {
        self.wait_until_started().await;
        // Meanwhile the status of the task is `input_required`.
        let _open = OpenQuestion::new(self, "", question);
        let members = self.with_related_task(&params)?;
        let request = || CallRequest::new(method, members.clone());
        let (mut latest, waiting) = self.latest_waiter();
        let asked = match &waiting {
            Some(waiting) => ask_on(waiting, request()).await,
            None => context.inner().session.call_client(None, request()).await,
        };
        let mut asked = asked;
        loop {
            match asked {
                Err(error) if is_connection_lost(&error) => {}
                other => return other,
            }
            let next = self.wait_for(|state| {
                let waiting = state
                    .result_waiters
                    .iter()
                    .find(|(number, _)| *number > latest);
                waiting.cloned()
            });
            let (number, waiting) = next.await;
            latest = number;
            asked = ask_on(&waiting, request()).await;
        }
    }

    /// Returns the number of the latest request for the result, and one that still waits.
    fn latest_waiter(&self) -> (u64, Option<Context>) {
        self.change(|state| {
            let waiting = state
                .result_waiters
                .last()
                .map(|(_, context)| context.clone());
            (state.waiter_count, waiting)
        })
    }

    /// Returns parameters that name their task (TK-11), as members of an object.
    fn with_related_task(&self, params: &Payload) -> Result<bytes::Bytes, Error> {
        let not_in_revision =
            |message: String| Error::new(ErrorKind::CapabilityNotSupported, message);
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

    /// Registers a request that waits for the result: the client can be asked on its stream
    /// meanwhile.
    pub(super) fn add_result_waiter(self: &Arc<Self>, context: &Context) -> ResultWaiter {
        let number = self.change(|state| {
            state.waiter_count += 1;
            state
                .result_waiters
                .push((state.waiter_count, context.clone()));
            state.waiter_count
        });
        ResultWaiter {
            entry: Arc::clone(self),
            number,
        }
    }
}

async fn ask_on(waiting: &Context, request: CallRequest) -> Result<Payload, Error> {
    let inner = waiting.inner();
    inner.session.call_client(Some(inner.key), request).await
}

/// Returns `true` if the client may be reached on another connection.
fn is_connection_lost(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TransportDown | ErrorKind::Shutdown | ErrorKind::State
    )
}

/// A request that waits for the result, until this is dropped.
#[derive(Debug)]
pub(super) struct ResultWaiter {
    entry: Arc<TaskEntry>,
    number: u64,
}

impl Drop for ResultWaiter {
    fn drop(&mut self) {
        self.entry.change(|state| {
            state
                .result_waiters
                .retain(|(number, _)| *number != self.number)
        });
    }
}

/// An open question. Dropping this withdraws it.
struct OpenQuestion<'e> {
    entry: &'e TaskEntry,
    key: String,
}

impl<'e> OpenQuestion<'e> {
    fn new(entry: &'e TaskEntry, key: &str, question: InputRequest) -> Self {
        let key = entry.change(|state| {
            state.question_count += 1;
            // TX-11: a handler may ask the same twice, and a key is never used again.
            let key = format!("{key}-{}", state.question_count);
            if state.outcome().is_none() {
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

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.entry
            .change(|state| state.questions.retain(|question| question.key != self.key));
    }
}
