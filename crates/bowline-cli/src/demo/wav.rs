//! A generated tone as WAV audio.

use std::f32::consts::TAU;

/// Samples per second.
const RATE: u32 = 8000;

/// Returns a tone of a tenth of a second: one channel, eight bits per sample.
pub(super) fn tone(hertz: f32) -> Vec<u8> {
    let samples = RATE / 10;
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((36 + samples).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    // PCM, one channel.
    wav.extend([1, 0, 1, 0]);
    wav.extend(RATE.to_le_bytes());
    // Bytes per second, bytes per sample, bits per sample.
    wav.extend(RATE.to_le_bytes());
    wav.extend([1, 0, 8, 0]);
    wav.extend(b"data");
    wav.extend(samples.to_le_bytes());
    wav.extend((0..samples).map(|at| {
        let angle = TAU * hertz * at as f32 / RATE as f32;
        // Silence is 128; a cast to `u8` stays within its range.
        (128.0 + 60.0 * angle.sin()) as u8
    }));
    wav
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_length() {
        let wav = tone(440.0);
        let length = u32::from_le_bytes([wav[4], wav[5], wav[6], wav[7]]);
        assert_eq!(length as usize + 8, wav.len());
        assert_eq!(wav.len(), 844);
    }
}
