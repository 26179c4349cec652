//! A call before it is made.

use std::borrow::Cow;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use bowline_proto::CallRequest;
use bowline_proto::link::LinkCall;
use bowline_types::meta::RequestMeta;
use bowline_types::progress::ProgressParams;

use super::answer::Answer;
use super::params::Params;
use super::shared::{Shared, Slot};
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
#[must_use = "a call is made when it is awaited"]
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
}

/// Which calls are made again when their connection is lost. Those that are wait for the
/// next one, within their own time, and are made again as often as
/// [`LinkConfig::max_retries`](crate::LinkConfig::max_retries) says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// None.
    #[default]
    Never,
    /// One that the server has certainly not seen.
    NotSent,
    /// Any: it only reads, or doing it twice is the same as doing it once.
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
        }
    }

    /// How long it may take without an answer, or without progress either where that
    /// [counts](crate::Timeouts::progress_counts). Default: as
    /// [configured](crate::Config::call_timeouts), 30 s.
    ///
    /// It stands still while a handler of ours asks a person or a model for the server.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long it may take altogether. Default: as configured, 10 min.
    pub fn max_total(mut self, total: Duration) -> Self {
        self.max_total = Some(total);
        self
    }

    /// Waits for a connection, within the call's own time, instead of failing at once.
    pub fn wait_for_ready(mut self) -> Self {
        self.wait_for_ready = true;
        self
    }

    /// When it is made again after its connection was lost. Any but [`Retry::Never`] also
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

    /// Asks the server to report progress: see [`Answer::progress`].
    pub fn with_progress(mut self) -> Self {
        self.wants_progress = true;
        self
    }

    /// Makes the call now. Its answer can be awaited later.
    pub fn send(self) -> Answer {
        self.into_future()
    }

    fn make(self) -> Result<Answer, Error> {
        let shared = Arc::clone(self.shared);
        let method = self.method.clone();
        let (call, on_progress) = self.prepare()?;
        let made = shared.with(|core, now| {
            core.check_revision(&method)?;
            let key = core.link.call(now, call);
            let key = key.map_err(|error| Error::from_link(error, |at| shared.until(at)))?;
            core.slots.insert(key, Slot::default());
            Ok(key)
        });
        made.map(|key| Answer::pending(shared, key, method, on_progress))
    }

    fn prepare(self) -> Result<(LinkCall, Option<OnProgress>), Error> {
        let params = self.params.check()?;
        let mut request = CallRequest::new(self.method, params.members);
        if let Some(meta) = self.meta.or(params.meta) {
            request = request.meta(meta);
        }
        if self.timeout.is_some() || self.max_total.is_some() {
            let mut timeouts = self.shared.call_timeouts;
            timeouts.idle = self.timeout.unwrap_or(timeouts.idle);
            timeouts.total = self.max_total.unwrap_or(timeouts.total);
            request = request.timeouts(timeouts);
        }
        if self.wants_progress {
            request = request.wants_progress();
        }
        let mut call = LinkCall::new(request);
        if self.wait_for_ready || self.retry != Retry::Never {
            call = call.wait_for_ready();
        }
        if self.retry == Retry::Idempotent {
            call = call.idempotent();
        }
        Ok((call, self.on_progress))
    }
}

impl IntoFuture for Call<'_> {
    type Output = <Answer as Future>::Output;
    type IntoFuture = Answer;

    /// Makes the call. Dropping the future cancels it: the server is told once, and an
    /// answer that comes nevertheless is dropped.
    fn into_future(self) -> Answer {
        let method = self.method.clone();
        let made = self.make();
        made.unwrap_or_else(|error| Answer::refused(error.in_operation(method)))
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
