// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agent's life at a device: it answers commands, forgets connections that have ended, and leaves when it is told to or
//! when the device is gone.

use anyhow::{Context, Result};
use lasthop_linux::clock;
use lasthop_linux::signals::Signals;

use crate::attach::{Device, Links};
use crate::config::{Config, Law, Queue};
use crate::control::Listener;
use crate::load::Proxy;
use crate::state::{FLOW_CLOSING, FLOW_ESTABLISHED, Flow};
use crate::status::{Identity, Status};

/// How often commands are looked for.
const LOOK_MS: u8 = 100;
/// How often connections are looked through.
const REAP_NS: u64 = 2_000_000_000;
/// What ends is forgotten after so long without a packet.
const CLOSED_NS: u64 = 10_000_000_000;
/// An idle connection is kept for so long, unless room gets scarce: one that is forgotten is steered no more.
const IDLE_NS: u64 = 7200 * 1_000_000_000;
/// As long as more connections than this are known, the idle ones go.
const CROWD: usize = 50_000;
/// What counts as idle in a crowd.
const CROWD_IDLE_NS: u64 = 60_000_000_000;

/// Runs the proxy until a signal, a command or the device's end.
///
/// # Errors
/// If the device, the programs or the socket for commands cannot be had.
pub fn run(config: &Config) -> Result<()> {
    let device = Device::find(&config.device)?;
    let listener = Listener::bind(&device.name)?;
    let signals = Signals::block()?;
    let Law::Share(law) = config.law;
    let (is_hidden, why) = source(config.queue, &device)?;
    let settings = config.settings(device.link_header_bytes, is_hidden);
    let proxy = Proxy::load(&settings)?;
    let links = Links::attach(&proxy, &device)?;
    let began_ns = clock::monotonic_ns();
    let identity = Identity {
        device: device.name.clone(),
        source: if is_hidden { "outstanding" } else { "qdisc" },
        dry_run: config.dry_run,
        target_ns: law.target.as_nanos(),
        began_ns,
    };
    let mode = if config.dry_run { ", dry run" } else { "" };
    eprintln!("lasthop-agent: at {}: target {}, queue by {}: {why}{mode}", device.name, law.target, identity.source);
    let mut reaped_ns = began_ns;
    let why = loop {
        if let Some((signal, _)) = signals.wait(LOOK_MS)? {
            break signal.to_string();
        }
        let now_ns = clock::monotonic_ns();
        let status = || Ok(serde_json::to_string(&Status::of(&identity, &proxy, now_ns)?)?);
        if listener.answer(status) {
            break "detach".into();
        }
        if now_ns - reaped_ns >= REAP_NS {
            reaped_ns = now_ns;
            if !device.is_there() {
                break "the device is gone".into();
            }
            reap(&proxy, now_ns).context("cannot look through the connections")?;
        }
    };
    drop(links);
    eprintln!("lasthop-agent: left {}: {why}", device.name);
    Ok(())
}

/// Whether the queue is hidden, and why that is thought.
fn source(queue: Queue, device: &Device) -> Result<(bool, String)> {
    match queue {
        Queue::Qdisc => Ok((false, "as told".into())),
        Queue::Outstanding => Ok((true, "as told".into())),
        Queue::Auto => {
            let (qdisc, tells) = device.queue()?;
            let what = if tells { "tells" } else { "does not tell" };
            Ok((!tells, format!("{qdisc} {what} what it holds")))
        }
    }
}

/// Forgets what has ended, and what is idle where there is a crowd.
fn reap(proxy: &Proxy, now_ns: u64) -> Result<()> {
    proxy.look_through()?;
    let flows = proxy.flows()?;
    let crowded = flows.len() > CROWD;
    for (key, _) in flows.iter().filter(|(_, flow)| is_over(flow, now_ns, crowded)) {
        proxy.forget(key)?;
    }
    let stations = proxy.stations()?;
    for (key, station) in stations.iter().filter(|(key, _)| key.client().is_some()) {
        let is_used = flows.iter().any(|(flow, _)| Some(flow.client().0) == key.client());
        if !is_used && now_ns.saturating_sub(station.seen_ns) > CLOSED_NS {
            proxy.forget_station(key)?;
        }
    }
    Ok(())
}

fn is_over(flow: &Flow, now_ns: u64, crowded: bool) -> bool {
    let unfinished = flow.flags & FLOW_ESTABLISHED == 0 || flow.flags & FLOW_CLOSING != 0;
    let patience_ns = match () {
        () if unfinished => CLOSED_NS,
        () if crowded => CROWD_IDLE_NS,
        () => IDLE_NS,
    };
    now_ns.saturating_sub(flow.seen_ns) > patience_ns
}
