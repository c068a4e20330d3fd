//! Spaces: separate collections of sessions, one store each.

use std::fmt;
use std::sync::Arc;
use treering::Result;
use treering::store::Store;

/// The stores of a server's spaces. A token belongs to one space and has no access to others.
pub trait Spaces: Send + Sync + fmt::Debug {
    /// Returns the store of a space; `None` if there is no such space. This is called for every
    /// request, so it must be quick and return the same store each time.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be reached.
    fn store(&self, space: &str) -> Result<Option<Arc<dyn Store>>>;

    /// Checks that the stores can be used, for `/readyz`. May block.
    ///
    /// # Errors
    ///
    /// Fails if a store cannot be reached.
    fn check(&self) -> Result<()>;
}

/// A single store, which is the only space of a server.
#[derive(Debug, Clone)]
pub struct SingleSpace {
    name: String,
    store: Arc<dyn Store>,
}

impl SingleSpace {
    /// Creates a space with this name.
    pub fn new(name: impl Into<String>, store: Arc<dyn Store>) -> Self {
        SingleSpace { name: name.into(), store }
    }
}

impl Spaces for SingleSpace {
    fn store(&self, space: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok((space == self.name).then(|| Arc::clone(&self.store)))
    }

    fn check(&self) -> Result<()> {
        self.store.changes(None).map(drop)
    }
}
