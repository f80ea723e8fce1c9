//! DRAM timing in clocks of the bus, checked.

use super::super::error::DramError;
use solo_model::Bytes;
use solo_model::platform::Dram as Description;

/// Clocks that the data bus stays empty when its direction or rank changes (JESD79-3F: read to write takes
/// CL + tCCD + 2 - CWL).
const TURNAROUND: u64 = 2;

/// By their JEDEC names, in clocks; see [`solo_model::platform::DramTiming`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timing {
    pub(super) cl: u64,
    pub(super) cwl: u64,
    pub(super) rcd: u64,
    pub(super) rp: u64,
    pub(super) ras: u64,
    pub(super) rc: u64,
    pub(super) rrd: u64,
    pub(super) faw: u64,
    pub(super) wr: u64,
    pub(super) wtr: u64,
    pub(super) rtp: u64,
    pub(super) ccd: u64,
    pub(super) rfc: u64,
    /// Zero without refresh.
    pub(super) refi: u64,
    /// The data of one request on the bus: half a burst's transfers.
    pub(super) data: u64,
    pub(super) turnaround: u64,
}

impl Timing {
    pub(super) fn new(description: &Description, line: Bytes) -> Result<Self, DramError> {
        let raw = &description.timing;
        let positive = [
            ("the bus clock", description.clock.get()),
            ("the bus width", description.bus_width.get()),
            ("the queue", description.queue.into()),
            ("CL", raw.cl.into()),
            ("CWL", raw.cwl.into()),
            ("tRCD", raw.rcd.into()),
            ("tRP", raw.rp.into()),
            ("BL", raw.burst.into()),
        ];
        if let Some((name, _)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return Err(DramError::Zero { name });
        }
        at_least(("tRC", raw.rc), "tRAS + tRP", u64::from(raw.ras) + u64::from(raw.rp))?;
        at_least(("tRAS", raw.ras), "tRCD", raw.rcd.into())?;
        if raw.refi != 0 {
            at_least(("tREFI", raw.refi), "tRFC + tRC", u64::from(raw.rfc) + u64::from(raw.rc))?;
        }
        let moved = Bytes::new(u64::from(raw.burst) * description.bus_width.get());
        if moved != line || !raw.burst.is_multiple_of(2) {
            return Err(DramError::Burst { burst: raw.burst, bus_width: description.bus_width, moved, line });
        }
        Ok(Self {
            cl: raw.cl.into(),
            cwl: raw.cwl.into(),
            rcd: raw.rcd.into(),
            rp: raw.rp.into(),
            ras: raw.ras.into(),
            rc: raw.rc.into(),
            rrd: raw.rrd.into(),
            faw: raw.faw.into(),
            wr: raw.wr.into(),
            wtr: raw.wtr.into(),
            rtp: raw.rtp.into(),
            ccd: raw.ccd.into(),
            rfc: raw.rfc.into(),
            refi: raw.refi.into(),
            data: u64::from(raw.burst) / 2,
            turnaround: TURNAROUND,
        })
    }
}

fn at_least(
    (smaller, value): (&'static str, u16),
    larger: &'static str,
    bound: u64,
) -> Result<(), DramError> {
    let value = u64::from(value);
    if value < bound { Err(DramError::Timing { smaller, value, larger, bound }) } else { Ok(()) }
}
