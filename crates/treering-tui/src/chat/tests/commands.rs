//! Tests of commands as they are typed.

use crate::chat::commands::TABLE;
use crate::chat::completion::complete;
use crate::chat::{ChatCommand, CompletionSources, ParsedInput, SummaryChoice};
use treering_agent::ThinkingLevel;

#[test]
fn what_is_typed_is_understood() {
    let some = |text: &str| Some(text.to_owned());
    let run =
        |command: &str, in_context| ParsedInput::Shell { command: command.into(), in_context };
    for (text, typed) in [
        ("hello\nthere ", ParsedInput::Message("hello\nthere".into())),
        (" /tree", ParsedInput::Message("/tree".into())),
        ("/etc/passwd is what?", ParsedInput::Message("/etc/passwd is what?".into())),
        ("/ is the root", ParsedInput::Message("/ is the root".into())),
        ("!ls -l", run("ls -l", true)),
        ("!! env ", run("env", false)),
        ("/tree", ParsedInput::Command(ChatCommand::Tree)),
        ("/branch", ParsedInput::Command(ChatCommand::Branch(None))),
        ("/branch  ab12", ParsedInput::Command(ChatCommand::Branch(some("ab12")))),
        (
            "/branch-here 2",
            ParsedInput::Command(ChatCommand::BranchHere("2".into(), SummaryChoice::None)),
        ),
        (
            "/branch-here 2 tried that",
            ParsedInput::Command(ChatCommand::BranchHere(
                "2".into(),
                SummaryChoice::Given("tried that".into()),
            )),
        ),
        (
            "/branch-here 2 --summarize the tests",
            ParsedInput::Command(ChatCommand::BranchHere(
                "2".into(),
                SummaryChoice::Generate(some("the tests")),
            )),
        ),
        (
            "/branch-here 2 --summarize",
            ParsedInput::Command(ChatCommand::BranchHere(
                "2".into(),
                SummaryChoice::Generate(None),
            )),
        ),
        ("/switch todo", ParsedInput::Command(ChatCommand::Switch("todo".into()))),
        ("/pop", ParsedInput::Command(ChatCommand::Pop(None))),
        ("/fork ab", ParsedInput::Command(ChatCommand::Fork(some("ab")))),
        (
            "/compact\nthe API,\nin short",
            ParsedInput::Command(ChatCommand::Compact(some("the API,\nin short"))),
        ),
        (
            "/label ab12 a good place",
            ParsedInput::Command(ChatCommand::Label("ab12 a good place".into())),
        ),
        ("/name my session", ParsedInput::Command(ChatCommand::Name("my session".into()))),
        (
            "/export-branch ab x y.html",
            ParsedInput::Command(ChatCommand::ExportBranch(some("ab"), some("x y.html"))),
        ),
        ("/cherry-pick a..b", ParsedInput::Command(ChatCommand::CherryPick("a..b".into()))),
        (
            "/merge 2 the API",
            ParsedInput::Command(ChatCommand::Merge {
                place: "2".into(),
                full: false,
                focus: some("the API"),
            }),
        ),
        (
            "/merge 2 --full",
            ParsedInput::Command(ChatCommand::Merge { place: "2".into(), full: true, focus: None }),
        ),
        ("/model openai/x:1b", ParsedInput::Command(ChatCommand::Model(some("openai/x:1b")))),
        ("/thinking high", ParsedInput::Command(ChatCommand::Thinking(some("high")))),
        ("/quit", ParsedInput::Command(ChatCommand::Quit)),
    ] {
        assert_eq!(ParsedInput::parse(text), Ok(typed), "{text:?}");
    }
}

#[test]
fn what_is_wrong_is_explained() {
    let levels = format!("usage: /thinking [{}]", ThinkingLevel::LEVELS.join("|"));
    for (text, why) in [
        ("/swich 2", "unknown command /swich; did you mean /switch?"),
        ("/branche", "unknown command /branche; did you mean /branches?"),
        ("/nonsense", "unknown command /nonsense; see /help, or put a space first to send it"),
        ("/switch", "usage: /switch ENTRY"),
        ("/switch a b", "usage: /switch ENTRY"),
        ("/tree now", "usage: /tree"),
        ("/thinking hard", levels.as_str()),
        ("/label", "usage: /label [ENTRY] TEXT"),
        ("!", "put a shell command after the !, such as !ls; !!ls hides it from the model"),
    ] {
        assert_eq!(ParsedInput::parse(text).unwrap_err().to_string(), why);
    }
}

#[test]
fn every_command_of_the_table_is_understood() {
    for spec in TABLE {
        let arguments = if spec.arguments.starts_with('[') { "" } else { " x" };
        let arguments = if spec.arguments.is_empty() { "" } else { arguments };
        let typed = ParsedInput::parse(&format!("/{}{arguments}", spec.name));
        let is_label = spec.name == "label";
        assert!(is_label || matches!(typed, Ok(ParsedInput::Command(_))), "{typed:?}");
    }
}

#[test]
fn words_are_completed() {
    let names = CompletionSources {
        places: vec![("1".into(), "a branch".into()), ("ab12".into(), "hello".into())],
        models: vec!["acme/m1".into()],
    };
    for (before, words) in [
        ("/br", "/branch /branch-here /branches"),
        ("/q", "/quit"),
        ("/switch ", "1 ab12"),
        ("/switch a", "ab12"),
        ("/switch ab12 ", ""),
        ("/thinking m", "minimal medium"),
        ("/model ", "acme/m1"),
        ("/tree ", ""),
        ("hello /br", ""),
        ("/compact\n/br", ""),
        ("", ""),
    ] {
        let found = complete(before, &names);
        let found = found.map(|found| found.candidates).unwrap_or_default();
        let found: Vec<String> = found.into_iter().map(|(word, _)| word).collect();
        assert_eq!(found.join(" "), words, "{before:?}");
    }
}
