import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CONFORMANCE, runForeign } from './foreign.ts'

/** One check of a scenario of the official conformance suite, as it writes them to `checks.json`. */
export interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

/** The scenarios that the suite lists for a side, each with its revisions as they stand there. */
export async function scenariosListed(side: 'server' | 'client'): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await runForeign(CONFORMANCE, ['list', `--${side}`])
  const lines = stdout.matchAll(/^ {2}- (\S+) \[(.+)\]$/gm)
  return new Map([...lines].map(([, scenario = '', revisions = '']) => [scenario, revisions]))
}

/** The checks of each run that has a folder in the folder of results, by the name of its folder. */
export async function checksIn(results: string): Promise<ReadonlyMap<string, readonly Check[]>> {
  const folders = await readdir(results)
  const read = async (folder: string): Promise<readonly Check[]> =>
    JSON.parse(await readFile(join(results, folder, 'checks.json'), 'utf8'))
  return new Map(await Promise.all(folders.map(async (folder) => [folder, await read(folder)] as const)))
}

/** The checks with one of the statuses, each as its id and its message. */
export function checksWith(checks: readonly Check[], ...statuses: readonly Check['status'][]): readonly string[] {
  return checks
    .filter(({ status }) => statuses.includes(status))
    .map(({ id, errorMessage }) => (errorMessage === undefined ? id : `${id}: ${errorMessage}`))
}
