//! Requests and answers for the fuzz targets (`fuzz/`); no part of the public API.

use super::message::{Answer, Failed, Request};
use sardonyx_storage::remote_log::store::{Appended, Listed, Register, RegisterVersion};

/// Decodes a body as a request and as an answer; the result is encoded and reads back as the same.
///
/// # Panics
/// If it does not read back as the same.
pub fn decode(body: &[u8]) {
    if let Ok(request) = Request::decode(body) {
        let again = request.encode();
        assert_eq!(Request::decode(&again).ok(), Some(request));
    }
    if let Ok(answer) = Answer::decode(body) {
        let again = answer.encode();
        assert_eq!(Answer::decode(&again).ok(), Some(answer));
    }
}

/// Bodies of most kinds.
pub fn bodies() -> Vec<Vec<u8>> {
    let version = RegisterVersion("v1".into());
    let requests = [
        Request::AppendAt(7, b"an entry"),
        Request::ReadSeveral(vec![1, 2]),
        Request::List(1),
        Request::SwapRegister(Register::Boundary, Some(version), b"bytes"),
        Request::CreateObject("base/1/head", b"bytes"),
    ];
    let answers = [
        Answer::Appended(Appended::Conflict),
        Answer::Found(vec![None, Some(b"an entry".to_vec())]),
        Answer::Listed(vec![Listed {
            number: 1,
            bytes: 9,
        }]),
        Answer::Failed(Failed::NotNow {
            what: "append".into(),
            reason: "full".into(),
        }),
    ];
    let requests = requests.iter().map(Request::encode);
    requests.chain(answers.iter().map(Answer::encode)).collect()
}
