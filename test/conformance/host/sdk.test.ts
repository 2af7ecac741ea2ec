import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Mirror } from '../../support/mirror.ts'
import { temporaryFolder } from '../../support/temporary.ts'

const PROGRAM = fileURLToPath(new URL('../../support/clients/sdk-program.mjs', import.meta.url))

test('the skills of a server that was built with the 1.x SDK are mirrored by its index, and followed when it tells of a change', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'acme', 'refunds'), { recursive: true })
  const write = (name: string, text: string): Promise<void> => writeFile(join(folder.path, 'acme/refunds', name), text)
  await write('SKILL.md', DOCUMENT)
  await write('policy.md', 'thirty days\n')
  await using mirror = await Mirror.start({
    sdk: `mcp: { command: "${process.execPath}", args: ${JSON.stringify([PROGRAM, folder.path])} }, approval: none`,
  })

  const listed = await mirror.listed()
  const first = await mirror.bytesOf(POLICY)
  mirror.daemon.poll()
  // Whether it is listened to yet, nothing tells: it is told again until something comes of it.
  while (String(await mirror.bytesOf(POLICY)) !== 'sixty days\n') {
    await write('policy.md', 'sixty days\n')
    await setTimeout(100)
  }

  expect(listed).toEqual([
    {
      uri: 'skill://sdk/acme/refunds/SKILL.md',
      frontmatter: { name: 'refunds', description: 'How to refund' },
      resources: [resource('skill://sdk/acme/refunds/SKILL.md', DOCUMENT), resource(POLICY, 'thirty days\n')],
    },
  ])
  expect(mirror.source('sdk').form).toBe('index')
  expect(String(first)).toBe('thirty days\n')
})

const POLICY = 'skill://sdk/acme/refunds/policy.md'
const DOCUMENT = '---\nname: refunds\ndescription: How to refund\n---\nbody\n'

function resource(uri: string, text: string): object {
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
  return { uri, digest, size: Buffer.byteLength(text) }
}
