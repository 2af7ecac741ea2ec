import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Repository } from '../support/git/repository.ts'
import { openProject } from '../support/process/installer.ts'
import { serve } from '../support/served.ts'
import type { Served } from '../support/served.ts'

const ADD = ['--agent', 'claude-code', '--copy', '--yes'] as const

const document = (name: string, body = ''): string =>
  `---\nname: ${name}\ndescription: ${name} of the tests\n---\n${body}\n`

const FILES = {
  'skills/single/SKILL.md': document('single', 'ä → 𝄞\r\nlines of both kinds\n'),
  'skills/whole/SKILL.md': document('whole'),
  'skills/whole/scripts/run.sh': { executable: '#!/bin/sh\necho hello\n' },
  'skills/whole/assets/every byte #1?.bin': Uint8Array.from({ length: 256 }, (_, byte) => byte),
  'skills/whole/assets/empty': '',
  [`skills/whole/${'deep/'.repeat(30)}file.txt`]: 'far down\n',
  'skills/twin/SKILL.md': document('twin', 'the first'),
  'hidden/SKILL.md': document('hidden'),
}

let repository: Repository
let other: Repository
let served: Served
let origin: string
beforeAll(async () => {
  repository = await Repository.create()
  await repository.commit(FILES)
  other = await Repository.create()
  await other.commit({ 'twin/SKILL.md': document('twin', 'the second') })
  served = await serve(repository, { source: ["unlisted: ['hidden']"], more: { other } })
  origin = new URL(served.url).origin
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

test('the skills installer adds every listed skill from the address of the hub, byte for byte', async () => {
  await using project = await openProject()

  const { status, printed } = await project.run('add', origin, '--skill', '*', ...ADD)

  expect(printed).not.toContain('WOULD CONNECT')
  expect(status, printed).toBe(0)
  expect(textsOf(await project.installed())).toEqual(
    textsOf(
      new Map([
        ...inRepository('skills/single', 'single'),
        ...inRepository('skills/whole', 'whole'),
        ...inRepository('skills/twin', 'fx-skills-twin'),
        ['other-twin/SKILL.md', Buffer.from(document('twin', 'the second'))],
      ]),
    ),
  )
})

test('the skills installer brings what changed in the repository, and leaves alone what did not', async () => {
  await using changing = await Repository.create()
  await changing.commit({
    'moves/SKILL.md': document('moves', 'old'),
    'moves/x': 'x',
    'stays/SKILL.md': document('stays'),
  })
  await using hub = await serve(changing)
  await using project = await openProject()
  await project.run('add', new URL(hub.url).origin, '--skill', '*', ...ADD)

  await changing.commit({ 'moves/SKILL.md': document('moves', 'new') })
  await hub.sync()
  const { status, printed } = await project.run('update', '--yes', '--project')

  expect(status, printed).toBe(0)
  expect(printed).toContain('Updating moves')
  expect(printed).not.toContain('Updating stays')
  // Where it was copied the installer puts a link now.
  const installed = await readFile(join(project.folder, '.claude', 'skills', 'moves', 'SKILL.md'), 'utf8')
  expect(installed).toBe(document('moves', 'new'))
})

test('the skills installer adds skills for tools only by the names of their folders, but for those that it cannot read', async () => {
  await using repository = await Repository.create()
  const files = {
    'pdf/SKILL.md': document('pdf'),
    'pdf-2/SKILL.md': document('pdf', 'of its own'),
    'pdf-3/SKILL.md': document('pdf'),
    'shown/SKILL.md': '---\nname: Not A Name\ndescription: d\n---\n',
    'long/SKILL.md': `---\nname: long\ndescription: ${'long '.repeat(300)}\n---\n`,
    'broken/SKILL.md': '---\nname: [\n---\n',
    'No Name/SKILL.md': '---\nname: No Name\ndescription: d\n---\n',
  }
  await repository.commit({ ...files, 'secret/SKILL.md': '---\nname: Secret\ndescription: d\n---\n' })
  await using hub = await serve(repository, { source: ["unlisted: ['secret']"] })
  await using project = await openProject()

  const { status, printed } = await project.run('add', new URL(hub.url).origin, '--skill', '*', ...ADD)

  expect(status, printed).toBe(0)
  const added = ['long', 'pdf', 'pdf-2', 'shown'] as const
  expect(textsOf(await project.installed())).toEqual(
    Object.fromEntries(added.map((name) => [`${name}/SKILL.md`, files[`${name}/SKILL.md`]])),
  )
})

test('the skills installer refuses bytes that are not those of the index', async () => {
  await using front = await tampering(origin)
  await using project = await openProject()

  const { printed } = await project.run('add', front.url, '--skill', '*', ...ADD)

  expect(printed).toContain('No well-known skills found')
  expect(await project.installed()).toEqual(new Map())
})

/** Passes all on, and adds a letter to each file and archive. */
async function tampering(target: string): Promise<AsyncDisposable & { readonly url: string }> {
  const pass = async ({ url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await fetch(target + url)
    const bytes = Buffer.from(await answer.arrayBuffer())
    response.writeHead(answer.status).end(url.endsWith('index.json') ? bytes : Buffer.concat([bytes, Buffer.from('!')]))
  }
  const server = createServer((request, response) => void pass(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** The files of a folder of the repository, as they are installed under a name. */
function inRepository(folder: string, name: string): [string, Buffer][] {
  return Object.entries(FILES)
    .filter(([path]) => path.startsWith(`${folder}/`))
    .map(([path, content]) => {
      const bytes = typeof content === 'object' && 'executable' in content ? content.executable : content
      return [`${name}${path.slice(folder.length)}`, Buffer.from(bytes as string)]
    })
}

function textsOf(files: ReadonlyMap<string, Buffer>): Record<string, string> {
  return Object.fromEntries([...files].map(([path, bytes]) => [path, bytes.toString('latin1')]))
}
