//! Serves sessions in memory, or those in a directory: `serve ADDRESS TOKEN [DIRECTORY]`.
//!
//! For checks of the API by outside programs; `treering serve` is the program for people.

use std::sync::Arc;
use treering::Catalog;
use treering::store::{MemoryStore, Store};
use treering_server::{MemoryTokens, Server, SingleSpace};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(token)) = (arguments.next(), arguments.next()) else {
        return Err(std::io::Error::other("usage: serve ADDRESS TOKEN [DIRECTORY]"));
    };
    let store: Arc<dyn Store> = match arguments.next() {
        Some(directory) => Arc::new(Catalog::new(directory)),
        None => Arc::new(MemoryStore::new()),
    };
    let listener = tokio::net::TcpListener::bind(&address).await?;
    #[allow(clippy::print_stdout, reason = "the caller waits for this line")]
    {
        println!("listening on http://{}", listener.local_addr()?);
    }
    let spaces = Arc::new(SingleSpace::new("main", store));
    let tokens = Arc::new(MemoryTokens::admin(&token, "main"));
    let server = Server::new(spaces, tokens).log(|line| eprintln!("{line}"));
    let shutdown = async {
        // Without the signal the process just ends.
        let _ = tokio::signal::ctrl_c().await;
    };
    server.serve(listener, shutdown).await
}
