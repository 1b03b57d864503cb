//! A blocking client of the API server, for tests: what is sent and what comes back is plain JSON, so
//! that a test sees the server's own words.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, SendBody, http::Response};

/// One user's way to the API server.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    server: String,
    authorization: String,
}

/// What the API server answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The object, or a `Status` that says why there is none.
    pub body: Value,
}

impl Client {
    /// A client of the server at `https://127.0.0.1:PORT`, whose certificate is in a PEM file together
    /// with the authority that signed it.
    pub(super) fn new(port: u16, certificates: &Path, token: &str) -> Result<Self> {
        let pem = fs::read(certificates)
            .with_context(|| format!("the certificate {}", certificates.display()))?;
        let authorities = parse_pem(&pem)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })
            .collect::<Result<Vec<_>, _>>()
            .with_context(|| format!("the certificate {}", certificates.display()))?;
        // The API server makes the file before it writes it; a client without authorities trusts nobody.
        ensure!(
            !authorities.is_empty(),
            "{} holds no certificate yet",
            certificates.display()
        );
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(authorities)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            // The server is on this machine, whatever the environment says of proxies.
            .proxy(None)
            .build()
            .new_agent();
        Ok(Self {
            agent,
            server: format!("https://127.0.0.1:{port}"),
            authorization: format!("Bearer {token}"),
        })
    }

    /// The same server for another user.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            authorization: format!("Bearer {token}"),
            ..self.clone()
        }
    }

    /// Reads what is at `path`.
    ///
    /// # Errors
    /// When no answer comes. So for all requests; a refusal is an answer.
    pub fn get(&self, path: &str) -> Result<Answer> {
        let request = self.agent.get(self.url(path));
        answer(request.header("Authorization", &self.authorization).call())
            .with_context(|| format!("GET {path}"))
    }

    /// Creates an object in the collection at `path`.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub fn create(&self, path: &str, object: &Value) -> Result<Answer> {
        let request = self.agent.post(self.url(path));
        answer(
            request
                .header("Authorization", &self.authorization)
                .send_json(object),
        )
        .with_context(|| format!("POST {path}"))
    }

    /// Replaces the object, or its subresource, at `path`.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub fn replace(&self, path: &str, object: &Value) -> Result<Answer> {
        let request = self.agent.put(self.url(path));
        answer(
            request
                .header("Authorization", &self.authorization)
                .send_json(object),
        )
        .with_context(|| format!("PUT {path}"))
    }

    /// Server-side apply of the fields that `manager` owns from now on; it does not take those of
    /// others.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub fn apply(&self, path: &str, manager: &str, fields: &Value) -> Result<Answer> {
        let request = self
            .agent
            .patch(self.url(path))
            .query("fieldManager", manager);
        answer(
            request
                .header("Authorization", &self.authorization)
                // JSON is YAML.
                .content_type("application/apply-patch+yaml")
                .send(fields.to_string()),
        )
        .with_context(|| format!("PATCH {path}"))
    }

    /// Changes the object, or its subresource, at `path` as `patch` says, in the form `content_type`.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub fn patch(&self, path: &str, content_type: &str, patch: &Value) -> Result<Answer> {
        let request = self.agent.patch(self.url(path));
        answer(
            request
                .header("Authorization", &self.authorization)
                .content_type(content_type)
                .send(patch.to_string()),
        )
        .with_context(|| format!("PATCH {path}"))
    }

    /// Begins a patch of the object at `path`, whose body comes from `body`; the API server is at work on it for as long
    /// as that takes, a minute at most.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub fn patch_from(&self, path: &str, body: impl Read + 'static) -> Result<Answer> {
        let request = self
            .agent
            .patch(self.url(path))
            .query("fieldManager", "test")
            .header("Authorization", &self.authorization)
            .content_type("application/apply-patch+yaml");
        let request = request.config().timeout_global(None).build();
        answer(request.send(SendBody::from_owned_reader(body)))
            .with_context(|| format!("PATCH {path}"))
    }

    /// Deletes the object at `path`; it may take its time to go.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub fn delete(&self, path: &str) -> Result<Answer> {
        let request = self.agent.delete(self.url(path));
        answer(request.header("Authorization", &self.authorization).call())
            .with_context(|| format!("DELETE {path}"))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }
}

fn answer(response: Result<Response<Body>, ureq::Error>) -> Result<Answer> {
    let mut response = response?;
    let status = response.status().as_u16();
    let text = response.body_mut().read_to_string()?;
    // Health checks answer with plain words.
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer { status, body })
}

impl Answer {
    /// The object, when the server did as it was asked.
    ///
    /// # Errors
    /// When it did not; the error has its words.
    pub fn object(self) -> Result<Value> {
        if !(200..300).contains(&self.status) {
            bail!("the API server answers {}: {}", self.status, self.message());
        }
        Ok(self.body)
    }

    /// What a `Status` says in words; empty for an object.
    pub fn message(&self) -> &str {
        match &self.body {
            Value::String(text) => text,
            body => body
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        }
    }
}
