// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page's server: this machine alone may ask.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};

use crate::History;

/// What is at a path: its type, and the text.
pub type Answer = (&'static str, String);

/// Files of the page: path, type, text.
const FILES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/live.js", "text/javascript; charset=utf-8", include_str!("../page/live.js")),
    ("/live.css", "text/css; charset=utf-8", include_str!("../page/live.css")),
    ("/uplot.js", "text/javascript; charset=utf-8", include_str!("../page/uplot/uPlot.iife.min.js")),
    ("/uplot.css", "text/css; charset=utf-8", include_str!("../page/uplot/uPlot.min.css")),
];

/// Said with every answer: nothing from elsewhere, and nothing kept.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Any user of this machine may ask, and none may keep the others from it for long, nor its owner from anything: so many at once, as long for a
/// question and for all, and so long a question. Others wait.
const AT_ONCE: usize = 32;
const ASKING: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(10);
const QUESTION_BYTES: usize = 8192;
/// Where no connection can be had, for want of descriptors, it is tried again after so long.
const AGAIN: Duration = Duration::from_millis(100);

/// An address of this machine alone, and a port.
pub fn loopback(text: &str) -> Option<SocketAddr> {
    text.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback())
}

/// What is shown.
struct Shown<M> {
    history: Arc<History>,
    more: M,
}

/// Answers in a thread of its own as long as this lives.
pub struct Server {
    /// The thread ends with it.
    alive: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl Server {
    /// Listens at an address, for the page of a history and what `more` knows by its path. Port 0 is any that is free.
    ///
    /// # Errors
    /// If the address is in use or not one of this machine alone.
    pub fn start(
        address: SocketAddr,
        history: Arc<History>,
        more: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "wanted an address of this machine alone"));
        }
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (alive, ended) = oneshot::channel();
        let shown = Arc::new(Shown { history, more });
        let thread = thread::Builder::new().name("page".into()).spawn(move || {
            runtime.spawn(listen(listener, shown));
            // Nothing is ever sent: it is dropped. Whatever is going on then ends with the runtime.
            let _ = runtime.block_on(ended);
        })?;
        Ok(Self { alive: Some(alive), thread: Some(thread), address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.alive.take();
        if let Some(thread) = self.thread.take() {
            // It ends at once; whether it panicked matters no more.
            let _ = thread.join();
        }
    }
}

async fn listen<M: Fn(&str) -> Option<Answer> + Send + Sync + 'static>(
    listener: std::net::TcpListener,
    shown: Arc<Shown<M>>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let place = Arc::clone(&room).acquire_owned().await.map_err(io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let shown = Arc::clone(&shown);
        tokio::spawn(async move {
            // Who goes before the answer is there does not want it, nor who does not read it.
            let _ = tokio::time::timeout(PATIENCE, serve(stream, &shown)).await;
            drop(place);
        });
    }
}

/// One question of a connection; what follows its header is not read.
async fn serve<M: Fn(&str) -> Option<Answer>>(stream: TcpStream, shown: &Shown<M>) -> hyper::Result<()> {
    let service = service_fn(async |request| Ok::<_, io::Error>(response(answer(&request, shown))));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKING)
        .max_buf_size(QUESTION_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

fn answer<B, M: Fn(&str) -> Option<Answer>>(
    request: &Request<B>,
    shown: &Shown<M>,
) -> Result<Answer, (StatusCode, &'static str)> {
    // A page from elsewhere whose name was made to lead here may not read on.
    let mut hosts = request.headers().get_all(header::HOST).iter().map(HeaderValue::to_str).peekable();
    let is_here = hosts.peek().is_some()
        && hosts.all(|host| host.is_ok_and(is_here))
        && request.uri().authority().is_none_or(|host| is_here(host.as_str()));
    if !is_here {
        return Err((StatusCode::FORBIDDEN, "wanted by an address of this machine"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here"));
    }
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    if let Some((_, kind, text)) = FILES.iter().find(|(file, ..)| *file == path) {
        return Ok((kind, (*text).to_owned()));
    }
    if path == "/samples.json" {
        let after_s = query.strip_prefix("after=").and_then(|text| text.parse().ok()).unwrap_or(f64::NEG_INFINITY);
        return Ok(("application/json", shown.history.json(after_s)));
    }
    (shown.more)(path).ok_or((StatusCode::NOT_FOUND, "no such page"))
}

/// Whether a name with or without a port is one of this machine alone.
fn is_here(host: &str) -> bool {
    if loopback(host).is_some() {
        return true;
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn response(answer: Result<Answer, (StatusCode, &'static str)>) -> Response<Full<Bytes>> {
    let (status, kind, text) = match answer {
        Ok((kind, text)) => (StatusCode::OK, kind, text),
        Err((status, text)) => (status, "text/plain; charset=utf-8", format!("{text}\n")),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    for (name, value) in HEADERS.into_iter().chain([(header::CONTENT_TYPE, kind)]) {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;
    use crate::Sample;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn it_answers_this_machine_alone_and_ends_with_its_owner() {
        let history = Arc::new(History::new("eth1", None));
        history.add(Sample { t_s: 1.0, ..Sample::default() });
        let own = |path: &str| (path == "/own").then(|| ("text/plain", "mine".to_owned()));
        let server = Server::start("127.0.0.1:0".parse().unwrap(), history, own).unwrap();
        let address = server.address();
        let get = |path: &str, host: &str| {
            ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
        };
        assert!(get("/", &address.to_string()).contains("<title>"));
        let samples = get("/samples.json?after=0.5", "localhost:9469");
        assert!(samples.starts_with("HTTP/1.1 200") && samples.contains("\"t_s\":1.0"), "{samples}");
        assert!(!get("/samples.json?after=1", "localhost").contains("\"t_s\""));
        assert!(get("/own", "[::1]:80").ends_with("mine"));
        assert!(get("/other", "localhost").starts_with("HTTP/1.1 404"));
        assert!(get("/", "rebound.example:9469").starts_with("HTTP/1.1 403"));
        let posted = "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        assert!(ask(address, posted).starts_with("HTTP/1.1 405"));
        drop(server);
        // Nobody listens, or what was still queued is left unanswered.
        let after = TcpStream::connect(address).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            stream.read(&mut [0])
        });
        assert!(!matches!(after, Ok(1)), "{after:?}");
    }

    /// A page with nothing on it, and how to ask for it.
    fn page() -> (Server, impl Fn(&str) -> String) {
        let server = Server::start("127.0.0.1:0".parse().unwrap(), Arc::new(History::new("", None)), |_| None).unwrap();
        let address = server.address();
        (server, move |more: &str| ask(address, &format!("GET / HTTP/1.1\r\nHost: localhost\r\n{more}\r\n")))
    }

    #[test]
    fn a_question_that_is_long_or_says_that_it_is_hurts_nobody() {
        let (_server, get) = page();
        for (bytes, status) in [("1000000000000000", 200), ("18446744073709551615", 431), ("100000", 200)] {
            let answer = get(&format!("Content-Length: {bytes}\r\n"));
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        }
        assert!(get("Expect: 100-continue\r\nContent-Length: 5\r\n").starts_with("HTTP/1.1 200"));
        assert!(get(&format!("X: {}\r\n", "x".repeat(20_000))).starts_with("HTTP/1.1 431"));
        assert!(get("").contains("<title>"));
    }

    #[test]
    fn who_asks_nothing_or_does_not_read_is_left() {
        let (server, get) = page();
        let idle: Vec<_> = (0..2 * AT_ONCE).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        assert!(get("").starts_with("HTTP/1.1 200"));
        let (said, heard) = std::sync::mpsc::channel();
        thread::spawn(move || {
            drop(server);
            said.send(())
        });
        assert!(heard.recv_timeout(Duration::from_secs(1)).is_ok(), "it waits for others");
        drop(idle);
    }

    #[test]
    fn each_host_is_looked_at() {
        let (_server, get) = page();
        assert!(get("Host: elsewhere.example\r\n").starts_with("HTTP/1.1 403"));
        assert!(get("Host: 127.0.0.1\r\n").starts_with("HTTP/1.1 200"));
    }

    #[test]
    fn only_addresses_of_this_machine_alone() {
        assert_eq!(loopback("127.0.0.1:9469"), "127.0.0.1:9469".parse().ok());
        assert!(loopback("[::1]:1").is_some());
        assert!(["0.0.0.0:9469", "192.0.2.1:9469", "localhost:9469", "9469", ""].map(loopback) == [None; 5]);
        let history = Arc::new(History::new("", None));
        assert!(Server::start("0.0.0.0:0".parse().unwrap(), history, |_| None).is_err());
    }
}
