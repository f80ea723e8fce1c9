//! Tables for other tools: the same rows in every format.

use crate::fabricate::*;
use solo_model::EventTable;
use solo_model::record::*;
use solo_model::*;
use solo_report::export::SCHEMA;
use solo_report::export::{Exporter, Format, Table};

fn records() -> Vec<Record> {
    Stream::new(&corun(), 1).until(Duration::from_millis(205)).collect()
}

/// The rows of a table, behind the line that says its version.
fn text(table: Table, format: Format, records: &[Record]) -> String {
    let whole = whole(table, format, records);
    let (version, rows) = whole.split_once('\n').unwrap();
    let name = table.name();
    match format {
        Format::Csv => assert_eq!(version, format!("# solo {name}, version {SCHEMA}")),
        _ => assert_eq!(version, format!("{{\"format\":\"{name}\",\"schema\":{SCHEMA}}}")),
    }
    rows.to_owned()
}

fn whole(table: Table, format: Format, records: &[Record]) -> String {
    let (experiment, _) = corun();
    let mut out = Vec::new();
    let mut exporter = Exporter::new(table, format, &mut out, &experiment).unwrap();
    records.iter().for_each(|record| exporter.add(record).unwrap());
    exporter.finish().unwrap();
    String::from_utf8(out).unwrap()
}

fn rows_of(table: Table, records: &[Record]) -> usize {
    let belongs = |record: &&Record| match record {
        Record::Job(_) | Record::Unfinished(_) => table == Table::Jobs,
        Record::Sample(_) => table == Table::Samples,
        Record::Switch(_) => table == Table::Switches,
        _ => false,
    };
    records.iter().filter(belongs).count()
}

#[test]
fn each_table_has_a_row_for_each_of_its_records() {
    let records = records();
    assert!(records.iter().any(|record| matches!(record, Record::Unfinished(_))));
    for table in Table::ALL {
        let csv = text(table, Format::Csv, &records);
        assert_eq!(csv.lines().count() - 1, rows_of(table, &records), "{table:?}");
        assert_eq!(csv.lines().next().unwrap(), table.columns(&EventTable::default()).join(","));
        let json = text(table, Format::JsonLines, &records);
        assert_eq!(json.lines().count(), rows_of(table, &records), "{table:?}");
    }
}

#[test]
fn csv_and_json_say_the_same() {
    let records = records();
    for table in Table::ALL {
        let csv = text(table, Format::Csv, &records);
        let json = text(table, Format::JsonLines, &records);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        for (row, line) in reader.records().map(Result::unwrap).zip(json.lines()) {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
            assert_eq!(object.len(), table.columns(&EventTable::default()).len());
            for (name, value) in table.columns(&EventTable::default()).iter().zip(row.iter()) {
                let other = match &object[&**name] {
                    serde_json::Value::Null => String::new(),
                    serde_json::Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                assert_eq!(value, other, "{name}");
            }
        }
    }
}

#[test]
fn the_first_rows_read_as_documented() {
    let records = records();
    let head = |table| text(table, Format::Csv, &records).lines().take(3).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(Table::ALL.map(head).join("\n\n"));
}

#[test]
fn a_name_with_a_comma_stays_one_field() {
    let (mut experiment, _) = corun();
    experiment.tasks[0].name = "a, \"b\"\n".into();
    let job =
        records().into_iter().find(|record| matches!(record, Record::Job(job) if job.task == TaskId(0)));
    let job = job.unwrap();
    for format in [Format::Csv, Format::JsonLines] {
        let mut out = Vec::new();
        let mut exporter = Exporter::new(Table::Jobs, format, &mut out, &experiment).unwrap();
        exporter.add(&job).unwrap();
        exporter.finish().unwrap();
        let begin = out.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        let rows = &out[begin..];
        let name = match format {
            Format::Csv => csv::Reader::from_reader(rows).records().next().unwrap().unwrap()[0].to_owned(),
            _ => serde_json::from_slice::<serde_json::Value>(rows).unwrap()["task"]
                .as_str()
                .unwrap()
                .to_owned(),
        };
        assert_eq!(name, "a, \"b\"\n");
    }
}

#[cfg(feature = "parquet")]
mod parquet {
    use super::*;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    fn file(table: Table, records: impl Iterator<Item = Record>) -> std::fs::File {
        let (experiment, _) = corun();
        let file = tempfile::tempfile().unwrap();
        let mut exporter =
            Exporter::new(table, Format::Parquet, file.try_clone().unwrap(), &experiment).unwrap();
        records.for_each(|record| exporter.add(&record).unwrap());
        exporter.finish().unwrap();
        file
    }

    #[test]
    fn parquet_and_csv_say_the_same() {
        for table in Table::ALL {
            let reader = SerializedFileReader::new(file(table, records().into_iter())).unwrap();
            let csv = text(table, Format::Csv, &records());
            let mut csv = csv::Reader::from_reader(csv.as_bytes());
            let mut count = 0;
            for (row, line) in reader.get_row_iter(None).unwrap().zip(csv.records()) {
                for ((name, field), value) in row.unwrap().get_column_iter().zip(line.unwrap().iter()) {
                    let text = match field {
                        Field::Null => String::new(),
                        Field::Long(value) => value.to_string(),
                        Field::Str(text) => text.clone(),
                        Field::Bool(truth) => truth.to_string(),
                        other => panic!("{name} is {other:?}"),
                    };
                    assert_eq!(text, value, "{name}");
                }
                count += 1;
            }
            assert_eq!(count, rows_of(table, &records()));
        }
    }

    #[test]
    fn many_rows_become_several_row_groups() {
        let reader =
            SerializedFileReader::new(file(Table::Samples, Stream::new(&corun(), 1).take(100_000))).unwrap();
        let metadata = reader.metadata();
        assert!(metadata.num_row_groups() > 1);
        let expected =
            Stream::new(&corun(), 1).take(100_000).filter(|r| matches!(r, Record::Sample(_))).count();
        assert_eq!(metadata.file_metadata().num_rows(), expected as i64);
    }

    #[test]
    fn an_empty_table_is_a_valid_file() {
        let reader = SerializedFileReader::new(file(Table::Jobs, std::iter::empty())).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}

#[test]
fn a_missing_deadline_leaves_its_columns_empty() {
    let records = records();
    let screen =
        records.iter().find(|record| matches!(record, Record::Job(JobRecord { task: TaskId(1), .. })));
    let json = text(Table::Jobs, Format::JsonLines, &[screen.unwrap().clone()]);
    let row: serde_json::Value = serde_json::from_str(&json).unwrap();
    for column in ["deadline_ns", "lateness_ns", "tardiness_ns", "missed"] {
        assert!(row[column].is_null(), "{column}");
    }
    assert!(row["response_ns"].is_u64());
}
