//! The entries of the register.

use super::Entry;

/// Defines the codes from their entries, so that neither can exist without the other.
macro_rules! register {
    ($($code:ident, $name:literal, $meaning:literal, $explanation:literal, $wrong:literal, $right:literal;)+) => {
        /// What kind of thing is wrong with a file.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Code {
            $(#[doc = $meaning] $code,)+
        }

        impl Code {
            /// All codes, in the order of the register: files, keys, quantities, tasks, work, platforms, isolation.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$code),+];

            /// The name without `solo::`, for example `unknown_key`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)+
                }
            }

            /// What the register says about it.
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$code => {
                        &Entry { meaning: $meaning, explanation: $explanation, wrong: $wrong, right: $right }
                    })+
                }
            }
        }
    };
}

register! {
    Syntax, "syntax",
        "the file is no TOML",
        "Scenario, platform, device and overhead files are TOML; files of rt-app are JSON. The message points at the first \
         place where the text cannot be read; a missing quote or bracket often lies on the line \
         before.",
        "name = \"video",
        "name = \"video\"";
    OtherKind, "other_kind",
        "a file of another kind than the one that is wanted",
        "Scenarios, platform files, overhead files, studies and others are told apart by the keys at their top. The \
         message says which kind the file is of, and which command reads it.",
        "platform = \"study.toml\"",
        "platform = \"chip.toml\"";
    HiddenCharacter, "hidden_character",
        "a text holds a character that cannot be seen",
        "Control characters, line breaks and marks that turn the direction of writing around would act \
         on terminals and reports instead of being shown. A key or a text that holds one is refused; \
         write the text without it.",
        "name = \"frame\\u001b[2J\"",
        "name = \"frame\"";
    WrongType, "wrong_type",
        "a value of another kind than the key takes",
        "Each key takes one kind of value: a text, a whole number, a list or a table. Quantities are \
         texts, because they carry a unit.",
        "jobs = \"100\"",
        "jobs = 100";
    Empty, "empty",
        "nothing where something is needed",
        "A file without keys or an empty name says nothing. Names appear in reports, file names and \
         messages, so each needs at least one character.",
        "name = \"\"",
        "name = \"control\"";
    File, "file",
        "a file cannot be read",
        "A file that is named on the command line or in another file is missing, may not be read, or \
         is no UTF-8 text. Paths in a file are resolved against its own folder.",
        "platform = \"my-chip.tml\"",
        "platform = \"my-chip.toml\"";
    FileTooLarge, "file_too_large",
        "a file above the size limit",
        "Files that people write are small. A file above the limit is most likely another file, and \
         reading it whole could exhaust memory.",
        "solo run recording.trace",
        "solo run scenario.toml";
    TooMany, "too_many",
        "more entries of a kind than a file may have",
        "Tables, buffers and locks are numbered in 16 bits, and a single table has a limited number of keys.",
        "70,000 tables [[buffer]]",
        "one [[buffer]] that several tasks share";
    UnknownKey, "unknown_key",
        "a key that nothing reads",
        "A key with a typing error would silently keep its default, so unknown keys are errors. The \
         message lists the known ones and names the nearest.",
        "perido = \"10ms\"",
        "period = \"10ms\"";
    MissingKey, "missing_key",
        "a key that is needed is not there",
        "The message says what is missing and shows an example line. A task needs a release pattern, \
         a scenario needs an end, a variant needs a name.",
        "[[task]]\nname = \"control\"",
        "[[task]]\nname = \"control\"\nperiod = \"10ms\"";
    UnusedKey, "unused_key",
        "a key without effect here (a warning)",
        "The key is known but does nothing in this place, for example a budget while no bandwidth is \
         regulated. The run would not do what the file seems to say.",
        "policy = \"P-RM\"\nclusters = \"L2\"",
        "policy = \"C-RM\"\nclusters = \"L2\"";
    UnknownWord, "unknown_word",
        "a word that the key does not take",
        "Some keys take one of a few words. The message lists them and names the nearest.",
        "class = \"firm\"",
        "class = \"soft\"";
    UnknownName, "unknown_name",
        "a name that nothing in the file has",
        "Tasks, buffers and locks are referred to by name. The name must be defined in the same file; \
         a variant may only override what exists.",
        "work = [{ lock = \"mutx\" }]",
        "work = [{ lock = \"mutex\" }]";
    Duplicate, "duplicate",
        "two things of a kind have the same name",
        "Names tell tasks, buffers, locks and variants apart in reports, so each may be given once. \
         Copies of a task are numbered: `worker-0` is the first copy of `worker`.",
        "two [[task]] named \"control\"",
        "one named \"control-left\", one \"control-right\"";
    Both, "both",
        "two keys that exclude each other",
        "Each of the keys makes sense alone; together they say two things about one matter, for \
         example that a run ends after some jobs and after some time.",
        "jobs = 100\nduration = \"1s\"",
        "jobs = 100";
    NotAList, "not_a_list",
        "a text that should list numbers",
        "Cores, colors, banks and ways are given as numbers and ranges, separated by commas.",
        "colors = \"low\"",
        "colors = \"0-3,8\"";
    BareNumber, "bare_number",
        "a number without a unit where a quantity is needed",
        "Every quantity carries its unit, so that nobody has to guess between milliseconds and \
         microseconds. It is therefore written as a text.",
        "period = 10",
        "period = \"10ms\"";
    NoUnit, "no_unit",
        "a quantity without a unit",
        "The text has a number and no unit. The message lists the units that this kind of quantity takes.",
        "period = \"10\"",
        "period = \"10ms\"";
    UnknownUnit, "unknown_unit",
        "a unit that does not exist, or belongs to another kind of quantity",
        "Times take ns, us, ms and s; sizes B, KiB, MiB, GiB and their decimal forms; rates a size \
         per second.",
        "period = \"10msec\"",
        "period = \"10ms\"";
    NotAQuantity, "not_a_quantity",
        "a text that does not begin with a number",
        "A quantity is a number, which may have a fraction, and a unit behind it.",
        "period = \"ten ms\"",
        "period = \"10ms\"";
    Zero, "zero",
        "zero where something above zero is needed",
        "A period, size, quantum or number of jobs of zero would mean an endless loop or nothing at all.",
        "period = \"0ms\"",
        "period = \"1ms\"";
    Negative, "negative",
        "a number below zero",
        "Times, sizes, rates and counts are never negative. An offset delays a release; it cannot \
         bring it forward.",
        "offset = \"-1ms\"",
        "offset = \"1ms\"";
    TooFine, "too_fine",
        "a fraction finer than the machine can tell apart",
        "Times are whole nanoseconds and sizes whole bytes. A finer value would have to be rounded, \
         and a file should say what is meant.",
        "deadline = \"0.5ns\"",
        "deadline = \"1ns\"";
    TooLarge, "too_large",
        "a value that is larger than anything sensible",
        "The value does not fit the 64 bits that quantities are kept in, or is far beyond what the \
         key is for.",
        "size = \"99999999TiB\"",
        "size = \"4MiB\"";
    OutOfRange, "out_of_range",
        "a number outside the range of its key",
        "The message states the range. Ranges keep numbers within what tables and records can hold.",
        "copies = 100000",
        "copies = 8";
    TooShort, "too_short",
        "a time below which a run would consist of kernel paths",
        "Periods, quanta, ticks and sample intervals below a microsecond are shorter than an entry of \
         the kernel takes. So are jobs below a microsecond of a task that releases its next job as soon \
         as one is done.",
        "period = \"100ns\"",
        "period = \"100us\"";
    TooLong, "too_long",
        "a time that no run could bear",
        "The clock of the simulated machine reaches 100 days. The end of a run by jobs is twice the \
         time that its slowest task needs to release them all.",
        "jobs = 1000000000\n# with period = \"10000s\"",
        "jobs = 100";
    UnknownPolicy, "unknown_policy",
        "a scheduling policy that does not exist",
        "A policy is a scope (P-, C- or G-) and a criterion (EDF, RM, DM, LLF, SJF, FCFS, RR, FP or \
         AFFINITY).",
        "policy = \"P-EDX\"",
        "policy = \"P-EDF\"";
    PolicyNeeds, "policy_needs",
        "a task lacks what the policy orders by",
        "EDF orders by deadlines, RM by periods, LLF and SJF by execution times, FP by priorities, \
         and a partitioned policy needs the core of each task. Best-effort tasks may lack them.",
        "policy = \"G-EDF\"\n# and a hard task with release = \"once\" and no deadline",
        "deadline = \"10ms\"";
    Clusters, "clusters",
        "clusters that do not divide the cores",
        "Under a C- policy each core belongs to exactly one cluster, and all clusters have the same \
         size. A cache level such as \"L2\" makes one cluster of the cores that share a cache.",
        "clusters = [\"0-1\", \"1-3\"]",
        "clusters = [\"0-1\", \"2-3\"]";
    Partition, "partition",
        "tasks that can't be given cores",
        "With `partition` each periodic task that names no core is given one that takes it: under EDF as \
         long as its demand fits, under fixed priorities as long as all response times do. The message \
         says for each core which equation fails, with its numbers.",
        "partition = \"ffd\"  # three tasks of 51 % each, on two cores",
        "partition = \"ffd\"  # two of them, or three cores";
    NoSuchCore, "no_such_core",
        "a core that the platform does not have",
        "Cores are the logical processors of the platform, numbered from 0.",
        "core = 9  # of eight",
        "core = 7";
    Wcet, "wcet",
        "a declared execution time that cannot fit its deadline",
        "A job that executes for longer than its deadline misses it even alone. One of the two is \
         probably in the wrong unit. As a warning: the `compute` steps of the work alone take longer than declared.",
        "wcet = \"12ms\"\ndeadline = \"10ms\"",
        "wcet = \"1.2ms\"\ndeadline = \"10ms\"";
    Jobs, "jobs",
        "a number of jobs that nothing counts",
        "`jobs` counts the jobs of periodic tasks, and `jobs-per-replication` divides `jobs`. Without \
         them the run would never end, or the key would do nothing.",
        "jobs = 100\n# and no task with a period",
        "duration = \"1s\"";
    NoTasks, "no_tasks",
        "a scenario or variant without tasks",
        "There is nothing to run. A variant that leaves out every task is meant to leave out fewer.",
        "without = [\"control\", \"video\"]  # all there are",
        "without = [\"video\"]";
    TooManyTasks, "too_many_tasks",
        "more tasks than the kernel has threads for",
        "Each task is a thread of the kernel, and copies count one by one.",
        "copies = 500\n# in each of many tasks",
        "copies = 50";
    TooManyVariants, "too_many_variants",
        "more variants than a comparison can show",
        "Each variant is a run of its own and a column of the table.",
        "hundreds of [[variant]]",
        "solo study, which is made for many combinations";
    TooManySteps, "too_many_steps",
        "more steps in all tasks than a run can hold",
        "Every step of every copy is kept in memory. Repetition is a step of its own and costs nothing.",
        "the same step written thousands of times",
        "{ repeat = 10000, steps = [{ compute = \"1us\" }] }";
    Step, "step",
        "a step that names no verb, or several",
        "Each step of `work` does one thing, said by one verb: compute, sweep, ring, stream, rows, \
         random, chase, replay, lock, unlock, sleep or repeat.",
        "work = [{ compute = \"1ms\", sweep = \"4KiB\" }]",
        "work = [{ compute = \"1ms\" }, { sweep = \"4KiB\" }]";
    Command, "command",
        "a task whose program nobody could start",
        "`command` is a program and its arguments, each a string of its own; no shell reads them. A task has either a \
         `command`, which `solo run --on linux` starts for each job, or `work`.",
        "command = \"gzip -k frames.raw\"",
        "command = [\"gzip\", \"-k\", \"frames.raw\"]";
    Compute, "compute",
        "a range of execution times whose ends are exchanged",
        "The range goes from the shortest to the longest time; each job draws its own.",
        "compute = [\"3ms\", \"1ms\"]",
        "compute = [\"1ms\", \"3ms\"]";
    Phase, "phase",
        "a phase that contradicts itself",
        "A phase says what instructions of a program are like: no more branches are mispredicted than there are, and who \
         makes accesses says to which memory, in one way.",
        "branches-per-1000 = 10\nmispredicted-per-1000 = 11",
        "branches-per-1000 = 100\nmispredicted-per-1000 = 11";
    Application, "application",
        "an application that nobody could run",
        "An application has at least one thread. With several, its work comes in parts: serial ones that the first thread \
         does while the others wait, and parallel ones that each does.",
        "threads = 4\nwork = [{ compute = \"1s\" }]",
        "threads = 4\nwork = [\n    { serial = [{ compute = \"1s\" }] },\n    { parallel = [{ compute = \"9s\" }] },\n]";
    Model, "model",
        "an estimation model that can't be used here",
        "A model file is of one platform and one version of the format, and makes its estimates of events that the platform \
         counts. docs/models.md describes it.",
        "platform = \"juno\"  # and the scenario runs on quickia",
        "platform = \"quickia\"";
    Stride, "stride",
        "a stride that does not suit its buffer",
        "The stride is the distance between neighboring accesses. It is above zero and at most the \
         size of what is touched.",
        "{ sweep = \"4KiB\", stride = \"8KiB\" }",
        "{ sweep = \"4KiB\", stride = \"64B\" }";
    Row, "row",
        "rows that do not divide their buffer",
        "A buffer of rows holds whole rows of whole elements in each of its arrays.",
        "{ rows = \"32KiB\", row = \"100B\" }",
        "{ rows = \"32KiB\", row = \"128B\" }";
    BufferSize, "buffer_size",
        "a step whose size is not that of its buffer",
        "A step visits the whole of the buffer that it names. To visit a part, give the number of accesses.",
        "{ sweep = \"2KiB\", buffer = \"image\" }  # of 4KiB",
        "{ sweep = \"4KiB\", buffer = \"image\", accesses = 32 }";
    TooDeep, "too_deep",
        "repetitions inside each other beyond the limit",
        "Each level of `repeat` needs a counter of its own in every machine, which has a fixed number \
         of them.",
        "repeat inside repeat inside repeat …",
        "one `repeat` with the product of the numbers";
    Lock, "lock",
        "a mutex that is not taken and given back in order",
        "A job locks what it does not hold, unlocks what it holds, and ends, as each round of a \
         repetition does, with the locks it began with.",
        "work = [{ lock = \"m\" }, { compute = \"1ms\" }]",
        "work = [{ lock = \"m\" }, { compute = \"1ms\" }, { unlock = \"m\" }]";
    Units, "units",
        "units of something that is no semaphore",
        "Only a semaphore counts units; a mutex is free or held.",
        "protocol = \"ceiling\"\nunits = 2",
        "protocol = \"semaphore\"\nunits = 2";
    Trace, "trace",
        "a recording that cannot be replayed",
        "The file is no recording of memory accesses, is damaged, or was made by another version. \
         `solo record` makes one.",
        "{ replay = \"notes.txt\" }",
        "{ replay = \"gzip.trace\" }";
    Memory, "memory",
        "the tasks touch more memory than the platform has",
        "Every private buffer of every copy takes memory of its own; shared buffers take theirs once.",
        "copies = 100 of { sweep = \"1GiB\" }",
        "[[buffer]] that the copies share";
    UnknownPlatform, "unknown_platform",
        "a platform that does not come with the program",
        "A name without a path means one of the platforms that come with the program, which `solo \
         platforms` lists. A path ends in .toml.",
        "platform = \"p4081\"",
        "platform = \"p4080\"";
    UnknownDevice, "unknown_device",
        "a DRAM device that does not come with the program",
        "`solo trace dram` takes the name of a device that comes with the program, or the path of a \
         device file.",
        "--device ddr3-1600",
        "--device ddr3-1600k";
    HostPlatform, "host_platform",
        "the machine at hand used as a platform",
        "`platform = \"host\"` would run the tasks on this machine, which is not built yet. A platform \
         file describes a chip for the simulated machine.",
        "platform = \"host\"",
        "platform = \"xeon-w3530\"";
    Platform, "platform",
        "a platform file with errors",
        "The file that the scenario names was found and is wrong; its own errors follow.",
        "platform = \"my-chip.toml\"  # which has errors",
        "the same, after its errors are mended";
    Overheads, "overheads",
        "a table of overheads that does not exist",
        "`overheads` takes the name of a table that comes with the program, or the path of a file.",
        "overheads = \"epos\"",
        "overheads = \"epos-thesis\"";
    Cores, "cores",
        "cores that do not make a chip",
        "`count` is the number of logical processors of a kind: a multiple of the threads of a \
         physical core (`smt`), and within the number of cores that a set can hold.",
        "count = 3\nsmt = 2",
        "count = 4\nsmt = 2";
    Caches, "caches",
        "cache levels that do not fit together",
        "Each core has a first level for data, every level costs more than the one before, and all \
         caches of a chip have lines of one size.",
        "L2 latency below the latency of L1",
        "L2 latency above the latency of L1";
    Sharers, "sharers",
        "cores that share a cache in a way that levels cannot nest",
        "The cores behind a cache are behind one cache of each outer level, too, and each core is \
         behind exactly one of its level.",
        "L1 of cores 0-1, L2 of cores 1-2",
        "L1 of cores 0-1, L2 of cores 0-3";
    Geometry, "geometry",
        "a cache whose lines and sets do not come out even",
        "The size is ways times line size times a whole number of sets in each slice, and a line is a \
         power of two from 8 B to 4096 B.",
        "size = \"33KiB\", ways = 8, line = \"64B\"",
        "size = \"32KiB\", ways = 8, line = \"64B\"";
    Event, "event",
        "an event of a platform's own that cannot be one",
        "`[events]` adds the events of one processor to the canonical ones of docs/events.md. Their \
         names are new ones of lower-case letters, digits and `_`, a platform has at most 128 of them, \
         and a code is libpfm4's name of the processor, a number and a mask.",
        "[events.cycles]",
        "[events.bus_drdy_clocks]";
    PowerOfTwo, "power_of_two",
        "a size that must be a power of two and is not",
        "Addresses are divided into bits, so pages and memories have sizes that are powers of two.",
        "page = \"5KiB\"",
        "page = \"4KiB\"";
    Bits, "bits",
        "address bits that contradict one another",
        "The functions of address bits that select channel, rank and bank must be independent, lie \
         above the line and inside the memory, and leave the row number alone.",
        "bank-bits = \"13, 13, 14\"",
        "bank-bits = \"13, 14, 15\"";
    DramTiming, "dram_timing",
        "DRAM timing that no controller could keep",
        "The parameters bound one another: a row cycle holds the activation and the precharge, four \
         activations take at least four times the distance of two.",
        "rc = 20 with ras = 28 and rp = 11",
        "rc = 39";
    NoPrefetcher, "no_prefetcher",
        "a prefetcher switched on that the platform does not describe",
        "`prefetcher = \"on\"` needs the table [prefetcher] of the platform file, which says how many \
         streams it follows and how far ahead.",
        "prefetcher = \"on\"  # on a platform without one",
        "prefetcher = \"off\"";
    NoClock, "no_clock",
        "a clock that the kind of core does not have",
        "A kind of core runs at one of the steps that its platform file lists with their voltages, for what \
         an event and a second cost depends on the voltage.",
        "[clocks]\na57 = \"500MHz\"  # on juno",
        "a57 = \"450MHz\"";
    Source, "source",
        "a value that does not say where it comes from",
        "Every value of a platform or overhead file ends in @ and a key of [sources], so that a \
         reader can tell what was measured from what was guessed.",
        "latency = \"4\"",
        "latency = \"4 @M\"  # M is a key of [sources]";
    Steps, "steps",
        "steps of a cost that are out of order",
        "A cost is a list of steps: from so many threads on the path takes so long. The numbers of \
         threads grow from step to step.",
        "[{ threads = 25, … }, { threads = 0, … }]",
        "[{ threads = 0, … }, { threads = 25, … }]";
    Isolation, "isolation",
        "isolation that contradicts itself, the chip or its guaranteed bandwidth",
        "Reservations together stay within what memory guarantees, hard tasks do not share what they \
         are confined to, and colors, banks and pages exist on the chip. The message has the numbers \
         and the ways out.",
        "cores = { 0 = \"2GB/s\" }  # where 1.2 GB/s are guaranteed",
        "cores = { 0 = \"900MB/s\" }";
    Curve, "curve",
        "a lockdown curve that rises, or begins nowhere",
        "`curve` says what a job takes and misses with so many of its most accessed pages locked. It begins with no page, and more \
         pages never take longer and never miss more often: what was measured otherwise is noise, and to be rounded up.",
        "curve = [\n    { pages = 0, wcet = \"5ms\", misses = 90 },\n    { pages = 8, wcet = \"6ms\", misses = 9 },\n]",
        "curve = [\n    { pages = 0, wcet = \"5ms\", misses = 90 },\n    { pages = 8, wcet = \"4ms\", misses = 9 },\n]";
    Windows, "windows",
        "windows of partitions that cannot be kept to",
        "[[isolation.cycle]] divides the time of a core among the partitions of [isolation.partitions]. Windows lie \
         inside their cycle, do not overlap, and belong to partitions whose tasks are on that core; the policy has a \
         queue for each core.",
        "{ partition = \"flight\", begin = \"15ms\", length = \"10ms\" }  # of 20 ms",
        "{ partition = \"flight\", begin = \"15ms\", length = \"5ms\" }";
    Device, "device",
        "a device that cannot move data as it is to",
        "A [[device]] moves the data of a task or a partition, which owns it, in slots that are no longer than its period. \
         Slots of devices that one core starts do not overlap, and no task runs on that core. Bandwidth in \
         isolation.bandwidth.dma is reserved for a device by its name.",
        "[[device]]\nname = \"camera\"  # nobody owns it",
        "[[device]]\nname = \"camera\"\nowner = \"vision\"";
    CoreBudget, "core_budget",
        "a core with two budgets, or a key that is no core",
        "Budgets of cores are given once for each core, by its number.",
        "cores = { 0 = \"1GB/s\", zero = \"1GB/s\" }",
        "cores = { 0 = \"1GB/s\" }";
    Ways, "ways",
        "a mask of ways that hardware cannot have",
        "A mask is a range of neighboring ways of the last-level cache, not empty and within its \
         number of ways.",
        "ways = { control = \"0,2\" }",
        "ways = { control = \"0-1\" }";
    Monitor, "monitor",
        "a scheduler that cannot listen to what it is to, or do what it is to about it",
        "What [scheduler.monitor] names is an event, or an expression over events, that counters of the \
         chip count; each event takes a programmable counter beside those of bandwidth budgets. Of two \
         thresholds the lower stands first. What is done about it must be able to have an effect: \
         `overflow` takes a counter that interrupts, `migrate`, `gather` and `serialize` take several cores.",
        "threshold = [4, 2]",
        "threshold = [2, 4]";
    Ineffective, "ineffective",
        "a mechanism that would do nothing here (a warning)",
        "The file asks for isolation that this chip defeats, for example colors on a cache whose \
         slices are hashed. The run goes on, and its report repeats the warning.",
        "colors on a platform with hashed slices",
        "ways instead of colors";
    NoCounterpart, "no_counterpart",
        "something in another tool's file that a scenario cannot say",
        "A file that is imported becomes tasks that release jobs, and steps of these. What would be left out, or done in \
         another way than its writer meant, is refused at its place instead; the message says what to write.",
        "\"run\" : 1000, \"barrier\" : \"all\"  # in a file of rt-app",
        "\"run\" : 1000, \"sem_wait\" : \"all\"";
    Differs, "differs",
        "something in another tool's file that means a little else here (a warning)",
        "A file that is imported runs by other rules: time-sharing becomes turns, a timer that starts anew after a late job \
         becomes a period. The message says what differs.",
        "\"timer\" : { \"ref\" : \"unique\", \"period\" : 10000 }",
        "\"timer\" : { \"ref\" : \"unique\", \"period\" : 10000, \"mode\" : \"absolute\" }";
}
