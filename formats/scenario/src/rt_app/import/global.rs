//! What a file says of all threads.

use crate::fields::Problems;
use crate::rt_app::json::{Json, Member};
use crate::rt_app::thread::{self, Policy, differs, number, unknown, wrong_kind};

/// How long a run takes of which the file says no end.
const WITHOUT_END_S: u64 = 10;
/// Keys of `global` that say how rt-app logs and measures.
const LOGGING: [&str; 12] = [
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
    "log_level",
];

/// What a file says of all threads.
pub(super) struct Global {
    pub(super) duration_s: Option<u64>,
    pub(super) policy: Policy,
    pub(super) inheritance: bool,
}

pub(super) fn read(problems: &Problems, of: &Member, into: &mut Global) {
    let Json::Object(members) = &of.value else {
        wrong_kind(problems, of, "an object");
        return;
    };
    for member in members {
        match (member.key.as_str(), &member.value) {
            ("duration", Json::Number(Some(-1))) => into.duration_s = None,
            ("duration", _) => into.duration_s = number(problems, member, 1, 8_640_000),
            ("default_policy", _) => {
                if let Some(found) = thread::policy(problems, member) {
                    into.policy = found.value;
                }
            }
            ("pi_enabled", Json::Boolean(on)) => into.inheritance = *on,
            ("pi_enabled", _) => wrong_kind(problems, member, "true or false"),
            (key, _) if LOGGING.contains(&key) => {}
            _ => unknown(problems, member),
        }
    }
}

pub(super) fn end(problems: &Problems, global: &Global, tasks: &Member) -> u64 {
    global.duration_s.unwrap_or_else(|| {
        let headline = format!("the file says no end: the scenario runs for {WITHOUT_END_S} s");
        differs(problems, &tasks.span, headline);
        WITHOUT_END_S
    })
}
