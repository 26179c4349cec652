//! Deliberate defects, to show that the simulator finds them.
//!
//! Without the feature `defects` there are none: `is` is `false`, and what it guards is not
//! compiled. With it a thread may have one at a time.

macro_rules! defects {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Something that is done wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        #[cfg_attr(not(feature = "defects"), expect(unreachable_pub, reason = "public with the feature"))]
        pub enum Defect {
            $($(#[doc = $doc])+ $variant,)+
        }

        #[cfg(feature = "defects")]
        impl Defect {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Those of a server's event log that its property tests find, too.
            pub const EVENT_LOG: &'static [Self] = &[Self::RepeatedReplay, Self::ForeignReplay];

            /// Returns the defect in words.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

defects! {
    /// A cancelled call is not cancelled at the peer.
    LostCancel = "lost cancel",
    /// It is cancelled there twice.
    DoubleCancel = "cancel sent twice",
    /// The end of a call is reported twice.
    DoubleDelivery = "double delivery",
    /// The deadline of a call outlives it.
    LeakedTimer = "leaked timer",
    /// The queue has no limit.
    UnboundedQueue = "unbounded queue",
    /// Pending calls have no limit.
    UnboundedCalls = "unbounded calls",
    /// Handled requests of the peer have no limit.
    UnboundedRequests = "unbounded requests",
    /// Reading goes on while no events are taken.
    UnboundedEvents = "unbounded events",
    /// All changes of state are remembered.
    UnboundedHistory = "unbounded history",
    /// Input from an old transport is handled.
    StaleConnection = "stale frame accepted",
    /// Cancelled calls are not remembered.
    NoTombstone = "tombstone not kept",
    /// Ids begin anew with each connection.
    ReusedId = "id reused after reconnect",
    /// Keys of requests begin anew with each connection.
    ReusedKey = "request key reused",
    /// Calls that wait for a connection are forgotten when it is lost.
    LostWaiter = "waiting call lost",
    /// `reconnect_now` works in every state.
    UnlistedEdge = "state edge not listed",
    /// A change of state is not reported.
    UnreportedState = "state change not reported",
    /// There is no wait between attempts.
    NoBackoff = "backoff not applied",
    /// The waits don't grow.
    FlatBackoff = "backoff does not grow",
    /// A call that was answered goes on waiting.
    SecondResponse = "second response accepted",
    /// A response goes to the call before.
    Misrouted = "response misrouted",
    /// A stop forgets one of the calls that wait.
    StopForgets = "stop leaves a call pending",
    /// A request of the peer is answered twice.
    AnsweredTwice = "request answered twice",
    /// A handshake may take for ever.
    EndlessHandshake = "handshake timer ignored",
    /// A transport is not closed when its connection has ended.
    TransportLeft = "transport left behind",
    /// The number of the session stands still.
    SameSession = "session number not raised",
    /// `requestState` is not returned to the server.
    LostState = "request state lost",
    /// A call that ends while it waits for a connection counts as sent.
    WaitingCountsAsSent = "waiting call reported as sent",
    /// A call that ends in the queue counts as sent.
    QueuedCountsAsSent = "queued call reported as sent",
    /// A call that the driver has returned, or reported as not sent, counts as sent.
    ReturnedCountsAsSent = "returned call reported as sent",
    /// A call that timed out or was cancelled counts as not sent.
    GivenUpCountsAsUnsent = "sent call reported as not sent",
    /// Of the attempts and rounds of a call only the last one counts.
    ForgottenAttempt = "earlier attempt forgotten",
    /// The first event that is replayed comes twice.
    RepeatedReplay = "event replayed twice",
    /// An event of another stream is replayed.
    ForeignReplay = "event of another stream replayed",
    /// The event that the client names is replayed as well.
    NamedReplay = "named event replayed",
    /// A stream is resumed although events are gone.
    SwallowedGap = "gap swallowed",
    /// A final response is dropped when no connection reads its stream.
    DroppedAnswer = "answer dropped without its connection",
    /// An event is appended to the newest stream.
    WrongStream = "event on the wrong stream",
    /// A resumed connection begins with the newest id.
    NewerPriming = "priming id newer than the position",
    /// A stream that is continued leaves out what was not read.
    SkippedUnread = "unread events skipped",
    /// The cancellation of a client is ignored.
    CancelledAnswer = "cancelled request answered",
    /// Events are kept however old they are.
    EndlessEvents = "events kept for ever",
}

#[cfg(feature = "defects")]
mod switch {
    use std::cell::Cell;

    use super::Defect;

    std::thread_local! {
        static DEFECT: Cell<Option<Defect>> = const { Cell::new(None) };
    }

    /// Lets this thread have a defect, or none.
    pub fn set(defect: Option<Defect>) {
        DEFECT.set(defect);
    }

    /// Returns `true` if this thread has this defect.
    pub(crate) fn is(defect: Defect) -> bool {
        DEFECT.get() == Some(defect)
    }
}

#[cfg(feature = "defects")]
pub(crate) use switch::is;
#[cfg(feature = "defects")]
pub use switch::set;

/// There is no defect in what is used.
#[cfg(not(feature = "defects"))]
#[inline(always)]
pub(crate) const fn is(_: Defect) -> bool {
    false
}
