//! `bowline serve`: serves on stdin and stdout until the client closes them, or over HTTP until a
//! signal is received.
//!
//! - `http`: where it listens, and what is printed then.

mod http;

use anyhow::Context as _;
use bowline::server::RunningServer;
use bowline::transport::stdio;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::demo;
use crate::descriptors;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::settings::{ServeSettings, Served, ServedOver};

/// Serves until stdin ends or a signal is received.
pub(crate) fn serve(settings: &ServeSettings, printer: &mut Printer) -> anyhow::Result<ExitStatus> {
    let server = match settings.served {
        Served::Demo => demo::server(),
    };
    let server = server.build()?;
    descriptors::check(descriptors::OF_SERVER)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the async runtime")?;
    let served = runtime.block_on(async {
        match &settings.carrier {
            ServedOver::Stdio => serve_stdio(server, settings.is_typed, printer).await,
            ServedOver::Http(http) => http::serve(server, http, settings.is_typed, printer).await,
        }
    });
    // A tool that blocks its thread must not keep the process alive.
    runtime.shutdown_background();
    served.map(|()| ExitStatus::Done)
}

async fn serve_stdio(
    server: RunningServer,
    is_typed: bool,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    if is_typed {
        printer.note("serving on stdin and stdout, one JSON-RPC message per line; Ctrl-D stops");
    }
    tokio::spawn(end_on_signals(server.clone())?);
    server.serve(stdio()).await.context("cannot serve")
}

/// Shuts down gracefully at the first signal, and closes at once at the second.
fn end_on_signals(server: RunningServer) -> anyhow::Result<impl Future<Output = ()>> {
    let listen = |kind| signal(kind).context("cannot listen for signals");
    let mut signals = [
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
    ];
    Ok(async move {
        any(&mut signals).await;
        server.shut_down();
        any(&mut signals).await;
        server.close();
    })
}

/// Waits for one of the signals.
async fn any(signals: &mut [Signal]) {
    std::future::poll_fn(|cx| {
        let mut signals = signals.iter_mut();
        if signals.any(|signal| signal.poll_recv(cx).is_ready()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
