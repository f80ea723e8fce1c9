//! The list of all tests, from which `--list`, the documentation and the output come.

use crate::effort::Effort;
use crate::global::{any, bak, bak05, bar, bcl, bcli, ffdbf, gfb, gfp_dm, gfp_rm, load, rta, tardiness};
use crate::pack::{cedf, pedf, pfp};
use crate::task::TaskSet;
use crate::uni::{density, edf_u, fp_dm, fp_rm, hyperbolic, qpa, rm_ll};
use crate::verdict::TestAnswer;

/// Which deadlines a test is for; sets of other kinds get null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadlines {
    /// Equal to periods.
    Implicit,
    /// At most the periods.
    Constrained,
    /// At least the periods.
    Long,
    /// Any.
    Arbitrary,
}

impl Deadlines {
    /// In the words of tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Implicit => "D = T",
            Self::Constrained => "D <= T",
            Self::Long => "D >= T",
            Self::Arbitrary => "any D",
        }
    }
}

/// Which sets a test is for by their cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cores {
    /// Exactly one.
    One,
    /// Two or more.
    Several,
    /// Any number.
    Any,
    /// Any number, in clusters.
    Clusters,
}

impl Cores {
    /// In the words of tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "m = 1",
            Self::Several => "m >= 2",
            Self::Any => "any m",
            Self::Clusters => "clusters",
        }
    }
}

/// A schedulability test.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// The name in files and options.
    pub id: &'static str,
    /// The scheduling policy it speaks about.
    pub policy: &'static str,
    /// The deadlines it is for.
    pub deadlines: Deadlines,
    /// The cores it is for.
    pub cores: Cores,
    /// True where a rejection is a proof too.
    pub exact: bool,
    /// What exactly is true when it accepts.
    pub semantics: &'static str,
    /// The paper.
    pub source: &'static str,
    /// The function.
    pub run: fn(&TaskSet, &mut Effort<'_>) -> TestAnswer,
}

macro_rules! tests {
    ($($id:ident: $path:path, $policy:literal, $deadlines:ident, $cores:ident, $exact:literal,
       $semantics:literal, $source:literal;)*) => {
        /// All tests, those of the default output first and in its order.
        pub const TESTS: &[Test] = &[$(Test {
            id: stringify!($id),
            policy: $policy,
            deadlines: Deadlines::$deadlines,
            cores: Cores::$cores,
            exact: $exact,
            semantics: $semantics,
            source: $source,
            run: $path,
        },)*];
    };
}

/// How many of [`TESTS`] are judged when none are named.
pub const DEFAULT_COUNT: usize = 15;

tests! {
    gfb: gfb::gfb, "G-EDF", Arbitrary, Any, false,
        "sum d <= m - (m-1) max d, with densities d = C / min(D, T)",
        "Goossens, Funk & Baruah 2003";
    bak: bak::bak, "G-EDF", Constrained, Any, false,
        "for every k, with l = C_k/D_k: sum_i min(1, b_i) <= m(1-l) + l, b_i = U_i (1 + (T_i-D_i)/D_k), plus (C_i - l T_i)/D_k where U_i > l",
        "Baker 2003, as restated by Bertogna, Cirinei & Lipari 2005, Theorem 5";
    bcl: bcl::bcl, "G-EDF", Constrained, Any, false,
        "for every k: S = sum_{i!=k} min(W_i, D_k-C_k) < m(D_k-C_k), or equal with some W_i in 1..=D_k-C_k; W_i = N_i C_i + min(C_i, max(0, D_k - N_i T_i)), N_i = floor((D_k-D_i)/T_i)+1, 0 where D_i > D_k",
        "Bertogna, Cirinei & Lipari 2005, Theorem 7";
    bcli: bcli::bcli, "G-EDF", Constrained, Any, false,
        "slacks s rise from 0 to D_k - C_k - floor(sum_{i!=k} min(I_i, D_k-C_k+1)/m), I_i = floor(D_k/T_i) C_i + min(C_i, max(0, D_k mod T_i - s_i)), in place in input order; accepts when all are >= 0 within one pass; no pass limit",
        "Bertogna, Cirinei & Lipari 2009";
    rta: rta::rta, "G-EDF", Constrained, Any, false,
        "least fixed points R = C_k + floor(sum_{i!=k} min(I_i, w_i(R), R-C_k+1)/m) <= D_k, I_i as in bcli, w_i of a window R + D_i - C_i - s_i; slacks rise to D_k - R in place in input order; no pass limit",
        "Bertogna & Cirinei 2007";
    bar: bar::bar, "G-EDF", Constrained, Any, false,
        "U < m, and for every k and every demand step x = A + D_k, A >= 0: sum I1 + (m-1 largest I2-I1) <= m(x - C_k), caps x - C_k + 1 (the published correction)",
        "Baruah 2007, corrected";
    load: load::load, "G-EDF", Arbitrary, Any, false,
        "max_t sum dbf(t)/t <= max(mu - (q-1)d, (q-1) - (q-2)d), d = max C/min(D,T), mu = m - (m-1)d, q = ceil(mu); the load compared exactly, not approximated; where U equals the bound and some D < T it is not accepted",
        "Baker & Baruah 2009, Corollary 2";
    ffdbf: ffdbf::ffdbf, "G-EDF", Constrained, Several, false,
        "some speed s, max C/D or a multiple of 1/50 up to 1, has sum ffdbf(t, s) <= (m - (m-1)s) t for every t; no margin between the line and U; a line as steep as U with some D < T is not accepted",
        "Baruah, Bonifaci, Marchetti-Spaccamela & Stiller 2009";
    gedf_any: any::gedf_any, "G-EDF", Arbitrary, Any, false,
        "at least one of gfb, load, ffdbf, bar, rta accepts; on one core qpa, which is exact",
        "thesis 5.1";
    pedf_ffd: pedf::pedf_ffd, "P-EDF", Arbitrary, Any, false,
        "first fit by utilisation, largest first (equal ones in input order), capacity 1, then qpa on every core",
        "thesis 2.4.2.1, 5.1";
    pedf_bfd: pedf::pedf_bfd, "P-EDF", Arbitrary, Any, false,
        "best fit by utilisation, largest first (equal ones in input order; equal cores: lowest index), capacity 1, then qpa on every core",
        "thesis 2.4.2.1, 5.1";
    pedf_wfd: pedf::pedf_wfd, "P-EDF", Arbitrary, Any, false,
        "worst fit by utilisation, largest first (equal ones in input order; equal cores: lowest index), capacity 1, then qpa on every core",
        "thesis 2.4.2.1, 5.1";
    qpa: qpa::qpa, "EDF", Arbitrary, One, true,
        "U <= 1 and sum dbf(t) <= t for every t",
        "Baruah, Mok & Rosier 1990; Zhang & Burns 2009";
    fp_rm: fp_rm::fp_rm, "RM", Arbitrary, One, true,
        "worst-case response times by period (ties: input order) are within deadlines, over all jobs of the busy period",
        "Joseph & Pandya 1986; Lehoczky 1990";
    fp_dm: fp_dm::fp_dm, "DM", Arbitrary, One, true,
        "worst-case response times by deadline (ties: input order) are within deadlines, over all jobs of the busy period",
        "Joseph & Pandya 1986; Lehoczky 1990";
    bak05: bak05::bak05, "G-EDF", Arbitrary, Several, false,
        "every k has some l, C_k/min(D_k, T_k) or a utilisation above it, with sum_i min(1, b_i) <= m - (m-1) l; b_i = U_i (1 + max(0, T_i-D_i)/D_k) where U_i <= l, else U_i + (C_i - l D_i)/D_k where D_i <= T_i, else U_i + C_i/D_k",
        "after Baker 2005 (TPDS 16(8)), derived anew: see docs/prove.md";
    edf_u: edf_u::edf_u, "EDF", Long, One, true,
        "U <= 1",
        "Liu & Layland 1973, Theorem 7";
    density: density::density, "EDF", Arbitrary, One, false,
        "sum C/min(D, T) <= 1",
        "thesis 2.4.1.2";
    rm_ll: rm_ll::rm_ll, "RM", Implicit, One, false,
        "U <= n (2^(1/n) - 1)",
        "Liu & Layland 1973, Theorem 5";
    hyperbolic: hyperbolic::hyperbolic, "RM", Implicit, One, false,
        "prod (U_i + 1) <= 2",
        "Bini, Buttazzo & Buttazzo 2003";
    gfp_rm: gfp_rm::gfp_rm, "G-RM", Constrained, Any, false,
        "R = C_k + floor(sum over more urgent i of min(w_i(R), R-C_k+1)/m) <= D_k, w_i of a window R + R_i - C_i; by period (ties: input order)",
        "Bertogna & Cirinei 2007";
    gfp_dm: gfp_dm::gfp_dm, "G-DM", Constrained, Any, false,
        "as gfp_rm, by deadline",
        "Bertogna & Cirinei 2007";
    gedf_soft: tardiness::gedf_soft, "G-EDF", Implicit, Any, true,
        "U <= m: tardiness is bounded (soft real time; deadlines may be missed)",
        "Devi & Anderson 2005";
    pedf_nfd: pedf::pedf_nfd, "P-EDF", Arbitrary, Any, false,
        "next fit by utilisation, largest first, capacity 1, then qpa on every core",
        "thesis 2.4.2.1";
    pedf_ff: pedf::pedf_ff, "P-EDF", Arbitrary, Any, false,
        "first fit by utilisation in input order, capacity 1, then qpa on every core",
        "thesis 2.4.2.1";
    pedf_bf: pedf::pedf_bf, "P-EDF", Arbitrary, Any, false,
        "best fit by utilisation in input order, capacity 1, then qpa on every core",
        "thesis 2.4.2.1";
    pedf_wf: pedf::pedf_wf, "P-EDF", Arbitrary, Any, false,
        "worst fit by utilisation in input order, capacity 1, then qpa on every core",
        "thesis 2.4.2.1";
    pedf_nf: pedf::pedf_nf, "P-EDF", Arbitrary, Any, false,
        "next fit by utilisation in input order, capacity 1, then qpa on every core",
        "thesis 2.4.2.1";
    cedf_ffd: cedf::cedf_ffd, "C-EDF", Arbitrary, Clusters, false,
        "first fit by utilisation, largest first, into clusters of capacity `cluster`, then gedf_any on every cluster",
        "thesis 2.4.2.3, 5.1";
    cedf_bfd: cedf::cedf_bfd, "C-EDF", Arbitrary, Clusters, false,
        "best fit by utilisation, largest first, into clusters of capacity `cluster`, then gedf_any on every cluster",
        "thesis 2.4.2.3, 5.1";
    cedf_wfd: cedf::cedf_wfd, "C-EDF", Arbitrary, Clusters, false,
        "worst fit by utilisation, largest first, into clusters of capacity `cluster`, then gedf_any on every cluster",
        "thesis 2.4.2.3, 5.1";
    prm_ffd: pfp::prm_ffd, "P-RM", Arbitrary, Any, false,
        "first fit by utilisation, largest first (equal ones in input order), onto cores that take a task where fp_rm then accepts",
        "thesis 2.4.2.1; Joseph & Pandya 1986; Lehoczky 1990";
    pdm_ffd: pfp::pdm_ffd, "P-DM", Arbitrary, Any, false,
        "first fit by utilisation, largest first (equal ones in input order), onto cores that take a task where fp_dm then accepts",
        "thesis 2.4.2.1; Joseph & Pandya 1986; Lehoczky 1990";
    crm_ffd: pfp::crm_ffd, "C-RM", Constrained, Clusters, false,
        "first fit by utilisation, largest first, into clusters of capacity `cluster`, then gfp_rm on every cluster",
        "thesis 2.4.2.3; Bertogna & Cirinei 2007";
    cdm_ffd: pfp::cdm_ffd, "C-DM", Constrained, Clusters, false,
        "first fit by utilisation, largest first, into clusters of capacity `cluster`, then gfp_dm on every cluster",
        "thesis 2.4.2.3; Bertogna & Cirinei 2007";
}

/// The test of that name.
pub fn find(id: &str) -> Option<&'static Test> {
    TESTS.iter().find(|test| test.id == id)
}

/// Tests named in a list separated by commas; `all` stands for every one, `default` for those judged when none
/// are named.
///
/// # Errors
/// The first name that is no test's.
pub fn select(list: &str) -> Result<Vec<&'static Test>, String> {
    let mut chosen: Vec<&'static Test> = Vec::new();
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let named: &[Test] = match name {
            "all" => TESTS,
            "default" => &TESTS[..DEFAULT_COUNT],
            _ => core::slice::from_ref(find(name).ok_or_else(|| name.to_owned())?),
        };
        for test in named {
            if !chosen.iter().any(|already| already.id == test.id) {
                chosen.push(test);
            }
        }
    }
    Ok(chosen)
}

/// The list in Markdown, as `docs/prove.md` shows it: a table of what each test is for, then a line each with what it accepts.
pub fn document() -> String {
    let mut text = String::from("| test | policy | for | exact | source |\n|---|---|---|---|---|\n");
    for test in TESTS {
        let exact = if test.exact { "yes" } else { "no" };
        let (deadlines, cores) = (test.deadlines.name(), test.cores.name());
        text += &format!(
            "| `{}` | {} | {deadlines}, {cores} | {exact} | {} |\n",
            test.id, test.policy, test.source
        );
    }
    text += "\nEach accepts if and only if:\n\n";
    for test in TESTS {
        text += &format!("- **`{}`**: {}\n", test.id, test.semantics);
    }
    text
}

/// The list as JSON: an array of objects.
pub fn entries() -> Vec<serde_json::Value> {
    let entry = |test: &Test| {
        serde_json::json!({
            "id": test.id,
            "policy": test.policy,
            "deadlines": test.deadlines.name(),
            "cores": test.cores.name(),
            "exact": test.exact,
            "accepts_iff": test.semantics,
            "source": test.source,
        })
    };
    TESTS.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;

    #[test]
    fn the_default_is_the_output_agreed_on() {
        let ids: Vec<&str> = TESTS[..DEFAULT_COUNT].iter().map(|test| test.id).collect();
        let agreed =
            "gfb bak bcl bcli rta bar load ffdbf gedf_any pedf_ffd pedf_bfd pedf_wfd qpa fp_rm fp_dm";
        assert_eq!(ids, agreed.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn names_are_unique_and_selectable() {
        for test in TESTS {
            assert_eq!(TESTS.iter().filter(|other| other.id == test.id).count(), 1);
        }
        assert_eq!(select("all").unwrap().len(), TESTS.len());
        assert_eq!(
            select("rta, gfb,rta").unwrap().iter().map(|test| test.id).collect::<Vec<_>>(),
            ["rta", "gfb"]
        );
        assert_eq!(select("gfb,nope").unwrap_err(), "nope");
    }

    /// What the table says about deadlines and cores is what the functions do.
    #[test]
    fn tests_apply_exactly_where_the_list_says() {
        let sets = [(3, 10, 10), (3, 10, 7), (3, 10, 14)].map(|(c, t, d)| vec![Task::new(c, t, d)]);
        for test in TESTS {
            for (cores, clusters) in [(1, None), (2, None), (4, Some(2))] {
                for tasks in &sets {
                    let mut set = TaskSet::new(cores, tasks.clone()).unwrap();
                    if let Some(size) = clusters {
                        set = set.with_clusters(size).unwrap();
                    }
                    let verdict = (test.run)(&set, &mut Effort::default());
                    assert_eq!(verdict.decided().is_some(), applies(test, &set), "{} on {set:?}", test.id);
                }
            }
        }
    }

    fn applies(test: &Test, set: &TaskSet) -> bool {
        let deadlines = match test.deadlines {
            Deadlines::Implicit => set.is_implicit(),
            Deadlines::Constrained => set.is_constrained(),
            Deadlines::Long => set.tasks().iter().all(|task| task.d >= task.t),
            Deadlines::Arbitrary => true,
        };
        let cores = match test.cores {
            Cores::One => set.cores() == 1,
            Cores::Several => set.cores() > 1,
            Cores::Any => true,
            Cores::Clusters => set.cluster().is_some(),
        };
        deadlines && cores
    }

    #[test]
    fn a_set_without_tasks_is_accepted_by_all() {
        for cores in [1, 2] {
            let set = TaskSet::new(cores, Vec::new()).unwrap().with_clusters(1).unwrap();
            for test in TESTS.iter().filter(|test| applies(test, &set)) {
                assert_eq!((test.run)(&set, &mut Effort::default()), TestAnswer::Accepted, "{}", test.id);
            }
        }
    }
}
