//! The criteria, one file each.
//!
//! A new one is a file here and a line in [`solo_model::criteria!`], which is what the list below is made of. A criterion
//! outside this crate needs neither: the kernel takes any type that implements [`Criterion`].

use crate::criterion::Criterion;

/// Work to be done for a criterion that is known at run time only.
pub trait Visitor {
    /// What comes out.
    type Output;
    /// Does it for criterion `C`.
    fn visit<C: Criterion>(self) -> Self::Output;
}

macro_rules! list {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $file:ident: $facts:expr;)+) => {
        $(mod $file; pub use $file::$name;)+

        /// Calls `visitor` with the type that stands for `criterion`: from there on everything is static.
        pub fn dispatch<V: Visitor>(criterion: solo_model::Criterion, visitor: V) -> V::Output {
            match criterion {
                $(solo_model::Criterion::$name => visitor.visit::<$name>(),)+
            }
        }
    };
}

solo_model::criteria!(list);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{JobView, TaskParameters};
    use alloc::vec::Vec;
    use solo_model::task::Release;
    use solo_model::{CoreId, Duration, Instant, TaskClass, TaskId};

    struct Name;
    impl Visitor for Name {
        type Output = &'static str;
        fn visit<C: Criterion>(self) -> &'static str {
            C::NAME
        }
    }

    /// A hard task: (period, relative deadline, wcet) in milliseconds.
    fn task(period: u64, deadline: u64, wcet: u64) -> TaskParameters {
        let ms = Duration::from_millis;
        TaskParameters {
            member: None,
            class: TaskClass::Hard,
            release: Release::Periodic { offset: Duration::ZERO, period: ms(period) },
            deadline: Some(ms(deadline)),
            wcet: Some(ms(wcet)),
            priority: None,
            core: None,
            migrate: None,
        }
    }

    /// A job of `parameters` released at `release` milliseconds that has run for `executed`.
    fn job(index: u32, parameters: &TaskParameters, release: u64, executed: u64) -> JobView<'_> {
        let release = Instant::new(release * 1_000_000);
        JobView {
            task: TaskId(index),
            parameters,
            release,
            deadline: parameters.deadline.map(|deadline| release + deadline),
            executed: Duration::from_millis(executed),
            turn: u64::from(index) + 1,
            yielded: false,
        }
    }

    #[test]
    fn every_criterion_has_the_name_of_the_model() {
        for criterion in solo_model::Criterion::ALL {
            assert_eq!(dispatch(criterion, Name), criterion.name());
        }
    }

    struct Facts;
    impl Visitor for Facts {
        /// Whether it misses each parameter, quanta have a meaning, and it binds tasks to cores.
        type Output = (Vec<bool>, bool, bool, bool);
        fn visit<C: Criterion>(self) -> Self::Output {
            let whole = TaskParameters { priority: Some(1), core: Some(CoreId(0)), ..task(10, 10, 1) };
            let lacks = [
                TaskParameters { deadline: None, ..whole },
                TaskParameters { release: Release::Once { offset: Duration::ZERO }, ..whole },
                TaskParameters { wcet: None, ..whole },
                TaskParameters { priority: None, ..whole },
            ];
            assert_eq!(C::missing(&whole), None, "{}", C::NAME);
            (lacks.iter().map(|task| C::missing(task).is_some()).collect(), C::TIMED, C::BOUND, C::PREEMPTIVE)
        }
    }

    /// What planning, proofs and messages believe of a criterion is what its file does.
    #[test]
    fn every_criterion_is_as_its_line_says() {
        use solo_model::policy::Parameter::{Deadline, Period, Priority, Wcet};
        for criterion in solo_model::Criterion::ALL {
            let needs = [Deadline, Period, Wcet, Priority].map(|parameter| criterion.needs(parameter));
            let facts = criterion.facts();
            let said = (needs.to_vec(), facts.quantum.is_some(), facts.bound, facts.preemptive);
            assert_eq!(dispatch(criterion, Facts), said, "{}", criterion.name());
        }
    }

    #[test]
    fn each_orders_by_its_own_parameter() {
        let (a, b) = (task(10, 9, 4), task(20, 5, 2));
        let (first, second) = (job(0, &a, 0, 0), job(1, &b, 0, 0));
        assert!(Rm::rank(&first) < Rm::rank(&second), "period 10 before 20");
        assert!(Dm::rank(&second) < Dm::rank(&first), "deadline 5 before 9");
        assert!(Edf::rank(&second) < Edf::rank(&first), "due at 5 before 9");
        assert!(Sjf::rank(&second) < Sjf::rank(&first), "2 long before 4");
        assert!(Llf::rank(&second) < Llf::rank(&first), "laxity 3 before 5");
        assert!(Edf::rank(&first) < Edf::rank(&job(1, &b, 7, 0)), "due at 9 before 12");
        assert!(Fcfs::rank(&first) < Fcfs::rank(&job(1, &b, 7, 0)));
    }

    /// A published EPOS line computes laxity from the current time at each update, so that a job's laxity
    /// grows without its having executed. True laxity stays while a job runs and falls while it waits.
    #[test]
    fn laxity_counts_from_the_release_not_from_the_time_of_asking() {
        let a = task(20, 10, 4);
        let waiting = Llf::rank(&job(0, &a, 0, 0)).key();
        let after_running_3 = Llf::rank(&job(0, &a, 0, 3)).key();
        // key = deadline - remaining; laxity at time t = key - t
        assert_eq!(waiting, 6_000_000);
        assert_eq!(after_running_3 - 3_000_000, 6_000_000, "laxity at 3 after running since 0 is unchanged");
        assert_eq!(waiting - 3_000_000, 3_000_000, "laxity at 3 after waiting since 0 has fallen by 3");
        assert_eq!(Llf::rank(&job(0, &a, 0, 9)).key(), 10_000_000, "an overrun job has nothing left to do");
        let hopeless = task(20, 3, 5);
        assert_eq!(Llf::rank(&job(0, &hopeless, 0, 0)).key(), -2_000_000, "laxity may be negative");
    }

    #[test]
    fn class_comes_before_key_and_index_breaks_ties() {
        let hard = task(100, 100, 1);
        let soft = TaskParameters { class: TaskClass::Soft, ..task(10, 10, 1) };
        let idle_work = TaskParameters {
            class: TaskClass::BestEffort,
            deadline: None,
            priority: Some(0),
            ..task(1, 1, 1)
        };
        let ranks =
            [job(2, &hard, 0, 0), job(1, &soft, 0, 0), job(0, &idle_work, 0, 0)].map(|j| Edf::rank(&j));
        assert!(ranks[0] < ranks[1] && ranks[1] < ranks[2]);
        assert!(Edf::rank(&job(0, &hard, 0, 0)) < Edf::rank(&job(1, &hard, 0, 0)));
        assert!(RoundRobin::rank(&job(5, &hard, 0, 0)) < RoundRobin::rank(&job(0, &soft, 0, 0)));
    }

    #[test]
    fn a_ceiling_comes_just_before_the_task_it_protects() {
        let (a, b) = (task(10, 10, 1), task(9, 9, 1));
        let (user, more_urgent) = (Rm::rank(&job(0, &a, 0, 0)), Rm::rank(&job(1, &b, 0, 0)));
        let raised = user.ceiling(TaskId(7));
        assert!(raised < user, "even with a higher index than the user");
        assert!(more_urgent < raised);
        let in_turn = RoundRobin::rank(&JobView { turn: 0, ..job(0, &a, 0, 0) });
        assert!(in_turn.ceiling(TaskId(7)) < in_turn);
    }

    #[test]
    fn a_job_that_yielded_comes_after_its_equals_only() {
        let a = task(10, 10, 1);
        let later = task(11, 11, 1);
        let yielded = JobView { yielded: true, turn: 9, ..job(0, &a, 0, 0) };
        assert!(Edf::rank(&job(1, &a, 0, 0)) < Edf::rank(&yielded));
        assert!(Edf::rank(&yielded) < Edf::rank(&job(1, &later, 0, 0)));
    }
}
