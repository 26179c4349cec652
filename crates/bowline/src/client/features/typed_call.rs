//! Calls with typed results.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bowline_proto::{Instant, Payload};
use bowline_types::progress::ProgressParams;
use bowline_types::{Method, RawJsonRef, Wire};

use crate::client::cache::{Key, Ticket};
use crate::client::call::Call;
use crate::client::pending_call::{CancelHandle, PendingCall};
use crate::client::shared::Shared;
use crate::error::{Error, ErrorKind};

/// A call with a typed result that has not been made yet. Await it to make it.
///
/// ```
/// # use std::time::Duration;
/// # async fn example(client: bowline::Client) -> Result<(), bowline::Error> {
/// let read = client.resources().read("file:///readme");
/// let readme = read.timeout(Duration::from_secs(5)).await?;
/// println!("{} parts", readme.contents.len());
/// # Ok(())
/// # }
/// ```
#[must_use = "a call does nothing unless it is awaited"]
pub struct TypedCall<'c, T> {
    pub(super) call: Call<'c>,
    /// Its key in the cache, when it may be cached.
    key: Option<Key>,
    bypasses_cache: bool,
    result: PhantomData<fn() -> T>,
}

impl<'c, T: Wire> TypedCall<'c, T> {
    pub(super) fn new(call: Call<'c>) -> Self {
        Self {
            call: call.with_capability_check(),
            key: None,
            bypasses_cache: false,
            result: PhantomData,
        }
    }

    /// Lets the result be cached, if it has a key.
    pub(super) fn cached_as(mut self, key: Option<Key>) -> Self {
        self.key = key;
        self
    }

    /// Sends the request to the server even if the [cache](crate::client::CachePolicy) has a fresh
    /// result.
    pub fn bypass_cache(mut self) -> Self {
        self.bypasses_cache = true;
        self
    }

    call_settings!();

    /// Makes the call now. Its result can be awaited later.
    pub fn send(self) -> PendingTypedCall<T> {
        self.into_future()
    }
}

impl<T: Wire> IntoFuture for TypedCall<'_, T> {
    type Output = Result<T, Error>;
    type IntoFuture = PendingTypedCall<T>;

    /// Makes the call. Dropping the future cancels it.
    fn into_future(self) -> PendingTypedCall<T> {
        let method = self.call.method().to_owned();
        let shared = self.call.shared();
        let key = self.key.filter(|_| !self.call.has_meta());
        let recorder = SchemaRecorder::for_method(&method, shared);
        if let Some(key) = key.as_ref().filter(|_| !self.bypasses_cache)
            && let Some(result) = shared.cache.get(key, shared.now())
        {
            recorder.record(&result);
            return PendingTypedCall::new(method, State::Cached(result));
        }
        let ticket = key.and_then(|key| shared.cache.ticket(key));
        let keep = ticket.map(|ticket| (Arc::clone(shared), ticket));
        let mut pending =
            PendingTypedCall::new(method, State::Pending(self.call.into_future(), keep));
        pending.recorder = recorder;
        pending
    }
}

impl<T> fmt::Debug for TypedCall<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.call.fmt(f)
    }
}

/// The pending result of a typed call. Await it for the result. Dropping it cancels the call.
pub struct PendingTypedCall<T> {
    state: State,
    method: String,
    recorder: SchemaRecorder,
    /// Bytes of the result, when it is there.
    size: usize,
    result: PhantomData<fn() -> T>,
}

/// Records the output schemas of tools from a list, where results are checked.
#[derive(Default)]
struct SchemaRecorder(Option<(Arc<Shared>, u64)>);

impl SchemaRecorder {
    fn for_method(method: &str, shared: &Arc<Shared>) -> Self {
        let is_list = cfg!(feature = "validate") && method == Method::ListTools.as_str();
        Self(is_list.then(|| (Arc::clone(shared), shared.output_schemas.generation())))
    }

    fn record(&self, list: &str) {
        if let Some((shared, generation)) = &self.0 {
            shared.output_schemas.learn(list, *generation);
        }
    }
}

enum State {
    /// A cached result that is still fresh.
    Cached(Arc<str>),
    /// A request was sent; its result may be cached.
    Pending(PendingCall, Option<(Arc<Shared>, Ticket)>),
}

impl<T> PendingTypedCall<T> {
    fn new(method: String, state: State) -> Self {
        Self {
            state,
            method,
            recorder: SchemaRecorder::default(),
            size: 0,
            result: PhantomData,
        }
    }

    /// Returns the size of the result in bytes, as it was received.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns `true` if the result is from the cache, and no request was sent.
    pub(super) fn is_cached(&self) -> bool {
        matches!(self.state, State::Cached(_))
    }

    /// Returns the next report of progress, for a call that was made with it. `None` when the call
    /// has ended. Cancel safe.
    pub async fn progress(&mut self) -> Option<ProgressParams> {
        match &mut self.state {
            State::Cached(_) => None,
            State::Pending(pending, _) => pending.progress().await,
        }
    }

    /// Returns a handle with which others cancel the call.
    pub fn cancel_handle(&self) -> CancelHandle {
        match &self.state {
            State::Cached(_) => CancelHandle::inert(),
            State::Pending(pending, _) => pending.cancel_handle(),
        }
    }
}

impl<T: Wire> Future for PendingTypedCall<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self {
            state,
            method,
            recorder,
            size,
            ..
        } = &mut *self;
        let result = match state {
            State::Cached(result) => {
                *size = result.len();
                return Poll::Ready(decode_result(RawJsonRef::new_unchecked(result), method));
            }
            State::Pending(pending, keep) => {
                let result = ready!(Pin::new(&mut *pending).poll(cx));
                // CH-5: a result to which the user contributed is theirs alone.
                if let Some((shared, ticket)) = keep.take().filter(|_| !pending.had_input_round()) {
                    store_in_cache(&shared, ticket, &result, pending.received_at());
                }
                if let Ok(list) = &result {
                    recorder.record(list.as_str());
                    *size = list.as_str().len();
                }
                result
            }
        };
        Poll::Ready(result.and_then(|result| decode_result(result.as_json(), method)))
    }
}

impl<T> fmt::Debug for PendingTypedCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingTypedCall")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

fn store_in_cache(
    shared: &Shared,
    ticket: Ticket,
    result: &Result<Payload, Error>,
    received_at: Option<Instant>,
) {
    match result {
        Ok(result) => {
            // CH-3: its age counts from when it was received, and not from when it was read.
            let received_at = received_at.unwrap_or_else(|| shared.now());
            // Nothing is kept of a connection that is gone.
            let revision = shared
                .lock()
                .agreement
                .as_ref()
                .map(|agreement| agreement.revision);
            shared.cache.keep(ticket, result, received_at, revision);
        }
        // The server may no longer know the cursor.
        Err(error) if ticket.key.is_later_page() && error.server_error().is_some() => {
            shared.cache.forget_list(&ticket.key);
        }
        Err(_) => {}
    }
}

/// Decodes a result as its type.
pub(super) fn decode_result<T: Wire>(result: RawJsonRef<'_>, method: &str) -> Result<T, Error> {
    T::from_json_ref(result).map_err(|error| {
        // The message is all that it has: as the source it would be repeated.
        let wrong = Error::new(ErrorKind::InvalidResponse, error.to_string());
        wrong.in_operation(method.to_owned())
    })
}
