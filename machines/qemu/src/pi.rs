//! The Raspberry Pi 4 Model B: the files that its firmware loads from a card, and the device tree that QEMU's model of it is given.

use crate::error::QemuError;
use crate::host::Image;
use solo_bare::module::Module;
use vm_fdt::{FdtReserveEntry, FdtWriter};

/// How many cores it has.
pub const CORES: u8 = 4;

/// What the firmware does: it loads the image where its tables have it and the module far behind it, and leaves the first serial line to
/// the image, at the pins 14 and 15. `enable_gic` starts cores with the interrupt controller that the image drives.
const CONFIG: &str = "# Written by solo pack: Solocore on a Raspberry Pi 4 Model B.
arm_64bit=1
kernel=kernel8.img
kernel_address=0x200000
initramfs experiment 0x8000000
enable_gic=1
enable_uart=1
init_uart_clock=48000000
dtoverlay=disable-bt
";

/// What else the card has to hold: the firmware itself, which the maker of the board gives away.
pub const FIRMWARE: [&str; 4] =
    ["start4.elf", "fixup4.dat", "bcm2711-rpi-4-b.dtb", "overlays/disable-bt.dtbo"];

/// What a card holds beside [`FIRMWARE`], by the files' names: `image`, and `modules`, which run one after another.
///
/// # Errors
/// If a module can't be packed, or the image can't be read.
pub fn files(image: &Image, modules: &[Module]) -> Result<[(&'static str, Vec<u8>); 3], QemuError> {
    let packed = modules.iter().map(Module::pack).collect::<Result<Vec<_>, _>>()?;
    let kernel = std::fs::read(image.path()).map_err(QemuError::io("cannot read the image"))?;
    Ok([("kernel8.img", kernel), ("experiment", packed.concat()), ("config.txt", CONFIG.into())])
}

/// The device tree for QEMU's model, which has none of itself: a file for `-dtb`.
///
/// # Errors
/// If the writer of trees refuses it, which what is written here gives it no reason for.
pub fn tree() -> Result<Vec<u8>, QemuError> {
    write_tree().map_err(|error| QemuError::io("cannot write a device tree")(std::io::Error::other(error)))
}

/// What the image looks for of a BCM2711, as its data sheet and Linux' tree have it; the emulator adds memory and arguments. Its counters
/// have an interrupt of each core's own, as QEMU connects them; those of the board have interrupts 48 to 51.
fn write_tree() -> Result<Vec<u8>, vm_fdt::Error> {
    let mut tree = FdtWriter::new_with_mem_reserv(&[FdtReserveEntry::new(0, 0x1000)?])?;
    let cells = |tree: &mut FdtWriter, address: u32, size: u32| {
        tree.property_u32("#address-cells", address)?;
        tree.property_u32("#size-cells", size)
    };
    let root = tree.begin_node("")?;
    cells(&mut tree, 2, 1)?;
    tree.property_string("compatible", "raspberrypi,4-model-b")?;
    let memory = tree.begin_node("memory@0")?;
    tree.property_string("device_type", "memory")?;
    tree.property_array_u32("reg", &[0, 0, 0])?;
    tree.end_node(memory)?;
    let soc = tree.begin_node("soc")?;
    tree.property_string("compatible", "simple-bus")?;
    cells(&mut tree, 1, 1)?;
    let buses = [[0x7e00_0000, 0, 0xfe00_0000, 0x180_0000], [0x4000_0000, 0, 0xff80_0000, 0x80_0000]];
    tree.property_array_u32("ranges", buses.as_flattened())?;
    let controller = [0x4004_1000, 0x1000, 0x4004_2000, 0x2000, 0x4004_4000, 0x2000, 0x4004_6000, 0x2000];
    let parts: [(&str, &str, &[u32]); 3] = [
        ("interrupt-controller@40041000", "arm,gic-400", &controller),
        ("serial@7e201000", "arm,pl011", &[0x7e20_1000, 0x200]),
        ("watchdog@7e100000", "brcm,bcm2835-pm-wdt", &[0x7e10_0000, 0x114]),
    ];
    for (name, compatible, registers) in parts {
        let part = tree.begin_node(name)?;
        tree.property_string("compatible", compatible)?;
        tree.property_array_u32("reg", registers)?;
        tree.end_node(part)?;
    }
    tree.end_node(soc)?;
    let interrupts: [(&str, &str, &[u32]); 2] = [
        ("timer", "arm,armv8-timer", &[1, 13, 0xf08, 1, 14, 0xf08, 1, 11, 0xf08, 1, 10, 0xf08]),
        ("arm-pmu", "arm,armv8-pmuv3", &[1, 7, 4]),
    ];
    for (name, compatible, numbers) in interrupts {
        let part = tree.begin_node(name)?;
        tree.property_string("compatible", compatible)?;
        tree.property_array_u32("interrupts", numbers)?;
        tree.end_node(part)?;
    }
    let cpus = tree.begin_node("cpus")?;
    cells(&mut tree, 1, 0)?;
    for core in 0..u32::from(CORES) {
        let cpu = tree.begin_node(&format!("cpu@{core}"))?;
        tree.property_string("device_type", "cpu")?;
        tree.property_string("enable-method", "spin-table")?;
        tree.property_array_u32("cpu-release-addr", &[0, 0xd8 + 8 * core])?;
        tree.property_u32("reg", core)?;
        tree.end_node(cpu)?;
    }
    tree.end_node(cpus)?;
    tree.end_node(root)?;
    tree.finish()
}
