//! Checks that the server has declared the capability that a method needs.

use bowline_proto::Agreement;
use bowline_types::capabilities::ServerCapabilities;
use bowline_types::tasks::EXTENSION;
use bowline_types::wire::Shape;
use bowline_types::{Era, Method, Revision, Revisions, Wire as _};

/// Refuses a message of the protocol that clients send in other revisions than this one (PV-5).
/// What the protocol doesn't have is the user's own.
pub(in crate::client) fn check_revision(method: &str, revision: Revision) -> Result<(), String> {
    let Ok(known) = method.parse::<Method>() else {
        return Ok(());
    };
    let in_revisions = known.from_client();
    if in_revisions.is_empty() || in_revisions.contains(revision) {
        return Ok(());
    }
    Err(in_other_revisions(revision, in_revisions))
}

/// Returns the message for what is not in the revision of the session, with the revisions that have
/// it.
fn in_other_revisions(revision: Revision, has: Revisions) -> String {
    let has: Vec<_> = has.iter().map(Revision::as_str).collect();
    format!(
        "not in revision {revision} (revisions that have it: {})",
        has.join(", ")
    )
}

/// Returns the message for a capability that the server has not declared. Where the revision has no
/// such capability, it names the revisions that have it.
pub(in crate::client) fn not_declared_message(name: &str, revision: Revision) -> String {
    let message = format!("the server has not declared `{name}`");
    let outermost = name.split(['.', '[']).next();
    let has = match ServerCapabilities::SHAPE {
        Shape::Struct(all) => all
            .members
            .iter()
            .find(|member| Some(member.name) == outermost),
        _ => None,
    };
    let has = if name == TASKS_EXTENSION {
        // For the types an extension may be in any revision.
        Some(Era::Stateless.revisions())
    } else {
        has.map(|member| member.revisions)
    };
    match has.filter(|has| !has.contains(revision)) {
        Some(has) => format!("{message}: {}", in_other_revisions(revision, has)),
        None => message,
    }
}

/// In 2026-07-28 tasks are an extension.
pub(in crate::client) const TASKS_EXTENSION: &str = "extensions[\"io.modelcontextprotocol/tasks\"]";

/// Refuses a call of what the server has not declared, or we have not where both sides must.
pub(in crate::client) fn check_capability(
    method: &str,
    agreement: &Agreement,
    declares_tasks: bool,
) -> Result<(), String> {
    check_own_tasks(method, agreement.revision, declares_tasks)?;
    match missing_capability(method, &agreement.capabilities, agreement.revision) {
        None => Ok(()),
        Some(missing) => Err(not_declared_message(missing, agreement.revision)),
    }
}

/// Refuses a request about tasks of 2026-07-28 unless this client has declared them (TX-1).
fn check_own_tasks(method: &str, revision: Revision, declares_tasks: bool) -> Result<(), String> {
    let is_task_method = matches!(
        method.parse(),
        Ok(Method::GetTask | Method::CancelTask | Method::UpdateTask)
    );
    if is_task_method && revision.era() == Era::Stateless && !declares_tasks {
        Err(tasks_not_enabled_message())
    } else {
        Ok(())
    }
}

pub(in crate::client) fn tasks_not_enabled_message() -> String {
    format!(
        "this client has not declared `{TASKS_EXTENSION}` (enable it with `ClientConfig::tasks`)"
    )
}

/// Returns the capability that a method needs and the server lacks, by its name in the protocol.
fn missing_capability(
    method: &str,
    capabilities: &ServerCapabilities,
    revision: Revision,
) -> Option<&'static str> {
    let resources = capabilities.resources.as_ref();
    let tasks = capabilities.tasks.as_ref();
    let (name, is_there) = match method.parse().ok()? {
        Method::ListTools | Method::CallTool => ("tools", capabilities.tools.is_some()),
        Method::ListResources | Method::ListResourceTemplates | Method::ReadResource => {
            ("resources", resources.is_some())
        }
        Method::Subscribe | Method::Unsubscribe => (
            "resources.subscribe",
            resources.is_some_and(|resources| resources.subscribe == Some(true)),
        ),
        Method::ListPrompts | Method::GetPrompt => ("prompts", capabilities.prompts.is_some()),
        // 2024-11-05 has completion without a capability.
        Method::Complete if revision == Revision::V2024_11_05 => return None,
        Method::Complete => ("completions", capabilities.completions.is_some()),
        Method::SetLevel => ("logging", capabilities.logging.is_some()),
        // Not part of the protocol, where servers ask clients: kept as it came (FT-4).
        Method::CreateMessage => ("sampling", capabilities.extras.contains_key("sampling")),
        Method::GetTask | Method::CancelTask | Method::UpdateTask
            if revision >= Revision::V2026_07_28 =>
        {
            (TASKS_EXTENSION, capabilities.has_extension(EXTENSION))
        }
        Method::GetTask | Method::GetTaskPayload => ("tasks", tasks.is_some()),
        Method::ListTasks => (
            "tasks.list",
            tasks.is_some_and(|tasks| tasks.list.is_some()),
        ),
        Method::CancelTask => (
            "tasks.cancel",
            tasks.is_some_and(|tasks| tasks.cancel.is_some()),
        ),
        _ => return None,
    };
    (!is_there).then_some(name)
}

#[cfg(test)]
mod tests {
    use bowline_types::Wire;

    use super::*;

    #[test]
    fn each_method_needs_its_capability() {
        let none = ServerCapabilities::new();
        let all = r#"{"tools":{},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{},"sampling":{}}"#;
        let all = ServerCapabilities::from_json(all).expect("capabilities");
        for (method, needs) in [
            ("tools/list", "tools"),
            ("tools/call", "tools"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resources"),
            ("resources/read", "resources"),
            ("resources/subscribe", "resources.subscribe"),
            ("resources/unsubscribe", "resources.subscribe"),
            ("prompts/list", "prompts"),
            ("prompts/get", "prompts"),
            ("completion/complete", "completions"),
            ("logging/setLevel", "logging"),
            ("sampling/createMessage", "sampling"),
        ] {
            let in_one = Revision::V2025_11_25;
            assert_eq!(missing_capability(method, &none, in_one), Some(needs));
            assert_eq!(missing_capability(method, &all, in_one), None);
        }
    }

    // proves: FT-12
    #[test]
    fn tasks_need_the_capability_of_their_generation() {
        let none = ServerCapabilities::new();
        let old = r#"{"tasks":{"list":{},"cancel":{}}}"#;
        let old = ServerCapabilities::from_json(old).expect("capabilities");
        let mut new = ServerCapabilities::new();
        new.add_extension(EXTENSION);
        let bare = ServerCapabilities::from_json(r#"{"tasks":{}}"#).expect("capabilities");
        let [before, after] = [Revision::V2025_11_25, Revision::V2026_07_28];
        for (method, needs) in [
            ("tasks/get", "tasks"),
            ("tasks/result", "tasks"),
            ("tasks/list", "tasks.list"),
            ("tasks/cancel", "tasks.cancel"),
        ] {
            assert_eq!(missing_capability(method, &none, before), Some(needs));
            assert_eq!(missing_capability(method, &new, before), Some(needs));
            assert_eq!(missing_capability(method, &old, before), None);
            let part = (needs != "tasks").then_some(needs);
            assert_eq!(missing_capability(method, &bare, before), part);
        }
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let missing = missing_capability(method, &old, after);
            assert!(
                missing.is_some_and(|missing| missing.contains(EXTENSION)),
                "{method}"
            );
            assert_eq!(missing_capability(method, &new, after), None);
        }
    }

    // proves: FT-12
    #[test]
    fn tasks_of_the_extension_need_our_declaration_too() {
        for (method, revision, needs) in [
            ("tasks/get", Revision::V2026_07_28, true),
            ("tasks/update", Revision::V2026_07_28, true),
            ("tasks/cancel", Revision::V2026_07_28, true),
            ("tools/call", Revision::V2026_07_28, false),
            ("tasks/get", Revision::V2025_11_25, false),
        ] {
            let refused = check_own_tasks(method, revision, false);
            assert_eq!(refused.is_err(), needs, "{method}");
            assert_eq!(check_own_tasks(method, revision, true), Ok(()));
        }
    }

    // proves: PV-5
    #[test]
    fn a_method_that_a_revision_lacks_is_reported_with_the_revisions_that_have_it() {
        for (name, revision, also) in [
            ("completions", Revision::V2025_06_18, None),
            ("completions", Revision::V2024_11_05, Some("2025-03-26")),
            ("tasks.list", Revision::V2025_06_18, Some("2025-11-25")),
            (TASKS_EXTENSION, Revision::V2025_11_25, Some("2026-07-28")),
            (TASKS_EXTENSION, Revision::V2026_07_28, None),
            ("tools.listChanged", Revision::V2024_11_05, None),
        ] {
            let message = not_declared_message(name, revision);
            assert!(message.contains(name), "{message}");
            assert_eq!(
                message.contains("not in revision"),
                also.is_some(),
                "{message}"
            );
            assert!(message.contains(also.unwrap_or_default()), "{message}");
        }
    }

    #[test]
    fn methods_without_a_capability_are_let_through() {
        let none = ServerCapabilities::new();
        let first = Revision::V2024_11_05;
        for method in ["ping", "completion/complete", "x/own"] {
            assert_eq!(missing_capability(method, &none, first), None);
        }
    }
}
