//! The socket on which the NRI plugin of the node asks for a pod's document.
//!
//! One line, `{"namespace":…,"name":…,"uid":…,"within_milliseconds":…}`, the last where there is a limit; the answer is the document, or `{"error":…}` with a sentence, and the
//! end. Only root is answered: the document is for what root does on the node.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use device_attributes::{Document, Name, Pod as DocumentPod, limits};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use super::document;
use super::heard::{Heard, Known};
use crate::listen::UnixSocket;

/// The most connections that are served at once; others wait.
const CONNECTIONS: usize = 8;
/// The most bytes of a question.
const QUESTION: u64 = 4096;
/// For so long a connection may take. The plugin waits for less.
const PATIENCE: Duration = Duration::from_secs(2);
/// For so long it is waited until a pod and its claims are known: the watches may be behind the kubelet.
const NOT_KNOWN_YET: Duration = Duration::from_millis(1500);
/// How often it is looked whether they are.
const LOOK: Duration = Duration::from_millis(25);
/// When it is tried again to listen.
const AGAIN: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct Question {
    namespace: Name,
    name: Name,
    uid: Name,
    /// Who asks waits no longer; absent from those who do not say.
    within_milliseconds: Option<u64>,
}

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a str,
}

/// Answers for as long as the relay runs.
pub async fn serve(path: PathBuf, heard: Arc<Heard>) {
    let socket = listen(&path).await;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Never closed.
        let place = Arc::clone(&places).acquire_owned().await;
        match socket.accept().await {
            Ok(stream) => {
                let heard = Arc::clone(&heard);
                tokio::spawn(async move {
                    let _place = place;
                    if timeout(PATIENCE, converse(stream, &heard)).await.is_err() {
                        debug!("a question for a document took too long");
                    }
                });
            }
            Err(error) => {
                warn!("{}: a connection cannot be taken: {error}", path.display());
                sleep(LOOK).await;
            }
        }
    }
}

/// Who makes the directory may come later than the relay.
async fn listen(path: &Path) -> UnixSocket {
    let mut said = String::new();
    loop {
        match UnixSocket::bind(path) {
            Ok(socket) => {
                info!("listening on {} for dra-guest-nri", path.display());
                return socket;
            }
            Err(error) => {
                let words = error.to_string();
                if words != said {
                    warn!("{words}; it is tried again");
                    said = words;
                }
            }
        }
        sleep(AGAIN).await;
    }
}

async fn converse(mut stream: UnixStream, heard: &Heard) {
    let is_root = stream.peer_cred().is_ok_and(|peer| peer.uid() == 0);
    if !is_root {
        warn!("a process that is not root's asks for a document: it gets none");
        return;
    }
    let (reader, mut writer) = stream.split();
    let mut line = Vec::new();
    let mut reader = BufReader::new(reader.take(QUESTION));
    let answer = match reader.read_until(b'\n', &mut line).await {
        Ok(_) => answer(&line, heard).await,
        Err(error) => Err(format!("the question cannot be read: {error}")),
    };
    let bytes = answer.unwrap_or_else(|error| {
        debug!("a question for a document has no answer: {error}");
        // Text has no value that JSON has not.
        serde_json::to_vec(&Refusal { error: &error }).unwrap_or_default()
    });
    // Who asked may have gone.
    let _ = writer.write_all(&bytes).await;
}

async fn answer(line: &[u8], heard: &Heard) -> Result<Vec<u8>, String> {
    let question: Question = serde_json::from_slice(line)
        .map_err(|error| format!("the question cannot be read: {error}"))?;
    let within = question
        .within_milliseconds
        .map_or(NOT_KNOWN_YET, Duration::from_millis);
    let deadline = Instant::now() + within.min(NOT_KNOWN_YET);
    loop {
        let found = look(&question, &heard.known());
        match found {
            Ok(document) => {
                let bytes = document.to_bytes();
                if bytes.len() > limits::FILE_BYTES {
                    return Err(format!(
                        "the document has {} bytes, more than a reader takes",
                        bytes.len()
                    ));
                }
                return Ok(bytes);
            }
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => sleep(LOOK).await,
        }
    }
}

/// The document as far as it is known now.
fn look(question: &Question, known: &Known) -> Result<Document, String> {
    let Question {
        namespace,
        name,
        uid,
        ..
    } = question;
    if known.without_claims.contains(uid) {
        return Ok(Document {
            pod: Some(DocumentPod {
                namespace: namespace.clone(),
                name: name.clone(),
                uid: Some(uid.clone()),
            }),
            devices: Vec::new(),
        });
    }
    let pod = known.pods.get(uid);
    let Some(pod) = pod.filter(|pod| (&pod.namespace, &pod.name) == (namespace, name)) else {
        return Err(format!(
            "no virt-launcher pod {namespace}/{name} with the UID {uid} is known on this node yet"
        ));
    };
    let mut complaints = Vec::new();
    let document = document::document(pod, known, &known.files, &mut complaints)?;
    for complaint in complaints {
        warn!(pod = %pod.name, namespace = %pod.namespace, "{complaint}");
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::runtime::watcher::Event;

    /// Hears of a virt-launcher pod with these claims in its `spec`.
    fn heard(claims: &str) -> Heard {
        let heard = Heard::default();
        let object = format!(
            r#"{{"metadata":{{"namespace":"lab","name":"virt-launcher-vm","uid":"u","labels":{{"kubevirt.io/created-by":"v"}}}},
            "spec":{{"resourceClaims":[{claims}]}},"status":{{}}}}"#
        );
        heard.pods(&Ok(Event::Apply(serde_json::from_str(&object).unwrap())));
        heard
    }

    async fn ask(heard: &Heard, question: &str) -> String {
        let (mut plugin, relay) = UnixStream::pair().unwrap();
        plugin.write_all(question.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let ((), read) = tokio::join!(converse(relay, heard), plugin.read_to_string(&mut answer));
        read.unwrap();
        answer
    }

    const QUESTION: &str = "{\"namespace\":\"lab\",\"name\":\"virt-launcher-vm\",\"uid\":\"u\"}\n";

    #[tokio::test(start_paused = true)]
    async fn a_pod_without_claims_has_no_devices() {
        let answer = ask(&heard(""), QUESTION).await;
        let read = device_attributes::read::read("answer", answer.as_bytes()).unwrap();
        assert!(read.document.devices.is_empty());
        assert_eq!(read.document.pod.unwrap().name.as_str(), "virt-launcher-vm");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_known_in_time_is_told() {
        for (heard, why) in [
            (
                Heard::default(),
                "no virt-launcher pod lab/virt-launcher-vm with the UID u is known on this node yet",
            ),
            (
                heard(r#"{"name":"n","resourceClaimName":"nic"}"#),
                "ResourceClaim lab/nic: not known yet",
            ),
        ] {
            assert_eq!(
                ask(&heard, QUESTION).await,
                format!("{{\"error\":\"{why}\"}}")
            );
        }
    }

    /// Else a pod that is not known yet is to the plugin as a relay that hangs.
    #[tokio::test(start_paused = true)]
    async fn who_waits_for_less_is_told_in_time() {
        for (within, expected) in [(200, 200), (60_000, 1500), (0, 0)] {
            let limit = format!(",\"within_milliseconds\":{within}}}\n");
            let begun = Instant::now();
            let answer = ask(&Heard::default(), &QUESTION.replace("}\n", &limit)).await;
            assert!(answer.contains("is known on this node yet"), "{answer}");
            assert_eq!(begun.elapsed().as_millis(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_uid_of_another_pod_is_no_key() {
        let heard = heard(r#"{"name":"n","resourceClaimName":"nic"}"#);
        let answer = ask(&heard, &QUESTION.replace("virt-launcher-vm", "other")).await;
        assert!(
            answer.contains("no virt-launcher pod lab/other"),
            "{answer}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_question_is_refused() {
        for question in [
            "\n",
            "{}\n",
            "nonsense\n",
            "{\"namespace\":\"a b\",\"name\":\"p\",\"uid\":\"u\"}\n",
        ] {
            let answer = ask(&heard(""), question).await;
            assert!(
                answer.contains("the question cannot be read"),
                "{question:?}: {answer}"
            );
        }
    }

    /// Whoever says more than is read may lose the answer with the connection, as `unix(7)` has it.
    #[tokio::test(start_paused = true)]
    async fn an_endless_question_has_an_end() {
        let heard = heard("");
        let (mut plugin, relay) = UnixStream::pair().unwrap();
        plugin.write_all(&[b' '; 10_000]).await.unwrap();
        converse(relay, &heard).await;
        assert!(plugin.write_all(b"more").await.is_err());
    }
}
