//! The settings of `bowline serve`.

use anyhow::anyhow;
use bowline::server::{AllowedHosts, AllowedOrigins, BindAddr, HttpConfig};

use crate::args::serve::{ServeArgs, ServeTarget};
use crate::failure::usage;
use crate::settings::Format;

/// The settings of `bowline serve`.
#[derive(Debug)]
pub(crate) struct ServeSettings {
    /// What is served.
    pub(crate) served: Served,
    /// How clients reach it.
    pub(crate) carrier: ServedOver,
    /// `true` if stdin is a terminal: a note explains what to do.
    pub(crate) is_typed: bool,
}

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Served {
    /// The demo server.
    Demo,
}

/// How clients reach the server.
#[derive(Debug)]
pub(crate) enum ServedOver {
    /// stdin and stdout, with one client.
    Stdio,
    /// Streamable HTTP.
    Http(Box<HttpSettings>),
}

/// Where and how to serve over HTTP.
#[derive(Debug)]
pub(crate) struct HttpSettings {
    /// The address, as it was given.
    pub(crate) given: String,
    /// The address to bind.
    pub(crate) address: BindAddr,
    /// The path of the endpoint.
    pub(crate) path: String,
    /// The path for clients of HTTP+SSE.
    pub(crate) legacy_path: Option<String>,
    /// `true` if hosts beyond this machine were named.
    pub(crate) has_hosts: bool,
    /// The configuration of the library.
    pub(crate) config: HttpConfig,
    /// How the URL is printed: text or JSON.
    pub(crate) format: Format,
}

impl ServeSettings {
    /// Resolves `args`.
    ///
    /// # Errors
    ///
    /// A host or an origin is not valid, or both paths are the same.
    pub(crate) fn resolve(
        args: ServeArgs,
        format: Format,
        stdin_is_terminal: bool,
    ) -> anyhow::Result<Self> {
        let served = match args.what {
            ServeTarget::Demo => Served::Demo,
        };
        let carrier = match &args.http {
            None => ServedOver::Stdio,
            Some(given) => ServedOver::Http(Box::new(HttpSettings::resolve(given, &args, format)?)),
        };
        Ok(Self {
            served,
            carrier,
            is_typed: stdin_is_terminal,
        })
    }
}

impl HttpSettings {
    fn resolve(given: &str, args: &ServeArgs, format: Format) -> anyhow::Result<Self> {
        let mut config = HttpConfig::new().path(&args.path);
        if let Some(path) = &args.legacy_sse {
            if *path == args.path {
                let error = anyhow!("--legacy-sse and --path are the same path, {path}");
                return Err(usage(
                    error,
                    "leave one of them out, or give it another path",
                ));
            }
            config = config.legacy_sse(path);
        }
        // A list replaces the default of the library; its own machine can always reach the demo.
        if !args.allowed_host.is_empty() {
            let hosts = LOCAL.map(|host| format!("{host}:*"));
            let hosts = AllowedHosts::new(hosts.iter().chain(&args.allowed_host));
            config = config.allowed_hosts(hosts.map_err(|error| {
                let hint = "as in --allowed-host mcp.example.com, or mcp.example.com:8443";
                usage(anyhow!("{error}"), hint)
            })?);
        }
        if !args.allowed_origin.is_empty() {
            let origins =
                LOCAL.map(|host| ["http", "https"].map(|scheme| format!("{scheme}://{host}:*")));
            let origins = AllowedOrigins::new(origins.iter().flatten().chain(&args.allowed_origin));
            config = config.allowed_origins(origins.map_err(|error| {
                let hint = "as in --allowed-origin https://app.example.com";
                usage(anyhow!("{error}"), hint)
            })?);
        }
        Ok(Self {
            given: given.to_owned(),
            address: given.into(),
            path: args.path.clone(),
            legacy_path: args.legacy_sse.clone(),
            has_hosts: !args.allowed_host.is_empty(),
            config,
            format,
        })
    }
}

/// The names of this machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
