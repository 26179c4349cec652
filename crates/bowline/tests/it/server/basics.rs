//! Features of a server are listed and used, in every revision.

use bowline::ErrorKind;
use bowline::server::{Context, Json, Server, State, ToolError, template, tool};
use bowline::types::common::{Icon, Implementation};
use bowline::types::elicitation::{ElicitFormParams, FormSchema, PrimitiveSchema};
use bowline::types::method::requests;
use bowline::types::{Revision, Revisions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::line_client::LineClient;
use super::support::{call, connected, connected_with, tool as called};

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
    /// Who is greeted.
    name: String,
}

fn server() -> Server {
    Server::new("test", "1.0.0")
        .state(40_i64)
        .tool("add", "Adds", |Add { a, b }: Add| async move { a + b })
        .tool("sum", "Adds", |Add { a, b }: Add| async move {
            Json(Sum { sum: a + b })
        })
        .tool(
            "state",
            "Adds to the state",
            |State(base): State<i64>, add: Add| async move { base + add.a },
        )
        .tool("fails", "Fails", || async {
            Err::<(), _>(ToolError::new("it is broken"))
        })
        .tool("leaks", "Fails", || async {
            Err::<(), ToolError>(std::io::Error::other("a secret path").into())
        })
        .tool("panics", "Panics", || async {
            panic!("a secret word");
            #[allow(unreachable_code)]
            ()
        })
        .tool("revision", "Tells the revision", |cx: Context| async move {
            cx.revision().to_string()
        })
        .resource("file:///readme", "README", || async { "# Hello" })
        .add_template(template(
            "note:///{name}",
            "notes",
            |Name { name }: Name| async move { (name == "one").then(|| format!("note {name}")) },
        ))
        .prompt("greet", "Greets", |Name { name }: Name| async move {
            format!("Hello, {name}!")
        })
        .completion(
            "greet",
            "name",
            |typed: bowline::server::CompletionInput| async move {
                let mut names = vec!["alice", "albert", "bob"];
                names.retain(|name| name.starts_with(&typed.value));
                names
            },
        )
}

// proves: SV-1, SV-3, PV-1
#[tokio::test]
async fn tools_resources_and_prompts_work_in_every_revision() {
    for revision in Revisions::ALL.iter() {
        let client = connected(server(), revision).await;
        assert_eq!(called(&client, "revision", "{}").await, revision.as_str());
        assert_eq!(called(&client, "add", r#"{"a":2,"b":3}"#).await, "5");
        assert_eq!(called(&client, "state", r#"{"a":2,"b":3}"#).await, "42");
        assert_eq!(
            called(&client, "sum", r#"{"a":2,"b":3}"#).await,
            r#"{"sum":5}"#
        );
        let listed = call(&client, "tools/list", "{}").await;
        assert_eq!(
            listed["tools"].as_array().map(Vec::len),
            Some(7),
            "{listed}"
        );
        assert_eq!(listed["tools"][0]["name"], "add");
        let schema = &listed["tools"][0]["inputSchema"];
        assert_eq!(
            schema["required"],
            serde_json::json!(["a", "b"]),
            "{schema}"
        );
        let read = call(&client, "resources/read", r#"{"uri":"file:///readme"}"#).await;
        assert_eq!(read["contents"][0]["text"], "# Hello");
        let read = call(&client, "resources/read", r#"{"uri":"note:///one"}"#).await;
        assert_eq!(read["contents"][0]["text"], "note one");
        for missing in ["note:///two", "file:///other"] {
            let params = format!(r#"{{"uri":"{missing}"}}"#);
            let error = client
                .call("resources/read", params)
                .await
                .expect_err(missing);
            let code = error.server_error().map(|error| error.code);
            let expected = if revision == Revision::LATEST {
                -32602
            } else {
                -32002
            };
            assert_eq!(code, Some(expected), "{error}");
        }
        let prompt = r#"{"name":"greet","arguments":{"name":"Ann"}}"#;
        let got = call(&client, "prompts/get", prompt).await;
        assert_eq!(got["messages"][0]["content"]["text"], "Hello, Ann!");
        let typed = r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"al"}}"#;
        let completed = call(&client, "completion/complete", typed).await;
        assert_eq!(
            completed["completion"]["values"],
            serde_json::json!(["alice", "albert"])
        );
        client.stop().await;
    }
}

// proves: SV-5, ER-4, F-HD-01
#[tokio::test]
async fn errors_are_sent_without_secrets() {
    for revision in Revisions::ALL.iter() {
        let client = connected(server(), revision).await;
        let words = called(&client, "fails", "{}").await;
        assert_eq!(words, "it is broken");
        let words = called(&client, "leaks", "{}").await;
        assert!(!words.contains("secret"), "{words}");
        let params = r#"{"name":"panics","arguments":{}}"#;
        let error = client
            .call("tools/call", params)
            .await
            .expect_err("it panics");
        assert_eq!(error.server_error().map(|error| error.code), Some(-32603));
        assert!(!error.to_string().contains("secret"), "{error}");
        let params = r#"{"name":"add","arguments":{"a":1,"b":"two"}}"#;
        let wrong = client.call("tools/call", params).await;
        let words = if revision >= Revision::V2025_11_25 {
            wrong.expect("a result for the model").as_str().to_owned()
        } else {
            wrong.expect_err("an error of the protocol").to_string()
        };
        assert!(words.contains("b: invalid type"), "{words}");
        let params = r#"{"name":"fails","arguments":null}"#;
        let called_without = client.call("tools/call", params).await;
        called_without.expect("null is as good as absent");
        let params = r#"{"name":"unknown","arguments":{}}"#;
        let error = client
            .call("tools/call", params)
            .await
            .expect_err("unknown tool");
        assert_eq!(error.server_error().map(|error| error.code), Some(-32602));
        assert_eq!(called(&client, "add", r#"{"a":2,"b":3}"#).await, "5");
    }
}

// proves: SV-4, FT-8
#[tokio::test]
async fn a_handler_asks_the_client_in_both_eras() {
    for revision in [
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ] {
        let asks = tool("asks", |cx: Context| async move {
            let form = FormSchema::new([("name", PrimitiveSchema::string())]);
            let answer = cx
                .elicit("who", ElicitFormParams::new("Who?", form))
                .await?;
            let content = answer.content.unwrap_or_default();
            let name = content.get("name").map(|name| format!("{name:?}"));
            Ok::<_, ToolError>(name.unwrap_or_default())
        });
        let server = Server::new("asking", "1").add_tool(asks);
        let client = connected_with(server, revision, |config| {
            let capabilities = bowline::types::capabilities::ClientCapabilities::new()
                .elicitation(bowline::types::capabilities::ElicitationCapability::new());
            config.connection().capabilities(capabilities);
            config.on_request::<requests::Elicit, _, _>(|_| async {
                Ok(bowline::types::elicitation::ElicitResult::accept([(
                    "name", "Ann",
                )]))
            });
        })
        .await;
        let words = called(&client, "asks", "{}").await;
        assert!(words.contains("Ann"), "{revision}: {words}");
    }
}

#[tokio::test]
async fn a_misconfigured_server_names_what_is_missing() {
    let server = Server::new("wrong", "1").tool("it", "", |_: State<String>| async {});
    let error = server.build().expect_err("no state");
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.to_string().contains("it: its handler needs State<"),
        "{error}"
    );
    let server = Server::new("wrong", "1").tool("number", "", |_: i64| async {});
    let error = server.build().expect_err("no object");
    assert!(
        error
            .to_string()
            .contains("tool number: its arguments are not an object"),
        "{error}"
    );
    let server = Server::new("wrong", "1").template("{a}{b}", "x", || async { "" });
    assert!(server.build().is_err());
    let server = Server::new("wrong", "1").prompt("p", "", |_: Lists| async { "" });
    let words = server.build().expect_err("no text").to_string();
    assert!(
        words.contains("prompt p: argument names is an array"),
        "{words}"
    );
    let server = Server::new("wrong", "1").template("r:{names}", "r", |_: Lists| async { "" });
    let words = server.build().expect_err("no text").to_string();
    assert!(
        words.contains("r:{names}: argument names is an array"),
        "{words}"
    );
    let server = Server::new("wrong", "1").template("r:{other}", "r", |_: Name| async { "" });
    let words = server.build().expect_err("no name").to_string();
    assert!(words.contains("needs \"name\""), "{words}");
}

#[tokio::test]
async fn two_of_one_name_are_refused_when_it_is_built_and_replaced_when_it_runs() {
    let server = || Server::new("twice", "1").tool("same", "", || async { "first" });
    for (twice, words) in [
        (
            server().tool("same", "", || async { "second" }),
            "tool same",
        ),
        (
            server()
                .resource("r:", "a", || async { "" })
                .resource("r:", "b", || async { "" }),
            "resource r:",
        ),
        (
            server()
                .template("r:{x}", "a", || async { "" })
                .template("r:{x}", "b", || async { "" }),
            "template r:{x}",
        ),
        (
            server()
                .prompt("p", "", || async { "" })
                .prompt("p", "", || async { "" }),
            "prompt p",
        ),
    ] {
        let error = twice.build().expect_err(words);
        assert!(error.to_string().contains(words), "{error}");
    }
    let server = server();
    let features = server.features();
    let client = connected(server, Revision::LATEST).await;
    features
        .add_tool(tool("same", || async { "second" }))
        .expect("it is right");
    assert_eq!(called(&client, "same", "{}").await, "second");
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
struct Lists {
    names: Vec<String>,
}

// proves: SV-1, ER-4
#[tokio::test]
async fn any_error_can_be_returned_and_only_messages_are_sent() {
    type Boxed = Box<dyn std::error::Error + Send + Sync>;
    let server = Server::new("errors", "1")
        .tool("string", "", || async { Err::<(), _>("no".to_owned()) })
        .tool("str", "", || async { Err::<(), _>("no") })
        .tool("question_mark", "", || async {
            let one = None::<u8>.ok_or("no")?;
            Ok::<_, ToolError>(one)
        })
        .tool("error", "", || async {
            Err::<(), _>(std::io::Error::other("secret"))
        })
        .tool("boxed", "", || async { Err::<(), Boxed>("secret".into()) })
        .resource("r:", "r", || async { Err::<String, _>("no") })
        .prompt("p", "", || async { Err::<String, _>("no".to_owned()) });
    let client = connected(server, Revision::V2025_11_25).await;
    for (name, words) in [
        ("string", "no"),
        ("str", "no"),
        ("question_mark", "no"),
        ("error", "the tool failed"),
        ("boxed", "the tool failed"),
    ] {
        assert_eq!(called(&client, name, "{}").await, words, "{name}");
    }
    for (method, params) in [
        ("resources/read", r#"{"uri":"r:"}"#),
        ("prompts/get", r#"{"name":"p"}"#),
    ] {
        let error = client.call(method, params).await.expect_err("an error");
        let words = error.server_error().map(|error| error.message.as_str());
        assert_eq!(words, Some("no"), "{method}");
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add { a: i64 },
    Negate { b: i64 },
}

#[derive(Deserialize, JsonSchema)]
enum Tagged {
    Add { a: i64 },
}

// proves: SV-1
#[tokio::test]
async fn enums_and_values_can_be_arguments() {
    let server = Server::new("any", "1")
        .tool("operation", "", |operation: Operation| async move {
            match operation {
                Operation::Add { a } => a + 1,
                Operation::Negate { b } => -b,
            }
        })
        .tool("tagged", "", |Tagged::Add { a }: Tagged| async move { a })
        .tool("value", "", |value: serde_json::Value| async move {
            value.to_string()
        })
        .tool(
            "map",
            "",
            |map: serde_json::Map<String, serde_json::Value>| async move { map.len() },
        )
        .tool("option", "", |option: Option<Add>| async move {
            option.map_or(0, |add| add.a + add.b)
        });
    let client = connected(server, Revision::V2025_11_25).await;
    let listed = call(&client, "tools/list", "{}").await;
    for tool in listed["tools"].as_array().expect("a list") {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    assert!(listed["tools"][0]["inputSchema"]["oneOf"].is_array());
    for (name, arguments, expected) in [
        ("operation", r#"{"op":"add","a":1}"#, "2"),
        ("operation", r#"{"op":"negate","b":1}"#, "-1"),
        ("tagged", r#"{"Add":{"a":1}}"#, "1"),
        ("value", r#"{"x":[1]}"#, r#"{"x":[1]}"#),
        ("map", r#"{"x":1,"y":2}"#, "2"),
        ("option", r#"{"a":1,"b":2}"#, "3"),
    ] {
        assert_eq!(called(&client, name, arguments).await, expected, "{name}");
    }
    let words = called(&client, "operation", r#"{"op":"divide"}"#).await;
    assert!(words.contains("unknown variant `divide`"), "{words}");
}

#[derive(Deserialize, JsonSchema)]
struct Range {
    first: u32,
    is_long: Option<bool>,
}

// proves: SV-1
#[tokio::test]
async fn prompts_and_templates_have_numbers_and_truth_values() {
    let show = |range: Range| async move { format!("{} {:?}", range.first, range.is_long) };
    let server =
        Server::new("texts", "1")
            .prompt("p", "", show)
            .template("r:{first}{?is_long}", "r", show);
    let client = connected(server, Revision::V2025_11_25).await;
    let got = r#"{"name":"p","arguments":{"first":"3","is_long":"true"}}"#;
    let got = call(&client, "prompts/get", got).await;
    assert_eq!(got["messages"][0]["content"]["text"], "3 Some(true)");
    let read = call(&client, "resources/read", r#"{"uri":"r:7"}"#).await;
    assert_eq!(read["contents"][0]["text"], "7 None");
    let wrong = r#"{"name":"p","arguments":{"first":"x"}}"#;
    let error = client.call("prompts/get", wrong).await;
    let words = error.expect_err("no number").to_string();
    assert!(words.contains("invalid arguments: first: "), "{words}");
    assert!(words.contains("expected u32"), "{words}");
}

// proves: SV-1
#[tokio::test]
async fn the_first_template_whose_variables_can_be_taken_is_read() {
    #[derive(Deserialize, JsonSchema)]
    struct Text {
        name: String,
    }
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let server = Server::new("templates", "1")
            .template("r:{first}", "number", |range: Range| async move {
                format!("number {}", range.first)
            })
            .template("r:{name}", "name", |text: Text| async move {
                format!("name {}", text.name)
            })
            .template("r:{x}", "never", || async { "shadowed" })
            .template("s:{first}", "number", |_: Range| async { "number" });
        let client = connected(server, revision).await;
        for (uri, text) in [("r:7", "number 7"), ("r:x", "name x"), ("s:7", "number")] {
            let read = call(&client, "resources/read", &format!(r#"{{"uri":"{uri}"}}"#)).await;
            assert_eq!(read["contents"][0]["text"], text, "{revision}");
        }
        let error = client.call("resources/read", r#"{"uri":"s:x"}"#).await;
        let error = error.expect_err("no number");
        let refusal = error.server_error().expect("an error of the server");
        // RS-4.
        let code = match revision {
            Revision::V2026_07_28 => -32602,
            _ => -32002,
        };
        assert_eq!(refusal.code, code, "{refusal:?}");
        let data = refusal.data.as_ref().map(|data| data.as_str());
        assert_eq!(data, Some(r#"{"uri":"s:x"}"#), "{revision}");
    }
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is looked at")]
struct Numbers {
    counts: Vec<u64>,
    part: Option<f32>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "what isn't written is the point")]
struct Written {
    #[serde(rename(serialize = "written", deserialize = "read"))]
    count: u64,
    #[serde(skip_serializing)]
    hidden: String,
}

// `format` of a number is Rust's own: validators of other languages complain about it.
#[tokio::test]
async fn schemas_are_json_schema_of_the_serialized_form() {
    let server = Server::new("schemas", "1").tool("it", "", |_: Numbers| async {
        Json(Written {
            count: 1,
            hidden: String::new(),
        })
    });
    let client = connected(server, Revision::V2025_11_25).await;
    let listed = call(&client, "tools/list", "{}").await;
    let tool = &listed["tools"][0];
    assert_eq!(
        tool["inputSchema"]["properties"],
        serde_json::json!({
            "counts": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "part": {"type": ["number", "null"]},
        })
    );
    assert_eq!(
        tool["outputSchema"],
        serde_json::json!({
            "type": "object",
            "properties": {"written": {"type": "integer", "minimum": 0}},
            "required": ["written"],
        })
    );
}

#[tokio::test]
async fn methods_without_features_are_not_found() {
    for revision in Revisions::ALL.iter() {
        let client = connected(Server::new("empty", "1"), revision).await;
        for (method, params) in [
            ("tools/list", "{}"),
            ("tools/call", r#"{"name":"t"}"#),
            ("resources/list", "{}"),
            ("resources/templates/list", "{}"),
            ("resources/read", r#"{"uri":"r:"}"#),
            ("prompts/list", "{}"),
            ("prompts/get", "{}"),
            ("completion/complete", "{}"),
        ] {
            let error = client.call(method, params).await.expect_err(method);
            let code = error.server_error().map(|error| error.code);
            assert_eq!(code, Some(-32601), "{method}: {error}");
        }
    }
}

// proves: PV-3
#[tokio::test]
async fn only_discover_returns_the_full_server_info() {
    let icon = Icon::new("data:image/png;base64,AAAA");
    let info = Implementation::new("test", "1.0.0")
        .title("Test")
        .icons([icon]);
    let server = Server::with_info(info).tool("nothing", "Does nothing", || async {});
    let client = connected(server, Revision::V2026_07_28).await;
    let key = "io.modelcontextprotocol/serverInfo";
    let discovered = call(&client, "server/discover", "{}").await;
    assert_eq!(
        discovered["_meta"][key]["icons"][0]["src"],
        "data:image/png;base64,AAAA"
    );
    let called = call(&client, "tools/call", r#"{"name":"nothing"}"#).await;
    let short = json!({"name": "test", "version": "1.0.0", "title": "Test"});
    assert_eq!(called["_meta"][key], short);
}

// PG-5.
#[tokio::test]
async fn a_cursor_is_good_for_its_own_list() {
    let mut server = Server::new("pages", "1").page_size(1);
    for name in ["a", "b", "c"] {
        server = server
            .tool(name, "", || async {})
            .prompt(name, "", || async { "" })
            .resource(format!("r:{name}"), name, || async { "" })
            .template(format!("{name}:{{x}}"), name, || async { "" });
    }
    let server = server.build().expect("it can be served");
    let lists = [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ];
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut client = LineClient::open(&server);
        client.begin(revision).await;
        for of in lists {
            let first = client.ask(of, "{}").await;
            let cursor = json!({"cursor": first["result"]["nextCursor"]}).to_string();
            for list in lists {
                let answer = client.ask(list, &cursor).await;
                if list == of {
                    assert!(answer["result"].is_object(), "{list}: {answer}")
                } else {
                    assert_eq!(answer["error"]["code"], -32602, "{list}: {answer}")
                }
            }
        }
    }
}
