/** A gate that was asked said nothing that counts; the message says why. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}
