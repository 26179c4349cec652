//! What a server has, which may change while it runs.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bowline_proto::server::Change;
use bowline_types::capabilities::{
    PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};

use super::extract::{HandlerArguments, HandlerFn, Needs, States};
use super::named_table::NamedTable;
use super::prompt::{Completer, IntoCompletion, PromptDef};
use super::resource::{ResourceDef, TemplateDef};
use super::session_set::Sessions;
use super::tool::ToolDef;
use crate::error::{Error, ErrorKind};

/// Everything that is registered. It is replaced when it changes, so that whoever uses it
/// needs no lock for long.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) tools: NamedTable<ToolDef>,
    pub(super) resources: NamedTable<ResourceDef>,
    pub(super) templates: NamedTable<TemplateDef>,
    pub(super) prompts: NamedTable<PromptDef>,
    /// By what is completed and the name of its argument.
    pub(super) completers: HashMap<(String, String), Completer>,
    /// Whether there ever was a completer, or a tool that runs as a task.
    had_completers: bool,
    had_task_tools: bool,
    /// Kinds of things that may come later: what a server can do is said at the beginning.
    pub(super) may_have: MayHave,
}

/// What a server may have although it has none now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MayHave {
    pub(super) tools: bool,
    pub(super) resources: bool,
    pub(super) prompts: bool,
}

impl Contents {
    /// What is wrong with what was registered, in words.
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

    /// Whether a prompt or a template has an argument, or may have it later.
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

    // What a server once had it goes on serving: its clients were told so at their beginning,
    // and a list may be empty.

    pub(super) fn has_tools(&self) -> bool {
        self.may_have.tools || self.tools.has_had_any()
    }

    /// Whether tools run as tasks. Tasks go on when their tool is gone.
    pub(super) fn has_task_tools(&self) -> bool {
        self.had_task_tools
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

fn missing_state(name: &str, needs: &Needs, states: &States) -> Option<String> {
    let missing = needs.states.iter().find(|(id, _)| !states.has(*id));
    missing.map(|(_, state)| {
        format!("{name}: its handler asks for State<{state}>, which Server::state was not given")
    })
}

/// A server's features, to change it while it runs. Clones are the same one.
///
/// Clients that want to know are told, at most ten times a second. What a server once had it
/// goes on offering: when the last tool is removed, the list of tools is empty.
///
/// ```
/// use bowline::server::{Server, tool};
///
/// let server = Server::new("plugins", "1.0.0").with_tools();
/// let features = server.features();
/// // Later, when it runs:
/// features.add_tool(tool("new", || async { "something new" }))?;
/// assert!(features.remove_tool("new"));
/// # Ok::<(), bowline::Error>(())
/// ```
///
/// A handler gets it with [`Context::features`](super::Context::features). What is added is
/// served at once. What can't be served is refused with the error that
/// [`Server::build`](super::Server::build) has for it. A [`State`](super::State) that the
/// server doesn't have is found only when the handler is run: several servers may share a
/// features.
#[derive(Clone, Debug, Default)]
pub struct ServerFeatures {
    contents: Arc<RwLock<Arc<Contents>>>,
    pub(super) sessions: Sessions,
}

impl ServerFeatures {
    /// Adds a tool, in place of another one of its name.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when its name can't be one, its arguments are no
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
            contents.tools.insert(&name, tool)
        }));
        self.tools_changed();
    }

    /// Removes a tool. Whether it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.change(|contents| contents.tools.remove(name));
        let was_there = removed.is_some();
        if was_there {
            self.tools_changed();
        }
        was_there
    }

    /// Adds a resource, in place of another one of its URI.
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
        self.resources_changed();
    }

    /// Removes a resource. Whether it was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.change(|contents| contents.resources.remove(uri));
        let was_there = removed.is_some();
        if was_there {
            self.resources_changed();
        }
        was_there
    }

    /// Adds resources whose URIs follow a template, in place of others of the same template.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when it is no URI template, or its handler needs
    /// what is no variable of it. Nothing is changed then.
    pub fn add_template(&self, template: TemplateDef) -> Result<(), Error> {
        check_problem(template.pattern.as_ref().err().map(String::as_str))?;
        self.insert_template(template);
        Ok(())
    }

    /// Adds a template that may have a problem, which [`Contents::problem`] finds.
    pub(super) fn insert_template(&self, template: TemplateDef) {
        let pattern = template.template.uri_template.clone();
        drop(self.change(|contents| contents.templates.insert(&pattern, template)));
        self.resources_changed();
    }

    /// Removes a template. Whether it was there.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        let removed = self.change(|contents| contents.templates.remove(uri_template));
        let was_there = removed.is_some();
        if was_there {
            self.resources_changed();
        }
        was_there
    }

    /// Adds a prompt, in place of another one of its name.
    ///
    /// # Errors
    ///
    /// Of kind [`Config`](ErrorKind::Config) when its arguments can't be read from texts.
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
        self.prompts_changed();
    }

    /// Removes a prompt. Whether it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.change(|contents| contents.prompts.remove(name));
        let was_there = removed.is_some();
        if was_there {
            self.prompts_changed();
        }
        was_there
    }

    /// Completes an argument of a prompt, or a variable of a template, in place of who did so:
    /// see [`Server::completion`](super::Server::completion). A client that has introduced
    /// itself before there was any completion doesn't know of it.
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

    /// Completes an argument no longer. Whether somebody did.
    pub fn remove_completion(&self, of: &str, argument: &str) -> bool {
        let key = (of.to_owned(), argument.to_owned());
        let removed = self.change(|contents| contents.completers.remove(&key));
        removed.is_some()
    }

    /// The list of tools has changed, where a [`Handler`](super::Handler) has it: those who
    /// want to know are told. What is changed here is told by itself.
    pub fn tools_changed(&self) {
        self.sessions.notify_change(Change::Tools);
    }

    /// The list of resources or of templates has changed: see
    /// [`tools_changed`](Self::tools_changed).
    pub fn resources_changed(&self) {
        self.sessions.notify_change(Change::Resources);
    }

    /// The list of prompts has changed: see [`tools_changed`](Self::tools_changed).
    pub fn prompts_changed(&self) {
        self.sessions.notify_change(Change::Prompts);
    }

    /// What a resource contains has changed: those who watch it are told.
    pub fn resource_updated(&self, uri: &str) {
        self.sessions.notify_change(Change::Resource(uri));
    }

    /// A person is done with a page that a handler asked them to open: the client that has
    /// shown it is told, and nobody else. `id` is that of the question
    /// ([`ElicitUrlParams::elicitation_id`]; [`Context::unique_id`] draws one), which a page
    /// usually has in its URL. The handler need not wait for it: accepting a page only means to
    /// open it.
    ///
    /// Whether a client is told: only 2025-11-25 has that, and a client may be gone, or have
    /// opened 256 others since. It is told once. Since 2026-07-28 clients ask again.
    ///
    /// [`ElicitUrlParams::elicitation_id`]: bowline_types::elicitation::ElicitUrlParams::elicitation_id
    /// [`Context::unique_id`]: super::Context::unique_id
    pub fn elicitation_done(&self, id: &str) -> bool {
        self.sessions.complete_url_elicitation(id)
    }

    pub(super) fn contents(&self) -> Arc<Contents> {
        let contents = self.contents.read();
        Arc::clone(&contents.unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is registered. What is replaced or removed has to be given back: a handler
    /// may have captured something that uses the features when it is dropped, which has to be
    /// after the lock.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        let mut contents = self
            .contents
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut contents))
    }
}

/// Refuses what can't be served.
fn check_problem(problem: Option<&str>) -> Result<(), Error> {
    match problem {
        Some(problem) => Err(config_error(problem.to_owned())),
        None => Ok(()),
    }
}

/// Returns the error for what can't be served.
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
    fn what_a_handler_has_may_use_the_registry_when_it_is_dropped() {
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
        waited.expect("nobody waits for a lock for ever");
        assert_eq!(dropped.try_iter().count(), 6);
    }
}
