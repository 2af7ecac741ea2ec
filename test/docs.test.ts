import { constants } from 'node:fs'
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { validate } from '../src/features/author/lint/lint.ts'
import { lintCodes, describeCode } from '../src/features/author/lint/rule-texts.ts'
import { SYNC_ERROR_RULES } from '../src/sync/model/sync-error.ts'
import { FRONTMATTER_LIMITS, readFrontmatter } from '../src/sync/skill/frontmatter.ts'
import { isSkillName } from '../src/sync/skill/skill-name.ts'
import { temporaryWorkspace } from '../src/sync/store/objects/temporary-blobs.ts'
import { readFolder } from '../src/sync/upstream/folder/folder-tree.ts'
import { FETCH_LIMITS } from '../src/sync/upstream/upstream.ts'
import { never } from './sync/store/samples.ts'
import { rulesWith } from './sync/survey/surveyed.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const skills = join(root, 'examples/skills')
const names = await readdir(skills)

describe('docs/troubleshooting.md', () => {
  test('has a heading for each error code and for no other', async () => {
    const codes = Object.keys(SYNC_ERROR_RULES)

    const headings = await headingsBelow('Error codes')

    expect(codes).toContain('store-failed')
    expect(headings.toSorted()).toEqual(codes.toSorted())
  })

  test('has a heading for each finding rule and for no other', async () => {
    const rules = await membersOf('src/sync/skill/skill-diagnostic.ts', 'SkillCode')

    const headings = await headingsBelow('Findings')

    expect(rules).toContain('name-clash')
    expect(headings.toSorted()).toEqual(rules.toSorted())
  })

  test('says of each finding what becomes of the skill', async () => {
    const rules = await membersOf('src/sync/skill/skill-diagnostic.ts', 'SkillCode')
    const text = await textOf('docs/troubleshooting.md')

    const silent = rules.filter(
      (rule) => !new RegExp(`^### ${rule}\\n\\n\\*\\*(?:Served|Partly served|Withheld)\\b`, 'm').test(text),
    )

    expect(silent).toEqual([])
  })
})

describe('docs/authors.md', () => {
  test('has each rule that authors are told of, with its severity, who objects and the mend, and no other', async () => {
    const authors = (await textOf('docs/authors.md')).replaceAll(/\\([<*_])/g, '$1')
    const text = authors.split(/^## /m).find((chapter) => chapter.startsWith('Rules\n')) ?? ''

    const rows = text.split(/^### /m).flatMap((group) => {
      const [title = ''] = group.split('\n')
      return [...group.matchAll(/^`[a-z][a-z-]+` \| .+$/gm)].map(([row]) => `${title}: ${row}`)
    })

    const told = lintCodes().map((rule) => {
      const { severity, by, says, fix } = describeCode(rule)
      return `${severity === 'error' ? 'Errors' : 'Warnings'} by ${by}: \`${rule}\` | ${says} | ${fix}`
    })
    expect(rows.toSorted()).toEqual(told.toSorted())
  })

  test.each(names)('%s, an example of ours, keeps them all', async (name) => {
    const skill = join(skills, name)
    const reading = { root: '', docs: undefined, limits: FETCH_LIMITS }
    await using workspace = await temporaryWorkspace()
    await using tree = await readFolder(skill, { ...reading, blobs: workspace.blobs }, never())

    const found = await validate(tree, { rules: rulesWith(), level: 'skills-ref', folder: name }, never())

    expect(found.skills.flatMap(({ diagnostics }) => diagnostics)).toEqual([])
  })
})

describe('examples/skills', () => {
  test('holds nothing but folders of skills, six at least', () => {
    const unnamed = names.filter((name) => !isSkillName(name))

    expect(unnamed).toEqual([])
    expect(names.length).toBeGreaterThanOrEqual(6)
  })

  test.each(names)('%s is a skill by the Agent Skills specification', async (name) => {
    const reading = readFrontmatter(await readFile(join(skills, name, 'SKILL.md')), FRONTMATTER_LIMITS)

    const frontmatter = reading.ok ? reading.frontmatter : {}
    const { name: said, description, metadata } = frontmatter
    expect(said).toBe(name)
    expect(typeof description === 'string' && description !== '' && description.length <= 1024).toBe(true)
    expect(Object.values(metadata ?? {}).map((value) => typeof value)).toEqual(['string', 'string'])
  })

  test.each(names)('%s holds every file that its documents name, and names every file that it holds', async (name) => {
    const files = await filesOf(name)
    const texts = await Promise.all(files.map((file) => readFile(join(skills, name, file), 'utf8')))

    const named = new Set(texts.flatMap((text) => text.match(/\b(?:scripts|references|assets)\/[\w./-]*\w/g) ?? []))

    expect([...named].toSorted()).toEqual(files.filter((file) => file !== 'SKILL.md').toSorted())
  })

  test.each(names)('the scripts of %s say by what they are run, and may be', async (name) => {
    const scripts = (await filesOf(name)).filter((file) => file.startsWith('scripts/'))

    for (const script of scripts) {
      const text = await readFile(join(skills, name, script), 'utf8')
      expect(text).toMatch(/^#!(?:\/usr\/bin\/env python3|\/bin\/sh)\n/)
      await access(join(skills, name, script), constants.X_OK)
    }
  })
})

/** The members of a union of texts, from its source: types are gone when the program runs. */
async function membersOf(file: string, type: string): Promise<string[]> {
  const text = await textOf(file)
  const [, union = ''] = new RegExp(`export type ${type} =((?:\\n  \\| '[a-z-]+')+)`).exec(text) ?? []
  return [...union.matchAll(/'([a-z-]+)'/g)].flatMap(([, member]) => member ?? [])
}

async function headingsBelow(chapter: string): Promise<string[]> {
  const chapters = (await textOf('docs/troubleshooting.md')).split(/^## /m)
  const text = chapters.find((candidate) => candidate.startsWith(`${chapter}\n`)) ?? ''
  return [...text.matchAll(/^### (.+)$/gm)].flatMap(([, heading]) => heading ?? [])
}

async function filesOf(skill: string): Promise<string[]> {
  const entries = await readdir(join(skills, skill), { recursive: true, withFileTypes: true })
  const folder = join(skills, skill)
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}

function textOf(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8')
}
