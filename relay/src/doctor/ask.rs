//! One question to the API server.

use std::time::Duration;

use tokio::time::timeout;

use crate::cluster::refusal;

/// The longest that an answer is waited for.
pub const ANSWER: Duration = Duration::from_secs(10);

/// Waits for an answer.
///
/// # Errors
/// The API server's words, or why there are none.
pub async fn ask<T>(question: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match timeout(ANSWER, question).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(format!(
            "the API server answers {}: {}",
            status.code, status.message
        )),
        Ok(Err(error)) => Err(refusal::unanswered(&error)),
        Err(_) => Err(format!(
            "the API server has not answered for {} s",
            ANSWER.as_secs()
        )),
    }
}
