// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page's server: this machine alone may ask.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tiny_http::{Header, Method, Request, Response};

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
const HEADERS: [(&str, &str); 4] = [
    ("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
];

/// An address of this machine alone, and a port.
pub fn loopback(text: &str) -> Option<SocketAddr> {
    text.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback())
}

/// Answers in a thread of its own as long as this lives.
pub struct Server {
    server: Arc<tiny_http::Server>,
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
        more: impl Fn(&str) -> Option<Answer> + Send + 'static,
    ) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "wanted an address of this machine alone"));
        }
        let server = Arc::new(tiny_http::Server::http(address).map_err(|error| {
            error.downcast::<io::Error>().map_or_else(|error| io::Error::other(error.to_string()), |error| *error)
        })?);
        let address = server.server_addr().to_ip().unwrap_or(address);
        let listener = Arc::clone(&server);
        let thread = thread::Builder::new().name("page".into()).spawn(move || {
            while let Ok(request) = listener.recv() {
                let answer = answer(&request, &history, &more);
                // Who goes before the answer is there does not want it.
                let _ = respond(request, answer);
            }
        })?;
        Ok(Self { server, thread: Some(thread), address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // It ends with the request that it is at; whether it panicked matters no more.
            let _ = thread.join();
        }
    }
}

fn answer(
    request: &Request,
    history: &History,
    more: &impl Fn(&str) -> Option<Answer>,
) -> Result<Answer, (u16, &'static str)> {
    // A page from elsewhere whose name was made to lead here may not read on.
    let host = request.headers().iter().find(|header| header.field.equiv("Host")).map(|header| header.value.as_str());
    if !host.is_some_and(is_here) {
        return Err((403, "wanted by an address of this machine"));
    }
    if !matches!(request.method(), Method::Get | Method::Head) {
        return Err((405, "nothing can be changed here"));
    }
    let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
    if let Some((_, kind, text)) = FILES.iter().find(|(file, ..)| *file == path) {
        return Ok((kind, (*text).to_owned()));
    }
    if path == "/samples.json" {
        let after_s = query.strip_prefix("after=").and_then(|text| text.parse().ok()).unwrap_or(f64::NEG_INFINITY);
        return Ok(("application/json", history.json(after_s)));
    }
    more(path).ok_or((404, "no such page"))
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

fn respond(request: Request, answer: Result<Answer, (u16, &'static str)>) -> io::Result<()> {
    let (status, kind, text) = match answer {
        Ok((kind, text)) => (200, kind, text),
        Err((status, text)) => (status, "text/plain; charset=utf-8", format!("{text}\n")),
    };
    let mut response = Response::from_string(text).with_status_code(status);
    for (name, value) in HEADERS.into_iter().chain([("Content-Type", kind)]) {
        response.add_header(Header::from_bytes(name, value).map_err(|()| io::Error::other("a header of no form"))?);
    }
    request.respond(response)
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

    #[test]
    fn only_addresses_of_this_machine_alone() {
        assert_eq!(loopback("127.0.0.1:9469"), "127.0.0.1:9469".parse().ok());
        assert!(loopback("[::1]:1").is_some());
        assert!(["0.0.0.0:9469", "192.0.2.1:9469", "localhost:9469", "9469", ""].map(loopback) == [None; 5]);
        let history = Arc::new(History::new("", None));
        assert!(Server::start("0.0.0.0:0".parse().unwrap(), history, |_| None).is_err());
    }
}
