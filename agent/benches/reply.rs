//! Measures parsing of a model's reply: `cargo bench -p postern-agent --bench reply`.
//!
//! The bar is 10 µs for 1 KB, and linear time up to 1 MB, for ordinary replies and for those made to be slow.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use postern_agent::llm::reply_parser;
use postern_agent::llm::tools::TOOLS;
use std::hint::black_box;
use std::time::Duration;

const SIZES: [usize; 3] = [1 << 10, 32 << 10, 1 << 20];

/// Of about `size` bytes each.
fn replies(size: usize) -> Vec<(&'static str, String)> {
    let repeated = |piece: &str| piece.repeat(size / piece.len());
    let written = |content: String| {
        let args = serde_json::json!({ "path": "/srv/page", "content": content });
        serde_json::json!({ "tool": "write_file", "args": args }).to_string()
    };
    vec![
        ("a file", written(repeated("listen {80}; \"quoted\"\n"))),
        ("prose, then a call", format!("{}{}", repeated("I look at {x} first. "), written(String::new()))),
        ("openings", repeated("{\"a\":")),
        ("broken objects", repeated("{a: b} ")),
        ("discarded objects", repeated("{a: b}</think>")),
        (
            "members",
            format!("{{{}", (0..size / 12).map(|n| format!("\"k{n}\": 1,")).collect::<Vec<_>>().concat()),
        ),
    ]
}

fn reply(criterion: &mut Criterion) {
    for size in SIZES {
        for (name, reply) in replies(size) {
            let mut group = criterion.benchmark_group(name);
            group.throughput(Throughput::Bytes(reply.len() as u64)).sample_size(20);
            group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
            group.bench_with_input(BenchmarkId::from_parameter(size), &reply, |bencher, reply| {
                bencher.iter(|| reply_parser::read(black_box(reply), TOOLS));
            });
            group.finish();
        }
    }
}

criterion_group!(benches, reply);
criterion_main!(benches);
