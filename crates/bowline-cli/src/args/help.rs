//! What stands below the options of the commands that talk to a server.

/// The usage of `bowline tools`.
pub(super) const TOOLS_USAGE: &str = "bowline tools [OPTIONS] SERVER [TOOL]
       bowline tools [OPTIONS] [TOOL] -- COMMAND [ARGS]...";

/// The text below the options in `bowline tools --help`.
pub(super) const TOOLS_HELP: &str =
    "Each tool is shown as add(a: number, b?: integer = 1) -> {sum: number}: its arguments, with ?
after optional ones, and its structured result where the server declares one. With TOOL all
its details are shown, including the schemas.

Examples:
  bowline tools demo
  bowline tools demo add
  bowline tools -- npx -y @modelcontextprotocol/server-everything

Output with --json:
  One object with tools, each as in the protocol (name, title, description, inputSchema,
  outputSchema, annotations and so on); with TOOL the tool alone.

Exit codes:
  0  done
  1  something failed, such as a server that has no tools
  2  the command line is wrong, or there is no server or tool of that name
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached";

/// The usage of `bowline call`.
pub(super) const CALL_USAGE: &str = "bowline call [OPTIONS] SERVER TOOL [ARGUMENT]...
       bowline call [OPTIONS] TOOL [ARGUMENT]... -- COMMAND [ARGS]...";

/// The text below the options in `bowline call --help`.
pub(super) const CALL_HELP: &str = r#"Arguments:
  key=value          a string, converted to the type in the tool's schema: a number, true, a list
                     (where the schema allows null as well, the string null becomes null)
  key:=json          a JSON value, sent unchanged: key:='"null"' sends the string null
  key=@file          the value from a file, also key:=@file; @- is stdin
  a.b=value          a member of the object a
  key=1 key=2        a list, where the schema has an array
  '{"key": 1}'       all arguments as a JSON object, sent unchanged; also @file, or - for stdin

Required arguments that are not given are sent with the default of the tool's schema, if any.

Examples:
  bowline call demo add a=2 b=3
  echo '{"a": 2, "b": 3}' | bowline call demo add -
  bowline call echo message=hi -- npx -y @modelcontextprotocol/server-everything

Requests of the server (elicitation and sampling):
  The options for elicitation and sampling are applied first. What they leave open is requested
  on the terminal (stdin and stderr): !decline declines, !cancel or Ctrl-D cancels, and !! at
  the beginning stands for a literal !. URLs are shown, never opened. Without a terminal, a
  request that no option covers is cancelled, with a warning that names the option.

Output:
  Text on stdout, with control sequences escaped. Images, audio and blobs are saved in the
  current folder, or where --output points, under unused names that the server did not choose;
  stderr shows the paths. With --output FILE text is saved too, unescaped. Structured content is
  shown only if there is no text, since servers repeat it as text.

Output with --json:
  The result as in the protocol: content, structuredContent, isError. Images, audio and
  blobs are in it as base64, and saved with --output only. Errors are objects on stderr: error,
  hint, exit_code, and code and data where the server returned an error.

Exit codes:
  0  the tool succeeded
  1  the call failed, or a part of the result could not be decoded or saved
  2  the command line is wrong: no such server, tool or argument
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached, or was lost
  5  the tool reported an error (isError)"#;

/// The usage of `bowline resources`.
pub(super) const RESOURCES_USAGE: &str = "bowline resources [OPTIONS] SERVER
       bowline resources [OPTIONS] -- COMMAND [ARGS]...";

/// The text below the options in `bowline resources --help`.
pub(super) const RESOURCES_HELP: &str = "Examples:
  bowline resources demo

Output with --json:
  One object with resources and resourceTemplates, each as in the protocol (uri or
  uriTemplate, name, title, description, mimeType, size and so on).

Exit codes:
  0  done
  1  something failed, such as a server that has no resources
  2  the command line is wrong, or there is no server of that name
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached";

/// The usage of `bowline read`.
pub(super) const READ_USAGE: &str = "bowline read [OPTIONS] SERVER URI
       bowline read [OPTIONS] URI -- COMMAND [ARGS]...";

/// The text below the options in `bowline read --help`.
pub(super) const READ_HELP: &str = "Examples:
  bowline read demo demo://readme
  bowline read demo demo://knot.png --output knot.png

Output:
  Text on stdout, with control sequences escaped. Blobs are saved in the current folder, or
  where --output points, under unused names that the server did not choose; stderr shows the
  paths. With --output FILE text is saved too, unescaped.

Output with --json:
  The result as in the protocol: contents, each with uri, mimeType, and text or blob.
  Blobs are in it as base64, and saved with --output only.

Exit codes:
  0  done
  1  something failed, such as a server that has no such resource
  2  the command line is wrong, or there is no server of that name
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached, or was lost";

/// The usage of `bowline prompts`.
pub(super) const PROMPTS_USAGE: &str = "bowline prompts [OPTIONS] SERVER [PROMPT]
       bowline prompts [OPTIONS] [PROMPT] -- COMMAND [ARGS]...";

/// The text below the options in `bowline prompts --help`.
pub(super) const PROMPTS_HELP: &str =
    "Each prompt is shown as greet(name, style?): its arguments, with ? after optional ones. With
PROMPT all its details are shown.

Examples:
  bowline prompts demo
  bowline prompts demo greet

Output with --json:
  One object with prompts, each as in the protocol (name, title, description, arguments
  and so on); with PROMPT the prompt alone.

Exit codes:
  0  done
  1  something failed, such as a server that has no prompts
  2  the command line is wrong, or there is no server or prompt of that name
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached";

/// The usage of `bowline prompt`.
pub(super) const PROMPT_USAGE: &str = "bowline prompt [OPTIONS] SERVER PROMPT [ARGUMENT]...
       bowline prompt [OPTIONS] PROMPT [ARGUMENT]... -- COMMAND [ARGS]...";

/// The text below the options in `bowline prompt --help`.
pub(super) const PROMPT_HELP: &str = r#"Arguments:
  key=value          a string; prompt arguments are always strings
  key=@file          the value from a file; @- is stdin
  '{"key": "x"}'     all arguments as a JSON object; also @file, or - for stdin

Examples:
  bowline prompt demo greet name=Ann
  bowline prompt demo discuss author=conrad title=typhoon --output - | less

Output:
  Messages on stdout, each below a line with its role, with control sequences escaped.
  Images, audio and blobs are saved as `bowline call` does. With --output FILE or - only the
  text is written, unchanged.

Output with --json:
  The result as in the protocol: description, and messages with role and content.

Exit codes:
  0  done
  1  something failed
  2  the command line is wrong: no such server, prompt or argument
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached, or was lost"#;

/// The usage of `bowline complete`.
pub(super) const COMPLETE_USAGE: &str =
    "bowline complete [OPTIONS] SERVER WHAT ARGUMENT=TYPED [KNOWN=VALUE]...
       bowline complete [OPTIONS] WHAT ARGUMENT=TYPED [KNOWN=VALUE]... -- COMMAND [ARGS]...";

/// The text below the options in `bowline complete --help`.
pub(super) const COMPLETE_HELP: &str =
    "WHAT is the name of a prompt, or the name or URI of a resource template; write prompt:NAME or
template:NAME if both exist. The first argument is completed; the others, whose values are
known, are sent as context (since 2025-06-18).

Examples:
  bowline complete demo greet style=f
  bowline complete demo 'demo://books/{author}/{title}' title= author=conrad

Output:
  The values, one per line.

Output with --json:
  One object: values, and where the server sends them total (the number of values) and hasMore.

Exit codes:
  0  done, also when there are no values
  1  something failed, such as a server without completion
  2  the command line is wrong: no such server, prompt, template or argument
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached";

/// The usage of `bowline info`.
pub(super) const INFO_USAGE: &str = "bowline info [OPTIONS] SERVER
       bowline info [OPTIONS] -- COMMAND [ARGS]...";

/// The text below the options in `bowline info --help`.
pub(super) const INFO_HELP: &str = "Examples:
  bowline info demo
  bowline info -- npx -y @modelcontextprotocol/server-everything

Output with --json:
  One object. Members that don't apply are left out.

  server        its implementation info: name, version, title, description, websiteUrl, icons
  revision      the negotiated protocol revision
  era           handshake (initialize) or stateless (since 2026-07-28)
  capabilities  as the server declared them
  instructions  of the server, for models
  counts        tools, resources, resource_templates, prompts: how many it lists

Exit codes:
  0  done
  1  something failed
  2  the command line is wrong, or there is no server of that name
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached";

/// The usage of `bowline ping`.
pub(super) const PING_USAGE: &str = "bowline ping [OPTIONS] SERVER
       bowline ping [OPTIONS] -- COMMAND [ARGS]...";

/// The text below the options in `bowline ping --help`.
pub(super) const PING_HELP: &str =
    "Since 2026-07-28 the protocol has no ping; a server/discover request is sent instead.

Examples:
  bowline ping demo --count 5
  bowline ping --timeout 2 -- npx -y @modelcontextprotocol/server-everything

Output with --json:
  One object per ping and line: ping (its number, from 1) and took_ms.

Exit codes:
  0  every ping was answered
  1  a ping timed out
  2  the command line is wrong, or there is no server of that name
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached";

/// The usage of `bowline watch`.
pub(super) const WATCH_USAGE: &str = "bowline watch [OPTIONS] SERVER
       bowline watch [OPTIONS] -- COMMAND [ARGS]...";

/// The text below the options in `bowline watch --help`.
pub(super) const WATCH_HELP: &str =
    "Shows changes of the connection state, changed lists, updates of the resources that --resource
names, and log messages of the server, until Ctrl-C, --for or --count ends it. A server that
exits is started again, as long as that succeeds.

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
  missed        count: events that were dropped, since they arrived faster than they were read
  unsubscribed  reason: the subscription ended, and no more changes are reported

Exit codes:
  0  Ctrl-C, --for or --count ended it, or the reader closed the output
  1  the server doesn't support the subscription
  2  the command line is wrong, or there is no server of that name
  3  the server requires authorization (HTTP only, which is not supported yet)
  4  the server can't be started or reached, or was lost";
