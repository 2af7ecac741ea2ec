import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'

/** The codes that many causes share. */
const CODES: ReadonlySet<string> = new Set([
  'source-unreachable',
  'credentials-rejected',
  'content-refused',
  'limit-exceeded',
  'store-failed',
])

/** The classes that get their code from the place that makes one. */
const WITH_ANY_CODE: readonly string[] = ['SyncError', 'OperatorError']

/** A place in the program that raises an error with one of the codes. */
export interface Raise {
  /** File, function and code, with a number from the second on: the same in `src` and in `dist`. */
  readonly id: string
  /** The path of the file, without its extension. */
  readonly file: string
  /** A stack trace points between these two: from the beginning of the expression to the end of what it calls. */
  readonly from: { readonly line: number; readonly column: number }
  readonly to: { readonly line: number; readonly column: number }
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** A function around an expression. */
interface Enclosing {
  readonly name: string
  readonly parameters: readonly string[]
}

interface Found {
  readonly node: Node
  readonly callee: Node
  readonly within: string
  readonly code: string
}

/** All raises of a program in a folder, in the order of files and lines. */
export async function raisesIn(root: string, extension: '.ts' | '.js'): Promise<Raise[]> {
  const all = (await readdir(root, { recursive: true })).filter((path) => path.endsWith(extension)).toSorted()
  // The files of the shipped program are these again, as bundles.
  const paths = all.filter((path) => !path.startsWith('program'))
  const texts = await Promise.all(paths.map(async (path) => readFile(join(root, path), 'utf8')))
  const classes = errorClassesIn(texts)
  const makes = new RegExp(`\\bnew (?:${[...classes.keys()].join('|')})\\(`)
  return texts.flatMap((text, at) =>
    makes.test(text) ? raisesOf((paths[at] ?? '').slice(0, -extension.length), text, classes) : [],
  )
}

/** The codes of the classes of errors, by name; `undefined` for a class that is given its code. */
function errorClassesIn(texts: readonly string[]): ReadonlyMap<string, string | undefined> {
  const found = new Map<string, string | undefined>(WITH_ANY_CODE.map((name) => [name, undefined]))
  const all = texts.flatMap((text) => [...text.matchAll(/\bclass (\w+) extends (\w+)(?: \{\}|[^]*?\n\})/g)])
  // A class may come before the one that it extends, in the order of files.
  for (let before = 0; before < found.size;) {
    before = found.size
    for (const [text, name = '', parent = ''] of all) {
      if (!found.has(parent)) continue
      found.set(name, /\bsuper\(\s*(?:[\w.]+ \?\? )?'([\w-]+)'/.exec(text)?.[1] ?? found.get(parent))
    }
  }
  return found
}

function raisesOf(path: string, text: string, classes: ReadonlyMap<string, string | undefined>): Raise[] {
  const found: Found[] = []
  /** The functions that are given the code or the sentence, and their code if it is always the same. */
  const passing = new Map<string, string | undefined>()
  const calls: Omit<Found, 'code'>[] = []

  visit(parseSync(`${path}.ts`, text).program as unknown as Node, [], (node, around) => {
    const { callee } = node
    if (!isNode(callee)) return
    const within = around.at(-1)?.name ?? 'module'
    if (node.type !== 'NewExpression') return void calls.push({ node, callee, within })
    const name = nameOf(callee) ?? ''
    if (!classes.has(name)) return
    const [first, second] = argumentsOf(node)
    const literals = first === undefined ? [] : codesIn(first)
    const given = around.at(-1)?.parameters ?? []
    const code = classes.get(name) ?? literals.find((one) => CODES.has(one)) ?? literals[0]
    const isPassing = WITH_ANY_CODE.includes(name) && [first, second].some((one) => given.includes(nameOf(one) ?? ' '))
    if (isPassing) passing.set(within, code)
    else found.push({ node, callee, within, code: code ?? 'given' })
  })
  for (const call of calls) {
    const name = nameOf(call.callee.type === 'MemberExpression' ? call.callee['property'] : call.callee)
    if (name === undefined || !passing.has(name)) continue
    found.push({ ...call, code: passing.get(name) ?? codesIn(call.node).find((one) => CODES.has(one)) ?? '' })
  }

  const counts = new Map<string, number>()
  return found
    .filter(({ code }) => code === 'given' || CODES.has(code))
    .toSorted((a, b) => a.node.start - b.node.start)
    .map(({ node, callee, within, code }) => {
      const name = `${path} ${within} ${code}`
      const count = (counts.get(name) ?? 0) + 1
      counts.set(name, count)
      const [from, to] = [positionIn(text, node.start), positionIn(text, callee.end)]
      return { id: count === 1 ? name : `${name} ${count}`, file: path, from, to }
    })
}

function positionIn(text: string, offset: number): Raise['from'] {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

function visit(
  node: Node,
  around: readonly Enclosing[],
  see: (node: Node, around: readonly Enclosing[]) => void,
): void {
  see(node, around)
  const made = enclosingOf(node)
  const inner = made === undefined ? around : [...around, made]
  for (const child of childrenOf(node)) visit(child, inner, see)
}

/** The function with a name that a node declares. */
function enclosingOf(node: Node): Enclosing | undefined {
  const value = node.type === 'FunctionDeclaration' ? node : (node['value'] ?? node['init'])
  if (!isNode(value) || !value.type.includes('Function')) return undefined
  const name = nameOf(node['key'] ?? node['id'])
  return name === undefined
    ? undefined
    : { name, parameters: nodesIn(value['params']).flatMap((one) => nameOf(one) ?? []) }
}

/** The literal texts in an expression that can be codes. */
function codesIn(node: Node): string[] {
  const { type, value } = node
  if (type === 'Literal') return typeof value === 'string' && /^[a-z]+(?:-[a-z]+)*$/.test(value) ? [value] : []
  return childrenOf(node).flatMap(codesIn)
}

function argumentsOf(node: Node): Node[] {
  return nodesIn(node['arguments'])
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && typeof node['name'] === 'string' ? node['name'] : undefined
}

function childrenOf(node: Node): Node[] {
  const children: Node[] = []
  for (const field in node) {
    const value = node[field]
    if (Array.isArray(value)) children.push(...nodesIn(value))
    else if (isNode(value)) children.push(value)
  }
  return children
}

function nodesIn(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : []
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
