//! What a handler asks of the client: a model, a person, its roots.
//!
//! In the handshake era a question is a request of ours, and the handler waits for the
//! answer. In the stateless era (2026-07-28, basic/patterns/mrtr) a server asks nothing: the
//! request ends with the questions, and comes again with the answers. Then the handler runs
//! again from the top, and this time the answers are there. Handlers are written the same
//! way for both.

use std::future::{Future, poll_fn};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use bowline_proto::server::{Binding, Round, Rounds};
use bowline_proto::{CallRequest, Payload};
use bowline_types::capabilities::{
    ClientCapabilities, ElicitationCapability, RootsCapability, SamplingCapability,
};
use bowline_types::elicitation::{ElicitParams, ElicitResult};
use bowline_types::input::{InputRequest, InputResponse};
use bowline_types::method::{Request, requests};
use bowline_types::roots::{ListRootsParams, ListRootsResult};
use bowline_types::sampling::{CreateMessageParams, CreateMessageResult};
use bowline_types::{DecodeError, Era, ErrorObject, JsonObject, Revision, Wire};

use super::context::Context;
use super::seal::RoundSeal;
use super::service::{Reply, say};
use crate::error::{Error, ErrorKind, Lacks};

/// What a request has asked and been answered, in the stateless era.
#[derive(Debug, Default)]
pub(super) struct Asking(Mutex<Option<State>>);

#[derive(Debug)]
struct State {
    rounds: Rounds,
    binding: Binding,
    has_asked: bool,
    /// Who ends the request with what is asked.
    waker: Option<Waker>,
}

impl Context {
    /// Asks the client's model for a message.
    ///
    /// `key` names the question among those of this request: another question needs another
    /// key. In the stateless era the handler runs again from the top when the answer is
    /// there: what it did before the question is done again, unless
    /// [`once`](Self::once) guards it.
    ///
    /// # Errors
    ///
    /// When the client can't do it, refuses, or is gone. Cancel safe: the client is told that
    /// the answer is no longer wanted.
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, Error> {
        let declared = self.client_capabilities().sampling;
        let wants_tools = params.tools.is_some() || params.tool_choice.is_some();
        let has_tools = |it: &SamplingCapability| !wants_tools || it.tools.is_some();
        if !declared.as_ref().is_some_and(has_tools) {
            return Err(match wants_tools {
                // SM-2.
                true => {
                    let tools = SamplingCapability::new().tools(JsonObject::new());
                    let required = ClientCapabilities::new().sampling(tools);
                    undeclared("sampling with tools", required)
                }
                false => {
                    let required = ClientCapabilities::new().sampling(SamplingCapability::new());
                    undeclared("sampling", required)
                }
            });
        }
        let question = InputRequest::from(params.clone());
        let answer = self.ask::<requests::CreateMessage>(key, &params, question);
        answer.await?.read(InputResponse::sampling)
    }

    /// Asks the person who uses the client: see [`sample`](Self::sample).
    ///
    /// # Errors
    ///
    /// As for [`sample`](Self::sample). A person who declines is no error.
    pub async fn elicit(
        &self,
        key: &str,
        params: impl Into<ElicitParams>,
    ) -> Result<ElicitResult, Error> {
        let mut params = params.into();
        let declared = self.client_capabilities().elicitation;
        let is_page = matches!(params, ElicitParams::Url(_));
        let can_do = declared.is_some_and(|declared| match is_page {
            true => declared.has_url(),
            false => declared.has_form(),
        });
        if !can_do {
            let (what, mode) = match is_page {
                true => (
                    "elicitation with pages",
                    ElicitationCapability::new().url(JsonObject::new()),
                ),
                false => (
                    "elicitation",
                    ElicitationCapability::new().form(JsonObject::new()),
                ),
            };
            let required = ClientCapabilities::new().elicitation(mode);
            return Err(undeclared(what, required));
        }
        if let ElicitParams::Url(page) = &mut params
            && page.elicitation_id.is_none()
            && self.revision() == Revision::V2025_11_25
        {
            // EL-14: this revision alone demands one.
            page.elicitation_id = Some(RoundSeal::nonce().map_err(|error| {
                Error::new(ErrorKind::State, format!("no randomness: {error}"))
            })?);
        }
        let question = InputRequest::from(params.clone());
        let answer = self.ask::<requests::Elicit>(key, &params, question);
        answer.await?.read(InputResponse::elicitation)
    }

    /// Asks the client which folders it works in: see [`sample`](Self::sample).
    ///
    /// # Errors
    ///
    /// As for [`sample`](Self::sample).
    pub async fn roots(&self, key: &str) -> Result<ListRootsResult, Error> {
        if self.client_capabilities().roots.is_none() {
            let required = ClientCapabilities::new().roots(RootsCapability::new());
            return Err(undeclared("roots", required));
        }
        let params = ListRootsParams::new();
        let question = InputRequest::from(params.clone());
        let answer = self.ask::<requests::ListRoots>(key, &params, question);
        answer.await?.read(InputResponse::roots)
    }

    /// Whether something with an effect is still to be done for this request: `true` once,
    /// however often the handler runs. Ask right before doing it.
    pub fn once(&self, key: &str) -> bool {
        match &mut *self.asking() {
            Some(state) => state.rounds.once(key),
            // The handler runs once.
            None => true,
        }
    }

    async fn ask<R: Request>(
        &self,
        key: &str,
        params: &R::Params,
        question: InputRequest,
    ) -> Result<Answer, Error> {
        match self.revision().era() {
            Era::Handshake => self.ask_now::<R>(params).await.map(Answer::Payload),
            Era::Stateless => self.ask_later(key, question).await,
        }
    }

    /// Asks, and waits for the answer.
    async fn ask_now<R: Request>(&self, params: &R::Params) -> Result<Payload, Error> {
        let method = R::METHOD.as_str();
        let params = Payload::encode(params, self.revision());
        let params = params.map_err(|error| Error::lacking(error.to_string(), Lacks::Revision))?;
        let bytes = params.into_bytes();
        let members = bytes.slice(1..bytes.len() - 1);
        let inner = self.inner();
        let asked = inner
            .session
            .ask(Some(inner.key), CallRequest::new(method, members));
        asked.await.map_err(|error| error.in_operation(method))
    }

    /// Looks for the answer among those that came with the request. Without one the request
    /// ends with the question, so that nothing after it runs.
    fn ask_later(
        &self,
        key: &str,
        question: InputRequest,
    ) -> impl Future<Output = Result<Answer, Error>> + use<> {
        let mut waker = None;
        let mut asking = self.asking();
        let answer = match &mut *asking {
            Some(state) => match state.rounds.answer(key) {
                Some(answer) => Some(Ok(Answer::Input(answer))),
                None => {
                    state.rounds.ask(key, question);
                    state.has_asked = true;
                    waker = state.waker.take();
                    None
                }
            },
            None => Some(Err(Error::new(
                ErrorKind::State,
                "nothing can be asked while this request is served",
            ))),
        };
        drop(asking);
        // On a thread of its own the handler is not polled by who has to know.
        if let Some(waker) = waker {
            waker.wake();
        }
        let mut answer = answer;
        poll_fn(move |_| match answer.take() {
            Some(answer) => Poll::Ready(answer),
            // Whoever runs the handler drops it.
            None => Poll::Pending,
        })
    }

    fn asking(&self) -> MutexGuard<'_, Option<State>> {
        let asking = self.inner().asking.0.lock();
        asking.unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens what came with the request, where its method may ask (MR-2).
    pub(super) fn begin_rounds(&self) -> Result<(), ErrorObject> {
        use bowline_types::Method::{CallTool, GetPrompt, ReadResource};
        let inner = self.inner();
        let may_ask = matches!(inner.method, CallTool | GetPrompt | ReadResource);
        if inner.stateless.is_none() || !may_ask {
            return Ok(());
        }
        let params = inner.params.as_ref().map_or("{}", Payload::as_str);
        let binding = Binding::new("", inner.method.as_str(), params);
        let binding = binding.map_err(|error| error.to_error())?;
        let seal = &inner.session.server.seal;
        let rounds = Rounds::open(params, seal, &binding, seal.now());
        let rounds = rounds.map_err(|error| error.to_error())?;
        *self.asking() = Some(State {
            rounds,
            binding,
            has_asked: false,
            waker: None,
        });
        Ok(())
    }

    /// What the request ends with when the handler waits for an answer. Without a question
    /// `waker` is woken when there is one.
    pub(super) fn questions(&self, waker: &Waker) -> Option<Reply> {
        let mut asking = self.asking();
        let asked = asking.as_mut()?;
        if !asked.has_asked {
            asked.waker = Some(waker.clone());
            return None;
        }
        let state = asking.take()?;
        drop(asking);
        let seal = &self.inner().session.server.seal;
        match state.rounds.finish(seal, &state.binding, seal.expiry()) {
            Round::Ask(mut result) => {
                result.meta = Some(self.inner().session.server.meta.clone());
                Some(say(self, &*result))
            }
            _ => None,
        }
    }
}

/// An answer of the client.
enum Answer {
    Payload(Payload),
    Input(InputResponse),
}

impl Answer {
    fn read<T: Wire>(
        self,
        input: impl FnOnce(&InputResponse) -> Result<T, DecodeError>,
    ) -> Result<T, Error> {
        let read = match self {
            Self::Payload(payload) => payload.decode(),
            Self::Input(answer) => input(&answer),
        };
        read.map_err(|error| Error::new(ErrorKind::InvalidResponse, error.to_string()))
    }
}

fn undeclared(what: &str, required: ClientCapabilities) -> Error {
    let words = format!("the client doesn't declare {what}");
    Error::lacking(words, Lacks::Capability(Box::new(required)))
}
