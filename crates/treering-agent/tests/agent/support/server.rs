//! An HTTP server that plays a script on each connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// The reaction of the server to a request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes as a chunk of the body.
    Chunk(Vec<u8>),
    /// Sends bytes as chunks of one byte each.
    Trickle(Vec<u8>),
    /// Ends the body with the last chunk of HTTP.
    End,
    /// Reports to the test that this step was reached.
    Reached(&'static str),
    /// Waits until the test calls [`Server::go`].
    Wait,
    /// Waits until the client closes the connection, then reports `closed` to the test.
    Closed,
}

/// The server. Its connections end when their scripts do.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    go: Arc<Semaphore>,
    pub(crate) reached: mpsc::UnboundedReceiver<&'static str>,
}

impl Server {
    pub(crate) async fn start(scripts: Vec<Vec<Step>>) -> Server {
        Server::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), scripts)
    }

    /// Plays one script for each connection, then accepts no more.
    pub(crate) fn on(listener: TcpListener, scripts: Vec<Vec<Step>>) -> Server {
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let go = Arc::new(Semaphore::new(0));
        let (reach, reached) = mpsc::unbounded_channel();
        let (log, gate) = (requests.clone(), go.clone());
        tokio::spawn(async move {
            for script in scripts {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let request = read_request(&mut stream).await;
                log.lock().unwrap().push(request);
                // A client may leave in the middle of a script.
                let _ = play(&mut stream, script, &gate, &reach).await;
            }
        });
        Server { address, requests, go, reached }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Lets the script continue after one [`Step::Wait`].
    pub(crate) fn go(&self) {
        self.go.add_permits(1);
    }
}

async fn play(
    stream: &mut TcpStream,
    script: Vec<Step>,
    gate: &Semaphore,
    reach: &mpsc::UnboundedSender<&'static str>,
) -> std::io::Result<()> {
    for step in script {
        match step {
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::Chunk(bytes) => stream.write_all(&chunk(&bytes)).await?,
            Step::Trickle(bytes) => {
                for byte in bytes {
                    stream.write_all(&chunk(&[byte])).await?;
                    tokio::task::yield_now().await;
                }
            }
            Step::End => stream.write_all(b"0\r\n\r\n").await?,
            Step::Reached(place) => reach.send(place).unwrap_or_default(),
            Step::Wait => gate.acquire().await.unwrap().forget(),
            Step::Closed => {
                // The client has gone after an end as well as after a reset.
                while stream.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
                reach.send("closed").unwrap_or_default();
            }
        }
    }
    Ok(())
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
    out
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text.into_owned();
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}
