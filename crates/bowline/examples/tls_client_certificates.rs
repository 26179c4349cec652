//! A server behind TLS, in one process, whose clients authenticate with certificates.
//!
//! The listener does the TLS handshake and attaches to each stream whom its certificate belongs to;
//! from there on it is served like any other, with all limits. A client without a certificate, or
//! with one of another authority, is refused in the handshake. Keys and certificates are made anew
//! for each run.
//!
//! `cargo run -p bowline --features http-server --example tls_client_certificates`

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bowline::server::{Context, HttpConfig, Listener, Principal, RunningServer, Server, ToolError};
use bowline::transport::Stream;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::io::split;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

type AnyError = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let authority = Authority::new()?;
    let ann = authority.issue("ann")?;
    let accounts = Accounts::from([(ann.certificate.to_vec(), "ann".to_owned())]);
    let (server, address) = serve(&authority, accounts).await?;
    let mut out = io::stdout();

    let answer = call_whoami(address, &authority, Some(ann)).await?;
    writeln!(out, "with a certificate: {answer}")?;
    match call_whoami(address, &authority, None).await {
        Ok(answer) => writeln!(out, "without a certificate: {answer}")?,
        Err(error) => writeln!(out, "without a certificate: refused ({error})")?,
    }
    server.shut_down();
    Ok(())
}

/// Returns the name of the caller.
async fn whoami(principal: Principal, cx: Context) -> Result<String, ToolError> {
    let http = cx.http_request();
    let certificate = http.and_then(|http| http.extensions().get::<PeerCertificate>().cloned());
    let size = certificate.map_or(0, |certificate| certificate.0.len());
    Ok(format!(
        "{}, by a certificate of {size} bytes",
        principal.id()
    ))
}

/// Serves in the background, on a free port.
async fn serve(
    authority: &Authority,
    accounts: Accounts,
) -> Result<(RunningServer, SocketAddr), AnyError> {
    let server =
        Server::new("guarded", "1.0.0").tool("whoami", "Returns the name of the caller", whoami);
    let server = server.build()?;
    let listener = TlsListener {
        tcp: TcpListener::bind("127.0.0.1:0").await?,
        acceptor: TlsAcceptor::from(Arc::new(authority.server_config()?)),
        accounts: Arc::new(accounts),
        handshakes: JoinSet::new(),
    };
    let address = listener.tcp.local_addr()?;
    tokio::spawn({
        let server = server.clone();
        async move {
            server
                .serve_http_listener(listener, HttpConfig::new())
                .await
        }
    });
    Ok((server, address))
}

/// Whose a certificate is.
type Accounts = HashMap<Vec<u8>, String>;

/// The certificate of a client, as handlers find it in the extensions of a request.
#[derive(Clone, Debug)]
struct PeerCertificate(CertificateDer<'static>);

/// Accepts TLS connections. Handshakes run beside each other: a client that is slow, or
/// sends nothing, delays no other.
struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    accounts: Arc<Accounts>,
    handshakes: JoinSet<io::Result<Stream>>,
}

/// The most handshakes at the same time. Beyond them clients wait to be accepted.
const MAX_HANDSHAKES: usize = 64;

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

impl Listener for TlsListener {
    async fn accept(&mut self) -> io::Result<Stream> {
        loop {
            tokio::select! {
                Some(done) = self.handshakes.join_next() => match done {
                    Ok(Ok(stream)) => return Ok(stream),
                    // The error of one client: the others are still served.
                    Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                    Err(error) => tracing::error!(%error, "TLS handshake ended"),
                },
                accepted = self.tcp.accept(), if self.handshakes.len() < MAX_HANDSHAKES => {
                    let (stream, address) = accepted?;
                    let acceptor = self.acceptor.clone();
                    let accounts = Arc::clone(&self.accounts);
                    self.handshakes.spawn(async move {
                        let shaken = handshake(stream, address, acceptor, &accounts);
                        timeout(HANDSHAKE_TIMEOUT, shaken).await?
                    });
                }
            }
        }
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        self.tcp.local_addr().ok()
    }
}

/// Secures a connection, and finds out whose it is.
async fn handshake(
    stream: TcpStream,
    address: SocketAddr,
    acceptor: TlsAcceptor,
    accounts: &Accounts,
) -> io::Result<Stream> {
    stream.set_nodelay(true)?;
    let stream = acceptor.accept(stream).await?;
    // rustls has verified that it is one of ours and that the client has its key.
    let certificates = stream.get_ref().1.peer_certificates();
    let certificate = certificates.and_then(<[_]>::first).cloned();
    let user = certificate.as_ref().and_then(|of| accounts.get(&**of));
    let (Some(certificate), Some(user)) = (certificate, user) else {
        let message = "the certificate belongs to no account";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    };
    let principal = Principal::new(user);
    let (reader, writer) = split(stream);
    Ok(Stream::new(reader, writer)
        .with_peer_addr(address.into())
        .with_extension(principal)
        .with_extension(PeerCertificate(certificate)))
}

/// An authority that issues the certificates of server and clients.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Authority {
    fn new() -> Result<Self, AnyError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self(issuer))
    }

    /// Issues a certificate for a name: of a host, or of a user.
    fn issue(&self, name: &str) -> Result<Identity, AnyError> {
        let key = KeyPair::generate()?;
        let params = CertificateParams::new([name.to_owned()])?;
        let certificate = params.signed_by(&key, &self.0)?;
        Ok(Identity {
            certificate: certificate.der().clone(),
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        })
    }

    fn roots(&self) -> Result<Arc<RootCertStore>, AnyError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone())?;
        Ok(Arc::new(roots))
    }

    /// Returns the configuration of a server whose clients must have a certificate.
    fn server_config(&self) -> Result<ServerConfig, AnyError> {
        let identity = self.issue("localhost")?;
        let provider = Arc::new(ring::default_provider());
        let roots = self.roots()?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier.build()?)
            .with_single_cert(vec![identity.certificate], identity.key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn client_config(&self, identity: Option<Identity>) -> Result<ClientConfig, AnyError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots()?);
        let mut config = match identity {
            Some(Identity { certificate, key }) => {
                builder.with_client_auth_cert(vec![certificate], key)?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Calls the tool over a connection of its own. Returns the text of its result.
async fn call_whoami(
    address: SocketAddr,
    authority: &Authority,
    identity: Option<Identity>,
) -> Result<String, AnyError> {
    let connector = TlsConnector::from(Arc::new(authority.client_config(identity)?));
    let stream = TcpStream::connect(address).await?;
    let stream = connector
        .connect(ServerName::try_from("localhost")?, stream)
        .await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let response = sender.send_request(whoami_request()?).await?;
    let body = response.into_body().collect().await?.to_bytes();
    let message: Value = serde_json::from_slice(&body)?;
    match message["result"]["content"][0]["text"].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("not called: {message}").into()),
    }
}

fn whoami_request() -> Result<Request<Full<Bytes>>, http::Error> {
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "whoami",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "example", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "whoami")
        .body(Full::from(call.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_certificate_decides_who_is_served() {
        let authority = Authority::new().unwrap();
        let [ann, eve, other] = ["ann", "eve", "other"].map(|name| authority.issue(name).unwrap());
        let stranger = Authority::new().unwrap().issue("ann").unwrap();
        let accounts = [(&ann, "ann"), (&eve, "eve")];
        let accounts = accounts.map(|(of, user)| (of.certificate.to_vec(), user.to_owned()));
        let (_server, address) = serve(&authority, accounts.into()).await.unwrap();

        for (identity, user) in [(ann, "ann"), (eve, "eve")] {
            let size = identity.certificate.len();
            let answer = call_whoami(address, &authority, Some(identity)).await;
            let expected = format!("{user}, by a certificate of {size} bytes");
            assert_eq!(answer.unwrap(), expected);
        }
        for identity in [None, Some(stranger), Some(other)] {
            let refused = call_whoami(address, &authority, identity).await;
            refused.expect_err("it has no account");
        }
    }

    #[tokio::test]
    async fn a_client_that_sends_nothing_delays_no_other() {
        let authority = Authority::new().unwrap();
        let ann = authority.issue("ann").unwrap();
        let accounts = Accounts::from([(ann.certificate.to_vec(), "ann".to_owned())]);
        let (_server, address) = serve(&authority, accounts).await.unwrap();
        let _silent = TcpStream::connect(address).await.unwrap();
        let answer = call_whoami(address, &authority, Some(ann)).await;
        assert!(answer.unwrap().starts_with("ann, "));
    }
}
