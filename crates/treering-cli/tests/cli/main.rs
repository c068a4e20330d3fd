//! Tests of the commands: output for users and for programs, and exit codes. One test binary, so
//! that it links once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "how a test fails")]

mod agree;
mod append;
mod branches;
mod chat;
mod comforts;
mod completions;
mod context;
mod demo;
mod dialects;
mod doctor;
mod export;
mod following;
mod hostile;
mod housekeeping;
mod index;
mod log;
mod ls;
mod merges;
mod migrate;
mod moves;
mod options;
#[cfg(unix)]
mod outputs;
mod pipes;
mod publish;
mod readme;
mod redaction;
#[cfg(unix)]
mod resume;
mod search;
mod serve;
mod show;
mod snapshots;
#[cfg(unix)]
mod special_files;
mod stats;
mod stdin;
mod stores;
mod summaries;
mod support;
mod sync;
mod tree;
mod usage;
mod usage_reports;

/// A file of tests that is not declared here would never run.
#[test]
fn every_file_is_part_of_this_binary() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let main = std::fs::read_to_string(here.join("main.rs")).unwrap();
    for file in std::fs::read_dir(here).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else { continue };
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name}");
    }
}
