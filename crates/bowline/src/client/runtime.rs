//! Checks that the tokio runtime of a client has the drivers that it needs.

use std::time::Duration;

use tokio::runtime::Handle;

use crate::panics::caught;

/// Why no client can work on a runtime without time.
pub(super) const NO_TIME: &str =
    "the tokio runtime has no time driver: build it with `enable_all()` or `enable_time()`";

/// Why a transport that reads from the system can't work on a runtime without I/O.
pub(super) const NO_IO: &str =
    "the tokio runtime has no I/O driver: build it with `enable_all()` or `enable_io()`";

/// Returns `true` if the runtime of this task has a time driver. Tokio has no question for it but
/// the attempt, which panics.
pub(super) fn has_time() -> bool {
    Handle::try_current().is_err() || caught(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

/// Returns `true` if the runtime of this task has an I/O driver, or nothing shows that it has
/// none. Like [`has_time`], it is found out by the attempt: to be asked only after a panic.
pub(super) fn has_io() -> bool {
    #[cfg(unix)]
    return caught(|| drop(tokio::net::UnixStream::pair())).is_ok();
    #[cfg(not(unix))]
    return caught(|| {
        let socket = std::net::UdpSocket::bind(("127.0.0.1", 0));
        let socket = socket.and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        drop(socket.and_then(tokio::net::UdpSocket::from_std));
    })
    .is_ok();
}
