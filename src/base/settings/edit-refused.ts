/** A file of settings that cannot be edited safely. The message is for a person, and has no value of the file. */
export class EditRefused extends Error {
  override readonly name = 'EditRefused'
  /** `differs`: the file is valid, and has another value where the edit has its own. */
  readonly kind: 'invalid' | 'differs'

  constructor(kind: 'invalid' | 'differs', message: string) {
    super(message)
    this.kind = kind
  }
}

/** The number of the line at that offset, from 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
