//! The command that starts a server.

use std::ffi::OsString;
use std::path::PathBuf;

use bowline::transport::ChildProcess;

use crate::environment::Environment;
use crate::redact;

/// A command with its arguments and environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Launch {
    /// The program, looked up in PATH as a shell does.
    pub(crate) program: OsString,
    /// Its arguments.
    pub(crate) args: Vec<OsString>,
    /// Its variables, besides those that every program gets.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// `true` if it inherits all our variables.
    pub(crate) inherits_env: bool,
    /// Its working directory, if not the current one.
    pub(crate) folder: Option<PathBuf>,
    /// The values of secret variables that were substituted in its words, where their names are no
    /// longer visible.
    pub(crate) secrets: Vec<String>,
}

impl Launch {
    /// Creates a command that was typed. It inherits the environment, as from a shell.
    pub(crate) fn typed(program: impl Into<OsString>, args: &[OsString]) -> Self {
        Self {
            program: program.into(),
            args: args.to_vec(),
            inherits_env: true,
            ..Self::default()
        }
    }

    /// Registers the secrets that the server is given, so that they are redacted from its output.
    pub(crate) fn register_secrets(&self, environment: &Environment) {
        let own = environment.variables.iter();
        let own = own.filter(|(name, value)| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            self.inherits_env && redact::is_secret_variable(&name, &value)
        });
        let values = self.env.iter().map(|(_, value)| value);
        let values = values.chain(own.map(|(_, value)| value));
        let values = values.map(|value| value.to_string_lossy());
        let values = values.chain(self.secrets.iter().map(Into::into));
        let words = [&self.program].into_iter().chain(&self.args);
        let words = words.map(|word| word.to_string_lossy());
        let (values, words) = (values.collect::<Vec<_>>(), words.collect::<Vec<_>>());
        let values: Vec<_> = values.iter().map(AsRef::as_ref).collect();
        let words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
        redact::register_secrets(&values, &words);
    }

    /// Returns the transport that starts the command.
    pub(crate) fn child(&self) -> ChildProcess {
        let mut child = ChildProcess::new(&self.program).args(&self.args);
        for (name, value) in &self.env {
            child = child.env(name, value);
        }
        if self.inherits_env {
            child = child.inherit_env();
        }
        match &self.folder {
            Some(folder) => child.current_dir(folder),
            None => child,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bowline::types::common::Implementation;
    use bowline::{Client, ClientConfig};

    use super::*;
    use crate::scratch::Scratch;

    /// Returns what a started shell sees: its argument, a variable, its folder, and one of our own
    /// variables.
    async fn seen(mut launch: Launch, scratch: &Scratch) -> String {
        let pipe = scratch.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        // The first process removes the name: the command is started again when it has ended.
        let script = r#"exec 3> "$0"; rm "$0"
            printf '%s|%s|%s|%s' "$1" "$GIVEN" "$PWD" "${CARGO_PKG_NAME-none}" >&3"#;
        launch.program = "sh".into();
        launch.args = ["-c", script].map(OsString::from).to_vec();
        launch
            .args
            .extend([pipe.clone().into(), "an argument".into()]);
        let reading = tokio::task::spawn_blocking(|| fs::read_to_string(pipe));
        let config = ClientConfig::new(Implementation::new("test", "1"));
        // It writes and exits, and is not a server.
        tokio::select! {
            seen = reading => seen.unwrap().unwrap(),
            connected = Client::connect(launch.child(), config) => {
                panic!("{:?}", connected.err())
            }
        }
    }

    #[tokio::test]
    async fn a_configured_command_inherits_only_what_it_names() {
        let scratch = Scratch::new();
        let folder = scratch.path().canonicalize().unwrap();
        let launch = Launch {
            env: vec![("GIVEN".into(), "a value".into())],
            folder: Some(folder.clone()),
            ..Launch::default()
        };
        assert_eq!(
            seen(launch, &scratch).await,
            format!("an argument|a value|{}|none", folder.display())
        );
    }

    #[tokio::test]
    async fn a_typed_command_inherits_the_environment() {
        let scratch = Scratch::new();
        let here = std::env::current_dir().unwrap();
        let launch = Launch::typed("sh", &[]);
        assert_eq!(
            seen(launch, &scratch).await,
            format!("an argument||{}|bowline-cli", here.display())
        );
    }
}
