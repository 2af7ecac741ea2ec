/** The error for a gate that gave no valid answer; the message gives the reason. */
export class GateUnansweredError extends Error {
  override readonly name = 'Unanswered'
}
