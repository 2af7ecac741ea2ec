import { existsSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isObjectId } from '../../../sync/model/revision.ts'
import { SyncError, mendOf } from '../../../sync/model/sync-error.ts'
import { unlessAbsent } from '../../../sync/store/files/disk-error.ts'
import { printableLine } from '../../base/log-line.ts'
import type { Redactor } from '../../base/redactor.ts'
import { addressOf, idFrom } from '../../config/command-line-config.ts'
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/environment.ts'
import { startingText } from '../../config/init-template.ts'
import type { Seen, StartingSource } from '../../config/init-template.ts'
import { parseConfig } from '../../config/load-config.ts'
import { firstLook } from './init-probe.ts'
import type { FirstLook } from './init-probe.ts'

/** A requested source without an id. */
export type FoundSource = Omit<StartingSource, 'id'>

/** The parts that a first fetch needs. */
interface Looking {
  readonly environment: Environment
  readonly redactor: Redactor
  readonly signal: AbortSignal
}

export interface SourceCandidate {
  readonly place: StartingSource['place']
  readonly config: Config
  /** The folder, if a path was given. */
  readonly folder: string | undefined
}

/** The source at an address or a path, or the fault in it as text that quotes no part of it. */
export function sourceCandidateOf(text: string, looking: Looking): SourceCandidate | string {
  const path = text.startsWith('~/') ? join(looking.environment.home, text.slice(2)) : text
  const url = GITHUB.test(path) && !existsSync(path) ? githubAddress(path) : addressOf(path)
  const config = configOf({ url }, looking)
  if (typeof config === 'string') return config
  return { place: { url }, config, folder: url === path ? undefined : resolve(path) }
}

/** `owner/repo`, as GitHub and the installers of skills write it. A path of that form has the precedence. */
const GITHUB = /^(?:github\.com\/)?[a-z\d][a-z\d-]{0,38}\/[\w.-]{1,100}$/i

function githubAddress(text: string): string {
  return `https://github.com/${text.replace(/^github\.com\//i, '')}`
}

/** The failure of a first read, with its remedy. */
export function failureLines(error: SyncError): string[] {
  return [`${printableLine(error.message)} (${error.code})`, `  ${mendOf(error)}`]
}

function configOf(place: StartingSource['place'], { environment }: Looking): Config | string {
  const config = parseConfig(startingText([{ id: 'source', place, seen: undefined }]), '/unused', environment)
  return Array.isArray(config) ? (config[0]?.message ?? '') : config
}

/** The content of the source, or the error. A folder that is not a repository counts as a folder of skills. */
export async function probeSource(
  { place, config, folder }: SourceCandidate,
  looking: Looking,
): Promise<FoundSource | SyncError> {
  try {
    return { place, seen: seenOf(await firstLook(config, looking, looking.signal), true) }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    if (folder === undefined || error.code !== 'repository-not-found') return error
    const plain = configOf({ path: folder }, looking)
    if (typeof plain === 'string' || (await unlessAbsent(lstat(folder)))?.isDirectory() !== true) return error
    return probeFolder(folder, plain, looking)
  }
}

async function probeFolder(folder: string, config: Config, looking: Looking): Promise<FoundSource | SyncError> {
  try {
    return { place: { path: folder }, seen: seenOf(await firstLook(config, looking, looking.signal), false) }
  } catch (error) {
    if (error instanceof SyncError) return error
    throw error
  }
}

/** The folder of the skills in most repositories that also hold other things. */
const USUAL_ROOT = 'skills'

function seenOf({ revision: { ref, commit }, skills, hasDocs }: FirstLook, isRepository: boolean): Seen {
  const below = skills.filter((path) => path.startsWith(`${USUAL_ROOT}/`)).length
  const root = below > 0 ? USUAL_ROOT : ''
  return {
    branch: isRepository ? branchOf(ref) : undefined,
    commit,
    skills: root === '' ? skills.length : below,
    elsewhere: root === '' ? 0 : skills.length - below,
    root,
    hasDocs,
  }
}

/** The short name of the branch, if it is unambiguous in a configuration: a server can give its branch any name. */
function branchOf(ref: string): string | undefined {
  const name = /^refs\/heads\/(\w[\w-]*(?:[./]\w[\w-]*)*)$/.exec(ref)?.[1]
  return name === undefined || isObjectId(name) || name.endsWith('.lock') ? undefined : name
}

/** Named after the repository; if that has a generic name, after its owner. */
export function sourceIdFor(place: StartingSource['place']): string {
  const address = 'url' in place ? place.url : place.path
  const id = idFrom(address)
  const [owner = ''] = address
    .replace(/\/+$/, '')
    .split(/[/\\:]/)
    .slice(-2)
  return id === 'skills' || id === 'agent-skills' ? idFrom(owner === '' ? id : owner) : id
}
