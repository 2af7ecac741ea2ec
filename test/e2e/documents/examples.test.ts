import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocks } from '../../documents/snippets.ts'
import type { Snippet } from '../../documents/snippets.ts'
import { Repository } from '../../support/git/repository.ts'
import { CHANNEL } from './channel-handlings.ts'
import { GETTING_STARTED, README } from './first-handlings.ts'
import { skill } from './handling.ts'
import type { Handling, Handlings } from './handling.ts'
import { ACCESS, CLIENTS, SECURITY, TROUBLESHOOTING } from './machine-handlings.ts'
import { ShellHome } from './shell-home.ts'
import { AUTHORS, PINNING, SOURCES } from './task-handlings.ts'

const HANDLINGS: Readonly<Record<string, Handlings>> = {
  'README.md': README,
  'docs/getting-started.md': GETTING_STARTED,
  'docs/pinning-and-review.md': PINNING,
  'docs/authors.md': AUTHORS,
  'docs/sources.md': SOURCES,
  'docs/clients.md': CLIENTS,
  'docs/access.md': ACCESS,
  'docs/channel.md': CHANNEL,
  'docs/security.md': SECURITY,
  'docs/troubleshooting.md': TROUBLESHOOTING,
}

/** Lists one plugin with a skill of the repository, and one from another repository. */
const MARKETPLACE = JSON.stringify({
  name: 'team',
  owner: { name: 'Team' },
  plugins: [
    { name: 'notes', source: './', strict: false, skills: ['./review'] },
    { name: 'writing', source: { source: 'url', url: 'https://git.example.com/writing/skills.git' } },
  ],
})

/** The documents of whose blocks none is run here, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'docs/operations.md':
    'containers, Kubernetes and jq over the audit log of a hub; test/deploy.slow.test.ts reads the files',
  'systemd/README.md': 'root and systemd; test/systemd boots one',
  'docs/hub-of-several.md':
    'they need PostgreSQL and several machines: test/daemon/cli/run/store-*.test.ts, test/peers/hub-of-several.test.ts',
}

describe.each(Object.entries(HANDLINGS))('%s', (document, handlings) => {
  let home: ShellHome
  const repositories: Record<string, Repository> = {}
  beforeAll(async () => {
    const files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      'anthropics/skills': { 'skills/pdf/SKILL.md': skill('pdf') },
      'team/kit': { 'skills/kit/SKILL.md': skill('kit') },
      'team/skills': { 'review/SKILL.md': skill('review'), '.claude-plugin/marketplace.json': MARKETPLACE },
      'writing/skills': { 'notes/SKILL.md': skill('notes') },
      'owner/repo': { 'any/SKILL.md': skill('any') },
    }
    for (const [name, content] of Object.entries(files)) {
      const repository = await Repository.create()
      repositories[name] = repository
      await repository.commit(content)
    }
    home = await ShellHome.create(repositories)
    await mkdir(join(home.path, 'skills/own'), { recursive: true })
    await writeFile(join(home.path, 'skills/own/SKILL.md'), skill('own'))
  })
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]()
    for (const repository of Object.values(repositories)) await repository[Symbol.asyncDispose]()
  })

  const shown = blocks('sh').filter(({ place }) => place.startsWith(`${document}:`))

  // Each block continues the one before, so after one that fails the others say nothing.
  let isBroken = false
  test.each(shown)('the block at $place', async (block) => {
    expect(isBroken, 'an earlier block failed').toBe(false)
    isBroken = true
    for (const line of linesOf(block)) await keeps(line, handlings[line] ?? ofProgram(line), home)
    isBroken = false
  })

  test('has each line that this test knows', () => {
    const lines = new Set(shown.flatMap(linesOf))

    expect(Object.keys(handlings).filter((line) => !lines.has(line))).toEqual([])
  })
})

test('each document with a block is run, or has the reason why not', () => {
  const documents = new Set(blocks('sh').map(({ place }) => place.replace(/:\d+$/, '')))

  expect([...documents].toSorted()).toEqual([...Object.keys(HANDLINGS), ...Object.keys(NOT_RUN)].toSorted())
})

/** Only a line of our program runs without an entry: anything else could do harm here. */
function ofProgram(line: string): Handling {
  expect(line, 'this line needs an entry').toMatch(/^skillsyncd /)
  return {}
}

/** Runs a line, and compares its end with what the document says. */
async function keeps(line: string, handling: Handling, home: ShellHome): Promise<void> {
  const { skip, before, as, stays, input, status = 0, says = /^/, after } = handling
  if (skip !== undefined) return
  await before?.(home)
  const real = (await as?.(line, home)) ?? line
  const end = stays === true ? { status, output: await home.start(real) } : await home.run(real, input)
  expect(end.status, `${line}\n${end.output}`).toBe(status)
  expect(end.output, line).toMatch(says)
  await after?.(home)
}

/** The lines of a block without their comments. */
function linesOf({ text }: Snippet): string[] {
  const lines = text.replaceAll('\\\n', ' ').split('\n')
  return lines.map((line) => line.replace(/(^|\s)#.*$/, '').trim()).filter((line) => line !== '')
}
