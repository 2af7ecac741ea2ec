/**
 * Bytes of the other side are not what they have to be. A class of its own: a `RangeError` that the engine throws, for a length
 * that nobody checked, is a fault of ours.
 */
export class Malformed extends RangeError {
  override readonly name = 'Malformed'
}
