//! The `tasks/*` requests.

use std::sync::Arc;

use bowline_types::meta::{ResultMeta, keys};
use bowline_types::pagination::PaginatedParams;
use bowline_types::result::EmptyResult;
use bowline_types::tasks::{
    CancelTaskResult, CreateTaskResult, GetTaskResult, ListTasksResult, RelatedTask, TaskParams,
    UpdateTaskParams,
};
use bowline_types::{ErrorObject, Method, Revision};

use super::entry::{TaskEntry, TaskOutcome};
use super::store::TaskStore;
use super::task_mode::{declares_extension, missing_extension};
use crate::RpcResult;
use crate::server::context::Context;
use crate::server::service::{ClientRequest, encode_result, encode_result_with, method_not_found};
use crate::transport::BoxFuture;

impl TaskStore {
    /// Serves a request about tasks. `meta` is the server information for results, and `page` the
    /// page size of lists.
    pub(in crate::server) fn serve(
        self: &Arc<Self>,
        request: ClientRequest,
        meta: &str,
        page: usize,
    ) -> BoxFuture<'static, RpcResult> {
        let is_extension = request.context.revision() >= Revision::V2026_07_28;
        if is_extension && !declares_extension(&request.context) {
            return ready(Err(missing_extension()));
        }
        let unknown = || method_not_found(request.method());
        let Some(method) = request.known_method() else {
            return ready(Err(unknown()));
        };
        match method {
            Method::GetTask => ready(self.get(&request, meta)),
            Method::CancelTask => ready(self.cancel(&request, meta)),
            Method::UpdateTask => ready(self.update(&request, meta)),
            Method::ListTasks if self.has_list() => ready(self.list(&request, page)),
            Method::GetTaskPayload => match self.find_task(&request) {
                Ok(entry) => Box::pin(wait_for_result(entry, request.context)),
                Err(error) => ready(Err(error)),
            },
            _ => ready(Err(unknown())),
        }
    }

    fn get(&self, request: &ClientRequest, meta: &str) -> RpcResult {
        let entry = self.find_task(request)?;
        let task = entry.detailed(request.context.revision());
        encode_result_with(&request.context, &GetTaskResult::new(task), meta)
    }

    fn cancel(&self, request: &ClientRequest, meta: &str) -> RpcResult {
        let entry = self.find_task(request)?;
        let revision = request.context.revision();
        let was_running = entry.end(TaskOutcome::Cancelled);
        // TK-12; the extension acknowledges that, too (TX-14).
        if !was_running && revision < Revision::V2026_07_28 {
            let message = "can't cancel the task: it has ended";
            return Err(ErrorObject::invalid_params(message));
        }
        let result = CancelTaskResult::new().task(entry.task(revision));
        encode_result_with(&request.context, &result, meta)
    }

    fn update(&self, request: &ClientRequest, meta: &str) -> RpcResult {
        let params: UpdateTaskParams = request.decode()?;
        let entry = self.find_by_id(&params.task_id, request)?;
        entry.accept_answers(&params.input_responses);
        encode_result_with(&request.context, &EmptyResult::new(), meta)
    }

    fn list(&self, request: &ClientRequest, size: usize) -> RpcResult {
        let params: PaginatedParams = request.decode()?;
        let page = self.page(params.cursor.as_deref(), size, &request.context);
        let wrong =
            || ErrorObject::invalid_params("invalid params.cursor: not a cursor of this list");
        let (page, next) = page.ok_or_else(wrong)?;
        let revision = request.context.revision();
        let tasks: Vec<_> = page.iter().map(|entry| entry.task(revision)).collect();
        let mut result = ListTasksResult::new(tasks);
        result.next_cursor = next;
        encode_result(&request.context, &result)
    }

    /// Returns the task that a request names.
    fn find_task(&self, request: &ClientRequest) -> Result<Arc<TaskEntry>, ErrorObject> {
        let params: TaskParams = request.decode()?;
        self.find_by_id(&params.task_id, request)
    }

    fn find_by_id(&self, id: &str, request: &ClientRequest) -> Result<Arc<TaskEntry>, ErrorObject> {
        self.find(id, &request.context).ok_or_else(unknown_task)
    }
}

/// Waits until a task has ended, and responds as its call would have (TK-9).
async fn wait_for_result(entry: Arc<TaskEntry>, context: Context) -> RpcResult {
    let waiter = entry.add_result_waiter(&context);
    let outcome = entry.wait_until_ended().await;
    drop(waiter);
    match outcome {
        TaskOutcome::Completed(result) => {
            let mut result = (*result).clone();
            let meta = result.meta.get_or_insert_with(ResultMeta::new);
            meta.set(keys::RELATED_TASK, RelatedTask::new(&*entry.id));
            encode_result(&context, &result)
        }
        TaskOutcome::Failed(error) => Err(error),
        TaskOutcome::Cancelled => {
            let message = "no result: the task was cancelled";
            Err(ErrorObject::invalid_params(message))
        }
    }
}

/// Returns the response to a call that has become a task.
pub(in crate::server) fn create_task_result(
    entry: &TaskEntry,
    context: &Context,
    meta: &str,
) -> RpcResult {
    let created = CreateTaskResult::new(entry.task(context.revision()));
    encode_result_with(context, &created, meta)
}

fn unknown_task() -> ErrorObject {
    ErrorObject::invalid_params("unknown task: it does not exist or has expired")
}

fn ready(reply: RpcResult) -> BoxFuture<'static, RpcResult> {
    Box::pin(std::future::ready(reply))
}
