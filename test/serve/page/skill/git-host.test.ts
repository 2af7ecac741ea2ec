import { describe, expect, test } from 'vitest'
import { gitHostPages, skillPages } from '../../../../src/serve/page/skill/git-host.ts'
import type { Snapshot } from '../../../../src/sync/model/snapshot.ts'

const COMMIT = 'b27cf8c833f5876f5798ff2257ba217d5dea3019'

describe('the pages of a commit at its git host', () => {
  test.each([
    ['https://github.com/anthropics/skills', 'https://github.com/anthropics/skills/commit', '/tree/'],
    ['https://github.com/anthropics/skills.git', 'https://github.com/anthropics/skills/commit', '/tree/'],
    ['https://GitHub.com/Owner/Repo.git/', 'https://github.com/Owner/Repo/commit', '/tree/'],
    ['ssh://git@github.com/owner/repo.git', 'https://github.com/owner/repo/commit', '/tree/'],
    ['ssh://git@github.com:22/owner/repo.git', 'https://github.com/owner/repo/commit', '/tree/'],
    ['git@github.com:owner/repo.git', 'https://github.com/owner/repo/commit', '/tree/'],
    ['github.com:owner/repo', 'https://github.com/owner/repo/commit', '/tree/'],
    ['https://gitlab.com/a/b/c/skills.git', 'https://gitlab.com/a/b/c/skills/-/commit', '/-/tree/'],
    ['git@bitbucket.org:team/skills.git', 'https://bitbucket.org/team/skills/commits', '/src/'],
    ['https://codeberg.org/team/skills', 'https://codeberg.org/team/skills/commit', '/src/commit/'],
  ])('%s', (url, commit, folder) => {
    const pages = gitHostPages(url, COMMIT)

    expect(pages?.commit).toBe(`${commit}/${COMMIT}`)
    expect(pages?.folder('a b/ü#?')).toContain(`${folder}${COMMIT}/a%20b/%C3%BC%23%3F`)
    expect(pages?.folder('')).toMatch(new RegExp(`${folder}${COMMIT}$`))
  })

  test.each([
    'https://user:secret@github.com/owner/repo.git',
    'https://secret@gitlab.com/owner/repo',
    'ssh://secret@codeberg.org/owner/repo',
    'secret@bitbucket.org:owner/repo',
  ])('have nothing of a credential: %s', (url) => {
    const pages = gitHostPages(url, COMMIT)

    expect(pages?.commit).toMatch(/^https:\/\/[a-z.]+\/owner\/repo\//)
    expect(JSON.stringify([pages?.commit, pages?.folder('x')])).not.toMatch(/secret|@/)
  })

  test.each([
    'https://example.com/owner/repo',
    'https://github.com.evil.example/owner/repo',
    'https://evilgithub.com/owner/repo',
    'https://github.com@evil.example/owner/repo',
    'https://github.com:8443/owner/repo',
    'ssh://git@github.com:2222/owner/repo',
    'http://github.com/owner/repo',
    'javascript://github.com/owner/repo%0Aalert(1)',
    'javascript:alert(1)',
    'data:text/html,owner/repo',
    'file:///srv/github.com/owner/repo',
    'program:github.com:owner/repo',
    'git@github.com:owner/repo:x',
    'git@github.com:/owner/repo',
    '-oProxyCommand=x@github.com:owner/repo',
    'https://github.com/owner',
    'https://github.com/owner/repo/tree/main',
    'https://github.com/owner/..',
    'https://github.com/owner/%2e%2e',
    'https://github.com/owner/re"po',
    'https://github.com/owner/<script>',
    'https://github.com/owner//repo',
    'https://github.com/owner/repo?x=1',
    'https://github.com/owner/repo#x',
    'git@github.com:owner/../repo',
    'git@github.com:owner/re po',
    'github.com/owner/repo',
    '',
  ])('are none for %j', (url) => {
    expect(gitHostPages(url, COMMIT)).toBeUndefined()
  })

  test.each(['', 'main', '../x', COMMIT.slice(1), COMMIT.toUpperCase(), `${COMMIT}/..`])(
    'are none for the commit %j',
    (commit) => expect(gitHostPages('https://github.com/owner/repo', commit)).toBeUndefined(),
  )

  test.each(['..', 'a/../b', './a', 'a//b', '/a'])('have no folder %j', (path) => {
    expect(gitHostPages('https://github.com/owner/repo', COMMIT)?.folder(path)).toBeUndefined()
  })
})

describe('the pages of a skill', () => {
  const snapshot = {
    url: 'https://github.com/owner/repo',
    revision: { asked: undefined, ref: 'refs/heads/main', commit: COMMIT as never },
    roots: { skills: 'all/skills' },
  } satisfies Parameters<typeof skillPages>[0]

  test('are below the root of its source', () => {
    expect(skillPages(snapshot, 'pdf')).toEqual({
      commit: `https://github.com/owner/repo/commit/${COMMIT}`,
      folder: `https://github.com/owner/repo/tree/${COMMIT}/all/skills/pdf`,
    })
    expect(skillPages({ ...snapshot, roots: { skills: '' } }, '').folder).toBe(
      `https://github.com/owner/repo/tree/${COMMIT}`,
    )
  })

  test('name no folder where the root is not known', () => {
    const { roots: _roots, ...old } = snapshot

    expect(skillPages(old, 'pdf')).toEqual({ commit: `https://github.com/owner/repo/commit/${COMMIT}` })
  })

  test.each<[string, Partial<Snapshot>]>([
    ['a listing of an MCP server', { revision: { ...snapshot.revision, ref: 'listing' } }],
    ['a folder', { revision: { ...snapshot.revision, ref: 'folder' } }],
    ['a commit that is gone', { rebuiltFrom: 'hub' as never }],
  ])('are none for %s', (_of, part) => {
    expect(skillPages({ ...snapshot, ...part }, 'pdf')).toEqual({})
  })
})
