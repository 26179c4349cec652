//! Requests that servers send while they are called: elicitation (forms and URLs) and sampling;
//! and, for every command, the roots that the client declares ([`roots`]).
//!
//! Options answer first ([`preset_answers`]); what they leave open is asked at the terminal, one
//! request at a time.
//!
//! - [`args`]: the command line options.
//! - [`preset_answers`]: what the options answer.
//! - [`prompter`]: the interface to the user, with the commands that can be typed; [`terminal`]
//!   implements it, and is the only file here that reads or writes.
//! - [`form`], [`form_field`]: form elicitation.
//! - [`url_elicitation`]: URL elicitation. A URL is shown and never opened.
//! - [`sampling`]: sampling requests, which the user answers in place of a model.
//! - [`roots`] parses `--root`.
//!
//! Every command declares the same capabilities, whatever its options are and wherever it runs: a
//! server may offer tools only to clients with elicitation, and a list without them would not be
//! the list of what can be called. A request that neither an option nor a terminal can answer is
//! cancelled at once, with a warning that names the option: declining in the name of a user who was
//! not asked would be wrong, and waiting would never end.

mod args;
mod form;
mod form_field;
mod preset_answers;
mod prompter;
mod roots;
mod sampling;
mod terminal;
mod url_elicitation;

use std::sync::Arc;

use bowline::ClientConfig;
use bowline_types::ErrorObject;
use bowline_types::elicitation::{ElicitFormParams, ElicitResult, ElicitUrlParams};
use bowline_types::sampling::{CreateMessageParams, CreateMessageResult};
use tokio::sync::{Mutex, MutexGuard};

use crate::printer::{self, Printer};
use crate::server_requests::preset_answers::{FormOutcome, PresetAnswers, UnansweredReason};
use crate::server_requests::prompter::cut;
use crate::server_requests::terminal::Terminal;

pub(crate) use args::ServerRequestArgs;
pub(crate) use roots::root;

/// Answers the requests of a server. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct ServerRequests(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    preset: PresetAnswers,
    /// The terminal, if there is one. One request is shown at a time.
    terminal: Option<Mutex<Terminal>>,
    /// `true` if warnings are written as JSON.
    is_json: bool,
}

impl ServerRequests {
    /// Resolves `args`. `has_terminal` is `true` if a user can be asked.
    ///
    /// # Errors
    ///
    /// An option is not valid.
    pub(crate) fn resolve(
        args: &ServerRequestArgs,
        has_terminal: bool,
        is_json: bool,
    ) -> anyhow::Result<Self> {
        Ok(Self(Arc::new(Inner {
            preset: PresetAnswers::parse(args)?,
            terminal: has_terminal.then(|| Mutex::new(Terminal)),
            is_json,
        })))
    }

    /// Declares form and URL elicitation and sampling, and installs their handlers. `server` is the
    /// name of the server that the user sees; `pause_progress` is called with `true` before a
    /// request uses the terminal, and with `false` afterwards.
    pub(crate) fn install(
        &self,
        config: &mut ClientConfig,
        server: &str,
        pause_progress: impl Fn(bool) + Send + Sync + 'static,
    ) {
        let handler: Arc<RequestHandler> = Arc::new(RequestHandler {
            requests: self.clone(),
            server: cut(server),
            pause_progress: Box::new(pause_progress),
        });
        let (form_handler, url_handler) = (Arc::clone(&handler), Arc::clone(&handler));
        let retry_handler = Arc::clone(&handler);
        config.elicitation(move |params| {
            let handler = Arc::clone(&form_handler);
            async move { Ok(handler.answer_form(&params).await) }
        });
        config.elicitation_url(move |params| {
            let handler = Arc::clone(&url_handler);
            async move { Ok(handler.answer_url(&params).await) }
        });
        config.on_url_elicitation_required(move |_| {
            let handler = Arc::clone(&retry_handler);
            async move { handler.is_retry_wanted().await }
        });
        config.sampling_with_tools(move |params| {
            let handler = Arc::clone(&handler);
            async move { handler.answer_sampling(&params).await }
        });
    }

    /// Warns of `--answer` options that no form had a field for: most are misspelt.
    pub(crate) fn warn_of_unused_answers(&self, printer: &mut Printer) {
        for key in self.0.preset.unused() {
            let hint =
                Some("check the name of the field; the server may also not have sent a form");
            printer.warning(&format!("no form had the field `{key}`"), hint);
        }
    }
}

/// The handlers of one connection.
struct RequestHandler {
    requests: ServerRequests,
    server: String,
    pause_progress: Box<dyn Fn(bool) + Send + Sync>,
}

impl RequestHandler {
    async fn answer_form(&self, params: &ElicitFormParams) -> ElicitResult {
        let Inner {
            preset, terminal, ..
        } = &*self.requests.0;
        let outcome = preset.form_outcome(&params.requested_schema, terminal.is_some());
        let (preset, reason) = match outcome {
            FormOutcome::Answered(answer) => return answer,
            FormOutcome::Unanswered { preset, reason } => (preset, reason),
        };
        let Some(mut guard) = self.lock_terminal().await else {
            self.warn_unanswered_form(params, &reason);
            return ElicitResult::cancel();
        };
        if let UnansweredReason::Invalid(reason) = reason {
            printer::aside(&format!(
                "the answers of the command line are invalid: {reason}"
            ));
        }
        form::fill(&mut *guard.terminal, &self.server, params, preset).await
    }

    async fn answer_url(&self, params: &ElicitUrlParams) -> ElicitResult {
        let preset = &self.requests.0.preset;
        if preset.declines {
            return ElicitResult::decline();
        }
        if preset.accepts_urls {
            let server = &self.server;
            self.warn(
                &format!("{server} asked to open a URL: {}", params.url),
                Some("accepted because of --accept-urls"),
            );
            return url_elicitation::accepted();
        }
        if let Some(mut guard) = self.lock_terminal().await {
            return url_elicitation::ask_to_open(&mut *guard.terminal, &self.server, params).await;
        }
        let url: String = params.url.chars().take(MAX_URL_LENGTH).collect();
        self.warn(
            &format!(
                "{} asked to open a URL; the request was cancelled: {url}",
                self.server
            ),
            Some("open it if you trust it, then run `bowline call` with --accept-urls"),
        );
        ElicitResult::cancel()
    }

    /// Returns `true` if the call that required URL elicitations should be sent again.
    async fn is_retry_wanted(&self) -> bool {
        if self.requests.0.preset.accepts_urls {
            return true;
        }
        match self.lock_terminal().await {
            Some(mut guard) => url_elicitation::ask_to_retry(&mut *guard.terminal).await,
            None => false,
        }
    }

    async fn answer_sampling(
        &self,
        params: &CreateMessageParams,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let preset = &self.requests.0.preset;
        if preset.declines {
            return Err(sampling::rejection());
        }
        if let Some(text) = preset.next_sample() {
            let answer = sampling::text_result(text, "bowline --sample", params);
            return answer.map_err(|reason| {
                self.warn(
                    &format!("--sample can't answer this request: {reason}"),
                    None,
                );
                sampling::rejection()
            });
        }
        if let Some(mut guard) = self.lock_terminal().await {
            return sampling::ask_for_message(&mut *guard.terminal, &self.server, params).await;
        }
        self.warn(
            &format!("{} sent a sampling request, which was refused", self.server),
            Some("answer it with `bowline call --sample TEXT`, or run it on a terminal"),
        );
        Err(sampling::rejection())
    }

    /// Locks the terminal for one request, and waits while another request uses it.
    async fn lock_terminal(&self) -> Option<TerminalGuard<'_>> {
        let terminal = self.requests.0.terminal.as_ref()?;
        let terminal = terminal.lock().await;
        (self.pause_progress)(true);
        Terminal::discard_typed_input();
        Some(TerminalGuard {
            terminal,
            pause_progress: &*self.pause_progress,
        })
    }

    fn warn_unanswered_form(&self, params: &ElicitFormParams, reason: &UnansweredReason) {
        let message = cut(&params.message);
        let asks = format!(
            "{} sent the form \"{message}\", which was cancelled",
            self.server
        );
        match reason {
            UnansweredReason::Incomplete(names) => {
                let names = names.iter();
                let answers: Vec<_> = names
                    .map(|name| format!("--answer {}=…", cut(name)))
                    .collect();
                let hint = if answers.is_empty() {
                    "add --accept-defaults".to_owned()
                } else {
                    format!("add {}", answers.join(" "))
                };
                self.warn(&asks, Some(&hint));
            }
            UnansweredReason::Invalid(reason) => self.warn(&format!("{asks}: {reason}"), None),
        }
    }

    fn warn(&self, text: &str, hint: Option<&str>) {
        printer::warning_to_stderr(self.requests.0.is_json, text, hint);
    }
}

/// The longest prefix of a URL that a warning repeats, in characters.
const MAX_URL_LENGTH: usize = 500;

/// The locked terminal.
struct TerminalGuard<'a> {
    terminal: MutexGuard<'a, Terminal>,
    pause_progress: &'a (dyn Fn(bool) + Send + Sync),
}

impl Drop for TerminalGuard<'_> {
    fn drop(&mut self) {
        (self.pause_progress)(false);
    }
}
