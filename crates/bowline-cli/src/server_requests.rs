//! Answers what servers ask while they are called: forms and pages for the user, a message of
//! the model; and, whatever the command, the folders to work in ([`roots`]).
//!
//! On a terminal a [`person`] is asked, one question at a time; options answer before that
//! ([`given`]). How a [`form`], a [`page`] or a request for a [`model`] is put to a person, and
//! how what they type is checked, knows nothing of terminals; [`terminal`] is the only one here
//! that reads or writes.
//!
//! Every command declares the same, whatever its options are and wherever it runs: a server may
//! have tools only for clients that can be asked, and a list without them would be no list of
//! what can be called. What can't be answered, since there is neither an option for it nor a
//! terminal, is cancelled at once, with a warning that names the option: to decline for a person
//! who was never asked would be a lie, and to wait for one would never end.

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
use crate::server_requests::preset_answers::{Fate, Given, Reason};
use crate::server_requests::prompter::cut;
use crate::server_requests::terminal::Terminal;

pub(crate) use args::AskingArgs;
pub(crate) use roots::root;

/// Who answers, and with what. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Asking(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    given: Given,
    /// Where there is one. One question is asked at a time.
    terminal: Option<Mutex<Terminal>>,
    /// Warnings are for a program.
    talks_json: bool,
}

impl Asking {
    /// What `args` mean, where somebody sits at a terminal or not.
    ///
    /// # Errors
    ///
    /// An answer makes no sense.
    pub(crate) fn resolve(
        args: &AskingArgs,
        has_terminal: bool,
        talks_json: bool,
    ) -> anyhow::Result<Self> {
        Ok(Self(Arc::new(Inner {
            given: Given::read(args)?,
            terminal: has_terminal.then(|| Mutex::new(Terminal)),
            talks_json,
        })))
    }

    /// Declares forms, pages and requests for a model, and answers them. `server` is what whoever
    /// is asked calls the server; `hush` lets nobody else use the terminal meanwhile.
    pub(crate) fn answer(
        &self,
        config: &mut ClientConfig,
        server: &str,
        hush: impl Fn(bool) + Send + Sync + 'static,
    ) {
        let asker: Arc<Asker> = Arc::new(Asker {
            asking: self.clone(),
            server: cut(server),
            hush: Box::new(hush),
        });
        let (of_forms, of_pages) = (Arc::clone(&asker), Arc::clone(&asker));
        let of_visits = Arc::clone(&asker);
        config.elicitation(move |asked| {
            let asker = Arc::clone(&of_forms);
            async move { Ok(asker.form(&asked).await) }
        });
        config.elicitation_url(move |asked| {
            let asker = Arc::clone(&of_pages);
            async move { Ok(asker.page(&asked).await) }
        });
        config.pages_visited(move |_| {
            let asker = Arc::clone(&of_visits);
            async move { asker.pages_are_visited().await }
        });
        config.sampling_with_tools(move |asked| {
            let asker = Arc::clone(&asker);
            async move { asker.message(&asked).await }
        });
    }

    /// Warns of answers that no form has asked for: most are misspelt.
    pub(crate) fn warn_of_unused(&self, printer: &mut Printer) {
        for key in self.0.given.unused() {
            let hint =
                Some("check the name of the field; the server may also not have sent a form");
            printer.warning(&format!("no form had the field `{key}`"), hint);
        }
    }
}

/// A server that asks, and who is asked.
struct Asker {
    asking: Asking,
    server: String,
    hush: Box<dyn Fn(bool) + Send + Sync>,
}

impl Asker {
    async fn form(&self, asked: &ElicitFormParams) -> ElicitResult {
        let Inner {
            given, terminal, ..
        } = &*self.asking.0;
        let fate = given.fate(&asked.requested_schema, terminal.is_some());
        let (given, reason) = match fate {
            Fate::Answered(answer) => return answer,
            Fate::Open { given, reason } => (given, reason),
        };
        let Some(mut floor) = self.floor().await else {
            self.warn_of_form(asked, &reason);
            return ElicitResult::cancel();
        };
        if let Reason::Unfit(reason) = reason {
            printer::aside(&format!(
                "the answers of the command line are invalid: {reason}"
            ));
        }
        form::fill(&mut *floor.terminal, &self.server, asked, given).await
    }

    async fn page(&self, asked: &ElicitUrlParams) -> ElicitResult {
        let given = &self.asking.0.given;
        if given.declines {
            return ElicitResult::decline();
        }
        if given.accepts_pages {
            let server = &self.server;
            self.warn(
                &format!("{server} asked to open a URL: {}", asked.url),
                Some("answered as opened, because of --accept-pages"),
            );
            return url_elicitation::accepted();
        }
        if let Some(mut floor) = self.floor().await {
            return url_elicitation::visit(&mut *floor.terminal, &self.server, asked).await;
        }
        let page: String = asked.url.chars().take(LONGEST_PAGE).collect();
        self.warn(
            &format!(
                "{} asked to open a URL; the request was cancelled: {page}",
                self.server
            ),
            Some("open it if you trust it, then run `bowline call` with --accept-pages"),
        );
        ElicitResult::cancel()
    }

    /// Whether the call that needs the pages is to be made again.
    async fn pages_are_visited(&self) -> bool {
        if self.asking.0.given.accepts_pages {
            return true;
        }
        match self.floor().await {
            Some(mut floor) => url_elicitation::is_done(&mut *floor.terminal).await,
            None => false,
        }
    }

    async fn message(
        &self,
        asked: &CreateMessageParams,
    ) -> Result<CreateMessageResult, ErrorObject> {
        let given = &self.asking.0.given;
        if given.declines {
            return Err(sampling::refusal());
        }
        if let Some(text) = given.next_sample() {
            let answer = sampling::text(text, "bowline --sample", asked);
            return answer.map_err(|reason| {
                self.warn(
                    &format!("--sample can't answer this request: {reason}"),
                    None,
                );
                sampling::refusal()
            });
        }
        if let Some(mut floor) = self.floor().await {
            return sampling::answer(&mut *floor.terminal, &self.server, asked).await;
        }
        self.warn(
            &format!("{} sent a sampling request, which was refused", self.server),
            Some("answer it with `bowline call --sample TEXT`, or run it on a terminal"),
        );
        Err(sampling::refusal())
    }

    /// The terminal for one question, as soon as no other one has it.
    async fn floor(&self) -> Option<Floor<'_>> {
        let terminal = self.asking.0.terminal.as_ref()?;
        let terminal = terminal.lock().await;
        (self.hush)(true);
        Terminal::forget_typed();
        Some(Floor {
            terminal,
            hush: &*self.hush,
        })
    }

    fn warn_of_form(&self, asked: &ElicitFormParams, reason: &Reason) {
        let message = cut(&asked.message);
        let asks = format!(
            "{} sent the form \"{message}\", which was cancelled",
            self.server
        );
        match reason {
            Reason::Incomplete(names) => {
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
            Reason::Unfit(reason) => self.warn(&format!("{asks}: {reason}"), None),
        }
    }

    fn warn(&self, text: &str, hint: Option<&str>) {
        printer::warn_aside(self.asking.0.talks_json, text, hint);
    }
}

/// Characters that are repeated of a page's address.
const LONGEST_PAGE: usize = 500;

/// The terminal, while a question has it.
struct Floor<'a> {
    terminal: MutexGuard<'a, Terminal>,
    hush: &'a (dyn Fn(bool) + Send + Sync),
}

impl Drop for Floor<'_> {
    fn drop(&mut self) {
        (self.hush)(false);
    }
}
