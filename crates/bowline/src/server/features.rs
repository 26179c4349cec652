//! The features of a server: tools, resources, templates, prompts and completions, which may change
//! while it runs.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bowline_proto::server::Change;
use bowline_types::capabilities::{
    PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};

use super::extract::{HandlerArguments, HandlerFn, HandlerRequirements, States};
use super::named_table::NamedTable;
use super::prompt::{Completer, IntoCompletion, PromptDef};
use super::resource::{ResourceDef, TemplateDef};
use super::session_set::Sessions;
use super::skills::SkillSet;
use super::tool::ToolDef;
use crate::error::{Error, ErrorKind};

/// Everything that is registered. It is replaced when it changes, so that readers hold the lock
/// only briefly.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) tools: NamedTable<ToolDef>,
    pub(super) resources: NamedTable<ResourceDef>,
    pub(super) templates: NamedTable<TemplateDef>,
    pub(super) prompts: NamedTable<PromptDef>,
    /// Completions, by the prompt or template and the name of the argument.
    pub(super) completers: HashMap<(String, String), Completer>,
    pub(super) skills: Option<Arc<SkillSet>>,
    /// Set when there ever was a completion, or a tool that runs as a task.
    had_completers: bool,
    had_task_tools: bool,
    /// Set when there ever was a tool with arguments that are repeated as headers.
    had_param_headers: bool,
    /// Kinds of features that may be added later: capabilities are declared at the beginning.
    pub(super) may_have: MayHave,
}

/// Kinds of features to declare although there are none yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MayHave {
    pub(super) tools: bool,
    pub(super) resources: bool,
    pub(super) prompts: bool,
}

impl Contents {
    /// Returns what is wrong with the registered features.
    pub(super) fn problem(&self, states: &States) -> Option<String> {
        let tools = self.tools.iter().map(|tool| (&tool.tool.name, &tool.needs));
        let resources = self
            .resources
            .iter()
            .map(|resource| (&resource.resource.uri, &resource.needs));
        let templates = self
            .templates
            .iter()
            .map(|template| (&template.template.uri_template, &template.needs));
        let prompts = self
            .prompts
            .iter()
            .map(|prompt| (&prompt.prompt.name, &prompt.needs));
        let completers = self.completers.iter();
        let completers = completers.map(|((of, _), completer)| (of, &completer.needs));
        let all = tools.chain(resources).chain(templates);
        let missing = all
            .chain(prompts)
            .chain(completers)
            .find_map(|(name, needs)| missing_state(name, needs, states));
        let broken_tool = self.tools.iter().find_map(|tool| tool.problem.clone());
        let mut patterns = self.templates.iter();
        let broken_template =
            patterns.find_map(|template| template.pattern.as_ref().err().cloned());
        let broken_resource = self
            .resources
            .iter()
            .find_map(|resource| resource.problem.clone());
        let broken_prompt = self
            .prompts
            .iter()
            .find_map(|prompt| prompt.problem.clone());
        let unknown = self.completers.keys().find_map(|(of, argument)| {
            let is_known = self.has_argument(of, argument);
            (!is_known).then(|| format!("{of}: no argument named {argument:?} to complete"))
        });
        missing
            .or(broken_tool)
            .or(broken_resource)
            .or(broken_template)
            .or(broken_prompt)
            .or(unknown)
    }

    /// Returns `true` if a prompt or a template has an argument, or may have it later.
    fn has_argument(&self, of: &str, argument: &str) -> bool {
        if let Some(template) = self.templates.get(of) {
            let pattern = template.pattern.as_ref();
            return pattern.is_ok_and(|pattern| pattern.names().any(|name| name == argument));
        }
        match self.prompts.get(of) {
            Some(prompt) => {
                let mut arguments = prompt.prompt.arguments.iter().flatten();
                arguments.any(|known| known.name == argument)
            }
            None => self.may_have.prompts,
        }
    }

    // A kind of features that a server once had stays declared: its clients got the capabilities at
    // the beginning, and a list may be empty.

    pub(super) fn has_tools(&self) -> bool {
        self.may_have.tools || self.tools.has_had_any()
    }

    /// Returns `true` if tools run as tasks. Tasks go on when their tool is removed.
    pub(super) fn has_task_tools(&self) -> bool {
        self.had_task_tools
    }

    /// Returns `true` if calls may have arguments that are repeated as headers.
    #[cfg_attr(
        not(feature = "http-server"),
        expect(dead_code, reason = "only HTTP has headers")
    )]
    pub(super) fn has_param_headers(&self) -> bool {
        self.had_param_headers
    }

    pub(super) fn has_resources(&self) -> bool {
        let had = self.resources.has_had_any() || self.templates.has_had_any();
        self.may_have.resources || had
    }

    pub(super) fn has_prompts(&self) -> bool {
        self.may_have.prompts || self.prompts.has_had_any()
    }

    pub(super) fn has_completers(&self) -> bool {
        self.had_completers
    }

    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::new();
        if self.has_tools() {
            capabilities.tools = Some(ToolsCapability::new().list_changed(true));
        }
        if self.has_resources() {
            let resources = ResourcesCapability::new().list_changed(true);
            capabilities.resources = Some(resources.subscribe(true));
        }
        if self.has_prompts() {
            capabilities.prompts = Some(PromptsCapability::new().list_changed(true));
        }
        if self.has_completers() {
            capabilities.completions = Some(bowline_types::JsonObject::new());
        }
        capabilities
    }
}

fn missing_state(name: &str, needs: &HandlerRequirements, states: &States) -> Option<String> {
    let missing = needs.states.iter().find(|(id, _)| !states.has(*id));
    missing.map(|(_, state)| {
        format!("{name}: its handler needs State<{state}>: set it with Server::state")
    })
}

/// The features of a server, to change them while it runs. Clones share one set.
///
/// Clients that have subscribed are notified, at most ten times a second. A capability once
/// declared stays: when the last tool is removed, the list of tools is empty.
///
/// ```
/// use bowline::server::{Server, tool};
///
/// let server = Server::new("plugins", "1.0.0").declare_tools();
/// let features = server.features();
/// // Later, when it runs:
/// features.add_tool(tool("new", || async { "something new" }))?;
/// assert!(features.remove_tool("new"));
/// # Ok::<(), bowline::Error>(())
/// ```
///
/// A handler gets it with [`Context::features`](super::Context::features). Added features are
/// served at once. What can't be served is refused with the error that
/// [`Server::build`](super::Server::build) has for it. A [`State`](super::State) that the server
/// doesn't have is only found when the handler is run, since several servers may share the
/// features.
#[derive(Clone, Debug, Default)]
pub struct ServerFeatures {
    contents: Arc<RwLock<Arc<Contents>>>,
    pub(super) sessions: Sessions,
}

impl ServerFeatures {
    /// Adds a tool, or replaces the one of this name.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when its name is invalid, its arguments are not an
    /// object, or its schemas can't be checked. Nothing is changed then.
    pub fn add_tool(&self, mut tool: ToolDef) -> Result<(), Error> {
        tool.prepare();
        check_problem(tool.problem.as_deref())?;
        self.insert_tool(tool);
        Ok(())
    }

    /// Adds a tool that may have a problem, which [`Contents::problem`] finds.
    pub(super) fn insert_tool(&self, tool: ToolDef) {
        let name = tool.tool.name.clone();
        drop(self.change(|contents| {
            contents.had_task_tools |= tool.tasks.is_some();
            contents.had_param_headers |= !tool.param_headers().is_empty();
            contents.tools.insert(&name, tool)
        }));
        self.notify_tools_changed();
    }

    /// Removes a tool. Returns `true` if it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.change(|contents| contents.tools.remove(name));
        let was_there = removed.is_some();
        if was_there {
            self.notify_tools_changed();
        }
        was_there
    }

    /// Adds a resource, or replaces the one of this URI.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when its handler needs arguments: a resource has
    /// none. Nothing is changed then.
    pub fn add_resource(&self, resource: ResourceDef) -> Result<(), Error> {
        check_problem(resource.problem.as_deref())?;
        self.insert_resource(resource);
        Ok(())
    }

    /// Adds a resource that may have a problem, which [`Contents::problem`] finds.
    pub(super) fn insert_resource(&self, resource: ResourceDef) {
        let uri = resource.resource.uri.clone();
        drop(self.change(|contents| contents.resources.insert(&uri, resource)));
        self.notify_resources_changed();
    }

    /// Removes a resource. Returns `true` if it was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.change(|contents| contents.resources.remove(uri));
        let was_there = removed.is_some();
        if was_there {
            self.notify_resources_changed();
        }
        was_there
    }

    /// Adds a resource template, or replaces the one of this text.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when it is not a URI template, or its handler needs
    /// something that is not a variable of it. Nothing is changed then.
    pub fn add_template(&self, template: TemplateDef) -> Result<(), Error> {
        check_problem(template.pattern.as_ref().err().map(String::as_str))?;
        self.insert_template(template);
        Ok(())
    }

    /// Adds a template that may have a problem, which [`Contents::problem`] finds.
    pub(super) fn insert_template(&self, template: TemplateDef) {
        let pattern = template.template.uri_template.clone();
        drop(self.change(|contents| contents.templates.insert(&pattern, template)));
        self.notify_resources_changed();
    }

    /// Removes a template. Returns `true` if it was there.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let removed = self.change(|contents| contents.templates.remove(uri_template));
        let was_there = removed.is_some();
        if was_there {
            self.notify_resources_changed();
        }
        was_there
    }

    /// Adds a prompt, or replaces the one of this name.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when its arguments can't be parsed from strings.
    /// Nothing is changed then.
    pub fn add_prompt(&self, prompt: PromptDef) -> Result<(), Error> {
        check_problem(prompt.problem.as_deref())?;
        self.insert_prompt(prompt);
        Ok(())
    }

    /// Adds a prompt that may have a problem, which [`Contents::problem`] finds.
    pub(super) fn insert_prompt(&self, prompt: PromptDef) {
        let name = prompt.prompt.name.clone();
        drop(self.change(|contents| contents.prompts.insert(&name, prompt)));
        self.notify_prompts_changed();
    }

    /// Removes a prompt. Returns `true` if it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.change(|contents| contents.prompts.remove(name));
        let was_there = removed.is_some();
        if was_there {
            self.notify_prompts_changed();
        }
        was_there
    }

    /// Adds the completion of an argument of a prompt, or of a variable of a template, or replaces
    /// it: see [`Server::completion`](super::Server::completion). A client that was initialized
    /// before there was any completion doesn't know of it.
    pub fn add_completion<A, H>(
        &self,
        of: impl Into<String>,
        argument: impl Into<String>,
        handler: H,
    ) where
        A: HandlerArguments,
        H: HandlerFn<A>,
        H::Output: IntoCompletion + Send,
    {
        let (key, completer) = ((of.into(), argument.into()), Completer::new(handler));
        drop(self.change(|contents| {
            contents.had_completers = true;
            contents.completers.insert(key, completer)
        }));
    }

    /// Removes a completion. Returns `true` if it was there.
    pub fn remove_completion(&self, of: &str, argument: &str) -> bool {
        let key = (of.to_owned(), argument.to_owned());
        let removed = self.change(|contents| contents.completers.remove(&key));
        removed.is_some()
    }

    /// Notifies subscribed clients that the list of tools has changed, for a
    /// [`Handler`](super::Handler) with a list of its own. Changes made through this type are
    /// announced automatically.
    pub fn notify_tools_changed(&self) {
        self.sessions.notify_change(Change::Tools);
    }

    /// Notifies subscribed clients that the list of resources or templates has changed: see
    /// [`notify_tools_changed`](Self::notify_tools_changed).
    pub fn notify_resources_changed(&self) {
        self.sessions.notify_change(Change::Resources);
    }

    /// Notifies subscribed clients that the list of prompts has changed: see
    /// [`notify_tools_changed`](Self::notify_tools_changed).
    pub fn notify_prompts_changed(&self) {
        self.sessions.notify_change(Change::Prompts);
    }

    /// Notifies subscribed clients that the contents of a resource have changed.
    pub fn notify_resource_updated(&self, uri: &str) {
        self.sessions.notify_change(Change::Resource(uri));
    }

    /// Completes a URL elicitation that a handler has started: only the client that was asked for
    /// it is notified (`notifications/elicitation/complete`). `id` is the elicitation id
    /// ([`ElicitUrlParams::elicitation_id`]; [`Context::unique_id`] generates one), which the URL
    /// usually contains. The handler need not wait for it: accepting a URL elicitation only means
    /// to open the URL.
    ///
    /// Returns `true` if a client is notified, once: only 2025-11-25 has the notification, and a
    /// client may be gone, or have opened 256 others since. Since 2026-07-28 clients ask again.
    ///
    /// [`ElicitUrlParams::elicitation_id`]: bowline_types::elicitation::ElicitUrlParams::elicitation_id
    /// [`Context::unique_id`]: super::Context::unique_id
    pub fn complete_url_elicitation(&self, id: &str) -> bool {
        self.sessions.complete_url_elicitation(id)
    }

    pub(super) fn contents(&self) -> Arc<Contents> {
        let contents = self.contents.read();
        Arc::clone(&contents.unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the registered features. What is replaced or removed has to be returned: a handler
    /// may have captured something that uses the features when it is dropped, which has to be after
    /// the lock.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        let mut contents = self
            .contents
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut contents))
    }
}

/// Returns an error for a feature that can't be served.
fn check_problem(problem: Option<&str>) -> Result<(), Error> {
    match problem {
        Some(problem) => Err(config_error(problem.to_owned())),
        None => Ok(()),
    }
}

/// Returns the error for a feature that can't be served.
pub(super) fn config_error(problem: String) -> Error {
    Error::new(ErrorKind::Config, problem).in_operation("serve")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::server::{prompt, resource, tool};

    /// Something that a handler has, and that cleans up behind it.
    struct Cleans(ServerFeatures, mpsc::Sender<bool>);

    impl Drop for Cleans {
        fn drop(&mut self) {
            let was_there = self.0.remove_resource("made:by-it");
            self.1.send(was_there).expect("the test listens");
        }
    }

    #[test]
    fn values_of_a_handler_may_use_the_registry_when_they_are_dropped() {
        let (sender, dropped) = mpsc::channel();
        // On a thread of its own, so that a deadlock fails.
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            let features = ServerFeatures::default();
            let handler = || {
                features
                    .add_resource(resource("made:by-it", "", || async { "" }))
                    .expect("it is right");
                let cleans = Arc::new(Cleans(features.clone(), sender.clone()));
                move || {
                    let cleans = Arc::clone(&cleans);
                    async move { cleans.0.contents().tools.iter().count().to_string() }
                }
            };
            features
                .add_tool(tool("it", handler()))
                .expect("it is right");
            features
                .add_tool(tool("it", handler()))
                .expect("it is right");
            assert!(features.remove_tool("it"));
            features
                .add_prompt(prompt("it", handler()))
                .expect("it is right");
            features
                .add_prompt(prompt("it", handler()))
                .expect("it is right");
            assert!(features.remove_prompt("it"));
            features
                .add_resource(resource("it:", "", handler()))
                .expect("it is right");
            features
                .add_resource(resource("it:", "", handler()))
                .expect("it is right");
            assert!(features.remove_resource("it:"));
            done.send(()).expect("the test listens");
        });
        let waited = is_done.recv_timeout(Duration::from_secs(20));
        waited.expect("no thread waits for a lock for ever");
        assert_eq!(dropped.try_iter().count(), 6);
    }
}
