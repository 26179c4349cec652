//! What stands below the options of the commands that talk to a server.

/// How `bowline tools` is written.
pub(super) const TOOLS_USAGE: &str = "bowline tools [OPTIONS] SERVER [TOOL]
       bowline tools [OPTIONS] [TOOL] -- COMMAND [ARGS]...";

/// What stands below the options in `bowline tools --help`.
pub(super) const TOOLS_HELP: &str =
    "Each tool is shown as add(a: number, b?: integer = 1) -> {sum: number}: what it takes, with ?
after what may be left out, and what it answers with where that is known. With TOOL all that
the server says of it, schemas included.

Examples:
  bowline tools demo
  bowline tools demo add
  bowline tools -- npx -y @modelcontextprotocol/server-everything

Output with --json:
  One object with tools, each as the protocol has it (name, title, description, inputSchema,
  outputSchema, annotations and so on); with TOOL the tool alone.

Exit codes:
  0  done
  1  something failed, such as a server that has no tools
  2  the command line is wrong, or there is no server or tool of that name
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached";

/// How `bowline call` is written.
pub(super) const CALL_USAGE: &str = "bowline call [OPTIONS] SERVER TOOL [ARGUMENT]...
       bowline call [OPTIONS] TOOL [ARGUMENT]... -- COMMAND [ARGS]...";

/// What stands below the options in `bowline call --help`.
pub(super) const CALL_HELP: &str = r#"Arguments:
  key=value          a text, made into what the tool's schema wants: a number, true, a list
                     where it wants a text or null, null is null; so with numbers, true
  key:=json          a JSON value, sent as it is: key:='"null"' is the word
  key=@file          the same from a file, also key:=@file; @- is stdin
  a.b=value          a member of the object a
  key=1 key=2        a list, where the schema wants one
  '{"key": 1}'       all of them as a JSON object, sent as it is; also @file, or - for stdin

What is required and not given is sent with its default, if the tool's schema has one.

Examples:
  bowline call demo add a=2 b=3
  echo '{"a": 2, "b": 3}' | bowline call demo add -
  bowline call echo message=hi -- npx -y @modelcontextprotocol/server-everything

Questions of the server:
  On a terminal (stdin and stderr) you are asked, after what the options answer: !decline
  says no, !cancel or Ctrl-D gives no answer, and a text that begins with ! begins with !!.
  Pages are shown, never opened. Where there is no terminal, what no option answers is
  cancelled, with a warning that names the option.

Output:
  Texts on stdout, with what a terminal would obey escaped. Images, sound and blobs are saved
  into the current folder, or where --output says, under names that no server chose and
  that were free; stderr says where. So are exact texts, with --output FILE. Structured
  content is shown where there is no text, since servers say it in their texts too.

Output with --json:
  The result as the protocol has it: content, structuredContent, isError. Images, sound and
  blobs are in it as base64, and saved with --output only. Errors are objects on stderr: error,
  hint, exit_code, and code and data where the server answered with an error.

Exit codes:
  0  the tool answered
  1  something failed, or a part of the answer could not be decoded or saved
  2  the command line is wrong: no such server, tool or argument
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached, or was lost
  5  the tool answered that it failed"#;

/// How `bowline resources` is written.
pub(super) const RESOURCES_USAGE: &str = "bowline resources [OPTIONS] SERVER
       bowline resources [OPTIONS] -- COMMAND [ARGS]...";

/// What stands below the options in `bowline resources --help`.
pub(super) const RESOURCES_HELP: &str = "Examples:
  bowline resources demo

Output with --json:
  One object with resources and resourceTemplates, each as the protocol has it (uri or
  uriTemplate, name, title, description, mimeType, size and so on).

Exit codes:
  0  done
  1  something failed, such as a server that has no resources
  2  the command line is wrong, or there is no server of that name
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached";

/// How `bowline read` is written.
pub(super) const READ_USAGE: &str = "bowline read [OPTIONS] SERVER URI
       bowline read [OPTIONS] URI -- COMMAND [ARGS]...";

/// What stands below the options in `bowline read --help`.
pub(super) const READ_HELP: &str = "Examples:
  bowline read demo demo://readme
  bowline read demo demo://knot.png --output knot.png

Output:
  Texts on stdout, with what a terminal would obey escaped. Blobs are saved into the current
  folder, or where --output says, under names that no server chose and that were free;
  stderr says where. So are exact texts, with --output FILE.

Output with --json:
  The result as the protocol has it: contents, each with uri, mimeType, and text or blob.
  Blobs are in it as base64, and saved with --output only.

Exit codes:
  0  done
  1  something failed, such as a server that has no such resource
  2  the command line is wrong, or there is no server of that name
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached, or was lost";

/// How `bowline prompts` is written.
pub(super) const PROMPTS_USAGE: &str = "bowline prompts [OPTIONS] SERVER [PROMPT]
       bowline prompts [OPTIONS] [PROMPT] -- COMMAND [ARGS]...";

/// What stands below the options in `bowline prompts --help`.
pub(super) const PROMPTS_HELP: &str =
    "Each prompt is shown as greet(name, style?): what it takes, with ? after what may be left out.
With PROMPT all that the server says of it.

Examples:
  bowline prompts demo
  bowline prompts demo greet

Output with --json:
  One object with prompts, each as the protocol has it (name, title, description, arguments
  and so on); with PROMPT the prompt alone.

Exit codes:
  0  done
  1  something failed, such as a server that has no prompts
  2  the command line is wrong, or there is no server or prompt of that name
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached";

/// How `bowline prompt` is written.
pub(super) const PROMPT_USAGE: &str = "bowline prompt [OPTIONS] SERVER PROMPT [ARGUMENT]...
       bowline prompt [OPTIONS] PROMPT [ARGUMENT]... -- COMMAND [ARGS]...";

/// What stands below the options in `bowline prompt --help`.
pub(super) const PROMPT_HELP: &str = r#"Arguments:
  key=value          a text; arguments of prompts are nothing else
  key=@file          the same from a file; @- is stdin
  '{"key": "x"}'     all of them as a JSON object; also @file, or - for stdin

Examples:
  bowline prompt demo greet name=Ann
  bowline prompt demo discuss author=conrad title=typhoon --output - | less

Output:
  Messages on stdout, each below a line with who says it, with what a terminal would obey
  escaped. Images, sound and blobs are saved as `bowline call` does. With --output FILE or -
  the texts alone, exactly as they are.

Output with --json:
  The result as the protocol has it: description, and messages with role and content.

Exit codes:
  0  done
  1  something failed
  2  the command line is wrong: no such server, prompt or argument
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached, or was lost"#;

/// How `bowline complete` is written.
pub(super) const COMPLETE_USAGE: &str =
    "bowline complete [OPTIONS] SERVER WHAT ARGUMENT=TYPED [KNOWN=VALUE]...
       bowline complete [OPTIONS] WHAT ARGUMENT=TYPED [KNOWN=VALUE]... -- COMMAND [ARGS]...";

/// What stands below the options in `bowline complete --help`.
pub(super) const COMPLETE_HELP: &str =
    "WHAT is the name of a prompt, or the name or URI of a resource template; prompt:NAME or
template:NAME where both have it. The first argument is completed; the others, which have
their values already, help the server (since 2025-06-18).

Examples:
  bowline complete demo greet style=f
  bowline complete demo 'demo://books/{author}/{title}' title= author=conrad

Output:
  The values, one a line.

Output with --json:
  One object: values, and if the server says so total (how many there are) and hasMore.

Exit codes:
  0  done, also when there are no values
  1  something failed, such as a server that can't complete
  2  the command line is wrong: no such server, prompt, template or argument
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached";

/// How `bowline info` is written.
pub(super) const INFO_USAGE: &str = "bowline info [OPTIONS] SERVER
       bowline info [OPTIONS] -- COMMAND [ARGS]...";

/// What stands below the options in `bowline info --help`.
pub(super) const INFO_HELP: &str = "Examples:
  bowline info demo
  bowline info -- npx -y @modelcontextprotocol/server-everything

Output with --json:
  One object. Members that don't apply are left out.

  server        who it says it is: name, version, title, description, websiteUrl, icons
  revision      that was agreed on
  era           handshake or stateless
  capabilities  as the server declared them
  instructions  of the server, for models
  counts        tools, resources, resource_templates, prompts: how many it lists

Exit codes:
  0  done
  1  something failed
  2  the command line is wrong, or there is no server of that name
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached";

/// How `bowline ping` is written.
pub(super) const PING_USAGE: &str = "bowline ping [OPTIONS] SERVER
       bowline ping [OPTIONS] -- COMMAND [ARGS]...";

/// What stands below the options in `bowline ping --help`.
pub(super) const PING_HELP: &str =
    "Where the protocol has no ping, which is since 2026-07-28, the server is asked what it can
do instead.

Examples:
  bowline ping demo --count 5
  bowline ping --timeout 2 -- npx -y @modelcontextprotocol/server-everything

Output with --json:
  One object per ping and line: ping (its number, from 1) and took_ms.

Exit codes:
  0  every ping was answered
  1  one was not, in time
  2  the command line is wrong, or there is no server of that name
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached";

/// How `bowline watch` is written.
pub(super) const WATCH_USAGE: &str = "bowline watch [OPTIONS] SERVER
       bowline watch [OPTIONS] -- COMMAND [ARGS]...";

/// What stands below the options in `bowline watch --help`.
pub(super) const WATCH_HELP: &str =
    "It tells what the connection goes through, which lists have changed, which of the resources
that were named, and what the server logs, until Ctrl-C, --for or --count ends it. A server
that ends is started again, for as long as it can be.

Examples:
  bowline watch demo --resource demo://counter
  bowline watch --json --for 60 -- npx -y @modelcontextprotocol/server-everything

Output with --json:
  One object per event and line: time (in UTC), at_ms (since the command was started) and
  event, which is one of

  state         from, to, cause, session (its number, from 1; 0 before the first)
  changed       list: tools, prompts or resources
  updated       uri
  unknown       the connection was lost meanwhile: anything may have changed
  log           level, logger, data
  missed        count: events that were left out, since they came faster than they were read
  unsubscribed  reason: changes are no longer told

Exit codes:
  0  Ctrl-C, --for or --count ended it, or whoever reads the output
  1  the server can't tell of what is wanted
  2  the command line is wrong, or there is no server of that name
  3  the server wants authorization (over HTTP, which is yet to come)
  4  the server can't be started or reached, or no longer";
