// SPDX-License-Identifier: MIT OR Apache-2.0
//! The laws of senders as congestion controls of the kernel: `lasthop-agent cc`.
//!
//! ```text
//!   cc load ──► bpf/cc.bpf.c, registered under a name ◄── setsockopt(TCP_CONGESTION), net.ipv4.tcp_congestion_control
//!                  │        ▲
//!        Counts ◄──┘        └── Settings ◄── cc set
//! ```
//!
//! The kernel keeps a control for as long as its link lives: in a process, or pinned in a file. Others find it by its
//! programs, whose maps begin with a [mark](shared::MAGIC); no socket and no state of our own is needed.

pub mod cli;
pub mod metrics;
pub mod shared;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use lasthop_core::kinds;
use lasthop_core::law::gamma::GammaParams;
use lasthop_core::law::linux::ensure_counted;
use lasthop_linux::bpf;
use lasthop_linux::signals::Signals;
use lasthop_linux::sysctl::congestion_controls;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, OpenObject, ProgramType};
use nix::errno::Errno;
use serde::Serialize;
use zerocopy::{FromBytes, IntoBytes};

use shared::{CcCounts, CcSettings, MAGIC};

use crate::load;
use crate::output::print;
use crate::service;

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cc.bpf.o"));

/// The name of the control within the object, and of the maps' owner.
const TEMPLATE: &str = "lasthop";
/// The longest name of a control (TCP_CA_NAME_MAX, less the zero at its end).
const LONGEST_NAME: usize = 15;
/// Where controls are pinned that are to stay.
const PINS: &str = "/sys/fs/bpf/lasthop";
/// How often the kernel is asked whether the control is still there.
const LOOK_MS: u8 = 100;

kinds! {
    /// The laws.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CcLaw {
        /// α and β, with the cut of γ before packets are lost (gamma eq. 15, 16).
        Gamma = "gamma",
        /// The same, and δ while the queue is short (gamma eq. 17).
        GammaDelta = "gamma-delta",
        /// α and β alone.
        Gaimd = "gaimd",
        /// γ with the cut that empties the queue, so that flows are fair that do not start at once.
        Drain = "drain",
        /// α and β, and δ while the queue is short, without γ.
        Delta = "delta",
    }
}

impl CcLaw {
    const ALL: [Self; 5] = [Self::Gamma, Self::GammaDelta, Self::Gaimd, Self::Drain, Self::Delta];

    /// The law of that name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|law| law.kind() == name);
        found.ok_or_else(|| anyhow!("cc load {name}: wanted {}", Self::KINDS.join(", ")))
    }

    /// The name that its control has unless it is given another.
    pub fn control(self) -> &'static str {
        match self {
            Self::Gamma => "lasthop_gamma",
            Self::GammaDelta => "lasthop_gdelta",
            Self::Gaimd => "lasthop_gaimd",
            Self::Drain => "lasthop_drain",
            Self::Delta => "lasthop_delta",
        }
    }

    /// What makes it of [`GammaParams`], as a file has them.
    fn preset(self) -> &'static str {
        match self {
            Self::Gamma => "gamma = {}\n",
            Self::GammaDelta => "gamma = {}\ndelta = {}\n",
            Self::Gaimd => "",
            Self::Drain => "gamma = { variant = \"drain\" }\n",
            Self::Delta => "delta = {}\n",
        }
    }

    /// Its parameters, with `keys` set to values as in a file.
    ///
    /// # Errors
    /// The key, its value and what is wanted.
    pub fn params(self, keys: &[(String, String)]) -> Result<GammaParams> {
        self.changed(self.preset(), keys)
    }

    /// Parameters as a file has them, with `keys` set to values.
    fn changed(self, text: &str, keys: &[(String, String)]) -> Result<GammaParams> {
        let text = lasthop_scenario::effective(text, keys).map_err(|error| anyhow!("{error}"))?;
        let params: GammaParams = lasthop_scenario::read(&text).map_err(|error| anyhow!("{error}"))?;
        let rules = [("gamma", params.gamma.is_some()), ("delta", params.delta.is_some())];
        let lacks = |law: Self| -> Vec<&str> {
            rules.iter().filter(|(key, is_set)| *is_set && !law.preset().contains(key)).map(|(key, _)| *key).collect()
        };
        let lacking = lacks(self).join(" and ");
        if !lacking.is_empty() {
            let with: Vec<_> = Self::ALL.iter().filter(|law| lacks(**law).is_empty()).map(Self::kind).collect();
            bail!("{} has no {lacking}: wanted the law {}", self.kind(), with.join(" or "));
        }
        ensure_counted(&params)?;
        Ok(params)
    }
}

/// Whether a control may have this name.
///
/// # Errors
/// If it is too long, or of other characters than letters, digits, `_` and `-`.
pub fn check_name(name: &str) -> Result<()> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    ensure!(
        is_plain && (1..=LONGEST_NAME).contains(&name.len()),
        "--name {name}: wanted up to {LONGEST_NAME} letters, digits, _ and -"
    );
    Ok(())
}

/// A control in the kernel, registered as long as this lives.
#[derive(Debug)]
struct Control {
    link: Link,
    _object: Object,
}

impl Control {
    fn register(mut settings: CcSettings) -> Result<Self> {
        let name = settings.name();
        if congestion_controls()?.contains(&name) {
            let ours = found()?.iter().any(|control| control.name == name);
            let way = if ours { format!("`lasthop-agent cc unload {name}` takes it away, ") } else { String::new() };
            bail!("{name} is in the kernel already: {way}--name gives another name");
        }
        let mut object = load::taken(open(&name)?)?;
        let mut control = object.maps_mut().find(|map| map.name() == TEMPLATE).context("the object has no control")?;
        let link = control.attach_struct_ops().with_context(|| format!("the kernel does not take {name}"))?;
        settings.link = link.info()?.id;
        let data = object.maps().find(|map| is_data(&map.name().to_string_lossy())).context("it has no settings")?;
        data.update(&0u32.to_ne_bytes(), settings.as_bytes(), MapFlags::ANY)?;
        Ok(Self { link, _object: object })
    }
}

/// Whether the kernel takes the programs.
///
/// # Errors
/// Its own.
pub fn probe() -> Result<()> {
    load::taken(open(TEMPLATE)?).map(drop)
}

/// The programs, not loaded yet, for a control of this name.
fn open(name: &str) -> Result<OpenObject> {
    let mut builder = ObjectBuilder::default();
    // A copy is aligned as ELF wants it.
    let object = OBJECT.to_vec();
    let mut open = builder.name(TEMPLATE)?.open_memory(&object).context("cannot read the programs")?;
    let mut control = open.maps_mut().find(|map| map.name() == TEMPLATE).context("the object has no control")?;
    let value = control.initial_value_mut().context("the control has no place")?;
    put_name(value, name)?;
    Ok(open)
}

/// Puts a name in the place of the template's, in a control that is not loaded yet.
///
/// # Errors
/// If it has none.
pub fn put_name(control: &mut [u8], name: &str) -> Result<()> {
    let place =
        control.windows(TEMPLATE.len() + 1).position(|bytes| bytes == b"lasthop\0").context("it has no name")?;
    let place = &mut control[place..=place + LONGEST_NAME];
    place.fill(0);
    place.iter_mut().zip(name.bytes().take(LONGEST_NAME)).for_each(|(place, byte)| *place = byte);
    Ok(())
}

fn is_data(name: &str) -> bool {
    name.ends_with(".data")
}

/// Puts a control into the kernel; it stays until a signal, `cc unload`, or where it is to be kept, beyond this process.
///
/// # Errors
/// A parameter, a name, or the kernel's reason.
pub fn load(law: CcLaw, keys: &[(String, String)], (name, keep): (Option<&str>, bool)) -> Result<()> {
    let name = name.unwrap_or(law.control());
    check_name(name)?;
    let params = law.params(keys)?;
    let mut settings = CcSettings::new(name, law.kind(), &params);
    settings.pid = if keep { 0 } else { std::process::id() };
    let signals = Signals::block(&[])?;
    let mut control = Control::register(settings)?;
    if keep {
        let path = pin(&mut control.link, name)?;
        service::note(format_args!(
            "{name} stays until `lasthop-agent cc unload {name}`, or rm {}; net.ipv4.tcp_congestion_control \
             and setsockopt(TCP_CONGESTION) name it",
            path.display()
        ));
        return print(format!("{name}\n"));
    }
    service::note(format_args!(
        "{name} is there as long as this runs; net.ipv4.tcp_congestion_control and \
         setsockopt(TCP_CONGESTION) name it"
    ));
    print(format!("{name}\n"))?;
    let why = loop {
        if let Some((signal, _)) = signals.wait(LOOK_MS)? {
            break signal.to_string();
        }
        if !congestion_controls()?.iter().any(|known| known == name) {
            break "cc unload".into();
        }
    };
    let left =
        found()?.into_iter().find(|control| control.name == name).map_or(0, |control| control.counts.connections);
    let rest = if left > 0 { format!("; connections that keep it until they end: {left}") } else { String::new() };
    service::note(format_args!("{name} is taken away: {why}{rest}"));
    Ok(())
}

/// Pins a link, so that it outlives us.
fn pin(link: &mut Link, name: &str) -> Result<PathBuf> {
    let path = Path::new(PINS).join(name);
    let mut attempt = || -> Result<()> {
        fs::create_dir_all(PINS)?;
        Ok(link.pin(&path)?)
    };
    attempt().with_context(|| {
        format!("--keep: cannot make {}: /sys/fs/bpf must be a bpffs (mount -t bpf bpf /sys/fs/bpf)", path.display())
    })?;
    Ok(path)
}

/// A control in the kernel.
#[derive(Clone, Debug, Serialize)]
pub struct KernelControl {
    /// Its name.
    pub name: String,
    /// The law that it was loaded as.
    pub law: String,
    /// Whether new connections can have it; what is not registered goes with its last connection.
    pub registered: bool,
    /// The process that holds it; none if it is pinned.
    pub pid: Option<u32>,
    /// Where it is pinned.
    pub pinned: Option<PathBuf>,
    /// α, given or following from β.
    pub alpha: f64,
    /// Its parameters, as a file has them.
    pub parameters: String,
    /// What it has done.
    #[serde(flatten)]
    pub counts: CcCounts,
    /// What its programs take for an acknowledgement \[ns\], where `kernel.bpf_stats_enabled` is 1.
    pub cost_ns: Option<f64>,
    #[serde(skip)]
    settings: CcSettings,
    #[serde(skip)]
    data: u32,
}

/// The controls that are in the kernel, by their programs.
///
/// # Errors
/// If the kernel does not tell.
pub fn found() -> Result<Vec<KernelControl>> {
    let known = congestion_controls()?;
    let mut all: Vec<KernelControl> = vec![];
    let mut runs = vec![];
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    for program in ProgInfoIter::with_query_opts(options).filter(|program| program.ty == ProgramType::StructOps) {
        let (mut settings, mut counts) = (None, None);
        for id in &program.map_ids {
            // It may have gone since.
            let Ok(map) = MapHandle::from_map_id(*id) else { continue };
            let name = map.name().to_string_lossy().into_owned();
            if name != "lasthop.data" && name != "lasthop.bss" {
                continue;
            }
            let Some(value) = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)? else { continue };
            if is_data(&name) {
                let read = CcSettings::read_from_prefix(&value).ok().map(|(read, _)| read);
                settings = read.filter(|read| read.magic == MAGIC && read.link > 0).map(|read| (*id, read));
            } else {
                counts = CcCounts::read_from_prefix(&value).ok().map(|(read, _)| read);
            }
        }
        // Each of its programs that an acknowledgement runs has both.
        let Some((data, settings)) = settings else { continue };
        runs.push((data, program.name.to_string_lossy().into_owned(), program.run_time_ns, program.run_cnt));
        let Some(counts) = counts.filter(|_| all.iter().all(|other| other.data != data)) else { continue };
        let name = settings.name();
        let path = Path::new(PINS).join(&name);
        all.push(KernelControl {
            registered: known.contains(&name) && bpf::is_link(settings.link),
            law: settings.law(),
            pid: (settings.pid > 0).then_some(settings.pid),
            pinned: (settings.pid == 0 && path.exists()).then_some(path),
            alpha: settings.alpha(),
            parameters: settings.written(),
            counts,
            cost_ns: None,
            name,
            settings,
            data,
        });
    }
    for control in &mut all {
        let own = |program: &str| {
            let run = runs.iter().find(|(data, name, ..)| *data == control.data && name == program);
            run.map_or((0, 0), |(_, _, ns, count)| (*ns, *count))
        };
        let (acked, avoided) = (own("pkts_acked"), own("cong_avoid"));
        control.cost_ns = (acked.1 > 0).then(|| (acked.0 + avoided.0) as f64 / acked.1 as f64);
    }
    // What nobody has any more is on its way out.
    all.retain(|control| control.registered || control.counts.connections > 0);
    all.sort_by(|a, b| (&a.name, a.data).cmp(&(&b.name, b.data)));
    Ok(all)
}

impl fmt::Display for KernelControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CcCounts { connections, opened, cuts, losses, timeouts } = self.counts;
        let holder = match (&self.pinned, self.pid) {
            (Some(path), _) => format!("pinned as {}", path.display()),
            (None, Some(pid)) => format!("held by process {pid}"),
            (None, None) => "pinned no more".into(),
        };
        let state = if self.registered { holder } else { "unloaded: it goes with its last connection".into() };
        writeln!(f, "{}: {}, {state}", self.name, self.law)?;
        let parameters = self.parameters.trim_end().replace('\n', ", ");
        writeln!(f, "  alpha {:.3}; {parameters}", self.alpha)?;
        writeln!(
            f,
            "  {connections} connections, {opened} so far; cuts of γ {cuts}, losses {losses}, time-outs {timeouts}"
        )?;
        match self.cost_ns {
            Some(ns) => writeln!(f, "  {ns:.0} ns an acknowledgement"),
            None => Ok(()),
        }
    }
}

/// The control of a name, where new connections can have it.
fn registered(name: &str) -> Result<KernelControl> {
    let all = found()?;
    let names: Vec<_> = all.iter().filter(|control| control.registered).map(|control| control.name.clone()).collect();
    let there = if names.is_empty() { "none is loaded".to_owned() } else { format!("wanted {}", names.join(", ")) };
    let control = all.into_iter().find(|control| control.registered && control.name == name);
    control.ok_or_else(|| anyhow!("{name}: no control of lasthop's has this name: {there}"))
}

/// Sets parameters of a control while it runs.
///
/// # Errors
/// If there is none of this name, or a key, its value and what is wanted.
pub fn set(name: &str, keys: &[(String, String)]) -> Result<()> {
    let control = registered(name)?;
    let before = control.settings;
    let params = CcLaw::named(&before.law())?.changed(&control.parameters, keys)?;
    let mut settings = CcSettings::new(name, &before.law(), &params);
    (settings.link, settings.pid) = (before.link, before.pid);
    MapHandle::from_map_id(control.data)?.update(&0u32.to_ne_bytes(), settings.as_bytes(), MapFlags::ANY)?;
    Ok(())
}

/// Takes a control out of the kernel. Connections that have it keep it until they end.
///
/// # Errors
/// If there is none of this name, or the kernel's reason.
pub fn unload(name: &str) -> Result<u64> {
    let control = registered(name)?;
    match bpf::detach(control.settings.link) {
        // Without its file a pinned link goes as well.
        Err(error) if error.raw_os_error() == Some(Errno::EOPNOTSUPP as i32) && control.pinned.is_none() => {
            let pid = control.settings.pid;
            bail!("this kernel takes it away with its process alone (Linux 6.11 does by itself): kill {pid}");
        }
        Err(error) if control.pinned.is_none() => return Err(error).context("the kernel does not let it go"),
        _ => {}
    }
    if let Some(path) = &control.pinned {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(control.counts.connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn laws_are_those_of_the_simulator() {
        use lasthop_core::law::gamma::{Boost, Cut, CutRule};
        let params = |law: CcLaw| law.params(&[]).unwrap();
        assert_eq!(params(CcLaw::Gaimd), GammaParams::default());
        assert_eq!(params(CcLaw::Gamma), GammaParams { gamma: Some(Cut::default()), ..GammaParams::default() });
        let both = GammaParams { gamma: Some(Cut::default()), delta: Some(Boost::default()), ..GammaParams::default() };
        assert_eq!(params(CcLaw::GammaDelta), both);
        assert_eq!(params(CcLaw::Drain).gamma.unwrap().variant, CutRule::Drain);
        for name in CcLaw::KINDS {
            let law = CcLaw::named(name).unwrap();
            assert!(law.kind() == *name && check_name(law.control()).is_ok());
        }
    }

    #[test]
    fn parameters_are_refused_with_key_value_and_what_is_wanted() {
        let refused = |law: CcLaw, pair| law.params(&keys(&[pair])).unwrap_err().to_string();
        assert_eq!(refused(CcLaw::Gaimd, ("beta", "1.5")), "beta = 1.5: wanted more than 0 and less than 1");
        assert_eq!(refused(CcLaw::Gamma, ("alpha", "257")), "alpha = 257: wanted more than 0 and at most 256");
        for (law, key) in [
            (CcLaw::Gaimd, "alpha"),
            (CcLaw::Gaimd, "beta"),
            (CcLaw::Gamma, "gamma.threshold"),
            (CcLaw::Delta, "delta.increase"),
        ] {
            assert!(refused(law, (key, "1e-300")).starts_with(&format!("{key} = 1e-300: wanted from 0.0000153 to")));
        }
        assert!(refused(CcLaw::Gaimd, ("beta", "0.9999999")).ends_with("to 0.9999847412109375 in the kernel"));
        assert_eq!(
            refused(CcLaw::Gaimd, ("gamma.threshold", "0.5")),
            "gaimd has no gamma: wanted the law gamma or gamma-delta or drain"
        );
        assert_eq!(refused(CcLaw::Drain, ("delta.increase", "3")), "drain has no delta: wanted the law gamma-delta");
        assert_eq!(refused(CcLaw::Delta, ("gamma.threshold", "1")), "delta has no gamma: wanted the law gamma-delta");
        assert!(refused(CcLaw::Gamma, ("gama", "1")).contains("unknown key `gama`"));
        assert!(refused(CcLaw::Gamma, ("gamma.threshold", "0")).starts_with("gamma.threshold = 0: wanted more than 0"));
        assert!(CcLaw::named("reno").unwrap_err().to_string().contains("gamma, gamma-delta, gaimd, drain"));
        for name in ["", "lasthop_much_too_long", "a b", "../x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_runs_is_changed_by_keys() {
        let set = keys(&[("gamma.threshold", "0.25"), ("delta.increase", "3")]);
        let params = CcLaw::GammaDelta.changed("beta = 0.875\ngamma = {}\n", &set).unwrap();
        assert_eq!((params.beta, params.gamma.unwrap().threshold, params.delta.unwrap().increase), (0.875, 0.25, 3.0));
    }
}
