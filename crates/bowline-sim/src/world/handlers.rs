//! The handlers of the server: what they do with a request, and when.

use std::collections::VecDeque;
use std::time::Duration;

use bowline_proto::server::Session;
use bowline_proto::{CallRequest, RequestKey};
use bowline_types::{ErrorObject, Method};
use bytes::Bytes;

use super::server::Place;
use super::user::object;
use super::{SimEvent, World};
use crate::fault::Fault;
use crate::oracle::number_after;
use crate::trace_text::Column;

/// A request that is being handled.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) place: Place,
    method: Method,
    nonce: Option<u64>,
    token: Option<u64>,
    is_stateless: bool,
    pub(super) is_cancelled: bool,
    steps: VecDeque<(Duration, Step)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Progress,
    Ask,
    TakeBack,
    Answer,
    Error,
    Input,
    OddResult,
}

/// A request as a handler sees it.
pub(super) struct Incoming<'a> {
    pub(super) place: Place,
    pub(super) method: Method,
    pub(super) params: &'a str,
    pub(super) is_stateless: bool,
}

impl World {
    /// Begins to handle a request.
    pub(super) fn accept_request(&mut self, incoming: &Incoming<'_>) {
        let method = incoming.method;
        if method == Method::Discover && self.hit(Fault::DiesOfProbe) {
            return self.crash();
        }
        let nonce = number_after(incoming.params.as_bytes(), "\"nonce\":");
        self.note(Column::Server, || format!("{} {nonce:?}", method.as_str()));
        self.oracle.on_seen(nonce);
        let has_input = incoming.params.contains("inputResponses");
        self.check_state(nonce, incoming.params, has_input);
        let steps = self.plan(incoming, has_input);
        let job = Job {
            place: incoming.place.clone(),
            method,
            nonce,
            token: number_after(incoming.params.as_bytes(), "\"progressToken\":"),
            is_stateless: incoming.is_stateless,
            is_cancelled: false,
            steps: steps.into(),
        };
        self.server.next_job += 1;
        let number = self.server.next_job;
        let first = job.steps.front().map(|(delay, _)| *delay);
        self.server.jobs.insert(number, job);
        if let Some(delay) = first {
            self.after(delay, SimEvent::Work(number));
        }
    }

    /// A call that goes on with input gives back the state, as it was.
    fn check_state(&mut self, nonce: Option<u64>, params: &str, has_input: bool) {
        let may_misroute = self.faults.has(Fault::BitFlip);
        let Some(nonce) = nonce.filter(|_| has_input && !may_misroute) else {
            return;
        };
        if !params.contains(&format!("\"requestState\":\"s\\u00e4{nonce}\"")) {
            self.oracle
                .violated("the state of a round of input came back changed");
        }
    }

    fn plan(&mut self, incoming: &Incoming<'_>, has_input: bool) -> Vec<(Duration, Step)> {
        if incoming.method == Method::Discover {
            return vec![(self.random.millis(20), Step::Answer)];
        }
        if incoming.method == Method::Listen {
            let until = self.random.millis(60_000);
            return vec![(until, Step::Answer)];
        }
        let mut steps = Vec::new();
        for _ in 0..self.random.below(3) {
            steps.push((self.random.millis(400), Step::Progress));
        }
        if self.random.one_in(3) && !incoming.is_stateless {
            steps.push((self.random.millis(100), Step::Ask));
            if self.hit(Fault::CancelOfTheirs) {
                steps.push((self.random.millis(60), Step::TakeBack));
            }
        }
        if self.hit(Fault::NoResponse) {
            return steps;
        }
        let wants_input = if has_input {
            self.hit(Fault::EndlessInput)
        } else {
            self.random.one_in(5)
        };
        let answer = if incoming.is_stateless && wants_input {
            Step::Input
        } else if self.hit(Fault::ErrorResponse) {
            Step::Error
        } else if self.hit(Fault::OddResultType) {
            Step::OddResult
        } else {
            Step::Answer
        };
        let delay = if self.hit(Fault::LateResponse) {
            Duration::from_secs(1) + self.random.millis(20_000)
        } else {
            self.random.millis(300)
        };
        steps.push((delay, answer));
        steps
    }

    /// A handler goes on.
    pub(super) fn work(&mut self, number: u64) {
        let Some(mut job) = self.server.jobs.remove(&number) else {
            return;
        };
        let Some((_, step)) = job.steps.pop_front() else {
            return;
        };
        if job.is_cancelled && self.random.one_in(2) {
            return self.release(&job.place);
        }
        self.take_step(&job, step);
        if let Some((delay, _)) = job.steps.front() {
            let delay = *delay;
            self.server.jobs.insert(number, job);
            self.after(delay, SimEvent::Work(number));
        }
    }

    fn take_step(&mut self, job: &Job, step: Step) {
        let nonce = job.nonce.unwrap_or(0);
        match step {
            Step::Progress => {
                let Some(token) = job.token else { return };
                let body = format!(r#""progressToken":{token},"progress":1"#);
                let times = 1 + u32::from(self.hit(Fault::DuplicateProgress));
                for _ in 0..times {
                    self.notify_client(&job.place, "notifications/progress", &body);
                }
            }
            Step::Ask => self.ask_client(&job.place),
            Step::TakeBack => self.withdraw_request(&job.place),
            Step::Answer => self.answer(job, &self.result(job)),
            Step::Error => self.answer_error(job),
            Step::Input => {
                let result = format!(
                    r#"{{"resultType":"input_required","inputRequests":{{"q":{{"method":"elicitation/create","params":{{}}}}}},"requestState":"s\u00e4{nonce}"}}"#
                );
                self.answer(job, &result);
            }
            Step::OddResult => {
                self.answer(job, &format!(r#"{{"resultType":"odd","echo":{nonce}}}"#));
            }
        }
    }

    fn result(&self, job: &Job) -> String {
        match (job.method, job.nonce) {
            (Method::Discover, _) => {
                let versions: Vec<_> = self.server.revisions().iter().collect();
                let versions: Vec<_> = versions.iter().map(|v| format!("\"{v}\"")).collect();
                let versions = versions.join(",");
                format!(r#"{{"supportedVersions":[{versions}],"capabilities":{{}}}}"#)
            }
            (Method::ListTools, Some(nonce)) => {
                let tool =
                    r#"{"name":"t","inputSchema":{"type":"object"},"_meta":{"mode":"stateful"}}"#;
                format!(r#"{{"tools":[{tool}],"echo":{nonce}}}"#)
            }
            (_, Some(nonce)) => format!(r#"{{"content":[],"echo":{nonce}}}"#),
            (_, None) => "{}".into(),
        }
    }

    fn answer(&mut self, job: &Job, result: &str) {
        let now = self.now;
        let is_stateless = job.is_stateless;
        self.note(Column::Server, || {
            format!("answers, stateless: {is_stateless}")
        });
        match &job.place {
            Place::Post(post, id) => self.answer_post(*post, id, Ok(result)),
            place @ (Place::Pipe(..) | Place::Session(..)) => {
                if let Some((session, request)) = self.session_of(place) {
                    // It may have been cancelled.
                    let _ = session.respond(now, request, object(result));
                }
            }
        }
    }

    fn answer_error(&mut self, job: &Job) {
        let now = self.now;
        let error = ErrorObject::internal_error("it went wrong");
        match &job.place {
            Place::Post(post, id) => self.answer_post(*post, id, Err(&error)),
            place @ (Place::Pipe(..) | Place::Session(..)) => {
                if let Some((session, request)) = self.session_of(place) {
                    let _ = session.respond_error(now, request, &error);
                }
            }
        }
    }

    fn notify_client(&mut self, place: &Place, method: &str, body: &str) {
        if let Place::Post(post, _) = place {
            return self.notify_on_post(*post, method, body);
        }
        if let Some((session, request)) = self.session_of(place) {
            let _ = session.notify(Some(request), method, Bytes::from(body.to_owned()));
        }
    }

    fn ask_client(&mut self, place: &Place) {
        let now = self.now;
        let method = self
            .random
            .pick(&["ping", "roots/list", "sampling/createMessage"]);
        if let Some((session, request)) = self.session_of(place) {
            let call = CallRequest::new(method.unwrap_or("ping"), Bytes::new());
            if let Ok(call) = session.send_request(now, Some(request), call) {
                self.server.writing.asked = Some(call);
            }
        }
    }

    fn withdraw_request(&mut self, place: &Place) {
        let now = self.now;
        let asked = self.server.writing.asked.take();
        if let (Some((session, _)), Some(call)) = (self.session_of(place), asked) {
            session.cancel(now, call, "never mind");
        }
    }

    fn release(&mut self, place: &Place) {
        let now = self.now;
        if let Some((session, request)) = self.session_of(place) {
            session.release(now, request);
        }
    }

    fn session_of(&mut self, place: &Place) -> Option<(&mut Session, RequestKey)> {
        match place {
            Place::Pipe(connection_id, request) => match &mut self.server.pipe {
                Some((served, session)) if served == connection_id => Some((session, *request)),
                Some(_) | None => None,
            },
            Place::Session(number, request) => {
                let session = self.server.sessions.get_mut(*number)?;
                Some((session, *request))
            }
            Place::Post(..) => None,
        }
    }
}
