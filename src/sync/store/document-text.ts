import { isUtf8 } from 'node:buffer'
import type { SharedDocuments } from './postgres/shared-documents.ts'
import { DamagedText } from './shared-text.ts'
import type { SharedText } from './shared-text.ts'

/** A document of the database as a text that each process of the hub changes. */
export function documentText(documents: SharedDocuments, name: string): SharedText {
  return {
    async read() {
      const { version, bytes } = await documents.read(name)
      if (bytes === undefined) return { version, text: undefined }
      if (!isUtf8(bytes)) throw new DamagedText(name)
      return { version, text: Buffer.from(bytes).toString() }
    },
    swap: async (version, text) => documents.swap(name, version, Buffer.from(text)),
  }
}
