// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernel's programs, by clang.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed=../fixed/c");
    println!("cargo:rerun-if-env-changed=CLANG");
    // Cargo gives all of these.
    let given = |name: &str| env::var(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let machine = given("CARGO_CFG_TARGET_ARCH");
    let folder = PathBuf::from(given("OUT_DIR"));
    for name in fs::read_dir("bpf").expect("the folder of the programs").flatten().map(|entry| entry.file_name()) {
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".bpf.c")) else { continue };
        let object = folder.join(format!("{stem}.bpf.o"));
        let status = Command::new(&clang)
            .args(["-std=gnu11", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"])
            .arg(format!("-I{}", given("DEP_BPF_INCLUDE")))
            .args([
                "-I../fixed/c",
                &format!("-I/usr/include/{machine}-linux-gnu"),
                &format!("-DMACHINE_{machine}"),
                "-c",
            ])
            .arg(format!("bpf/{stem}.bpf.c"))
            .arg("-o")
            .arg(&object)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) => panic!("{clang} cannot compile bpf/{stem}.bpf.c"),
            Err(error) => panic!("cannot run {clang}: {error}; it comes with the package clang"),
        }
    }
}
