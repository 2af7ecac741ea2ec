import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Program } from '../support/process/program.ts'
import type { Ended } from '../support/process/program.ts'
import { temporaryFolder } from '../support/temporary.ts'

const require = createRequire(import.meta.url)

/** Programs of others that ask our server, each as the file that Node is to run. */
export const CONFORMANCE = join(require.resolve('@modelcontextprotocol/conformance/package.json'), '../dist/index.js')
export const INSPECTOR = join(
  require.resolve('@modelcontextprotocol/inspector/package.json'),
  '../clients/cli/build/index.js',
)

/** They want a later Node than ours does: the one that the project brings, where its install script may run. */
const OWN_NODE = join(require.resolve('node/package.json'), '../bin/node')
const NODE = existsSync(OWN_NODE) ? OWN_NODE : process.execPath

/** Runs one of them to its end. It sees nothing of this machine but PATH, and what it leaves behind is gone. */
export async function runForeign(script: string, args: readonly string[]): Promise<Ended> {
  await using home = await temporaryFolder()
  const env = { PATH: process.env['PATH'] ?? '', HOME: home.path, TMPDIR: home.path }
  const program = new Program(NODE, [script, ...args], { env, path: home.path })
  program.process.stdin.end()
  return await program.ended()
}
