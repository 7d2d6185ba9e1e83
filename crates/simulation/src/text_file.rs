//! Reading a file of text that a user named, which may be anything: a device or a pipe has no length and perhaps
//! no end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The whole text of a file of at most so many bytes.
///
/// # Errors
/// The system's error; that it is longer, or no text.
pub fn read(file: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = Vec::new();
    let mut bounded = File::open(file)?.take(bytes_max.saturating_add(1));
    bounded.read_to_end(&mut text)?;
    if text.len() as u64 > bytes_max {
        let longer = format!("it is longer than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, longer));
    }
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file, 4).unwrap(), "text");
        for (file, most) in [(file.as_path(), 3), (Path::new("/dev/zero"), 100)] {
            let refused = read(file, most).unwrap_err().to_string();
            assert!(refused.contains("longer than"), "{refused}");
        }
        std::fs::write(&file, [0xff]).unwrap();
        assert!(read(&file, 4).is_err());
    }
}
