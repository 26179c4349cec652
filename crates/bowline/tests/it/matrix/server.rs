//! A server with every feature.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline::server::{
    CompletionInput, Context, Json, Server, State, ToolError, prompt, resource, template, tool,
};
use bowline::types::common::{Annotations, Icon, Implementation, Role};
use bowline::types::content::{ContentBlock, ResourceLink};
use bowline::types::elicitation::{
    ElicitFormParams, ElicitResult, ElicitUrlParams, FormSchema, PrimitiveSchema,
};
use bowline::types::logging::LoggingLevel;
use bowline::types::meta::{Meta, MetaKey, ResultMeta};
use bowline::types::prompts::PromptMessage;
use bowline::types::resources::TextResourceContents;
use bowline::types::sampling::{CreateMessageParams, SamplingMessage};
use bowline::types::tools::{CallToolResult, Tool, ToolAnnotations};
use bowline::types::{InputSchema, RawJson};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const NOTE: MetaKey<String> = MetaKey::new("com.example/note");

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// The principal.
    name: String,
}

/// How often something with an effect was done.
#[derive(Clone, Default)]
pub(crate) struct Effects(Arc<AtomicUsize>);

impl Effects {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) fn server() -> Server {
    server_with(Effects::default())
}

pub(crate) fn server_with(effects: Effects) -> Server {
    let info = Implementation::new("everything", "1.0.0")
        .title("Everything")
        .description("It has everything")
        .icons([icon()])
        .website_url("https://example.com");
    let server = Server::with_info(info)
        .instructions("Use it well.")
        .state(effects);
    asking(running(described(contents(server))))
}

fn icon() -> Icon {
    Icon::new("https://example.com/icon.png")
        .mime_type("image/png")
        .sizes(["48x48".to_owned()])
}

/// Everything that a tool can return.
fn contents(server: Server) -> Server {
    server
        .tool("echo", "Says it again", |Text { text }: Text| async {
            text
        })
        .tool("sum", "Adds", |Add { a, b }: Add| async move {
            Json(Sum { sum: a + b })
        })
        .tool("both", "Adds each", |Add { a, b }: Add| async move {
            Json(vec![a, b])
        })
        .tool("picture", "Shows", || async {
            ContentBlock::image("iVBORw0KGgo=", "image/png")
        })
        .tool("sound", "Sounds", || async {
            ContentBlock::audio("UklGRg==", "audio/wav")
        })
        .tool("embedded", "Contains", || async {
            let contents = TextResourceContents::new("file:///readme", "# Hello");
            ContentBlock::resource(contents.mime_type("text/markdown"))
        })
        .tool("link", "Links", || async {
            ResourceLink::new("file:///readme", "README")
                .title("Read me")
                .icons([icon()])
                .annotations(Annotations::new().priority(0.5))
        })
        .tool("fails", "Fails", || async {
            Err::<(), _>(ToolError::new("it is broken"))
        })
}

/// Features with all their metadata.
fn described(server: Server) -> Server {
    let described = tool("described", |Add { a, b }: Add| async move {
        Json(Sum { sum: a + b })
    })
    .title("Described")
    .description("Has everything that a tool can have")
    .annotations(ToolAnnotations::new().read_only_hint(true).title("Hinted"))
    .icons([icon()])
    .meta(Meta::new().with(NOTE, "of a tool"));
    let readme = resource("file:///readme", "README", || async { "# Hello" })
        .title("Read me")
        .description("What this is about")
        .mime_type("text/markdown")
        .annotations(
            Annotations::new()
                .audience([Role::User])
                .last_modified("2026-01-01"),
        )
        .icons([icon()]);
    let notes = template(
        "note:///{name}",
        "notes",
        |Name { name }: Name| async move { (name == "one").then(|| format!("note {name}")) },
    );
    let greet = prompt("greet", |Name { name }: Name| async move {
        let link = ResourceLink::new("file:///readme", "README");
        vec![
            PromptMessage::new(Role::User, ContentBlock::text(format!("Hello, {name}!"))),
            PromptMessage::new(
                Role::Assistant,
                ContentBlock::audio("UklGRg==", "audio/wav"),
            ),
            PromptMessage::new(Role::User, ContentBlock::from(link)),
        ]
    });
    server
        .add_tool(described)
        .add_resource(readme)
        .resource("file:///bytes", "bytes", || async { vec![0_u8, 255] })
        .add_template(notes.title("Notes"))
        .add_prompt(
            greet
                .title("Greets")
                .description("Greets a person")
                .icons([icon()]),
        )
        .completion("greet", "name", |typed: CompletionInput| async move {
            let mut names = match typed.arguments.get("kind").map(String::as_str) {
                Some("cat") => vec!["alba", "tom"],
                _ => vec!["alice", "albert", "bob"],
            };
            names.retain(|name| name.starts_with(&typed.value));
            names
        })
}

/// What happens while a tool runs.
fn running(server: Server) -> Server {
    server
        .tool("steps", "Reports progress", |cx: Context| async move {
            for step in 1..=3 {
                cx.progress(step, Some(3.into()), Some("a step"));
            }
            "done"
        })
        .tool(
            "hangs",
            "Waits until it is cancelled",
            |State(effects): State<Effects>, cx: Context| async move {
                cx.cancelled().await;
                effects.add();
            },
        )
        .tool("logs", "Logs on three levels", |cx: Context| async move {
            let levels = [LoggingLevel::Debug, LoggingLevel::Info, LoggingLevel::Error];
            let logged = levels
                .into_iter()
                .filter(|level| cx.log(level.clone(), "logged"));
            logged.count().to_string()
        })
        .tool("meta", "Tells and sets _meta", |cx: Context| async move {
            let note = cx.meta().read(NOTE).ok().flatten().unwrap_or_default();
            CallToolResult::text(note).meta(ResultMeta::new().with(NOTE, "of a result"))
        })
        .tool("client", "Tells who asks", |cx: Context| async move {
            cx.client_info().map_or_else(String::new, |info| info.name)
        })
}

fn form() -> ElicitFormParams {
    let schema = FormSchema::new([("name", PrimitiveSchema::string())]);
    ElicitFormParams::new("Who?", schema.required(["name".into()]))
}

fn name_of(answer: &ElicitResult) -> String {
    let content = answer.content.clone().unwrap_or_default();
    let name = content.get("name").map(RawJson::from_serialize);
    name.and_then(Result::ok)
        .map_or_else(String::new, |name| name.to_string())
}

fn question() -> CreateMessageParams {
    let asked = SamplingMessage::new(Role::User, "Capital of France?");
    CreateMessageParams::new([asked], 100).system_prompt("One word.")
}

/// What asks the client.
fn asking(server: Server) -> Server {
    server
        .tool("form", "Asks a person", |cx: Context| async move {
            Ok::<_, ToolError>(name_of(&cx.elicit("who", form()).await?))
        })
        .add_tool(
            tool("form_blocking", |cx: Context| async move {
                Ok::<_, ToolError>(name_of(&cx.elicit("who", form()).await?))
            })
            .blocking(),
        )
        .tool(
            "page",
            "Sends a person to a page",
            |cx: Context| async move {
                let page = ElicitUrlParams::new("Pay", "https://example.com/pay");
                let answer = cx.elicit("pay", page).await?;
                Ok::<_, ToolError>(answer.is_accepted())
            },
        )
        .tool("sample", "Asks a model", |cx: Context| async move {
            let sampled = cx.sample("capital", question()).await?;
            let text = sampled
                .content
                .iter()
                .next()
                .and_then(|block| block.as_text());
            Ok::<_, ToolError>(text.unwrap_or_default().to_owned())
        })
        .tool(
            "sample_tools",
            "Asks a model that has a tool",
            |cx: Context| async move {
                let params = question().tools([Tool::new("atlas", InputSchema::empty())]);
                cx.sample("capital", params).await?;
                Ok::<_, ToolError>("asked")
            },
        )
        .tool("roots", "Asks for roots", |cx: Context| async move {
            let roots = cx.list_roots("roots").await?;
            Ok::<_, ToolError>(roots.roots[0].uri.clone())
        })
        .tool(
            "several",
            "Asks everybody at once",
            |cx: Context| async move {
                let (name, sampled, roots) = tokio::try_join!(
                    cx.elicit("who", form()),
                    cx.sample("capital", question()),
                    cx.list_roots("roots"),
                )?;
                let sampled = sampled
                    .content
                    .iter()
                    .next()
                    .and_then(|block| block.as_text());
                let root = &roots.roots[0].uri;
                Ok::<_, ToolError>(format!("{} {sampled:?} {root}", name_of(&name)))
            },
        )
        .tool(
            "twice",
            "Asks one after the other",
            |State(effects): State<Effects>, cx: Context| async move {
                let one = name_of(&cx.elicit("one", form()).await?);
                if cx.once("paid") {
                    effects.add();
                }
                let other = name_of(&cx.elicit("other", form()).await?);
                Ok::<_, ToolError>(format!("{one} {other}"))
            },
        )
        .resource("ask:///name", "name", |cx: Context| async move {
            Ok::<_, ToolError>(name_of(&cx.elicit("who", form()).await?))
        })
        .prompt("ask", "Asks first", |cx: Context| async move {
            Ok::<_, ToolError>(name_of(&cx.elicit("who", form()).await?))
        })
}
