import type { Content } from './repository.ts'

/** The author of every commit. */
export const PERSON = { name: 'Ada Author', email: 'ada@example.com' }

/** A commit to make on a ref. */
export interface CommitPlan {
  readonly ref: string
  readonly parent: string | undefined
  readonly message: string
  readonly seconds: number
  readonly files: Readonly<Record<string, Content | null>>
}

/** The whole commit in the language of `git fast-import`, which then prints the commit's id. */
export function commitStream(plan: CommitPlan): Uint8Array[] {
  const files = Object.entries(plan.files)
  return [
    ...commitLines(plan, plan.parent),
    // Removed first, so that one commit can put a file where a folder was.
    ...files.flatMap(([path, content]) => (content === null ? [Buffer.from(`D ${quoted(path)}\n`)] : [])),
    ...files.flatMap(([path, content]) => (content === null ? [] : change(path, content))),
    Buffer.from('\nget-mark :1\ndone\n'),
  ]
}

/** A commit with the files of its parent. */
export function commitLines(
  { ref, message, seconds }: Pick<CommitPlan, 'ref' | 'message' | 'seconds'>,
  parent: string | undefined,
): Uint8Array[] {
  const person = `${PERSON.name} <${PERSON.email}> ${seconds} +0000`
  return [
    Buffer.from(`commit ${ref}\nmark :1\nauthor ${person}\ncommitter ${person}\n`),
    ...data(message),
    Buffer.from(parent === undefined ? '' : `from ${parent}\n`),
  ]
}

function change(path: string, content: Content): Uint8Array[] {
  if (typeof content === 'string' || content instanceof Uint8Array) return file('100644', path, content)
  if ('executable' in content) return file('100755', path, content.executable)
  if ('link' in content) return file('120000', path, content.link)
  return [Buffer.from(`M 160000 ${content.submodule} ${quoted(path)}\n`)]
}

function file(mode: string, path: string, bytes: string | Uint8Array): Uint8Array[] {
  return [Buffer.from(`M ${mode} inline ${quoted(path)}\n`), ...data(bytes)]
}

function data(bytes: string | Uint8Array): Uint8Array[] {
  return [Buffer.from(`data ${Buffer.byteLength(bytes)}\n`), Buffer.from(bytes), Buffer.from('\n')]
}

/** A path in C-style quotes, as fast-import reads them. */
function quoted(path: string): string {
  const escapes: Record<string, string> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }
  return `"${path.replaceAll(/[\\"\n]/g, (letter) => escapes[letter] ?? letter)}"`
}
