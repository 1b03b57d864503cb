//! The rights that the relay needs at the API server, and whether it has them: docs/relay.md has the same table.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::ask::ask;
use examination::Examination;

const CHECK: &str = "rights";

/// A rule of the relay's `ClusterRole`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The API group.
    pub group: &'static str,
    /// The resource, with its subresource.
    pub resource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// Whether the names of drivers bound it.
    pub of_drivers: bool,
}

/// All of them.
pub const RULES: &[Rule] = &[
    Rule {
        group: "",
        resource: "pods",
        verbs: &["list", "watch"],
        of_drivers: false,
    },
    Rule {
        group: "kubevirt.io",
        resource: "virtualmachineinstances",
        verbs: &["list", "watch"],
        of_drivers: false,
    },
    Rule {
        group: "resource.k8s.io",
        resource: "resourceclaims",
        verbs: &["get"],
        of_drivers: false,
    },
    Rule {
        group: "resource.k8s.io",
        resource: "resourceclaims/status",
        verbs: &["patch"],
        of_drivers: false,
    },
    Rule {
        group: "resource.k8s.io",
        resource: "resourceclaims/driver",
        verbs: &["associated-node:patch"],
        of_drivers: true,
    },
    Rule {
        group: "events.k8s.io",
        resource: "events",
        verbs: &["create", "patch"],
        of_drivers: false,
    },
];

const WATCH_CLAIMS: Rule = Rule {
    group: "resource.k8s.io",
    resource: "resourceclaims",
    verbs: &["list", "watch"],
    of_drivers: false,
};

const WATCH_SLICES: Rule = Rule {
    group: "resource.k8s.io",
    resource: "resourceslices",
    verbs: &["list", "watch"],
    of_drivers: false,
};

/// Those that annotating pods takes beside them: docs/annotation.md has the same table.
pub const RULES_TO_ANNOTATE: &[Rule] = &[
    Rule {
        group: "",
        resource: "pods",
        verbs: &["patch"],
        of_drivers: false,
    },
    WATCH_CLAIMS,
    WATCH_SLICES,
];

/// Those that answering the NRI plugin takes beside them: docs/nri.md has the same table.
pub const RULES_TO_ANSWER: &[Rule] = &[WATCH_CLAIMS, WATCH_SLICES];

/// Asks the API server about each rule for answers to the NRI plugin.
pub async fn examine_answers(client: &Client, examination: &mut Examination) {
    let consequence = "dra-guest-nri is told nothing of devices without metadata";
    for rule in RULES_TO_ANSWER {
        rule.examine(client, None, consequence, examination).await;
    }
}

/// Asks the API server about each rule for annotations.
pub async fn examine_annotations(client: &Client, examination: &mut Examination) {
    for rule in RULES_TO_ANNOTATE {
        rule.examine(client, None, "pods are not annotated", examination)
            .await;
    }
}

/// Asks the API server about each rule. `asks_for_drivers`: whether it knows the rule for drivers at all.
pub async fn examine(
    client: &Client,
    drivers: &BTreeSet<String>,
    asks_for_drivers: bool,
    examination: &mut Examination,
) {
    for rule in RULES {
        let consequence = if rule.group == "events.k8s.io" {
            "no Events are sent; claims are written all the same"
        } else {
            "claims are not written"
        };
        if !rule.of_drivers {
            rule.examine(client, None, consequence, examination).await;
        } else if !asks_for_drivers {
            examination.ok(
                CHECK,
                format!(
                    "{} {}: not asked for before Kubernetes 1.36",
                    rule.resource,
                    rule.verbs.join(", ")
                ),
            );
        } else if drivers.is_empty() {
            rule.examine(client, None, consequence, examination).await;
        } else {
            for driver in drivers {
                rule.examine(client, Some(driver), consequence, examination)
                    .await;
            }
        }
    }
}

impl Rule {
    /// `consequence`: what does not work without it.
    async fn examine(
        self,
        client: &Client,
        name: Option<&str>,
        consequence: &str,
        examination: &mut Examination,
    ) {
        let mut missing = Vec::new();
        for &verb in self.verbs {
            match self.is_allowed(client, verb, name).await {
                Ok(true) => {}
                Ok(false) => missing.push(verb),
                Err(words) => {
                    examination.unknown(CHECK, format!("{}: {words}", self.resource));
                    return;
                }
            }
        }
        let of = name.map(|name| format!(" of {name}")).unwrap_or_default();
        if missing.is_empty() {
            let verbs = self.verbs.join(", ");
            examination.ok(CHECK, format!("{}{of}: {verbs}", self.resource));
            return;
        }
        if self.of_drivers && name.is_none() {
            // A rule with resourceNames answers to those names alone.
            examination.unknown(
                CHECK,
                format!(
                    "{}: not allowed for every driver, and none is known: no VM of this node has a claim; name the drivers \
                     with --driver",
                    self.resource
                ),
            );
            return;
        }
        examination.finding(
            CHECK,
            format!(
                "{}{of}: {} is not allowed: {consequence}",
                self.resource,
                missing.join(", ")
            ),
            self.advice(name),
        );
    }

    fn advice(self, name: Option<&str>) -> String {
        let names = match name {
            Some(name) => format!(", resourceNames: [{name:?}]"),
            None => String::new(),
        };
        let verbs: Vec<String> = self.verbs.iter().map(|verb| format!("{verb:?}")).collect();
        format!(
            "add to the relay's ClusterRole: {{apiGroups: [{:?}], resources: [{:?}], verbs: [{}]{names}}}",
            self.group,
            self.resource,
            verbs.join(", ")
        )
    }

    async fn is_allowed(
        self,
        client: &Client,
        verb: &str,
        name: Option<&str>,
    ) -> Result<bool, String> {
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (self.resource, None),
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(self.group.to_owned()),
                    resource: Some(resource.to_owned()),
                    subresource,
                    verb: Some(verb.to_owned()),
                    name: name.map(str::to_owned),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let api = Api::<SelfSubjectAccessReview>::all(client.clone());
        let answer = ask(api.create(&PostParams::default(), &review)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables that operators read are those that are asked about.
    #[test]
    fn the_documentation_has_these_rules() {
        expect("relay.md", include_str!("../../../docs/relay.md"), RULES);
        let text = include_str!("../../../docs/annotation.md");
        expect("annotation.md", text, RULES_TO_ANNOTATE);
        expect(
            "nri.md",
            include_str!("../../../docs/nri.md"),
            RULES_TO_ANSWER,
        );
    }

    fn expect(name: &str, text: &str, rules: &[Rule]) {
        for rule in rules {
            let verbs: Vec<String> = rule.verbs.iter().map(|verb| format!("`{verb}`")).collect();
            let group = if rule.group.is_empty() {
                "\"\""
            } else {
                rule.group
            };
            let names = if rule.of_drivers {
                ", resourceNames: the drivers"
            } else {
                ""
            };
            let row = format!(
                "| `{group}` | `{}`{names} | {} |",
                rule.resource,
                verbs.join(", ")
            );
            assert!(text.contains(&row), "docs/{name} lacks {row}");
        }
    }
}
