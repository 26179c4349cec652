//! What a server has, which may change while it runs.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bowline_proto::server::Change;
use bowline_types::capabilities::{
    PromptsCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};

use super::core::Sessions;
use super::extract::{Needs, States};
use super::prompt::{Completer, PromptDef};
use super::resource::{ResourceDef, TemplateDef};
use super::table::Table;
use super::tool::ToolDef;

/// Everything that is registered. It is replaced when it changes, so that whoever uses it
/// needs no lock for long.
#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    pub(super) tools: Table<ToolDef>,
    pub(super) resources: Table<ResourceDef>,
    pub(super) templates: Table<TemplateDef>,
    pub(super) prompts: Table<PromptDef>,
    /// By what is completed and the name of its argument.
    pub(super) completers: HashMap<(String, String), Completer>,
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
        let tools = self.tools.iter().map(|it| (&it.tool.name, &it.needs));
        let resources = self
            .resources
            .iter()
            .map(|it| (&it.resource.uri, &it.needs));
        let templates = self
            .templates
            .iter()
            .map(|it| (&it.template.uri_template, &it.needs));
        let prompts = self.prompts.iter().map(|it| (&it.prompt.name, &it.needs));
        let completers = self.completers.iter();
        let completers = completers.map(|((of, _), it)| (of, &it.needs));
        let all = tools.chain(resources).chain(templates);
        let missing = all
            .chain(prompts)
            .chain(completers)
            .find_map(|(name, needs)| missing_state(name, needs, states));
        let broken_tool = self.tools.iter().find_map(|it| it.problem.clone());
        let mut patterns = self.templates.iter();
        let broken_template = patterns.find_map(|it| it.pattern.as_ref().err().cloned());
        let unknown = self.completers.keys().find_map(|(of, argument)| {
            let is_known = self.has_argument(of, argument);
            (!is_known).then(|| format!("{of}: it has no {argument:?} to complete"))
        });
        missing.or(broken_tool).or(broken_template).or(unknown)
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

    pub(super) fn has_tools(&self) -> bool {
        self.may_have.tools || !self.tools.is_empty()
    }

    pub(super) fn has_resources(&self) -> bool {
        self.may_have.resources || !(self.resources.is_empty() && self.templates.is_empty())
    }

    pub(super) fn has_prompts(&self) -> bool {
        self.may_have.prompts || !self.prompts.is_empty()
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
        if !self.completers.is_empty() {
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

/// A server's registry, to change it while it runs. Clones are the same one.
///
/// Clients that want to know are told, at most ten times a second.
///
/// ```
/// use bowline::server::{Server, tool};
///
/// let server = Server::new("plugins", "1.0.0").with_tools();
/// let registry = server.registry();
/// // Later, when it runs:
/// registry.add_tool(tool("new", || async { "something new" }));
/// assert!(registry.remove_tool("new"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    contents: Arc<RwLock<Arc<Contents>>>,
    pub(super) sessions: Sessions,
}

impl Registry {
    /// Adds a tool, in place of another one of its name.
    pub fn add_tool(&self, tool: ToolDef) {
        let name = tool.tool.name.clone();
        self.change(|contents| contents.tools.insert(&name, tool));
        self.sessions.changed(Change::Tools);
    }

    /// Removes a tool. Whether it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        let was_there = self.change(|contents| contents.tools.remove(name));
        if was_there {
            self.sessions.changed(Change::Tools);
        }
        was_there
    }

    /// Adds a resource, in place of another one of its URI.
    pub fn add_resource(&self, resource: ResourceDef) {
        let uri = resource.resource.uri.clone();
        self.change(|contents| contents.resources.insert(&uri, resource));
        self.sessions.changed(Change::Resources);
    }

    /// Removes a resource. Whether it was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let was_there = self.change(|contents| contents.resources.remove(uri));
        if was_there {
            self.sessions.changed(Change::Resources);
        }
        was_there
    }

    /// Adds a prompt, in place of another one of its name.
    pub fn add_prompt(&self, prompt: PromptDef) {
        let name = prompt.prompt.name.clone();
        self.change(|contents| contents.prompts.insert(&name, prompt));
        self.sessions.changed(Change::Prompts);
    }

    /// Removes a prompt. Whether it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let was_there = self.change(|contents| contents.prompts.remove(name));
        if was_there {
            self.sessions.changed(Change::Prompts);
        }
        was_there
    }

    /// What a resource contains has changed: those who watch it are told.
    pub fn resource_updated(&self, uri: &str) {
        self.sessions.changed(Change::Resource(uri));
    }

    pub(super) fn contents(&self) -> Arc<Contents> {
        let contents = self.contents.read();
        Arc::clone(&contents.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> T {
        let mut contents = self
            .contents
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut contents))
    }
}
