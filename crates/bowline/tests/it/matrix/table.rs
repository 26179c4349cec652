//! The matrix: what is expected of every feature in every revision.
//!
//! | word | meaning |
//! |---|---|
//! | `works` | it does what it is for |
//! | `words` | what the revision lacks is replaced by text |
//! | `absent` | what the revision lacks, or was not asked for, is left out; the rest works |
//! | `unsupported` | refused on our side, and nothing is sent |
//! | `(-32601)` | the peer refuses it with this code |

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bowline::types::Revision;

use super::world::{Cell, Outcome};
use super::{
    basics, change_notifications, client_questions, feature_handles, in_flight, resources, schema,
    tasks, tools,
};

/// A feature: its name, how it is tried, and what is expected in the five revisions.
struct Feature {
    name: &'static str,
    run: fn(Cell) -> Running,
    expected: [Outcome; 5],
}

type Running = Pin<Box<dyn Future<Output = Result<Outcome, Outcome>> + Send>>;

macro_rules! outcome {
    (works) => {
        Outcome::Works
    };
    (words) => {
        Outcome::Words
    };
    (absent) => {
        Outcome::Absent
    };
    (unsupported) => {
        Outcome::Unsupported
    };
    (($code:literal)) => {
        Outcome::Refused($code)
    };
}

macro_rules! matrix {
    ($($area:ident::$feature:ident [$($expected:tt)*];)*) => {
        const MATRIX: &[Feature] = &[$(Feature {
            name: concat!(stringify!($area), "::", stringify!($feature)),
            run: |cell| Box::pin($area::$feature(cell)),
            expected: [$(outcome!($expected)),*],
        }),*];
    };
}

matrix! {
//  feature                                           2024-11-05   2025-03-26   2025-06-18   2025-11-25   2026-07-28

//  Agreeing, and being there.
    basics::agreement                                [works        works        works        works        works];
    basics::initialize                               [works        works        works        works        absent];
    basics::discover                                 [absent       absent       absent       absent       works];
    basics::instructions                             [works        works        works        works        works];
    basics::server_title                             [absent       absent       works        works        works];
    basics::server_icons                             [absent       absent       absent       works        works];
    basics::completions_declared                     [absent       works        works        works        works];
    basics::alive                                    [works        works        works        works        works];
    basics::ping                                     [works        works        works        works        (-32601)];
    basics::ping_of_client                           [works        works        works        works        unsupported];
    basics::unknown_method                           [(-32601)     (-32601)     (-32601)     (-32601)     (-32601)];
    basics::request_meta                             [works        works        works        works        works];
    basics::server_in_results                        [absent       absent       absent       absent       works];
    basics::batch                                    [(-32600)     works        (-32600)     (-32600)     (-32600)];
    basics::busy                                     [(-32603)     (-32603)     (-32603)     (-32603)     (-32603)];
    basics::shutdown                                 [works        works        works        works        works];
    basics::shutdown_of_listen                       [(-32601)     (-32601)     (-32601)     (-32601)     works];

//  Tools.
    tools::pages                                     [works        works        works        works        works];
    tools::bad_cursor                                [(-32602)     (-32602)     (-32602)     (-32602)     (-32602)];
    tools::hints                                     [absent       absent       absent       absent       works];
    tools::title                                     [absent       absent       works        works        works];
    tools::annotations                               [absent       works        works        works        works];
    tools::icons                                     [absent       absent       absent       works        works];
    tools::meta                                      [absent       absent       works        works        works];
    tools::output_schema                             [absent       absent       works        works        works];
    tools::array_schema                              [absent       absent       absent       absent       works];
    tools::text                                      [works        works        works        works        works];
    tools::structured                                [words        words        works        works        works];
    tools::structured_array                          [words        words        words        words        works];
    tools::image                                     [works        works        works        works        works];
    tools::audio                                     [words        works        works        works        works];
    tools::embedded                                  [works        works        works        works        works];
    tools::link                                      [words        words        works        works        works];
    tools::failure                                   [works        works        works        works        works];
    tools::wrong_arguments                           [(-32602)     (-32602)     (-32602)     works        works];
    tools::unknown                                   [(-32602)     (-32602)     (-32602)     (-32602)     (-32602)];

//  While a request is served.
    in_flight::progress                              [works        works        works        works        works];
    in_flight::progress_message                      [absent       works        works        works        works];
    in_flight::no_progress                           [absent       absent       absent       absent       absent];
    in_flight::cancellation                          [works        works        works        works        works];
    in_flight::set_level                             [works        works        works        works        (-32601)];
    in_flight::unknown_level                         [(-32602)     (-32602)     (-32602)     (-32602)     (-32601)];
    in_flight::unset_level                           [works        works        works        works        absent];
    in_flight::level_of_request                      [absent       absent       absent       absent       works];

//  Resources, prompts, completion.
    resources::list                                  [works        works        works        works        works];
    resources::title                                 [absent       absent       works        works        works];
    resources::icons                                 [absent       absent       absent       works        works];
    resources::last_modified                         [absent       absent       works        works        works];
    resources::templates                             [works        works        works        works        works];
    resources::read                                  [works        works        works        works        works];
    resources::not_found                             [(-32002)     (-32002)     (-32002)     (-32002)     (-32602)];
    resources::prompts                               [works        works        works        works        works];
    resources::prompt_title                          [absent       absent       works        works        works];
    resources::prompt                                [works        works        works        works        works];
    resources::prompt_audio                          [words        works        works        works        works];
    resources::prompt_link                           [words        words        works        works        works];
    resources::wrong_prompt                          [(-32602)     (-32602)     (-32602)     (-32602)     (-32602)];
    resources::completion                            [works        works        works        works        works];
    resources::completion_context                    [absent       absent       works        works        works];
    resources::wrong_completion                      [(-32602)     (-32602)     (-32602)     (-32602)     (-32602)];

//  Changes.
    change_notifications::tools                      [works        works        works        works        absent];
    change_notifications::prompts                    [works        works        works        works        absent];
    change_notifications::resources                  [works        works        works        works        absent];
    change_notifications::undeclared                 [absent       absent       absent       absent       absent];
    change_notifications::coalesced                  [works        works        works        works        works];
    change_notifications::subscribe                  [works        works        works        works        (-32601)];
    change_notifications::unsubscribe                [works        works        works        works        (-32601)];
    change_notifications::listen                     [(-32601)     (-32601)     (-32601)     (-32601)     works];
    change_notifications::listen_twice               [(-32601)     (-32601)     (-32601)     (-32601)     works];
    change_notifications::listen_ends                [(-32601)     (-32601)     (-32601)     (-32601)     works];
    change_notifications::listen_to_less             [(-32601)     (-32601)     (-32601)     (-32601)     works];
    change_notifications::not_in_revision            [unsupported  unsupported  unsupported  unsupported  works];

//  What a handler asks the client.
    client_questions::form                           [unsupported  unsupported  works        works        works];
    client_questions::form_blocking                  [unsupported  unsupported  works        works        works];
    client_questions::declined                       [unsupported  unsupported  works        works        works];
    client_questions::url_elicitation                [unsupported  unsupported  unsupported  works        works];
    client_questions::sampling                       [works        works        works        works        works];
    client_questions::sampling_tools                 [unsupported  unsupported  unsupported  works        works];
    client_questions::roots                          [works        works        works        works        works];
    client_questions::roots_changed                  [works        works        works        works        unsupported];
    client_questions::form_undeclared                [unsupported  unsupported  unsupported  unsupported  (-32021)];
    client_questions::url_elicitation_undeclared     [unsupported  unsupported  unsupported  unsupported  (-32021)];
    client_questions::sampling_undeclared            [unsupported  unsupported  unsupported  unsupported  (-32021)];
    client_questions::sampling_tools_undeclared      [unsupported  unsupported  unsupported  unsupported  (-32021)];
    client_questions::roots_undeclared               [unsupported  unsupported  unsupported  unsupported  (-32021)];
    client_questions::required_capabilities          [unsupported  unsupported  unsupported  unsupported  (-32021)];
    client_questions::of_resource                    [(-32603)     (-32603)     works        works        works];
    client_questions::of_prompt                      [(-32603)     (-32603)     works        works        works];
    client_questions::several                        [unsupported  unsupported  works        works        works];
    client_questions::once                           [unsupported  unsupported  works        works        works];
    client_questions::state_kept                     [absent       absent       absent       absent       works];
    client_questions::state_tampered                 [absent       absent       absent       absent       (-32602)];
    client_questions::state_of_another               [absent       absent       absent       absent       (-32602)];
    client_questions::state_expired                  [unsupported  unsupported  works        works        (-32602)];
    client_questions::early_answer_taken             [absent       absent       absent       absent       works];

//  Tasks.
    tasks::declared                                  [absent       absent       absent       works        works];
    tasks::support                                   [absent       absent       absent       works        absent];
    tasks::awaited                                   [works        works        works        works        works];
    tasks::progress                                  [works        works        works        works        absent];
    tasks::handle                                    [absent       absent       absent       works        works];
    tasks::failing                                   [absent       absent       absent       works        works];
    tasks::cancelled                                 [absent       absent       absent       works        works];
    tasks::dropped                                   [absent       absent       absent       works        works];
    tasks::asking                                    [unsupported  unsupported  works        works        works];
    tasks::list                                      [unsupported  unsupported  unsupported  works        unsupported];
    tasks::result                                    [(-32601)     (-32601)     (-32601)     works        (-32601)];
    tasks::unknown                                   [unsupported  unsupported  unsupported  (-32602)     (-32602)];
    tasks::undeclared                                [(-32601)     (-32601)     (-32601)     (-32602)     (-32021)];
    tasks::plain_call                                [works        works        works        (-32601)     (-32021)];
    tasks::unwanted                                  [works        works        works        (-32601)     works];
    tasks::forbidden                                 [unsupported  unsupported  unsupported  unsupported  works];

//  The client's handles.
    feature_handles::tools                           [works        works        works        works        works];
    feature_handles::structured                      [words        words        works        works        works];
    feature_handles::failing                         [works        works        works        works        works];
    feature_handles::progress                        [works        works        works        works        works];
    feature_handles::resources                       [works        works        works        works        works];
    feature_handles::not_found                       [(-32002)     (-32002)     (-32002)     (-32002)     (-32602)];
    feature_handles::prompts                         [works        works        works        works        works];
    feature_handles::completion                      [absent       absent       works        works        works];
    feature_handles::logging                         [works        works        works        works        works];
    feature_handles::roots                           [works        works        works        works        works];
    feature_handles::watching                        [works        works        works        works        works];
    feature_handles::watching_lists                  [works        works        works        works        works];
    feature_handles::undeclared                      [unsupported  unsupported  unsupported  unsupported  unsupported];
    feature_handles::undeclared_completion           [(-32601)     unsupported  unsupported  unsupported  unsupported];
}

/// How long a cell may take.
const CELL_TIMEOUT: Duration = Duration::from_secs(20);

// proves: PV-1, PV-5, SV-4
#[tokio::test]
async fn every_feature_in_every_revision_works_or_is_refused_as_documented() {
    let mut faults = Vec::new();
    let mut rows = vec![header()];
    let mut messages = 0;
    for feature in MATRIX {
        let mut row = format!("{:48}", feature.name);
        for (revision, expected) in Revision::ALL.into_iter().zip(&feature.expected) {
            let tried = try_cell(feature, revision).await;
            messages += tried.messages;
            let is_right = tried.outcome == *expected && tried.faults.is_empty();
            let mark = if is_right { ' ' } else { '!' };
            row += &format!(" {mark}{:12.12}", tried.outcome.to_string());
            let named = |fault| format!("{} in {revision}: {fault}", feature.name);
            if tried.outcome != *expected {
                let fault = format!("expected {expected}, got {}", tried.outcome);
                faults.push(named(fault));
            }
            faults.extend(tried.faults.into_iter().map(named));
        }
        rows.push(row);
    }
    let (matrix, faults) = (rows.join("\n"), faults.join("\n"));
    assert!(
        faults.is_empty(),
        "{messages} messages\n{matrix}\n\n{faults}"
    );
    assert!(messages > 2500, "only {messages} messages");
}

fn header() -> String {
    let names = Revision::ALL.map(|revision| format!("  {revision:11}"));
    format!("{:48}{}", "", names.concat())
}

struct Tried {
    outcome: Outcome,
    messages: usize,
    faults: Vec<String>,
}

async fn try_cell(feature: &Feature, revision: Revision) -> Tried {
    let cell = Cell::new(revision);
    let task = tokio::spawn((feature.run)(cell.clone()));
    let abort = task.abort_handle();
    let outcome = match tokio::time::timeout(CELL_TIMEOUT, task).await {
        Ok(Ok(Ok(outcome) | Err(outcome))) => outcome,
        Ok(Err(panicked)) => Outcome::Other(panic_message(panicked)),
        Err(_) => {
            abort.abort();
            Outcome::Other("no outcome within the timeout".to_owned())
        }
    };
    let (mut messages, mut faults) = (0, Vec::new());
    for tap in cell.taps() {
        // Its client is gone, so that its server goes.
        if tokio::time::timeout(CELL_TIMEOUT, tap.ended())
            .await
            .is_err()
        {
            faults.push("the connection doesn't end".to_owned());
        }
        let lines = tap.lines();
        messages += lines.len();
        faults.extend(schema::faults(revision, &lines));
    }
    Tried {
        outcome,
        messages,
        faults,
    }
}

fn panic_message(panicked: tokio::task::JoinError) -> String {
    let Ok(panic) = panicked.try_into_panic() else {
        return "ended".to_owned();
    };
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", words.unwrap_or_default())
}
