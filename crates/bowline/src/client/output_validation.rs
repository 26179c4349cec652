//! Output schemas of the tools that were listed, and results against them (TL-9), with the
//! feature `validate`.
//!
//! A schema is known from when its tool was listed until the server notifies that its tools have
//! changed or the connection is lost: another server may respond then. A call is held to what was
//! known when it was made, or a server could send `list_changed` just before a result that doesn't
//! fit. A schema is compiled when the first result comes. Without the feature there is nothing
//! here, and nothing is checked.
//!
//! That a result can't be checked doesn't mean that it doesn't fit: what the tool did is done, and
//! the fault may be ours. It is returned, with the reason, unless the policy is
//! strict.

#[cfg(not(feature = "validate"))]
pub(super) use disabled::{ExpectedOutput, OutputSchemas};
#[cfg(feature = "validate")]
pub use enabled::OutputValidation;
#[cfg(feature = "validate")]
pub(super) use enabled::{ExpectedOutput, OutputSchemas};

/// A result, and why it was not checked, if it should have been.
pub(super) type CheckedResult = (bowline_types::tools::CallToolResult, Option<String>);

#[cfg(feature = "validate")]
mod enabled {
    use std::collections::{BTreeMap, HashMap, HashSet};
    use std::hash::{BuildHasher as _, RandomState};
    use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

    use bowline_types::tools::CallToolResult;
    use bowline_types::{DecodeError, Method, Reader, Revision};
    use tracing::Span;

    use super::CheckedResult;
    use crate::error::{Error, ErrorKind};
    use crate::log_names::shortened;
    use crate::schema::{CheckError, MAX_BYTES, Schema, SchemaError, UnsupportedPatterns};

    /// The policy for validating results of tools against their output schemas.
    ///
    /// By default those of the 1,000 tools that were listed last, in 4 MiB at most. A result
    /// whose schema isn't known is not checked.
    ///
    /// One whose schema is known but can't be used, or that is too large or too much work to check,
    /// is returned with [the reason](crate::client::features::ToolResult::unvalidated_reason), unless the
    /// policy is
    /// [strict](Self::strict).
    ///
    /// ```
    /// use bowline::ClientConfig;
    /// use bowline::client::OutputValidation;
    /// use bowline::types::common::Implementation;
    ///
    /// let mut config = ClientConfig::new(Implementation::new("example", "1.0"));
    /// config.output_validation(OutputValidation::new().max_tools(100));
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct OutputValidation {
        max_tools: usize,
        max_bytes: usize,
        is_strict: bool,
    }

    impl OutputValidation {
        /// Returns the default policy.
        pub const fn new() -> Self {
            Self {
                max_tools: 1_000,
                max_bytes: 4 << 20,
                is_strict: false,
            }
        }

        /// Returns a policy that validates no result.
        pub const fn disabled() -> Self {
            Self {
                max_tools: 0,
                max_bytes: 0,
                is_strict: false,
            }
        }

        /// Sets how many tools' schemas are known. Of more the oldest is forgotten.
        #[must_use]
        pub const fn max_tools(mut self, tools: usize) -> Self {
            self.max_tools = tools;
            self
        }

        /// Sets how large they may be together, as text. Of more the oldest is forgotten.
        #[must_use]
        pub const fn max_bytes(mut self, bytes: usize) -> Self {
            self.max_bytes = bytes;
            self
        }

        /// Makes a result that can't be checked against the schema of its tool an error of kind
        /// [`SchemaMismatch`](ErrorKind::SchemaMismatch), as if it didn't fit.
        #[must_use]
        pub const fn strict(mut self) -> Self {
            self.is_strict = true;
            self
        }
    }

    impl Default for OutputValidation {
        fn default() -> Self {
            Self::new()
        }
    }

    #[derive(Debug)]
    pub(in crate::client) struct OutputSchemas {
        policy: OutputValidation,
        known: Mutex<KnownSchemas>,
    }

    #[derive(Debug, Default)]
    struct KnownSchemas {
        tools: HashMap<Arc<str>, Arc<OutputSchema>>,
        /// The names in the order in which they came, by number: one that comes again is found
        /// without a look at the others, however often a page repeats it.
        order: BTreeMap<u64, Arc<str>>,
        /// How many came.
        count: u64,
        bytes: usize,
        /// How often all were forgotten.
        generation: u64,
        forgotten: ForgottenTools,
    }

    /// Digests of the tools that had a schema which was forgotten, and of which no warning was
    /// logged yet. Of more than may be known the others are not warned of.
    #[derive(Debug, Default)]
    struct ForgottenTools {
        tools: HashSet<u64>,
        digest: RandomState,
    }

    /// What the result of a call has to be: what was known when the call was made.
    #[derive(Clone, Debug, Default)]
    pub(in crate::client) struct ExpectedOutput {
        output: Option<Arc<OutputSchema>>,
        is_strict: bool,
        /// Of the connection, where there is an output to check.
        span: Option<Span>,
    }

    #[derive(Debug)]
    struct OutputSchema {
        /// `None` when it is too large to be kept, or used.
        text: Result<Box<str>, SchemaError>,
        size: usize,
        /// Its place in the order.
        place: u64,
        compiled: OnceLock<Result<Schema, SchemaError>>,
    }

    impl OutputSchemas {
        pub(in crate::client) fn new(policy: OutputValidation) -> Self {
            Self {
                policy,
                known: Mutex::default(),
            }
        }

        /// Returns the generation with which a list that is requested now has to be learned.
        pub(in crate::client) fn generation(&self) -> u64 {
            self.lock().generation
        }

        /// Learns from a list of tools, unless it was asked for before all was forgotten.
        pub(in crate::client) fn learn(&self, list: &str, generation: u64) {
            if self.policy.max_tools == 0 {
                return;
            }
            let Ok(found) = read_output_schemas(list) else {
                return;
            };
            let mut known = self.lock();
            if known.generation != generation {
                return;
            }
            for (name, schema) in found {
                known.insert(&name, schema, self.policy);
            }
        }

        /// Forgets what has changed according to a notification.
        pub(in crate::client) fn handle_notification(&self, method: &str) {
            if method == Method::ToolListChanged.as_str() {
                self.clear();
            }
        }

        pub(in crate::client) fn clear(&self) {
            let mut known = self.lock();
            let mut old = std::mem::take(&mut *known);
            known.generation = old.generation + 1;
            known.forgotten = std::mem::take(&mut old.forgotten);
            for name in old.tools.keys() {
                known.forgotten.add(name, self.policy.max_tools);
            }
            drop(known);
            drop(old);
        }

        /// Returns what the result of a call that is sent now has to match, in this revision. To be
        /// called in the span of the connection.
        pub(in crate::client) fn expected(
            &self,
            tool: &str,
            revision: Option<Revision>,
        ) -> ExpectedOutput {
            // Others have no structured results.
            if revision.is_some_and(|revision| revision < Revision::V2025_06_18) {
                return ExpectedOutput::default();
            }
            let mut known = self.lock();
            let output = known.tools.get(tool).map(Arc::clone);
            let was_forgotten = output.is_none() && known.forgotten.remove(tool);
            drop(known);
            if was_forgotten {
                tracing::warn!(
                    tool = &*shortened(tool),
                    "tool results are not checked until the tools are listed again: too many output schemas"
                );
            }
            ExpectedOutput {
                span: output.is_some().then(Span::current),
                output,
                is_strict: self.policy.is_strict,
            }
        }

        fn lock(&self) -> MutexGuard<'_, KnownSchemas> {
            self.known.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl ExpectedOutput {
        /// Returns a result if it matches the output schema of its tool. That of a tool that failed
        /// need not.
        pub(in crate::client) fn check_result(
            &self,
            tool: &str,
            result: CallToolResult,
        ) -> Result<CheckedResult, Error> {
            let Some(output) = self.output.as_ref().filter(|_| !result.is_failure()) else {
                return Ok((result, None));
            };
            let outcome = match &result.structured_content {
                None => {
                    let message = "structuredContent is missing, but outputSchema requires it";
                    Err(CheckError::Invalid(message.to_owned()))
                }
                Some(content) => output.check(content.as_str()),
            };
            let tool = shortened(tool);
            let message = match outcome {
                Ok(()) => return Ok((result, None)),
                Err(CheckError::Invalid(message)) => message,
                Err(CheckError::Unchecked(message)) if self.is_strict => message,
                Err(CheckError::Unchecked(message)) => {
                    let _entered = self.span.as_ref().map(Span::enter);
                    tracing::warn!(
                        tool,
                        reason = message,
                        "tool result not checked against its outputSchema"
                    );
                    return Ok((result, Some(message)));
                }
            };
            let error = Error::new(ErrorKind::SchemaMismatch, format!("{tool}: {message}"));
            let method = Method::CallTool.as_str();
            Err(error.in_operation(method).with_tool_result(result))
        }
    }

    impl ForgottenTools {
        fn add(&mut self, tool: &str, limit: usize) {
            if self.tools.len() < limit {
                self.tools.insert(self.digest.hash_one(tool));
            }
        }

        /// Returns `true` if it was there.
        fn remove(&mut self, tool: &str) -> bool {
            !self.tools.is_empty() && self.tools.remove(&self.digest.hash_one(tool))
        }
    }

    impl KnownSchemas {
        fn insert(&mut self, name: &str, schema: Option<&str>, policy: OutputValidation) {
            if let Some(known) = self.tools.remove(name) {
                self.bytes -= known.size;
                self.order.remove(&known.place);
            }
            self.forgotten.remove(name);
            let Some(schema) = schema else {
                return;
            };
            let text = match schema.len() {
                bytes if bytes > MAX_BYTES => Err(SchemaError::TooLarge { bytes }),
                _ => Ok(Box::from(schema)),
            };
            let size = name.len() + text.as_ref().map_or(0, |text| str::len(text));
            if size > policy.max_bytes {
                return;
            }
            let name: Arc<str> = name.into();
            self.bytes += size;
            self.count += 1;
            self.order.insert(self.count, Arc::clone(&name));
            let output = OutputSchema {
                text,
                size,
                place: self.count,
                compiled: OnceLock::new(),
            };
            self.tools.insert(name, Arc::new(output));
            while self.tools.len() > policy.max_tools || self.bytes > policy.max_bytes {
                let Some((_, oldest)) = self.order.pop_first() else {
                    break;
                };
                if let Some(gone) = self.tools.remove(&oldest) {
                    self.bytes -= gone.size;
                    self.forgotten.add(&oldest, policy.max_tools);
                }
            }
        }
    }

    impl OutputSchema {
        fn check(&self, content: &str) -> Result<(), CheckError> {
            let schema = self.schema().map_err(|refused| {
                CheckError::Unchecked(format!("the tool's outputSchema can't be used: {refused}"))
            })?;
            schema.check(content).map_err(|misfit| match misfit {
                CheckError::Invalid(message) => CheckError::Invalid(message),
                CheckError::Unchecked(message) => {
                    CheckError::Unchecked(format!("structuredContent can't be checked: {message}"))
                }
            })
        }

        /// Compiles it when it is needed first. Others that need it wait meanwhile: the limits of
        /// a schema are such that it takes 50 ms at worst, and far less than one usually.
        fn schema(&self) -> Result<&Schema, &SchemaError> {
            let text = self.text.as_ref()?;
            let compile = || Schema::compile_with(text, UnsupportedPatterns::Skip);
            self.compiled.get_or_init(compile).as_ref()
        }
    }

    /// Returns the tools of a list with their output schemas.
    fn read_output_schemas(list: &str) -> Result<Vec<(String, Option<&str>)>, DecodeError> {
        let mut found = Vec::new();
        Reader::new(list).object(|reader, key| match key {
            "tools" => reader.array(|reader| {
                let tool = reader.raw()?.reader();
                let schema = tool.peek_member("outputSchema");
                // One that makes no sense is left out of the list, and hides no other here.
                if let (Ok(Some(name)), Ok(schema)) = (tool.peek_tag("name"), schema) {
                    found.push((name.into_owned(), schema.map(|schema| schema.as_str())));
                }
                Ok(())
            }),
            _ => reader.raw().map(drop),
        })?;
        Ok(found)
    }

    #[cfg(test)]
    mod tests;
}

#[cfg(not(feature = "validate"))]
mod disabled {
    use bowline_types::Revision;
    use bowline_types::tools::CallToolResult;

    use super::CheckedResult;
    use crate::error::Error;

    #[derive(Debug)]
    pub(in crate::client) struct OutputSchemas;

    #[expect(
        clippy::unused_self,
        reason = "the same as where there is something to check"
    )]
    impl OutputSchemas {
        pub(in crate::client) fn generation(&self) -> u64 {
            0
        }

        pub(in crate::client) fn learn(&self, _: &str, _: u64) {}

        pub(in crate::client) fn handle_notification(&self, _: &str) {}

        pub(in crate::client) fn clear(&self) {}

        pub(in crate::client) fn expected(&self, _: &str, _: Option<Revision>) -> ExpectedOutput {
            ExpectedOutput
        }
    }

    #[derive(Clone, Debug)]
    pub(in crate::client) struct ExpectedOutput;

    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the same as where there is something to check"
    )]
    impl ExpectedOutput {
        pub(in crate::client) fn check_result(
            &self,
            _: &str,
            result: CallToolResult,
        ) -> Result<CheckedResult, Error> {
            Ok((result, None))
        }
    }
}
