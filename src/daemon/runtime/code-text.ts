/** The meaning of a code, for people. */
export interface CodeText {
  /** The fact; for a check of the machine, all that it looks at. */
  readonly meaning: string
  /** The next step for the operator, unless each message has its own. */
  readonly fix?: string
}
