//! The values of the labels: fixed sets, so that no guest and no API server can make series.

/// Makes an enumeration whose values are those of a label.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $value,)*
        }

        impl $name {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$value,)*];

            /// As the label has it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }
    };
}

label! {
    /// What came of a report.
    ReportOutcome {
        /// All of it stands on claims.
        Taken = "taken",
        /// Some of it does not: the answer to the guest has the problems.
        WithProblems = "with_problems",
    }
}

impl ReportOutcome {
    /// The outcome of a report with these problems.
    pub const fn of(problems: &[String]) -> Self {
        if problems.is_empty() {
            Self::Taken
        } else {
            Self::WithProblems
        }
    }
}

label! {
    /// What came of putting the newest words on a claim.
    ApplyOutcome {
        /// They were written.
        Written = "written",
        /// They stand there already: nothing was sent.
        Unchanged = "unchanged",
        /// They are kept, and tried again.
        Failed = "failed",
    }
}

label! {
    /// What the relay did when something failed.
    Operation {
        /// A claim was read.
        Read = "read",
        /// A claim was written.
        Apply = "apply",
        /// Objects were listed or watched.
        Watch = "watch",
        /// An Event was sent.
        Event = "event",
        /// A pod was annotated.
        Annotate = "annotate",
    }
}

label! {
    /// Why something failed.
    FailureReason {
        /// 401.
        Unauthorized = "unauthorized",
        /// 403.
        Forbidden = "forbidden",
        /// 404.
        NotFound = "not_found",
        /// 409.
        Conflict = "conflict",
        /// 410.
        Gone = "gone",
        /// 422.
        Invalid = "invalid",
        /// 429.
        TooManyRequests = "too_many_requests",
        /// From 500 on.
        ServerError = "server_error",
        /// Any other answer.
        OtherAnswer = "other_answer",
        /// No answer in time.
        Timeout = "timeout",
        /// No answer at all.
        Unreachable = "unreachable",
        /// With `--claims`: a file or the directory.
        File = "file",
    }
}

impl FailureReason {
    /// The reason of an HTTP status that is an error.
    pub const fn of_status(code: u16) -> Self {
        match code {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            409 => Self::Conflict,
            410 => Self::Gone,
            422 => Self::Invalid,
            429 => Self::TooManyRequests,
            500.. => Self::ServerError,
            _ => Self::OtherAnswer,
        }
    }
}

label! {
    /// The bound that a line of a guest, or its answer, did not keep.
    Bound {
        /// It is too long.
        Bytes = "line_bytes",
        /// It did not come to its end in time.
        Time = "line_time",
        /// The guest did not take the answer in time.
        AnswerTime = "answer_time",
        /// The first line is no hello.
        FirstLine = "first_line",
        /// It is not of the protocol.
        Protocol = "protocol",
    }
}

label! {
    /// What came of a write of a pod's annotation.
    AnnotationOutcome {
        /// The pod has it.
        Written = "written",
        /// It is tried again.
        Failed = "failed",
    }
}

label! {
    /// What came of an Event.
    EventOutcome {
        /// The API server has it.
        Sent = "sent",
        /// It came too soon after others.
        HeldBack = "held_back",
        /// The API server did not take it.
        Failed = "failed",
    }
}
