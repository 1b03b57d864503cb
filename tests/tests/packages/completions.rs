//! The completions, each tried in its shell, the package's file being where the shell looks for it.

use std::process::Command;

use dra_guest_tests::command::stdout_of;

use super::{PROGRAMS, subcommands, unpacked};

/// What a shell says for a script that completes `$PROGRAM $WORD`, for each program and the first of its subcommands: all
/// but the last letter of it.
fn each_completes(shell: &str, file: impl Fn(&str) -> String, script: &str) {
    for (package, program) in PROGRAMS {
        let tree = unpacked(package);
        let names = subcommands(tree.path(), program);
        let subcommand = names.first().unwrap();
        let word = subcommand.get(..subcommand.len() - 1).unwrap();
        let mut command = Command::new(shell);
        // zsh notes what it has found in the home directory.
        command.env("HOME", tree.path()).current_dir(tree.path());
        command.env("FILE", file(program));
        command.env("PROGRAM", program).env("WORD", word);
        let output = stdout_of(command.args(["-c", script])).unwrap();
        let found = output
            .split_whitespace()
            .any(|said| said == subcommand.as_str());
        assert!(
            found,
            "{shell}: `{program} {word}` is not completed: {output}"
        );
    }
}

#[test]
fn bash_completes_a_subcommand() {
    // The function is the one that the script registers for the program.
    let script = r#"
        source "$FILE"
        read -ra registered < <(complete -p "$PROGRAM")
        while [ "${registered[0]}" != -F ]; do registered=("${registered[@]:1}"); done
        COMP_WORDS=("$PROGRAM" "$WORD") COMP_CWORD=1
        "${registered[1]}" "$PROGRAM" "$WORD" "$PROGRAM"
        echo "${COMPREPLY[@]}""#;
    let file = |program: &str| format!("usr/share/bash-completion/completions/{program}");
    each_completes("bash", file, script);
}

#[test]
fn fish_completes_a_subcommand() {
    let file = |program: &str| format!("usr/share/fish/vendor_completions.d/{program}.fish");
    let script = "source $FILE; complete -C \"$PROGRAM $WORD\"";
    each_completes("fish", file, script);
}

/// zsh completes at a terminal alone, so one is made for it.
#[test]
fn zsh_completes_a_subcommand() {
    let script = r#"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        said() { local all=; while zpty -r -m shell part "*$1*"; do all+=$part; [[ $all != *$1* ]] || break; done; print -r -- $all }
        zpty -w shell "PS1=; fpath=(${FILE:h} \$fpath); autoload -U compinit; compinit -D -u; print rea''dy"
        said ready >/dev/null
        zpty -w -n shell "$PROGRAM $WORD"$'\t\C-aprint -r -- "got:" \C-e ":got"\n'
        said " :got""#;
    let file = |program: &str| format!("usr/share/zsh/vendor-completions/_{program}");
    each_completes("zsh", file, script);
}
