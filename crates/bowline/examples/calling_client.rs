//! A client that calls one tool of a server on a Unix socket, within two seconds, and prints
//! the text of its result or the error.
//!
//! The tests stop and continue its process: `calling_client SOCKET THREADS`.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Write as _;

    use tokio::runtime::Builder;

    let mut arguments = std::env::args().skip(1);
    let socket = arguments.next().ok_or("the socket is missing")?;
    let threads = arguments.next().ok_or("the threads are missing")?.parse()?;
    let runtime = if threads == 1 {
        Builder::new_current_thread().enable_all().build()
    } else {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).enable_all().build()
    };
    writeln!(std::io::stdout(), "{}", runtime?.block_on(call(&socket)))?;
    Ok(())
}

/// The text of the result, or of the error.
#[cfg(unix)]
async fn call(socket: &str) -> String {
    use std::time::Duration;

    use bowline::types::common::Implementation;
    use bowline::{Client, ClientConfig};

    let config = ClientConfig::new(Implementation::new("calling_client", "1.0"));
    let transport = bowline::transport::UnixSocket::new(socket);
    let client = match Client::connect(transport, config).await {
        Ok(client) => client,
        Err(error) => return error.to_string(),
    };
    let call = client.tools().call("late", ());
    match call.timeout(Duration::from_secs(2)).await {
        Ok(result) => result.text(),
        Err(error) => error.to_string(),
    }
}

#[cfg(not(unix))]
fn main() {}
