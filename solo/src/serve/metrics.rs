//! What watches came to, for a scraper: OpenMetrics text, as Prometheus reads it.
//!
//! Sums only grow, so that whoever asks decides over which time a rate is meant. An event of a set that takes turns is counted
//! for a part of the time: `solo_counted_seconds` says for how long, and a rate divides by its growth.

use super::hub::Sums;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use solo_model::{Duration, Instant};
use std::sync::atomic::AtomicU64;

/// The media type of [`text`].
pub(super) const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Names and values.
type Labels = Vec<(&'static str, String)>;
type Sum = Family<Labels, Counter>;
type Seconds = Family<Labels, Counter<f64, AtomicU64>>;
type Value = Family<Labels, Gauge>;

/// The families that a scraper sees.
#[derive(Default)]
struct Families {
    up: Value,
    watched: Seconds,
    events: Sum,
    counted: Seconds,
    virtuals: Value,
    doubts: Sum,
}

/// All watches as text.
///
/// # Errors
/// When the text could not be written.
pub(super) fn text(watches: &[Sums]) -> Result<String, std::fmt::Error> {
    let families = Families::default();
    for (number, watch) in watches.iter().enumerate() {
        families.add(&labels(number, watch), watch);
    }
    let mut text = String::new();
    encode(&mut text, &families.registry())?;
    Ok(text)
}

/// Which watch it is. Two may be called alike, so its place is one of the labels.
fn labels(number: usize, watch: &Sums) -> Labels {
    let mut labels = vec![("watch", number.to_string()), ("target", watch.label.clone())];
    labels.extend(watch.host.iter().map(|host| ("host", host.clone())));
    labels
}

impl Families {
    fn add(&self, labels: &Labels, watch: &Sums) {
        let with = |name: &'static str, value: &str| {
            let mut labels = labels.clone();
            labels.push((name, value.to_owned()));
            labels
        };
        self.up.get_or_create(labels).set(i64::from(watch.runs));
        let watched = watch.at.since(Instant::ZERO);
        self.watched.get_or_create(labels).inc_by(seconds(watched));
        for (core, event, count) in watch.totals.counts() {
            let Some(name) = watch.columns.counts.get(event) else { continue };
            let mut labels = with("event", name);
            labels.extend(core.map(|core| ("cpu", core.0.to_string())));
            self.events.get_or_create(&labels).inc_by(count);
        }
        for (name, counted) in watch.columns.counts.iter().zip(watch.totals.counted()) {
            self.counted.get_or_create(&with("event", name)).inc_by(seconds(*counted));
        }
        for (name, value) in watch.columns.virtuals.iter().zip(&watch.virtuals) {
            if let Some(value) = value {
                self.virtuals.get_or_create(&with("name", name)).set(*value);
            }
        }
        let doubts = &watch.doubts;
        for (kind, count) in [
            ("samples lost", doubts.lost),
            ("samples throttled", doubts.throttled),
            ("late ticks", doubts.late_ticks),
            ("readings multiplexed", doubts.multiplexed),
            ("readings never counted", doubts.never_counted),
            ("threads missed", doubts.threads_missed),
            ("cores gone", doubts.cores_gone),
        ] {
            self.doubts.get_or_create(&with("kind", kind)).inc_by(count);
        }
    }

    fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix("solo");
        registry.register("up", "1 while the watch goes on, 0 once it is over", self.up.clone());
        registry.register_with_unit(
            "watched",
            "How long it has been watched",
            Unit::Seconds,
            self.watched.clone(),
        );
        registry.register("events", "How often the event happened while it was counted", self.events.clone());
        let help = "How long the event was counted; less than watched where sets of events take turns";
        registry.register_with_unit("counted", help, Unit::Seconds, self.counted.clone());
        registry.register("virtual", "The last value of a virtual counter", self.virtuals.clone());
        registry.register("doubts", "What there is to hold against the numbers", self.doubts.clone());
        registry
    }
}

fn seconds(duration: Duration) -> f64 {
    std::time::Duration::from_nanos(duration.get()).as_secs_f64()
}
