//! Tests of the public API of treering, in one test binary.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests: helpers of tests included"
)]

mod agent_names;
mod append_each;
mod bytes;
mod catalog;
mod checkpoints;
mod children;
mod compaction;
mod compaction_rules;
mod context;
mod context_edits;
mod conversions;
mod counted;
mod crates;
mod creation;
mod damage;
mod deleted;
mod dialects;
mod dialects_foreign;
mod dialects_random;
mod dialects_traps;
mod diffs;
mod doctor;
mod doctor_repair;
mod durability;
mod exact_ids;
mod faults;
mod file_lists;
mod findings;
mod forks;
mod forks_dialects;
mod full_disk;
mod layers;
mod llm;
mod merges;
mod merges_random;
mod new_files;
mod operations;
mod picks;
mod plans;
mod processes;
mod provider_rules;
mod providers;
mod providers_api;
mod providers_random;
mod raw_records;
mod relocate;
mod replacing;
mod samples;
mod scale;
mod seam;
mod sessions_api;
mod source_text;
mod stories;
mod streamed;
mod support;
mod tail;
mod titles;
mod upgrades;
mod usage;
mod versions;
mod writers;

/// A module that is not named above would never run.
#[test]
fn every_file_is_part_of_the_binary() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all");
    let named = std::fs::read_to_string(directory.join("main.rs")).unwrap();
    for file in std::fs::read_dir(&directory).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        let declared = module == "main" || named.contains(&format!("\nmod {module};"));
        assert!(declared, "{name} is not named in main.rs");
    }
}
