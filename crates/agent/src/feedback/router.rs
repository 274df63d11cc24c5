// SPDX-License-Identifier: MIT OR Apache-2.0
//! The router: a program at a device that tells what is about to be queued there what it may have.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use lasthop_core::units::Rate;
use lasthop_linux::bpf::{self, TcHook};
use lasthop_linux::clock;
use lasthop_linux::signals::Signals;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, Program, ProgramInput};
use serde::Serialize;
use zerocopy::{FromBytes, IntoBytes};

use super::page::FeedbackPage;
use super::shared::{
    FIRST_CAPACITY, RouterCounts, RouterRecord, RouterSettings, TallyRecord, qfcp_settings, xcp_settings,
};
use super::{FeedbackLaw, begun, qfcp_params, watch, xcp_params};
use crate::attach::{Device, own_name};
use crate::control::Listener;
use crate::load::{self, Gso};
use crate::service::{self, Manager};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/feedback_router.bpf.o"));

/// The program's name.
const PROGRAM: &str = "to_queue";
/// The highest rate of a device that does not tell it.
const TOP: Rate = Rate::from_bps(10_000_000_000);

/// What a router is told.
#[derive(Clone, Debug, Default)]
pub struct RouterOptions {
    /// The device.
    pub device: String,
    /// The law's parameters that are not as by default, with their values as in a file.
    pub keys: Vec<(String, String)>,
    /// Count, and write nothing.
    pub dry_run: bool,
    /// Where the page and the metrics are, an address of this machine alone; without it there are none.
    pub metrics: Option<String>,
}

/// The program and what it keeps, in the kernel as long as this lives.
pub struct FeedbackRouter {
    object: Object,
}

impl FeedbackRouter {
    /// Loads it.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn load(settings: &RouterSettings) -> Result<Self> {
        let mut builder = ObjectBuilder::default();
        // A copy is aligned as ELF wants it.
        let object = OBJECT.to_vec();
        let mut open = builder.name("lasthop")?.open_memory(&object).context("cannot read the programs")?;
        let mut constants = open
            .maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .context("the programs have no settings")?;
        let values = constants.initial_value_mut().context("the settings have no place")?;
        let place = values.get_mut(..size_of::<RouterSettings>()).context("the settings have no room")?;
        place.copy_from_slice(settings.as_bytes());
        let object = load::taken(open)?;
        Ok(Self { object })
    }

    fn program(&self) -> Result<Program<'_>> {
        let found = self.object.progs().find(|program| program.name() == PROGRAM);
        found.ok_or_else(|| anyhow!("no program {PROGRAM}"))
    }

    /// Puts it at a device, before the queue.
    ///
    /// # Errors
    /// The kernel's.
    pub fn attach(&self, device: &Device) -> Result<OwnedFd> {
        bpf::attach(self.program()?.as_fd(), device.index, TcHook::Egress)
            .with_context(|| format!("cannot put a program at {} (tcx: Linux 6.6 or newer)", device.name))
    }

    fn is_at(&self, device: &Device) -> Result<bool> {
        let own = Program::id_from_fd(self.program()?.as_fd())?;
        Ok(bpf::attached(device.index, TcHook::Egress)?.contains(&own))
    }

    /// What it keeps of the queue.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn record(&self) -> Result<RouterRecord> {
        let map = self.object.maps().find(|map| map.name() == "router").context("no map of the queue")?;
        let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::LOCK)?.context("no queue")?;
        RouterRecord::read_from_bytes(&value).map_err(|_| anyhow!("a queue of another layout"))
    }

    /// What each processor has counted.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn processors(&self) -> Result<Vec<TallyRecord>> {
        let map = self.object.maps().find(|map| map.name() == "tallies").context("no map of counts")?;
        let values = map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)?.context("no counts")?;
        let read =
            |value: Vec<u8>| TallyRecord::read_from_bytes(&value).map_err(|_| anyhow!("counts of another layout"));
        values.into_iter().map(read).collect()
    }

    /// The same together.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn counts(&self) -> Result<RouterCounts> {
        let mut all = RouterCounts::default();
        for one in self.processors()? {
            all.bytes += one.bytes();
            all.packets += one.packets;
            all.asked += one.asked;
            all.lowered += one.lowered;
        }
        Ok(all)
    }

    /// Runs it on a packet that no device sees; gives its verdict and the packet it leaves.
    ///
    /// # Errors
    /// The kernel's, which refuses packets that are too short to be any.
    pub fn try_packet(&self, packet: &[u8]) -> Result<(u32, Vec<u8>)> {
        self.run(packet, None)
    }

    /// The same of a packet of which the kernel knows more than its bytes.
    ///
    /// # Errors
    /// As [`Self::try_packet`]'s.
    pub fn try_packet_beside(&self, packet: &[u8], beside: Gso) -> Result<(u32, Vec<u8>)> {
        self.run(packet, Some(&mut beside.context()))
    }

    fn run(&self, packet: &[u8], context_in: Option<&mut [u8]>) -> Result<(u32, Vec<u8>)> {
        let mut left = vec![0; packet.len()];
        let input =
            ProgramInput { data_in: Some(packet), data_out: Some(&mut left), context_in, ..ProgramInput::default() };
        let program = self.object.progs_mut().find(|program| program.name() == PROGRAM);
        let output = program.context("no program")?.test_run(input).context("cannot run it")?;
        let verdict = output.return_value;
        Ok((verdict, left))
    }
}

/// How a router is.
#[derive(Clone, Debug, Serialize)]
pub struct RouterStatus {
    version: &'static str,
    pid: u32,
    device: String,
    law: &'static str,
    dry_run: bool,
    /// Since it began.
    uptime_s: f64,
    #[serde(flatten)]
    told: Controller,
    packets: u64,
    bytes: u64,
    /// Pieces that asked, and those that asked for more than they got.
    asked: u64,
    lowered: u64,
}

/// How a router's law is.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
enum Controller {
    Qfcp {
        /// C.
        capacity_bps: u64,
        /// R.
        rate_bps: u64,
        /// N.
        flows: f64,
        /// T.
        interval_s: f64,
        /// What always waits, averaged.
        queue_bytes: f64,
    },
    Xcp {
        /// C.
        capacity_bps: u64,
        /// y.
        input_bps: u64,
        /// d.
        interval_s: f64,
        /// The queue that stands.
        queue_bytes: f64,
    },
}

impl Controller {
    fn of(settings: &RouterSettings, record: &RouterRecord) -> Self {
        let RouterRecord { qfcp, xcp, .. } = record;
        if settings.is_xcp == 1 {
            return Self::Xcp {
                capacity_bps: settings.xcp.capacity * 8,
                input_bps: xcp.input * 8,
                interval_s: xcp.interval_ns as f64 / 1e9,
                queue_bytes: xcp.standing_bytes as f64,
            };
        }
        Self::Qfcp {
            capacity_bps: qfcp.capacity * 8,
            rate_bps: qfcp.rate * 8,
            flows: qfcp.flows_q16 as f64 / 65_536.0,
            interval_s: qfcp.interval_ns as f64 / 1e9,
            queue_bytes: qfcp.queue_q4 as f64 / 16.0,
        }
    }
}

/// What the programs are told, and what of it is said when they begin.
fn settings(law: FeedbackLaw, options: &RouterOptions, device: &Device) -> Result<(RouterSettings, String)> {
    let common = RouterSettings {
        link_header_bytes: device.link_header_bytes,
        exid: law.exid().into(),
        observe_only: options.dry_run.into(),
        ..RouterSettings::default()
    };
    Ok(match law {
        FeedbackLaw::Qfcp => {
            let params = qfcp_params(&options.keys, top(device).unwrap_or(TOP))?;
            let probed = if params.probing { "probed from" } else { "held at" };
            let capacity = params.capacity.unwrap_or(FIRST_CAPACITY);
            (RouterSettings { qfcp: qfcp_settings(&params), ..common }, format!("capacity {probed} {capacity}"))
        }
        FeedbackLaw::Xcp => {
            let xcp = xcp_settings(&xcp_params(&options.keys, top(device))?);
            let capacity = Rate::from_bps(8 * xcp.capacity);
            (RouterSettings { xcp, is_xcp: 1, ..common }, format!("capacity held at {capacity}"))
        }
    })
}

/// Runs a router until a signal, a command or the device's end.
///
/// # Errors
/// If the device, the programs or the socket for commands cannot be had.
pub fn run(law: FeedbackLaw, options: &RouterOptions) -> Result<()> {
    service::drop_rights()?;
    let device = Device::find(&options.device)?;
    let (settings, capacity) = settings(law, options, &device)?;
    let mut listener =
        Listener::bind(&address(law, &device.name), &format!("{} detach --dev {}", law.name(), device.name))?;
    let (signals, manager) = (Signals::block(&[])?, Manager::find());
    let router = FeedbackRouter::load(&settings)?;
    let link = router.attach(&device)?;
    let page = options.metrics.as_deref().map(|address| FeedbackPage::open(address, &device.name)).transpose()?;
    let (qdisc, _) = device.queue()?;
    let began_ns = clock::monotonic_ns();
    begun(&manager, &format!("{} at {}: {capacity}, queue in {qdisc}", law.name(), device.name))?;
    let status = || {
        let (record, counts) = (router.record()?, router.counts()?);
        Ok(RouterStatus {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            device: device.name.clone(),
            law: law.name(),
            dry_run: options.dry_run,
            uptime_s: (clock::monotonic_ns() - began_ns) as f64 / 1e9,
            told: Controller::of(&settings, &record),
            packets: counts.packets,
            bytes: counts.bytes,
            asked: counts.asked,
            lowered: counts.lowered,
        })
    };
    let is_there = || match device.left() {
        None if !router.is_at(&device)? => Ok(Some("its program was taken from the device".to_owned())),
        left => Ok(left),
    };
    let why = watch((&signals, &mut listener), page, status, is_there)?;
    manager.stopping(&why);
    drop(link);
    service::note(format_args!("{}: left {}: {why}", law.name(), device.name));
    Ok(())
}

/// Where the router of a device listens.
pub fn address(law: FeedbackLaw, device: &str) -> String {
    format!("{} router of {}", law.name(), own_name(device))
}

/// The highest rate of a device, if it tells it. What /sys shows may be another network namespace's.
fn top(device: &Device) -> Option<Rate> {
    let folder = Path::new("/sys/class/net").join(&device.name);
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let speed = read("speed").filter(|_| read("ifindex") == Some(device.index.into()));
    speed.map(|mbps| Rate::from_bps(mbps.clamp(1, 100_000) * 1_000_000))
}
