//! A generated image: a PNG that is small enough to be an icon in a list.

use bowline::server::base64;
use bowline::types::common::Icon;

/// Returns the icon, as a data URI.
pub(super) fn knot() -> Vec<Icon> {
    let src = format!("data:image/png;base64,{}", base64(&png()));
    vec![
        Icon::new(src)
            .mime_type("image/png")
            .sizes(["16x16".to_owned()]),
    ]
}

/// Returns the image: 16 by 16 pixels of two colours (PNG, W3C 2003).
pub(super) fn png() -> Vec<u8> {
    // Width, height, one bit per pixel, with a palette.
    let header = [0, 0, 0, 16, 0, 0, 0, 16, 1, 3, 0, 0, 0];
    let palette = [0xff, 0xff, 0xff, 0xb5, 0x65, 0x1d];
    // Each line begins with its filter type, none.
    let pixels: Vec<u8> = PICTURE
        .iter()
        .flat_map(|line| [0, line.to_be_bytes()[0], line.to_be_bytes()[1]])
        .collect();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"PLTE", &palette);
    chunk(&mut png, b"IDAT", &stored(&pixels));
    chunk(&mut png, b"IEND", &[]);
    png
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    png.extend(length.to_be_bytes());
    let begin = png.len();
    png.extend(kind);
    png.extend(data);
    let sum = crc(&png[begin..]);
    png.extend(sum.to_be_bytes());
}

/// Returns a zlib stream of one uncompressed block (RFC 1950, RFC 1951).
fn stored(data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
    let mut zlib = vec![0x78, 0x01, 0x01];
    zlib.extend(length.to_le_bytes());
    zlib.extend((!length).to_le_bytes());
    zlib.extend(data);
    let (mut first, mut second) = (1_u32, 0_u32);
    for byte in data {
        first = (first + u32::from(*byte)) % 65521;
        second = (second + first) % 65521;
    }
    zlib.extend((second << 16 | first).to_be_bytes());
    zlib
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

/// A loop of rope, with its end tucked through.
const PICTURE: [u16; 16] = [
    0b0000_0111_1110_0000,
    0b0001_1111_1111_1000,
    0b0011_1000_0001_1100,
    0b0111_0000_0000_1110,
    0b0110_0000_0000_0110,
    0b0110_0000_0000_0110,
    0b0110_0000_0000_0110,
    0b0111_0000_0000_1110,
    0b0011_1000_0001_1100,
    0b0001_1111_1111_1000,
    0b0000_1111_1111_0000,
    0b0001_1110_0111_1000,
    0b0011_1000_0001_1100,
    0b0111_0000_0000_1110,
    0b0110_0000_0000_0110,
    0b0110_0000_0000_0110,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_follow_the_standards() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert!(stored(b"Wikipedia").ends_with(&[0x11, 0xe6, 0x03, 0x98]));
    }

    #[test]
    fn the_icon_is_small() {
        let png = png();
        assert!(
            png.starts_with(b"\x89PNG") && png.len() < 200,
            "{}",
            png.len()
        );
    }
}
