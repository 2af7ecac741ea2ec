/** The error for a gate that gave no valid answer; the message gives the reason. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}
