import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ShellHome } from './shell-home.ts'

/** How a line of a document is run. A line that has none of this runs to its end, with status 0. */
export interface Handling {
  /** The reason why the line is not run here. */
  readonly skip?: string
  /** What the document takes for granted. */
  readonly before?: (home: ShellHome) => Promise<void>
  /** The line with real ids in place of those of the document. */
  readonly as?: (line: string, home: ShellHome) => Promise<string>
  /** True for a command that stays in the foreground. */
  readonly stays?: true
  readonly input?: string
  readonly status?: number
  /** What the comment of the document promises of the output. */
  readonly says?: RegExp
  /** What the document promises of the effects. */
  readonly after?: (home: ShellHome) => Promise<void>
}

export type Handlings = Readonly<Record<string, Handling>>

/** A SKILL.md. */
export const skill = (name: string, body = 'body'): string =>
  `---\nname: ${name}\ndescription: About ${name}\n---\n${body}\n`

/** A client that begins a conversation and leaves. */
const CLIENT = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})}\n`

/** Several tests run at once, and cannot share the port of the documents. */
const onAnyPort = async (home: ShellHome): Promise<void> => home.edit((text) => text.replace(/port: \d+/, 'port: 0'))

export const FROZEN: Handling = { before: onAnyPort, stays: true, says: /http:\/\/127\.0\.0\.1:\d+\// }

/** The first pull is over before the next line, as it is for a reader who types. */
export const START: Handling = {
  ...FROZEN,
  after: async (home) => expect(await home.run('skillsyncd sync')).toMatchObject({ status: 0 }),
}

export const INIT: Handling = {
  says: /anthropics/,
  after: async (home) => expect(await home.configuration()).toContain('https://github.com/anthropics/skills'),
}

export const ADD_TEAM: Handling = {
  after: async (home) => expect(await home.configuration()).toContain('https://git.example.com/team/skills.git'),
}

export const LINK: Handling = {
  after: async ({ path }) => {
    for (const agent of ['.claude', '.agents'])
      expect(await readFile(join(path, agent, 'skills/pdf/SKILL.md'), 'utf8'), agent).toBe(skill('pdf'))
  },
}

export const LOCK: Handling = { after: async ({ lockFile }) => expect(existsSync(lockFile)).toBe(true) }

/** An author's commands, in a folder of skills. */
export const AUTHOR: Handlings = {
  'skillsyncd skill new incident-report': {
    before: async (home) => {
      await home.move('author')
      home.cwd = join(home.path, 'skills')
      await mkdir(home.cwd)
    },
    after: async ({ cwd }) => expect(await readFile(join(cwd, 'incident-report/SKILL.md'), 'utf8')).toMatch(/^---\n/),
  },
  'skillsyncd skill validate': {},
  'skillsyncd mcp --skills-dir "$PWD"': { input: CLIENT, says: /"serverInfo"/ },
}

/** Serves the commit of `team` that git names so. */
export async function serves(home: ShellHome, name: string): Promise<void> {
  const { stdout } = await home.run('skillsyncd why review')
  expect(stdout).toContain(await commitOf(home, name))
}

/** The id of a commit of `team`, as git names it. */
export async function commitOf(home: ShellHome, name: string): Promise<string> {
  return home.repository('team/skills').git('rev-parse', name)
}

export async function locks(home: ShellHome, name: string): Promise<void> {
  expect(await readFile(home.lockFile, 'utf8')).toContain(await commitOf(home, name))
}

/** Commits a next text of the skill of `team`. */
export async function commitNext(home: ShellHome, body: string): Promise<void> {
  await home.repository('team/skills').commit({ 'review/SKILL.md': skill('review', body) })
}

export async function pulled(home: ShellHome): Promise<void> {
  expect(await home.run('skillsyncd sync')).toMatchObject({ status: 0 })
}
