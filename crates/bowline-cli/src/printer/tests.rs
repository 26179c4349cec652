use super::capture::CapturedOutput;
use super::*;
use crate::failure::{hinted, usage};

/// Takes nothing.
struct Refusing(ErrorKind);

impl Write for Refusing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// proves: F-CL-01
#[test]
fn only_our_own_escapes_reach_the_output() {
    let hostile = "\u{1b}[31mred\u{1b}]52;c;aGk=\u{7}\nforged";
    for (has_colour, on, off) in [(false, "", ""), (true, "\u{1b}[31m", "\u{1b}[0m")] {
        let (data, messages) = (CapturedOutput::default(), CapturedOutput::default());
        let mut printer = Printer::new(data.clone(), messages.clone(), has_colour);
        printer.line(1, Tone::Bad, hostile).unwrap();
        printer.note(hostile);
        assert_eq!(harmless(hostile).lines().count(), 1);
        let shown = "\\u{1b}[31mred\\u{1b}]52;c;aGk=\\u{7}\\nforged";
        assert_eq!(data.text(), format!("  {on}{shown}{off}\n"));
        assert_eq!(messages.text(), format!("{shown}\n"));
    }
}

// proves: F-CL-01
#[test]
fn escaped_json_has_the_same_value() {
    let hostile = "\u{9b}31m\u{202e}\u{7f}\n\u{e0041}\"\\";
    let data = CapturedOutput::default();
    let mut printer = Printer::new(data.clone(), CapturedOutput::default(), false);
    printer.json(&hostile).unwrap();
    let text = data.text();
    assert!(
        text.trim_end()
            .bytes()
            .all(|byte| (0x20..0x7f).contains(&byte))
    );
    assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
}

// proves: F-CL-02
#[test]
fn a_closed_pipe_and_a_full_disk_are_distinguished() {
    let print = |kind| {
        let mut printer = Printer::new(Refusing(kind), CapturedOutput::default(), false);
        printer.line(0, Tone::Plain, "x").unwrap_err()
    };
    assert!(print(ErrorKind::BrokenPipe).is::<OutputClosed>());
    let full = print(ErrorKind::StorageFull);
    assert!(!full.is::<OutputClosed>());
    assert_eq!(
        format!("{full:#}"),
        "cannot write the output: no storage space"
    );
}

#[test]
fn errors_end_with_their_hint() {
    let messages = CapturedOutput::default();
    let mut printer = Printer::new(CapturedOutput::default(), messages.clone(), false);
    let error = anyhow::anyhow!("the cause").context("what happened");
    printer.error(&hinted(error, "what to do"));
    assert_eq!(
        messages.text(),
        "error: what happened: the cause\nhint: what to do\n"
    );
}

#[test]
fn warnings_look_like_errors() {
    let messages = CapturedOutput::default();
    let mut printer = Printer::new(CapturedOutput::default(), messages.clone(), false);
    printer.warning("what is odd", Some("what to do"));
    printer.warning("what else", None);
    assert_eq!(
        messages.text(),
        "warning: what is odd\nhint: what to do\nwarning: what else\n"
    );
}

// proves: F-CL-01, F-CL-03
#[test]
fn a_program_gets_errors_and_warnings_as_objects() {
    let (data, messages) = (CapturedOutput::default(), CapturedOutput::default());
    let mut printer = Printer::new(data.clone(), messages.clone(), true);
    printer.write_messages_as_json();
    printer.warning("a\u{9b}b", None);
    printer.usage_error("typo", "help");
    printer.error(&usage(anyhow::anyhow!("the cause"), "what to do").context("what"));
    printer.error(&anyhow::anyhow!("x"));
    assert_eq!(data.text(), "");
    assert_eq!(
        messages.text(),
        "{\"warning\":\"a\\u009bb\"}\n\
         {\"error\":\"typo\",\"hint\":\"help\",\"exit_code\":2}\n\
         {\"error\":\"what: the cause\",\"hint\":\"what to do\",\"exit_code\":2}\n\
         {\"error\":\"x\",\"exit_code\":1}\n"
    );
}
