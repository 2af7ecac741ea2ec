import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { stdio } from '../../support/clients/peer.ts'
import { buildContractFixture, contractFrontmatter, documentOf } from '../../support/content/contract-fixture.ts'
import { Repository } from '../../support/git/repository.ts'
import { Home } from '../../support/process/program.ts'

/** Skills by their paths, each with the ids that it depends on; a path's last segment is the id. */
async function repositoryOf(skills: Readonly<Record<string, readonly string[]>>): Promise<Repository> {
  const repository = await Repository.create()
  const files = Object.entries(skills).map(([path, dependsOn]) => [
    `${path}/SKILL.md`,
    documentOf(contractFrontmatter(path.split('/').at(-1) ?? '', { depends_on: dependsOn })),
  ])
  await repository.commit(Object.fromEntries(files))
  return repository
}

async function readOverStdio(home: Home, place: readonly string[], uri: string) {
  await using mcp = await stdio(place, 'legacy', home.env)
  return await mcp.call('resources/read', { uri })
}

const urlOf = ({ folder }: Repository): string => `url: ${pathToFileURL(folder).href}`

test('a skill with the block says what serves it, and the switch does that without a configuration', async () => {
  await using home = await Home.create()
  await using team = await repositoryOf({ pdf: [] })
  const place = ['--source', team.folder]
  const uri = 'resource://skills/pdf/document'
  await home.command('sync', ...place)
  const plain = await home.command('show', 'pdf', ...place)
  const offered = await readOverStdio(home, place, uri)
  const json = JSON.parse((await home.command('show', 'pdf', '--json', ...place)).stdout)

  const switched = [...place, '--form', 'archives']
  const served = await readOverStdio(home, switched, uri)
  const shown = await home.command('show', 'pdf', ...switched)
  const archive = await readOverStdio(home, switched, `skill://${json.source}/pdf.zip`)
  const near = await readOverStdio(home, switched, 'skill://pdf/SKILL.md')
  const wrong = [
    await home.command('sync', ...place, '--form', 'archive'),
    await home.command('sync', ...place, '--form=-archives'),
    await home.command('sync', ...place, '--form=page,-page'),
    await home.command('sync', ...place, '--form=archives,'),
    await home.command('sync', '--form', 'archives', '--config', home.configFile),
  ]

  expect(plain.stdout).toContain('\n  contract 1.0.0\n')
  expect(plain.stdout).not.toContain('it has an x-personal-mcp block')
  expect(json).not.toHaveProperty('hasUnservedContract')
  expect(offered.result).toEqual(served.result)
  expect(served.error).toBeUndefined()
  expect(served.result?.contents[0].text).toContain('name: pdf')
  expect(shown.stdout).not.toContain('it has an x-personal-mcp block')
  expect(archive.result?.contents[0].uri).toBe(`skill://${json.source}/pdf.zip`)
  expect(near.error).toMatchObject({
    message: expect.stringContaining(`did you mean skill://${json.source}/pdf/SKILL.md?`),
    data: { candidates: [`skill://${json.source}/pdf/SKILL.md`] },
  })
  expect(wrong.map(({ status }) => status)).toEqual([2, 2, 2, 2, 2])
  expect(wrong[0]?.stderr).toContain('--form "archive" is not a form; did you mean `archives`?')
  expect(wrong[1]?.stderr).toContain('--form "-archives" takes away what `default` does not have; leave it out\n')
  expect(wrong[2]?.stderr).toContain('--form "-page" takes away what the list names; keep one of the two\n')
  expect(wrong[3]?.stderr).toContain('--form "" names no form\n')
})

test('that nothing serves the block is said by status, why and doctor too, and is no fault', async () => {
  await using home = await Home.create()
  await using team = await repositoryOf({ good: ['gone'] })
  const wrong = (id: string) => documentOf(contractFrontmatter(id, { version: 'one' }))
  await team.commit({
    'pdf/SKILL.md': wrong('pdf'),
    'docx/SKILL.md': wrong('docx'),
    'plain/SKILL.md': documentOf({ name: 'plain', description: 'd' }),
  })
  const place = ['--source', team.folder]
  await home.command('sync', ...place)

  const status = await home.command('status', '--check', ...place)
  const json = JSON.parse((await home.command('status', '--json', ...place)).stdout)
  const doctor = await home.command('doctor', ...place)
  const [why, plain] = [await home.command('why', 'pdf', ...place), await home.command('why', 'plain', ...place)]
  const good = await home.command('why', 'good', ...place)

  const [{ id }] = json.sources
  const mend = 'the source has contract: false, or the findings (contract-noted) say what to correct'
  const text = `2 skills have an x-personal-mcp block that is not served at resource://: ${mend}`
  expect(status.stdout).toContain(`\n  ${text}\n`)
  expect(json.problems).toEqual([])
  expect(json.sources).toMatchObject([{ unservedContracts: 2 }])
  expect(doctor.stdout).toContain(`ok    contract ${id}: ${text}`)
  expect(why.stdout).toContain(`\n  - it has an x-personal-mcp block that is not served at resource://: ${mend}`)
  expect(plain.stdout).not.toContain('x-personal-mcp')
  expect(good.stdout).not.toContain('x-personal-mcp')
  expect([status.status, doctor.status]).toEqual([0, 0])
})

test('status of named sources tells of clashes of names and ids that these have a part in, and of no others', async () => {
  await using home = await Home.create()
  await using a = await repositoryOf({ pdf: [], only: ['gone'] })
  await using b = await repositoryOf({ pdf: [], 'x/review': [] })
  await using c = await repositoryOf({ review: ['nothing'] })
  const sources = { a: [urlOf(a), 'contract: true'], b: [urlOf(b), 'contract: true'], c: [urlOf(c), 'contract: true'] }
  await home.configure(sources)
  await home.command('sync')
  const told = async (...operands: readonly string[]) => {
    const { collisions, problems } = JSON.parse((await home.command('status', '--json', ...operands)).stdout)
    return [collisions.names.map(({ name }: any) => name), problems.map(({ message }: any) => message.split(',', 1)[0])]
  }

  const [clash, other] = ['2 skills have the id "pdf"', '2 skills have the id "review"']
  const lacking = ['"only" depends on "gone"', '"review" depends on "nothing"']
  expect(await told()).toEqual([['review'], [clash, other, ...lacking]])
  expect(await told('a')).toEqual([[], [clash, lacking[0]]])
  expect(await told('b')).toEqual([['review'], [clash, other]])
  expect(await told('c', 'a')).toEqual([['review'], [clash, other, ...lacking]])
})

test('status names ids that clash, dependencies that are missing and circles, with source and path, and withholds nothing', async () => {
  await using home = await Home.create()
  await using team = await repositoryOf({ 'a/pdf': ['gone'], review: ['release'] })
  await using house = await repositoryOf({ pdf: [], release: ['review'] })
  await home.configure({ team: [urlOf(team), 'contract: true'], house: [urlOf(house), 'contract: true'] })
  await home.command('sync')

  const lines = await home.command('status')
  const json = await home.command('status', '--json')
  const url = await home.start('start').line()
  const answered = await home.command('status', '--json')

  expect(url).toContain('http://')
  expect(lines.stdout).toContain(`
Between skills of the contract:
  - id-clash: 2 skills have the id "pdf", so none of them is served at resource://: house/pdf, team/a/pdf; rename all but one
  - dependency-missing: "pdf" depends on "gone", and no skill that is served has that id: team/a/pdf
  - dependency-cycle: A cycle of dependencies: "release" → "review" → "release": house/release, team/review
`)
  const told = JSON.parse(json.stdout)
  expect(told).toMatchObject({
    skills: 4,
    problems: [
      {
        code: 'id-clash',
        skills: [
          { id: 'pdf', source: 'house', path: 'pdf' },
          { id: 'pdf', source: 'team', path: 'a/pdf' },
        ],
      },
      { code: 'dependency-missing' },
      { code: 'dependency-cycle' },
    ],
  })
  expect(JSON.parse(answered.stdout)).toMatchObject({ problems: told.problems, daemon: {} })
})

test('ids that clash are for a person: sync and doctor say them, and both and status --check exit with 3', async () => {
  await using home = await Home.create()
  await using team = await repositoryOf({ pdf: [] })
  await using house = await repositoryOf({ pdf: [] })
  await using alone = await repositoryOf({ review: [] })
  const held = (repository: Repository): string[] => [urlOf(repository), 'contract: true']
  await home.configure({ team: held(team), house: held(house), alone: held(alone) })

  const synced = await home.command('sync')
  const json = await home.command('sync', '--json')
  const [checked, doctor] = [await home.command('status', '--check'), await home.command('doctor', '--quiet')]
  const others = [
    await home.command('sync', 'alone'),
    await home.command('status', '--check', 'alone'),
    await home.command('doctor', 'alone'),
  ]

  const clash =
    'id-clash: 2 skills have the id "pdf", so none of them is served at resource://: house/pdf, team/pdf; rename all but one'
  expect(synced.stdout).toContain(`\n! ${clash}\n`)
  expect(JSON.parse(json.stdout).problems).toEqual([
    { code: 'id-clash', message: expect.stringContaining('the id "pdf"') },
  ])
  expect(doctor.stdout).toContain(`fail  contract: ${clash}\n        → Rename all but one`)
  expect([synced, json, checked, doctor].map(({ status }) => status)).toEqual([3, 3, 3, 3])
  expect(others.map(({ status }) => status)).toEqual([0, 0, 0])
  expect(others[2]?.stdout).toContain('ok    contract: 1 skill of the contract')
})

test('dependencies that lead nowhere and circles are for a person too, and warnings of doctor, since all is served', async () => {
  await using home = await Home.create()
  await using team = await repositoryOf({ pdf: ['gone'], docx: ['nowhere'], release: ['review'], review: ['release'] })
  await home.configure({ team: [urlOf(team), 'contract: true'] })

  const synced = await home.command('sync')
  const [checked, doctor] = [await home.command('status', '--check'), await home.command('doctor')]

  expect([synced.status, checked.status, doctor.status]).toEqual([3, 3, 0])
  expect(synced.stdout).toMatch(/\n! dependency-missing: "docx" .*; skillsyncd status shows the others\n/)
  expect(synced.stdout).toContain('\n! dependency-cycle: A cycle of dependencies: "release" → "review" → "release"')
  expect(doctor.stdout).toContain('warn  contract: dependency-missing: "docx"')
  expect(doctor.stdout).toContain('warn  contract: dependency-cycle: ')
})

test('a daemon says each kind once, again when it changes, and when it is over', async () => {
  await using home = await Home.create()
  await using team = await repositoryOf({ pdf: [], docx: [] })
  await using house = await repositoryOf({ pdf: [] })
  await home.configure({ team: [urlOf(team), 'contract: true'], house: [urlOf(house), 'contract: true'] })
  await home.command('sync')
  const daemon = home.start('start')
  const says = async (event: string): Promise<Record<string, unknown>> =>
    JSON.parse(await daemon.said((line) => line.includes(`"event":"${event}"`)))
  const first = await says('id-clash')

  await house.commit({ 'notes.md': 'nothing that a skill has' })
  const same = await home.command('sync')
  await house.commit({ 'docx/SKILL.md': documentOf(contractFrontmatter('docx')) })
  const more = await home.command('sync')
  await house.commit({
    'docx/SKILL.md': null,
    'pdf/SKILL.md': null,
    'x/SKILL.md': documentOf(contractFrontmatter('x')),
  })
  const none = await home.command('sync', 'house')
  const over = await says('recovered')

  expect(first).toMatchObject({
    level: 'warn',
    code: 'id-clash',
    message: expect.stringContaining('house/pdf, team/pdf'),
  })
  expect([same.status, more.status, none.status]).toEqual([3, 3, 0])
  expect(over).toMatchObject({ from: 'id-clash', code: 'id-clash' })
  const told = daemon.stderr.split('\n').filter((line) => line.includes('"event":"id-clash"'))
  expect(told.map((line) => JSON.parse(line).message)).toEqual([
    expect.stringMatching(/^2 skills have the id "pdf".*one$/),
    expect.stringMatching(/^2 skills have the id "docx".*; skillsyncd status shows the others$/),
  ])
})

test('sync of a strict source fails and names the skill and the field', async () => {
  await using home = await Home.create()
  await using team = await Repository.create()
  await team.commit({ 'skills/pdf/SKILL.md': documentOf(contractFrontmatter('pdf', { version: 'one' })) })
  await home.configure({ team: [urlOf(team), 'root: skills', 'contract: true', 'on_broken: refuse'] })

  const { status, stderr, stdout } = await home.command('sync')

  expect(status).toBe(1)
  expect(`${stdout}${stderr}`).toContain('"pdf": x-personal-mcp.version: "one" is not a semantic version')
})

test('show says what a skill of the contract says of itself', async () => {
  await using home = await Home.create()
  await using fixture = await buildContractFixture()
  await home.configure({ team: [urlOf(fixture.repository), 'root: docs/skills', 'contract: true'] })
  await home.command('sync')

  const [lines, json] = [await home.command('show', 'code-review'), await home.command('show', 'git-basics', '--json')]

  expect(lines.stdout).toContain(
    '\n  contract 2.1.0-rc.1; tags review, code-quality; depends on git-basics; references checklist, deep-dive\n',
  )
  expect(JSON.parse(json.stdout).contract).toMatchObject({ id: 'git-basics', version: '1.0.0', references: [] })
})

test('a lock has the contract where it is asked for, is as ever where it is not, and does not fit where that changed', async () => {
  await using home = await Home.create()
  await using team = await repositoryOf({ pdf: [] })
  const file = home.lockFile
  await home.configure({ team: [urlOf(team)] })
  await home.command('lock')
  const before = JSON.parse(await readFile(file, 'utf8'))
  await home.configure({ team: [urlOf(team), 'contract: false'] })
  const off = await home.command('sync', '--locked')

  await home.configure({ team: [urlOf(team), 'contract: true'] })
  const refused = await home.command('sync', '--locked')
  await home.command('update')
  const after = JSON.parse(await readFile(file, 'utf8'))
  const taken = await home.command('sync', '--locked')

  expect(before.sources.team.selection).not.toHaveProperty('contract')
  expect(refused.stderr).toContain('"team" has contract "false" in the lock and "true" in the configuration')
  expect(after.sources.team.selection).toEqual({ ...before.sources.team.selection, contract: true })
  expect([off.status, refused.status === 0, taken.status]).toEqual([0, false, 0])
})
