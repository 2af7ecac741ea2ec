/**
 * The other side sent malformed bytes. This is a separate class because a `RangeError` of the engine, for an unchecked
 * length, is a bug of ours.
 */
export class Malformed extends RangeError {
  override readonly name = 'Malformed'
}
