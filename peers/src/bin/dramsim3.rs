//! DRAMsim3 with the device `ddr3-1600k`: prints the clocks that it takes for a trace.

use solo_peers::{Asked, Clocked, Scratch, asked, offer};
use std::error::Error;

/// `platforms/dram/ddr3-1600k.toml` in DRAMsim3's words. What it calls a column is eight bytes of the bus; a refresh every
/// 2^30 clocks is none. The refresh interval is spelled tREFI, as its parser wants it.
const DEVICE: &str = "
[dram_structure]
protocol = DDR3
bankgroups = 1
banks_per_group = 8
rows = 65536
columns = 1024
device_width = 8
BL = 8
[timing]
tCK = 1.25
AL = 0
CL = 11
CWL = 8
tRCD = 11
tRP = 11
tRAS = 28
tRFC = 280
tREFI = @REFI
tRRD_S = 5
tRRD_L = 5
tWTR_S = 6
tWTR_L = 6
tFAW = 24
tWR = 12
tRTP = 6
tCCD_S = 4
tCCD_L = 4
tRTRS = 1
[system]
channel_size = 4096
channels = 1
bus_width = 64
address_mapping = rochrababgco
queue_structure = PER_BANK
refresh_policy = RANK_LEVEL_STAGGERED
row_buf_policy = OPEN_PAGE
cmd_queue_size = @PLACES
trans_queue_size = 32
[other]
epoch_period = 1000000000
output_level = 0
";

struct Peer(dramsim3::MemorySystem);

impl Clocked for Peer {
    fn takes(&mut self, address: u64, write: bool) -> bool {
        self.0.can_add(address, write)
    }
    fn give(&mut self, address: u64, write: bool) {
        self.0.add(address, write);
    }
    fn tick(&mut self) -> u64 {
        let mut arrived = 0;
        self.0.tick(|_, write| arrived += u64::from(!write));
        arrived
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let Asked { requests, no_refresh, bank_queue } = asked()?;
    let scratch = Scratch::new()?;
    let device = scratch.0.join("ddr3-1600k.ini");
    let text = DEVICE.replace("@REFI", if no_refresh { "1073741824" } else { "6240" });
    std::fs::write(&device, text.replace("@PLACES", &bank_queue.to_string()))?;
    let memory = dramsim3::MemorySystem::new(&device, &scratch.0).map_err(|error| format!("{error:?}"))?;
    println!("{}", offer(&mut Peer(memory), &requests));
    Ok(())
}
