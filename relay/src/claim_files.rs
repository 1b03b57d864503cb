//! A directory of ResourceClaim files as the store of claims.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use device_attributes::ReadError;
use jiff::Timestamp;
use tokio::sync::Mutex;

use crate::manifest::Format;
use crate::merge::merge;
use crate::monitoring::labels::{ApplyOutcome, FailureReason, Operation};
use crate::monitoring::metrics;
use crate::monitoring::unsent::Unsent;
use crate::replace::{self, FileState};
use crate::store::{ClaimName, ClaimStore, ClaimUpdate, Outcome, StoreError};
use crate::value::Value;

/// The only API version of ResourceClaim that is read.
const API_VERSION: &str = "resource.k8s.io/v1";

/// How often a write is tried anew because another program has changed the file meanwhile.
const ATTEMPTS: usize = 5;

/// The claims in the `*.yaml`, `*.yml` and `*.json` files of one directory.
///
/// A file may change at any time, by any program: each update reads it anew. One update is at work at a time, in
/// the order that they were asked for, so that every guest has its turn.
#[derive(Debug, Clone)]
pub struct ClaimFiles(Arc<Mutex<Directory>>);

#[derive(Debug)]
struct Directory {
    path: PathBuf,
    /// Where a claim was last found. Only a hint: the file says what it holds.
    found: HashMap<ClaimName, PathBuf>,
    /// What is not written yet, by claim.
    unsent: HashMap<ClaimName, Unsent>,
}

/// How many unreadable files are named when a claim is not found: it may be in one of them.
const PROBLEMS_NAMED: usize = 5;

/// One claim in its file.
struct Found {
    path: PathBuf,
    format: Format,
    documents: Vec<Value>,
    index: usize,
    state: FileState,
}

impl ClaimFiles {
    /// The claims of a directory, which files may still be put into.
    pub fn new(directory: PathBuf) -> Self {
        Self(Arc::new(Mutex::new(Directory {
            path: directory,
            found: HashMap::new(),
            unsent: HashMap::new(),
        })))
    }

    /// Every claim of the directory, and what is wrong with files that cannot be read.
    ///
    /// # Errors
    /// The directory itself cannot be read.
    pub async fn survey(&self) -> Result<(Vec<ClaimName>, Vec<String>), StoreError> {
        let mut directory = self.0.lock().await;
        let mut problems = Vec::new();
        directory.scan(&mut problems)?;
        let mut claims: Vec<ClaimName> = directory.found.keys().cloned().collect();
        claims.sort();
        Ok((claims, problems))
    }
}

impl ClaimStore for ClaimFiles {
    async fn update(&self, claim: &ClaimName, update: ClaimUpdate) -> Result<Outcome, StoreError> {
        // Tokio's lock is fair: a guest that says much waits behind one that says little.
        let mut directory = Arc::clone(&self.0).lock_owned().await;
        let claim = claim.clone();
        tokio::task::spawn_blocking(move || directory.counted_update(&claim, &update))
            .await
            .map_err(|error| StoreError(format!("the write was broken off: {error}")))?
    }
}

impl Directory {
    /// Its claims are those of the guests on the command line, so what is remembered is bounded.
    fn counted_update(
        &mut self,
        claim: &ClaimName,
        update: &ClaimUpdate,
    ) -> Result<Outcome, StoreError> {
        let unsent = self.unsent.entry(claim.clone()).or_default();
        unsent.begin();
        let updated = self.update(claim, update);
        if let (Ok(outcome), Some(unsent)) = (&updated, self.unsent.get(claim)) {
            metrics::put(outcome.changed, unsent);
        } else {
            metrics::apply(ApplyOutcome::Failed);
            metrics::failure(Operation::Apply, FailureReason::File);
        }
        updated
    }

    fn update(&mut self, claim: &ClaimName, update: &ClaimUpdate) -> Result<Outcome, StoreError> {
        for _ in 0..ATTEMPTS {
            let mut found = self.find(claim)?;
            let Some(value) = found.documents.get_mut(found.index) else {
                continue;
            };
            let outcome = merge(value, update, Timestamp::now());
            if !outcome.changed {
                return Ok(outcome);
            }
            let place = |words: String| StoreError(format!("{}: {words}", found.path.display()));
            let text = found.format.render(&found.documents).map_err(place)?;
            let written = replace::replace(&found.path, &text, found.state).map_err(|error| {
                place(format!(
                    "the file cannot be replaced: {error}; the relay needs to write to it and to its directory"
                ))
            })?;
            if written {
                return Ok(outcome);
            }
        }
        Err(StoreError(format!(
            "{claim}: its file was changed by another program {ATTEMPTS} times while it was to be written"
        )))
    }

    fn find(&mut self, claim: &ClaimName) -> Result<Found, StoreError> {
        if let Some(path) = self.found.get(claim)
            && let Ok(Some(found)) = open_claim(path, claim)
        {
            return Ok(found);
        }
        let mut problems = Vec::new();
        self.scan(&mut problems)?;
        let Some(path) = self.found.get(claim) else {
            let mut text = format!(
                "{claim}: no *.yaml, *.yml or *.json file in {} holds this ResourceClaim of {API_VERSION}",
                self.path.display()
            );
            for problem in problems.iter().take(PROBLEMS_NAMED) {
                text = format!("{text}; {problem}");
            }
            return Err(StoreError(text));
        };
        match open_claim(path, claim) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(StoreError(format!(
                "{claim}: {} was changed while it was read",
                path.display()
            ))),
            Err(error) => Err(StoreError(error.to_string())),
        }
    }

    /// Finds every claim anew. A claim that two files hold is none: nobody could say which one counts.
    fn scan(&mut self, problems: &mut Vec<String>) -> Result<(), StoreError> {
        let failed = |error: std::io::Error| {
            StoreError(format!(
                "{}: the directory of claims cannot be read: {error}",
                self.path.display()
            ))
        };
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
        paths.sort();

        let mut found: HashMap<ClaimName, Vec<PathBuf>> = HashMap::new();
        for path in paths {
            let Some(format) = Format::of(&path) else {
                continue;
            };
            match open(&path, format) {
                Ok((documents, _)) => {
                    for document in &documents {
                        match claim_name(document) {
                            Ok(Some(claim)) => found.entry(claim).or_default().push(path.clone()),
                            Ok(None) => {}
                            Err(problem) => {
                                problems.push(format!("{}: {problem}", path.display()));
                            }
                        }
                    }
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        self.found.clear();
        for (claim, mut paths) in found {
            match (paths.pop(), paths.pop()) {
                (Some(path), None) => {
                    self.found.insert(claim, path);
                }
                (Some(one), Some(other)) => problems.push(format!(
                    "{claim} stands twice, in {} and in {}: leave one",
                    other.display(),
                    one.display()
                )),
                (None, _) => {}
            }
        }
        Ok(())
    }
}

fn open(path: &Path, format: Format) -> Result<(Vec<Value>, FileState), ReadError> {
    let (text, state) = replace::read(path)?;
    let documents = format.parse(&path.display().to_string(), &text)?;
    Ok((documents, state))
}

fn open_claim(path: &Path, claim: &ClaimName) -> Result<Option<Found>, ReadError> {
    let Some(format) = Format::of(path) else {
        return Ok(None);
    };
    let (documents, state) = open(path, format)?;
    let index = documents
        .iter()
        .position(|document| claim_name(document).is_ok_and(|name| name.as_ref() == Some(claim)));
    Ok(index.map(|index| Found {
        path: path.to_owned(),
        format,
        documents,
        index,
        state,
    }))
}

/// The name of a ResourceClaim; `None` for an object of another kind.
fn claim_name(document: &Value) -> Result<Option<ClaimName>, String> {
    if document.text("kind") != Some("ResourceClaim") {
        return Ok(None);
    }
    match document.text("apiVersion") {
        Some(API_VERSION) => {}
        other => {
            return Err(format!(
                "a ResourceClaim of apiVersion {:?} is not read: {API_VERSION} is",
                other.unwrap_or_default()
            ));
        }
    }
    let metadata = document.get("metadata").unwrap_or(&Value::Null);
    let name = metadata
        .text("name")
        .ok_or("a ResourceClaim has no metadata.name")?;
    let parse = |text: &str| text.parse().map_err(|error| format!("metadata: {error}"));
    Ok(Some(ClaimName {
        // As kubectl has it for an object that names none.
        namespace: parse(metadata.text("namespace").unwrap_or("default"))?,
        name: parse(name)?,
    }))
}
