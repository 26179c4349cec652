//! Questions of a handler to the client: sampling, elicitation, roots.
//!
//! In the handshake era a question is a request to the client, and the handler waits for the
//! response. In the stateless era (2026-07-28, basic/patterns/mrtr) a server sends no requests: the
//! client's request ends with the questions, and is sent again with the answers. Then the handler
//! runs again from the top, and this time finds the answers. Handlers are written the same way for
//! both.
//!
//! `answer` holds the types of an answer, and why there may be none. Sealing what the client keeps
//! between two rounds is in `round_state_seal`, using it once in `used_round_states`.

mod answer;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Waker};

use bowline_proto::server::{Binding, Refusal, Round, Rounds, StateMark};
use bowline_proto::{CallRequest, Payload};
use bowline_types::capabilities::{
    ClientCapabilities, ElicitationCapability, RootsCapability, SamplingCapability,
};
use bowline_types::elicitation::{ElicitParams, ElicitResult};
use bowline_types::input::{InputRequest, InputResponse};
use bowline_types::method::{RequestMethod, requests};
use bowline_types::roots::{ListRootsParams, ListRootsResult};
use bowline_types::sampling::{CreateMessageParams, CreateMessageResult};
use bowline_types::{Era, ErrorObject, JsonObject, RequestId, Revision};

pub(super) use self::answer::NoAnswer;
use self::answer::{Answer, QuestionLookup, StatelessAnswer, checked_form};
use super::context::Context;
use super::principal::Principal;
use super::round_state_seal::RoundSeal;
use super::service::encode_result_with;
use super::tasks::TaskEntry;
use crate::RpcResult;
use crate::error::{Error, ErrorKind};

/// The questions and answers of a request in the stateless era.
#[derive(Debug, Default)]
pub(super) struct ClientQuestions(Mutex<QuestionState>);

#[derive(Debug, Default)]
struct QuestionState {
    /// `None` where the method allows no questions, and when the request has ended with its
    /// questions.
    rounds: Option<Rounds>,
    has_asked: bool,
    /// Set when the round state of the request was claimed, by this request.
    is_claimed: bool,
    /// Keys of [`Context::once`] since this request arrived. Rounds know the keys of earlier runs.
    done: BTreeSet<String>,
    /// Wakers of the task and thread that run the handler: a question may come from a task that the
    /// handler has spawned.
    runners: [Option<Waker>; 2],
}

/// What runs a handler, and ends it when it asks.
#[derive(Clone, Copy, Debug)]
pub(super) enum HandlerRunner {
    Task,
    Thread,
}

impl Context {
    /// Asks the client's model for a message (`sampling/createMessage`).
    ///
    /// `key` names the question among those of this request. A key that is used again asks
    /// again, as in a loop that goes on until it likes the answer.
    ///
    /// In the stateless era the handler runs again from the top when the answer is there: its
    /// effects before the question are repeated, unless [`once`](Self::once) guards them. Answers
    /// of earlier rounds are returned again, those of one key in the order of arrival; so each run
    /// has to ask the same questions until then. A request may ask [a limited
    /// number](super::Server::max_input_requests) of questions in all its runs.
    ///
    /// Cancel safe: the client's work on the request is cancelled.
    ///
    /// # Errors
    ///
    /// When the client doesn't declare the capability, refuses, or is gone, and when too many
    /// questions were asked.
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageParams,
    ) -> Result<CreateMessageResult, Error> {
        let mut needed = SamplingCapability::new();
        // SM-2: either of them is about tools.
        let has_tools = params.tools.is_some() || params.tool_choice.is_some();
        needed.tools = has_tools.then(JsonObject::new);
        let declared = self.client_capabilities().sampling;
        if declared.is_none_or(|sampling| needed.tools.is_some() && sampling.tools.is_none()) {
            let needed = ClientCapabilities::new().sampling(needed);
            return Err(self.missing_capability("sampling", needed));
        }
        let question = InputRequest::from(params.clone());
        let answer = self.ask::<requests::CreateMessage>(key, &params, question);
        answer.await?.decode(InputResponse::sampling)
    }

    /// Asks the user of the client (`elicitation/create`): see [`sample`](Self::sample). Cancel
    /// safe.
    ///
    /// ```
    /// use bowline::server::{Context, Server, ToolError};
    /// use bowline::types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
    ///
    /// async fn paint(cx: Context) -> Result<String, ToolError> {
    ///     let colours = PrimitiveSchema::one_of(["red", "green"]);
    ///     let form = FormSchema::new([("colour", colours)]).required(["colour".into()]);
    ///     let answer = cx.elicit("colour", ElicitFormParams::new("Which colour?", form)).await?;
    ///     if !answer.is_accepted() {
    ///         return Err(ToolError::new("the user doesn't want it painted"));
    ///     }
    ///     Ok(format!("painted with {:?}", answer.content))
    /// }
    ///
    /// let server = Server::new("painter", "1.0.0").tool("paint", "Paints the house", paint);
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`sample`](Self::sample). Declining is no error; an accepted form whose content
    /// doesn't match the requested schema is one of kind
    /// [`InvalidResponse`](ErrorKind::InvalidResponse) that names the field. Omitted fields have
    /// their defaults.
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
                declared.is_some_and(|elicitation| elicitation.has_url()),
                needed.url(JsonObject::new()),
            ),
            (_, declared) => (
                declared.is_some_and(|elicitation| elicitation.has_form()),
                needed.form(JsonObject::new()),
            ),
        };
        if !can_do {
            let needed = ClientCapabilities::new().elicitation(needed);
            return Err(self.missing_capability("elicitation", needed));
        }
        let page = self.prepare_url_elicitation(&mut params)?;
        let question = InputRequest::from(params.clone());
        let answer = self.ask::<requests::Elicit>(key, &params, question).await;
        let answer = answer.and_then(|answer| answer.decode(InputResponse::elicitation));
        if let Some(page) = page
            && !answer.as_ref().is_ok_and(ElicitResult::is_accepted)
        {
            // The user has not opened the URL.
            self.inner().session.forget_url_elicitation(&page);
        }
        checked_form(&params, answer?)
    }

    /// Gives a URL elicitation an id where it needs one, and tracks it until it is completed.
    fn prepare_url_elicitation(&self, params: &mut ElicitParams) -> Result<Option<String>, Error> {
        let ElicitParams::Url(page) = params else {
            return Ok(None);
        };
        // EL-14, EL-17: only this revision has ids.
        if self.revision() != Revision::V2025_11_25 {
            return Ok(None);
        }
        let id = match &page.elicitation_id {
            Some(id) => id.clone(),
            None => self.unique_id()?,
        };
        page.elicitation_id = Some(id.clone());
        self.inner().session.track_url_elicitation(&id);
        Ok(Some(id))
    }

    /// Returns a unique string that can't be guessed, for instance the id of a URL elicitation: see
    /// [`ServerFeatures::complete_url_elicitation`](super::ServerFeatures::complete_url_elicitation).
    ///
    /// # Errors
    ///
    /// When the system has no random bytes.
    pub fn unique_id(&self) -> Result<String, Error> {
        RoundSeal::random_id().map_err(|error| {
            Error::new(
                ErrorKind::State,
                format!("no random bytes available: {error}"),
            )
        })
    }

    /// Asks the client for its roots (`roots/list`): see [`sample`](Self::sample). Cancel safe.
    ///
    /// # Errors
    ///
    /// As for [`sample`](Self::sample).
    pub async fn list_roots(&self, key: &str) -> Result<ListRootsResult, Error> {
        if self.client_capabilities().roots.is_none() {
            let needed = ClientCapabilities::new().roots(RootsCapability::new());
            return Err(self.missing_capability("roots", needed));
        }
        let params = ListRootsParams::new();
        let question = InputRequest::from(params.clone());
        let answer = self.ask::<requests::ListRoots>(key, &params, question);
        answer.await?.decode(InputResponse::roots)
    }

    /// Returns `true` the first time that it is called with a key, in all runs of the handler for
    /// this request: guards an effect that must not be repeated. Call it right before the effect.
    ///
    /// In the handshake era a handler runs once. In the stateless era, where it runs again with
    /// each round of answers, the keys are kept by the client between two rounds, sealed: it can't
    /// change them, but it can send the same state twice, and then the round is run twice, with its
    /// effects. With [`Server::single_use_request_state`](super::Server::single_use_request_state) each state is
    /// accepted once by this process, so that `true` is returned at most once from the first
    /// request to the last answer. That is not at least once: when a round is lost after it has
    /// begun, the client has to start again. A request that starts again is another one, with or
    /// without that setting.
    ///
    /// Returns `false` also in spawned code that goes on after the request has ended with a
    /// question: its call would not be remembered, and the next run asks the same.
    ///
    /// ```
    /// use bowline::server::{Context, Server, ToolError};
    /// # fn notify_kitchen() {}
    ///
    /// async fn cook(cx: Context) -> Result<String, ToolError> {
    ///     // Once, however often the handler runs until the question is answered.
    ///     if cx.once("kitchen") {
    ///         notify_kitchen();
    ///     }
    ///     let roots = cx.list_roots("recipes").await?;
    ///     Ok(format!("recipes come from {} folders", roots.roots.len()))
    /// }
    ///
    /// let server = Server::new("cook", "1.0.0").tool("cook", "Cooks a meal", cook);
    /// ```
    pub fn once(&self, key: &str) -> bool {
        let questions = &mut *self.lock_questions();
        let is_first = match &mut questions.rounds {
            Some(rounds) => rounds.once(key),
            None => !questions.has_asked,
        };
        // A layer may run the handler again, from the same state.
        is_first && questions.done.insert(key.to_owned())
    }

    async fn ask<R: RequestMethod>(
        &self,
        key: &str,
        params: &R::Params,
        question: InputRequest,
    ) -> Result<Answer, Error> {
        match self.revision().era() {
            Era::Handshake => {
                let answer = self.ask_by_request::<R>(params, question).await;
                answer.map(Answer::Payload)
            }
            Era::Stateless => match self.ask_in_result(key, question).await {
                StatelessAnswer::Answer(answer) => answer,
                // The request is answered, and the handler goes on: the question is asked through
                // the task.
                StatelessAnswer::Task(task, question) => {
                    Ok(Answer::Input(task.ask(key, *question).await))
                }
            },
        }
    }

    /// Sends a request to the client, and waits for the response.
    async fn ask_by_request<R: RequestMethod>(
        &self,
        params: &R::Params,
        question: InputRequest,
    ) -> Result<Payload, Error> {
        let method = R::METHOD.as_str();
        let params = Payload::encode(params, self.revision());
        // PV-5: the message names the feature and the revisions that have it.
        let params = params.map_err(|error| {
            let reason = NoAnswer::Message(format!("{method}: {error}"));
            Error::new(ErrorKind::CapabilityNotSupported, error.to_string())
                .in_operation(method)
                .caused_by(reason)
        })?;
        let asked = match self.task() {
            Some(task) => task.ask_client(self, method, params, question).await,
            None => {
                let bytes = params.into_bytes();
                let members = bytes.slice(1..bytes.len() - 1);
                let inner = self.inner();
                let request = CallRequest::new(method, members);
                inner.session.call_client(Some(inner.key), request).await
            }
        };
        asked.map_err(|error| {
            let message = error.to_string();
            error
                .in_operation(method)
                .caused_by(NoAnswer::Message(message))
        })
    }

    /// Returns the answer if it came with the request. Otherwise the request ends with the
    /// question, so that nothing after it runs.
    async fn ask_in_result(&self, key: &str, question: InputRequest) -> StatelessAnswer {
        let failed = |message| StatelessAnswer::Answer(Err(Error::new(ErrorKind::State, message)));
        let runners = match self.find_answer(key, question) {
            QuestionLookup::Found(later) => return later,
            QuestionLookup::NotAllowed => {
                return failed("the handler of this method can't request input from the client");
            }
            QuestionLookup::TooMany => {
                // A handler that asks in a loop and ignores errors must not hold up all others.
                tokio::task::yield_now().await;
                return StatelessAnswer::Answer(Err(self.too_many_questions()));
            }
            QuestionLookup::Asked(runners) => runners,
        };
        for runner in runners.into_iter().flatten() {
            runner.wake();
        }
        // The handler is dropped here by its runner. Tasks that it has spawned may go on.
        self.cancelled().await;
        failed(
            "the handler was stopped to request input from the client: it runs again with that input",
        )
    }

    fn find_answer(&self, key: &str, question: InputRequest) -> QuestionLookup {
        let mut questions = self.lock_questions();
        let Some(rounds) = &mut questions.rounds else {
            return QuestionLookup::NotAllowed;
        };
        let name = rounds.next_name(key);
        let response = rounds.response(&name);
        let response = response.or_else(|| rounds.early_response(&name, &question));
        match (response, self.task()) {
            (Some(answer), _) => {
                return QuestionLookup::Found(StatelessAnswer::Answer(Ok(Answer::Input(answer))));
            }
            (None, Some(task)) => {
                return QuestionLookup::Found(StatelessAnswer::Task(task, Box::new(question)));
            }
            (None, None) => {}
        }
        if rounds.request_count() >= self.inner().session.server.max_input_requests {
            return QuestionLookup::TooMany;
        }
        rounds.request_input(&name, question);
        questions.has_asked = true;
        QuestionLookup::Asked(std::mem::take(&mut questions.runners))
    }

    fn too_many_questions(&self) -> Error {
        let most = self.inner().session.server.max_input_requests;
        let message = format!("too many input requests: the limit is {most} per request");
        Error::new(ErrorKind::State, message.clone()).caused_by(NoAnswer::Message(message))
    }

    fn lock_questions(&self) -> MutexGuard<'_, QuestionState> {
        let questions = self.inner().questions.0.lock();
        questions.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if the handler waits for an answer with which the request has to be sent
    /// again. Wakes the runner when it does.
    pub(super) fn has_asked(&self, runner: HandlerRunner, cx: &TaskContext<'_>) -> bool {
        let mut questions = self.lock_questions();
        if questions.rounds.is_some() && !questions.has_asked {
            let waker = match runner {
                HandlerRunner::Task => &mut questions.runners[0],
                HandlerRunner::Thread => &mut questions.runners[1],
            };
            *waker = Some(cx.waker().clone());
        }
        questions.has_asked
    }

    /// Makes the request a task, unless it waits for an answer with which it has to be sent again
    /// (TX-18). Returns `true` if it is one now.
    pub(super) fn become_task(&self, task: &Arc<TaskEntry>) -> bool {
        // The lock orders this before or after a concurrent question.
        let questions = self.lock_questions();
        if questions.has_asked {
            return false;
        }
        let is_first = self.inner().task.set(Arc::downgrade(task)).is_ok();
        self.drop_large_params();
        is_first
    }

    /// Returns the error for a client that doesn't declare a capability (LC-48).
    fn missing_capability(&self, capability: &str, needed: ClientCapabilities) -> Error {
        let message = format!("the client doesn't declare {capability}");
        let cause = match self.revision().era() {
            Era::Handshake => NoAnswer::Message(message.clone()),
            Era::Stateless => {
                // The caller replaces the id.
                let mut refusal = Refusal::missing_capability(&RequestId::from(0), needed);
                // Many clients show only the message of an error.
                refusal.error.message.clone_from(&message);
                NoAnswer::Protocol(Box::new(refusal.error))
            }
        };
        Error::new(ErrorKind::CapabilityNotSupported, message).caused_by(cause)
    }

    /// Opens the round state that came with the request, where its method may ask (MR-2). That is
    /// done right before the handler runs, when all layers have set the principal.
    pub(super) fn begin_rounds(&self) -> Result<(), ErrorObject> {
        use bowline_types::Method::{CallTool, GetPrompt, ReadResource};
        let inner = self.inner();
        let may_ask = matches!(
            inner.method.known(),
            Some(CallTool | GetPrompt | ReadResource)
        );
        if inner.stateless.is_none() || !may_ask {
            return Ok(());
        }
        let params = self.params();
        let may_go_on = params
            .as_ref()
            .is_some_and(|params| Rounds::has_round(params.as_bytes()));
        let rounds = if may_go_on {
            let params = params.as_ref().map_or("{}", Payload::as_str);
            let seal = &inner.session.server.seal;
            let now = seal.now();
            let rounds = Rounds::open(params, seal, &self.binding()?, now);
            let rounds = rounds.map_err(|error| error.to_error())?;
            self.claim_round_state(rounds.state_mark(), now)?;
            rounds
        } else {
            Rounds::new()
        };
        self.lock_questions().rounds = Some(rounds);
        Ok(())
    }

    /// Claims the round state, where each may be used once (MR-13). A layer may serve one request
    /// twice: that is no second use.
    fn claim_round_state(&self, brought: Option<&StateMark>, now: u64) -> Result<(), ErrorObject> {
        let (Some(used), Some(mark)) = (&self.inner().session.server.used_round_states, brought)
        else {
            return Ok(());
        };
        let mut questions = self.lock_questions();
        if !questions.is_claimed {
            used.claim(mark, now).into_result()?;
            questions.is_claimed = true;
        }
        Ok(())
    }

    /// Returns what the rounds of this request have in common. Most requests have one round, and
    /// need none.
    fn binding(&self) -> Result<Binding, ErrorObject> {
        let inner = self.inner();
        let params = self.params();
        let params = params.as_ref().map_or("{}", Payload::as_str);
        let principal = self.principal();
        let principal = principal.as_ref().map_or("", Principal::id);
        let binding = Binding::new(principal, inner.method.as_str(), params);
        binding.map_err(|error| error.to_error())
    }

    /// Returns the response with which the request ends when the handler waits for an answer.
    pub(super) fn take_questions(&self, cx: &TaskContext<'_>) -> Option<RpcResult> {
        if !self.has_asked(HandlerRunner::Task, cx) {
            return None;
        }
        let rounds = self.lock_questions().rounds.take()?;
        let binding = match self.binding() {
            Ok(binding) => binding,
            Err(error) => return Some(Err(error)),
        };
        let seal = &self.inner().session.server.seal;
        let mark = match RoundSeal::random_id() {
            Ok(nonce) => StateMark::new(nonce, seal.expiry()),
            Err(error) => {
                tracing::error!(%error, "no random bytes available for requestState");
                let message = "can't request input from the client now";
                return Some(Err(ErrorObject::internal_error(message)));
            }
        };
        match rounds.finish(seal, &binding, mark) {
            Round::InputRequired(result) => Some(encode_result_with(
                self,
                &*result,
                &self.inner().session.server.meta,
            )),
            _ => None,
        }
    }
}
