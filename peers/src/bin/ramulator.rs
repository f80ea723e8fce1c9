//! Ramulator with a device of DDR3-1600K: prints the clocks that it takes for a trace of reads, refreshes included.
//!
//! Its package has no device like `ddr3-1600k` with rows of 8 KiB and refreshes of 280 clocks: those of 4 Gbit chips take
//! 208. Its queues have 512 places and it tells of reads only, so this keeps no more reads on their way than a queue of
//! 32 and the data bus hold, and takes no writes.

use ramulator_wrapper::RamulatorWrapper;
use solo_peers::{Asked, Clocked, Scratch, asked, offer};
use std::error::Error;

/// The default mapping and order of bits must be said: without them it reads a file of no name.
const DEVICE: &str = "
standard = DDR3
channels = 1
ranks = 1
speed = DDR3_1600K
org = DDR3_4Gb_x8
mapping = defaultmapping
addr_mapping = RoBaRaCoCh
record_cmd_trace = off
print_cmd_trace = off
";

/// 32 reads wait, and the data of four more are between column command and last beat (15 clocks).
const UNDER_WAY: u64 = 36;
/// The package counts by row in a table of 512 and looks beyond it without asking.
const MEMORY: u64 = 512 << 16;

struct Peer {
    memory: RamulatorWrapper,
    under_way: u64,
}

impl Clocked for Peer {
    fn takes(&mut self, _: u64, _: bool) -> bool {
        self.under_way < UNDER_WAY
    }
    fn give(&mut self, address: u64, write: bool) {
        self.memory.send(address, write);
        self.under_way += 1;
    }
    fn tick(&mut self) -> u64 {
        self.memory.cycle();
        let mut arrived = 0;
        while self.memory.ret_available() {
            self.memory.pop();
            arrived += 1;
        }
        self.under_way -= arrived;
        arrived
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Asked { requests, no_refresh, .. } = asked()?;
    if no_refresh || requests.iter().any(|(address, write)| *write || *address >= MEMORY) {
        return Err("Ramulator's package does reads below 32 MiB with refreshes, and nothing else".into());
    }
    let scratch = Scratch::new()?;
    let [device, statistics] =
        ["device.cfg", "statistics"].map(|name| scratch.0.join(name).display().to_string());
    std::fs::write(&device, DEVICE)?;
    let memory = RamulatorWrapper::new(&device, &statistics);
    println!("{}", offer(&mut Peer { memory, under_way: 0 }, &requests));
    Ok(())
}
