//! Tests of commands as they are typed.

use crate::chat::commands::TABLE;
use crate::chat::complete::complete;
use crate::chat::{Command, Names, Summary, Typed};

#[test]
fn what_is_typed_is_understood() {
    let some = |text: &str| Some(text.to_owned());
    let run = |command: &str, in_context| Typed::Shell { command: command.into(), in_context };
    for (text, typed) in [
        ("hello\nthere ", Typed::Said("hello\nthere".into())),
        (" /tree", Typed::Said("/tree".into())),
        ("/etc/passwd is what?", Typed::Said("/etc/passwd is what?".into())),
        ("/ is the root", Typed::Said("/ is the root".into())),
        ("!ls -l", run("ls -l", true)),
        ("!! env ", run("env", false)),
        ("/tree", Typed::Command(Command::Tree)),
        ("/branch", Typed::Command(Command::Branch(None))),
        ("/branch  ab12", Typed::Command(Command::Branch(some("ab12")))),
        ("/branch-here 2", Typed::Command(Command::BranchHere("2".into(), Summary::None))),
        (
            "/branch-here 2 tried that",
            Typed::Command(Command::BranchHere("2".into(), Summary::Given("tried that".into()))),
        ),
        (
            "/branch-here 2 --summarize the tests",
            Typed::Command(Command::BranchHere("2".into(), Summary::Asked(some("the tests")))),
        ),
        (
            "/branch-here 2 --summarize",
            Typed::Command(Command::BranchHere("2".into(), Summary::Asked(None))),
        ),
        ("/switch todo", Typed::Command(Command::Switch("todo".into()))),
        ("/pop", Typed::Command(Command::Pop(None))),
        ("/fork ab", Typed::Command(Command::Fork(some("ab")))),
        (
            "/compact\nthe API,\nin short",
            Typed::Command(Command::Compact(some("the API,\nin short"))),
        ),
        ("/label ab12 a good place", Typed::Command(Command::Label("ab12 a good place".into()))),
        ("/name my session", Typed::Command(Command::Name("my session".into()))),
        (
            "/export-branch ab x y.html",
            Typed::Command(Command::ExportBranch(some("ab"), some("x y.html"))),
        ),
        ("/cherry-pick a..b", Typed::Command(Command::CherryPick("a..b".into()))),
        (
            "/merge 2 the API",
            Typed::Command(Command::Merge {
                place: "2".into(),
                full: false,
                focus: some("the API"),
            }),
        ),
        (
            "/merge 2 --full",
            Typed::Command(Command::Merge { place: "2".into(), full: true, focus: None }),
        ),
        ("/model openai/x:1b", Typed::Command(Command::Model(some("openai/x:1b")))),
        ("/thinking high", Typed::Command(Command::Thinking(some("high")))),
        ("/quit", Typed::Command(Command::Quit)),
    ] {
        assert_eq!(Typed::read(text), Ok(typed), "{text:?}");
    }
}

#[test]
fn what_is_wrong_is_explained() {
    for (text, why) in [
        ("/swich 2", "there is no /swich: did you mean /switch?"),
        ("/branche", "there is no /branche: did you mean /branches?"),
        ("/nonsense", "there is no /nonsense: see /help, or put a space first to send it as text"),
        ("/switch", "usage: /switch PLACE"),
        ("/switch a b", "usage: /switch PLACE"),
        ("/tree now", "usage: /tree"),
        ("/thinking hard", "usage: /thinking [LEVEL]"),
        ("/label", "usage: /label [ENTRY] TEXT"),
        ("!", "usage: /help    !COMMAND runs a command, !! keeps it from the model"),
    ] {
        assert_eq!(Typed::read(text).unwrap_err().to_string(), why);
    }
}

#[test]
fn every_command_of_the_table_is_understood() {
    for spec in TABLE {
        let arguments = if spec.arguments.starts_with('[') { "" } else { " x" };
        let arguments = if spec.arguments.is_empty() { "" } else { arguments };
        let typed = Typed::read(&format!("/{}{arguments}", spec.name));
        let is_label = spec.name == "label";
        assert!(is_label || matches!(typed, Ok(Typed::Command(_))), "{typed:?}");
    }
}

#[test]
fn words_are_completed() {
    let names = Names {
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
