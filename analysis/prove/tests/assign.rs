//! Lines of `solo prove --assign` against the figures of thesis chapters 7 and 8.

use solo_prove::assign_lines::{Assigner, assign_lines};

/// Table 14, with the execution time of T4 and what the memory holds.
fn table_14(c_4: u64, memory: u64, cores: u64) -> String {
    let kib = 1024;
    let rows: [(u64, u64, u64, &str); 8] = [
        (900, 10_000, 1024, "1,3"),
        (6000, 15_000, 64, "1,4"),
        (1500, 5000, 4, "0,3"),
        (500, 5000, 128, "1,5"),
        (c_4, 20_000, 32, "5"),
        (2600, 5000, 16, "6"),
        (2700, 5000, 512, "7,8,9"),
        (10_000, 50_000, 256, "7,10"),
    ];
    let task = |(c, t, size, colors): (u64, u64, u64, &str)| {
        format!("{{\"c\":{c},\"t\":{t},\"memory\":{},\"colors\":[{colors}]}}", size * kib)
    };
    let tasks = rows.map(task).join(",");
    format!("{{\"m\":{cores},\"colors\":16,\"memory\":{memory},\"tasks\":[{tasks}]}}\n")
}

fn assigned(name: &str, line: &str) -> String {
    let mut output = Vec::new();
    let assigner = Assigner::named(name).expect("it is known");
    assign_lines(line.as_bytes(), &mut output, assigner).expect("memory does not fail");
    String::from_utf8(output).expect("JSON").trim_end().to_owned()
}

#[test]
fn figures_76_and_77() {
    let line = table_14(1900, 16 << 20, 3);
    assert_eq!(assigned("cap-wfd", &line), r#"{"cores":[[0,1,2,3,4],[6,7],[5]]}"#);
    assert_eq!(assigned("wfd", &line), r#"{"cores":[[6,3,4],[5,7],[1,2,0]]}"#);
}

#[test]
fn figures_83_and_84() {
    let hard = |c: u64, t: u64, colors: &str| {
        format!("{{\"c\":{c},\"t\":{t},\"class\":\"hard\",\"memory\":4096,\"colors\":[{colors}]}}")
    };
    let soft = |c: u64, t: u64, colors: &str| hard(c, t, colors).replace("hard", "soft");
    // The last of them is best effort.
    let tasks = [
        hard(2000, 10_000, "1,4"),
        hard(1500, 5000, "2,3"),
        hard(1000, 10_000, "0"),
        soft(10_000, 50_000, "6,7"),
        soft(1500, 5000, "5,8"),
        soft(4800, 12_000, "7,9"),
        soft(1000, 10_000, "7,11"),
        soft(2000, 20_000, "8"),
        soft(1500, 15_000, "7,10"),
        r#"{"class":"best-effort","memory":4096,"colors":[8,12]}"#.to_owned(),
    ];
    let line = format!(
        "{{\"m\":3,\"colors\":16,\"memory\":2097152,\"capacity\":750,\"tasks\":[{}]}}",
        tasks.join(",")
    );
    assert_eq!(assigned("cap-gs", &line), r#"{"cores":[[1,0,2],[3,5,6],[4,7,9,8]]}"#);
    assert_eq!(assigned("bfd", &line), r#"{"cores":[[5,1,9],[4,0,3],[2,6,7,8]]}"#);
    let limited = line.replace("\"capacity\"", "\"hard_limit\":599,\"capacity\"");
    let failed = assigned("cap-gs", &limited);
    assert!(failed.contains("equation 4 of chapter 8") && failed.contains("\"needs\":600000"), "{failed}");
    assert!(assigned("cap-gs", &limited.replace("599", "600")).starts_with(r#"{"cores""#));
}

#[test]
fn the_equation_that_fails_is_named_with_its_numbers() {
    let failed = |line: &str, parts: [&str; 3]| {
        let found = assigned("cap-ffd", line);
        assert!(parts.iter().all(|part| found.contains(part)), "{found}: {parts:?}");
    };
    let group = "\"tasks\":[0,1,2,3,4]";
    failed(&table_14(2300, 16 << 20, 3), ["\"equation\":3", group, "\"needs\":1005000,\"has\":1000000"]);
    // Color 1 holds 512 + 32 + 64 KiB.
    let exact = 608 * 1024 * 16;
    assert!(assigned("cap-ffd", &table_14(1900, exact, 3)).starts_with(r#"{"cores""#));
    failed(&table_14(1900, exact - 1, 3), ["\"equation\":4", "color 1", "\"needs\":622592,\"has\":622591"]);
    failed(&table_14(1900, 2035 << 10, 3), ["\"equation\":1", "\"needs\":2084864", "\"has\":2083840"]);
    let few = table_14(1900, 16 << 20, 3).replace("\"colors\":16", "\"colors\":10");
    failed(&few, ["\"equation\":2", "\"tasks\":[7]", "below 10"]);
    let loads = "\"loads\":[985000,740000]";
    failed(&table_14(1900, 16 << 20, 2), ["\"equation\":3", "\"tasks\":[5]", loads]);
}

#[test]
fn what_is_no_set_is_an_error_and_nothing_panics() {
    let wrong = [
        "",
        "[]",
        "{}",
        r#"{"m":0,"tasks":[{"c":1,"t":2}]}"#,
        r#"{"m":1,"colors":0,"memory":1,"tasks":[{"c":1,"t":2}]}"#,
        r#"{"m":1,"colors":4,"memory":1,"tasks":[{"c":0,"t":2}]}"#,
        r#"{"m":1,"colors":4,"memory":1,"tasks":[{"c":1,"t":0}]}"#,
        r#"{"m":1,"colors":4,"memory":1,"tasks":[{"c":1}]}"#,
        r#"{"m":1,"colors":4,"memory":1,"capacity":"llf","tasks":[{"c":1,"t":2}]}"#,
    ];
    for line in wrong {
        for name in Assigner::names() {
            let found = assigned(name, &format!("{line}\n"));
            let refused = found.contains("\"error\"") || found.contains("\"failed\"");
            assert!(
                refused || line.contains("\"colors\":0") && found.contains("cores"),
                "{name}: {line}: {found}"
            );
        }
    }
}
