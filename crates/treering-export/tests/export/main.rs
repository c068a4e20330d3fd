//! Tests of every format, and that content of a session cannot become markup. One test binary, so
//! that it links once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "how a test fails")]

mod hostile;
mod html;
mod json;
mod jsonl;
mod markdown;
mod site;
mod support;

/// A file of tests that is not declared here would never run.
#[test]
fn every_file_is_part_of_this_binary() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export");
    let main = std::fs::read_to_string(here.join("main.rs")).unwrap();
    for file in std::fs::read_dir(here).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else { continue };
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name}");
    }
}
