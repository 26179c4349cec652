//! The options of every call, which are set before it is sent.

/// Hands the settings of a call on to the `call` that a typed one is made of.
macro_rules! call_settings {
    () => {
        /// Sets how long it may take without a response, or without progress either where that
        /// [counts](crate::Timeouts::progress_counts). Default: as
        /// [configured](crate::Config::call_timeouts), 30 s.
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.call = self.call.timeout(timeout);
            self
        }

        /// Sets how long it may take altogether. Default: as configured, 10 min.
        pub fn max_total(mut self, total: std::time::Duration) -> Self {
            self.call = self.call.max_total(total);
            self
        }

        /// Waits for a connection, within the call's own time, instead of failing at once.
        pub fn wait_for_ready(mut self) -> Self {
            self.call = self.call.wait_for_ready();
            self
        }

        /// Sets whether it is retried after its connection was lost. Any but
        /// [`Retry::Never`](crate::client::Retry::Never) also waits for a connection.
        pub fn retry(mut self, retry: crate::client::Retry) -> Self {
            self.call = self.call.retry(retry);
            self
        }

        /// Adds entries to `_meta`.
        pub fn meta(mut self, meta: bowline_types::meta::RequestMeta) -> Self {
            self.call = self.call.meta(meta);
            self
        }

        /// Asks the server to report progress, and runs `callback` for each report in the
        /// task that awaits the call. Of more than 32 that wait the latest are kept.
        pub fn on_progress(
            mut self,
            callback: impl FnMut(bowline_types::progress::ProgressParams) + Send + 'static,
        ) -> Self {
            self.call = self.call.on_progress(callback);
            self
        }

        /// Asks the server to report progress, which is read with `progress` of the pending call.
        pub fn with_progress(mut self) -> Self {
            self.call = self.call.with_progress();
            self
        }
    };
}
