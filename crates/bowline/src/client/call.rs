//! A call before it is sent.

use std::borrow::Cow;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bowline_proto::CallRequest;
use bowline_proto::link::{CallKey, LinkCall, SessionTerms};
use bowline_types::meta::RequestMeta;
use bowline_types::progress::ProgressParams;
use bytes::Bytes;

use super::params::Params;
use super::pending_call::PendingCall;
use super::session_adapter::{ParamsEncoder, SessionAdapter};
use super::shared::{Shared, Slot};
use super::url_elicitation_retry::RetryPlan;
use crate::error::Error;

pub(super) type OnProgress = Box<dyn FnMut(ProgressParams) + Send>;

/// A call that has not been made yet. Await it to make it.
///
/// ```
/// # use std::time::Duration;
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let result = client
///     .call("tools/call", r#"{"name":"copy"}"#)
///     .timeout(Duration::from_secs(5))
///     .on_progress(|progress| println!("{:?}", progress.message))
///     .await?;
/// println!("{}", result.as_str());
/// # Ok(())
/// # }
/// ```
#[must_use = "a call does nothing unless it is awaited"]
pub struct Call<'c> {
    shared: &'c Arc<Shared>,
    method: Cow<'static, str>,
    params: Params,
    meta: Option<RequestMeta>,
    timeout: Option<Duration>,
    max_total: Option<Duration>,
    wait_for_ready: bool,
    retry: Retry,
    wants_progress: bool,
    on_progress: Option<OnProgress>,
    checks_capability: bool,
    tool: Option<Box<str>>,
    is_raw: bool,
    /// How to encode the parameters, where that depends on the session.
    params_encoder: Option<ParamsEncoder>,
}

/// Which calls are retried when their connection is lost. Those that are wait for the
/// next one, within their own time, and are made again up to
/// [`LinkConfig::max_retries`](crate::LinkConfig::max_retries) times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// No call is retried.
    #[default]
    Never,
    /// Calls that the server has certainly not received.
    NotSent,
    /// All calls: use it for one that only reads, or may be executed twice.
    Idempotent,
}

impl<'c> Call<'c> {
    pub(super) fn new(shared: &'c Arc<Shared>, method: Cow<'static, str>, params: Params) -> Self {
        Self {
            shared,
            method,
            params,
            meta: None,
            timeout: None,
            max_total: None,
            wait_for_ready: false,
            retry: Retry::Never,
            wants_progress: false,
            on_progress: None,
            checks_capability: false,
            tool: None,
            is_raw: false,
            params_encoder: None,
        }
    }

    /// Sets how long it may take without a response, or without progress either where that
    /// [counts](crate::Timeouts::progress_counts). Default: as
    /// [configured](crate::Config::call_timeouts), 30 s.
    ///
    /// It is paused while a handler of this client asks a person or a model for the server.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long it may take altogether. Default: as configured, 10 min.
    pub fn max_total(mut self, total: Duration) -> Self {
        self.max_total = Some(total);
        self
    }

    /// Waits for a connection, within the call's own time, instead of failing at once.
    pub fn wait_for_ready(mut self) -> Self {
        self.wait_for_ready = true;
        self
    }

    /// Sets whether it is retried after its connection was lost. Any but [`Retry::Never`] also
    /// [waits](Self::wait_for_ready) for a connection.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Adds entries to `_meta`, in place of those in the parameters.
    pub fn meta(mut self, meta: RequestMeta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Asks the server to report progress, and runs `callback` for each report in the task
    /// that awaits the call. Of more than 32 that wait the latest are kept.
    pub fn on_progress(mut self, callback: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(callback));
        self.with_progress()
    }

    /// Asks the server to report progress: see [`PendingCall::progress`].
    pub fn with_progress(mut self) -> Self {
        self.wants_progress = true;
        self
    }

    /// Returns any result as it is: in 2026-07-28 also one that asks for input, which is not
    /// given then, and one of a type that is not known here. It is for a proxy, whose own
    /// client goes on.
    pub fn raw(mut self) -> Self {
        self.is_raw = true;
        self
    }

    /// Makes the call fail if the server has not declared the capability for it.
    pub(super) fn with_capability_check(mut self) -> Self {
        self.checks_capability = true;
        self
    }

    /// Sets the tool that it calls: what a server declares stateful keeps its order.
    pub(super) fn for_tool(mut self, name: impl Into<Box<str>>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// Encodes its parameters when it is sent, in place of those that it has.
    pub(super) fn set_params_encoder(
        &mut self,
        encoder: impl Fn(&SessionTerms<'_>) -> Result<Bytes, String> + Send + Sync + 'static,
    ) {
        self.params_encoder = Some(Box::new(encoder));
    }

    /// Returns `true` if it waits for a connection, or is made again in another one.
    pub(super) fn may_wait(&self) -> bool {
        self.wait_for_ready || self.retry != Retry::Never
    }

    pub(super) fn shared(&self) -> &'c Arc<Shared> {
        self.shared
    }

    /// Returns `true` if something was added to `_meta`.
    pub(super) fn has_meta(&self) -> bool {
        self.meta.is_some()
    }

    /// Replaces the parameters.
    pub(super) fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    /// Returns how long it may take without a response, and altogether.
    pub(super) fn time_limits(&self) -> (Duration, Duration) {
        let defaults = &self.shared.call_timeouts;
        (
            self.timeout.unwrap_or(defaults.idle),
            self.max_total.unwrap_or(defaults.total),
        )
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    /// Makes the call now. Its result can be awaited later.
    pub fn send(self) -> PendingCall {
        self.into_future()
    }

    fn make(self) -> Result<PendingCall, Error> {
        let shared = Arc::clone(self.shared);
        let method = self.method.clone();
        let checks_capability = self.checks_capability;
        let (_, total) = self.time_limits();
        let (call, on_progress) = self.prepare()?;
        let retry_plan = RetryPlan::for_call(&shared, &call, checks_capability, total);
        let is_idempotent = call.is_idempotent();
        let key = place_call(&shared, &method, call, checks_capability)?;
        let pending = PendingCall::new(shared, key, method, on_progress);
        Ok(pending
            .idempotent(is_idempotent)
            .with_retry_plan(retry_plan))
    }

    fn prepare(mut self) -> Result<(LinkCall, Option<OnProgress>), Error> {
        let params = std::mem::replace(&mut self.params, Params::from(())).check()?;
        let meta = self.meta.take().or(params.meta);
        let has_level = self.shared.has_log_level.load(Ordering::Relaxed);
        let adapter = if self.may_wait() || self.params_encoder.is_some() {
            Some(self.session_adapter(meta.clone(), has_level))
        } else {
            None
        };
        let mut request = CallRequest::new(std::mem::take(&mut self.method), params.members);
        if self.timeout.is_some() || self.max_total.is_some() {
            let mut timeouts = self.shared.call_timeouts;
            timeouts.idle = self.timeout.unwrap_or(timeouts.idle);
            timeouts.total = self.max_total.unwrap_or(timeouts.total);
            request = request.timeouts(timeouts);
        }
        if self.wants_progress {
            request = request.with_progress();
        }
        let meta = if has_level {
            self.shared.lock().with_log_level(meta)
        } else {
            meta
        };
        if let Some(meta) = meta {
            request = request.meta(meta);
        }
        let mut call = LinkCall::new(request);
        if self.may_wait() {
            call = call.wait_for_ready();
        }
        if self.retry == Retry::Idempotent {
            call = call.idempotent();
        }
        if let Some(tool) = self.tool {
            call = call.tool(tool);
        }
        if self.is_raw {
            call = call.raw();
        }
        if let Some(adapter) = adapter {
            call = call.with_adapter(Arc::new(adapter));
        }
        Ok((call, self.on_progress))
    }

    /// Returns the adapter for the session in which it is sent.
    fn session_adapter(&mut self, meta: Option<RequestMeta>, has_level: bool) -> SessionAdapter {
        let core = self.shared.lock();
        SessionAdapter {
            method: self.method.clone(),
            checks_capability: self.checks_capability,
            declares_tasks: core.declares_tasks,
            meta,
            level: core.log_level.clone().filter(|_| has_level),
            encode_params: self.params_encoder.take(),
        }
    }
}

/// Hands a call to the link.
pub(super) fn place_call(
    shared: &Shared,
    method: &str,
    call: LinkCall,
    checks_capability: bool,
) -> Result<CallKey, Error> {
    shared.with(|core, now| {
        core.check_revision(method)?;
        if checks_capability {
            core.check_capability(method)?;
        }
        let key = core.link.call(now, call);
        let key = key.map_err(|error| core.refusal(now, error))?;
        core.slots.insert(key, Slot::default());
        Ok(key)
    })
}

impl IntoFuture for Call<'_> {
    type Output = <PendingCall as Future>::Output;
    type IntoFuture = PendingCall;

    /// Makes the call. Dropping the future cancels it: the server is notified once, and a
    /// late response is dropped.
    fn into_future(self) -> PendingCall {
        let method = self.method.clone();
        let made = self.make();
        made.unwrap_or_else(|error| PendingCall::refused(error.in_operation(method)))
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}
