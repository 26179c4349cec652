//! The handlers of the server: what they send on the streams of their calls.

use std::collections::VecDeque;
use std::time::Duration;

use bowline_proto::{CallId, CallRequest, Outcome, Payload, RequestKey};
use bowline_types::JsonObject;

use super::event_streams::RETRY;
use super::{ServerWorld, SimEvent};
use crate::fault::Fault;
use crate::oracle::Mark;
use crate::trace_text::Column;

/// A running handler.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) session: u64,
    request: RequestKey,
    call: u64,
    steps: VecDeque<Step>,
    /// What it waits for.
    question: Option<(CallId, Mark)>,
    is_cancelled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Notify,
    /// Many notifications.
    Burst,
    /// A request to the client.
    Ask,
    /// The client polls from now on.
    CloseStream,
    Answer,
}

impl ServerWorld {
    pub(super) fn start_job(&mut self, session: u64, request: RequestKey, call: u64) {
        let count = self.random.below(5);
        let mut steps: VecDeque<_> = (0..count)
            .map(|_| match self.random.below(8) {
                0 => Step::CloseStream,
                1 => Step::Ask,
                _ => Step::Notify,
            })
            .collect();
        if self.hit(Fault::EvictEvents) {
            steps.push_back(Step::Burst);
        }
        steps.push_back(Step::Answer);
        self.node.next_job += 1;
        let number = self.node.next_job;
        let job = Job {
            session,
            request,
            call,
            steps,
            question: None,
            is_cancelled: false,
        };
        self.node.jobs.insert(number, job);
        self.schedule_work(number);
    }

    fn schedule_work(&mut self, number: u64) {
        let most = self.random.pick(&[0, 50, 400, 2000]).unwrap_or(0);
        let delay = self.random.millis(most);
        self.after(delay, SimEvent::Work(number));
    }

    /// A handler goes on.
    pub(super) fn work(&mut self, number: u64) {
        let Some(mut job) = self.node.jobs.remove(&number) else {
            return;
        };
        let now = self.now;
        let (session, request) = (job.session, job.request);
        if job.is_cancelled {
            if let Some(live) = self.node.wake(now, session) {
                live.release(now, request);
            }
            return self.forget_request(session, request);
        }
        let step = job.steps.pop_front().unwrap_or(Step::Answer);
        match step {
            Step::Notify => self.notify_about(&job),
            Step::Burst => {
                for _ in 0..10 + self.random.below(40) {
                    self.notify_about(&job);
                }
            }
            Step::Ask => self.ask(&mut job),
            Step::CloseStream => self.close_stream(&job),
            Step::Answer => return self.answer(&job),
        }
        let waits = job.question.is_some();
        self.node.jobs.insert(number, job);
        if !waits {
            self.schedule_work(number);
        }
    }

    fn notify_about(&mut self, job: &Job) {
        self.notify(job.session, job.call, Some(job.request));
    }

    /// The server sends a message on its own stream, if the client has opened one.
    pub(super) fn publish(&mut self, session: u64) {
        let served = self.node.sessions.get(&session);
        if served.is_some_and(|served| served.server_stream.is_some()) {
            self.notify(session, 0, None);
        }
    }

    fn notify(&mut self, session: u64, call: u64, about: Option<RequestKey>) {
        let mark = self.oracle.next_mark(session, call, false);
        let most = self.random.pick(&[10, 10, 10, 300, 3000]).unwrap_or(10);
        let filling = "x".repeat(self.random.index(most));
        let body = format!(r#""level":"info","data":"{filling}",{mark}"#);
        let now = self.now;
        let Some(live) = self.node.wake(now, session) else {
            return;
        };
        if live.notify(about, "notifications/message", body).is_ok() {
            self.oracle.on_sent(mark);
            self.serve();
        }
    }

    fn ask(&mut self, job: &mut Job) {
        let mark = self.oracle.next_mark(job.session, job.call, false);
        let body = format!(r#""message":"well?","requestedSchema":{{}},{mark}"#);
        let question = CallRequest::new("elicitation/create", body);
        let now = self.now;
        let Some(live) = self.node.wake(now, job.session) else {
            return;
        };
        if let Ok(call) = live.send_request(now, Some(job.request), question) {
            job.question = Some((call, mark));
            self.oracle.on_sent(mark);
        }
    }

    /// A question has its answer, or none.
    pub(super) fn on_question_ended(&mut self, session: u64, call: CallId, outcome: &Outcome) {
        let mut jobs = self.node.jobs.iter_mut();
        let found = jobs.find(|(_, job)| {
            job.session == session && job.question.is_some_and(|(asked, _)| asked == call)
        });
        let Some((number, job)) = found else {
            return;
        };
        let (number, asked) = (*number, job.question.take());
        if let (Outcome::Result(answer), Some((_, asked))) = (outcome, asked)
            && Mark::parse(answer.as_str().as_bytes()) != Some(asked)
        {
            let answer = answer.as_str();
            self.oracle
                .violated(format!("question {asked} has the answer {answer}"));
        }
        self.schedule_work(number);
    }

    fn close_stream(&mut self, job: &Job) {
        let Some(session) = self.node.sessions.get_mut(&job.session) else {
            return;
        };
        // In older revisions a client need not know how to poll.
        if session.has_priming()
            && let Some((stream, call)) = session.requests.get(&job.request).copied()
            && session.log.close_stream(self.now, stream, RETRY).is_ok()
        {
            self.note(Column::Server, || format!("call {call} is to be polled"));
        }
    }

    fn answer(&mut self, job: &Job) {
        let mark = self.oracle.next_mark(job.session, job.call, true);
        let result = format!(r#"{{"content":[],{mark}}}"#);
        let payload = JsonObject::parse(&result).map_or(Payload::EMPTY, Payload::from);
        let now = self.now;
        if let Some(live) = self.node.wake(now, job.session)
            && live.respond(now, job.request, payload).is_ok()
        {
            self.oracle.on_sent(mark);
        }
        self.serve();
        self.forget_request(job.session, job.request);
    }

    /// A handler learns that its call is cancelled. It may take a while to stop.
    pub(super) fn cancel_job(&mut self, session: u64, request: RequestKey) {
        let mut jobs = self.node.jobs.iter_mut();
        let found = jobs.find(|(_, job)| job.session == session && job.request == request);
        if let Some((number, job)) = found {
            job.is_cancelled = true;
            let (number, waited) = (*number, job.question.take().is_some());
            if waited {
                self.schedule_work(number);
            }
        }
    }

    fn forget_request(&mut self, session: u64, request: RequestKey) {
        if let Some(session) = self.node.sessions.get_mut(&session) {
            session.requests.remove(&request);
        }
    }
}

/// How long a client waits at most until it answers a question that has timed out.
pub(super) const LATE_ANSWER: Duration = Duration::from_secs(9);
