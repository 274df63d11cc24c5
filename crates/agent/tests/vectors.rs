// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each function of the laws in the kernel, by BPF_PROG_TEST_RUN, and on the host: the same to the bit. It takes root.

mod support;

use anyhow::{Context, Result};
use lasthop_fixed::state::{DeskRecord, FlowRecord, ReceiverRecord, Settings, StationRecord};
use lasthop_fixed::vector::{Vector, names, run};
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use support::{Random, assert_verified_with_ease, or_skipped};
use zerocopy::{FromZeros, IntoBytes};

/// How often each function is called with each settings; `LASTHOP_VECTORS` says another number.
fn vectors() -> usize {
    std::env::var("LASTHOP_VECTORS").map_or(2000, |count| count.parse().unwrap())
}

/// Functions that keep one thing: called in any order, so that each goes on with what others have made of it.
const TOGETHER: [&[&str]; 7] = [
    &["busy_window_add", "busy_window_rest"],
    &["share_rate_add", "share_rate_raise"],
    &[
        "receiver_arrival",
        "receiver_rtt",
        "receiver_server_begins",
        "receiver_station_begins",
        "receiver_is_reset",
        "receiver_let_go",
        "receiver_window",
        "pool_turn",
        "pool_add",
        "receiver_pools",
    ],
    &["qfcp_close", "qfcp_count"],
    &["xcp_turn", "xcp_count", "xcp_deal"],
    &[
        "station_look",
        "station_keep_look",
        "station_there",
        "station_hear",
        "station_forward",
        "station_arrival",
        "station_pass",
        "station_price",
        "passer_comes",
        "passer_stamps",
        "passer_goes",
    ],
    &[
        "proxy_server_begins",
        "proxy_client_begins",
        "proxy_meets",
        "proxy_forwards",
        "unheard_goes_on",
        "proxy_hears",
        "proxy_is_reset",
        "proxy_rests",
        "desk_enter",
        "desk_step",
        "desk_finish",
        "desk_said",
        "desk_update",
        "desk_leave",
    ],
];
/// What says yes or no.
const YES_OR_NO: [&str; 16] = [
    "desk_is_slower",
    "desk_is_limited",
    "desk_is_crowded",
    "clamp_is_empty",
    "share_is_better",
    "share_outruns",
    "share_holds",
    "share_path_changed",
    "share_wants_probe",
    "is_after",
    "gamma_is_above",
    "gamma_is_below",
    "gamma_waits",
    "receiver_is_reset",
    "proxy_is_reset",
    "proxy_rests",
];
/// What leaves no window, and no seat.
const NOTHING: [&str; 2] = ["receiver_let_go", "desk_leave"];

/// The functions by their numbers: those of one thing, and each of the others by itself.
fn groups(names: &[&str]) -> Vec<Vec<usize>> {
    let number = |name: &&str| {
        names.iter().position(|known| known == name).unwrap_or_else(|| panic!("there is no function {name}"))
    };
    let mut groups: Vec<Vec<usize>> = TOGETHER.iter().map(|group| group.iter().map(number).collect()).collect();
    let alone = (0..names.len()).filter(|which| !groups.iter().flatten().any(|known| known == which));
    let alone: Vec<_> = alone.map(|which| vec![which]).collect();
    groups.extend(alone);
    groups
}

fn loaded(settings: &Settings) -> Result<Object> {
    let object = include_bytes!(concat!(env!("OUT_DIR"), "/vectors.bpf.o")).to_vec();
    let mut open = ObjectBuilder::default().name("vectors")?.open_memory(&object)?;
    let mut constants = open.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata")).unwrap();
    constants.initial_value_mut().unwrap()[..size_of::<Settings>()].copy_from_slice(settings.as_bytes());
    open.load().context("the kernel does not take the programs")
}

/// Sizes of all magnitudes, as likely as each other.
fn size(random: &mut Random) -> u64 {
    (random.bits() << 32 | random.bits()) >> random.below(64)
}

/// What a function is given next: a clock that goes on, sequence numbers near each other.
struct Inputs {
    random: Random,
    now_ns: u64,
    seq: u32,
    ack: u32,
}

impl Inputs {
    fn put(&mut self, vector: &mut Vector) {
        let random = &mut self.random;
        self.now_ns += size(random) >> 28;
        vector.now_ns = self.now_ns;
        vector.numbers = std::array::from_fn(|_| size(random));
        if random.below(2) == 0 {
            self.seq = self.seq.wrapping_add(random.below(3000) as u32);
            self.ack = self.ack.wrapping_add(random.below(3000) as u32);
            if random.below(50) == 0 {
                self.ack = self.seq;
            }
            let numbers = [self.seq, self.ack, random.below(9000) as u32, 1448, 66, random.below(9000) as u32];
            for (number, new) in vector.numbers.iter_mut().zip(numbers) {
                *number = new.into();
            }
            // What the queue holds, and what has left it.
            vector.numbers[14] = random.below(1 << 20) as u64;
            vector.numbers[15] = self.now_ns >> 10;
        }
    }
}

/// What the functions keep.
struct Kept {
    vector: Vector,
    flow: FlowRecord,
    station: StationRecord,
    receiver: ReceiverRecord,
    desk: DeskRecord,
}

impl Kept {
    fn new() -> Self {
        Self {
            vector: Vector::new_zeroed(),
            flow: FlowRecord::default(),
            station: StationRecord::default(),
            receiver: ReceiverRecord::default(),
            desk: DeskRecord::default(),
        }
    }

    /// By the maps that hold them in the kernel.
    fn parts(&self) -> [(&'static str, &[u8]); 5] {
        [
            ("vectors", self.vector.as_bytes()),
            ("flows", self.flow.as_bytes()),
            ("stations", self.station.as_bytes()),
            ("receivers", self.receiver.as_bytes()),
            ("desks", self.desk.as_bytes()),
        ]
    }
}

#[test]
fn the_kernel_reckons_as_the_host_does_to_the_bit() {
    for (is_hidden, is_clamp, is_station) in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (1, 0, 1)] {
        let settings = Settings {
            target_ns: 25_000_000 >> is_clamp,
            theta_ns: 50_000_000,
            average_ns: 50_000_000,
            g_q10: 901,
            is_hidden,
            is_clamp,
            a_bytes: 20_000,
            tau_bytes: 500,
            refill_q10: 128,
            is_station,
            moves_others: is_station,
            kappa_q10: 256 * is_station,
            ..Settings::default()
        };
        let Some(object) = or_skipped(loaded(&settings)) else { return };
        object.progs().for_each(|program| assert_verified_with_ease(&program));
        compare(&object, &settings);
    }
}

/// Calls each function here and there, and compares what comes of it and what is kept.
fn compare(object: &Object, settings: &Settings) {
    let map = |name: &str| object.maps().find(|map| map.name() == name).unwrap();
    let maps = ["vectors", "flows", "stations", "receivers", "desks"].map(map);
    let mut inputs = Inputs { random: Random::new(), now_ns: 1_000_000_000, seq: 0, ack: 0 };
    let mut kept = Kept::new();
    let mut results = std::collections::BTreeSet::new();
    let names: Vec<&str> = names().collect();
    assert_eq!(object.progs().count(), names.len());
    let groups = groups(&names);
    let mut calls = vec![0; names.len()];
    for (turn, group) in groups.iter().enumerate().cycle() {
        // Now and then all begin anew.
        if turn == 0 && inputs.random.below(20) == 0 {
            kept = Kept::new();
            for (map, (_, part)) in maps.iter().zip(kept.parts()).skip(1) {
                map.update(&[0; 4], part, MapFlags::ANY).unwrap();
            }
        }
        kept.vector.state = [0; 64];
        for _ in 0..[1, 10, 100][inputs.random.below(3)] * group.len() {
            let which = group[inputs.random.below(group.len())];
            inputs.put(&mut kept.vector);
            maps[0].update(&[0; 4], kept.vector.as_bytes(), MapFlags::ANY).unwrap();
            let before = kept.vector;
            let Kept { vector, flow, station, receiver, desk } = &mut kept;
            run(which as u32, vector, settings, flow, station, receiver, desk);
            let name = format!("vector_{}", names[which]);
            let program = object.progs_mut().find(|program| program.name() == name.as_str()).unwrap();
            program.test_run(ProgramInput { data_in: Some(&[0; 64]), ..ProgramInput::default() }).unwrap();
            for (map, (part, ours)) in maps.iter().zip(kept.parts()) {
                let theirs = map.lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();
                assert!(theirs == ours, "{name}: {part}, with {before:?}");
            }
            results.insert((which, kept.vector.result));
            calls[which] += 1;
        }
        if calls.iter().sum::<usize>() >= names.len() * vectors() {
            break;
        }
    }
    // They are no constants: each gives many values, as far as it was called often enough for that.
    for (which, name) in names.iter().enumerate().filter(|(_, name)| !NOTHING.contains(name)) {
        let found = results.range((which, 0)..=(which, u64::MAX)).count();
        let wanted = if YES_OR_NO.contains(name) { calls[which].min(100) / 50 } else { (calls[which] / 40).min(20) };
        assert!(found >= wanted, "{name}: {found} values in {} calls", calls[which]);
    }
}
