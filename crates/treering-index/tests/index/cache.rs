use crate::support::{Home, pi};
use std::process::Command;

#[test]
fn what_is_known_is_not_read_again() {
    let home = Home::new();
    home.pi("one", "first");
    home.pi("two", "second");
    home.write(".pi/agent/sessions/none.jsonl", "no session\n");
    assert_eq!(home.reads(&["first", "second"]), 3);
    let known = home.read();
    assert_eq!(known.read, 0);
    assert_eq!(known.skipped.len(), 1, "{:?}", known.skipped);
    let fresh = home.index().with_cache(None).read(|_| {});
    assert_eq!((&known.sessions, &known.skipped), (&fresh.sessions, &fresh.skipped));
    assert_eq!((fresh.read, known.sessions[0].tokens), (3, Some(70)));
}

#[test]
fn what_has_changed_is_read_again() {
    let home = Home::new();
    let file = home.pi("one", "first");
    home.pi("two", "second");
    home.read();
    // The same length, another time.
    home.write(&file, &pi("one", "newer"));
    home.age(&file, 30);
    assert_eq!(home.reads(&["newer", "second"]), 1);
    // The same time, another length.
    let time = std::fs::metadata(home.at(&file)).unwrap().modified().unwrap();
    std::fs::write(home.at(&file), pi("one", "longer")).unwrap();
    std::fs::File::options().append(true).open(home.at(&file)).unwrap().set_modified(time).unwrap();
    assert_eq!(home.reads(&["longer", "second"]), 1);
    assert_eq!(home.reads(&["longer", "second"]), 0);
}

#[test]
#[cfg(unix)]
fn another_file_of_the_same_size_and_time_is_another_file() {
    let home = Home::new();
    let file = home.pi("one", "first");
    home.read();
    let time = std::fs::metadata(home.at(&file)).unwrap().modified().unwrap();
    // Both exist at once, so that the file system cannot give the second the place of the first.
    std::fs::write(home.at("other"), pi("one", "other")).unwrap();
    std::fs::File::options()
        .append(true)
        .open(home.at("other"))
        .unwrap()
        .set_modified(time)
        .unwrap();
    std::fs::rename(home.at("other"), home.at(&file)).unwrap();
    assert_eq!(home.reads(&["other"]), 1);
}

#[test]
fn what_was_written_to_just_now_is_not_trusted() {
    let home = Home::new();
    let file = home.pi("one", "first");
    // This time is later than any clock reading in between.
    std::fs::File::options()
        .append(true)
        .open(home.at(&file))
        .unwrap()
        .set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(600))
        .unwrap();
    assert_eq!(home.reads(&["first"]), 1);
    assert_eq!(home.reads(&["first"]), 1);
}

#[test]
fn a_broken_cache_is_no_cache_and_is_replaced() {
    let home = Home::new();
    home.pi("one", "first");
    home.read();
    let good = std::fs::read(home.cache_file()).unwrap();
    let half = good[..good.len() / 2].to_vec();
    for bad in [b"".to_vec(), b"nonsense".to_vec(), half, vec![0xff; good.len()]] {
        std::fs::write(home.cache_file(), bad).unwrap();
        assert_eq!(home.reads(&["first"]), 1);
        assert_eq!(home.reads(&["first"]), 0);
    }
    std::fs::remove_file(home.cache_file()).unwrap();
    assert_eq!(home.reads(&["first"]), 1, "deleted");
}

#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let home = Home::new();
    home.pi("one", "first");
    std::fs::create_dir_all(home.cache_file()).unwrap();
    assert_eq!(home.reads(&["first"]), 1);
    assert_eq!(home.reads(&["first"]), 1);
    let in_a_file = home.at(".pi/agent/sessions/--p--/one.jsonl/cache");
    assert_eq!(home.index().with_cache(Some(in_a_file)).read(|_| {}).sessions.len(), 1);
}

#[test]
fn files_that_are_gone_are_forgotten_and_others_are_not() {
    let home = Home::new();
    home.pi("one", "first");
    home.write("elsewhere/two.jsonl", &pi("two", "second"));
    let elsewhere = home.index().places().clone().only([home.at("elsewhere")]);
    let elsewhere = treering_index::SessionIndex::new(elsewhere);
    assert_eq!(elsewhere.read(|_| {}).read, 1);
    assert_eq!(home.reads(&["first"]), 1);
    assert_eq!(elsewhere.read(|_| {}).read, 0, "still known after another place was looked at");
    let holds = |text: &str| {
        let bytes = std::fs::read(home.cache_file()).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    std::fs::remove_file(home.at("elsewhere/two.jsonl")).unwrap();
    assert!(holds("second"));
    home.pi("three", "third");
    home.read();
    assert!(!holds("second") && holds("third"));
}

#[test]
#[cfg(unix)]
fn only_the_owner_can_read_the_cache() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.pi("one", "first");
    home.read();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.cache_file()), 0o600);
    assert_eq!(mode(home.cache_file().parent().unwrap()), 0o700);
}

/// Not a test of its own: what the processes of the next one do.
#[test]
fn the_helper_process_reads_the_given_index() {
    let Some(home) = std::env::var_os("INDEX_TEST_HOME") else { return };
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let places = treering_index::Places::from_env(|var| match var {
        "XDG_CACHE_HOME" => Some(std::path::Path::new(&home).join("cache").into()),
        var => (var == name).then(|| home.clone()),
    });
    let index = treering_index::SessionIndex::new(places);
    for round in 0..20 {
        assert_eq!(index.read(|_| {}).sessions.len(), 30, "{round}");
        if round % 5 == 0 {
            let _ = std::fs::remove_file(index.places().cache_file().unwrap());
        }
    }
}

#[test]
fn processes_at_the_same_time_do_not_disturb_each_other() {
    let home = Home::new();
    for number in 0..30 {
        home.pi(&format!("s{number}"), "text");
    }
    let run = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "cache::the_helper_process_reads_the_given_index"]);
        command.env("INDEX_TEST_HOME", home.path()).stdout(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let processes: Vec<_> = (0..2).map(|_| run()).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(home.read().sessions.len(), 30);
    let left = std::fs::read_dir(home.cache_file().parent().unwrap()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["index"], "no half-written files are left");
}
