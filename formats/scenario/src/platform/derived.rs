//! What follows from a platform's values, for people to check them against a data sheet.

use solo_model::platform::{Contents, XorBits, is_guess};
use solo_model::{Bandwidth, Duration, EventId, Picoseconds, Platform, RelativeSpeed};

/// True where a value is guessed or remembered (sources `G` and `M`, or that say so): such a platform resembles its chip
/// and must never be called validated.
pub fn has_guesses(platform: &Platform) -> bool {
    platform.sources.iter().any(|(_, source)| is_guess(source))
}

/// How many cores there are, and of how many kinds.
fn alike(platform: &Platform) -> String {
    match platform.kinds.len() {
        1 => format!("{}, all alike", platform.cores.len()),
        kinds => format!("{} of {kinds} kinds", platform.cores.len()),
    }
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a).saturating_mul(b.into())
}

/// Banks, peak rate and unloaded latencies of the memory.
fn of_memory(platform: &Platform, row: &mut dyn FnMut(&str, String)) {
    let dram = &platform.dram;
    let power = |bits: &[&[XorBits]]| {
        let bits: usize = bits.iter().map(|bits| bits.len()).sum();
        1_u64.checked_shl(u32::try_from(bits).unwrap_or(u32::MAX)).unwrap_or(u64::MAX)
    };
    row("DRAM channels", power(&[&dram.channel_bits]).to_string());
    row("DRAM banks", power(&[&dram.bank_bits, &dram.rank_bits, &dram.channel_bits]).to_string());
    row("DRAM peak", dram.peak().to_string());
    let t = &dram.timing;
    let half_burst = u64::from(t.burst / 2);
    let nanoseconds = |clocks: &[u64]| {
        let clocks = clocks.iter().fold(0, |sum: u64, &clocks| sum.saturating_add(clocks));
        let picoseconds =
            clocks.saturating_mul(dram.clock.get()).saturating_add(dram.path.get().saturating_mul(1_000));
        format!("{}.{}ns", picoseconds / 1_000, picoseconds % 1_000 / 100)
    };
    let (cl, rcd, rp) = (u64::from(t.cl), u64::from(t.rcd), u64::from(t.rp));
    row("DRAM row hit, with path", nanoseconds(&[cl, half_burst]));
    row("DRAM row closed, with path", nanoseconds(&[rcd, cl, half_burst]));
    row("DRAM row conflict, with path", nanoseconds(&[rp, rcd, cl, half_burst]));
}

/// What follows from a platform's values: sets and colors of each cache, banks, rows and peak rate of the
/// memory, unloaded latencies. Pairs of name and value.
pub fn derived(platform: &Platform) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    row("cores", alike(platform));
    for kind in &platform.kinds {
        let per_second = product(kind.clock.get(), kind.instructions_per_kilocycle.into()) / 1000;
        row(&format!("{} instructions/s at most", kind.name), format!("{} million", per_second / 1_000_000));
        if let Some(reference) = platform.kinds.get(usize::from(platform.reference)).filter(|it| *it != kind)
        {
            let thousandths =
                RelativeSpeed::new(kind, reference).longest(Duration::new(1_000_000)).get() / 1000;
            let (whole, rest) = (thousandths / 1000, thousandths % 1000);
            let name = format!("computing on {}", kind.name);
            row(&name, format!("{whole}.{rest:03} times as long as on {}", reference.name));
        }
        if !kind.energy.is_empty() {
            let busy = kind
                .energy
                .iter()
                .find(|(event, _)| *event == EventId::CYCLES)
                .map_or(0, |cost| cost.1.get());
            let milliwatts = product(busy, kind.clock.get()) / 1_000_000_000_000;
            row(&format!("{} power while busy", kind.name), format!("{milliwatts} mW and the events' own"));
        }
    }
    if let Some(bus) = &platform.bus {
        let clocks = u64::from(bus.address.max(bus.data));
        let rate =
            64_000_000_000_000_u64.checked_div(clocks.saturating_mul(bus.clock.get())).unwrap_or(u64::MAX);
        row("bus lines of 64 B at most", Bandwidth::new(rate).to_string());
        let answer =
            (u64::from(bus.address).saturating_add(bus.snoop.into())).saturating_mul(bus.clock.get());
        row("bus, until all agents have answered", Picoseconds::new(answer).to_string());
    }
    let mut seen = Vec::new();
    for cache in &platform.caches {
        let name = match cache.contents {
            Contents::Instructions => format!("L{}i", cache.level),
            Contents::Data => format!("L{}d", cache.level),
            Contents::Unified => format!("L{}", cache.level),
        };
        let kind = cache.cores.lowest().map(|core| platform.kind(core));
        let name = match kind {
            Some(kind) if platform.kinds.len() > 1 => format!("{} {name}", kind.name),
            _ => name,
        };
        if seen.contains(&name) {
            continue;
        }
        let slices = cache.slices();
        let sliced = if slices > 1 { format!(" in {slices} slices") } else { String::new() };
        row(&format!("{name} sets"), format!("{}{sliced}", cache.sets()));
        row(&format!("{name} page colors"), cache.colors(platform.page).to_string());
        seen.push(name);
    }
    of_memory(platform, &mut row);
    row(
        "guesses",
        if has_guesses(platform) { "yes: resembles the chip, not validated" } else { "none" }.to_owned(),
    );
    rows
}
