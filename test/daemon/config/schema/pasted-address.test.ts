import { expect, test } from 'vitest'
import {
  isPerhapsRepository,
  pastedPlace,
  repositoryOfSeveral,
} from '../../../../src/daemon/config/schema/pasted-address.ts'

const GITHUB = 'https://github.com/acme/kit'
const COMMIT = 'a1'.repeat(20)

test.each([
  // GitHub
  [`${GITHUB}/tree/main/skills`, GITHUB, 'main', 'skills'],
  [`${GITHUB}/tree/main/`, GITHUB, 'main', undefined],
  [`${GITHUB}/tree/HEAD/skills`, GITHUB, undefined, 'skills'],
  [`${GITHUB}/tree/refs/heads/main/.claude/skills`, GITHUB, 'main', '.claude/skills'],
  [`${GITHUB}/blob/v1.2/skills/pdf/SKILL.md?plain=1#L3-L9`, GITHUB, 'v1.2', 'skills/pdf'],
  [`${GITHUB}/raw/main/SKILL.md`, GITHUB, 'main', undefined],
  [`${GITHUB}/edit/main/a%20b/SKILL.md`, GITHUB, 'main', 'a b'],
  [`${GITHUB}/commit/${COMMIT}`, GITHUB, COMMIT, undefined],
  [`${GITHUB}/releases/tag/v2`, GITHUB, 'v2', undefined],
  [`${GITHUB}/releases/tag/kit/v2`, GITHUB, 'kit/v2', undefined],
  [`${GITHUB}/releases/download/v2/kit.zip`, GITHUB, 'v2', undefined],
  [`${GITHUB}/releases`, GITHUB, undefined, undefined],
  [`${GITHUB}/pull/12`, GITHUB, 'refs/pull/12/head', undefined],
  [`${GITHUB}/pull/12/files`, GITHUB, 'refs/pull/12/head', undefined],
  [`${GITHUB}/pull/12/commits/${COMMIT}`, GITHUB, COMMIT, undefined],
  [`${GITHUB}/issues/3#issuecomment-1`, GITHUB, undefined, undefined],
  [`${GITHUB}/archive/refs/tags/v1.0.zip`, GITHUB, 'refs/tags/v1.0', undefined],
  [`${GITHUB}/archive/refs/heads/feat/a.tar.gz`, GITHUB, 'feat/a', undefined],
  [`${GITHUB}/archive/main.zip`, GITHUB, 'main', undefined],
  [`${GITHUB}/archive/${COMMIT}.tar.gz`, GITHUB, COMMIT, undefined],
  [`${GITHUB}/zipball/v1`, GITHUB, 'v1', undefined],
  ['https://codeload.github.com/acme/kit/zip/refs/tags/v1', GITHUB, 'refs/tags/v1', undefined],
  [`${GITHUB}?tab=readme-ov-file#install`, GITHUB, undefined, undefined],
  [`${GITHUB}#readme`, GITHUB, undefined, undefined],
  [`${GITHUB}#readme-ov-file`, GITHUB, undefined, undefined],
  [`${GITHUB}#L3-L9`, GITHUB, undefined, undefined],
  [`${GITHUB}#L3C1-L9C2`, GITHUB, undefined, undefined],
  [`${GITHUB}#L3-9`, GITHUB, undefined, undefined],
  [`${GITHUB}#readme:skills`, GITHUB, 'readme', 'skills'],
  [`${GITHUB}#readme-rewrite`, GITHUB, 'readme-rewrite', undefined],
  [`${GITHUB}#l10n`, GITHUB, 'l10n', undefined],
  [`${GITHUB}#install`, GITHUB, 'install', undefined],
  [`${GITHUB}/tree/main/skills#install`, GITHUB, 'main', 'skills'],
  [`${GITHUB}#feat/a:skills`, GITHUB, 'feat/a', 'skills'],
  [`${GITHUB}#feat/a%26b:my%20skills/c%3Ad`, GITHUB, 'feat/a&b', 'my skills/c:d'],
  ['https://www.github.com/acme/kit/tree/main', GITHUB, 'main', undefined],
  ['github.com/acme/kit/tree/main/skills', GITHUB, 'main', 'skills'],
  ['https://raw.githubusercontent.com/acme/kit/main/skills/pdf/SKILL.md', GITHUB, 'main', 'skills/pdf'],
  ['https://raw.githubusercontent.com/acme/kit/refs/heads/main/skills/pdf/SKILL.md', GITHUB, 'main', 'skills/pdf'],
  ['https://ghe.example.com/acme/kit/tree/main/x', 'https://ghe.example.com/acme/kit', 'main', 'x'],
  // The short forms
  ['acme/kit', GITHUB, undefined, undefined],
  ['acme/kit/', `${GITHUB}/`, undefined, undefined],
  ['acme/kit@main', GITHUB, 'main', undefined],
  ['acme/kit#feature/x', GITHUB, 'feature/x', undefined],
  ['acme/kit/skills/pdf', GITHUB, undefined, 'skills/pdf'],
  ['acme/kit/skills/pdf@main', GITHUB, 'main', 'skills/pdf'],
  ['acme/kit/skills/pdf@feat/a', GITHUB, 'feat/a', 'skills/pdf'],
  ['github.com/acme/kit/skills/pdf@main', GITHUB, 'main', 'skills/pdf'],
  ['acme/kit/skills/pdf#main', GITHUB, 'main', 'skills/pdf'],
  ['acme/kit/skills#main:pdf', GITHUB, 'main', 'skills/pdf'],
  ['acme/kit/src/pdf', GITHUB, undefined, 'src/pdf'],
  ['acme/kit/packages/7', GITHUB, undefined, undefined],
  ['acme/kit/packages/@scope/pdf', GITHUB, undefined, 'packages/@scope/pdf'],
  ['acme/kit/packages/@scope/pdf@v1', GITHUB, 'v1', 'packages/@scope/pdf'],
  ['acme/kit/tree/main/a@b', GITHUB, 'main', 'a@b'],
  [`${GITHUB}/skills/a@b`, GITHUB, undefined, 'skills/a@b'],
  ['acme/kit/tree/main/skills', GITHUB, 'main', 'skills'],
  ['git.example.com/acme/kit', 'https://git.example.com/acme/kit', undefined, undefined],
  // GitLab
  ['https://gitlab.com/a/b/kit/-/tree/main/skills?ref_type=heads', 'https://gitlab.com/a/b/kit', 'main', 'skills'],
  [
    'https://gitlab.example/a/kit/-/blob/main/skills/pdf/SKILL.md',
    'https://gitlab.example/a/kit',
    'main',
    'skills/pdf',
  ],
  ['https://gitlab.com/a/kit/-/raw/v1/SKILL.md', 'https://gitlab.com/a/kit', 'v1', undefined],
  [
    'https://gitlab.com/a/kit/-/merge_requests/3/diffs',
    'https://gitlab.com/a/kit',
    'refs/merge-requests/3/head',
    undefined,
  ],
  ['https://gitlab.com/a/kit/-/issues/3', 'https://gitlab.com/a/kit', undefined, undefined],
  ['https://gitlab.com/a/kit/-/releases', 'https://gitlab.com/a/kit', undefined, undefined],
  ['https://gitlab.com/a/kit/-/releases/v1', 'https://gitlab.com/a/kit', 'v1', undefined],
  ['https://gitlab.com/a/kit/-/tags/kit/v1', 'https://gitlab.com/a/kit', 'kit/v1', undefined],
  [`https://gitlab.com/a/kit/-/commit/${COMMIT}`, 'https://gitlab.com/a/kit', COMMIT, undefined],
  ['https://gitlab.com/a/kit/-/archive/v1/kit-v1.tar.gz', 'https://gitlab.com/a/kit', 'v1', undefined],
  ['https://gitlab.com/a/kit/-/archive/feat/a/kit-feat-a.zip', 'https://gitlab.com/a/kit', 'feat/a', undefined],
  // Gitea and Forgejo
  ['https://codeberg.org/a/kit/src/branch/main/skills', 'https://codeberg.org/a/kit', 'main', 'skills'],
  ['http://forge.example:3000/a/kit/src/tag/v1/x/SKILL.md', 'http://forge.example:3000/a/kit', 'v1', 'x'],
  [`https://codeberg.org/a/kit/raw/commit/${COMMIT}/x/SKILL.md`, 'https://codeberg.org/a/kit', COMMIT, 'x'],
  [`https://codeberg.org/a/kit/commit/${COMMIT}`, 'https://codeberg.org/a/kit', COMMIT, undefined],
  ['https://codeberg.org/a/kit/releases/tag/v1', 'https://codeberg.org/a/kit', 'v1', undefined],
  ['https://codeberg.org/a/kit/archive/v1.tar.gz', 'https://codeberg.org/a/kit', 'v1', undefined],
  ['https://codeberg.org/a/kit/pulls/7', 'https://codeberg.org/a/kit', 'refs/pull/7/head', undefined],
  // Bitbucket
  [`https://bitbucket.org/a/kit/commits/${COMMIT}`, 'https://bitbucket.org/a/kit', COMMIT, undefined],
  ['https://bitbucket.org/a/kit/commits/tag/v1', 'https://bitbucket.org/a/kit', 'v1', undefined],
  ['https://bitbucket.org/a/kit/branch/feat/a', 'https://bitbucket.org/a/kit', 'feat/a', undefined],
  ['https://bitbucket.org/a/kit/get/v1.zip', 'https://bitbucket.org/a/kit', 'v1', undefined],
  [`https://bb.example/projects/A/repos/kit/commits/${COMMIT}`, 'https://bb.example/scm/A/kit.git', COMMIT, undefined],
  [
    'https://bb.example/projects/A/repos/kit/pull-requests/3/overview',
    'https://bb.example/scm/A/kit.git',
    'refs/pull-requests/3/from',
    undefined,
  ],
  ['https://bitbucket.org/a/kit/src/main/skills/', 'https://bitbucket.org/a/kit', 'main', 'skills'],
  [`https://bitbucket.org/a/kit/src/${COMMIT}/x/SKILL.md?at=main`, 'https://bitbucket.org/a/kit', 'main', 'x'],
  [
    'https://bb.example/projects/ACME/repos/kit/browse/skills?at=refs%2Fheads%2Fmain',
    'https://bb.example/scm/ACME/kit.git',
    'main',
    'skills',
  ],
  ['https://bb.example/users/ada/repos/kit/browse', 'https://bb.example/scm/~ada/kit.git', undefined, undefined],
  // Azure DevOps
  [
    'https://dev.azure.com/acme/team/_git/kit?path=/skills/pdf&version=GBmain&_a=contents',
    'https://dev.azure.com/acme/team/_git/kit',
    'main',
    'skills/pdf',
  ],
  [
    `https://dev.azure.com/acme/team/_git/kit/commit/${COMMIT}`,
    'https://dev.azure.com/acme/team/_git/kit',
    COMMIT,
    undefined,
  ],
  [
    'https://dev.azure.com/acme/team/_git/kit/pullrequest/3',
    'https://dev.azure.com/acme/team/_git/kit',
    'refs/pull/3/merge',
    undefined,
  ],
  ['https://acme@dev.azure.com/acme/team/_git/kit', 'https://dev.azure.com/acme/team/_git/kit', undefined, undefined],
  ['https://acme.visualstudio.com/_git/kit?version=GTv1', 'https://acme.visualstudio.com/_git/kit', 'v1', undefined],
  ['https://dev.azure.com/acme/team/_git/kit#main', 'https://dev.azure.com/acme/team/_git/kit', 'main', undefined],
  ['https://git.sr.ht/~ada/kit/tree/main/item/skills/pdf', 'https://git.sr.ht/~ada/kit', 'main', 'skills/pdf'],
  ['https://git.example.com/kit.git?ref=refs/heads/dev', 'https://git.example.com/kit.git', 'dev', undefined],
  ['https://git.example.com/kit?ref=v1&path=/skills', 'https://git.example.com/kit', 'v1', 'skills'],
  // A ref behind an address
  ['https://git.example.com/kit.git#main:/skills//pdf/', 'https://git.example.com/kit.git', 'main', 'skills/pdf'],
  ['https://git.example.com/kit.git#main', 'https://git.example.com/kit.git', 'main', undefined],
  ['https://git.example.com/kit.git#main:skills', 'https://git.example.com/kit.git', 'main', 'skills'],
  ['https://git.example.com/kit.git@v1', 'https://git.example.com/kit.git', 'v1', undefined],
  ['git+https://git.example.com/kit.git@v1#subdirectory=a/b', 'https://git.example.com/kit.git', 'v1', 'a/b'],
  ['git+https://github.com/acme/kit#subdirectory=a/b', GITHUB, undefined, 'a/b'],
  ['git@git.example.com:acme/kit.git#main', 'git@git.example.com:acme/kit.git', 'main', undefined],
  ['ssh://git@git.example.com/kit.git@v1', 'ssh://git@git.example.com/kit.git', 'v1', undefined],
])('%s names the repository %s', (text, url, ref, root) => {
  expect(pastedPlace(text)).toEqual({ url, ...(ref !== undefined && { ref }), ...(root !== undefined && { root }) })
})

test.each([
  'https://github.com/acme/kit',
  'https://github.com/acme/kit.git',
  'https://git.example.com/scm/team/src/kit',
  'https://git.example.com/a/b/tree/kit.git',
  'https://git.example.com/kit/',
  'https://git.example.com/kit.git#main%0A',
  'https://github.com/acme/kit/tree/main/a%0D%0Ab',
  'https://git.example.com/kit.git?ref=a%0Ab',
  'https://dev.azure.com/acme/team/_git/kit',
  'https://tfs.example.com/tfs/main/team/_git/kit',
  'https://github.com/orgs/acme/repositories',
  'https://git.example.com/kit?private_token=x',
  'https://token@git.example.com/acme/kit/-/tree/main',
  'https://ada:secret@git.example.com/acme/kit/-/tree/main',
  'git@git.example.com:acme/kit.git',
  'ssh://git@git.example.com/kit',
  'file:///srv/kit',
  'skills',
  './a/b',
  'host.example/r',
])('%s is left as it is', (text) => {
  expect(pastedPlace(text)).toBeUndefined()
})

test.each([
  ['https://git.example/a/b/tree/kit', true],
  ['https://git.example/a/b/blob/kit/', true],
  ['https://git.example/a/b/tree/main/skills', true],
  ['https://git.example/a/tree/kit', false],
  ['https://git.example/a/b/tree/main/SKILL.md', false],
  ['https://git.example/a/b/tree/kit/-/tree/main', false],
  ['https://git.example/a/b/tree/kit?plain=1', false],
  ['https://git.example/a/b/tree/kit.git', false],
  ['https://github.com/a/b/tree/kit', false],
  ['https://www.github.com/a/b/tree/kit', false],
  ['https://github.acme.example/a/b/tree/kit', false],
  ['https://acme.ghe.com/a/b/tree/kit', false],
  ['https://git.sr.ht/~a/b/tree/kit', false],
  ['git.example/a/b/tree/kit', false],
])('%s can be a repository as well as a page: %j', (address, expected) => {
  expect(isPerhapsRepository(address)).toBe(expected)
})

test.each([
  [`${GITHUB}/compare/main...dev`, GITHUB],
  ['acme/kit/compare/main...dev', GITHUB],
  [`${GITHUB}/releases/latest`, GITHUB],
  ['https://gitlab.com/a/kit/-/compare/main...dev', 'https://gitlab.com/a/kit'],
  ['https://gitlab.com/a/kit/-/releases/permalink/latest', 'https://gitlab.com/a/kit'],
  ['https://bitbucket.org/a/kit/pull-requests/3/some-title', 'https://bitbucket.org/a/kit'],
  ['https://bitbucket.org/a/kit/branches/compare/a..b', 'https://bitbucket.org/a/kit'],
])('%s shows no single ref, and is not taken for a place', (text, repository) => {
  expect(pastedPlace(text)).toBeUndefined()
  expect(repositoryOfSeveral(text)).toBe(repository)
})

test.each([
  GITHUB,
  `${GITHUB}/compare`,
  `${GITHUB}/releases`,
  `${GITHUB}/pull/12`,
  'acme/kit',
  'ssh://git@h.example/a',
])('%s is no page of several commits', (text) => {
  expect(repositoryOfSeveral(text)).toBeUndefined()
})
