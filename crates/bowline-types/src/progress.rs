//! Progress and cancellation of requests that run.
//!
//! A request that carries a `progressToken` in its `_meta` may receive progress notifications
//! under that token. A request is cancelled by its id.
//!
//! ```
//! use bowline_types::progress::{CancelledParams, ProgressParams};
//!
//! let halfway = ProgressParams::new("token-1", 50).total(100).message("copying");
//! let stop = CancelledParams::new().request_id(7).reason("the user closed the window");
//! assert!(halfway.progress.as_f64() < halfway.total.unwrap().as_f64());
//! # let _ = stop;
//! ```

use crate::id::{ProgressToken, RequestId};
use crate::json::Number;
use crate::meta::NotificationMeta;

wire_struct! {
    /// The parameters of `notifications/progress`.
    pub struct ProgressParams {
        /// The progress token of the request.
        req progress_token: ProgressToken = "progressToken";
        /// The progress so far. It increases with each notification.
        req progress: Number = "progress";
        /// The progress at completion, if known.
        opt total: Number = "total";
        /// A description of the current step, for users.
        opt message: String = "message", in since(V2025_03_26);
        /// Additional metadata.
        meta meta: NotificationMeta = "_meta";
    }
}

wire_struct! {
    /// The parameters of `notifications/cancelled`.
    pub struct CancelledParams {
        /// The id of the cancelled request. Optional only in the schema of 2025-11-25.
        opt request_id: RequestId = "requestId",
            must since(V2024_11_05).without(only(V2025_11_25));
        /// The reason, for logs and users.
        opt reason: String = "reason";
        /// Additional metadata.
        meta meta: NotificationMeta = "_meta";
    }
}
