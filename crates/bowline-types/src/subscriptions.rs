//! Subscriptions: a stream of changes that a client listens to. New in 2026-07-28.
//!
//! `subscriptions/listen` names the changes that are wanted. The server acknowledges
//! the part that it honours, then sends notifications that carry the id of the listen
//! request in `_meta`, until either side ends it.
//!
//! ```
//! use bowline_types::subscriptions::{ListenParams, SubscriptionFilter};
//!
//! let wanted = SubscriptionFilter::new()
//!     .tools_list_changed(true)
//!     .resource_subscriptions(["file:///notes.md".into()]);
//! let listen = ListenParams::new(wanted);
//! assert_eq!(listen.notifications.prompts_list_changed, None);
//! ```

use crate::meta::{NotificationMeta, RequestMeta, SubscriptionResultMeta};

wire_struct! {
    /// Which changes are wanted, or honoured. What is absent is not.
    pub struct SubscriptionFilter [since(V2026_07_28)] {
        /// Changes of the list of tools.
        opt tools_list_changed: bool = "toolsListChanged";
        /// Changes of the list of prompts.
        opt prompts_list_changed: bool = "promptsListChanged";
        /// Changes of the list of resources.
        opt resources_list_changed: bool = "resourcesListChanged";
        /// Changes of these resources.
        opt resource_subscriptions: Vec<String> = "resourceSubscriptions";
        /// Changes of these tasks, with the tasks extension.
        opt task_ids: Vec<String> = "taskIds";
        ..extras;
    }
}

wire_struct! {
    /// The parameters of `subscriptions/listen`.
    pub struct ListenParams [since(V2026_07_28)] {
        /// What is wanted.
        req notifications: SubscriptionFilter = "notifications";
        /// Additional data.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The parameters of `notifications/subscriptions/acknowledged`.
    pub struct AcknowledgedParams [since(V2026_07_28)] {
        /// What is honoured.
        req notifications: SubscriptionFilter = "notifications";
        /// Additional data: the id of the subscription.
        meta meta: NotificationMeta = "_meta";
    }
}

wire_struct! {
    /// The result with which a server ends a subscription.
    pub struct ListenResult [since(V2026_07_28)] {
        @lenient "resultType" = "complete";
        /// Additional data: the id of the subscription.
        meta meta: SubscriptionResultMeta = "_meta", must since(V2026_07_28);
    }
}
