use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn call(name: &str, from: u64, to: u64, outcome: &str) -> Call {
    Call {
        name: name.to_owned(),
        from: ms(from),
        to: ms(to),
        outcome: outcome.to_owned(),
        is_answered: outcome != "lost",
    }
}

/// A server that is killed after a second, in the middle of a call.
fn killed() -> Timeline {
    let changes = [
        (3, ConnectionState::Initializing),
        (10, ConnectionState::Ready),
        (1000, ConnectionState::Backoff),
        (1200, ConnectionState::Starting),
        (1203, ConnectionState::Initializing),
        (1210, ConnectionState::Ready),
        (1990, ConnectionState::Closing),
        (2000, ConnectionState::Closed),
    ];
    let changes = changes.map(|(at, state)| (ms(at), state));
    Timeline {
        states: Timeline::spans(changes, ms(2000)),
        calls: vec![
            call("add", 20, 21, "answered"),
            call("fail", 30, 31, "tool error"),
            call("countdown", 100, 1000, "lost"),
            call("add", 1010, 1215, "answered"),
        ],
        marks: vec![Mark {
            at: ms(990),
            label: "killed".to_owned(),
        }],
    }
}

fn text(lines: &[Vec<Piece>]) -> Vec<String> {
    let line = |pieces: &Vec<Piece>| {
        let line: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        line.trim_end().to_owned()
    };
    lines.iter().map(line).collect()
}

fn check(timeline: &Timeline, width: usize, charset: Charset, expected: &[&str]) {
    let found = text(&timeline.draw(width, charset));
    let shown = found.join("\n");
    assert_eq!(found, expected, "\n{shown}");
}

#[test]
fn states_and_calls_stand_below_each_other() {
    check(
        &killed(),
        74,
        Charset::Unicode,
        &[
            "            0 s       0.5 s      1 s        1.5 s",
            "connection  ░▒███████████████████····░▒███████████████▁",
            "                                 ▲ killed",
            "            ░ starting 6.0 ms  ▒ initializing 14 ms  █ ready 1.77 s",
            "            · backoff 200 ms  ▁ closing 10 ms",
            "add         │                                            answered   1.0 ms",
            "fail        │                                            tool error 1.0 ms",
            "countdown     ├──────────────────╳                       lost       900 ms",
            "add                              ├────┤                  answered   205 ms",
        ],
    );
}

#[test]
fn a_timeline_can_be_drawn_in_ascii() {
    check(
        &killed(),
        74,
        Charset::Ascii,
        &[
            "            0 s       0.5 s      1 s        1.5 s",
            "connection  si===================....si===============c",
            "                                 ^ killed",
            "            s starting 6.0 ms  i initializing 14 ms  = ready 1.77 s",
            "            . backoff 200 ms  c closing 10 ms",
            "add         |                                            answered   1.0 ms",
            "fail        |                                            tool error 1.0 ms",
            "countdown     [------------------x                       lost       900 ms",
            "add                              [----]                  answered   205 ms",
        ],
    );
    let lines = killed().draw(74, Charset::Ascii);
    assert!(text(&lines).iter().all(|line| line.is_ascii()));
}

#[test]
fn without_room_for_notes_there_is_only_the_chart() {
    check(
        &killed(),
        36,
        Charset::Ascii,
        &[
            "            0 s         1 s",
            "connection  si==========..si=======c",
            "                       ^ killed",
            "            s starting 6.0 ms",
            "            i initializing 14 ms",
            "            = ready 1.77 s",
            "            . backoff 200 ms",
            "            c closing 10 ms",
            "add         |",
            "fail        |",
            "countdown    [----------x",
            "add                     [-]",
        ],
    );
}

#[test]
fn nothing_is_wider_than_it_may_be() {
    for width in 32..200 {
        let chart = killed().draw(width, Charset::Unicode);
        for line in text(&chart) {
            assert!(columns(&line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn every_state_is_seen_in_its_order_however_short_it_was() {
    let flapping = (1..=60).map(|at| {
        let state = match at % 3 {
            0 => ConnectionState::Ready,
            1 => ConnectionState::Backoff,
            _ => ConnectionState::Starting,
        };
        (Duration::from_micros(at), state)
    });
    let mut timeline = Timeline {
        states: Timeline::spans(flapping, ms(1000)),
        ..Timeline::default()
    };
    let rows = text(&timeline.draw(100, Charset::Ascii));
    let row = rows[1].strip_prefix("connection  ").unwrap();
    assert_eq!(row.len(), 88);
    let expected = format!("s{}{}", ".s=".repeat(20), "=".repeat(27));
    assert_eq!(row, expected);
    // The same when it all happened at the end,
    timeline.states[0].to = ms(1000);
    for stretch in timeline.states.iter_mut().skip(1) {
        stretch.from = ms(1000);
        stretch.to = ms(1000);
    }
    let rows = text(&timeline.draw(100, Charset::Ascii));
    let row = rows[1].strip_prefix("connection  ").unwrap();
    assert_eq!(row, format!("{}{}", "s".repeat(28), ".s=".repeat(20)));
    // and as many of them as there is room for.
    let rows = text(&timeline.draw(40, Charset::Ascii));
    assert!(rows[1].starts_with("connection  s.s="), "{}", rows[1]);
}

#[test]
fn nothing_at_all_can_be_drawn() {
    let timeline = Timeline::default();
    check(
        &timeline,
        0,
        Charset::Ascii,
        &["            0 s", "connection"],
    );
}

#[test]
fn a_history_without_an_end_ends_now() {
    let spans = Timeline::spans([(ms(5), ConnectionState::Initializing)], ms(9));
    let expected = [
        (ConnectionState::Starting, 0, 5),
        (ConnectionState::Initializing, 5, 9),
    ]
    .map(|(state, from, to)| StateSpan {
        state,
        from: ms(from),
        to: ms(to),
    });
    assert_eq!(spans, expected);
    assert_eq!(Timeline::spans([], ms(9))[0].to, ms(9));
}

#[test]
fn long_names_are_cut() {
    let mut timeline = Timeline::default();
    let name = "a_tool_with_a_name_of_great_length";
    timeline.calls.push(call(name, 0, 1, "answered"));
    let rows = text(&timeline.draw(60, Charset::Unicode));
    assert!(
        rows[2].starts_with("a_tool_with_a_name_…  ├"),
        "{}",
        rows[2]
    );
}
