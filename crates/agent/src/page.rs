// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page and the metrics of an agent, at an address of this machine alone.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use lasthop_live::{History, Server};

use crate::exposition;
use crate::metrics;
use crate::sampler::Sampler;
use crate::status::Status;

/// How often it is brought up to date, unless that takes long.
const EVERY_NS: u64 = 1_000_000_000;
/// What part of the time that may take: one in so many.
const PART: u64 = 20;

/// What is shown, and its server.
pub struct Page {
    history: Arc<History>,
    latest: Arc<Mutex<Option<Status>>>,
    sampler: Sampler,
    server: Server,
    next_ns: u64,
}

impl Page {
    /// Listens at an address.
    ///
    /// # Errors
    /// If another has it.
    pub fn open(address: SocketAddr, device: &str, target_s: f64) -> Result<Self> {
        let history = Arc::new(History::new(device, Some(target_s)));
        let latest = Arc::new(Mutex::<Option<Status>>::default());
        let told = Arc::clone(&latest);
        let more = move |path: &str| {
            let told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let status = told.as_ref()?;
            match path {
                "/metrics" => Some((exposition::TYPE, metrics::text(status))),
                "/status.json" => Some(("application/json", serde_json::to_string(status).ok()?)),
                _ => None,
            }
        };
        let server = Server::start(address, Arc::clone(&history), more).with_context(|| wanted(address))?;
        Ok(Self { history, latest, sampler: Sampler::default(), server, next_ns: 0 })
    }

    /// Whether a page may listen there, before anything is done at a device.
    ///
    /// # Errors
    /// If another has the address.
    pub fn demand_free(address: SocketAddr) -> Result<()> {
        TcpListener::bind(address).map(drop).with_context(|| wanted(address))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Whether it is to be brought up to date.
    pub fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_ns
    }

    /// Takes over how the agent was at `began_ns`; it was told at `now_ns`.
    pub fn show(&mut self, status: Status, began_ns: u64, now_ns: u64) {
        self.history.add(self.sampler.sample(&status));
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(status);
        self.next_ns = began_ns + EVERY_NS.max(PART * now_ns.saturating_sub(began_ns));
    }
}

/// What is wrong where no page can listen.
fn wanted(address: SocketAddr) -> String {
    format!("--metrics {address}: cannot listen there")
}
