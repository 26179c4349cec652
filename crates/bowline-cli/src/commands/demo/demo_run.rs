//! A run of the demo: a server process, a client of it, and a record of what happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use bowline::client::features::{PendingToolCall, ToolResult};
use bowline::{Client, ConnectionState, Error};
use bowline_types::Revision;
use bowline_types::progress::ProgressParams;
use bowline_types::resources::ResourceContents;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::commands::demo::step::{Call, Change, Outcome, Server, Step};
use crate::commands::demo::text::column;
use crate::connect::{ConnectOptions, HintContext, call_error, connect};
use crate::progress::{BarStyle, Progress};
use crate::target;
use crate::timeline::{self, Mark, Timeline};

/// The server process, its client, and the records.
pub(super) struct DemoRun {
    client: Client,
    /// When the client was started, which is where its own times begin.
    started_at: Instant,
    /// The process id of the server that was started last.
    process: Arc<AtomicU32>,
    bar_style: BarStyle,
    calls: Vec<timeline::Call>,
    kills: Vec<Mark>,
}

impl DemoRun {
    /// Starts the server and connects to it.
    pub(super) async fn open(
        revision: Option<Revision>,
        bar_style: BarStyle,
    ) -> anyhow::Result<(Self, Step)> {
        let process = Arc::new(AtomicU32::new(0));
        let latest = Arc::clone(&process);
        let server = target::demo()?
            .child()
            .on_start(move |id| latest.store(id, Ordering::Relaxed));
        let options = ConnectOptions {
            revision,
            connect_timeout: Duration::from_secs(10),
            call_timeout: Some(Duration::from_secs(10)),
            max_time: None,
            // The server is killed, and started again.
            attempts: Some(3),
        };
        let started_at = Instant::now();
        let hint_context = HintContext {
            only: revision,
            ..HintContext::default()
        };
        let mut config = options.config();
        config.name("demo");
        let client = connect(server, config, hint_context).await?;
        let run = Self {
            client,
            started_at,
            process,
            bar_style,
            calls: Vec::new(),
            kills: Vec::new(),
        };
        let connected = run.connected()?;
        Ok((run, connected))
    }

    /// Returns the step about the negotiated session.
    fn connected(&self) -> anyhow::Result<Step> {
        let agreement = self
            .client
            .agreement()
            .context("no revision was negotiated")?;
        let info = agreement.server_info.as_ref();
        let info = info.context("the server sent no implementation info")?;
        let capabilities = serde_json::to_value(&agreement.capabilities);
        Ok(Step::Connect {
            process: self.process.load(Ordering::Relaxed),
            server: Server {
                name: info.name.clone(),
                version: info.version.clone(),
                title: info.title.clone(),
            },
            revision: agreement.revision,
            capabilities: capabilities.context("cannot serialize the capabilities")?,
            took: self.now(),
        })
    }

    /// Lists all tools.
    pub(super) async fn list_tools(&mut self) -> anyhow::Result<Step> {
        let from = self.now();
        let tools = self.client.tools().list_all().await.map_err(call_error)?;
        let took = self.record_call("tools/list", from, "answered", true);
        let names = tools.into_iter().map(|tool| tool.name).collect();
        Ok(Step::Tools { names, took })
    }

    /// Reads a resource.
    pub(super) async fn read(&mut self, uri: &str) -> anyhow::Result<Step> {
        let from = self.now();
        let read = self.client.resources().read(uri).await;
        let read = read.map_err(call_error)?;
        let took = self.record_call("resources/read", from, "answered", true);
        let text = read.contents.into_iter().find_map(|part| match part {
            ResourceContents::Text(text) => Some(text.text),
            _ => None,
        });
        Ok(Step::Read {
            uri: uri.to_owned(),
            text: text.context("the resource has no text")?,
            took,
        })
    }

    /// Calls a tool, and waits for a connection if necessary. A tool error is a result.
    pub(super) async fn call(
        &mut self,
        tool: &'static str,
        arguments: Value,
    ) -> anyhow::Result<Call> {
        let from = self.now();
        let call = self.client.tools().call(tool, &arguments);
        let ended = call.wait_for_ready().await.map_err(call_error)?;
        Ok(self.record_tool_call(tool, arguments, from, None, Ok(ended)))
    }

    /// Calls a tool, and shows its progress.
    pub(super) async fn call_with_progress(
        &mut self,
        tool: &'static str,
        arguments: Value,
    ) -> anyhow::Result<Call> {
        let mut running = self.begin(tool, arguments);
        while running.next_report().await.is_some() {}
        let call = self.finish_call(running).await;
        match &call.outcome {
            Outcome::Answered { .. } | Outcome::ToolError { .. } => Ok(call),
            Outcome::Lost(failure) | Outcome::Failed(failure) => bail!("{}", failure.error),
        }
    }

    /// Starts a call without waiting for its result.
    fn begin(&self, tool: &'static str, arguments: Value) -> RunningCall {
        let progress = Progress::begin(&column(tool), self.bar_style);
        let from = self.now();
        let call = self.client.tools().call(tool, &arguments);
        RunningCall {
            tool,
            from,
            answer: call.with_progress().send(),
            arguments,
            progress,
            reports: 0,
            last: None,
        }
    }

    /// Starts a call that the server will not finish.
    pub(super) fn start_countdown(&self, arguments: Value) -> RunningCall {
        self.begin("countdown", arguments)
    }

    /// Waits until a call has reported progress a number of times.
    pub(super) async fn wait_for_progress(
        &self,
        running: &mut RunningCall,
        reports: u32,
    ) -> anyhow::Result<()> {
        while running.reports < reports {
            let report = running.next_report().await;
            ensure!(
                report.is_some(),
                "the call ended before the server could be killed"
            );
        }
        Ok(())
    }

    /// Kills the server process.
    pub(super) fn kill(&mut self, during: &RunningCall) -> anyhow::Result<Step> {
        during.progress.end();
        let process = self.process.load(Ordering::Relaxed);
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        let pid = pid.context("the process id of the server is not known")?;
        let at = self.now();
        kill_process(pid, Signal::KILL)
            .with_context(|| format!("cannot kill process {process}"))?;
        self.kills.push(Mark {
            at,
            label: "SIGKILL".to_owned(),
        });
        Ok(Step::Kill {
            process,
            signal: "SIGKILL",
            tool: during.tool,
            progress: during.last.clone().unwrap_or_default(),
            at,
        })
    }

    /// Waits for the end of a call.
    pub(super) async fn finish_call(&mut self, running: RunningCall) -> Call {
        let RunningCall {
            tool,
            arguments,
            from,
            answer,
            progress,
            reports,
            ..
        } = running;
        let ended = answer.await;
        progress.end();
        self.record_tool_call(tool, arguments, from, Some(reports), ended)
    }

    /// Returns the changes of the connection state since the server was killed.
    pub(super) fn recovery(&self) -> Step {
        let history = self.client.history();
        // Not by the time of the kill: the client started its own clock slightly later than ours.
        let lost = history
            .iter()
            .rposition(|transition| transition.from == ConnectionState::Ready);
        let changes = history
            .iter()
            .skip(lost.unwrap_or(0))
            .map(|transition| Change {
                at: Duration::from_nanos(transition.at.as_nanos()),
                from: transition.from.as_str(),
                to: transition.to.as_str(),
                cause: transition.cause.to_string(),
            });
        Step::Recover {
            process: self.process.load(Ordering::Relaxed),
            changes: changes.collect(),
        }
    }

    /// Stops the client, and with it the server.
    pub(super) async fn close(self) -> Step {
        self.client.stop().await;
        let history = self.client.history();
        let changes = history.iter().map(|transition| {
            (
                Duration::from_nanos(transition.at.as_nanos()),
                transition.to,
            )
        });
        Step::Timeline(Timeline {
            states: Timeline::spans(changes, self.started_at.elapsed()),
            calls: self.calls,
            marks: self.kills,
        })
    }

    /// Records the end of a tool call.
    fn record_tool_call(
        &mut self,
        tool: &'static str,
        arguments: Value,
        from: Duration,
        reports: Option<u32>,
        ended: Result<ToolResult, Error>,
    ) -> Call {
        let outcome = match ended {
            Ok(result) if result.is_failure() => Outcome::ToolError {
                text: result.text(),
            },
            Ok(result) => Outcome::Answered {
                text: result.text(),
            },
            Err(error) => Outcome::without_answer(&error),
        };
        let took = self.record_call(tool, from, outcome.word(), outcome.is_answered());
        Call {
            tool,
            arguments,
            from,
            to: from + took,
            reports,
            outcome,
        }
    }

    /// Records the end of a call, and returns how long it took.
    fn record_call(
        &mut self,
        name: &str,
        from: Duration,
        outcome: &str,
        is_answered: bool,
    ) -> Duration {
        let to = self.now();
        self.calls.push(timeline::Call {
            name: name.to_owned(),
            from,
            to,
            outcome: outcome.to_owned(),
            is_answered,
        });
        to - from
    }

    /// Returns the time since the client was started.
    fn now(&self) -> Duration {
        self.started_at.elapsed()
    }
}

/// A call that has not ended.
pub(super) struct RunningCall {
    tool: &'static str,
    arguments: Value,
    from: Duration,
    answer: PendingToolCall,
    progress: Progress,
    reports: u32,
    /// The last reported progress.
    last: Option<String>,
}

impl RunningCall {
    /// Waits for the next progress notification, and shows it.
    async fn next_report(&mut self) -> Option<ProgressParams> {
        let report = self.answer.progress().await?;
        self.reports += 1;
        self.progress.report(&report);
        let done = report.progress.as_f64();
        self.last = Some(match report.total {
            Some(total) => format!("{done} of {}", total.as_f64()),
            None => done.to_string(),
        });
        Some(report)
    }
}
