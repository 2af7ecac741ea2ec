import { DELIMITER, FLUSH, packet } from '../../src/base/pkt-line.ts'
import { readCommand, readUploadRequest } from '../../src/features/marketplace/git/fetch-request.ts'
import type { FetchRequest } from '../../src/features/marketplace/git/fetch-request.ts'
import { expect } from './target.ts'
import type { Target } from './target.ts'

/** Readers of what clients of git send. */
export const GIT_REQUESTS = {
  'git-command': async (bytes) => {
    const command = readCommand(bytes)
    if (command.name === 'fetch') expectIds(command.fetch)
    else expect(command.prefixes.join('').length <= bytes.length, 'more came out than went in')
  },
  'upload-request': async (bytes) => expectIds(readUploadRequest(bytes)),
} as const satisfies Readonly<Record<string, Target>>

function expectIds({ wants, haves }: FetchRequest): void {
  expect(
    [...wants, ...haves].every((id) => /^[0-9a-f]{40}$/.test(id)),
    'an id is none',
  )
}

const [ID, OTHER] = ['1'.repeat(40), '2'.repeat(40)]

function bytesOf(...lines: readonly (string | Buffer)[]): string {
  return Buffer.concat(lines.map((line) => (typeof line === 'string' ? packet(`${line}\n`) : line))).toString()
}

export const GIT_REQUEST_SEEDS: Readonly<Record<keyof typeof GIT_REQUESTS, readonly string[]>> = {
  'git-command': [
    bytesOf('command=ls-refs', 'agent=git/2.39', DELIMITER, 'peel', 'symrefs', 'ref-prefix HEAD', FLUSH),
    bytesOf('command=fetch', 'object-format=sha1', DELIMITER, 'ofs-delta', `want ${ID}`, 'done', FLUSH),
    bytesOf('command=fetch', DELIMITER, `want ${ID}`, `have ${OTHER}`, `shallow ${OTHER}`, 'deepen 1', FLUSH),
  ],
  'upload-request': [
    bytesOf(`want ${ID} side-band-64k agent=git/2.39`, FLUSH, 'done'),
    bytesOf(`want ${ID} side-band-64k`, 'deepen 1', FLUSH, `have ${OTHER}`, FLUSH),
  ],
}
