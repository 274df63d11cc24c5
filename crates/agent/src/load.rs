// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs, loaded into the kernel.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use libbpf_rs::{Map, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, Program, ProgramInput};
use zerocopy::{FromBytes, IntoBytes};

use crate::mode::Mode;
use crate::service;
use crate::state::{
    COUNTED, Connection, Count, FlowKey, FlowRecord, ReceiverRecord, Settings, StationKey, StationRecord,
};

/// An agent's programs and maps, in the kernel as long as this lives.
pub struct Programs {
    mode: Mode,
    by_client: bool,
    has_desks: bool,
    object: Object,
}

/// What came of a packet that no device saw.
pub struct Tried {
    /// What the program returned.
    pub verdict: u32,
    /// The packet it left.
    pub left: Vec<u8>,
    /// How long it took, with the kernel's own work around it.
    pub took: Duration,
}

/// What the kernel knows of a packet beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gso {
    /// What each segment of a super-packet has of its payload \[B\]; 0: it is none.
    pub gso_size: u32,
    /// How many segments that has; 0: nobody has counted them.
    pub gso_segs: u32,
}

impl Gso {
    /// The same as a `struct __sk_buff`.
    pub(crate) fn context(self) -> [u8; 192] {
        let mut context = [0; 192];
        for (at, value) in [(164, self.gso_segs), (176, self.gso_size)] {
            context[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        context
    }
}

/// Has the kernel take what was read. Without the rights it is not asked, for its verifier would complain of much else.
///
/// # Errors
/// What is missing, or the kernel's reason. The verifier's own words are printed where `LIBBPF_LOG_LEVEL` is set.
pub fn taken(open: OpenObject) -> Result<Object> {
    let missing = service::missing_rights();
    if !missing.is_empty() {
        bail!("missing: {}: run it as root, by sudo", service::named(&missing));
    }
    if env::var_os("LIBBPF_LOG_LEVEL").is_none() {
        libbpf_rs::set_print(None);
    }
    open.load().map_err(|error| {
        let lacks = match error.kind() {
            // The rights of a user namespace count there alone.
            libbpf_rs::ErrorKind::PermissionDenied => "root of this machine may load programs, not of a user namespace",
            _ => "Linux 6.6 or newer is needed",
        };
        anyhow::Error::new(error).context(format!("the kernel does not take the programs: {lacks}"))
    })
}

impl Programs {
    /// Loads them.
    ///
    /// # Errors
    /// If the kernel does not take them; with the verifier's last words.
    pub fn load(mode: Mode, settings: &Settings) -> Result<Self> {
        let mut builder = ObjectBuilder::default();
        // A copy is aligned as ELF wants it.
        let object = mode.object().to_vec();
        let mut open = builder.name("lasthop")?.open_memory(&object).context("cannot read the programs")?;
        let mut constants = open
            .maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .ok_or_else(|| anyhow!("the programs have no settings"))?;
        let values = constants.initial_value_mut().ok_or_else(|| anyhow!("the settings have no place"))?;
        let place = values.get_mut(..size_of::<Settings>()).ok_or_else(|| anyhow!("the settings have no room"))?;
        place.copy_from_slice(settings.as_bytes());
        let by_client = mode == Mode::Proxy && settings.by_client != 0;
        let clients = open.maps().find(|map| map.name() == "clients").map_or(0, |map| map.max_entries());
        for mut numbered in
            open.maps_mut().filter(|map| by_client && (map.name() == "queues" || map.name() == "desk_numbers"))
        {
            numbered.set_max_entries(1 + clients)?;
        }
        let spare_desks = open.maps().find(|map| map.name() == "spare_desks").map_or(0, |map| map.max_entries());
        let room = match (settings.is_station != 0, by_client) {
            (true, true) => spare_desks,
            // One queue has one.
            (true, false) => 1,
            (false, _) => 0,
        };
        if let Some(mut desks) = open.maps_mut().find(|map| map.name() == "desks").filter(|_| room > 0) {
            desks.set_max_entries(room)?;
        }
        let object = taken(open)?;
        let programs = Self { mode, by_client, has_desks: room > 0, object };
        for number in (1..=clients).filter(|_| by_client) {
            programs.spare(number)?;
        }
        for number in 1..=room {
            programs.spare_desk(number)?;
        }
        Ok(programs)
    }

    /// Gives a desk to whoever comes next; its number is one more than its place.
    fn spare_desk(&self, number: u32) -> Result<()> {
        Ok(self.map("spare_desks")?.update(&[], &number.to_ne_bytes(), MapFlags::ANY)?)
    }

    /// Gives a hidden queue's number to whoever comes next.
    fn spare(&self, number: u32) -> Result<()> {
        Ok(self.map("spare")?.update(&[], &number.to_ne_bytes(), MapFlags::ANY)?)
    }

    /// Whose they are.
    pub fn mode(&self) -> Mode {
        self.mode
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
    pub fn flows(&self) -> Result<Vec<(FlowKey, Connection)>> {
        let read: fn(&[u8]) -> Option<Connection> = match self.mode {
            Mode::Proxy => |value| FlowRecord::read_from_bytes(value).ok().map(Connection::Steered),
            Mode::Client => |value| ReceiverRecord::read_from_bytes(value).ok().map(Connection::Priced),
            Mode::Ap => return Ok(vec![]),
        };
        let map = self.map("flows")?;
        let mut found = Vec::new();
        for key in map.keys() {
            // It may have gone since. Its lock is the programs' own: each number by itself is whole.
            let Some(value) = map.lookup(&key, MapFlags::ANY)? else { continue };
            let (Ok(key), Some(flow)) = (FlowKey::read_from_bytes(&key), read(&value)) else {
                return Err(anyhow!("a connection of another layout"));
            };
            found.push((key, flow));
        }
        Ok(found)
    }

    /// How many connections there is room for.
    ///
    /// # Errors
    /// If this agent knows none.
    pub fn room(&self) -> Result<usize> {
        Ok(self.map("flows")?.max_entries() as usize)
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

    /// What shares a queue, each by itself.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn stations(&self) -> Result<Vec<(StationKey, StationRecord)>> {
        if !self.mode.sees_queues() {
            return Ok(vec![]);
        }
        let queues = self.map("queues")?;
        let queue = |number: &[u8]| -> Result<StationRecord> {
            // Its lock is the programs' own: each number by itself is whole.
            let value = queues.lookup(number, MapFlags::ANY)?.unwrap_or_default();
            StationRecord::read_from_bytes(&value).map_err(|_| anyhow!("a station of another layout"))
        };
        if !self.by_client {
            return Ok(vec![(StationKey::default(), queue(&[0; 4])?)]);
        }
        let mut found = Vec::new();
        let clients = self.map("clients")?;
        for key in clients.keys() {
            // It may have gone since.
            let Some(number) = clients.lookup(&key, MapFlags::ANY)? else { continue };
            let key = StationKey::read_from_bytes(&key).map_err(|_| anyhow!("a station's key of another layout"))?;
            found.push((key, queue(&number)?));
        }
        Ok(found)
    }

    /// Forgets what shared a queue; its number is another's from now on.
    ///
    /// # Errors
    /// The kernel's; none if it was forgotten before.
    pub fn forget_station(&self, key: &StationKey) -> Result<()> {
        let Some(number) = self.map("clients")?.lookup_and_delete(key.as_bytes())? else { return Ok(()) };
        if self.has_desks {
            self.clear_desk(&number)?;
        }
        self.map("queues")?.update(&number, StationRecord::default().as_bytes(), MapFlags::ANY)?;
        Ok(self.map("spare")?.update(&[], &number, MapFlags::ANY)?)
    }

    /// Whether its law is the station window, which sits at desks.
    pub fn has_desks(&self) -> bool {
        self.has_desks
    }

    /// Takes the desk from what shares a queue, if it has one, until it has something to say again.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take_desk(&self, key: &StationKey) -> Result<()> {
        match self.map("clients")?.lookup(key.as_bytes(), MapFlags::ANY)? {
            Some(number) => self.clear_desk(&number),
            None => Ok(()),
        }
    }

    /// The same by the queue's number: the desk is another's from now on.
    fn clear_desk(&self, number: &[u8]) -> Result<()> {
        let numbers = self.map("desk_numbers")?;
        let desk = numbers.lookup(number, MapFlags::ANY)?.unwrap_or_default();
        let Some(desk) = desk.try_into().ok().map(u32::from_ne_bytes).filter(|desk| *desk > 0) else { return Ok(()) };
        numbers.update(number, &[0; 4], MapFlags::ANY)?;
        let desks = self.map("desks")?;
        desks.update(&(desk - 1).to_ne_bytes(), &vec![0; desks.value_size() as usize], MapFlags::ANY)?;
        self.spare_desk(desk)
    }

    /// How many desks there are, and how many of them are nobody's.
    ///
    /// # Errors
    /// The kernel's.
    #[cfg(test)]
    pub(crate) fn desks(&self) -> Result<(usize, usize)> {
        let numbers = self.map("desk_numbers")?;
        let mut taken = 0;
        for key in numbers.keys() {
            taken += usize::from(numbers.lookup(&key, MapFlags::ANY)?.is_some_and(|desk| desk != [0; 4]));
        }
        let all = self.map("desks")?.max_entries() as usize;
        Ok((all, all - taken))
    }

    /// Has the proxy's programs look through the connections: what is silent has nothing under way.
    ///
    /// # Errors
    /// The kernel's.
    pub fn look_through(&self) -> Result<()> {
        if self.mode != Mode::Proxy {
            return Ok(());
        }
        self.try_packet("look_through", &[0; 64]).map(drop)
    }

    /// Runs a program on a packet that no device sees; gives its verdict and the packet it leaves.
    ///
    /// # Errors
    /// The kernel's, which refuses packets that are too short to be any.
    pub fn try_packet(&self, name: &str, packet: &[u8]) -> Result<(u32, Vec<u8>)> {
        let tried = self.time_packet(name, packet)?;
        Ok((tried.verdict, tried.left))
    }

    /// The same of a packet of which the kernel knows more than its bytes.
    ///
    /// # Errors
    /// As [`Self::try_packet`]'s.
    pub fn try_packet_beside(&self, name: &str, packet: &[u8], beside: Gso) -> Result<(u32, Vec<u8>)> {
        let tried = self.run(name, packet, Some(&mut beside.context()))?;
        Ok((tried.verdict, tried.left))
    }

    /// As [`Self::try_packet`], and how long it takes.
    ///
    /// # Errors
    /// The same.
    pub fn time_packet(&self, name: &str, packet: &[u8]) -> Result<Tried> {
        self.run(name, packet, None)
    }

    fn run(&self, name: &str, packet: &[u8], context_in: Option<&mut [u8]>) -> Result<Tried> {
        // A price may be written into it.
        let mut left = vec![0; packet.len() + 64];
        let input =
            ProgramInput { data_in: Some(packet), data_out: Some(&mut left), context_in, ..ProgramInput::default() };
        let found = self.object.progs_mut().find(|program| program.name() == name);
        let program = found.ok_or_else(|| anyhow!("no program {name}"))?;
        let output = program.test_run(input).with_context(|| format!("cannot run {name}"))?;
        let (verdict, took) = (output.return_value, output.duration);
        let size = output.data.as_deref().map_or(0, <[u8]>::len);
        left.truncate(size);
        Ok(Tried { verdict, left, took })
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
