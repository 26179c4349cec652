//! What was typed about questions of the server: options of every command that calls one.

/// Answers to what a server asks, given before it does.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "When the server asks")]
pub(crate) struct AskingArgs {
    /// Fill in this field of forms that have it, as arguments of tools are given: key=value,
    /// key:=json or key=@file (may be given several times)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) answer: Vec<String>,

    /// Accept forms with their defaults, and with what --answer gives
    #[arg(long)]
    pub(crate) accept_defaults: bool,

    /// Say that pages were opened; where they are is told on stderr
    #[arg(long)]
    pub(crate) accept_pages: bool,

    /// Say no to forms, pages and requests for a model
    #[arg(long, conflicts_with_all = ["answer", "accept_defaults", "accept_pages", "sample"])]
    pub(crate) decline: bool,

    /// Answer with this text when a model is asked (may be given several times: for the first
    /// request, for the second, and the last one from then on)
    #[arg(long, value_name = "TEXT")]
    pub(crate) sample: Vec<String>,
}
