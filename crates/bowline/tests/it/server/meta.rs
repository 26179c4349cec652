//! Additional data (`_meta`) of what a server has.

use bowline::server::{Server, prompt, resource, template, tool};
use bowline::types::Revision;
use bowline::types::meta::Meta;

use super::support::{call, connected};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Id {
    id: String,
}

// proves: SV-3
#[tokio::test]
async fn everything_that_is_listed_may_have_additional_data() {
    let meta = |kind: &str| {
        let mut meta = Meta::new();
        meta.insert("example.com/kind", kind);
        meta
    };
    let server = Server::new("data", "1")
        .add_tool(tool("t", || async { "" }).meta(meta("tool")))
        .add_resource(resource("r:", "r", || async { "" }).meta(meta("resource")))
        .add_template(template("t:{id}", "t", |id: Id| async { id.id }).meta(meta("template")))
        .add_prompt(prompt("p", || async { "" }).meta(meta("prompt")));
    let client = connected(server, Revision::LATEST).await;
    for (method, list, kind) in [
        ("tools/list", "tools", "tool"),
        ("resources/list", "resources", "resource"),
        ("resources/templates/list", "resourceTemplates", "template"),
        ("prompts/list", "prompts", "prompt"),
    ] {
        let listed = call(&client, method, "{}").await;
        let meta = &listed[list][0]["_meta"];
        assert_eq!(meta["example.com/kind"], kind, "{listed}");
    }
}
