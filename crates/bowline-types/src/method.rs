//! The methods of the protocol: which side may send each, in which revisions, with which
//! parameters and results.
//!
//! [`Method`] is the table. For each method there is also an empty type in [`requests`] or
//! [`notifications`] that names its Rust types, for generic code:
//!
//! ```
//! use bowline_types::method::{RequestMethod, requests};
//! use bowline_types::{Method, Revision};
//!
//! fn wire_name<R: RequestMethod>() -> &'static str {
//!     R::METHOD.as_str()
//! }
//! assert_eq!(wire_name::<requests::CallTool>(), "tools/call");
//!
//! let ping: Method = "ping".parse()?;
//! assert!(ping.from_client().contains(Revision::V2025_11_25));
//! assert!(!ping.from_client().contains(Revision::V2026_07_28));
//! # Ok::<(), bowline_types::method::UnknownMethod>(())
//! ```

use std::fmt;
use std::str::FromStr;

use crate::revision::{Revision, Revisions};
use crate::wire::{Shape, Wire};

/// A request method, with the types of its parameters and its result.
pub trait RequestMethod {
    /// The method.
    const METHOD: Method;
    /// The type of the parameters.
    type Params: Wire;
    /// The type of the result.
    type Result: Wire;
}

/// A notification method, with the type of its parameters.
pub trait NotificationMethod {
    /// The method.
    const METHOD: Method;
    /// The type of the parameters.
    type Params: Wire;
}

/// A row of the table of methods.
#[derive(Debug)]
struct Entry {
    name: &'static str,
    from_client: Revisions,
    from_server: Revisions,
    params: &'static Shape,
    params_required: Revisions,
    result: Option<&'static Shape>,
    extension: Option<&'static str>,
}

macro_rules! methods {
    (
        requests {
            $(
                $(#[$request_doc:meta])*
                $request:ident = $request_name:literal {
                    client $request_client:expr, server $request_server:expr,
                    params $request_params:ty, required $request_required:expr,
                    result $result:ty
                    $(, extension $request_extension:path)?
                }
            )+
        }
        notifications {
            $(
                $(#[$notification_doc:meta])*
                $notification:ident = $notification_name:literal {
                    client $notification_client:expr, server $notification_server:expr,
                    params $notification_params:ty, required $notification_required:expr
                    $(, extension $notification_extension:path)?
                }
            )+
        }
    ) => {
        /// A method of at least one revision.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$request_doc])* $request,)+
            $($(#[$notification_doc])* $notification,)+
        }

        impl Method {
            /// All methods.
            pub const ALL: &'static [Self] = &[
                $(Self::$request,)+
                $(Self::$notification,)+
            ];

            fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$request => const { &Entry {
                        name: $request_name,
                        from_client: revisions!($request_client),
                        from_server: revisions!($request_server),
                        params: <$request_params as Wire>::SHAPE,
                        params_required: revisions!($request_required),
                        result: Some(<$result as Wire>::SHAPE),
                        extension: methods!(@extension $($request_extension)?),
                    } },)+
                    $(Self::$notification => const { &Entry {
                        name: $notification_name,
                        from_client: revisions!($notification_client),
                        from_server: revisions!($notification_server),
                        params: <$notification_params as Wire>::SHAPE,
                        params_required: revisions!($notification_required),
                        result: None,
                        extension: methods!(@extension $($notification_extension)?),
                    } },)+
                }
            }
        }

        impl FromStr for Method {
            type Err = UnknownMethod;

            fn from_str(name: &str) -> Result<Self, UnknownMethod> {
                match name {
                    $($request_name => Ok(Self::$request),)+
                    $($notification_name => Ok(Self::$notification),)+
                    other => Err(UnknownMethod(crate::json::shortened(other))),
                }
            }
        }

        /// One type for each request. See [`RequestMethod`].
        pub mod requests {
            use super::{Method, RequestMethod};
            $(
                $(#[$request_doc])*
                #[derive(Clone, Copy, Debug)]
                #[non_exhaustive]
                pub struct $request;

                impl RequestMethod for $request {
                    const METHOD: Method = Method::$request;
                    type Params = $request_params;
                    type Result = $result;
                }
            )+
        }

        /// One type for each notification. See [`NotificationMethod`].
        pub mod notifications {
            use super::{Method, NotificationMethod};
            $(
                $(#[$notification_doc])*
                #[derive(Clone, Copy, Debug)]
                #[non_exhaustive]
                pub struct $notification;

                impl NotificationMethod for $notification {
                    const METHOD: Method = Method::$notification;
                    type Params = $notification_params;
                }
            )+
        }
    };
    (@extension) => { None };
    (@extension $extension:path) => { Some($extension) };
}

const ALL: Revisions = Revisions::ALL;
const NONE: Revisions = Revisions::NONE;

methods! {
    requests {
        /// Opens a session of the handshake era.
        Initialize = "initialize" {
            client until(V2025_11_25), server NONE,
            params crate::lifecycle::InitializeParams, required ALL,
            result crate::lifecycle::InitializeResult
        }
        /// Checks that the peer still responds.
        Ping = "ping" {
            client until(V2025_11_25), server until(V2025_11_25),
            params crate::result::RequestParams, required NONE,
            result crate::result::EmptyResult
        }
        /// Discovers the capabilities of a server of the stateless era.
        Discover = "server/discover" {
            client since(V2026_07_28), server NONE,
            params crate::result::RequestParams, required ALL,
            result crate::lifecycle::DiscoverResult
        }
        /// Lists the tools.
        ListTools = "tools/list" {
            client ALL, server NONE,
            params crate::pagination::PaginatedParams, required since(V2026_07_28),
            result crate::tools::ListToolsResult
        }
        /// Calls a tool.
        CallTool = "tools/call" {
            client ALL, server NONE,
            params crate::tools::CallToolParams, required ALL,
            result crate::tools::CallToolResponse
        }
        /// Lists the resources.
        ListResources = "resources/list" {
            client ALL, server NONE,
            params crate::pagination::PaginatedParams, required since(V2026_07_28),
            result crate::resources::ListResourcesResult
        }
        /// Lists the resource templates.
        ListResourceTemplates = "resources/templates/list" {
            client ALL, server NONE,
            params crate::pagination::PaginatedParams, required since(V2026_07_28),
            result crate::resources::ListResourceTemplatesResult
        }
        /// Reads a resource.
        ReadResource = "resources/read" {
            client ALL, server NONE,
            params crate::resources::ReadResourceParams, required ALL,
            result crate::resources::ReadResourceResponse
        }
        /// Subscribes to changes of a resource.
        Subscribe = "resources/subscribe" {
            client until(V2025_11_25), server NONE,
            params crate::resources::SubscribeParams, required ALL,
            result crate::result::EmptyResult
        }
        /// Ends the subscription to a resource.
        Unsubscribe = "resources/unsubscribe" {
            client until(V2025_11_25), server NONE,
            params crate::resources::SubscribeParams, required ALL,
            result crate::result::EmptyResult
        }
        /// Lists the prompts.
        ListPrompts = "prompts/list" {
            client ALL, server NONE,
            params crate::pagination::PaginatedParams, required since(V2026_07_28),
            result crate::prompts::ListPromptsResult
        }
        /// Fetches the messages of a prompt, with its arguments filled in.
        GetPrompt = "prompts/get" {
            client ALL, server NONE,
            params crate::prompts::GetPromptParams, required ALL,
            result crate::prompts::GetPromptResponse
        }
        /// Completes an argument of a prompt or a resource template.
        Complete = "completion/complete" {
            client ALL, server NONE,
            params crate::completion::CompleteParams, required ALL,
            result crate::completion::CompleteResult
        }
        /// Sets the minimum level of the log messages of a session.
        SetLevel = "logging/setLevel" {
            client until(V2025_11_25), server NONE,
            params crate::logging::SetLevelParams, required ALL,
            result crate::result::EmptyResult
        }
        /// Opens a subscription to changes.
        Listen = "subscriptions/listen" {
            client since(V2026_07_28), server NONE,
            params crate::subscriptions::ListenParams, required ALL,
            result crate::subscriptions::ListenResult
        }
        /// Fetches the state of a task.
        GetTask = "tasks/get" {
            client since(V2025_11_25), server only(V2025_11_25),
            params crate::tasks::TaskParams, required ALL,
            result crate::tasks::GetTaskResult,
            extension crate::tasks::EXTENSION
        }
        /// Waits for a task to end and fetches its result.
        GetTaskPayload = "tasks/result" {
            client only(V2025_11_25), server only(V2025_11_25),
            params crate::tasks::TaskParams, required ALL,
            result crate::result::AnyResult
        }
        /// Lists the tasks.
        ListTasks = "tasks/list" {
            client only(V2025_11_25), server only(V2025_11_25),
            params crate::pagination::PaginatedParams, required NONE,
            result crate::tasks::ListTasksResult
        }
        /// Cancels a task.
        CancelTask = "tasks/cancel" {
            client since(V2025_11_25), server only(V2025_11_25),
            params crate::tasks::TaskParams, required ALL,
            result crate::tasks::CancelTaskResult,
            extension crate::tasks::EXTENSION
        }
        /// Sends responses to the input requests of a task.
        UpdateTask = "tasks/update" {
            client since(V2026_07_28), server NONE,
            params crate::tasks::UpdateTaskParams, required ALL,
            result crate::result::EmptyResult,
            extension crate::tasks::EXTENSION
        }
        /// Requests a message from the client's model. An input request since 2026-07-28.
        CreateMessage = "sampling/createMessage" {
            client NONE, server until(V2025_11_25),
            params crate::sampling::CreateMessageParams, required ALL,
            result crate::sampling::CreateMessageResult
        }
        /// Requests the roots. An input request since 2026-07-28.
        ListRoots = "roots/list" {
            client NONE, server until(V2025_11_25),
            params crate::roots::ListRootsParams, required NONE,
            result crate::roots::ListRootsResult
        }
        /// Requests input from the user. An input request since 2026-07-28.
        Elicit = "elicitation/create" {
            client NONE, server between(V2025_06_18, V2025_11_25),
            params crate::elicitation::ElicitParams, required ALL,
            result crate::elicitation::ElicitResult
        }
        /// Lists the skills.
        ListSkills = "skills/list" {
            client since(V2026_07_28), server NONE,
            params crate::pagination::PaginatedParams, required ALL,
            result crate::skills::ListSkillsResult,
            extension crate::skills::EXTENSION
        }
        /// Fetches a skill.
        GetSkill = "skills/get" {
            client since(V2026_07_28), server NONE,
            params crate::skills::GetSkillParams, required ALL,
            result crate::skills::GetSkillResult,
            extension crate::skills::EXTENSION
        }
        /// Lists the resources of a directory.
        ReadDirectory = "resources/directory/read" {
            client since(V2026_07_28), server NONE,
            params crate::skills::ReadDirectoryParams, required ALL,
            result crate::skills::ReadDirectoryResult,
            extension crate::skills::EXTENSION
        }
    }
    notifications {
        /// The client has received the result of `initialize`.
        Initialized = "notifications/initialized" {
            client until(V2025_11_25), server NONE,
            params crate::result::NotificationParams, required NONE
        }
        /// The request is cancelled. A server of 2026-07-28 sends it only to end a subscription.
        Cancelled = "notifications/cancelled" {
            client ALL, server ALL,
            params crate::progress::CancelledParams, required ALL
        }
        /// The progress of a request.
        Progress = "notifications/progress" {
            client until(V2025_11_25), server ALL,
            params crate::progress::ProgressParams, required ALL
        }
        /// A log message.
        LoggingMessage = "notifications/message" {
            client NONE, server ALL,
            params crate::logging::LoggingMessageParams, required ALL
        }
        /// The list of tools has changed.
        ToolListChanged = "notifications/tools/list_changed" {
            client NONE, server ALL,
            params crate::result::NotificationParams, required NONE
        }
        /// The list of prompts has changed.
        PromptListChanged = "notifications/prompts/list_changed" {
            client NONE, server ALL,
            params crate::result::NotificationParams, required NONE
        }
        /// The list of resources has changed.
        ResourceListChanged = "notifications/resources/list_changed" {
            client NONE, server ALL,
            params crate::result::NotificationParams, required NONE
        }
        /// A subscribed resource has changed.
        ResourceUpdated = "notifications/resources/updated" {
            client NONE, server ALL,
            params crate::resources::ResourceUpdatedParams, required ALL
        }
        /// The roots have changed.
        RootsListChanged = "notifications/roots/list_changed" {
            client until(V2025_11_25), server NONE,
            params crate::result::NotificationParams, required NONE
        }
        /// The user has completed a URL elicitation.
        ElicitationComplete = "notifications/elicitation/complete" {
            client NONE, server only(V2025_11_25),
            params crate::elicitation::ElicitationCompleteParams, required ALL
        }
        /// A task of 2025-11-25 has changed.
        TaskStatus = "notifications/tasks/status" {
            client only(V2025_11_25), server only(V2025_11_25),
            params crate::tasks::TaskStatusParams, required ALL
        }
        /// A task of the tasks extension has changed.
        Tasks = "notifications/tasks" {
            client NONE, server since(V2026_07_28),
            params crate::tasks::TaskStatusParams, required ALL,
            extension crate::tasks::EXTENSION
        }
        /// The changes that a subscription covers. Its first message.
        Acknowledged = "notifications/subscriptions/acknowledged" {
            client NONE, server since(V2026_07_28),
            params crate::subscriptions::AcknowledgedParams, required ALL
        }
    }
}

impl Method {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        self.entry().name
    }

    /// Returns `true` for a request, `false` for a notification.
    pub fn is_request(self) -> bool {
        self.entry().result.is_some()
    }

    /// Returns the revisions in which a client may send it.
    pub fn from_client(self) -> Revisions {
        self.entry().from_client
    }

    /// Returns the revisions in which a server may send it as a message of its own.
    pub fn from_server(self) -> Revisions {
        self.entry().from_server
    }

    /// Returns the revisions in which either side may send it.
    pub fn revisions(self) -> Revisions {
        self.from_client().union(self.from_server())
    }

    /// Returns the id of the extension that defines it in `revision`.
    pub fn extension(self, revision: Revision) -> Option<&'static str> {
        // In 2025-11-25 tasks are part of the protocol itself.
        self.entry()
            .extension
            .filter(|_| revision >= Revision::V2026_07_28)
    }

    /// Returns the shape of its parameters.
    pub fn params(self) -> &'static Shape {
        self.entry().params
    }

    /// Returns the revisions in which its parameters are required.
    pub fn params_required(self) -> Revisions {
        self.entry().params_required
    }

    /// Returns the shape of its result, or `None` for a notification.
    pub fn result(self) -> Option<&'static Shape> {
        self.entry().result
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of a method that no revision has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMethod(Box<str>);

impl fmt::Display for UnknownMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no protocol revision has a method {:?}", self.0)
    }
}

impl std::error::Error for UnknownMethod {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_show_the_kind() {
        for &method in Method::ALL {
            assert_eq!(method.as_str().parse(), Ok(method));
            let is_notification = method.as_str().starts_with("notifications/");
            assert_eq!(method.is_request(), !is_notification, "{method}");
            assert!(!method.revisions().is_empty(), "{method}");
        }
        let error = "tools/cal".parse::<Method>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no protocol revision has a method \"tools/cal\""
        );
    }

    #[test]
    fn a_stateless_server_sends_no_requests() {
        for &method in Method::ALL {
            let from_server = method.from_server().contains(Revision::V2026_07_28);
            assert!(!(from_server && method.is_request()), "{method}");
        }
    }
}
