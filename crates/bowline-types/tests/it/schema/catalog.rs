//! Which Rust type each definition of the schema files is.

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

/// How a definition is accounted for.
#[derive(Clone, Copy)]
pub(crate) enum Cover {
    /// It is this type.
    Type(Type),
    /// It is a request or notification of this method, around the type of its parameters.
    Message(Method, Type),
    /// It is an answer around the type of its result.
    Answer(Type),
    /// It is an answer with an error of this kind, and perhaps data of a type.
    Failure(ErrorCode, Option<Type>),
    /// It is the error object of this kind.
    Error(ErrorCode),
    /// It is a part of the envelope.
    Envelope,
    /// It lists the messages that one side may send.
    Messages(Side),
    /// It is no type of its own, for this reason.
    Not(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    ClientRequests,
    ClientNotifications,
    ServerRequests,
    ServerNotifications,
    Results,
}

/// A type behind a pointer.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) shape: &'static Shape,
    /// Reads a text; writes it in the words of a revision.
    pub(crate) recode: fn(&str, Revision) -> Recoded,
}

pub(crate) enum Recoded {
    Unreadable(String),
    NotInRevision(String),
    Said(RawJson),
}

pub(crate) const fn of<T: Wire>() -> Type {
    Type {
        shape: T::SHAPE,
        recode: |text, revision| match T::from_json(text) {
            Err(error) => Recoded::Unreadable(error.to_string()),
            Ok(value) => match value.to_json(revision) {
                Err(error) => Recoded::NotInRevision(error.to_string()),
                Ok(json) => Recoded::Said(json),
            },
        },
    }
}

const BASE: &str = "a base of other definitions; its members are theirs";

/// How `definition` of `file` is accounted for. `None` makes a test fail.
pub(crate) fn cover(file: &File, definition: &str) -> Option<Cover> {
    let stateless = file.revision == Revision::V2026_07_28;
    embedded(definition)
        .filter(|_| stateless)
        .or_else(|| message(file, definition))
        .or_else(|| answer(definition))
        .or_else(|| feature_type(file, definition).map(Cover::Type))
        .or_else(|| common_type(definition).map(Cover::Type))
        .or_else(|| other(definition))
}

/// Requests of a server that are values inside a result since 2026-07-28.
fn embedded(definition: &str) -> Option<Cover> {
    Some(Cover::Type(match definition {
        "CreateMessageRequest" => of::<CreateMessageInput>(),
        "ElicitRequest" => of::<ElicitInput>(),
        "ListRootsRequest" => of::<ListRootsInput>(),
        _ => return None,
    }))
}

fn message(file: &File, definition: &str) -> Option<Cover> {
    use Method::*;
    let task_status = if file.name == "ext-tasks" {
        Tasks
    } else {
        TaskStatus
    };
    let (method, params) = match definition {
        "CallToolRequest" => (CallTool, of::<CallToolParams>()),
        "CancelTaskRequest" => (CancelTask, of::<TaskParams>()),
        "CancelledNotification" => (Cancelled, of::<CancelledParams>()),
        "CompleteRequest" => (Complete, of::<CompleteParams>()),
        "CreateMessageRequest" => (CreateMessage, of::<CreateMessageParams>()),
        "DiscoverRequest" => (Discover, of::<RequestParams>()),
        "ElicitRequest" => (Elicit, of::<ElicitParams>()),
        "ElicitationCompleteNotification" => {
            (ElicitationComplete, of::<ElicitationCompleteParams>())
        }
        "GetPromptRequest" => (GetPrompt, of::<GetPromptParams>()),
        "GetTaskPayloadRequest" => (GetTaskPayload, of::<TaskParams>()),
        "GetTaskRequest" => (GetTask, of::<TaskParams>()),
        "InitializeRequest" => (Initialize, of::<InitializeParams>()),
        "InitializedNotification" => (Initialized, of::<NotificationParams>()),
        "ListPromptsRequest" => (ListPrompts, of::<PaginatedParams>()),
        "ListResourceTemplatesRequest" => (ListResourceTemplates, of::<PaginatedParams>()),
        "ListResourcesRequest" => (ListResources, of::<PaginatedParams>()),
        "ListRootsRequest" => (ListRoots, of::<ListRootsParams>()),
        "ListTasksRequest" => (ListTasks, of::<PaginatedParams>()),
        "ListToolsRequest" => (ListTools, of::<PaginatedParams>()),
        "LoggingMessageNotification" => (LoggingMessage, of::<LoggingMessageParams>()),
        "PingRequest" => (Ping, of::<RequestParams>()),
        "ProgressNotification" => (Progress, of::<ProgressParams>()),
        "PromptListChangedNotification" => (PromptListChanged, of::<NotificationParams>()),
        "ReadResourceRequest" => (ReadResource, of::<ReadResourceParams>()),
        "ResourceListChangedNotification" => (ResourceListChanged, of::<NotificationParams>()),
        "ResourceUpdatedNotification" => (ResourceUpdated, of::<ResourceUpdatedParams>()),
        "RootsListChangedNotification" => (RootsListChanged, of::<NotificationParams>()),
        "SetLevelRequest" => (SetLevel, of::<SetLevelParams>()),
        "SubscribeRequest" => (Subscribe, of::<SubscribeParams>()),
        "SubscriptionsAcknowledgedNotification" => (Acknowledged, of::<AcknowledgedParams>()),
        "SubscriptionsListenRequest" => (Listen, of::<ListenParams>()),
        "TaskStatusNotification" => (task_status, of::<TaskStatusParams>()),
        "ToolListChangedNotification" => (ToolListChanged, of::<NotificationParams>()),
        "UnsubscribeRequest" => (Unsubscribe, of::<SubscribeParams>()),
        "UpdateTaskRequest" => (UpdateTask, of::<UpdateTaskParams>()),
        _ => return None,
    };
    Some(Cover::Message(method, params))
}

fn answer(definition: &str) -> Option<Cover> {
    Some(Cover::Answer(match definition {
        "CallToolResultResponse" => of::<CallToolResponse>(),
        "CompleteResultResponse" => of::<CompleteResult>(),
        "DiscoverResultResponse" => of::<DiscoverResult>(),
        "GetPromptResultResponse" => of::<GetPromptResponse>(),
        "ListPromptsResultResponse" => of::<ListPromptsResult>(),
        "ListResourceTemplatesResultResponse" => of::<ListResourceTemplatesResult>(),
        "ListResourcesResultResponse" => of::<ListResourcesResult>(),
        "ListToolsResultResponse" => of::<ListToolsResult>(),
        "ReadResourceResultResponse" => of::<ReadResourceResponse>(),
        "SubscriptionsListenResultResponse" => of::<ListenResult>(),
        _ => return None,
    }))
}

fn feature_type(file: &File, definition: &str) -> Option<Type> {
    let titled_enum = if file.revision == Revision::V2025_06_18 {
        of::<LegacyTitledEnumSchema>()
    } else {
        of::<PrimitiveSchema>()
    };
    Some(match definition {
        "CallToolRequestParams" => of::<CallToolParams>(),
        "CallToolResult" => of::<CallToolResult>(),
        "CancelTaskResult" => of::<CancelTaskResult>(),
        "CancelledNotificationParams" => of::<CancelledParams>(),
        "CancelledTask" | "CompletedTask" | "DetailedTask" | "FailedTask" | "InputRequiredTask"
        | "WorkingTask" => of::<DetailedTask>(),
        "CompleteRequestParams" => of::<CompleteParams>(),
        "CompleteResult" => of::<CompleteResult>(),
        "CreateMessageRequestParams" => of::<CreateMessageParams>(),
        "CreateMessageResult" => of::<CreateMessageResult>(),
        "CreateTaskResult" => of::<CreateTaskResult>(),
        "DiscoverResult" => of::<DiscoverResult>(),
        "BooleanSchema" => of::<BooleanSchema>(),
        "ElicitRequestFormParams" => of::<ElicitFormParams>(),
        "ElicitRequestParams" => of::<ElicitParams>(),
        "ElicitRequestURLParams" => of::<ElicitUrlParams>(),
        "ElicitResult" => of::<ElicitResult>(),
        "EnumSchema" => titled_enum,
        "GetPromptRequestParams" => of::<GetPromptParams>(),
        "GetPromptResult" => of::<GetPromptResult>(),
        "GetTaskPayloadResult" => of::<AnyResult>(),
        "GetTaskResult" => of::<GetTaskResult>(),
        "InitializeRequestParams" => of::<InitializeParams>(),
        "InitializeResult" => of::<InitializeResult>(),
        "InputRequest" => of::<InputRequest>(),
        "InputRequests" => of::<Map<InputRequest>>(),
        "InputRequiredResult" => of::<InputRequiredResult>(),
        "InputResponse" => of::<InputResponse>(),
        "InputResponses" => of::<Map<InputResponse>>(),
        "LegacyTitledEnumSchema" => of::<LegacyTitledEnumSchema>(),
        "ListPromptsResult" => of::<ListPromptsResult>(),
        "ListResourceTemplatesResult" => of::<ListResourceTemplatesResult>(),
        "ListResourcesResult" => of::<ListResourcesResult>(),
        "ListRootsResult" => of::<ListRootsResult>(),
        "ListTasksResult" => of::<ListTasksResult>(),
        "ListToolsResult" => of::<ListToolsResult>(),
        "LoggingMessageNotificationParams" => of::<LoggingMessageParams>(),
        "MultiSelectEnumSchema" | "SingleSelectEnumSchema" => of::<PrimitiveSchema>(),
        "NumberSchema" => of::<NumberSchema>(),
        "PaginatedRequestParams" => of::<PaginatedParams>(),
        "PrimitiveSchemaDefinition" => of::<PrimitiveSchema>(),
        "ProgressNotificationParams" => of::<ProgressParams>(),
        "ReadResourceRequestParams" => of::<ReadResourceParams>(),
        "ReadResourceResult" => of::<ReadResourceResult>(),
        "RelatedTaskMetadata" => of::<RelatedTask>(),
        "ResourceUpdatedNotificationParams" => of::<ResourceUpdatedParams>(),
        "SetLevelRequestParams" => of::<SetLevelParams>(),
        "StringSchema" => of::<StringSchema>(),
        "SubscribeRequestParams" | "UnsubscribeRequestParams" => of::<SubscribeParams>(),
        "SubscriptionsAcknowledgedNotificationParams" => of::<AcknowledgedParams>(),
        "SubscriptionsListenRequestParams" => of::<ListenParams>(),
        "SubscriptionsListenResult" => of::<ListenResult>(),
        "Task" => of::<Task>(),
        "TaskMetadata" => of::<TaskMetadata>(),
        "TaskStatusNotificationParams" => of::<TaskStatusParams>(),
        "TitledMultiSelectEnumSchema" => of::<TitledMultiSelectEnumSchema>(),
        "TitledSingleSelectEnumSchema" => of::<TitledSingleSelectEnumSchema>(),
        "UntitledMultiSelectEnumSchema" => of::<UntitledMultiSelectEnumSchema>(),
        "UntitledSingleSelectEnumSchema" => of::<UntitledSingleSelectEnumSchema>(),
        "UpdateTaskResult" => of::<EmptyResult>(),
        _ => return None,
    })
}

fn common_type(definition: &str) -> Option<Type> {
    Some(match definition {
        "Annotations" => of::<Annotations>(),
        "AudioContent" => of::<AudioContent>(),
        "BlobResourceContents" => of::<BlobResourceContents>(),
        "ClientCapabilities" => of::<ClientCapabilities>(),
        "ContentBlock" => of::<ContentBlock>(),
        "Cursor" | "ResultType" => of::<String>(),
        "EmbeddedResource" => of::<EmbeddedResource>(),
        "EmptyResult" => of::<EmptyResult>(),
        "Error" => of::<ErrorObject>(),
        "Icon" => of::<Icon>(),
        "ImageContent" => of::<ImageContent>(),
        "Implementation" => of::<Implementation>(),
        "JSONArray" => of::<Vec<RawJson>>(),
        "JSONObject" => of::<JsonObject>(),
        "JSONValue" => of::<RawJson>(),
        "LoggingLevel" => of::<LoggingLevel>(),
        "MetaObject" => of::<Meta>(),
        "ModelHint" => of::<ModelHint>(),
        "ModelPreferences" => of::<ModelPreferences>(),
        "NotificationMetaObject" => of::<NotificationMeta>(),
        "NotificationParams" => of::<NotificationParams>(),
        "ProgressToken" => of::<ProgressToken>(),
        "Prompt" => of::<Prompt>(),
        "PromptArgument" => of::<PromptArgument>(),
        "PromptMessage" => of::<PromptMessage>(),
        "PromptReference" => of::<PromptReference>(),
        "RequestId" => of::<RequestId>(),
        "RequestMetaObject" => of::<RequestMeta>(),
        "RequestParams" => of::<RequestParams>(),
        "Resource" => of::<Resource>(),
        "ResourceLink" => of::<ResourceLink>(),
        "ResourceReference" | "ResourceTemplateReference" => of::<ResourceTemplateReference>(),
        "ResourceTemplate" => of::<ResourceTemplate>(),
        "Result" => of::<AnyResult>(),
        "ResultMetaObject" => of::<ResultMeta>(),
        "Role" => of::<Role>(),
        "Root" => of::<Root>(),
        "SamplingMessage" => of::<SamplingMessage>(),
        "SamplingMessageContentBlock" => of::<SamplingContent>(),
        "ServerCapabilities" => of::<ServerCapabilities>(),
        "SubscriptionFilter"
        | "TaskSubscriptionAcknowledgedNotifications"
        | "TaskSubscriptionNotifications" => of::<SubscriptionFilter>(),
        "SubscriptionsListenResultMetaObject" => of::<SubscriptionResultMeta>(),
        "TaskStatus" => of::<TaskStatus>(),
        "TextContent" => of::<TextContent>(),
        "TextResourceContents" => of::<TextResourceContents>(),
        "Tool" => of::<Tool>(),
        "ToolAnnotations" => of::<ToolAnnotations>(),
        "ToolChoice" => of::<ToolChoice>(),
        "ToolExecution" => of::<ToolExecution>(),
        "ToolResultContent" => of::<ToolResultContent>(),
        "ToolUseContent" => of::<ToolUseContent>(),
        _ => return None,
    })
}

fn other(definition: &str) -> Option<Cover> {
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
        | "TaskAugmentedRequestParams" => Cover::Not(BASE),
        "TasksExtensionCapability" => Cover::Not("the empty settings of an extension: `{}`"),
        "ClientRequest" => Cover::Messages(Side::ClientRequests),
        "ClientNotification" => Cover::Messages(Side::ClientNotifications),
        "ServerRequest" => Cover::Messages(Side::ServerRequests),
        "ServerNotification" => Cover::Messages(Side::ServerNotifications),
        "ClientResult" | "ServerResult" => Cover::Messages(Side::Results),
        "HeaderMismatchError" => Cover::Failure(HeaderMismatch, None),
        "MissingRequiredClientCapabilityError" => Cover::Failure(
            MissingRequiredClientCapability,
            Some(of::<MissingCapabilityData>()),
        ),
        "URLElicitationRequiredError" => {
            Cover::Failure(UrlElicitationRequired, Some(of::<UrlElicitationData>()))
        }
        "UnsupportedProtocolVersionError" => Cover::Failure(
            UnsupportedProtocolVersion,
            Some(of::<UnsupportedVersionData>()),
        ),
        "InternalError" => Cover::Error(InternalError),
        "InvalidParamsError" => Cover::Error(InvalidParams),
        "InvalidRequestError" => Cover::Error(InvalidRequest),
        "MethodNotFoundError" => Cover::Error(MethodNotFound),
        "ParseError" => Cover::Error(ParseError),
        "JSONRPCBatchRequest"
        | "JSONRPCBatchResponse"
        | "JSONRPCError"
        | "JSONRPCErrorResponse"
        | "JSONRPCMessage"
        | "JSONRPCNotification"
        | "JSONRPCRequest"
        | "JSONRPCResponse"
        | "JSONRPCResultResponse" => Cover::Envelope,
        _ => return None,
    })
}
