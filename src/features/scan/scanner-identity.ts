import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../../base/canonical-json.ts'
import { codeOf } from '../../base/error-code.ts'
import type { GateScanner } from './gate-config.ts'
import type { Gate } from './gate.ts'
import { runScanner } from './run-scanner.ts'
import { GateUnansweredError } from './unanswered.ts'

/**
 * The identity of a scanner: SHA-256 over its command, arguments, environment, version and rules, 64 hex digits. The
 * levels of the configuration are no part of it, since scans are stored without a verdict. `undefined` if neither the
 * version nor the rules are known: such a scanner may judge differently at any time. Throws `GateUnansweredError` if one of
 * them cannot be read.
 */
export async function scannerIdentity(
  scanner: GateScanner,
  gate: Gate,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { command, args, env, name, rules, versionArgs } = scanner
  if (versionArgs === undefined && rules.length === 0) return undefined
  const version = versionArgs && (await versionOf(scanner, versionArgs, gate, signal))
  const digests: string[] = []
  const budget = new Budget()
  for (const path of rules) digests.push(await digestOfPath(path, budget, signal))
  const identity = { format: FORMAT, name, command, args, env, version, rules: digests }
  return createHash('sha256').update(canonicalJson(identity)).digest('hex')
}

/** Raised when the same output gives other findings than before. */
const FORMAT = 1

async function versionOf(
  scanner: GateScanner,
  args: readonly string[],
  gate: Gate,
  signal: AbortSignal,
): Promise<string> {
  const { status, stdout, stderr } = await runScanner(scanner, args, VERSION_BYTES, gate, signal)
  if (status === 0) return `${stdout}${stderr}`
  throw new GateUnansweredError(
    `asked for its version (${args.join(' ')}), it ended with status ${status}: ${stderr.trim()}`,
  )
}

const VERSION_BYTES = 65_536

/** The bounds of the rules: more is a mistake in the configuration, such as the root of the disk. */
class Budget {
  #files = 20_000
  #bytes = 2 ** 28

  take(bytes: number): void {
    this.#files -= 1
    this.#bytes -= bytes
    if (this.#files < 0 || this.#bytes < 0)
      throw new GateUnansweredError('its rules have more than 20000 files or 256 MiB; name a smaller folder in `rules`')
  }
}

async function digestOfPath(path: string, budget: Budget, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const [name, digest] of filesBelow(path, '', budget, signal)) hash.update(`${digest} ${name}\0`)
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    signal.throwIfAborted()
    throw new GateUnansweredError(`its rules cannot be read: "${path}": ${codeOf(error)}`, { cause: error })
  }
  return hash.digest('hex')
}

async function* filesBelow(
  root: string,
  name: string,
  budget: Budget,
  signal: AbortSignal,
): AsyncGenerator<readonly [name: string, digest: string]> {
  signal.throwIfAborted()
  const path = join(root, name)
  const found = await stat(path)
  budget.take(found.isFile() ? found.size : 0)
  if (found.isDirectory()) {
    // A link to a folder could lead around in a circle. Below a mounted ConfigMap, it leads to a folder beside it.
    if (name !== '' && (await lstat(path)).isSymbolicLink()) return
    for (const child of (await readdir(path)).toSorted()) yield* filesBelow(root, join(name, child), budget, signal)
    return
  }
  if (!found.isFile()) return
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path, { end: found.size, signal })) hash.update(piece)
  yield [name, hash.digest('hex')]
}
