//! Maps the definitions of the schema files to Rust types.

use bowline_types::wire::Shape;
use bowline_types::{
    ErrorCode, JsonObject, Map, Method, ProgressToken, RawJson, RequestId, Revision, Wire,
};
use bowline_types::{
    capabilities::*, common::*, completion::*, content::*, elicitation::*, error::*, input::*,
    lifecycle::*, logging::*, meta::*, pagination::*, progress::*, prompts::*, resources::*,
    result::*, roots::*, sampling::*, subscriptions::*, tasks::*, tools::*,
};

use super::files::File;

/// How a definition is covered.
#[derive(Clone, Copy)]
pub(crate) enum Coverage {
    /// A type.
    Type(Type),
    /// A request or notification of a method, with the type of its parameters.
    Message(Method, Type),
    /// A response with the type of its result.
    Response(Type),
    /// An error response with its code, and the type of its data.
    ErrorResponse(ErrorCode, Option<Type>),
    /// An error object with its code.
    ErrorObject(ErrorCode),
    /// A part of the envelope.
    Envelope,
    /// The list of messages that one side may send.
    MessageList(Side),
    /// Not a type, for the given reason.
    Exempt(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    ClientRequests,
    ClientNotifications,
    ServerRequests,
    ServerNotifications,
    Results,
}

/// A type without its type parameter.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) shape: &'static Shape,
    /// Decodes a text, and encodes the value for a revision.
    pub(crate) recode: fn(&str, Revision) -> Recoded,
}

pub(crate) enum Recoded {
    Unreadable(String),
    NotInRevision(String),
    Written(RawJson),
}

pub(crate) const fn type_of<T: Wire>() -> Type {
    Type {
        shape: T::SHAPE,
        recode: |text, revision| match T::from_json(text) {
            Err(error) => Recoded::Unreadable(error.to_string()),
            Ok(value) => match value.to_json(revision) {
                Err(error) => Recoded::NotInRevision(error.to_string()),
                Ok(json) => Recoded::Written(json),
            },
        },
    }
}

const BASE: &str = "a base of other definitions, which list its members";

/// Returns how `definition` of `file` is covered. `None` makes a test fail.
pub(crate) fn coverage_of(file: &File, definition: &str) -> Option<Coverage> {
    let stateless = file.revision == Revision::V2026_07_28;
    input_request(definition)
        .filter(|_| stateless)
        .or_else(|| message(file, definition))
        .or_else(|| response(definition))
        .or_else(|| feature_type(file, definition).map(Coverage::Type))
        .or_else(|| common_type(definition).map(Coverage::Type))
        .or_else(|| other(definition))
}

/// Requests of a server that are part of a result since 2026-07-28.
fn input_request(definition: &str) -> Option<Coverage> {
    Some(Coverage::Type(match definition {
        "CreateMessageRequest" => type_of::<CreateMessageInput>(),
        "ElicitRequest" => type_of::<ElicitInput>(),
        "ListRootsRequest" => type_of::<ListRootsInput>(),
        _ => return None,
    }))
}

fn message(file: &File, definition: &str) -> Option<Coverage> {
    use Method::*;
    let task_status = if file.name == "ext-tasks" {
        Tasks
    } else {
        TaskStatus
    };
    let (method, params) = match definition {
        "CallToolRequest" => (CallTool, type_of::<CallToolParams>()),
        "CancelTaskRequest" => (CancelTask, type_of::<TaskParams>()),
        "CancelledNotification" => (Cancelled, type_of::<CancelledParams>()),
        "CompleteRequest" => (Complete, type_of::<CompleteParams>()),
        "CreateMessageRequest" => (CreateMessage, type_of::<CreateMessageParams>()),
        "DiscoverRequest" => (Discover, type_of::<RequestParams>()),
        "ElicitRequest" => (Elicit, type_of::<ElicitParams>()),
        "ElicitationCompleteNotification" => {
            (ElicitationComplete, type_of::<ElicitationCompleteParams>())
        }
        "GetPromptRequest" => (GetPrompt, type_of::<GetPromptParams>()),
        "GetTaskPayloadRequest" => (GetTaskPayload, type_of::<TaskParams>()),
        "GetTaskRequest" => (GetTask, type_of::<TaskParams>()),
        "InitializeRequest" => (Initialize, type_of::<InitializeParams>()),
        "InitializedNotification" => (Initialized, type_of::<NotificationParams>()),
        "ListPromptsRequest" => (ListPrompts, type_of::<PaginatedParams>()),
        "ListResourceTemplatesRequest" => (ListResourceTemplates, type_of::<PaginatedParams>()),
        "ListResourcesRequest" => (ListResources, type_of::<PaginatedParams>()),
        "ListRootsRequest" => (ListRoots, type_of::<ListRootsParams>()),
        "ListTasksRequest" => (ListTasks, type_of::<PaginatedParams>()),
        "ListToolsRequest" => (ListTools, type_of::<PaginatedParams>()),
        "LoggingMessageNotification" => (LoggingMessage, type_of::<LoggingMessageParams>()),
        "PingRequest" => (Ping, type_of::<RequestParams>()),
        "ProgressNotification" => (Progress, type_of::<ProgressParams>()),
        "PromptListChangedNotification" => (PromptListChanged, type_of::<NotificationParams>()),
        "ReadResourceRequest" => (ReadResource, type_of::<ReadResourceParams>()),
        "ResourceListChangedNotification" => (ResourceListChanged, type_of::<NotificationParams>()),
        "ResourceUpdatedNotification" => (ResourceUpdated, type_of::<ResourceUpdatedParams>()),
        "RootsListChangedNotification" => (RootsListChanged, type_of::<NotificationParams>()),
        "SetLevelRequest" => (SetLevel, type_of::<SetLevelParams>()),
        "SubscribeRequest" => (Subscribe, type_of::<SubscribeParams>()),
        "SubscriptionsAcknowledgedNotification" => (Acknowledged, type_of::<AcknowledgedParams>()),
        "SubscriptionsListenRequest" => (Listen, type_of::<ListenParams>()),
        "TaskStatusNotification" => (task_status, type_of::<TaskStatusParams>()),
        "ToolListChangedNotification" => (ToolListChanged, type_of::<NotificationParams>()),
        "UnsubscribeRequest" => (Unsubscribe, type_of::<SubscribeParams>()),
        "UpdateTaskRequest" => (UpdateTask, type_of::<UpdateTaskParams>()),
        _ => return None,
    };
    Some(Coverage::Message(method, params))
}

fn response(definition: &str) -> Option<Coverage> {
    Some(Coverage::Response(match definition {
        "CallToolResultResponse" => type_of::<CallToolResponse>(),
        "CompleteResultResponse" => type_of::<CompleteResult>(),
        "DiscoverResultResponse" => type_of::<DiscoverResult>(),
        "GetPromptResultResponse" => type_of::<GetPromptResponse>(),
        "ListPromptsResultResponse" => type_of::<ListPromptsResult>(),
        "ListResourceTemplatesResultResponse" => type_of::<ListResourceTemplatesResult>(),
        "ListResourcesResultResponse" => type_of::<ListResourcesResult>(),
        "ListToolsResultResponse" => type_of::<ListToolsResult>(),
        "ReadResourceResultResponse" => type_of::<ReadResourceResponse>(),
        "SubscriptionsListenResultResponse" => type_of::<ListenResult>(),
        _ => return None,
    }))
}

fn feature_type(file: &File, definition: &str) -> Option<Type> {
    let titled_enum = if file.revision == Revision::V2025_06_18 {
        type_of::<LegacyTitledEnumSchema>()
    } else {
        type_of::<PrimitiveSchema>()
    };
    Some(match definition {
        "CallToolRequestParams" => type_of::<CallToolParams>(),
        "CallToolResult" => type_of::<CallToolResult>(),
        "CancelTaskResult" => type_of::<CancelTaskResult>(),
        "CancelledNotificationParams" => type_of::<CancelledParams>(),
        "CancelledTask" | "CompletedTask" | "DetailedTask" | "FailedTask" | "InputRequiredTask"
        | "WorkingTask" => type_of::<DetailedTask>(),
        "CompleteRequestParams" => type_of::<CompleteParams>(),
        "CompleteResult" => type_of::<CompleteResult>(),
        "CreateMessageRequestParams" => type_of::<CreateMessageParams>(),
        "CreateMessageResult" => type_of::<CreateMessageResult>(),
        "CreateTaskResult" => type_of::<CreateTaskResult>(),
        "DiscoverResult" => type_of::<DiscoverResult>(),
        "BooleanSchema" => type_of::<BooleanSchema>(),
        "ElicitRequestFormParams" => type_of::<ElicitFormParams>(),
        "ElicitRequestParams" => type_of::<ElicitParams>(),
        "ElicitRequestURLParams" => type_of::<ElicitUrlParams>(),
        "ElicitResult" => type_of::<ElicitResult>(),
        "EnumSchema" => titled_enum,
        "GetPromptRequestParams" => type_of::<GetPromptParams>(),
        "GetPromptResult" => type_of::<GetPromptResult>(),
        "GetTaskPayloadResult" => type_of::<AnyResult>(),
        "GetTaskResult" => type_of::<GetTaskResult>(),
        "InitializeRequestParams" => type_of::<InitializeParams>(),
        "InitializeResult" => type_of::<InitializeResult>(),
        "InputRequest" => type_of::<InputRequest>(),
        "InputRequests" => type_of::<Map<InputRequest>>(),
        "InputRequiredResult" => type_of::<InputRequiredResult>(),
        "InputResponse" => type_of::<InputResponse>(),
        "InputResponses" => type_of::<Map<InputResponse>>(),
        "LegacyTitledEnumSchema" => type_of::<LegacyTitledEnumSchema>(),
        "ListPromptsResult" => type_of::<ListPromptsResult>(),
        "ListResourceTemplatesResult" => type_of::<ListResourceTemplatesResult>(),
        "ListResourcesResult" => type_of::<ListResourcesResult>(),
        "ListRootsResult" => type_of::<ListRootsResult>(),
        "ListTasksResult" => type_of::<ListTasksResult>(),
        "ListToolsResult" => type_of::<ListToolsResult>(),
        "LoggingMessageNotificationParams" => type_of::<LoggingMessageParams>(),
        "MultiSelectEnumSchema" | "SingleSelectEnumSchema" => type_of::<PrimitiveSchema>(),
        "NumberSchema" => type_of::<NumberSchema>(),
        "PaginatedRequestParams" => type_of::<PaginatedParams>(),
        "PrimitiveSchemaDefinition" => type_of::<PrimitiveSchema>(),
        "ProgressNotificationParams" => type_of::<ProgressParams>(),
        "ReadResourceRequestParams" => type_of::<ReadResourceParams>(),
        "ReadResourceResult" => type_of::<ReadResourceResult>(),
        "RelatedTaskMetadata" => type_of::<RelatedTask>(),
        "ResourceUpdatedNotificationParams" => type_of::<ResourceUpdatedParams>(),
        "SetLevelRequestParams" => type_of::<SetLevelParams>(),
        "StringSchema" => type_of::<StringSchema>(),
        "SubscribeRequestParams" | "UnsubscribeRequestParams" => type_of::<SubscribeParams>(),
        "SubscriptionsAcknowledgedNotificationParams" => type_of::<AcknowledgedParams>(),
        "SubscriptionsListenRequestParams" => type_of::<ListenParams>(),
        "SubscriptionsListenResult" => type_of::<ListenResult>(),
        "Task" => type_of::<Task>(),
        "TaskMetadata" => type_of::<TaskMetadata>(),
        "TaskStatusNotificationParams" => type_of::<TaskStatusParams>(),
        "TitledMultiSelectEnumSchema" => type_of::<TitledMultiSelectEnumSchema>(),
        "TitledSingleSelectEnumSchema" => type_of::<TitledSingleSelectEnumSchema>(),
        "UntitledMultiSelectEnumSchema" => type_of::<UntitledMultiSelectEnumSchema>(),
        "UntitledSingleSelectEnumSchema" => type_of::<UntitledSingleSelectEnumSchema>(),
        "UpdateTaskResult" => type_of::<EmptyResult>(),
        _ => return None,
    })
}

fn common_type(definition: &str) -> Option<Type> {
    Some(match definition {
        "Annotations" => type_of::<Annotations>(),
        "AudioContent" => type_of::<AudioContent>(),
        "BlobResourceContents" => type_of::<BlobResourceContents>(),
        "ClientCapabilities" => type_of::<ClientCapabilities>(),
        "ContentBlock" => type_of::<ContentBlock>(),
        "Cursor" | "ResultType" => type_of::<String>(),
        "EmbeddedResource" => type_of::<EmbeddedResource>(),
        "EmptyResult" => type_of::<EmptyResult>(),
        "Error" => type_of::<ErrorObject>(),
        "Icon" => type_of::<Icon>(),
        "ImageContent" => type_of::<ImageContent>(),
        "Implementation" => type_of::<Implementation>(),
        "JSONArray" => type_of::<Vec<RawJson>>(),
        "JSONObject" => type_of::<JsonObject>(),
        "JSONValue" => type_of::<RawJson>(),
        "LoggingLevel" => type_of::<LoggingLevel>(),
        "MetaObject" => type_of::<Meta>(),
        "ModelHint" => type_of::<ModelHint>(),
        "ModelPreferences" => type_of::<ModelPreferences>(),
        "NotificationMetaObject" => type_of::<NotificationMeta>(),
        "NotificationParams" => type_of::<NotificationParams>(),
        "ProgressToken" => type_of::<ProgressToken>(),
        "Prompt" => type_of::<Prompt>(),
        "PromptArgument" => type_of::<PromptArgument>(),
        "PromptMessage" => type_of::<PromptMessage>(),
        "PromptReference" => type_of::<PromptReference>(),
        "RequestId" => type_of::<RequestId>(),
        "RequestMetaObject" => type_of::<RequestMeta>(),
        "RequestParams" => type_of::<RequestParams>(),
        "Resource" => type_of::<Resource>(),
        "ResourceLink" => type_of::<ResourceLink>(),
        "ResourceReference" | "ResourceTemplateReference" => type_of::<ResourceTemplateReference>(),
        "ResourceTemplate" => type_of::<ResourceTemplate>(),
        "Result" => type_of::<AnyResult>(),
        "ResultMetaObject" => type_of::<ResultMeta>(),
        "Role" => type_of::<Role>(),
        "Root" => type_of::<Root>(),
        "SamplingMessage" => type_of::<SamplingMessage>(),
        "SamplingMessageContentBlock" => type_of::<SamplingContent>(),
        "ServerCapabilities" => type_of::<ServerCapabilities>(),
        "SubscriptionFilter"
        | "TaskSubscriptionAcknowledgedNotifications"
        | "TaskSubscriptionNotifications" => type_of::<SubscriptionFilter>(),
        "SubscriptionsListenResultMetaObject" => type_of::<SubscriptionResultMeta>(),
        "TaskStatus" => type_of::<TaskStatus>(),
        "TextContent" => type_of::<TextContent>(),
        "TextResourceContents" => type_of::<TextResourceContents>(),
        "Tool" => type_of::<Tool>(),
        "ToolAnnotations" => type_of::<ToolAnnotations>(),
        "ToolChoice" => type_of::<ToolChoice>(),
        "ToolExecution" => type_of::<ToolExecution>(),
        "ToolResultContent" => type_of::<ToolResultContent>(),
        "ToolUseContent" => type_of::<ToolUseContent>(),
        _ => return None,
    })
}

fn other(definition: &str) -> Option<Coverage> {
    use ErrorCode::*;
    Some(match definition {
        "Annotated"
        | "BaseMetadata"
        | "CacheableResult"
        | "Icons"
        | "InputResponseRequestParams"
        | "Notification"
        | "PaginatedRequest"
        | "PaginatedResult"
        | "Request"
        | "ResourceContents"
        | "ResourceRequestParams"
        | "TaskAugmentedRequestParams" => Coverage::Exempt(BASE),
        "TasksExtensionCapability" => Coverage::Exempt("the empty settings of an extension: `{}`"),
        "ClientRequest" => Coverage::MessageList(Side::ClientRequests),
        "ClientNotification" => Coverage::MessageList(Side::ClientNotifications),
        "ServerRequest" => Coverage::MessageList(Side::ServerRequests),
        "ServerNotification" => Coverage::MessageList(Side::ServerNotifications),
        "ClientResult" | "ServerResult" => Coverage::MessageList(Side::Results),
        "HeaderMismatchError" => Coverage::ErrorResponse(HeaderMismatch, None),
        "MissingRequiredClientCapabilityError" => Coverage::ErrorResponse(
            MissingRequiredClientCapability,
            Some(type_of::<MissingCapabilityData>()),
        ),
        "URLElicitationRequiredError" => Coverage::ErrorResponse(
            UrlElicitationRequired,
            Some(type_of::<UrlElicitationData>()),
        ),
        "UnsupportedProtocolVersionError" => Coverage::ErrorResponse(
            UnsupportedProtocolVersion,
            Some(type_of::<UnsupportedVersionData>()),
        ),
        "InternalError" => Coverage::ErrorObject(InternalError),
        "InvalidParamsError" => Coverage::ErrorObject(InvalidParams),
        "InvalidRequestError" => Coverage::ErrorObject(InvalidRequest),
        "MethodNotFoundError" => Coverage::ErrorObject(MethodNotFound),
        "ParseError" => Coverage::ErrorObject(ParseError),
        "JSONRPCBatchRequest"
        | "JSONRPCBatchResponse"
        | "JSONRPCError"
        | "JSONRPCErrorResponse"
        | "JSONRPCMessage"
        | "JSONRPCNotification"
        | "JSONRPCRequest"
        | "JSONRPCResponse"
        | "JSONRPCResultResponse" => Coverage::Envelope,
        _ => return None,
    })
}
