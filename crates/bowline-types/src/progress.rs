//! Progress and cancellation: what is said about a request while it runs.
//!
//! A request that carries a `progressToken` in its `_meta` may be answered with progress
//! notifications under that token. A request that is no longer wanted is cancelled by
//! its id.
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
        /// The token of the request.
        req progress_token: ProgressToken = "progressToken";
        /// How far it is. It only rises.
        req progress: Number = "progress";
        /// How far it goes, when that is known.
        opt total: Number = "total";
        /// What is being done, for people.
        opt message: String = "message", in since(V2025_03_26);
        /// Additional data.
        meta meta: NotificationMeta = "_meta";
    }
}

wire_struct! {
    /// The parameters of `notifications/cancelled`.
    pub struct CancelledParams {
        /// The request that is no longer wanted. Only the schema of 2025-11-25 lets it
        /// be left out.
        opt request_id: RequestId = "requestId",
            must since(V2024_11_05).without(only(V2025_11_25));
        /// Why, for logs and people.
        opt reason: String = "reason";
        /// Additional data.
        meta meta: NotificationMeta = "_meta";
    }
}
