//! Relays as they should be and as they should not.

use device_attributes::DeviceIdentity;
use device_attributes::report::Reason;
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use super::*;

fn device(name: &str, ready: bool) -> DeviceReport {
    DeviceReport {
        identity: DeviceIdentity {
            device: Some(name.parse().unwrap()),
            ..DeviceIdentity::default()
        },
        ready,
        reason: if ready {
            Reason::Configured
        } else {
            Reason::Pending
        },
        message: String::new(),
        interface_name: None,
        mac_address: None,
        addresses: Vec::new(),
        guest_pci_address: None,
        numa_node: None,
    }
}

/// The relay's end of a conversation that has begun, and what may change the account.
struct Node {
    lines: BufReader<DuplexStream>,
    account: watch::Sender<Account>,
    ended: JoinHandle<io::Result<()>>,
}

impl Node {
    fn new(devices: Vec<DeviceReport>) -> Self {
        let (guest, node) = tokio::io::duplex(1 << 20);
        let (account, mut reported) = watch::channel(Account {
            document_digest: Some("sha256:0".to_owned()),
            devices,
        });
        Self {
            lines: BufReader::new(node),
            account,
            ended: tokio::spawn(async move { converse(guest, "boot", &mut reported).await }),
        }
    }

    async fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn say(&mut self, words: &str) {
        self.lines
            .get_mut()
            .write_all(words.as_bytes())
            .await
            .unwrap();
    }

    /// Takes a message of this type, and acknowledges it.
    async fn take(&mut self, kind: &str) -> Value {
        let line = self.line().await;
        assert_eq!(line["type"], kind, "{line}");
        let sequence = line["sequence"].as_u64().unwrap_or_default();
        self.say(&format!("{{\"type\":\"ack\",\"sequence\":{sequence}}}\n"))
            .await;
        line
    }

    async fn error(self) -> String {
        self.ended.await.unwrap().unwrap_err().to_string()
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_changed_is_told_and_then_that_the_agent_lives() {
    let mut node = Node::new(vec![device("a", true), device("b", false)]);
    let hello = node.take("hello").await;
    assert_eq!(hello["bootId"], "boot");
    assert_eq!(hello["documentDigest"], "sha256:0");
    let report = node.take("report").await;
    assert_eq!(report["devices"].as_array().unwrap().len(), 2);
    for _ in 0..3 {
        assert_eq!(node.line().await["type"], "heartbeat");
    }
    node.account
        .send_modify(|account| account.devices[1] = device("b", true));
    let report = node.take("report").await;
    assert_eq!(report["sequence"], 2);
    assert_eq!(report["devices"].as_array().unwrap().len(), 1);
    assert_eq!(report["devices"][0]["identity"]["device"], "b");
    // Another document is another account: the conversation ends, and so does the agent's.
    node.account
        .send_modify(|account| account.document_digest = None);
    assert!(node.ended.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ends_ends_the_conversation() {
    let mut node = Node::new(Vec::new());
    node.take("hello").await;
    drop(node.account);
    assert!(node.ended.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_answers_wrongly_is_left() {
    let endless = "x".repeat(LINE_BYTES);
    for (answer, why) in [
        (
            "{\"type\":\"ack\",\"sequence\":7}\n",
            "acknowledges message 7 in place of 0",
        ),
        (
            "{\"type\":\"nack\"}\n",
            "not understood: unknown variant `nack`",
        ),
        ("HTTP/1.1 400 Bad Request\n", "not understood"),
        ("\u{0}\n", "not understood"),
        (&endless, "more than 65536 bytes"),
        ("{\"type\":\"ack\"", "did not answer within 10 s"),
        ("", "did not answer within 10 s"),
    ] {
        let mut node = Node::new(Vec::new());
        node.line().await;
        node.say(answer).await;
        let error = (&mut node.ended).await.unwrap().unwrap_err().to_string();
        assert!(error.contains(why), "{answer:.40}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_closes_is_left_at_once() {
    let mut node = Node::new(Vec::new());
    node.line().await;
    drop(node.lines);
    let error = node.ended.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "it closed the connection without an answer");

    let mut node = Node::new(Vec::new());
    node.take("hello").await;
    let started = tokio::time::Instant::now();
    drop(node.lines);
    let error = node.ended.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "it closed the connection");
    assert!(started.elapsed() < HEARTBEAT);
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_speaks_unasked_is_left() {
    let mut node = Node::new(Vec::new());
    node.take("hello").await;
    node.say("{\"type\":\"ack\",\"sequence\":1}\n").await;
    assert_eq!(
        node.error().await,
        "it says something that it was not asked for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_takes_no_lines_is_left() {
    let (guest, node) = tokio::io::duplex(16);
    let (_account, mut reported) = watch::channel(Account::default());
    let error = converse(guest, "boot", &mut reported).await.unwrap_err();
    assert_eq!(error.to_string(), "it did not take a line within 10 s");
    drop(node);
}
