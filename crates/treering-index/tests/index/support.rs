//! Test support: a home directory to fill with sessions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use treering_index::{Contents, Places, SessionIndex};

pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Home { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file that looks as if it had been there for a while.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        self.age(name, 60);
    }

    /// Makes a file `seconds` old.
    pub(crate) fn age(&self, name: &str, seconds: u64) {
        let file = File::options().write(true).open(self.at(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    /// Returns a pi session in pi's place.
    pub(crate) fn pi(&self, name: &str, text: &str) -> String {
        let file = format!(".pi/agent/sessions/--p--/{name}.jsonl");
        self.write(&file, &pi(name, text));
        file
    }

    pub(crate) fn places(&self) -> Places {
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let vars = [(home, self.path().to_owned()), ("XDG_CACHE_HOME", self.at("cache"))];
        Places::from_env(|name| {
            let var = vars.iter().find(|(key, _)| *key == name);
            var.map(|(_, value)| value.clone().into_os_string())
        })
    }

    pub(crate) fn index(&self) -> SessionIndex {
        SessionIndex::new(self.places())
    }

    pub(crate) fn read(&self) -> Contents {
        self.index().read(|_| {})
    }

    /// Returns how many files had to be read for a list with these first messages.
    #[track_caller]
    pub(crate) fn reads(&self, first_messages: &[&str]) -> usize {
        let contents = self.read();
        let mut texts: Vec<&str> =
            contents.sessions.iter().map(|session| &*session.first_message).collect();
        texts.sort_unstable();
        assert_eq!(texts, first_messages);
        contents.read
    }

    pub(crate) fn cache_file(&self) -> PathBuf {
        self.at("cache/treering/index")
    }
}

pub(crate) fn pi(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}}
{{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T09:01:00.000Z","message":{{"role":"user","content":"{text}"}}}}
{{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-05T09:02:00.000Z","message":{{"role":"assistant","content":[],"usage":{{"totalTokens":70,"cost":{{"total":0.25}}}}}}}}
"#
    )
}
