import { expect, test } from 'vitest'
import { FLUSH, packet } from '../../../../src/base/pkt-line.ts'
import { startFront } from '../../upstream/front.ts'
import { reach, STEADY } from '../../upstream/reached.ts'
import { ABSENT } from '../../upstream/sample.ts'
import { failureOf } from '../../upstream/served.ts'

const SERVICE = Buffer.concat([packet('# service=git-upload-pack\n'), FLUSH])
const NONE = '0'.repeat(40)
const [MAIN, TAG, COMMIT] = [ABSENT.sha1, 'a'.repeat(40), 'b'.repeat(40)]
const REFS = [
  `${MAIN} HEAD\0multi_ack side-band-64k symref=HEAD:refs/heads/main symref=refs/heads/also:refs/heads/main agent=git/2\n`,
  `${MAIN} refs/heads/main\n`,
  `${TAG} refs/tags/v1\n`,
  `${COMMIT} refs/tags/v1^{}\n`,
]

test.each([
  ['the branch that HEAD leads to', undefined, { commit: MAIN, ref: 'refs/heads/main' }],
  ['a branch', 'main', { commit: MAIN }],
  ['a tag, by the commit that it leads to', 'v1', { commit: COMMIT, tag: TAG }],
])('a server that speaks version 1 alone tells %s', async (_, ref, expected) => {
  await using answering = await answers(SERVICE, ...REFS.map(packet), FLUSH)
  await using reached = await reach(answering.url, ref === undefined ? {} : { ref })

  const revision = await reached.upstream.resolve(STEADY)

  expect(revision).toMatchObject(expected)
})

test.each([
  ['has no ref and says nothing of itself', [SERVICE, FLUSH]],
  ['has no ref', [SERVICE, packet(`${NONE} capabilities^{}\0side-band-64k\n`), FLUSH]],
])('a server that speaks version 1 alone and %s has an empty repository', async (_, parts) => {
  await using answering = await answers(...parts)
  await using reached = await reach(answering.url)

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure.message).toContain('no commits')
})

test('a server that does not name the service in version 2 is understood', async () => {
  await using answering = await answers(packet('version 2\n'), packet('ls-refs\n'), packet('object-format=sha3'), FLUSH)
  await using reached = await reach(answering.url)

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringContaining('sha3') })
})

test('a server without "side-band-64k" is too old', async () => {
  await using answering = await answers(SERVICE, packet(`${MAIN} HEAD\0multi_ack\n`), FLUSH)
  await using reached = await reach(answering.url, { backend: 'embedded' })

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringContaining('side-band-64k') })
})

test.each([
  ['nothing', [FLUSH]],
  ['refs, and not for which service', [...REFS.map(packet), FLUSH]],
  ['the refs of another service', [packet('# service=git-receive-pack\n'), FLUSH, ...REFS.map(packet), FLUSH]],
  ['refs, and not what it can do', [SERVICE, packet(`${MAIN} HEAD\n`), FLUSH]],
  ['two lists of what it can do', [SERVICE, packet(`${MAIN} HEAD\0side-band-64k\0filter\n`), FLUSH]],
  ['version 3', [SERVICE, packet('version 3\n'), FLUSH]],
  ['a ref without a name', [SERVICE, packet(`${MAIN}\0side-band-64k\n`), FLUSH]],
  ['a ref without an id', [SERVICE, ...REFS.map(packet), packet('refs/heads/main\n'), FLUSH]],
])('a server that answers with %s cannot be read', async (_, parts) => {
  await using answering = await answers(...parts)
  await using reached = await reach(answering.url)

  const failure = await failureOf(reached.upstream.resolve(STEADY))

  expect(failure.code).toBe('source-unreachable')
})

/** A server that says this of itself to whoever asks. */
async function answers(...parts: readonly Buffer[]): Promise<AsyncDisposable & { readonly url: string }> {
  const front = await startFront('http://127.0.0.1:1', (_, response) => {
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' }).end(Buffer.concat(parts))
    return true
  })
  return { url: `${front.origin}/team.git`, [Symbol.asyncDispose]: () => front[Symbol.asyncDispose]() }
}
