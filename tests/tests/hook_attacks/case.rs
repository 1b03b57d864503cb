//! One attack on a container that a real runtime starts, and how it must end.

use dra_guest_tests::runtime::{OciRuntime, Outcome};
use libtest_mimic::Trial;

use crate::count;
use crate::scene::Scene;
use crate::start::Engine;

/// How it must end. In every case the canary stays as it was.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// The container starts and its VM gets the right document.
    Written,
    /// The hook ends with exit code 1 and says this, whatever `--on-error` says: no container.
    Refused(&'static str),
    /// The same, but `--on-error skip` lets the container start: what is broken is the metadata.
    Broken(&'static str),
    /// The container starts and gets no document; the log says this.
    Nothing(&'static str),
}

/// An attack.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Changes the container's files and mounts.
    pub(crate) arrange: fn(&mut Scene),
    pub(crate) expected: Expected,
}

/// What youki cannot bring about: it opens the sources of mounts as the container's root, and mounts no overlay.
const NOT_BY_YOUKI: [&str; 2] = [
    "36b_a_user_namespace_and_a_closed_kubelet_directory",
    "58_an_overlay_with_the_document_whited_out",
];

impl Case {
    /// The case as a test, under the runtimes themselves.
    pub(crate) fn trial(&'static self, class: &str) -> Trial {
        Trial::test(format!("{class}::{}", self.name), || {
            for (runtime, policies) in [
                (OciRuntime::Runc, ["fail", "skip"].as_slice()),
                (OciRuntime::Crun, &["fail", "skip"]),
                // What the policy decides is the same under all of them.
                (OciRuntime::Youki, &["fail"]),
            ] {
                if runtime == OciRuntime::Youki && NOT_BY_YOUKI.contains(&self.name) {
                    continue;
                }
                for policy in policies {
                    self.run(Engine::Bundle(runtime), policy);
                }
            }
            Ok(())
        })
    }

    /// Starts the container, and looks at what became of everything.
    pub(crate) fn run(&self, engine: Engine, policy: &str) {
        let what = format!("{} under {engine:?}, {policy}", self.name);
        let mut scene = Scene::new();
        (self.arrange)(&mut scene);
        let before = scene.canary();
        let outcome = scene.start(engine, policy);
        count::container();
        count::compare(&before, &scene.canary(), &what);
        let log = scene.log();
        let told = format!("{what}: {outcome:?}\n{log}");
        for line in log.lines() {
            assert!(line.starts_with("20") && !line.contains('\u{1b}'), "{told}");
        }
        let document = scene.document();
        match self.expected {
            Expected::Written => {
                assert_started(&outcome, &told);
                let document = document.expect(&told);
                assert!(
                    document.contains("\"macAddress\": \"02:00:00:4e:92:87\""),
                    "{told}"
                );
            }
            Expected::Nothing(text) => {
                assert_started(&outcome, &told);
                assert!(log.contains(text), "{told}");
                assert_eq!(document, None, "{told}");
            }
            Expected::Broken(text) if policy == "skip" => {
                assert_started(&outcome, &told);
                assert!(log.contains(text), "{told}");
            }
            Expected::Refused(text) | Expected::Broken(text) => {
                assert_refused(&outcome, &log, text, &told);
            }
        }
    }
}

fn assert_started(outcome: &Outcome, told: &str) {
    assert!(outcome.success(), "{told}");
    assert_eq!(outcome.stdout, "started\n", "{told}");
}

/// The runtime tells the hook's exit code; the hook told why.
fn assert_refused(outcome: &Outcome, log: &str, text: &str, told: &str) {
    assert!(!outcome.success(), "{told}");
    assert_eq!(outcome.stdout, "", "{told}");
    // runc, crun and youki say it in words of their own.
    let code = ["exit status 1", "exit code: 1", "NonZeroExitCode(1)"];
    assert!(
        code.iter().any(|code| outcome.stderr.contains(code)),
        "{told}"
    );
    let errors: Vec<_> = log
        .lines()
        .filter(|line| line.contains(" error "))
        .collect();
    assert!(
        errors.iter().any(|error| error.contains(text)),
        "not said: {text:?}: {told}"
    );
}
