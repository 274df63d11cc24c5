// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host: connections of a control group ask routers, and have what they are granted.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use lasthop_linux::clock;
use lasthop_linux::signals::Signals;
use lasthop_linux::sysctl::congestion_controls;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use serde::Serialize;
use zerocopy::{FromBytes, IntoBytes};

use super::page::FeedbackPage;
use super::shared::{HostCounts, HostSettings};
use super::{FeedbackLaw, begun, watch};
use crate::cc;
use crate::control::Listener;
use crate::load;
use crate::service::{self, Manager};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/feedback_host.bpf.o"));

/// What the control is called in the object.
const TEMPLATE: &str = "lasthop";

/// What a host is told.
#[derive(Clone, Debug, Default)]
pub struct HostOptions {
    /// The control group, of the second version's hierarchy.
    pub cgroup: PathBuf,
    /// The control's name in the kernel; that of the law unless told.
    pub name: Option<String>,
    /// Only connections that have chosen the control offer the option.
    pub chosen_only: bool,
    /// A loss halves the window until it is repaired.
    pub heed_loss: bool,
    /// Segments go as the window lets them, as in the simulator; otherwise by 1.25 of the rate at most.
    pub unpaced: bool,
    /// Where the page and the metrics are, an address of this machine alone; without it there are none.
    pub metrics: Option<String>,
}

/// The programs, in the kernel as long as this lives.
pub struct FeedbackHost {
    object: Object,
    _links: [Link; 2],
}

impl FeedbackHost {
    /// Loads them, and puts them at a control group.
    ///
    /// # Errors
    /// If the kernel does not take them, or the folder is no control group.
    pub fn attach(law: FeedbackLaw, settings: &HostSettings, name: &str, cgroup: &Path) -> Result<Self> {
        let group = File::open(cgroup).with_context(|| format!("--cgroup {}", cgroup.display()))?;
        let mut builder = ObjectBuilder::default();
        // A copy is aligned as ELF wants it.
        let object = OBJECT.to_vec();
        let mut open = builder.name(TEMPLATE)?.open_memory(&object).context("cannot read the programs")?;
        for mut map in open.maps_mut() {
            let known = map.name().to_string_lossy().into_owned();
            let Some(value) = map.initial_value_mut() else { continue };
            if known.ends_with(".rodata") {
                let place = value.get_mut(..size_of::<HostSettings>()).context("the settings have no room")?;
                place.copy_from_slice(settings.as_bytes());
            } else if known == control(law) {
                cc::put_name(value, name)?;
            }
        }
        let mut object = load::taken(open)?;
        let mut map = object.maps_mut().find(|map| map.name() == control(law)).context("the object has no control")?;
        let registered = map.attach_struct_ops().with_context(|| format!("the kernel does not take {name}"))?;
        let program = object.progs_mut().find(|program| program.name() == "on_socket").context("no program")?;
        let attached = program.attach_cgroup(group.as_raw_fd()).with_context(|| {
            format!("--cgroup {}: wanted a folder of cgroup2, such as /sys/fs/cgroup", cgroup.display())
        })?;
        Ok(Self { object, _links: [registered, attached] })
    }

    /// What they have counted.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn counts(&self) -> Result<HostCounts> {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let value = map.context("no counts")?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?.context("no counts")?;
        let (counts, _) = HostCounts::read_from_prefix(&value).map_err(|_| anyhow!("counts of another layout"))?;
        Ok(counts)
    }
}

/// Whether the kernel takes them.
///
/// # Errors
/// Its own.
pub fn probe() -> Result<()> {
    let object = OBJECT.to_vec();
    let mut builder = ObjectBuilder::default();
    load::taken(builder.name(TEMPLATE)?.open_memory(&object)?).map(drop)
}

/// The control's map.
fn control(law: FeedbackLaw) -> &'static str {
    match law {
        FeedbackLaw::Qfcp => "lasthop_qfcp",
        FeedbackLaw::Xcp => "lasthop_xcp",
    }
}

/// How a host is.
#[derive(Clone, Debug, Serialize)]
pub struct HostStatus {
    version: &'static str,
    pid: u32,
    cgroup: PathBuf,
    law: &'static str,
    control: String,
    /// Since it began.
    uptime_s: f64,
    #[serde(flatten)]
    counts: HostCounts,
}

/// Runs a host until a signal, a command or the control group's end.
///
/// # Errors
/// If the control group, the programs or the socket for commands cannot be had.
pub fn run(law: FeedbackLaw, options: &HostOptions) -> Result<()> {
    let name = options.name.clone().unwrap_or_else(|| format!("lasthop_{}", law.name()));
    cc::check_name(&name)?;
    if congestion_controls()?.contains(&name) {
        bail!("{name} is in the kernel already: --name gives another name");
    }
    let cgroup = options.cgroup.as_path();
    let way = format!("{} detach --cgroup {}", law.name(), cgroup.display());
    let own = options.chosen_only.then_some(name.as_str());
    let way = own.map_or(way.clone(), |own| format!("{way} --name {own}"));
    let mut listener = Listener::bind(&address(law, cgroup, own), &way)?;
    let (signals, manager) = (Signals::block(&[])?, Manager::find());
    let mut settings = HostSettings {
        exid: law.exid().into(),
        is_xcp: (law == FeedbackLaw::Xcp).into(),
        offers_all: (!options.chosen_only).into(),
        heeds_loss: options.heed_loss.into(),
        paces: (!options.unpaced).into(),
        exid_beside: if options.chosen_only { law.other().exid().into() } else { 0 },
        name: [0; 16],
    };
    settings.name.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
    let host = FeedbackHost::attach(law, &settings, &name, cgroup)?;
    service::drop_rights()?;
    let title = cgroup.display().to_string();
    let page = options.metrics.as_deref().map(|address| FeedbackPage::open(address, &title)).transpose()?;
    let began_ns = clock::monotonic_ns();
    let who = if options.chosen_only { format!("those that choose {name}") } else { "all".to_owned() };
    begun(&manager, &format!("{} for connections of {}: {who}", law.name(), cgroup.display()))?;
    let status = || {
        Ok(HostStatus {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            cgroup: cgroup.to_owned(),
            law: law.name(),
            control: name.clone(),
            uptime_s: (clock::monotonic_ns() - began_ns) as f64 / 1e9,
            counts: host.counts()?,
        })
    };
    let is_there = || Ok((!cgroup.exists()).then(|| "the control group is gone".to_owned()));
    let why = watch((&signals, &mut listener), page, status, is_there)?;
    manager.stopping(&why);
    drop(host);
    service::note(format_args!("{}: left {}: {why}", law.name(), cgroup.display()));
    Ok(())
}

/// Where the host of a control group listens; there may be several that serve those alone who choose a control.
pub fn address(law: FeedbackLaw, cgroup: &Path, name: Option<&str>) -> String {
    let of = name.map_or(String::new(), |name| format!(" with {name}"));
    format!("{} host of {}{of}", law.name(), cgroup.display())
}
