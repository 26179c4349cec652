//! What a handler asks of the client: a model, a person, its roots.
//!
//! In the handshake era a question is a request of ours, and the handler waits for the
//! answer. In the stateless era (2026-07-28, basic/patterns/mrtr) a server asks nothing: the
//! request ends with the questions, and comes again with the answers. Then the handler runs
//! again from the top, and this time the answers are there. Handlers are written the same
//! way for both.

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bowline_proto::server::{Binding, Refusal, Round, Rounds};
use bowline_proto::{CallRequest, Payload};
use bowline_types::capabilities::{
    ClientCapabilities, ElicitationCapability, RootsCapability, SamplingCapability,
};
use bowline_types::elicitation::{ElicitParams, ElicitResult};
use bowline_types::input::{InputRequest, InputResponse};
use bowline_types::method::{Request, requests};
use bowline_types::roots::{ListRootsParams, ListRootsResult};
use bowline_types::sampling::{CreateMessageParams, CreateMessageResult};
use bowline_types::{DecodeError, Era, ErrorObject, JsonObject, RequestId, Revision, Wire};

use super::context::Context;
use super::seal::RoundSeal;
use super::service::{Reply, say_with};
use crate::error::{Error, ErrorKind};

/// What a request has asked and been answered, in the stateless era.
#[derive(Debug, Default)]
pub(super) struct Asking(Mutex<Option<State>>);

#[derive(Debug)]
struct State {
    rounds: Rounds,
    has_asked: bool,
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
        let mut needed = SamplingCapability::new();
        needed.tools = params.tools.as_ref().map(|_| JsonObject::new());
        let declared = self.client_capabilities().sampling;
        if declared.is_none_or(|it| needed.tools.is_some() && it.tools.is_none()) {
            let needed = ClientCapabilities::new().sampling(needed);
            return Err(self.not_declared("sampling", needed));
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
        let needed = ElicitationCapability::new();
        let (can_do, needed) = match (&params, declared) {
            (ElicitParams::Url(_), declared) => (
                declared.is_some_and(|it| it.has_url()),
                needed.url(JsonObject::new()),
            ),
            (_, declared) => (
                declared.is_some_and(|it| it.has_form()),
                needed.form(JsonObject::new()),
            ),
        };
        if !can_do {
            let needed = ClientCapabilities::new().elicitation(needed);
            return Err(self.not_declared("elicitation", needed));
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
            let needed = ClientCapabilities::new().roots(RootsCapability::new());
            return Err(self.not_declared("roots", needed));
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
        let params = params.map_err(|error| {
            let words = error.to_string();
            Error::new(ErrorKind::CapabilityNotSupported, words).in_operation(method)
        })?;
        let bytes = params.into_bytes();
        let members = bytes.slice(1..bytes.len() - 1);
        let inner = self.inner();
        let asked = inner
            .session
            .ask(Some(inner.key), CallRequest::new(method, members));
        asked.await.map_err(|error| {
            let words = error.to_string();
            error
                .in_operation(method)
                .caused_by(Unanswered::Told(words))
        })
    }

    /// Looks for the answer among those that came with the request. Without one the request
    /// ends with the question, so that nothing after it runs.
    fn ask_later(
        &self,
        key: &str,
        question: InputRequest,
    ) -> impl Future<Output = Result<Answer, Error>> + use<> {
        let mut asking = self.asking();
        let answer = match &mut *asking {
            Some(state) => match state.rounds.answer(key) {
                Some(answer) => Some(Ok(Answer::Input(answer))),
                None => {
                    state.rounds.ask(key, question);
                    state.has_asked = true;
                    None
                }
            },
            None => Some(Err(Error::new(
                ErrorKind::State,
                "nothing can be asked while this request is served",
            ))),
        };
        drop(asking);
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

    /// Whether the handler waits for an answer with which the request has to come again.
    pub(super) fn has_asked(&self) -> bool {
        self.asking().as_ref().is_some_and(|state| state.has_asked)
    }

    /// The error for a client that can't be asked (LC-48).
    fn not_declared(&self, capability: &str, needed: ClientCapabilities) -> Error {
        let words = format!("the client doesn't declare {capability}");
        let cause = match self.revision().era() {
            Era::Handshake => Unanswered::Told(words.clone()),
            Era::Stateless => {
                // The id is known to whoever answers.
                let mut refusal = Refusal::missing_capability(&RequestId::from(0), needed);
                // Many clients show nothing of an error but its message.
                refusal.error.message.clone_from(&words);
                Unanswered::Refused(Box::new(refusal.error))
            }
        };
        Error::new(ErrorKind::CapabilityNotSupported, words).caused_by(cause)
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
        let rounds = match Rounds::has_state(params) {
            false => Rounds::new(),
            true => {
                let seal = &inner.session.server.seal;
                let rounds = Rounds::open(params, seal, &self.binding()?, seal.now());
                rounds.map_err(|error| error.to_error())?
            }
        };
        *self.asking() = Some(State {
            rounds,
            has_asked: false,
        });
        Ok(())
    }

    /// What the rounds of this request have in common. Most requests have one, and need none.
    fn binding(&self) -> Result<Binding, ErrorObject> {
        let inner = self.inner();
        let params = inner.params.as_ref().map_or("{}", Payload::as_str);
        let binding = Binding::new("", inner.method.as_str(), params);
        binding.map_err(|error| error.to_error())
    }

    /// What the request ends with when the handler waits for an answer.
    pub(super) fn questions(&self) -> Option<Reply> {
        let mut asking = self.asking();
        if !asking.as_ref().is_some_and(|state| state.has_asked) {
            return None;
        }
        let state = asking.take()?;
        drop(asking);
        let binding = match self.binding() {
            Ok(binding) => binding,
            Err(error) => return Some(Err(error)),
        };
        let seal = &self.inner().session.server.seal;
        match state.rounds.finish(seal, &binding, seal.expiry()) {
            Round::Ask(result) => Some(say_with(self, &*result, &self.inner().session.server.meta)),
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

/// Why a question has no answer. It is about the client itself, so it is no secret to it.
#[derive(Clone, Debug)]
pub(super) enum Unanswered {
    /// In words for the model.
    Told(String),
    /// By an error of the protocol.
    Refused(Box<ErrorObject>),
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(words) => f.write_str(words),
            Self::Refused(error) => f.write_str(&error.message),
        }
    }
}

impl std::error::Error for Unanswered {}
