// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agent's life at a device: it answers commands, forgets connections that have ended, and leaves when it is told to or
//! when the device is gone.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use lasthop_linux::clock;
use lasthop_linux::signals::Signals;

use crate::attach::{Device, Links};
use crate::config::{Config, Law, QueuePlace};
use crate::control::Listener;
use crate::load::Programs;
use crate::mode::Mode;
use crate::page::Page;
use crate::reap::reap;
use crate::service::{self, Manager};
use crate::status::{Identity, Status};

/// How often commands are looked for.
const LOOK_MS: u8 = 100;
/// How often connections are looked through.
const REAP_NS: u64 = 2_000_000_000;

/// How a turn at the device ended.
enum End {
    /// The agent leaves.
    Leave(String),
    /// It begins anew, by what the device is now.
    Anew(String),
}

/// Runs an agent until a signal, a command or the device's end.
///
/// # Errors
/// If the device, the programs, the socket for commands or the page's address cannot be had.
pub fn run(mode: Mode, config: &Config) -> Result<()> {
    service::drop_rights()?;
    let device = Device::find(&config.device)?;
    let mut agent = Agent {
        mode,
        config,
        listener: Listener::bind(&device.name, &format!("detach --dev {}", device.name))?,
        signals: Signals::block(&[])?,
        manager: Manager::find(),
        page: None,
        is_ready: false,
        began_ns: clock::monotonic_ns(),
        device,
    };
    let why = loop {
        match agent.turn()? {
            End::Leave(why) => break why,
            End::Anew(why) => service::note(format_args!("{}: beginning anew: {why}", agent.device.name)),
        }
    };
    service::note(format_args!("left {}: {why}", agent.device.name));
    Ok(())
}

/// The agent, with programs at the device or without.
struct Agent<'c> {
    mode: Mode,
    config: &'c Config,
    device: Device,
    listener: Listener,
    signals: Signals,
    manager: Manager,
    page: Option<Page>,
    /// It has been at the device once.
    is_ready: bool,
    began_ns: u64,
}

impl Agent<'_> {
    /// Puts programs at the device and watches over them until something ends that.
    fn turn(&mut self) -> Result<End> {
        let Self { mode, config, device, .. } = self;
        let mode = *mode;
        let seen = device.queue();
        let (place, why) = source(mode, config.queue, device)?;
        let is_hidden = place != QueuePlace::Qdisc;
        if let (None, Some(address)) = (&self.page, config.page()) {
            Page::demand_free(address)?;
        }
        let programs = Programs::load(mode, &config.settings(device.link_header_bytes, is_hidden))?;
        let links = Links::attach(&programs, device)?;
        // Who waits until it listens finds the programs at the device.
        if let (None, Some(address)) = (&self.page, config.page()) {
            self.page = Some(Page::open(address, &device.name, config.law.target().as_secs_f64())?);
        }
        let identity = Identity {
            device: device.name.clone(),
            mode,
            source: if mode == Mode::Client { "price" } else { place.kind() },
            dry_run: config.dry_run,
            law: config.law.name(),
            target_ns: config.law.target().as_nanos(),
            began_ns: self.began_ns,
        };
        let wanted = match (mode, config.law) {
            (Mode::Client, Law::Clamp(law)) => format!("CLAMP's client with τ = {}", law.tau),
            (Mode::Ap, Law::Clamp(law)) => format!("CLAMP's access point with a = {}", law.a),
            (_, Law::Share(law)) => format!("target {}", law.target),
            (_, Law::Clamp(law)) => format!("CLAMP with a = {}", law.a),
            (_, Law::Station(law)) => format!("station window, target {}", law.target),
        };
        let dry = if config.dry_run { ", dry run" } else { "" };
        let began = format!("at {}: {wanted}, queue by {}: {why}{dry}", device.name, identity.source);
        service::note(&began);
        let now_ns = clock::monotonic_ns();
        if let Some(page) = &mut self.page {
            page.show(Status::of(&identity, &programs, now_ns)?, now_ns, clock::monotonic_ns());
        }
        if let Some(page) = &self.page {
            service::note(format_args!("{}: page and metrics at http://{}/", device.name, page.address()));
        }
        self.manager.ready(&began);
        if !std::mem::replace(&mut self.is_ready, true) {
            // Who started it may wait for that; where nobody listens nothing is lost.
            let _ = writeln!(io::stdout(), "ready");
        }
        let mut watched = Watched { qdisc: seen.map(|(qdisc, _)| qdisc).ok(), reaped_ns: clock::monotonic_ns() };
        let end = loop {
            if let Some(end) = self.look(&identity, &programs, &mut watched)? {
                break end;
            }
        };
        if let End::Leave(why) = &end {
            self.manager.stopping(why);
        }
        drop(links);
        Ok(end)
    }

    /// Looks once after everything; gives why the turn ends, if it does.
    fn look(&mut self, identity: &Identity, programs: &Programs, watched: &mut Watched) -> Result<Option<End>> {
        if let Some((signal, _)) = self.signals.wait(LOOK_MS)? {
            return Ok(Some(End::Leave(signal.to_string())));
        }
        let now_ns = clock::monotonic_ns();
        let status = || Status::of(identity, programs, now_ns);
        if self.listener.answer(|| Ok(serde_json::to_string(&status()?)?)) {
            return Ok(Some(End::Leave("detach".into())));
        }
        if let Some(page) = self.page.as_mut().filter(|page| page.is_due(now_ns)) {
            page.show(status()?, now_ns, clock::monotonic_ns());
        }
        if self.manager.is_due(now_ns) {
            self.manager.status(&status()?, now_ns);
        }
        self.manager.alive(now_ns);
        if now_ns - watched.reaped_ns < REAP_NS {
            return Ok(None);
        }
        watched.reaped_ns = now_ns;
        if let Some(why) = self.device.left() {
            return Ok(Some(End::Leave(why)));
        }
        if !Links::are_there(programs, &self.device)? {
            return Ok(Some(End::Leave("its programs were taken from the device".into())));
        }
        reap(programs, now_ns).context("cannot look through the connections")?;
        Ok(self.qdisc_changed(identity, watched))
    }

    /// What follows from another qdisc than there was: an administrator's change counts.
    fn qdisc_changed(&self, identity: &Identity, watched: &mut Watched) -> Option<End> {
        // Where it cannot be told it may be on its way: the next look tells.
        let (qdisc, tells) = self.device.queue().ok()?;
        let before = watched.qdisc.replace(qdisc.clone())?;
        if before == qdisc {
            return None;
        }
        if !self.mode.sees_queues() {
            return None;
        }
        let change = format!("its root qdisc is {qdisc}, no longer {before}");
        let is_hidden = identity.source != QueuePlace::Qdisc.kind();
        match self.config.queue {
            QueuePlace::Auto if self.mode == Mode::Proxy && tells == is_hidden => return Some(End::Anew(change)),
            _ if !is_hidden && !tells => service::warn(format_args!(
                "{}: {change}, and does not shape: what it holds may not be the queue",
                self.device.name
            )),
            _ => service::note(format_args!("{}: {change}: queue by {} as before", self.device.name, identity.source)),
        }
        None
    }
}

/// What is looked at from time to time.
struct Watched {
    qdisc: Option<String>,
    reaped_ns: u64,
}

/// Where the queue is, and why that is thought.
fn source(mode: Mode, queue: QueuePlace, device: &Device) -> Result<(QueuePlace, String)> {
    let shapes = || -> Result<(bool, String)> {
        let (qdisc, shapes) = device.queue()?;
        let what = if shapes { "shapes" } else { "does not shape" };
        Ok((shapes, format!("{qdisc} {what}")))
    };
    match (mode, queue) {
        (Mode::Client, _) => Ok((QueuePlace::Qdisc, "the access point's".into())),
        (Mode::Ap, QueuePlace::Outstanding | QueuePlace::Shared) => {
            bail!(
                "queue = {:?}: an access point prices what its own device holds: wanted \"auto\" or \"qdisc\"",
                queue.kind()
            )
        }
        (Mode::Ap, QueuePlace::Auto) => {
            let (shapes, why) = shapes()?;
            if !shapes {
                service::warn(format_args!(
                    "{}: {why}: the price is that of what its qdisc holds, not of what waits in its driver or downstream",
                    device.name
                ));
            }
            Ok((QueuePlace::Qdisc, why))
        }
        (Mode::Proxy, QueuePlace::Auto) => {
            let (shapes, why) = shapes()?;
            Ok((if shapes { QueuePlace::Qdisc } else { QueuePlace::Outstanding }, why))
        }
        _ => Ok((queue, "as told".into())),
    }
}
