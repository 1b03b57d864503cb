//! Which pod the container belongs to, by the annotations of its runtime.

use device_attributes::{Name, Pod};
use serde::Deserialize;

/// The annotations that name the pod.
///
/// containerd writes `io.kubernetes.cri.*` itself. CRI-O writes `io.kubernetes.cri-o.*` and passes
/// on the kubelet's labels `io.kubernetes.pod.*`, together with every annotation of the pod.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct PodAnnotations {
    #[serde(default, rename = "io.kubernetes.cri.sandbox-namespace")]
    containerd_namespace: Option<String>,
    #[serde(default, rename = "io.kubernetes.cri.sandbox-name")]
    containerd_name: Option<String>,
    #[serde(default, rename = "io.kubernetes.cri.sandbox-uid")]
    containerd_uid: Option<String>,
    #[serde(default, rename = "io.kubernetes.cri-o.ContainerType")]
    crio_container_type: Option<String>,
    #[serde(default, rename = "io.kubernetes.cri-o.Namespace")]
    crio_namespace: Option<String>,
    #[serde(default, rename = "io.kubernetes.cri-o.KubeName")]
    crio_name: Option<String>,
    #[serde(default, rename = "io.kubernetes.pod.namespace")]
    label_namespace: Option<String>,
    #[serde(default, rename = "io.kubernetes.pod.name")]
    label_name: Option<String>,
    #[serde(default, rename = "io.kubernetes.pod.uid")]
    label_uid: Option<String>,
}

impl PodAnnotations {
    /// The pod, where the annotations name one; else why not, if they try to.
    pub(crate) fn pod(&self) -> Result<Option<Pod>, String> {
        // CRI-O passes on any annotation that the pod's author chose, so containerd's keys count
        // only where CRI-O did not write its own.
        let from_containerd = self.crio_container_type.is_none()
            && (self.containerd_namespace.is_some() || self.containerd_name.is_some());
        let (namespace, name, uid) = if from_containerd {
            (
                &self.containerd_namespace,
                &self.containerd_name,
                &self.containerd_uid,
            )
        } else {
            (
                &self
                    .label_namespace
                    .as_ref()
                    .or(self.crio_namespace.as_ref())
                    .cloned(),
                &self
                    .label_name
                    .as_ref()
                    .or(self.crio_name.as_ref())
                    .cloned(),
                &self.label_uid,
            )
        };
        let (Some(namespace), Some(name)) = (namespace, name) else {
            return Ok(None);
        };
        let valid = |text: &str| {
            text.parse::<Name>().map_err(|error| {
                format!("the pod is left out, its annotations are not usable: {error}")
            })
        };
        Ok(Some(Pod {
            namespace: valid(namespace)?,
            name: valid(name)?,
            uid: uid.as_deref().map(valid).transpose()?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(json: &str) -> Result<Option<Pod>, String> {
        serde_json::from_str::<PodAnnotations>(json).unwrap().pod()
    }

    fn expected(namespace: &str, name: &str, uid: Option<&str>) -> Pod {
        Pod {
            namespace: namespace.parse().unwrap(),
            name: name.parse().unwrap(),
            uid: uid.map(|uid| uid.parse().unwrap()),
        }
    }

    #[test]
    fn containerd_and_crio_name_the_pod() {
        let containerd = pod(
            r#"{"io.kubernetes.cri.sandbox-namespace":"ns","io.kubernetes.cri.sandbox-name":"p","io.kubernetes.cri.sandbox-uid":"u"}"#,
        );
        assert_eq!(containerd, Ok(Some(expected("ns", "p", Some("u")))));
        let labels = pod(
            r#"{"io.kubernetes.cri-o.ContainerType":"container","io.kubernetes.pod.namespace":"ns","io.kubernetes.pod.name":"p","io.kubernetes.pod.uid":"u"}"#,
        );
        assert_eq!(labels, Ok(Some(expected("ns", "p", Some("u")))));
        let own =
            pod(r#"{"io.kubernetes.cri-o.Namespace":"ns","io.kubernetes.cri-o.KubeName":"p"}"#);
        assert_eq!(own, Ok(Some(expected("ns", "p", None))));
    }

    #[test]
    fn an_author_of_a_pod_cannot_rename_it_under_crio() {
        let pod = pod(
            r#"{"io.kubernetes.cri.sandbox-namespace":"kube-system","io.kubernetes.cri.sandbox-name":"x",
                "io.kubernetes.cri-o.ContainerType":"container",
                "io.kubernetes.pod.namespace":"ns","io.kubernetes.pod.name":"p"}"#,
        );
        assert_eq!(pod, Ok(Some(expected("ns", "p", None))));
    }

    #[test]
    fn no_pod_is_no_error_and_a_bad_name_is_told() {
        assert_eq!(pod("{}"), Ok(None));
        assert_eq!(pod(r#"{"io.podman.annotations.init":"FALSE"}"#), Ok(None));
        let told = pod(
            r#"{"io.kubernetes.cri.sandbox-namespace":"a b","io.kubernetes.cri.sandbox-name":"p"}"#,
        )
        .unwrap_err();
        assert!(told.contains("\"a b\" is not a Kubernetes name"), "{told}");
    }
}
