//! What both programs need: a process that does nothing but touch new pages on a CPU, which is the program again, and how numbers are written.

use solo_guard::occupier::Histogram;
use std::process::{Child, Command};

/// It is killed when it is dropped.
pub(crate) struct Hog(Child);

impl Hog {
    pub(crate) fn on(cpu: usize) -> Self {
        let program = std::env::current_exe().expect("a program has a path");
        let child = Command::new(program).args(["hog", &cpu.to_string()]).spawn();
        Self(child.expect("this program starts again"))
    }

    /// Its process.
    #[allow(dead_code, reason = "one of two programs asks")]
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The words of the command line; where they are those of a hog, this does not return.
pub(crate) fn words() -> Vec<String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [hog, cpu] = words.as_slice()
        && hog == "hog"
    {
        cause_faults(cpu.parse().expect("a CPU"));
    }
    words
}

/// The middle, the 99th percentile and the largest, in units of `scale`.
pub(crate) fn three(of: &Histogram, scale: f64) -> String {
    let one =
        |number: Option<u64>| number.map_or("-".to_owned(), |number| format!("{:.1}", number as f64 / scale));
    format!("{}/{}/{}", one(of.quantile(500)), one(of.quantile(990)), one(of.max()))
}

/// Touches new pages for good.
fn cause_faults(cpu: usize) -> ! {
    solo_threads::sched::keep_on(cpu).expect("the CPU is there");
    let length = 64 << 20;
    loop {
        // So large that the C library gives it back, and takes new pages each time.
        let mut memory = vec![0u8; length];
        memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        std::hint::black_box(&mut memory);
    }
}
