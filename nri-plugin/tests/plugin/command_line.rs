//! What is wrong on the command line ends the plugin at once, in words.

use std::process::{Command, Stdio};

#[test]
fn a_wrong_command_line_is_exit_code_2_and_says_what_is_expected() {
    for (arguments, words) in [
        (&["--kubelet", "kubelet"][..], "the path must be absolute"),
        (&["--hook=hook"], "the path must be absolute"),
        (&["--index=5"], "two digits, from 00 to 99"),
        (&["--pod-label=x"], "is not KEY=VALUE"),
        (&["--attributes-timeout=500"], "like 500ms"),
        (&["--attributes-timeout=5s"], "between 1ms and 1s 500ms"),
        (
            &["--attributes-socket=/s", "--attributes-user=nobody"],
            "the number of a user is expected",
        ),
        (&["--export", "$"], "this is no name of an attribute"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_dra-guest-nri"))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
