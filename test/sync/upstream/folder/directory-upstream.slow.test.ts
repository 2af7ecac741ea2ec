import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, renameSync, statSync, symlinkSync, type BigIntStats } from 'node:fs'
import { appendFile, chown, mkdir, rename, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Docs } from '../../../../src/sync/model/docs-folder.ts'
import type { ObjectId } from '../../../../src/sync/model/revision.ts'
import type { Skill } from '../../../../src/sync/model/skill.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'
import type { DirectorySource } from '../../../../src/sync/model/source.ts'
import { openTreeUpstream } from '../../../../src/sync/pull/open-upstream.ts'
import { temporaryWorkspace } from '../../../../src/sync/store/objects/temporary-blobs.ts'
import { survey } from '../../../../src/sync/survey/survey.ts'
import { FolderHashes } from '../../../../src/sync/upstream/folder/folder-hashes.ts'
import type { FolderFilter } from '../../../../src/sync/upstream/folder/folder-selection.ts'
import type { FolderReading } from '../../../../src/sync/upstream/folder/folder-tree.ts'
import { readFolder } from '../../../../src/sync/upstream/folder/folder-tree.ts'
import { PLAIN_WAY } from '../../../../src/sync/upstream/http/host-access.ts'
import { FETCH_LIMITS, NOTHING_KNOWN } from '../../../../src/sync/upstream/upstream.ts'
import type { FetchLimits } from '../../../../src/sync/upstream/upstream.ts'
import { asNobody, fillFolder } from '../../../support/content/folder.ts'
import { Repository } from '../../../support/git/repository.ts'
import { skillText, type Files } from '../../../support/git/scripted-upstream.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { sourceId } from '../../store/samples.ts'
import { noted, rulesWith } from '../../survey/surveyed.ts'
import { blobsOf, linesOf, objectId, STEADY } from '../reached.ts'
import { ABSENT, hashOf } from '../sample.ts'

const FILES: Files = {
  'one/SKILL.md': skillText('one'),
  'one/empty': '',
  'one/run.sh': { executable: '#!/bin/sh\n' },
  'one/link': { link: 'run.sh' },
  'one/ünïcode/ø': Buffer.from([0, 1, 2, 255]),
  'one/a/b': 'folders sort',
  'one/a.b': 'after these',
  'group/two/SKILL.md': skillText('two'),
}

describe('a folder as a commit', () => {
  test('its tree is what git lists of the same files', async () => {
    await using scene = await Scene.of(FILES)
    await using repository = await Repository.create({ objectFormat: 'sha256' })
    await repository.commit(repositoryFiles(FILES))

    await using tree = await scene.read()

    const listed = await repository.git('ls-tree', '-r', '-z', 'main')
    expect(linesOf(tree)).toEqual(listed.split('\0').filter((line) => line !== ''))
    expect(tree.root).toBe(await repository.git('rev-parse', 'main^{tree}'))
  })

  test('its commit is one that git takes, and names the tree', async () => {
    await using scene = await Scene.of(FILES)
    await using repository = await Repository.create({ objectFormat: 'sha256' })
    await repository.commit(repositoryFiles(FILES))

    await using tree = await scene.read()

    const file = join(scene.folder, 'commit')
    await writeFile(file, tree.proof.commit)
    expect(await repository.git('hash-object', '-t', 'commit', '-w', file)).toBe(tree.revision.commit)
    expect(await repository.git('rev-parse', `${tree.revision.commit}^{tree}`)).toBe(tree.root)
    expect(tree.revision).toEqual({ asked: undefined, ref: 'folder', commit: tree.revision.commit })
  })

  test('it is the same wherever and whenever it holds the same, whatever lies beside the skills', async () => {
    await using scene = await Scene.of(FILES)
    await using other = await Scene.of({
      ...FILES,
      'README.md': 'of nobody',
      'group/notes.txt': 'of nobody',
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/SKILL.md': skillText('git'),
      'one/node_modules/x/SKILL.md': skillText('x'),
      'src/deep/down/main.c': '',
    })
    await mkdir(join(other.folder, 'one/nothing/in/it'), { recursive: true })
    await utimes(join(other.folder, 'one/SKILL.md'), 1, 1)

    await using tree = await scene.read()
    await using same = await other.read()

    expect(same.revision).toEqual(tree.revision)
    expect(linesOf(same)).toEqual(linesOf(tree))
  })

  test.each<readonly [string, Files]>([
    ['to a file', { notes: { link: 'one/run.sh' } }],
    ['to nothing', { 'tools/current': { link: 'v1' } }],
    ['to a folder without skills', { latest: { link: 'logs' }, 'logs/today': 'x' }],
    ['to what git ignores', { latest: { link: 'build' }, 'build/x': 'x', '.gitignore': 'build\n' }],
    ['out of the folder', { 'venv/bin/python': { link: '/usr/bin/python3' } }],
    ['in a circle', { a: { link: 'b' }, b: { link: 'a' } }],
    ['over another link to a file', { a: { link: 'b' }, b: { link: 'one/run.sh' } }],
  ])('a link beside the skills %s changes nothing', async (_, beside) => {
    await using scene = await Scene.of(FILES)
    await using other = await Scene.of({ ...FILES, ...beside })

    await using tree = await scene.read()
    await using same = await other.read()

    expect(same.revision).toEqual(tree.revision)
  })

  test('outside of the root no link leads to a skill, nor does one inside of a skill', async () => {
    const files = { 'in/a/SKILL.md': skillText('a'), 'in/a/c': { link: '../../out/c' } }
    await using scene = await Scene.of(files)
    await using other = await Scene.of({ ...files, 'out/c/SKILL.md': skillText('c'), 'x/c': { link: '../out/c' } })

    await using tree = await scene.read({ root: 'in' })
    await using same = await other.read({ root: 'in' })

    expect(same.revision).toEqual(tree.revision)
  })

  test('a link among the skills that leads out is told, and where it leads changes nothing', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), b: { link: '/home/ada/b' } })
    await using other = await Scene.of({ 'a/SKILL.md': skillText('a'), b: { link: '../../../home/bob/b' } })

    await using tree = await scene.read()
    await using same = await other.read()
    const { findings } = await survey(tree, rulesWith(), undefined, STEADY)

    expect(same.revision).toEqual(tree.revision)
    expect(findings.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'b: The link is not served: its target "/…" is outside the folder of the source',
    ])
  })

  test('each link on the way to a skill counts, and so does one on the way to a linked SKILL.md', async () => {
    await using scene = await Scene.of({
      'in/a/SKILL.md': { link: '../../hop.md' },
      'hop.md': { link: 'shared/gone.md' },
      'in/c': { link: '../hop' },
      hop: { link: 'out/c' },
      'out/c/SKILL.md': { link: '../c.md' },
      'out/c.md': skillText('c'),
    })

    await using tree = await scene.read({ root: 'in' })
    const { skills } = await survey(tree, rulesWith({ root: 'in' }), undefined, STEADY)

    expect(linesOf(tree).map((line) => line.split('\t')[1])).toEqual([
      'hop',
      'hop.md',
      'in/a/SKILL.md',
      'in/c',
      'out/c.md',
      'out/c/SKILL.md',
    ])
    expect(skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual(['a withheld', 'c served'])
  })

  test('the files are what it holds, however often each is asked for', async () => {
    await using scene = await Scene.of(FILES)
    await using tree = await scene.read()
    const ids = blobsOf(tree)

    const taken = await tree.take([...ids, ...ids], STEADY)

    expect(new Set(taken.keys())).toEqual(new Set(ids))
    for (const [id, blob] of taken) {
      if (blob.kind !== 'blob') throw new Error(`${id} is refused as ${blob.reason}`)
      const bytes = tree.bytesOf(blob)
      expect(hashOf('blob', bytes, 'sha256')).toBe(id)
      expect(blob.size).toBe(bytes.length)
      expect(blob.sha256).toBe(createHash('sha256').update(bytes).digest('hex'))
    }
  })

  test('what is named as apart is no part of it, whatever it lies behind', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'own/state/b/SKILL.md': skillText('b') })
    const link = `${scene.folder}-link`
    await symlink(scene.folder, link)
    const beside = `${scene.folder}-beside`
    await mkdir(beside)

    await using tree = await scene.read({ apart: [join(link, 'own/state'), join(scene.folder, 'gone'), beside] })

    expect(linesOf(tree).map((line) => line.split('\t')[1])).toEqual(['a/SKILL.md'])
  })

  test('the docs folder is read whole, skills or not, and no other', async () => {
    await using scene = await Scene.of({ 'docs/a.md': 'a', 'docs/deep/b.md': 'b', 'other/c.md': 'c' })

    await using tree = await scene.read({ docs: 'docs' })

    expect(linesOf(tree).map((line) => line.split('\t')[1])).toEqual(['docs/a.md', 'docs/deep/b.md'])
  })

  test('below a root only its skills are read, and what they lead to', async () => {
    await using scene = await Scene.of({
      'in/a/SKILL.md': skillText('a'),
      'in/b/SKILL.md': { link: '../../shared/b.md' },
      'in/c': { link: '../out/c' },
      'shared/b.md': skillText('b'),
      'shared/other.md': 'of nobody',
      'out/c/SKILL.md': skillText('c'),
      'out/d/SKILL.md': skillText('d'),
    })

    await using tree = await scene.read({ root: 'in' })
    const { skills } = await survey(tree, rulesWith({ root: 'in' }), undefined, STEADY)

    expect(skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual(['a served', 'b served', 'c served'])
    expect(linesOf(tree).map((line) => line.split('\t')[1])).toEqual([
      'in/a/SKILL.md',
      'in/b/SKILL.md',
      'in/c',
      'out/c/SKILL.md',
      'shared/b.md',
    ])
  })

  test.each([
    ['a link to the folder', 'x', { x: { link: 'real/skills' } }],
    ['a link above it', 'x/skills', { x: { link: 'real' } }],
    ['a link behind a link', 'x/y', { x: { link: 'z' }, 'z/y': { link: '../in/skills' }, in: { link: 'real' } }],
  ] as const)('a root that is %s is that folder, and so are the docs', async (_, root, links) => {
    await using scene = await Scene.of({ 'real/skills/a/SKILL.md': skillText('a'), 'real/skills/n.md': 'n', ...links })

    const { skills, docs, roots } = await scene.surveyed(undefined, root, root)

    expect(skills.map(({ path, standing }) => [path, standing])).toEqual([['a', 'served']])
    expect(docs?.files.map(({ path }) => path)).toContain('n.md')
    expect(roots).toEqual({ skills: 'real/skills', docs: 'real/skills' })
  })

  test.each([
    ['out of the folder', { x: { link: '../outside' } }],
    ['in a circle', { x: { link: 'y' }, y: { link: 'x' } }],
    ['to nothing', { x: { link: 'gone' } }],
  ] as const)('a root that is a link %s is refused', async (_, links) => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), ...links })
    await fillFolder(join(scene.folder, '../outside'), { 'a/SKILL.md': skillText('a') })

    await expect(scene.surveyed(undefined, undefined, 'x')).rejects.toMatchObject({ code: 'root-not-found' })
  })

  test('what the operator named may be a link to a folder', async () => {
    await using scene = await Scene.of(FILES)
    const link = `${scene.folder}-link`
    await symlink(scene.folder, link)

    await using tree = await scene.read({}, link)

    expect(linesOf(tree)).toHaveLength(Object.keys(FILES).length)
  })
})

describe('an upstream of a folder', () => {
  test('gives the tree of what it resolved to, and of nothing else', async () => {
    await using scene = await Scene.of(FILES)
    const upstream = scene.upstream()
    const revision = await upstream.resolve(STEADY)

    await using tree = await upstream.fetch(revision, NOTHING_KNOWN, STEADY)
    await using byId = await scene.upstream().fetch({ ...revision, ref: revision.commit }, NOTHING_KNOWN, STEADY)
    const other = scene.upstream().fetch({ ...revision, commit: objectId(ABSENT.sha256) }, NOTHING_KNOWN, STEADY)

    expect(tree.revision).toEqual(revision)
    expect(byId.revision.ref).toBe(revision.commit)
    await expect(other).rejects.toMatchObject({ code: 'ref-not-found' })
  })

  test('knows of no history: a commit descends from itself, all else is unknown', async () => {
    await using scene = await Scene.of(FILES)
    const { commit } = await scene.upstream().resolve(STEADY)

    expect(await scene.upstream().relation(commit, commit, STEADY)).toBe('descends')
    expect(await scene.upstream().relation(objectId(ABSENT.sha256), commit, STEADY)).toBe('unknown')
  })

  test('what is aborted ends with the reason', async () => {
    await using scene = await Scene.of(FILES)
    const reason = new Error('enough')
    const aborted = AbortSignal.abort(reason)
    await using tree = await scene.read()

    await expect(scene.upstream().resolve(aborted)).rejects.toBe(reason)
    await expect(scene.upstream().fetch(tree.revision, NOTHING_KNOWN, aborted)).rejects.toBe(reason)
    await expect(tree.take(blobsOf(tree), aborted)).rejects.toBe(reason)
  })

  test('a folder of thousands keeps nobody waiting, and is left in its midst', async () => {
    const files = Array.from({ length: 3_000 }, (_, index) => [`s/f${index}`, 'x'] as const)
    await using scene = await Scene.of({ 's/SKILL.md': skillText('s'), ...Object.fromEntries(files) })
    const stop = new AbortController()
    const reason = new Error('enough')
    let turns = 0

    const reading = scene.read({}, scene.folder, stop.signal)
    void reading.catch(() => {})
    while (turns < 50) {
      await setImmediate()
      turns += 1
    }
    stop.abort(reason)

    await expect(reading).rejects.toBe(reason)
  })

  test.each([
    ['there is no such folder', 'gone'],
    ['it is not a folder', 'one/SKILL.md'],
    ['it is not a folder', 'one/SKILL.md/below'],
  ])('a place of which is said that %s is not found', async (message, path) => {
    await using scene = await Scene.of(FILES)

    const failure = scene.read({}, join(scene.folder, path))

    await expect(failure).rejects.toMatchObject({ code: 'repository-not-found' })
    await expect(failure).rejects.toThrow(message)
  })
})

describe('a hostile folder', () => {
  test.each<[string, Partial<FetchLimits>]>([
    ['limits.repository.files (7)', { files: 7 }],
    ['limits.repository.bytes (20)', { packBytes: 20 }],
  ])('with more than %s is refused', async (limit, limits) => {
    await using scene = await Scene.of(FILES)

    const failure = scene.read({ limits: { ...FETCH_LIMITS, ...limits } })

    await expect(failure).rejects.toMatchObject({ code: 'limit-exceeded', message: expect.stringContaining(limit) })
  })

  test('files outside of skills count too, before they are all read', async () => {
    const files = Array.from({ length: 400 }, (_, index) => [`junk/${index}`, ''] as const)
    await using scene = await Scene.of(Object.fromEntries(files))

    const failure = scene.read({ limits: { ...FETCH_LIMITS, files: 300 } })

    await expect(failure).rejects.toMatchObject({ code: 'limit-exceeded' })
  })

  test('what cannot be taken withholds its skill with the reason, and its neighbours are served', async () => {
    await using scene = await Scene.of({
      'fine/SKILL.md': skillText('fine'),
      'large/SKILL.md': skillText('large'),
      'large/big': 'x'.repeat(2_000),
      'pipe/SKILL.md': skillText('pipe'),
      'socket/SKILL.md': skillText('socket'),
      'raw/SKILL.md': skillText('raw'),
      'long/SKILL.md': skillText('long'),
      [`long/${'l'.repeat(201)}`]: '',
    })
    execFileSync('mkfifo', [join(scene.folder, 'pipe/fifo')])
    await writeFile(Buffer.concat([Buffer.from(`${scene.folder}/raw/a`), Buffer.from([0xff])]), '')
    const server = createServer().listen(join(scene.folder, 'socket/s'))
    await new Promise<void>((resolve) => server.on('listening', resolve))

    await using tree = await scene.read({ limits: { ...FETCH_LIMITS, blobBytes: 1_000 } })
    const { skills } = await survey(tree, rulesWith(), undefined, STEADY)
    server.close()

    const standings = skills.map(({ path, standing, findings }) => [path, standing, ...noted(findings)].join(' '))
    expect(standings).toEqual([
      'fine served',
      'large withheld limit-bytes large/big',
      `long withheld path-refused long/${'l'.repeat(60)}…`,
      'pipe withheld path-refused pipe/fifo',
      'raw withheld path-refused raw/a%FF',
      'socket withheld path-refused socket/s',
    ])
    expect(skills[3]?.findings[0]?.message).toBe('It is not a file, but a socket, a pipe or a device')
  })

  test('links lead nowhere outside of it, and around in circles neither', async () => {
    await using outside = await temporaryFolder()
    await fillFolder(outside.path, { 'secret/SKILL.md': skillText('secret') })
    await using scene = await Scene.of({
      'a/SKILL.md': skillText('a'),
      'a/up': { link: '..' },
      'a/self': { link: 'self' },
      'a/passwd': { link: '/etc/passwd' },
      loop: { link: '.' },
      abs: { link: join(outside.path, 'secret') },
      rel: { link: `../../../../../../../..${outside.path}/secret` },
      'b/SKILL.md': { link: join(outside.path, 'secret/SKILL.md') },
    })

    await using tree = await scene.read()
    const { skills, taken } = await survey(tree, rulesWith(), undefined, STEADY)

    expect(skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual(['a served', 'b withheld'])
    const texts = [...taken.values()].map((blob) =>
      blob.kind === 'blob' ? Buffer.from(tree.bytesOf(blob)).toString() : '',
    )
    expect(texts.join('')).not.toContain('secret of')
    expect(texts.some((text) => text.includes('name: secret'))).toBe(false)
  })

  test('links that lead out of it to skills of its owner are those skills, where that is asked for, and no others', async () => {
    await using beside = await temporaryFolder()
    await fillFolder(beside.path, {
      'alpha/SKILL.md': skillText('alpha'),
      'alpha/scripts/run.sh': 'run',
      'far/SKILL.md': skillText('far'),
      'far/out': { link: '../secret/key' },
      'secret/key': 'private',
      'inner/SKILL.md': { link: '../alpha/SKILL.md' },
    })
    const to = (name: string): { readonly link: string } => ({ link: join(beside.path, name) })
    await using scene = await Scene.of({
      'own/SKILL.md': skillText('own'),
      alpha: to('alpha'),
      far: to('far'),
      secret: to('secret'),
      inner: to('inner'),
      gone: to('none'),
      file: to('alpha/SKILL.md'),
      itself: { link: '.' },
      'deep/alpha': to('alpha'),
    })
    const found = async (reading: Partial<FolderReading>): Promise<readonly string[]> => {
      await using tree = await scene.read(reading)
      const { skills, taken } = await survey(tree, rulesWith(), undefined, STEADY)
      const texts = [...taken.values()].map((blob) =>
        blob.kind === 'blob' ? Buffer.from(tree.bytesOf(blob)).toString() : '',
      )
      expect(texts.join('')).not.toContain('private')
      return skills.map(
        ({ path, standing, files }) => `${path} ${standing} ${files.map((file) => file.path).join(' ')}`,
      )
    }

    const refused = await found({})
    const followed = await found({ follows: true })
    const apart = await found({ follows: true, apart: [beside.path] })

    expect(refused).toEqual(['own served SKILL.md'])
    expect(followed).toEqual(['alpha served SKILL.md scripts/run.sh', 'far served SKILL.md', 'own served SKILL.md'])
    expect(apart).toEqual(refused)
  })

  test.skipIf(process.getuid?.() !== 0)('a link to the skill of another owner is not followed', async () => {
    await using beside = await temporaryFolder()
    await fillFolder(beside.path, { 'alpha/SKILL.md': skillText('alpha'), 'beta/SKILL.md': skillText('beta') })
    await using scene = await Scene.of({
      alpha: { link: join(beside.path, 'alpha') },
      beta: { link: join(beside.path, 'beta') },
    })
    await chown(join(beside.path, 'beta'), 65_534, 65_534)

    await using tree = await scene.read({ follows: true })

    const { skills } = await survey(tree, rulesWith(), undefined, STEADY)
    expect(skills.map(({ path }) => path)).toEqual(['alpha'])
  })

  test('a folder that becomes a link while it is read is not followed', async () => {
    await using outside = await temporaryFolder()
    await fillFolder(outside.path, { 'b/SKILL.md': skillText('secret') })
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') })
    const hashes = new Meddler(() => {
      renameSync(join(scene.folder, 'b'), join(scene.folder, 'c'))
      symlinkSync(join(outside.path, 'b'), join(scene.folder, 'b'))
    })

    await using tree = await scene.read({ hashes })

    expect(linesOf(tree).map((line) => line.replace(/ [0-9a-f]+\t/, ' '))).toEqual([
      '100644 blob a/SKILL.md',
      '120000 blob b',
      '100644 blob c/SKILL.md',
    ])
    expect(blobsOf(tree)).not.toContain(hashOf('blob', Buffer.from(skillText('secret')), 'sha256'))
  })

  test('a file that changes between the look and the taking is not taken, and it is worth another try', async () => {
    await using scene = await Scene.of(FILES)
    await using tree = await scene.read()
    await writeFile(join(scene.folder, 'one/run.sh'), 'changed')

    const taking = tree.take(blobsOf(tree), STEADY)

    await expect(taking).rejects.toMatchObject({
      code: 'source-unreachable',
      message: expect.stringContaining('"one/run.sh" changes while it is read'),
    })
  })

  test('a file that is written again and again is taken as it was hashed, and keeps nothing else out', async () => {
    await using scene = await Scene.of(FILES)
    await using tree = await scene.read({ hashes: new FolderHashes(Date.now) })
    await writeFile(join(scene.folder, 'one/run.sh'), 'changed')

    const taken = await tree.take(blobsOf(tree), STEADY)

    for (const [id, blob] of taken) {
      const bytes = blob.kind === 'blob' ? tree.bytesOf(blob) : Buffer.of()
      expect(hashOf('blob', bytes, 'sha256')).toBe(id)
    }
    expect(taken.size).toBe(blobsOf(tree).length)
  })

  test('bytes that moved behind a link between the look and the taking are not taken', async () => {
    await using scene = await Scene.of(FILES)
    await using tree = await scene.read()
    await rename(join(scene.folder, 'one'), `${scene.folder}-moved`)
    await symlink(`${scene.folder}-moved`, join(scene.folder, 'one'))

    await expect(tree.take(blobsOf(tree), STEADY)).rejects.toMatchObject({ code: 'source-unreachable' })
  })

  test('a file that is written while it is read is read again, and one that never rests concerns its skill alone', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') })
    const file = join(scene.folder, 'a/SKILL.md')
    const append = (): void => appendFileSync(file, 'more')

    await using tree = await scene.read({ hashes: new Meddler(append) })
    await using restless = await scene.read({ hashes: new Meddler(append, Number.POSITIVE_INFINITY) })

    expect(blobsOf(tree)).toContain(hashOf('blob', Buffer.from(`${skillText('a')}more`), 'sha256'))
    const { skills } = await survey(restless, rulesWith(), undefined, STEADY)
    expect(skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual(['a withheld', 'b served'])
    expect(skills[0]?.findings[0]?.message).toContain('it changes each time it is read')
  })

  test.each<[string, Partial<FetchLimits>]>([
    ['too deep', { depth: 2 }],
    ['too long', { pathBytes: 20 }],
  ])('a place that is %s withholds its skill, and elsewhere it is told and changes nothing', async (_, limits) => {
    await using scene = await Scene.of({
      'a/SKILL.md': skillText('a'),
      'b/SKILL.md': skillText('b'),
      'b/references/some/where.md': 'x',
      'junk/some/where/else/x': 'x',
      'junk/some/where/longer/x': 'x',
    })

    await using tree = await scene.read({ limits: { ...FETCH_LIMITS, ...limits } })
    const { skills, findings } = await survey(tree, rulesWith(), undefined, STEADY)

    expect(skills.map(({ path, standing }) => `${path} ${standing}`)).toEqual(['a served', 'b withheld'])
    expect(skills[1]?.findings.map(({ message }) => message)).toEqual([
      'It is below over 64 folders, or has a path of over 1024 bytes',
    ])
    expect(findings.filter(({ path, rule }) => rule !== 'path-refused' || !path.startsWith('junk/'))).toEqual([])
  })

  test('what some file system takes for .git is passed over as that is', async () => {
    await using scene = await Scene.of({
      'a/SKILL.md': skillText('a'),
      'a/.GIT/config': 'x',
      'git~1': 'x',
      'a/.git ': 'x',
    })

    await using tree = await scene.read()

    expect(linesOf(tree)).toHaveLength(1)
  })
})

describe('a folder of which something may not be read', () => {
  test.each([
    ['a file', 'b/x'],
    ['SKILL.md', 'b/SKILL.md'],
    ['a folder in it', 'b/below'],
    ['its folder', 'b'],
    ['what its link leads to', 'behind'],
    ['a folder above it', 'group'],
  ])('keeps a skill of which it is %s as it was, and its neighbours go on', async (_, place) => {
    await using scene = await Scene.of({
      'a/SKILL.md': skillText('a'),
      'b/SKILL.md': skillText('b'),
      'b/x': 'x',
      'b/below/y': 'y',
      'b/below/inner/SKILL.md': skillText('inner'),
      'group/c/SKILL.md': skillText('c'),
      'behind/the/SKILL.md': skillText('the'),
      the: { link: 'behind/the' },
      'behind/said.md': skillText('said'),
      'said/SKILL.md': { link: '../behind/said.md' },
    })
    const before = await scene.surveyed()
    await fillFolder(join(scene.folder, 'a'), { 'SKILL.md': skillText('a', 'anew') })

    const after = await scene.surveyedWithout(place, before)

    const digests = ({ skills }: Snapshot) => skills.map(({ path, standing, digest }) => ({ path, standing, digest }))
    expect(digests(after).filter(({ path }) => path !== 'a')).toEqual(
      digests(before).filter(({ path }) => path !== 'a'),
    )
    expect(digests(after)[0]).not.toEqual(digests(before)[0])
    const notes = after.skills.flatMap(({ findings }) => findings.filter(({ rule }) => rule === 'not-read'))
    expect(notes.map(({ path }) => path)).toContainEqual(expect.stringMatching(/^(?:b|group|behind|the)/))
  })

  test('keeps nothing once it may be read again, nor what was never there', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b'), 'b/x': 'x' })
    const never = await scene.surveyedWithout('b/x', undefined)
    const before = await scene.surveyed()
    const kept = await scene.surveyedWithout('b/x', before)
    const again = await scene.surveyedWithout('b/x', kept)

    const after = await scene.surveyed(again)

    const told = ({ skills }: Snapshot) =>
      skills.map(({ path, standing, findings }) => [path, standing].concat(noted(findings)))
    expect(told(never)).toEqual([
      ['a', 'served'],
      ['b', 'withheld', 'path-refused b/x'],
    ])
    expect(told(again)).toEqual([
      ['a', 'served'],
      ['b', 'served', 'not-read b/x'],
    ])
    expect(after.skills).toEqual(before.skills)
  })

  test('tells of a place beside the skills, which changes nothing else', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'lost+found/x': 'x' })

    const { skills, findings } = await scene.surveyedWithout('lost+found', undefined)

    expect(skills.map(({ standing }) => standing)).toEqual(['served'])
    expect(noted(findings)).toEqual(['path-refused lost+found'])
  })

  test('tells of the first few of many such places, and how many there are', async () => {
    const junk = Array.from({ length: 40 }, (_, index) => [`junk/${index}/x/y`, ''] as const)
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), ...Object.fromEntries(junk) })

    await using tree = await scene.read({ limits: { ...FETCH_LIMITS, depth: 2 } })
    const { findings } = await survey(tree, rulesWith(), undefined, STEADY)

    expect(findings).toHaveLength(33)
    expect(findings.filter(({ message }) => message.startsWith('8 more places'))).toHaveLength(1)
  })

  test.each(['docs', 'docs/deep', 'docs/deep/b.md'])('keeps what was served of %s', async (place) => {
    await using scene = await Scene.of({ 'docs/a.md': 'a', 'docs/deep/b.md': 'b' })
    const before = await scene.surveyed(undefined, 'docs')

    const after = await scene.surveyedWithout(place, before, 'docs')

    expect(after.docs).toEqual(before.docs)
    expect(noted(after.docsFolder?.findings ?? [])).toEqual([`not-read ${place}`])
  })

  test.each(['docs/deep', 'docs/deep/b.md'])('keeps where a link among the docs led, without %s', async (place) => {
    await using scene = await Scene.of({ 'docs/deep/b.md': 'b', 'docs/deep/l.md': { link: 'b.md' } })
    const before = await scene.surveyed(undefined, 'docs')

    const after = await scene.surveyedWithout(place, before, 'docs')

    expect(after.docs?.files.map(({ path, target }) => [path, target])).toEqual([
      ['deep/b.md', undefined],
      ['deep/l.md', 'deep/b.md'],
    ])
  })

  test('fails the look where it is the very folder that skills are looked for in', async () => {
    await using scene = await Scene.of({ 'skills/a/SKILL.md': skillText('a') })

    const failure = asNobody(join(scene.folder, 'skills'), async () => {
      await using tree = await scene.read({ root: 'skills' })
      return await survey(tree, rulesWith({ root: 'skills' }), undefined, STEADY)
    })

    await expect(failure).rejects.toMatchObject({ code: 'source-unreachable' })
  })
})

describe('a file that is being saved', () => {
  test('is read once it was left alone for a moment, and not as it was in between', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': '' })
    const full = skillText('a')
    let waitedMs = 0
    const clock = {
      now: () => new Date(Date.now() + waitedMs),
      wait: async (ms: number) => {
        if (waitedMs === 0) await writeFile(join(scene.folder, 'a/SKILL.md'), full)
        waitedMs += ms
      },
    }

    await using tree = await scene.read({ clock })

    expect(blobsOf(tree)).toEqual([hashOf('blob', Buffer.from(full), 'sha256')])
    expect(waitedMs).toBeGreaterThan(0)
  })

  test('keeps a look waiting for a second at most, and then concerns its skill alone', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b'), 'b/log': 'x' })
    const log = join(scene.folder, 'b/log')
    const hashes = new FolderHashes(() => Date.now() + 60_000)
    await using _known = await scene.read({ hashes })
    await appendFile(log, 'x')
    let waitedMs = 0
    const clock = {
      now: () => statSync(log).ctime,
      wait: async (ms: number) => {
        waitedMs += ms
        await appendFile(log, 'x')
      },
    }

    await using tree = await scene.read({ clock, hashes })
    const { skills } = await survey(tree, rulesWith(), undefined, STEADY)

    expect(skills.map(({ path, standing, findings }) => [path, standing].concat(noted(findings)))).toEqual([
      ['a', 'served'],
      ['b', 'withheld', 'path-refused b/log'],
    ])
    expect(waitedMs).toBe(1_000)
  })

  test.each(['a/SKILL.md', 'a'])(
    'is looked for again where %s is away for a moment, and missed where it stays away',
    async (place) => {
      await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'b/SKILL.md': skillText('b') })
      const hashes = new FolderHashes(() => Date.now() + 60_000)
      const comeBack = () => rename(`${scene.folder}-away`, join(scene.folder, place))
      let [waits, onWait] = [0, comeBack]
      const clock = {
        now: () => new Date(Date.now() + 60_000),
        wait: async () => {
          waits += 1
          await onWait()
        },
      }
      await using before = await scene.read({ hashes, clock })

      await rename(join(scene.folder, place), `${scene.folder}-away`)
      await using back = await scene.read({ hashes, clock })
      await rename(join(scene.folder, place), `${scene.folder}-away`)
      onWait = async () => {}
      await using gone = await scene.read({ hashes, clock })
      await using still = await scene.read({ hashes, clock })

      expect(back.revision).toEqual(before.revision)
      expect(linesOf(gone)).toHaveLength(1)
      expect(still.revision).toEqual(gone.revision)
      expect(waits).toBe(2)
    },
  )

  test('is looked for again where a linked SKILL.md leads to it', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': { link: '../shared/doc.md' }, 'shared/doc.md': skillText('a') })
    const hashes = new FolderHashes(() => Date.now() + 60_000)
    const [doc, away] = [join(scene.folder, 'shared/doc.md'), `${scene.folder}-away`]
    const clock = { now: () => new Date(Date.now() + 60_000), wait: async () => rename(away, doc) }
    await using before = await scene.read({ hashes, clock })

    await rename(doc, away)
    await using back = await scene.read({ hashes, clock })

    expect(back.revision).toEqual(before.revision)
  })

  test('is not waited for where it was left alone, nor where the clocks differ', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a') })
    const wait = async (): Promise<never> => {
      throw new Error('Nobody waits')
    }

    const aheadBy = (ms: number) => ({ now: () => new Date(Date.now() + ms), wait })

    await using early = await scene.read({ clock: aheadBy(-60_000) })
    await using late = await scene.read({ clock: aheadBy(60_000) })

    expect(early.revision).toEqual(late.revision)
  })
})

describe('what is learnt of a folder', () => {
  test('is what a change could be of use for', async () => {
    await using scene = await Scene.of({
      'in/a/SKILL.md': skillText('a'),
      'in/ünïcode/SKILL.md': { link: '../../shared/b.md' },
      'in/c': { link: '../out/c' },
      'shared/b.md': skillText('b'),
      'out/c/SKILL.md': skillText('c'),
      'docs/x.md': 'x',
      'target/out': '',
    })
    const hashes = new FolderHashes(() => 0)

    const before = await hashes.isOfUse('target/out')
    await using _ = await scene.read({ hashes, root: 'in', docs: 'docs' })

    const of = (...paths: string[]) => usedOf(hashes, paths)
    const used = [
      '',
      'in',
      'in/a',
      'in/a/new',
      'in/c',
      'out',
      'out/c/x',
      'shared',
      'shared/b.md',
      'in/ünïcode',
      'docs/y',
    ]
    expect(before).toBe(true)
    expect(await of(...used, 'target/SKILL.md', 'target', 'target/out', 'in/x', 'shared/c.md')).toEqual([
      ...used,
      'target/SKILL.md',
    ])
  })

  test('tells of a change during a look by what that look chooses', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'target/out': '' })
    const hashes = new Listed()
    const clock = { now: () => new Date(Date.now() + 60_000), wait: async () => {} }
    await using _before = await scene.read({ hashes, clock })
    await fillFolder(scene.folder, { 'b/SKILL.md': skillText('b') })

    let used: Promise<readonly string[]> | undefined
    hashes.onListed = () => (used = usedOf(hashes, ['b/late', 'target/out']))
    await using _after = await scene.read({ hashes, clock })

    expect(await used).toEqual(['b/late'])
  })

  test('says that any change may be of use once a look has failed, until one goes well', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': skillText('a'), 'target/out': '' })
    const hashes = new FolderHashes(() => 0)
    await using _before = await scene.read({ hashes })
    const used = () => usedOf(hashes, ['a/x', 'target/out'])

    const failing = scene.read({ hashes, limits: { ...FETCH_LIMITS, files: 2 } })
    const meanwhile = used()
    await expect(failing).rejects.toMatchObject({ code: 'limit-exceeded' })
    const failed = await used()
    await using _after = await scene.read({ hashes })

    expect(await meanwhile).toEqual(['a/x', 'target/out'])
    expect(failed).toEqual(['a/x', 'target/out'])
    expect(await used()).toEqual(['a/x'])
  })

  test('keeps few waiting for the end of a look, however many files are written meanwhile', async () => {
    const hashes = new FolderHashes(() => 0)
    hashes.begin()
    const waiting = Array.from({ length: 10_000 }, async (_, number) => hashes.isOfUse(`target/${number}`))

    const isOfUse = await hashes.isOfUse('target/out')

    expect(isOfUse).toBe(true)
    hashes.choose({ whole: new Set(), files: new Set(), kept: new Set(), links: new Map(), noted: new Set() })
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([false]))
  })

  test('is what a link names although nothing stands there, and not each file that one leads to', async () => {
    await using scene = await Scene.of({
      'a/SKILL.md': { link: '../shared/doc.md' },
      'b/SKILL.md': { link: '../hop.md' },
      'hop.md': { link: 'far/er/doc.md' },
      c: { link: 'away/c' },
      latest: { link: 'logs/today' },
      'logs/today': 'x',
    })
    const hashes = new FolderHashes(() => 0)

    await using _ = await scene.read({ hashes })

    const used = ['shared/doc.md', 'shared', 'hop.md', 'far', 'far/er/doc.md', 'away/c', 'away']
    expect(await usedOf(hashes, [...used, 'logs/today', 'shared/other.md'])).toEqual(used)
  })

  test('files that did not change are not read again; of those that did, nothing hides that', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': 'one', 'a/b': 'two', 'a/c': 'three' })
    const later = new Counting(() => Date.now() + 60_000)
    const { atime, mtime } = await stat(join(scene.folder, 'a/b'))

    await using first = await scene.read({ hashes: later })
    const reads = [later.reads]
    await using second = await scene.read({ hashes: later })
    reads.push(later.reads)
    await writeFile(join(scene.folder, 'a/b'), 'TWO')
    await utimes(join(scene.folder, 'a/b'), atime, mtime)
    await using third = await scene.read({ hashes: later })
    reads.push(later.reads)

    expect(reads).toEqual([3, 3, 4])
    expect(second.revision).toEqual(first.revision)
    expect(blobsOf(third)).toContain(hashOf('blob', Buffer.from('TWO'), 'sha256'))
  })

  test('a file that was changed a moment ago is read again: it may have changed again in the same instant', async () => {
    await using scene = await Scene.of({ 'a/SKILL.md': 'one' })
    const now = new Counting(() => Date.now())

    await using _first = await scene.read({ hashes: now })
    await using _second = await scene.read({ hashes: now })

    expect(now.reads).toBe(2)
  })
})

class Scene implements AsyncDisposable {
  readonly folder: string
  readonly #temporary: AsyncDisposable
  readonly #workspace: Awaited<ReturnType<typeof temporaryWorkspace>>
  readonly #stored = new Map<string, Buffer>()

  private constructor(
    path: string,
    temporary: AsyncDisposable,
    workspace: Awaited<ReturnType<typeof temporaryWorkspace>>,
  ) {
    this.folder = join(path, 'folder')
    this.#temporary = temporary
    this.#workspace = workspace
  }

  static async of(files: Files): Promise<Scene> {
    const temporary = await temporaryFolder()
    const scene = new Scene(temporary.path, temporary, await temporaryWorkspace())
    await fillFolder(scene.folder, files)
    return scene
  }

  async read(reading: Partial<FolderReading> = {}, path = this.folder, signal = STEADY) {
    const all = { root: '', docs: undefined, limits: FETCH_LIMITS, blobs: this.#workspace.blobs, ...reading }
    return readFolder(path, all, signal)
  }

  /** What is found now, by whoever knows what was found before. */
  async surveyed(earlier?: Snapshot, docs?: string, root = ''): Promise<Snapshot> {
    await using tree = await this.read({ docs, root })
    const read = async (kept: Skill | Docs, path: string): Promise<Uint8Array> =>
      this.#stored.get(kept.files.find((file) => file.path === path)?.blob ?? '') ?? Buffer.of()
    const rules = rulesWith({ root, ...(docs !== undefined && { docs }) })
    const served = earlier && { snapshot: earlier, read }
    const { taken, ...found } = await survey(tree, rules, { earlier: served, served }, STEADY)
    for (const [id, blob] of taken) if (blob.kind === 'blob') this.#stored.set(id, Buffer.from(tree.bytesOf(blob)))
    const { revision } = tree
    return {
      source: sourceId('team'),
      url: 'file:///folder',
      revision,
      tree: tree.root,
      proof: { commit: '' },
      ...found,
    }
  }

  /** While this place of the folder may not be read. */
  async surveyedWithout(place: string, earlier: Snapshot | undefined, docs?: string): Promise<Snapshot> {
    return asNobody(join(this.folder, place), () => this.surveyed(earlier, docs))
  }

  upstream() {
    const { selection } = rulesWith()
    const source: DirectorySource = {
      kind: 'directory',
      id: sourceId('team'),
      url: `file://${this.folder}`,
      path: this.folder,
      links: 'inside',
      ref: undefined,
      update: 'auto',
      brakes: 'hold',
      schedule: { kind: 'every', periodMs: 1_000 },
      ...selection,
    }
    const access = async (): Promise<never> => {
      throw new Error('No program is needed for a folder')
    }
    const programs = { git: 'git', ssh: 'ssh', path: '', access }
    return openTreeUpstream(source, { ...this.#workspace, limits: FETCH_LIMITS, way: async () => PLAIN_WAY, programs })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workspace[Symbol.asyncDispose]()
    await this.#temporary[Symbol.asyncDispose]()
  }
}

/** Does something between the look at a file and its reading. */
class Meddler extends FolderHashes {
  readonly #meddle: () => void
  #left: number

  constructor(meddle: () => void, times = 1) {
    super(() => 0)
    this.#meddle = meddle
    this.#left = times
  }

  override idOf(path: string, stat: BigIntStats): ObjectId | undefined {
    if (this.#left > 0) this.#meddle()
    this.#left -= 1
    return super.idOf(path, stat)
  }
}

/** Does something once the folder is listed, and nothing is chosen yet. */
class Listed extends FolderHashes {
  onListed = (): unknown => undefined

  constructor() {
    super(() => 0)
  }

  override wouldLose(choice: FolderFilter): boolean {
    this.onListed()
    return super.wouldLose(choice)
  }
}

/** Those of the paths at which a change would be of use. */
async function usedOf(hashes: FolderHashes, paths: readonly string[]): Promise<readonly string[]> {
  const answers = await Promise.all(paths.map(async (path) => hashes.isOfUse(path)))
  return paths.filter((_, index) => answers[index])
}

/** Counts the files that had to be read. */
class Counting extends FolderHashes {
  reads = 0

  override keep(path: string, stat: BigIntStats, id: ObjectId): boolean {
    this.reads += 1
    return super.keep(path, stat, id)
  }
}

function repositoryFiles(files: Files) {
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => {
      if (typeof content === 'object' && 'link' in content) return [path, { link: String(content.link) }]
      return [path, content]
    }),
  )
}
