//! A thin program, as somebody would write it for this one job: reads a topic exactly once, keeps half of the records, changes one field.
//! Arguments: brokers, input topic, output topic, name (of the group and the transactional id). Runs until it is killed.
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

#[derive(Deserialize, Serialize)]
struct Purchase<'a> {
    id: i64,
    user: &'a str,
    amount: f64,
    text: String,
    ts: &'a str,
}

/// The schema registry's prefix: a zero byte and the schema's id.
const PREFIX: [u8; 5] = [0, 0, 0, 0, 7];
const TRANSACTION_TIME: Duration = Duration::from_millis(100);
const TRANSACTION_RECORDS: usize = 50_000;
const PATIENCE: Duration = Duration::from_secs(10);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, brokers, input, output, name] = arguments.as_slice() else { panic!("four arguments") };
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", name)
        .set("isolation.level", "read_committed")
        .set("enable.auto.commit", "false")
        .set("auto.offset.reset", "earliest")
        .set("queued.max.messages.kbytes", "131072")
        .create()
        .expect("a consumer");
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("transactional.id", name)
        .set("queue.buffering.max.messages", "200000")
        .set("linger.ms", "5")
        .create()
        .expect("a producer");
    producer.init_transactions(PATIENCE).expect("the transactional id");
    consumer.subscribe(&[input]).expect("a subscription");
    let mut framed: Vec<u8> = Vec::with_capacity(1024);
    loop {
        let Some(first) = consumer.poll(Duration::from_millis(100)) else { continue };
        producer.begin_transaction().expect("a transaction");
        let started = Instant::now();
        let mut next = Some(first);
        let mut records = 0;
        while records < TRANSACTION_RECORDS && started.elapsed() < TRANSACTION_TIME {
            let Some(message) = next.take().or_else(|| consumer.poll(Duration::from_millis(5))) else { continue };
            let message = message.expect("a record");
            records += 1;
            let mut value: Purchase = serde_json::from_slice(&message.payload().expect("a value")[PREFIX.len()..]).expect("JSON");
            if value.amount < 50.0 {
                continue;
            }
            value.text = value.text.to_uppercase();
            framed.clear();
            framed.extend_from_slice(&PREFIX);
            serde_json::to_writer(&mut framed, &value).expect("JSON");
            let mut record = BaseRecord::to(output).payload(&framed).key(message.key().unwrap_or_default());
            if let Some(time) = message.timestamp().to_millis() {
                record = record.timestamp(time);
            }
            while let Err((error, refused)) = producer.send(record) {
                assert!(matches!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull)), "{error}");
                producer.poll(Duration::from_millis(1));
                record = refused;
            }
            producer.poll(Duration::ZERO);
        }
        let offsets = consumer.position().expect("the positions");
        let metadata = consumer.group_metadata().expect("the group");
        producer.send_offsets_to_transaction(&offsets, &metadata, PATIENCE).expect("the offsets");
        producer.commit_transaction(PATIENCE).expect("a commit");
    }
}
