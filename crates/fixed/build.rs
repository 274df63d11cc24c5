// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the headers for the host.

fn main() {
    println!("cargo:rerun-if-changed=c");
    let mut build = cc::Build::new();
    build.std("gnu11").warnings(true).extra_warnings(true).warnings_into_errors(true).file("c/face.c");
    build.compile("lasthop_fixed");
}
