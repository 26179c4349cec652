//! Validation of a tool's arguments and results against its schemas (SV-5, TL-8), with the feature
//! `validate`.
//!
//! What is checked is decided when a tool is defined: arguments whose type enforces its whole
//! schema are not checked again, nor are results whose schema comes from their type. Schemas are
//! compiled once, when the tool is registered. Without the feature only decoding checks arguments.

#[cfg(not(feature = "validate"))]
pub(super) use disabled::ToolValidators;
#[cfg(feature = "validate")]
pub(super) use enabled::ToolValidators;

#[cfg(feature = "validate")]
mod enabled {
    use std::sync::Arc;

    use bowline_types::json::Reader;
    use bowline_types::tools::{CallToolResult, Tool};
    use bowline_types::{ErrorObject, Revision};

    use crate::schema::{CheckError, Schema, is_enforced_by_decoding};
    use crate::server::context::Context;
    use crate::server::extract::Rejection;
    use crate::server::telemetry::result_does_not_match;
    use crate::server::tool::ToolFuture;

    #[derive(Clone, Debug)]
    pub(in crate::server) struct ToolValidators {
        arguments: Check,
        result: Check,
    }

    #[derive(Clone, Debug)]
    enum Check {
        /// Nothing needs to be checked.
        Skip,
        /// The object must be empty.
        NoMembers,
        /// The schema is not compiled yet.
        NotCompiled,
        Against(Arc<Schema>),
        /// The schema can't be compiled, so that the tool can't be called.
        BadSchema,
    }

    impl ToolValidators {
        /// Creates the validators for a handler whose arguments have this schema, if it has any.
        pub(in crate::server) fn for_arguments(arguments: Option<&schemars::Schema>) -> Self {
            let arguments = match arguments {
                None => Check::NoMembers,
                Some(schema) if is_enforced_by_decoding(schema) => Check::Skip,
                Some(_) => Check::NotCompiled,
            };
            Self {
                arguments,
                result: Check::Skip,
            }
        }

        /// Checks arguments against the schema, which is not the one of their type.
        pub(in crate::server) fn require_arguments_check(&mut self) {
            self.arguments = Check::NotCompiled;
        }

        /// Checks results against the schema, which is not the one of their type.
        pub(in crate::server) fn require_result_check(&mut self) {
            self.result = Check::NotCompiled;
        }

        /// Compiles the schemas. Returns what is wrong with them.
        pub(in crate::server) fn compile(&mut self, tool: &Tool) -> Option<String> {
            let input = tool.input_schema.as_object().as_str();
            let wrong_input = self.arguments.compile(input);
            let output = tool.output_schema.as_ref();
            let output = output.map_or("{}", |schema| schema.as_object().as_str());
            let wrong_output = self.result.compile(output);
            let of =
                |kind, message| format!("tool {}: its {kind} can't be used: {message}", tool.name);
            let wrong_input = wrong_input.map(|message| of("inputSchema", message));
            wrong_input.or(wrong_output.map(|message| of("outputSchema", message)))
        }

        /// Checks arguments that were decoded.
        pub(in crate::server) fn check_arguments(&self, text: &str) -> Result<(), Rejection> {
            if let (Check::BadSchema, _) | (_, Check::BadSchema) = (&self.arguments, &self.result) {
                let message = "the server is misconfigured";
                return Err(ErrorObject::internal_error(message).into());
            }
            match &self.arguments {
                Check::NoMembers => no_members(text),
                Check::Against(schema) => schema.check(text).map_err(|misfit| {
                    Rejection::Arguments(match misfit {
                        CheckError::Invalid(message) => message,
                        CheckError::Unchecked(message) => {
                            format!("not checked against the schema: {message}")
                        }
                    })
                }),
                Check::Skip | Check::NotCompiled | Check::BadSchema => Ok(()),
            }
        }

        /// Checks the result of a call, when it is ready.
        pub(in crate::server) fn check_result(
            &self,
            called: ToolFuture,
            context: &Context,
        ) -> ToolFuture {
            // TL-8: older clients don't get structured content.
            if context.revision() < Revision::V2025_06_18 {
                return called;
            }
            let Check::Against(schema) = &self.result else {
                return called;
            };
            let (schema, context) = (Arc::clone(schema), context.clone());
            Box::pin(async move {
                let result = called.await?;
                let Err(message) = check_content(&schema, &result) else {
                    return Ok(result);
                };
                result_does_not_match(&context, &message);
                let message = "the result doesn't match the tool's outputSchema";
                Err(ErrorObject::internal_error(message))
            })
        }
    }

    impl Check {
        fn compile(&mut self, schema: &str) -> Option<String> {
            let Self::NotCompiled = self else {
                return None;
            };
            match Schema::compile(schema) {
                Ok(schema) => {
                    *self = Self::Against(Arc::new(schema));
                    None
                }
                Err(refused) => {
                    *self = Self::BadSchema;
                    Some(refused.to_string())
                }
            }
        }
    }

    fn check_content(schema: &Schema, result: &CallToolResult) -> Result<(), String> {
        match &result.structured_content {
            _ if result.is_failure() => Ok(()),
            Some(content) => schema
                .check(content.as_str())
                .map_err(|misfit| misfit.to_string()),
            None => Err("structuredContent is missing".to_owned()),
        }
    }

    /// Refuses arguments of a tool that has none.
    fn no_members(text: &str) -> Result<(), Rejection> {
        let mut first = None;
        let read = Reader::new(text).object(|reader, key| {
            first.get_or_insert_with(|| key.chars().take(100).collect::<String>());
            reader.raw().map(drop)
        });
        match first {
            Some(name) if read.is_ok() => {
                Err(Rejection::Arguments(format!("unknown member {name:?}")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(not(feature = "validate"))]
mod disabled {
    use bowline_types::tools::Tool;

    use crate::server::context::Context;
    use crate::server::extract::Rejection;
    use crate::server::tool::ToolFuture;

    #[derive(Clone, Debug)]
    pub(in crate::server) struct ToolValidators;

    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the same as where there is something to check"
    )]
    impl ToolValidators {
        pub(in crate::server) fn for_arguments(_: Option<&schemars::Schema>) -> Self {
            Self
        }

        pub(in crate::server) fn require_arguments_check(&mut self) {}

        pub(in crate::server) fn require_result_check(&mut self) {}

        pub(in crate::server) fn compile(&mut self, _: &Tool) -> Option<String> {
            None
        }

        pub(in crate::server) fn check_arguments(&self, _: &str) -> Result<(), Rejection> {
            Ok(())
        }

        pub(in crate::server) fn check_result(
            &self,
            called: ToolFuture,
            _: &Context,
        ) -> ToolFuture {
            called
        }
    }
}
