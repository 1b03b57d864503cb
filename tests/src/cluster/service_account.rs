//! Service accounts, what they may do, and tokens of theirs as the kubelet gets them for pods.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::client::Client;
use crate::wait;

/// A service account of the namespace `default`.
#[derive(Debug, Clone)]
pub struct ServiceAccount {
    name: String,
    admin: Client,
}

impl ServiceAccount {
    /// Creates one that may do what `rules`, those of a `ClusterRole`, say.
    ///
    /// # Errors
    /// When the API server refuses it. So for all that follows.
    pub fn create(admin: &Client, name: &str, rules: &[Value]) -> Result<Self> {
        let create = |path: &str, object: Value| {
            let what = || format!("{path} for the service account {name}");
            admin.create(path, &object)?.object().with_context(what)
        };
        create(
            "/api/v1/namespaces/default/serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
        )?;
        create(
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name}, "rules": rules,
            }),
        )?;
        create(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": name}],
            }),
        )?;
        let account = Self {
            name: name.to_owned(),
            admin: admin.clone(),
        };
        for rule in rules {
            account.wait_for(rule)?;
        }
        Ok(account)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API server reads roles from a cache of its own, some milliseconds later.
    fn wait_for(&self, rule: &Value) -> Result<()> {
        let first = |key: &str| {
            let value = rule.pointer(&format!("/{key}/0"));
            value.and_then(Value::as_str).unwrap_or_default()
        };
        let (resource, subresource) = first("resources")
            .split_once('/')
            .unwrap_or((first("resources"), ""));
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": format!("system:serviceaccount:default:{}", self.name),
                "resourceAttributes": {
                    "namespace": "default", "group": first("apiGroups"), "resource": resource,
                    "subresource": subresource, "verb": first("verbs"),
                    "name": first("resourceNames"),
                },
            },
        });
        let what = format!("the rule {rule} of {}", self.name);
        wait::until(&what, wait::PATIENCE, || {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let answer = self.admin.create(path, &review)?.object()?;
            let allowed = answer.pointer("/status/allowed") == Some(&Value::Bool(true));
            Ok(allowed.then_some(()))
        })
    }

    /// A client with a token that is bound to a pod of the account on that node: the API server knows
    /// the node by it. Creates the node, where it is not there, and the pod.
    ///
    /// # Errors
    /// See [`ServiceAccount::create`].
    pub fn on_node(&self, node: &str) -> Result<Client> {
        Ok(self.admin.with_token(&self.token_on_node(node)?))
    }

    /// The token of [`ServiceAccount::on_node`].
    ///
    /// # Errors
    /// See [`ServiceAccount::create`].
    pub fn token_on_node(&self, node: &str) -> Result<String> {
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}});
        let answer = self.admin.create("/api/v1/nodes", &object)?;
        if answer.status != 409 {
            answer.object()?;
        }
        let pod = self
            .admin
            .create(
                "/api/v1/namespaces/default/pods",
                &json!({
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": format!("{}-{node}", self.name)},
                    "spec": {
                        "serviceAccountName": self.name,
                        "nodeName": node,
                        "containers": [{"name": "main", "image": "none"}],
                    },
                }),
            )?
            .object()?;
        self.request_token(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "name": pod.pointer("/metadata/name"), "uid": pod.pointer("/metadata/uid"),
        }))
    }

    /// A client with a token that is bound to nothing: the API server knows no node by it.
    ///
    /// # Errors
    /// See [`ServiceAccount::create`].
    pub fn anywhere(&self) -> Result<Client> {
        Ok(self.admin.with_token(&self.request_token(&Value::Null)?))
    }

    fn request_token(&self, bound_to: &Value) -> Result<String> {
        let path = format!(
            "/api/v1/namespaces/default/serviceaccounts/{}/token",
            self.name
        );
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [], "expirationSeconds": 3600, "boundObjectRef": bound_to},
        });
        let answer = self.admin.create(&path, &request)?.object()?;
        answer
            .pointer("/status/token")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .context("the TokenRequest has no token")
    }
}
