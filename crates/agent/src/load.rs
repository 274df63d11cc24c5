// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs, loaded into the kernel.

use anyhow::{Context, Result, anyhow};
use libbpf_rs::{Map, MapCore, MapFlags, Object, ObjectBuilder, Program};
use zerocopy::{FromBytes, IntoBytes};

use crate::state::{COUNTED, Count, Flow, FlowKey, Settings, Station};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/proxy.bpf.o"));

/// The proxy's programs and maps, in the kernel as long as this lives.
pub struct Proxy {
    object: Object,
}

impl Proxy {
    /// Loads them.
    ///
    /// # Errors
    /// If the kernel does not take them; with the verifier's last words.
    pub fn load(settings: &Settings) -> Result<Self> {
        let mut builder = ObjectBuilder::default();
        // A copy is aligned as ELF wants it.
        let object = OBJECT.to_vec();
        let mut open = builder.name("lasthop")?.open_memory(&object).context("cannot read the programs")?;
        let mut constants = open
            .maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .ok_or_else(|| anyhow!("the programs have no settings"))?;
        let values = constants.initial_value_mut().ok_or_else(|| anyhow!("the settings have no place"))?;
        let place = values.get_mut(..size_of::<Settings>()).ok_or_else(|| anyhow!("the settings have no room"))?;
        place.copy_from_slice(settings.as_bytes());
        let object = open.load().context("the kernel does not take the programs: Linux 6.6 or newer is needed")?;
        Ok(Self { object })
    }

    /// A program by its name.
    ///
    /// # Errors
    /// If there is none.
    pub fn program(&self, name: &str) -> Result<Program<'_>> {
        let found = self.object.progs().find(|program| program.name() == name);
        found.ok_or_else(|| anyhow!("no program {name}"))
    }

    /// A map by its name.
    ///
    /// # Errors
    /// If there is none.
    pub fn map(&self, name: &str) -> Result<Map<'_>> {
        let found = self.object.maps().find(|map| map.name() == name);
        found.ok_or_else(|| anyhow!("no map {name}"))
    }

    /// The connections of now.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn flows(&self) -> Result<Vec<(FlowKey, Flow)>> {
        let map = self.map("flows")?;
        let mut found = Vec::new();
        for key in map.keys() {
            // It may have gone since.
            let Some(value) = map.lookup(&key, MapFlags::LOCK)? else { continue };
            let (Ok(key), Ok(flow)) = (FlowKey::read_from_bytes(&key), Flow::read_from_bytes(&value)) else {
                return Err(anyhow!("a connection of another layout"));
            };
            found.push((key, flow));
        }
        Ok(found)
    }

    /// Forgets a connection.
    ///
    /// # Errors
    /// The kernel's; none if it was forgotten before.
    pub fn forget(&self, key: &FlowKey) -> Result<()> {
        match self.map("flows")?.delete(key.as_bytes()) {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// What shares the queue.
    ///
    /// # Errors
    /// If the kernel does not give it.
    pub fn station(&self) -> Result<Station> {
        let value = self.map("stations")?.lookup(&0u32.to_ne_bytes(), MapFlags::LOCK)?;
        let value = value.ok_or_else(|| anyhow!("no station"))?;
        Station::read_from_bytes(&value).map_err(|_| anyhow!("a station of another layout"))
    }

    /// What became of packets, in the order of [`COUNTED`], all processors together.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn counts(&self) -> Result<[Count; COUNTED.len()]> {
        let map = self.map("counts")?;
        let mut counts = [Count::default(); COUNTED.len()];
        for (kind, sum) in (0u32..).zip(&mut counts) {
            for value in map.lookup_percpu(&kind.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default() {
                let count = Count::read_from_bytes(&value).map_err(|_| anyhow!("a count of another layout"))?;
                sum.packets += count.packets;
                sum.bytes += count.bytes;
            }
        }
        Ok(counts)
    }
}
