import { createHash } from 'node:crypto'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LinkAdded } from '../../src/features/agent-folders/link-record.ts'
import { offeredIn } from '../../src/sync/catalog/tool-catalog.ts'
import { modern } from '../conformance/exchange.ts'
import { edited } from '../support/content/random-files.ts'
import { Repository, type Content } from '../support/git/repository.ts'
import { ScriptedUpstream, skillText, type Files } from '../support/git/scripted-upstream.ts'
import { serve } from '../support/served.ts'
import { Desk, TEAM } from './desk.ts'

const MINUTES = 240_000
/** What no other text of these tests says. */
const MARK = 'the-body-of-the-disabled-one'
const BAD = skillText('pdf', '', MARK)
const HOME = 'skills/pdf'

const FILES: Files = {
  [`${HOME}/SKILL.md`]: BAD,
  [`${HOME}/run.sh`]: 'echo one\n',
  'skills/good/SKILL.md': skillText('good'),
  'untouched/SKILL.md': skillText('untouched'),
}

/** One thing that the author of the disabled skill does. The skill is wherever its SKILL.md, as it is now, lies. */
type Move = (files: Files) => Files

const FOLDERS = ['skills/pdf', 'skills/PDF', 'skills/other', 'more/pdf', 'deep/er/pdf', 'x', 'skills/good/pdf']
const folder = fc.constantFrom(...FOLDERS)

const moves: fc.Arbitrary<Move> = fc.oneof(
  folder.map(
    (to): Move =>
      (files) =>
        edited(files, [{ kind: 'move', from: placeOf(files), to }]),
  ),
  folder.map(
    (to): Move =>
      (files) =>
        copied(files, to),
  ),
  folder.map(
    (at): Move =>
      (files) =>
        linked(files, at),
  ),
  fc.nat(9).map(
    (number): Move =>
      (files) =>
        put(files, `${placeOf(files)}/run.sh`, `echo ${number}\n`),
  ),
  fc.nat(9).map(
    (number): Move =>
      (files) =>
        put(files, `${placeOf(files)}/SKILL.md`, `${skillText('pdf')}${number}\n`),
  ),
  fc.constantFrom('pdf', 'paper').map(
    (name): Move =>
      (files) =>
        put(files, `${placeOf(files)}/SKILL.md`, skillText(name, '', 'in other words')),
  ),
  folder.map(
    (at): Move =>
      (files) =>
        put(files, `${at}/SKILL.md`, `${skillText('pdf')}something else\n`),
  ),
  fc.constantFrom('references/more.md', 'pdf/SKILL.md', 'a/b/c.md').map(
    (path): Move =>
      (files) =>
        put(files, `skills/good/${path}`, BAD),
  ),
  folder.map(
    (at): Move =>
      (files) =>
        put(files, `${at}/SKILL.md`, BAD),
  ),
)

const HISTORIES = fc.array(fc.array(moves, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })

test(
  'whatever its author does, the name, the URI and the SKILL.md of a disabled skill are in no catalog and no folder',
  { timeout: MINUTES },
  async () => {
    await fc.assert(
      fc.asyncProperty(HISTORIES, fc.boolean(), async (history, isRestarted) => {
        await using desk = await Desk.open(['brakes: follow'])
        desk.upstream = new ScriptedUpstream(FILES)
        await desk.start()
        await desk.sync()
        await desk.daemon.parts.linking.put(link())
        await desk.daemon.parts.decisions.disable(TEAM, HOME, true)

        for (const commit of history) {
          desk.upstream.files = commit.reduce((files, move) => move(files), desk.upstream.files)
          if (isRestarted) await desk.start()
          await desk.sync()

          expect(returned(desk)).toEqual([])
          expect(desk.names()).toContain('untouched')
          expect(await isThere(join(desk.state, 'links', 'pdf'))).toBe(false)
        }

        await desk.daemon.parts.decisions.disable(TEAM, HOME, false)
        desk.upstream.files = { ...FILES }
        await desk.sync()
        expect(desk.names().toSorted()).toEqual(['good', 'pdf', 'untouched'])
      }),
      { numRuns: 20, endOnFailure: true },
    )
  },
)

test(
  'whatever its author does, no answer of any surface has a byte or the URI of a disabled skill',
  { timeout: MINUTES },
  async () => {
    await fc.assert(
      fc.asyncProperty(HISTORIES, async (history) => {
        await using repository = await Repository.create()
        await repository.commit(committed({}, FILES))
        await using served = await serve(repository, {
          source: ['docs: more', 'brakes: follow'],
          config: ['serve: { forms: [default, index-templates, skill-prompts, archives] }'],
        })
        const { source } = served.config.sources[0]!
        await served.daemon.parts.decisions.disable(source.id, HOME, true)

        let files = FILES
        for (const commit of history) {
          const next = commit.reduce((before, move) => move(before), files)
          const changes = committed(files, next)
          if (Object.keys(changes).length > 0) await repository.commit(changes)
          files = next
          await served.sync()

          const answers = await Promise.all(asked().map(async (ask) => answerTo(ask, served.http.url)))
          for (const [index, answer] of answers.entries())
            expect(answer, JSON.stringify(asked()[index])).not.toContain(MARK)
          const listed = await Promise.all(lists().map(async (ask) => answerTo(ask, served.http.url)))
          for (const [index, answer] of listed.entries())
            expect(answer, JSON.stringify(lists()[index])).not.toMatch(/fx\/skills\/pdf[/"]|"name":"pdf"/i)
          expect(listed.join('\n')).toContain('skill://fx/untouched')
        }
      }),
      { numRuns: 4, endOnFailure: true },
    )
  },
)

/** All that a client is offered and that is the disabled skill by its name, its URI or the bytes of its SKILL.md. */
function returned({ daemon }: Desk): string[] {
  const { catalog } = daemon.registry
  const digest = createHash('sha256').update(BAD).digest('hex')
  const files = [...catalog.files.values()].filter(({ uri, file }) => isOfUri(uri) || file.sha256 === digest)
  const listed = offeredIn(catalog).listed.filter(
    ({ id, name, uri = '' }) => [id, name].some((text) => /(^|\/)pdf$/i.test(text)) || isOfUri(uri),
  )
  const folders = [...catalog.folders.keys()].filter((uri) => isOfUri(`${uri}/`))
  return [
    ...files.map(({ uri }) => uri),
    ...listed.map(({ id }) => id),
    ...folders,
    ...[...catalog.withheld.keys()].filter(isOfUri),
  ]
}

function isOfUri(uri: string): boolean {
  return uri.toLowerCase().startsWith(`skill://team/${HOME}/`)
}

/** An agent's folder has the skill. */
function link(): LinkAdded {
  const skill = { name: 'pdf', source: TEAM, path: HOME, targets: [], digests: [] }
  return { folder: '/nowhere/skills', uses: [{ agent: 'claude-code' }], made: [], copies: false, skills: [skill] }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** Where the skill is by now. */
function placeOf(files: Files): string {
  const own = Object.keys(files).find(
    (path) => path.endsWith('/SKILL.md') && !path.startsWith('untouched/') && path !== 'skills/good/SKILL.md',
  )
  return own === undefined ? HOME : own.slice(0, -'/SKILL.md'.length)
}

function put(files: Files, path: string, content: string): Files {
  return edited(files, [{ kind: 'put', path, content }])
}

function copied(files: Files, to: string): Files {
  const from = placeOf(files)
  const below = Object.entries(files).filter(([path]) => path.startsWith(`${from}/`))
  return edited(
    files,
    below.map(([path, content]) => ({ kind: 'put', path: `${to}${path.slice(from.length)}`, content })),
  )
}

/** A symbolic link to the folder. */
function linked(files: Files, at: string): Files {
  const to = placeOf(files)
  if (at === to || at.startsWith(`${to}/`) || to.startsWith(`${at}/`)) return files
  const target = `${'../'.repeat(at.split('/').length - 1)}${to}`
  return edited(files, [{ kind: 'put', path: at, content: { link: target } }])
}

/** What a commit has to set and remove for the one to become the other. */
function committed(before: Files, after: Files): Record<string, Content | null> {
  const changes: Record<string, Content | null> = {}
  for (const path of Object.keys(before)) if (!(path in after)) changes[path] = null
  for (const [path, content] of Object.entries(after))
    if (before[path] !== content && isCommitted(content)) changes[path] = content
  return changes
}

/** The moves of these tests make nothing else. */
function isCommitted(content: Files[string] | undefined): content is string | { readonly link: string } {
  return (
    typeof content === 'string' ||
    (typeof content === 'object' && 'link' in content && typeof content.link === 'string')
  )
}

interface Ask {
  readonly path: string
  readonly method?: string
  readonly params?: object
}

function mcp(method: string, params: object = {}): Ask {
  return { path: '/mcp', method, params }
}

function tool(name: string, given: object): Ask {
  return mcp('tools/call', { name, arguments: given })
}

/** What says by itself which skills there are. */
function lists(): Ask[] {
  return [
    ...['skills/list', 'dev.skillsyncd/omitted/list', 'resources/list', 'prompts/list'].map((method) => mcp(method)),
    ...['skill://index.json', 'resource://catalog/skills_index'].map((uri) => mcp('resources/read', { uri })),
    tool('list_skills', {}),
    tool('search_skills', { query: 'pdf' }),
    mcp('prompts/get', { name: 'skills-catalog' }),
    mcp('completion/complete', {
      ref: { type: 'ref/resource', uri: 'skill://fx/{+path}' },
      argument: { name: 'path', value: '' },
    }),
    { path: '/.well-known/agent-skills/index.json' },
  ]
}

/** Everything about the skill, wherever it may be. */
function asked(): Ask[] {
  const roots = [...FOLDERS, 'more/pdf', 'skills/good', 'deep/er', 'more'].map((path) => `skill://fx/${path}`)
  const files = ['SKILL.md', 'run.sh', 'references/more.md', 'pdf/SKILL.md', 'a/b/c.md']
  return [
    ...lists(),
    ...roots.flatMap((root) => files.map((file) => mcp('resources/read', { uri: `${root}/${file}` }))),
    ...roots.map((root) => mcp('resources/directory/read', { uri: root })),
    ...roots.map((root) => mcp('skills/get', { uri: `${root}/SKILL.md` })),
    ...['pdf', 'fx/pdf', ...FOLDERS.map((path) => `fx/${path}`)].map((id) => tool('get_skill', { id })),
    ...FOLDERS.map((path) => mcp('resources/read', { uri: `resource://docs/${path.replace(/^more\//, '')}/SKILL.md` })),
    mcp('prompts/get', { name: 'pdf' }),
    ...['/', '/problems', '/changes', '/sources', '/?q=pdf', ...FOLDERS.map((path) => `/skills/fx/${path}/`)].map(
      (path) => ({ path }),
    ),
    ...['pdf/SKILL.md', 'good/pdf/SKILL.md'].map((file) => ({ path: `/.well-known/agent-skills/${file}` })),
  ]
}

async function answerTo({ path, method, params }: Ask, url: string): Promise<string> {
  const address = `${url}${path}`
  if (method === undefined) return (await fetch(address)).text()
  const { headers, body } = modern(method, params)
  return (await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })).text()
}
