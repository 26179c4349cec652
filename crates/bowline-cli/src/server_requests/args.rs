//! The options that answer requests of the server, for every command that calls one.

/// Answers to requests of the server, given in advance.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Options for elicitation and sampling")]
pub(crate) struct ServerRequestArgs {
    /// Fill in this field of elicitation forms, written as tool arguments are: key=value,
    /// key:=json or key=@file (may be given several times)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) answer: Vec<String>,

    /// Accept elicitation forms with their defaults and the fields of --answer
    #[arg(long)]
    pub(crate) accept_defaults: bool,

    /// Accept URL elicitations as opened; the URLs are shown on stderr
    #[arg(long)]
    pub(crate) accept_urls: bool,

    /// Decline forms, URL elicitations and sampling requests
    #[arg(long, conflicts_with_all = ["answer", "accept_defaults", "accept_urls", "sample"])]
    pub(crate) decline: bool,

    /// Answer a sampling request with this text (may be given several times: the first text for
    /// the first request, and so on; the last text for all further requests)
    #[arg(long, value_name = "TEXT")]
    pub(crate) sample: Vec<String>,
}
