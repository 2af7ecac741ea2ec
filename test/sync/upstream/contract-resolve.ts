import { expect, test } from 'vitest'
import type { ObjectFormat } from '../../../src/sync/model/revision.ts'
import { Repository } from '../../support/git/repository.ts'
import { reach, STEADY, type Open } from './reached.ts'

/** Every way to write a ref, and what it comes to. */
export function resolves(open: Open, objectFormat: ObjectFormat): void {
  test('the default branch, a branch, a tag and a commit resolve to what git says', async () => {
    await using repository = await Repository.create({ branch: 'trunk', objectFormat })
    const first = await repository.commit({ 'a.md': 'a' })
    await repository.tag('light')
    const tag = await repository.tag('v1', { annotated: true })
    const second = await repository.commit({ 'a.md': 'b' })
    await repository.setRef('refs/heads/feature/x', first)
    await repository.setRef('refs/changes/1', first)
    await using opened = await open(repository)

    const resolved = async (ref?: string) => {
      await using reached = await reach(opened.url, ref === undefined ? {} : { ref })
      return await reached.upstream.resolve(STEADY)
    }

    expect(await resolved()).toEqual({ asked: undefined, ref: 'refs/heads/trunk', commit: second })
    expect(await resolved('trunk')).toEqual({ asked: 'trunk', ref: 'refs/heads/trunk', commit: second })
    expect(await resolved('feature/x')).toEqual({ asked: 'feature/x', ref: 'refs/heads/feature/x', commit: first })
    expect(await resolved('refs/heads/trunk')).toMatchObject({ ref: 'refs/heads/trunk', commit: second })
    expect(await resolved('refs/changes/1')).toMatchObject({ ref: 'refs/changes/1', commit: first })
    expect(await resolved('light')).toEqual({ asked: 'light', ref: 'refs/tags/light', commit: first })
    expect(await resolved('v1')).toEqual({ asked: 'v1', ref: 'refs/tags/v1', commit: first, tag })
    expect(await resolved(first)).toEqual({ asked: first, ref: first, commit: first })
  })

  test('refs resolve the same once git has packed them', async () => {
    await using repository = await Repository.create({ objectFormat })
    const commit = await repository.commit({ 'a.md': 'a' })
    const tag = await repository.tag('v1', { annotated: true })
    await repository.git('gc', '--quiet')
    await using opened = await open(repository)
    await using branch = await reach(opened.url, { ref: 'main' })
    await using version = await reach(opened.url, { ref: 'v1' })

    const revisions = [await branch.upstream.resolve(STEADY), await version.upstream.resolve(STEADY)]

    expect(revisions).toMatchObject([{ commit }, { commit, tag }])
  })

  test('a name that is a branch and a tag is refused, naming both', async () => {
    await using repository = await Repository.create({ objectFormat })
    await repository.commit({ 'a.md': 'a' })
    await repository.tag('main')
    await using opened = await open(repository)
    await using reached = await reach(opened.url, { ref: 'main' })

    const failure = reached.upstream.resolve(STEADY)

    await expect(failure).rejects.toMatchObject({ code: 'ref-ambiguous' })
    await expect(failure).rejects.toThrow('"refs/heads/main" and "refs/tags/main"')
  })

  test.each(['mai', 'main2', 'nope', 'refs/heads/nope', 'refs/heads/../heads/main', '../config'])(
    'the name %s, which is no ref, is not found',
    async (ref) => {
      await using repository = await Repository.create({ objectFormat })
      await repository.commit({ 'a.md': 'a' })
      await using opened = await open(repository)
      await using reached = await reach(opened.url, { ref })

      const failure = reached.upstream.resolve(STEADY)

      await expect(failure).rejects.toMatchObject({ code: 'ref-not-found', message: expect.stringContaining(ref) })
    },
  )

  test('a name that goes on in the root is told in whole', async () => {
    await using repository = await Repository.create({ objectFormat })
    await repository.commit({ 'a.md': 'a' }, { branch: 'feat/a' })
    await using opened = await open(repository)
    await using reached = await reach(opened.url, { ref: 'feat', root: 'a/skills' })

    const failure = reached.upstream.resolve(STEADY)

    const fix = `set \`ref: feat/a\` and \`root: skills\`; on a command line, write ${opened.url}#feat/a:skills`
    await expect(failure).rejects.toMatchObject({ code: 'ref-not-found', fix: expect.stringContaining(fix) })
  })

  test('an empty repository has no default branch, and the message says why', async () => {
    await using repository = await Repository.create({ objectFormat })
    await using opened = await open(repository)
    await using reached = await reach(opened.url)

    const failure = reached.upstream.resolve(STEADY)

    await expect(failure).rejects.toMatchObject({
      code: 'ref-not-found',
      message: expect.stringContaining('no commits'),
    })
  })
}
