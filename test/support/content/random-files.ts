import * as fc from 'fast-check'
import type { Content } from '../git/repository.ts'
import { skillText, type Files } from '../git/scripted-upstream.ts'

/** One thing that an author does to a repository. */
export type Edit =
  | { readonly kind: 'put'; readonly path: string; readonly content: Files[string] }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'move'; readonly from: string; readonly to: string }

/** The files after the edits. What stands in the way of a path goes, as on a disk. */
export function edited(files: Files, edits: readonly Edit[]): Files {
  const next = new Map(Object.entries(files))
  for (const edit of edits) {
    switch (edit.kind) {
      case 'put':
        put(next, edit.path, edit.content)
        break
      case 'remove':
        take(next, edit.path)
        break
      case 'move':
        for (const [path, content] of take(next, edit.from)) put(next, edit.to + path, content)
    }
  }
  return Object.fromEntries(next)
}

function put(files: Map<string, Files[string]>, path: string, content: Files[string]): void {
  take(files, path)
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) files.delete(path.slice(0, at))
  files.set(path, content)
}

/** Removes what is at the path and below it, and gives it with its paths from there. */
function take(files: Map<string, Files[string]>, path: string): (readonly [string, Files[string]])[] {
  const taken = [...files].filter(([other]) => other === path || other.startsWith(`${path}/`))
  for (const [other] of taken) files.delete(other)
  return taken.map(([other, content]) => [other.slice(path.length), content])
}

/** Few names, so that folders, names and links meet all the time; `r` is where a source may have its root. */
const NAMES = ['a', 'b', 'c'] as const

const name = fc.constantFrom(...NAMES)
/** Among them some that a URI has to encode, and one that it cannot hold. */
const folderName = fc.oneof(
  { weight: 20, arbitrary: name },
  { weight: 1, arbitrary: fc.constantFrom('%2e é', 'a\\b', '__proto__', 'SKILL.md') },
)
const folder = fc
  .tuple(fc.constantFrom('r', 'r', 'r', 'o'), fc.array(folderName, { maxLength: 3 }))
  .map(([top, names]) => [top, ...names].join('/'))

const document = fc.oneof(
  { weight: 12, arbitrary: fc.tuple(name, fc.nat(2)).map(([as, body]) => skillText(as, '', `${body}`)) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<Content>(
      '# No frontmatter\n',
      '---\nname: a\n',
      '---\nname: a\ndescription: [\n---\n',
      '---\nname: b\n---\n',
      '---\nname: Upper Case\ndescription: Has no URI\n---\n',
      '---\nname: Upper Case\n---\n',
      { executable: skillText('c') },
    ),
  },
)

const text = fc.constantFrom<Content>('one', 'two', { executable: 'three' }, '')
const link = fc
  .constantFrom('a', 'b', '..', '.', '../a', '../b', '../../a', 'ref', '../ref', '../b/ref', 'b/ref', '../b/SKILL.md')
  .map((target): Content => ({ link: target }))
const elsewhere = fc
  .constantFrom(
    '/etc/passwd',
    '../../../../..',
    'nothing',
    '../../o',
    '../../o/a/SKILL.md',
    '../SKILL.md',
    'a/SKILL.md',
  )
  .map((target): Content => ({ link: target }))
/** Links from one place to another that may well be there, or come later. */
const between = fc
  .tuple(folder, fc.constantFrom('l', 'SKILL.md'), folder, fc.constantFrom('', '', '/SKILL.md', '/ref'))
  .map(([from, name, to, file]): Edit => {
    const up = from.split('/').map(() => '..')
    return { kind: 'put', path: `${from}/${name}`, content: { link: `${up.join('/')}/${to}${file}` } }
  })
const submodule: Content = { submodule: '5ab0'.repeat(10) }

function putAt(below: fc.Arbitrary<string>, content: fc.Arbitrary<Content>): fc.Arbitrary<Edit> {
  return fc
    .tuple(folder, below, content)
    .map(([at, path, content]) => ({ kind: 'put', path: `${at}/${path}`, content }))
}

const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 8, arbitrary: putAt(fc.constant('SKILL.md'), document) },
  { weight: 1, arbitrary: putAt(fc.constant('Skill.md'), document) },
  { weight: 2, arbitrary: putAt(fc.constant('SKILL.md'), fc.oneof(link, elsewhere)) },
  { weight: 4, arbitrary: putAt(fc.constantFrom('ref', 'x/ref', 'a', 'b', 'REF'), text) },
  { weight: 3, arbitrary: putAt(fc.constantFrom('ref', 'l', 'a', 'b', 'c'), fc.oneof(link, elsewhere)) },
  { weight: 2, arbitrary: putAt(fc.constantFrom('g.md', 'G.md', 'h.md', 'x/g.md', 'H.MD'), text) },
  { weight: 1, arbitrary: putAt(fc.constantFrom('g.md', 'l.md'), fc.oneof(link, elsewhere)) },
  { weight: 4, arbitrary: between },
  { weight: 1, arbitrary: putAt(fc.constantFrom('m', 'a', 'z/m'), fc.constant(submodule)) },
  { weight: 3, arbitrary: folder.map((path): Edit => ({ kind: 'remove', path })) },
  { weight: 2, arbitrary: fc.tuple(folder, folder).map(([from, to]): Edit => ({ kind: 'move', from, to })) },
)

/** A repository, commit by commit. Each holds a file in `r`, so that a source may have its root there. */
export const histories: fc.Arbitrary<readonly Files[]> = fc
  .tuple(fc.array(edit, { minLength: 2, maxLength: 14 }), fc.array(fc.array(edit, { minLength: 1, maxLength: 3 })))
  .map(([first, rest]) => {
    const commits: Files[] = []
    for (const edits of [first, ...rest]) {
      commits.push(edited(commits.at(-1) ?? {}, [...edits, { kind: 'put', path: 'r/keep', content: 'here' }]))
    }
    return commits
  })
