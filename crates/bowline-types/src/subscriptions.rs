//! Subscriptions: a stream of change notifications. New in 2026-07-28.
//!
//! `subscriptions/listen` names the requested changes. The server acknowledges those that it
//! supports, then sends notifications that carry the id of the listen request in `_meta`, until
//! either side ends the subscription.
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
    /// The changes that a subscription covers. Absent members are not covered.
    pub struct SubscriptionFilter [since(V2026_07_28)] {
        /// Changes of the list of tools.
        opt tools_list_changed: bool = "toolsListChanged";
        /// Changes of the list of prompts.
        opt prompts_list_changed: bool = "promptsListChanged";
        /// Changes of the list of resources.
        opt resources_list_changed: bool = "resourcesListChanged";
        /// Changes of the resources with these URIs.
        opt resource_subscriptions: Vec<String> = "resourceSubscriptions";
        /// Changes of the tasks with these ids, with the tasks extension.
        opt task_ids: Vec<String> = "taskIds";
        ..extras;
    }
}

wire_struct! {
    /// The parameters of `subscriptions/listen`.
    pub struct ListenParams [since(V2026_07_28)] {
        /// The requested changes.
        req notifications: SubscriptionFilter = "notifications";
        /// Additional metadata.
        meta meta: RequestMeta = "_meta", must since(V2026_07_28);
    }
}

wire_struct! {
    /// The parameters of `notifications/subscriptions/acknowledged`.
    pub struct AcknowledgedParams [since(V2026_07_28)] {
        /// The changes that the server supports.
        req notifications: SubscriptionFilter = "notifications";
        /// Additional metadata: the id of the subscription.
        meta meta: NotificationMeta = "_meta";
    }
}

wire_struct! {
    /// The result that ends a subscription.
    pub struct ListenResult [since(V2026_07_28)] {
        @lenient "resultType" = "complete";
        /// Additional metadata: the id of the subscription.
        meta meta: SubscriptionResultMeta = "_meta", must since(V2026_07_28);
    }
}
