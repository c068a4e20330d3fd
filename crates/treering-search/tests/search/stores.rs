//! Searches in stores: sessions that the list rules out are not read.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use treering::session::Creation;
use treering::storage::Journal;
use treering::store::{Changes, ListQuery, Mark, MemoryStore, Page, Store};
use treering::{CreateOptions, Dialect, Message, Result, Session, SessionId};
use treering_search::{Case, Options, Query, search_store};

/// Remembers what it was asked for.
#[derive(Debug, Default)]
struct Watched {
    inner: MemoryStore,
    opened: Mutex<Vec<String>>,
    listed: Mutex<Vec<ListQuery>>,
}

impl Store for Watched {
    fn location(&self) -> String {
        self.inner.location()
    }

    fn create(&self, id: &SessionId, start: &mut dyn Read) -> Result<Arc<dyn Journal>> {
        self.inner.create(id, start)
    }

    fn open(&self, id: &SessionId) -> Result<Arc<dyn Journal>> {
        self.opened.lock().unwrap().push(id.to_string());
        self.inner.open(id)
    }

    fn list(&self, query: &ListQuery) -> Result<Page> {
        self.listed.lock().unwrap().push(query.clone());
        self.inner.list(query)
    }

    fn remove(&self, id: &SessionId) -> Result<()> {
        self.inner.remove(id)
    }

    fn changes(&self, mark: Option<&Mark>) -> Result<Changes> {
        self.inner.changes(mark)
    }
}

#[test]
fn only_sessions_that_may_fit_are_read() {
    let watched = Arc::new(Watched::default());
    let store: Arc<dyn Store> = watched.clone();
    for (name, cwd, dialect, time) in [
        ("web", "/home/me/web", Dialect::Pi, 1_800_000_000_000),
        ("tools", "/home/me/tools", Dialect::Pi, 1_800_000_000_001),
        ("other", "/home/me/web", Dialect::Tau, 1_800_000_000_002),
        ("late", "/home/me/web", Dialect::Pi, 1_900_000_000_000),
    ] {
        let options = CreateOptions::new().id(SessionId::new(name).unwrap());
        let mut options = options.creation(Creation::AtOnce);
        options.session.dialect = Some(dialect);
        let session = Session::create_in(&store, cwd, options).unwrap();
        session.append(Message::user("hello").into_entry().with_timestamp(time)).unwrap();
    }
    let search = |text: &str| {
        watched.opened.lock().unwrap().clear();
        let query = Query::parse(text, Case::Ignored).unwrap();
        let each = |_| ControlFlow::Continue(());
        let options = Options::default();
        let found = search_store(&store, &query, &options, &Default::default(), each).unwrap();
        let mut opened = watched.opened.lock().unwrap().clone();
        opened.sort();
        (found.hits, opened)
    };
    let (hits, opened) = search("hello agent:pi project:web before:2028-01-01");
    assert_eq!((hits, opened), (1, vec!["web".to_owned()]));
    let listed = watched.listed.lock().unwrap().last().cloned().unwrap();
    assert_eq!(listed.agent, Some(Dialect::Pi));
    assert!(listed.until.is_some() && listed.since.is_none());
    assert_eq!(search("hello agent:pi agent:tau").1.len(), 4, "of several agents one must fit");
    assert_eq!(search("hello agent:tau since:2020-01-01").1, ["other"]);
}
