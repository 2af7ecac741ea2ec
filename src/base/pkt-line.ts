/** The end of a list of lines in git's wire protocol (gitprotocol-common). */
export const FLUSH = Buffer.from('0000')
/** The border between sections of a message of version 2. */
export const DELIMITER = Buffer.from('0001')

/** `large_packet_max` of git: the longest line, with its four digits of length. */
export const MOST_LINE_BYTES = 65_520

/** Encodes a line: four hex digits of length, then the text. */
export function packet(text: string): Buffer {
  const payload = Buffer.from(text)
  return Buffer.concat([Buffer.from(hexLength(payload.length + 4)), payload])
}

/** Encodes a frame of the side band: a line whose first byte is the band. */
export function bandFrame(band: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(payload.length + 5)
  writeBandFrame(band, payload, frame)
  return frame
}

/** Writes a frame of the side band to the start of `into`, and returns its length. */
export function writeBandFrame(band: number, payload: Uint8Array, into: Buffer): number {
  const length = payload.length + 5
  into.write(hexLength(length), 'latin1')
  into[4] = band
  into.set(payload, 5)
  return length
}

function hexLength(length: number): string {
  return length.toString(16).padStart(4, '0')
}
