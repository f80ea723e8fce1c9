//! Compiles the scheduler with clang, where it is wanted.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    if env::var_os("CARGO_FEATURE_EBPF").is_none() {
        return;
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let headers = env::var_os("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where output goes"));
    for name in ["gate", "ranks"] {
        let source = format!("bpf/{name}.bpf.c");
        let mut compile = Command::new(&clang);
        compile
            .args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall", "-Werror"])
            .args(["-Wno-missing-declarations", "-Wno-unused-function", "-I"])
            .arg(&headers)
            .args(["-c", &source, "-o"])
            .arg(out.join(format!("{name}.bpf.o")));
        let status = compile.status().unwrap_or_else(|error| {
            panic!("cannot start {}: {error}; install clang, or build without the feature", clang.display())
        });
        assert!(status.success(), "{} could not compile {source}: {status}", clang.display());
    }
}
