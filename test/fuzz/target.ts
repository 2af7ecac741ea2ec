import { Malformed } from '../../src/base/malformed.ts'

/** A reader of bytes of the other side, with what must hold of all that it returns. `scratch` is a folder for files. */
export type Target = (bytes: Buffer, scratch: string) => Promise<void>

export function expect(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise)
}

/** Ends a target whose reader refuses the bytes by what it returns. */
export function refuse(why: string): never {
  if (why === '') throw new Error('it is refused for no reason')
  throw new Malformed(why)
}
