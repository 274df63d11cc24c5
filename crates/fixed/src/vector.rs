// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the headers as the host runs them, each on numbers that a program of the kernel can be given as well.

use std::ffi::CStr;
use std::os::raw::c_char;

#[cfg(feature = "zerocopy")]
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::state::{DeskRecord, FlowRecord, ReceiverRecord, Settings, StationRecord};

/// What a function is given, and what comes of it: `struct vector`.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "zerocopy", derive(FromBytes, IntoBytes, Immutable, KnownLayout))]
#[repr(C)]
pub struct Vector {
    /// The clock.
    pub now_ns: u64,
    /// What the function gives.
    pub result: u64,
    /// Its numbers.
    pub numbers: [u64; 16],
    /// What is kept of something that has no lock.
    pub state: [u64; 64],
}

// SAFETY: `face.c` has them with these very types; they keep no pointer, and take any number.
unsafe extern "C" {
    #[link_name = "lasthop_vector_name"]
    safe fn name_of(which: u32) -> *const c_char;

    /// Runs the function of this number; does nothing behind the last.
    #[link_name = "lasthop_vector_run"]
    pub safe fn run(
        which: u32,
        vector: &mut Vector,
        settings: &Settings,
        flow: &mut FlowRecord,
        station: &mut StationRecord,
        receiver: &mut ReceiverRecord,
        desk: &mut DeskRecord,
    );
}

/// The functions, in the order of their numbers.
pub fn names() -> impl Iterator<Item = &'static str> {
    (0..).map(|which| name_of(which)).take_while(|name| !name.is_null()).map(|name| {
        // SAFETY: a constant of `face.c`, which ends with a zero byte.
        unsafe { CStr::from_ptr(name) }.to_str().expect("names are ASCII")
    })
}
