//! The command line of a relay on a Kubernetes node: what does not make sense ends at once.

use std::process::{Command, Stdio};

#[test]
fn a_wrong_command_line_is_exit_code_2_and_says_why() {
    let claims = ["--claims", ".", "--guest", "cid=5,claim=a/b"];
    let node = ["--node-name", "worker-0"];
    let with = |first: &[&'static str], more: &[&'static str]| [first, more].concat();
    for (arguments, words) in [
        (vec![], "--claims <DIR>|--node-name <NAME>"),
        (claims[2..].to_vec(), "--claims <DIR>|--node-name <NAME>"),
        (claims[..2].to_vec(), "--guest <GUEST>"),
        (with(&claims, &node), "cannot be used with"),
        (with(&node, &claims[2..]), "cannot be used with"),
        (with(&claims, &["--kubeconfig", "k"]), "cannot be used with"),
        (
            with(&claims, &["--guest-socket", "cid=5,socket=s"]),
            "cannot be used with",
        ),
        (vec!["--node-name", "a,b"], "is not a Kubernetes name"),
        (
            with(&node, &["--metrics-address", "localhost:10740"]),
            "like 127.0.0.1:10740",
        ),
        (with(&node, &["--guest-socket", "cid=5"]), "both of them"),
        (
            node.to_vec(),
            "outside of a pod name a file with --kubeconfig",
        ),
        (
            with(&node, &["--kubeconfig", "nowhere"]),
            "--kubeconfig nowhere: ",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_dra-guest-relay"))
            .args(&arguments)
            .env_remove("KUBERNETES_SERVICE_HOST")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
