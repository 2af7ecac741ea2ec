import { cp, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readProperties, validate } from 'skills-ref'
import { beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/base/json-value.ts'
import { FRONTMATTER_LIMITS, readFrontmatter } from '../../src/sync/skill/frontmatter.ts'
import { modernHttp } from '../support/clients/peer.ts'
import { strictFaults } from '../support/clients/strict-reader.ts'
import { Repository } from '../support/git/repository.ts'
import { Home } from '../support/process/program.ts'
import type { Ended } from '../support/process/program.ts'
import { serve } from '../support/served.ts'
import { digestOf, resultOf } from './peers.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/skills', import.meta.url))

const BODY = '# Refunds\r\n\r\n---\r\nname: no frontmatter\r\n---\r\nSee references/policy.md, no newline at the end'

/** A skill with all that a projection has to do with. */
const AUTHORED = `---
name: refunds
description: 'Pays a customer back: "how", when\tand
  --- why. Use it when somebody asks for money back.'
when_to_use: A refund is asked for
allowed-tools:
  - Read
  - Bash(git add:*)
disable-model-invocation: true
license: Apache-2.0
metadata: { zeta: "2026-01-31", author: 'yes', octal: "010", time: "12:30", tilde: "~" }
x-personal-mcp:
  id: refunds
  version: 1.0.0-rc.1
  tags: [billing, "---"]
  capabilities: [resource://skills/refunds/document]
  depends_on: [invoices]
  references:
    policy: { path: references/policy.md, title: "The policy: all of it" }
  later: { nested: [1, true, null] }
x-unknown: 1
---
${BODY}`

let home: Home
let skill: string

beforeEach(async () => {
  home = await Home.create()
  skill = await folderOf({ 'refunds/SKILL.md': AUTHORED, 'refunds/references/policy.md': '# Policy\n' }, 'authored')
})

describe('skillsyncd skill project', () => {
  test('has standard fields and texts alone, and skills-ref finds nothing wrong with it', async () => {
    const out = join(home.path, 'strict')

    const plain = AUTHORED.replaceAll('---', '--').replace(/^--/, '---').replace('\n--\n', '\n---\n')
    const before = await validate(await folderOf({ 'refunds/SKILL.md': plain }, 'plain'))
    const ended = await home.command('skill', 'project', skill, '--out', out)
    const after = await validate(join(out, 'refunds'))
    const properties = await readProperties(join(out, 'refunds'))

    expect(ended).toMatchObject({ status: 0, stderr: '' })
    expect(before).toEqual([
      expect.stringContaining('disable-model-invocation, when_to_use, x-personal-mcp, x-unknown.'),
    ])
    expect(after).toEqual([])
    const bytes = await readFile(join(out, 'refunds/SKILL.md'))
    const frontmatter = frontmatterOf(bytes)
    expect(strictFaults(bytes.toString())).toEqual([])
    expect(Object.keys(frontmatter)).toEqual(['allowed-tools', 'description', 'license', 'metadata', 'name'])
    for (const value of Object.values(frontmatter['metadata'] ?? {})) expect(value).toBeTypeOf('string')
    // Another reader of YAML has the same values.
    expect(properties).toMatchObject({
      description: frontmatter['description'],
      allowedTools: 'Read Bash(git add:*)',
      metadata: frontmatter['metadata'],
    })
    expect(ended.stdout).toContain('3 fields left out: disable-model-invocation, when_to_use, x-unknown')
  })

  test('every skill of the examples, projected, is one to skills-ref', async () => {
    const out = join(home.path, 'examples')

    const ended = await home.command('skill', 'project', EXAMPLES, '--out', out)
    const names = (await readdir(out)).filter((name) => !name.startsWith('.'))
    const faults = await Promise.all(names.map((name) => validate(join(out, name))))

    expect(ended).toMatchObject({ status: 0, stderr: '' })
    expect(names.toSorted()).toEqual((await readdir(EXAMPLES)).toSorted())
    expect(faults.flat()).toEqual([])
    expect((await stat(join(out, 'git-bisect/scripts/bisect-run.sh'))).mode & 0o111).not.toBe(0)
  })

  test.each(['id', 'version', 'tags', 'capabilities', 'depends_on', 'references', 'later'])(
    'a metadata key of the author that is called as a projected one is an error that names it: %s',
    async (member) => {
      const key = `x-personal-mcp.${member}`
      const text = AUTHORED.replace('tilde: "~"', `"${key}": "mine"`)
      const folder = await folderOf({ 'refunds/SKILL.md': text }, `clash-${member}`)

      const ended = await home.command('skill', 'project', folder)

      expect(ended).toMatchObject({ status: 1, stdout: '' })
      expect(ended.stderr).toContain(join(folder, 'SKILL.md'))
      expect(ended.stderr).toContain(`metadata.${key}`)
    },
  )

  test('two runs give identical bytes, the body is as it was, and no key is one of the protocol', async () => {
    const [once, twice] = [
      await home.run('skill', 'project', skill),
      await home.command('skill', 'project', join(skill, 'SKILL.md')),
    ]
    const reserved = await folderOf(
      { 'refunds/SKILL.md': AUTHORED.replace('tilde', 'io.modelcontextprotocol/skills') },
      'reserved',
    )

    const refused = await home.command('skill', 'project', reserved)

    expect(once.status).toBe(0)
    expect(twice.stdout).toBe(once.stdout)
    expect(once.stdout.endsWith(`\n---\n${BODY}`)).toBe(true)
    expect(once.stdout).not.toContain('io.modelcontextprotocol/')
    expect(refused).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('metadata.io.modelcontextprotocol/skills'),
    })
  })

  test('a projection that is served beside its skill has a path and digests of its own, and leaves the skill as it was', async () => {
    await using repository = await Repository.create()
    await repository.commit({
      'skills/refunds/SKILL.md': AUTHORED,
      'skills/refunds/references/policy.md': '# Policy\n',
    })
    await using served = await serve(repository)
    const peer = await modernHttp(served.url)
    const before = entries(resultOf(await peer.call('skills/list')))
    const out = join(home.path, 'beside')
    await home.command('skill', 'project', skill, '--out', out)

    const document = await readFile(join(out, 'refunds/SKILL.md'))
    await repository.commit({
      'projected/refunds/SKILL.md': document,
      'projected/refunds/references/policy.md': '# Policy\n',
    })
    await served.sync()
    const after = entries(resultOf(await peer.call('skills/list')))

    const [own, projected] = ['skills', 'projected'].map((root) => `skill://fx/${root}/refunds/SKILL.md`)
    expect([...before.keys()]).toEqual([own])
    expect([...after.keys()].toSorted()).toEqual([projected, own])
    expect(after.get(own!)).toEqual(before.get(own!))
    expect(after.get(own!)).toContainEqual({ uri: own, digest: digestOf(Buffer.from(AUTHORED)), size: AUTHORED.length })
    expect(after.get(projected!)).toContainEqual({ uri: projected, digest: digestOf(document), size: document.length })
  })

  test.each([
    ['list', '[Read, "Bash(git add:*)", Grep]'],
    ['text', 'Read Bash(git add:*) Grep'],
    ['text with commas', '"Read, Bash(git add:*), Grep"'],
  ])('allowed-tools as a %s becomes one text, parted by spaces', async (kind, tools) => {
    const text = `---\nname: refunds\ndescription: d\nallowed-tools: ${tools}\n---\n`
    const folder = await folderOf({ 'refunds/SKILL.md': text }, `tools-${kind}`)

    const [strict, claude] = [
      await home.command('skill', 'project', folder),
      await home.command('skill', 'project', folder, '--profile', 'claude-code'),
    ]

    expect(toolsOf(strict)).toBe('Read Bash(git add:*) Grep')
    expect(toolsOf(claude)).toBe('Read Bash(git add:*) Grep')
  })

  test('for Claude Code its fields stay, and --reverse gives back the block', async () => {
    const out = join(home.path, 'claude')
    await home.command('skill', 'project', skill, '--out', out, '--profile', 'claude-code')
    await cp(out, join(home.path, 'claude-copy'), { recursive: true })

    const undone = await home.command('skill', 'project', join(home.path, 'claude-copy/refunds'), '--reverse')

    const { 'x-unknown': _, 'allowed-tools': __, ...kept } = frontmatterOf(Buffer.from(AUTHORED))
    expect(undone).toMatchObject({ status: 0, stderr: '' })
    expect(frontmatterOf(Buffer.from(undone.stdout))).toEqual({ ...kept, 'allowed-tools': 'Read Bash(git add:*)' })
    expect(undone.stdout.endsWith(`\n---\n${BODY}`)).toBe(true)
  })
})

function toolsOf({ stdout }: Ended): unknown {
  return frontmatterOf(Buffer.from(stdout))['allowed-tools']
}

/** By the URI of each skill, its files. */
function entries(listing: { readonly skills: readonly { uri: string; resources: unknown }[] }): Map<string, unknown> {
  return new Map(listing.skills.map(({ uri, resources }) => [uri, resources]))
}

function frontmatterOf(bytes: Uint8Array): JsonObject {
  const reading = readFrontmatter(bytes, FRONTMATTER_LIMITS)
  if (!reading.ok) throw new Error(reading.message)
  return reading.frontmatter
}

/** Writes files into a folder of the home; the answer is the folder `refunds` in it. */
async function folderOf(files: Readonly<Record<string, string>>, name: string): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(home.path, name, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return join(home.path, name, 'refunds')
}
