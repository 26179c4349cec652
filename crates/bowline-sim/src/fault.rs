//! What can go wrong, and how often it does in a world.

use std::fmt;

use crate::random::Random;

macro_rules! faults {
    (
        link { $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+ }
        server { $($(#[doc = $server_doc:literal])+ $server:ident = $server_name:literal,)+ }
    ) => {
        /// Something that can go wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[doc = $doc])+ $variant,)+
            $($(#[doc = $server_doc])+ $server,)+
        }

        impl Fault {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+ $(Self::$server,)+];

            /// Those of a link and its transport. A world draws from this list by position, so a
            /// change of it changes the worlds of all seeds.
            pub const LINK: &'static [Self] = &[$(Self::$variant,)+];

            /// Those of the sessions of a server over HTTP.
            pub const SERVER: &'static [Self] = &[$(Self::$server,)+];

            /// Returns the fault in words.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    $(Self::$server => $server_name,)+
                }
            }
        }
    };
}

faults! {
link {
    /// A frame of the server is lost.
    Drop = "drop",
    /// A frame of the client is lost.
    DropOfClient = "drop of client",
    /// A frame comes twice.
    Duplicate = "duplicate",
    /// A frame is written later than those after it.
    Delay = "delay",
    /// A frame comes in pieces.
    Split = "split",
    /// Frames come in one piece.
    Merge = "merge",
    /// A bit of a frame is another one.
    BitFlip = "bit flip",
    /// A frame ends before its end.
    Truncate = "truncate",
    /// A frame beyond the limit.
    Oversize = "oversize",
    /// A frame that is nested too deep.
    DeepNesting = "deep nesting",
    /// The server doesn't read for a while.
    StallReading = "stall reading",
    /// The server doesn't write for a while.
    StallWriting = "stall writing",
    /// The stream ends.
    Eof = "eof",
    /// The server receives nothing more, and continues to send.
    HalfClose = "half close",
    /// The transport is lost.
    Reset = "reset",
    /// One stream of many is lost.
    StreamLost = "one stream lost",
    /// A POST can't be sent.
    NotSent = "not sent",
    /// A POST is refused with a status.
    Refused = "refused",
    /// A response with the id of another call.
    WrongId = "wrong id",
    /// A frame of an earlier connection comes again.
    ReplayedId = "replayed id of an earlier connection",
    /// A response to a call that was never made.
    NeverIssuedId = "never-issued id",
    /// A response after its call was cancelled.
    LateResponse = "late response",
    /// Two responses to one call.
    DoubleResponse = "double response",
    /// A response to the next call, before it is made.
    EarlyResponse = "early response",
    /// A call is never answered.
    NoResponse = "no response",
    /// Calls are answered with errors.
    ErrorResponse = "error response",
    /// A response with both, a result and an error.
    ResultAndError = "result and error",
    /// A response with neither.
    NoMethodResultOrError = "neither result nor error",
    /// A result of an unknown type.
    OddResultType = "odd result type",
    /// The server asks for input without end.
    EndlessInput = "endless input",
    /// The server sends `initialize`.
    SecondInitialize = "second initialize",
    /// A cancellation without an id.
    CancelWithoutId = "cancel without id",
    /// A cancellation of one of our calls.
    CancelOfOurs = "cancel of our call",
    /// The server takes back what it asked.
    CancelOfTheirs = "cancel of a server request",
    /// The user cancels in the moment in which the response comes.
    CancelRace = "cancel race",
    /// The response comes in the moment of the timeout.
    TimeoutRace = "timeout race",
    /// The transport takes nothing.
    Busy = "busy carrier",
    /// No events are taken.
    SlowConsumer = "slow consumer",
    /// Requests of the server are not answered.
    SlowHandler = "slow handler",
    /// The driver crashes.
    DriverCrash = "driver crash",
    /// The server crashes.
    PeerCrash = "peer crash and restart",
    /// The server comes back as one of another era.
    EraChange = "era change across a restart",
    /// The server dies when it is probed.
    DiesOfProbe = "dies of the probe",
    /// The server forgets its HTTP sessions.
    SessionExpiry = "session expiry",
    /// The clock stands still.
    ClockStands = "clock standing still",
    /// The clock jumps.
    ClockJumps = "clock jumping",
    /// The ids are nearly used up.
    CounterNearEnd = "counter near its end",
    /// Lines that are no JSON.
    Garbage = "garbage lines",
    /// A byte order mark.
    ByteOrderMark = "byte order mark",
    /// Lines end as on Windows.
    CarriageReturn = "carriage return",
    /// Blank lines.
    BlankLines = "blank lines",
    /// The server frames as language servers do.
    ContentLength = "content-length framing",
    /// The server writes UTF-16.
    Utf16 = "utf-16",
    /// Bytes that are no UTF-8.
    InvalidUtf8 = "invalid utf-8",
    /// Bytes that are zero.
    Nul = "nul",
    /// Batches, in whatever revision.
    Batch = "batch",
    /// The same progress twice.
    DuplicateProgress = "duplicate progress",
    /// Progress of nothing.
    UnknownProgress = "progress for an unknown token",
    /// Ids come back as strings.
    IdAsString = "id as string",
    /// An error without an id.
    ErrorWithoutId = "error without id",
    /// Many unknown notifications.
    NotificationFlood = "notification flood",
    /// Many requests of the server.
    RequestFlood = "server request flood",
    /// Requests of the server with the same id.
    DuplicateRequests = "server requests with duplicate ids",
    /// Requests and notifications before the handshake.
    EarlyTalk = "talk before the handshake",
    /// Capabilities that make no sense.
    BadCapabilities = "malformed capabilities",
    /// A revision that we don't speak.
    UnsupportedVersion = "unsupported version",
    /// The handshake has no response.
    SilentHandshake = "handshake without response",
    /// The handshake has two responses.
    DoubleHandshake = "duplicate handshake response",
    /// The transport can't be opened.
    OpenFails = "open fails",
    /// The transport is never opened.
    OpenHangs = "open hangs",
    /// The transport is opened too late.
    OpenLate = "open late",
    /// The transport can't be opened, for good.
    OpenPermanent = "permanent open error",
    /// Input of an old transport is reported again.
    StaleEvents = "events of an old transport",
}
server {
    /// A connection is cut after an event.
    CutAtBoundary = "cut at an event boundary",
    /// A connection is cut within an event.
    CutInEvent = "cut inside an event",
    /// A resumed connection is cut before its first event.
    CutReplay = "cut before the first replayed event",
    /// A new connection is cut before its first event has arrived.
    LostPriming = "first event lost",
    /// The client doesn't read a stream for a while.
    SlowReader = "slow reader",
    /// The client resumes where another connection still reads.
    DisplaceReader = "displaced reader",
    /// The client resumes from an older event than its last.
    OldPosition = "resumption from an older event",
    /// A client names an event of another session.
    ForeignEventId = "event id of another session",
    /// A client names an event that was never issued.
    ForgedEventId = "forged event id",
    /// A client names what is no event id.
    GarbageEventId = "garbage event id",
    /// A client names a session that doesn't exist.
    UnknownSession = "unknown session id",
    /// A handler sends more than is kept.
    EvictEvents = "burst beyond the event log",
    /// The client stays away until events are too old.
    ExpireEvents = "absence until events expire",
    /// The client stays away until its session is forgotten.
    ExpireSession = "absence until the session expires",
    /// The client deletes its session while calls are open.
    DeleteSession = "deletion of a busy session",
    /// The client answers the server when its question has timed out.
    LateAnswer = "answer after the timeout of a question",
    /// An idle session is reduced to its record.
    NodeIdle = "idle session kept as a record",
}
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The faults of a world, and how often each happens where it can.
#[derive(Clone, Debug)]
pub struct Faults {
    /// In a thousand times, by the number of the fault.
    often: Vec<u64>,
}

impl Faults {
    /// None.
    pub fn none() -> Self {
        Self {
            often: vec![0; Fault::ALL.len()],
        }
    }

    /// Some of a link, as chance has it.
    pub fn draw(random: &mut Random) -> Self {
        Self::draw_from(Fault::LINK, random)
    }

    /// Some of these, as chance has it.
    pub fn draw_from(list: &[Fault], random: &mut Random) -> Self {
        let mut faults = Self::none();
        let count = match random.below(8) {
            0 => 0,
            1..=4 => 1 + random.below(5),
            _ => 4 + random.below(16),
        };
        for _ in 0..count {
            let often = random.pick(&[10, 40, 150, 500]).unwrap_or(10);
            if let Some(fault) = random.pick(list) {
                faults.set(fault, often);
            }
        }
        faults
    }

    /// Lets a fault happen so often in a thousand times.
    pub fn set(&mut self, fault: Fault, often: u64) {
        if let Some(slot) = self.often.get_mut(fault as usize) {
            *slot = often;
        }
    }

    /// Returns how often a fault happens in a thousand times.
    pub fn often(&self, fault: Fault) -> u64 {
        self.often.get(fault as usize).copied().unwrap_or(0)
    }

    /// Returns `true` if a fault can happen.
    pub fn has(&self, fault: Fault) -> bool {
        self.often(fault) > 0
    }

    /// Returns those that can happen.
    pub fn iter(&self) -> impl Iterator<Item = Fault> {
        Fault::ALL.iter().copied().filter(|fault| self.has(*fault))
    }
}
