import { isUtf8 } from 'node:buffer'
import { DamagedText } from '../store/shared-text.ts'
import type { SharedText } from '../store/shared-text.ts'
import type { SharedDocuments } from './shared-documents.ts'

/** A document of the database as a text that each process of the hub changes. */
export function documentText(documents: SharedDocuments, name: string): SharedText {
  return {
    async read() {
      const document = await documents.read(name)
      if (document === undefined) return { version: 0, text: undefined, isLost: true }
      const { version, bytes } = document
      if (bytes === undefined) return { version, text: undefined, isLost: false }
      if (!isUtf8(bytes)) throw new DamagedText(name)
      return { version, text: Buffer.from(bytes).toString(), isLost: false }
    },
    swap: async (version, text) => documents.swap(name, version, Buffer.from(text)),
  }
}
